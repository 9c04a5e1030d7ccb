"""The way from where the arm stands to where a motion begins: smooth, bounded, straight in joint space.

A stream that begins elsewhere would be a jump. The follower's shaper would bound it, and the arm would
still set out at its full speed towards a pose that nobody watched it go to.
"""

from math import ceil, sqrt
from typing import Final

import msgspec

from steadyhand.ground.builtin_motions import MINIMUM_JERK_PEAK_ACCEL, MINIMUM_JERK_PEAK_SPEED
from steadyhand.ground.config import RobotConfig
from steadyhand.ground.motion import JointsDeg

SPEED_DEG_S: Final = 30.0
ACCEL_DEG_S2: Final = 90.0
"""Of the fastest joint. A walking pace: whoever stands at the arm sees where it goes."""

SHAPER_SHARE: Final = 0.5
"""Never more than this share of what the robot file lets onto the wire."""


class ApproachBounds(msgspec.Struct, frozen=True, kw_only=True):
    """How fast an approach may be: peaks of the joint that moves most."""

    speed_deg_s: float = SPEED_DEG_S
    accel_deg_s2: float = ACCEL_DEG_S2

    @classmethod
    def from_config(cls, config: RobotConfig) -> "ApproachBounds":
        """The defaults, or less where the robot file's shaper is slower."""
        shaper = None if config.safety is None else config.safety.stream_shaper
        if shaper is None:
            return cls()
        return cls(
            speed_deg_s=min(SPEED_DEG_S, SHAPER_SHARE * shaper.v_max_deg_s),
            accel_deg_s2=min(ACCEL_DEG_S2, SHAPER_SHARE * shaper.a_max_deg_s2),
        )


def approach(
    from_deg: JointsDeg, to_deg: JointsDeg, *, period_s: float, bounds: ApproachBounds
) -> list[JointsDeg]:
    """Poses a period apart, from `from_deg` to `to_deg`, both included; one where they are the same.

    A minimum-jerk quintic in every joint, all joints starting and stopping together.
    """
    way_deg = farthest_deg(from_deg, to_deg)
    if way_deg == 0.0:
        return [to_deg]
    by_speed_s = MINIMUM_JERK_PEAK_SPEED * way_deg / bounds.speed_deg_s
    by_accel_s = sqrt(MINIMUM_JERK_PEAK_ACCEL * way_deg / bounds.accel_deg_s2)
    steps = max(1, ceil(max(by_speed_s, by_accel_s) / period_s))
    shares = [minimum_jerk(step / steps) for step in range(steps)]
    path = [tuple(a + (b - a) * share for a, b in zip(from_deg, to_deg, strict=True)) for share in shares]
    return [*path, to_deg]


def farthest_deg(one_deg: JointsDeg, other_deg: JointsDeg) -> float:
    """The way of the joint that has the longest."""
    return max((abs(a - b) for a, b in zip(one_deg, other_deg, strict=True)), default=0.0)


def minimum_jerk(u: float) -> float:
    """How far along after a share `u` of the time: the quintic that is at rest at both ends."""
    return u * u * u * (10.0 - 15.0 * u + 6.0 * u * u)
