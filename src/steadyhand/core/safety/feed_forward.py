"""The feed-forward law of R8: the braking law on error coordinates, and what gates it.

A target at rest is the special case; a target that moves at u is followed without trail, because
the law then brakes relative to the target instead of to the world. The price is paid when the
target freezes, so the law is used only while the stream is trusted (`TargetVelocity`) and only as
far as the arm could still stop before a limit (`within_limits`).
"""

import math
from collections.abc import Sequence
from typing import Final

from steadyhand.core.safety.braking import (
    MotionBounds,
    accelerate_together,
    brake_together,
    largest_magnitude,
    leaders_speed,
    stop_distance_deg,
)
from steadyhand.core.safety.tcp_bound import TcpBound

FRESH_TICKS_AFTER_HOLD: Final = 10
"""Fresh ticks in a row before the target's velocity is believed again (R8: else it chatters)."""


class TargetVelocity:
    """The target's velocity over its last two setpoints, or nothing while it cannot be trusted.

    Two setpoints, not more: the estimate is then exact for the step the target has just made, and
    a stream within the bounds passes unchanged. A held or stale tick forgets the reference, since
    the next step would span two periods and read as twice the speed.
    """

    __slots__ = ("_fresh_ticks", "_last_deg", "_period_s")

    def __init__(self, period_s: float) -> None:
        self._period_s = period_s
        self.forget()

    def forget(self) -> None:
        """Trust nothing until ten fresh ticks have come in a row."""
        self._last_deg: tuple[float, ...] | None = None
        self._fresh_ticks = 0

    def observe(self, target_deg: Sequence[float], *, fresh: bool) -> list[float] | None:
        """Take this tick's target; answer its velocity, shape (n_joints,) °/s, or None.

        Args:
            target_deg: the raw target, shape (n_joints,), degrees.
            fresh: whether the setpoint is a new one: neither held, nor stale, nor sent before.
        """
        if not fresh:
            self.forget()
            return None
        last_deg = self._last_deg
        self._last_deg = tuple(target_deg)
        self._fresh_ticks += 1
        if last_deg is None or self._fresh_ticks <= FRESH_TICKS_AFTER_HOLD:
            return None
        period_s = self._period_s
        return [(now - last_deg[index]) / period_s for index, now in enumerate(target_deg)]


def follow(
    gaps_deg: Sequence[float],
    target_velocities_deg_s: Sequence[float],
    velocities_deg_s: Sequence[float],
    v_max_deg_s: float,
    bounds: MotionBounds,
) -> list[float]:
    """Next velocities behind a moving target, each joint for itself: toward u + v_brk(e), within ±v_max.

    e is what remains once the target's own step of this tick is set aside: x − uT − s. Written out
    like `braking.toward_rest`.
    """
    period_s, step = bounds.period_s, bounds.step_deg_s
    step_squared = step * step
    twice_a = 2.0 * bounds.a_max_deg_s2
    sqrt = math.sqrt
    result = []
    for index, gap in enumerate(gaps_deg):
        u = target_velocities_deg_s[index]
        if not -v_max_deg_s <= u <= v_max_deg_s:
            u = v_max_deg_s if u > 0.0 else -v_max_deg_s
        error = gap - u * period_s
        twice = twice_a * error
        want = u + twice / (step + sqrt(step_squared + (twice if error >= 0.0 else -twice)))
        if not -v_max_deg_s <= want <= v_max_deg_s:
            want = v_max_deg_s if want > 0.0 else -v_max_deg_s
        have = velocities_deg_s[index]
        if want > have + step:
            want = have + step
        elif want < have - step:
            want = have - step
        result.append(want)
    return result


def follow_together(
    gaps_deg: Sequence[float],
    target_velocities_deg_s: list[float],
    velocities_deg_s: Sequence[float],
    v_max_deg_s: float,
    bounds: MotionBounds,
    *,
    tcp_bound: TcpBound | None = None,
) -> list[float]:
    """Next velocities behind a moving target, all joints by one factor, the error closed in a line.

    The tool's bound is kept by one factor too, before `keep_stoppable_behind`, which only ever slows a
    joint down: slowed joint by joint, a jump would leave its line.
    """
    step = bounds.step_deg_s
    u = _scaled_within(target_velocities_deg_s, v_max_deg_s)
    errors = [gap - u[index] * bounds.period_s for index, gap in enumerate(gaps_deg)]
    farthest_deg, catch_up = leaders_speed(errors, 2.0 * v_max_deg_s, bounds)
    unscaled = [own + catch_up * (errors[index] / farthest_deg) for index, own in enumerate(u)]
    wanted = _scaled_within(unscaled, v_max_deg_s)
    chosen = accelerate_together(wanted, velocities_deg_s, step)
    if tcp_bound is not None and not tcp_bound.keeps(chosen):
        chosen = tcp_bound.limit(chosen, brake_together(velocities_deg_s, step))
    if chosen == unscaled:
        return chosen  # a share of the leader's braking speed is never above a joint's own
    return keep_stoppable_behind(chosen, u, errors, velocities_deg_s, bounds)


def keep_stoppable_behind(
    chosen_deg_s: list[float],
    target_velocities_deg_s: list[float],
    errors_deg: list[float],
    velocities_deg_s: Sequence[float],
    bounds: MotionBounds,
) -> list[float]:
    """`braking.keep_stoppable` behind a moving target: no joint faster than u + v_brk(e), or than u.

    Slower is always allowed, down to standing still. A joint that falls behind its target overshoots
    nothing; one held to the target's speed would use its full step on the very tick of a jump, when
    u reads as v_max, and bend the line that the common factor has just drawn.
    """
    step = bounds.step_deg_s
    step_squared = step * step
    twice_a = 2.0 * bounds.a_max_deg_s2
    sqrt = math.sqrt
    result = []
    for index, chosen in enumerate(chosen_deg_s):
        u = target_velocities_deg_s[index]
        have = velocities_deg_s[index]
        twice = twice_a * errors_deg[index]
        lowest = highest = u
        if twice >= 0.0:
            highest = u + twice / (step + sqrt(step_squared + twice))
        else:
            lowest = u + twice / (step + sqrt(step_squared - twice))
        if highest < 0.0:
            highest = 0.0
        elif lowest > 0.0:
            lowest = 0.0
        if highest < have - step:
            highest = have - step
        elif lowest > have + step:
            lowest = have + step
        result.append(lowest if chosen < lowest else highest if chosen > highest else chosen)
    return result


def _scaled_within(velocities_deg_s: list[float], v_max_deg_s: float) -> list[float]:
    """The velocities, scaled by one factor where the fastest passes v_max."""
    if math.hypot(*velocities_deg_s) < v_max_deg_s:
        return velocities_deg_s  # no entry is above the length of its vector
    fastest = largest_magnitude(velocities_deg_s)
    if fastest <= v_max_deg_s:
        return velocities_deg_s
    share = v_max_deg_s / fastest
    return [share * velocity for velocity in velocities_deg_s]


def within_limits(
    position_deg: float,
    velocity_deg_s: float,
    limits_deg: tuple[float, float],
    bounds: MotionBounds,
) -> bool:
    """Tell whether a joint sent to `position_deg` at this velocity can stop inside its limits."""
    lowest_deg, highest_deg = limits_deg
    if velocity_deg_s >= 0.0:
        return position_deg + stop_distance_deg(velocity_deg_s, bounds) <= highest_deg
    return position_deg - stop_distance_deg(-velocity_deg_s, bounds) >= lowest_deg
