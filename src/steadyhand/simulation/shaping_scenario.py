"""What goes through the shaper: a jump or a motion as raw targets, the bounds, the controller."""

from math import ceil, isfinite, sqrt
from typing import Final

import msgspec

from steadyhand.core.controller.constants import PRESETS
from steadyhand.core.controller.kinds import ARM_OF, ModelName, TriggerName, tool_limit_m_s
from steadyhand.ground.builtin_motions import HOME_DEG
from steadyhand.ground.config_safety import StreamShaperConfig
from steadyhand.ground.errors import InputError
from steadyhand.ground.motion import JointsDeg, Motion
from steadyhand.ground.stamps import NS_PER_MS, NS_PER_S, s_from_ns

V_MAX_DEG_S: Final[dict[str, float]] = {"sim": 130.0, "fr3": 130.0, "fr20": 120.0}
A_MAX_DEG_S2: Final = 500.0
"""R18's figures, which stand until an arm is measured."""

JERK_MAX_DEG_S3: Final = 20_000.0
"""Of the third-order peer: 500 °/s² are built up in 25 ms, and a 30° jump costs 5 % more time."""

REST_BEFORE_JUMP_S: Final = 0.2
"""The campaign's injector tracked at rest before each step; feed-forward trusts a target after ten ticks."""

LOOK_AFTER_JUMP_S: Final = 1.3
"""Long enough for a lag of 111 ms and the longest sweep ever seen, 0.9 s."""

LONGEST_S: Final = 3600.0


class ShapeScenario(msgspec.Struct, frozen=True, kw_only=True):
    """One run, whole.

    Attributes:
        title: what the stream is, in words.
        raw_deg: the raw targets, one a tick, shape (n_ticks, 6); the arm stands at the first.
        shaper: v_max, a_max, mode, synchronised.
        period_ns: cmdT.
        model: which controller.
        trigger: what makes it run away (R10).
        seed: of the coin in the trigger's threshold band.
        jerk_max_deg_s3: of the third-order peer.

    Raises:
        InputError: fewer than two ticks, a period the controller refuses, or a target out of range.
    """

    title: str
    raw_deg: tuple[JointsDeg, ...]
    shaper: StreamShaperConfig
    period_ns: int
    model: ModelName = "fr3"
    trigger: TriggerName = "velocity_step"
    seed: int = 0
    jerk_max_deg_s3: float = JERK_MAX_DEG_S3

    def __post_init__(self) -> None:
        """Refuse what no arm could be told."""
        constants, limits = PRESETS[self.model], ARM_OF[self.model].limits
        if not constants.period_min_ns <= self.period_ns <= constants.period_max_ns:
            low, high = constants.period_min_ns / NS_PER_MS, constants.period_max_ns / NS_PER_MS
            raise InputError(
                f"{self.period_ns / NS_PER_MS:g} ms is not a cmdT the controller takes",
                where="--period-ms",
                hint=f"{low:g} to {high:g}",
            )
        if len(self.raw_deg) < 2:
            raise InputError("not two ticks fit into the run", where="--duration")
        for tick, target in enumerate(self.raw_deg):
            outside = limits.first_outside(target)
            if outside is not None:
                raise InputError(
                    f"joint {outside + 1} is asked to {target[outside]:g}° at {tick * self.period_s:.2f} s",
                    where=self.title,
                    hint=f"the range of {ARM_OF[self.model].name} is "
                    f"{limits.lower_deg[outside]:g}° to {limits.upper_deg[outside]:g}°",
                )

    @property
    def period_s(self) -> float:
        """cmdT in seconds."""
        return s_from_ns(self.period_ns)

    @property
    def duration_s(self) -> float:
        """From the first frame to one period after the last."""
        return len(self.raw_deg) * self.period_s

    @property
    def tool_bound_m_s(self) -> float | None:
        """The command-side bound, which a controller that judges tool speed makes mandatory (R10)."""
        return tool_limit_m_s(self.model) if self.trigger == "tcp_speed" else None


def jump_stream(
    jump_deg: float, joint: int, *, period_ns: int, shaper: StreamShaperConfig, duration_s: float | None
) -> tuple[JointsDeg, ...]:
    """Rest at home, then a jump of one joint in one tick, held: the campaign's gap injector.

    Args:
        jump_deg: how far; negative is the other way.
        joint: which, counted from 0.
        period_ns: cmdT.
        shaper: says how long the jump will take.
        duration_s: of the whole stream; None: until shaper and sweep are surely done.

    Raises:
        InputError: the jump is no angle, there is no such joint, or the run ends before it.
    """
    if not -360.0 <= jump_deg <= 360.0:
        raise InputError(f"{jump_deg:g}° is no jump of a joint", where="--jump")
    if not 0 <= joint < len(HOME_DEG):
        raise InputError(f"there is no joint {joint + 1}", where="--joint", hint=f"1 to {len(HOME_DEG)}")
    if duration_s is None:
        look_s = max(LOOK_AFTER_JUMP_S, optimal_s(abs(jump_deg), shaper) + 0.5)
        duration_s = ceil(10.0 * (REST_BEFORE_JUMP_S + look_s)) / 10.0
    if not REST_BEFORE_JUMP_S < duration_s <= LONGEST_S:
        raise InputError(
            f"{duration_s:g} is not within {REST_BEFORE_JUMP_S:g} (the jump) and {LONGEST_S:g} s",
            where="--duration",
        )
    rest_ticks = round(REST_BEFORE_JUMP_S * NS_PER_S / period_ns)
    jumped = tuple(angle + jump_deg * (index == joint) for index, angle in enumerate(HOME_DEG))
    ticks = round(duration_s * NS_PER_S / period_ns)
    return tuple(HOME_DEG if tick < rest_ticks else jumped for tick in range(ticks))


def motion_stream(motion: Motion, *, period_ns: int, duration_s: float | None) -> tuple[JointsDeg, ...]:
    """A motion at the stream's rate, forth and back where it is shorter than the run.

    Joints the motion does not have stand at home.

    Raises:
        InputError: more joints than the arm has, or a duration that is none.
    """
    if motion.n_joints > len(HOME_DEG):
        raise InputError(
            f"{motion.n_joints} joints for an arm of {len(HOME_DEG)}", where=f"--motion {motion.name}"
        )
    run_s = motion.duration_s if duration_s is None else duration_s
    if not 0.0 < run_s <= LONGEST_S:
        raise InputError(f"{run_s:g} is not within 0 and {LONGEST_S:g} s", where="--duration")
    rest = HOME_DEG[motion.n_joints :]
    return tuple(pose + rest for pose in motion.resample(NS_PER_S / period_ns, run_s))


def optimal_s(distance_deg: float, shaper: StreamShaperConfig) -> float:
    """The least time from rest to rest under v_max and a_max; 0.490 s for 30° at 500 °/s²."""
    v_max, a_max = shaper.v_max_deg_s, shaper.a_max_deg_s2
    if not (isfinite(distance_deg) and distance_deg > v_max * v_max / a_max):
        return 2.0 * sqrt(max(distance_deg, 0.0) / a_max)
    return distance_deg / v_max + v_max / a_max
