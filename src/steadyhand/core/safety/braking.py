"""The braking law: how fast a joint may go and still stop where it must (document 001, the math).

Everything here is arithmetic on plain floats in degrees, °/s and °/s², in sequences of shape
(n_joints,) that the shaper has counted: six joints cost less that way than as an array. Positions
are setpoints on the wire, never measured poses, so that the controller's lag cannot blind the law.
"""

import math
from collections.abc import Sequence
from operator import sub

import msgspec


class MotionBounds(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The constants of the law for one arm.

    Attributes:
        a_max_deg_s2: largest acceleration of a joint on the wire.
        period_s: cmdT, the nominal tick; the controller divides by it whatever the true spacing.
        step_deg_s: a_max · cmdT, the largest change of velocity in one tick.
    """

    a_max_deg_s2: float
    period_s: float
    step_deg_s: float


def motion_bounds(*, a_max_deg_s2: float, period_s: float) -> MotionBounds:
    """Bounds with their derived step."""
    return MotionBounds(a_max_deg_s2=a_max_deg_s2, period_s=period_s, step_deg_s=a_max_deg_s2 * period_s)


def largest_magnitude(values: Sequence[float]) -> float:
    """The largest of |values|; `values` is not empty."""
    highest, lowest = max(values), min(values)
    return highest if highest >= -lowest else -lowest


def braking_speed_deg_s(distance_deg: float, bounds: MotionBounds) -> float:
    """The fastest speed from which one tick and a full brake still fit into `distance_deg` ≥ 0.

    Solves vT + v²/(2a) = d. Document 001 writes −aT + √(a²T² + 2ad); this is the same root
    without the subtraction, which would cancel in the last micro-degrees before the target.
    """
    step = bounds.step_deg_s
    twice = 2.0 * bounds.a_max_deg_s2 * distance_deg
    return twice / (step + math.sqrt(step * step + twice))


def braking_trail_deg(speed_deg_s: float, bounds: MotionBounds) -> float:
    """How far behind a steadily moving target the law stays: v²/(2a) + vT (R8)."""
    return speed_deg_s * speed_deg_s / (2.0 * bounds.a_max_deg_s2) + speed_deg_s * bounds.period_s


def stop_distance_deg(speed_deg_s: float, bounds: MotionBounds) -> float:
    """How far a joint still travels after this tick when it brakes fully from `speed_deg_s` ≥ 0.

    The wire slows by aT a tick, so the frames lie on a continuous brake from v − aT/2; this is
    its length, at most aT²/8 more than the frames travel, and never less.
    """
    effective_deg_s = speed_deg_s - 0.5 * bounds.step_deg_s
    return effective_deg_s * effective_deg_s / (2.0 * bounds.a_max_deg_s2) if effective_deg_s > 0.0 else 0.0


def toward_rest(
    gaps_deg: Sequence[float], velocities_deg_s: Sequence[float], v_max_deg_s: float, bounds: MotionBounds
) -> list[float]:
    """Next velocities toward targets at rest, each joint for itself (document 001's equations).

    Desired is sign(d) · min(v_max, v_brk(d)), approached by at most one step. Written out in one
    loop without a call: this is the tick's innermost part.

    Args:
        gaps_deg: target minus sent setpoint, shape (n_joints,).
        velocities_deg_s: velocities in force, shape (n_joints,).
        v_max_deg_s: the ceiling in force.
        bounds: the arm's constants.
    """
    step = bounds.step_deg_s
    step_squared = step * step
    twice_a = 2.0 * bounds.a_max_deg_s2
    far_deg = braking_trail_deg(v_max_deg_s, bounds)
    sqrt = math.sqrt
    result = []
    for index, gap in enumerate(gaps_deg):
        have = velocities_deg_s[index]
        if gap >= far_deg:
            want = v_max_deg_s
        elif gap >= 0.0:
            twice = twice_a * gap
            want = twice / (step + sqrt(step_squared + twice))
        elif gap <= -far_deg:
            want = -v_max_deg_s
        else:
            twice = twice_a * gap
            want = twice / (step + sqrt(step_squared - twice))
        if want > have + step:
            want = have + step
        elif want < have - step:
            want = have - step
        result.append(want)
    return result


def toward_rest_together(gaps_deg: Sequence[float], v_max_deg_s: float, bounds: MotionBounds) -> list[float]:
    """Desired speeds along the straight line to the target: the farthest joint leads (R8).

    The leader follows its own law and every other joint keeps its share of it. A share of the
    leader's braking speed is never above a joint's own, because the braking curve is concave.
    """
    farthest_deg, speed = leaders_speed(gaps_deg, v_max_deg_s, bounds)
    return [speed * (gap / farthest_deg) for gap in gaps_deg]


def leaders_speed(gaps_deg: Sequence[float], v_max_deg_s: float, bounds: MotionBounds) -> tuple[float, float]:
    """How far the farthest joint has to go, and how fast it may; at the target its way counts as 1°."""
    farthest_deg = largest_magnitude(gaps_deg)
    if farthest_deg >= braking_trail_deg(v_max_deg_s, bounds):
        return farthest_deg, v_max_deg_s
    return farthest_deg or 1.0, braking_speed_deg_s(farthest_deg, bounds)


def accelerate_together(
    desired_deg_s: list[float], velocities_deg_s: Sequence[float], step_deg_s: float
) -> list[float]:
    """Move the velocity vector straight toward the desired one, until a joint has used its step."""
    changes = list(map(sub, desired_deg_s, velocities_deg_s))
    if math.hypot(*changes) < step_deg_s:
        return desired_deg_s  # no entry is above the length of its vector
    largest = largest_magnitude(changes)
    if largest <= step_deg_s:
        return desired_deg_s
    share = step_deg_s / largest
    return [velocities_deg_s[index] + share * change for index, change in enumerate(changes)]


def brake(velocities_deg_s: Sequence[float], step_deg_s: float) -> list[float]:
    """Every joint toward rest by one full step; it ends at exactly 0.0."""
    result = []
    for have in velocities_deg_s:
        if have > step_deg_s:
            result.append(have - step_deg_s)
        elif have < -step_deg_s:
            result.append(have + step_deg_s)
        else:
            result.append(0.0)
    return result


def brake_together(velocities_deg_s: Sequence[float], step_deg_s: float) -> list[float]:
    """Slow the velocity vector without turning it, until a joint has used its step."""
    fastest = largest_magnitude(velocities_deg_s)
    if fastest <= step_deg_s:
        return [0.0] * len(velocities_deg_s)
    share = 1.0 - step_deg_s / fastest
    return [share * have for have in velocities_deg_s]


def keep_stoppable(
    chosen_deg_s: Sequence[float],
    velocities_deg_s: Sequence[float],
    gaps_deg: Sequence[float],
    bounds: MotionBounds,
) -> list[float]:
    """Hold each joint to what its own law allows, so that synchronising never costs a brake.

    One factor for all joints lets a joint that must brake fully brake only partly, because
    another one has just jumped. So after the common factor each joint is clipped to the speeds
    from which it stops at its target, or, where that is already impossible, to its full brake.
    For a jump from rest nothing is ever clipped.
    """
    step = bounds.step_deg_s
    step_squared = step * step
    twice_a = 2.0 * bounds.a_max_deg_s2
    sqrt = math.sqrt
    result = []
    for index, chosen in enumerate(chosen_deg_s):
        twice = twice_a * gaps_deg[index]
        have = velocities_deg_s[index]
        lowest = highest = 0.0
        if twice >= 0.0:
            highest = twice / (step + sqrt(step_squared + twice))
        else:
            lowest = twice / (step + sqrt(step_squared - twice))
        if highest < have - step:
            highest = have - step
        elif lowest > have + step:
            lowest = have + step
        result.append(lowest if chosen < lowest else highest if chosen > highest else chosen)
    return result
