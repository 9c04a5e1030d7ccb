"""The runaway's own motion (document 001, experiments 2 to 4)."""

import math

import msgspec

from steadyhand.core.controller.motion import Braking, Joints, Moving
from steadyhand.core.controller.triggers import largest
from steadyhand.ground.stamps import NS_PER_S, ns_from_s


class Sweeping(msgspec.Struct, frozen=True):
    """The runaway: a trapezoid of speed along the step's direction, on top of braking out what was.

    Attributes:
        start_ns: when the arm sets off.
        braking: the motion it was in, slowed at the same rate, so that no joint jumps.
        direction: shape (n_joints,), 1 at the joint that tripped.
        travel_deg: how far that joint goes.
        speed_deg_s: how fast.
        accel_deg_s2: how it gets there.
        end_ns: when it stands again.
    """

    start_ns: int
    braking: Braking
    direction: Joints
    travel_deg: float
    speed_deg_s: float
    accel_deg_s2: float
    end_ns: int

    def at(self, now_ns: int) -> Moving:
        """Pose and velocity at `now_ns`."""
        elapsed_s = (now_ns - self.start_ns) / NS_PER_S
        gone_deg, rate = _trapezoid(elapsed_s, self.travel_deg, self.speed_deg_s, self.accel_deg_s2)
        poses, velocities = self.braking.at(now_ns)
        return (
            tuple(pose + share * gone_deg for pose, share in zip(poses, self.direction, strict=True)),
            tuple(speed + share * rate for speed, share in zip(velocities, self.direction, strict=True)),
        )


def plan_sweep(
    start_ns: int,
    moving: Moving,
    jump_deg_s: Joints,
    *,
    travel_deg: float,
    speed_max_deg_s: float,
    accel_deg_s2: float,
    lower_deg: Joints,
    upper_deg: Joints,
) -> Sweeping:
    """Sweep along a velocity jump; the travel is cut where the first joint would meet its limit."""
    lead = largest(jump_deg_s)
    direction = tuple(jump / abs(jump_deg_s[lead]) for jump in jump_deg_s)
    braking = Braking.of(start_ns, moving, accel_deg_s2)
    poses, _ = braking.at(braking.end_ns)
    room_deg = travel_deg
    for pose_deg, share, lower, upper in zip(poses, direction, lower_deg, upper_deg, strict=True):
        if share != 0.0:
            room_deg = min(room_deg, max(((upper if share > 0.0 else lower) - pose_deg) / share, 0.0))
    speed_deg_s = min(abs(jump_deg_s[lead]), speed_max_deg_s)
    duration_s = sweep_duration_s(room_deg, speed_deg_s, accel_deg_s2)
    end_ns = max(start_ns + ns_from_s(duration_s), braking.end_ns)
    return Sweeping(start_ns, braking, direction, room_deg, speed_deg_s, accel_deg_s2, end_ns)


def sweep_duration_s(travel_deg: float, speed_deg_s: float, accel_deg_s2: float) -> float:
    """How long a trapezoid of speed takes."""
    peak = min(speed_deg_s, math.sqrt(travel_deg * accel_deg_s2))
    return travel_deg / peak + peak / accel_deg_s2 if peak > 0.0 else 0.0


def _trapezoid(elapsed_s: float, travel_deg: float, speed_deg_s: float, accel: float) -> tuple[float, float]:
    """Distance gone and rate, `elapsed_s` after the start of a trapezoid of speed."""
    peak = min(speed_deg_s, math.sqrt(travel_deg * accel))
    remaining_s = sweep_duration_s(travel_deg, speed_deg_s, accel) - elapsed_s
    if remaining_s <= 0.0:
        return travel_deg, 0.0
    ramp_s = peak / accel
    if elapsed_s < ramp_s:
        return accel * elapsed_s * elapsed_s / 2.0, accel * elapsed_s
    if remaining_s < ramp_s:
        return travel_deg - accel * remaining_s * remaining_s / 2.0, accel * remaining_s
    return peak * (elapsed_s - ramp_s / 2.0), peak
