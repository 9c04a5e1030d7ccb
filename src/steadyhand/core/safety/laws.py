"""The shaper's two laws with their bounds applied: from gaps and velocities to the next velocities.

`rest` can stop on the target from wherever it leads; `feed_forward` follows a moving one. Both
answer velocities that keep |Δv| ≤ a_max·T and the tool-speed bound; where walls stand is the
shaper's to ask.
"""

import math
from collections.abc import Sequence
from typing import Final

from steadyhand.core.safety.braking import (
    MotionBounds,
    accelerate_together,
    brake,
    brake_together,
    braking_trail_deg,
    keep_stoppable,
    toward_rest,
    toward_rest_together,
)
from steadyhand.core.safety.feed_forward import follow, follow_together, within_limits
from steadyhand.core.safety.tcp_bound import TcpBound

PLAN_CEILINGS_PER_DEG_S: Final = 1e6
"""Ceilings of plans are whole millionths. The direction of what is left of a line differs from tick to
tick in its last digits; a ceiling that went with it would be passed by a plan that cruises at it."""


class MotionLaws:
    """Both laws of one arm; holds constants, no state.

    Args:
        bounds: acceleration and period.
        v_max_deg_s: no ceiling in force is ever higher.
        synchronised: whether one factor scales all joints.
        limits_deg: joint limits that gate feed-forward, one pair per joint, or empty.
        tcp_bound: bound on the tool's commanded speed, or None.
    """

    __slots__ = ("_bounds", "_limits_deg", "_roomy_deg", "_synchronised", "_tcp_bound")

    def __init__(
        self,
        *,
        bounds: MotionBounds,
        v_max_deg_s: float,
        synchronised: bool,
        limits_deg: tuple[tuple[float, float], ...],
        tcp_bound: TcpBound | None,
    ) -> None:
        self._bounds = bounds
        self._synchronised = synchronised
        self._limits_deg = limits_deg
        # Nearer than one braking trail to a limit the stopping point has to be asked, else not.
        trail_deg = braking_trail_deg(v_max_deg_s, bounds)
        self._roomy_deg = tuple((low + trail_deg, high - trail_deg) for low, high in limits_deg)
        self._tcp_bound = tcp_bound

    def rest(
        self, gaps_deg: Sequence[float], velocities_deg_s: Sequence[float], v_max_deg_s: float
    ) -> list[float]:
        """Next velocities of `rest_target`: never faster than what can stop on the target.

        Per joint the stopping point never leaves the span of the targets so far and the pose the
        stream began with, so targets inside joint limits keep the arm inside them.
        """
        if self._synchronised:
            return self.straight(gaps_deg, velocities_deg_s, v_max_deg_s)
        chosen = toward_rest(gaps_deg, velocities_deg_s, v_max_deg_s, self._bounds)
        return self.tool_bounded(chosen, velocities_deg_s)

    def straight(
        self, gaps_deg: Sequence[float], velocities_deg_s: Sequence[float], v_max_deg_s: float
    ) -> list[float]:
        """Next velocities of `rest_target` with one factor for all joints (R8's `synchronised`)."""
        bounds = self._bounds
        step = bounds.step_deg_s
        wanted = toward_rest_together(gaps_deg, v_max_deg_s, bounds)
        chosen = accelerate_together(wanted, velocities_deg_s, step)
        if self._tcp_bound is not None and not self._tcp_bound.keeps(chosen):
            chosen = self._tcp_bound.limit(chosen, brake_together(velocities_deg_s, step))
        if chosen == wanted:
            return chosen  # a share of the leader's braking speed is never above a joint's own
        return keep_stoppable(chosen, velocities_deg_s, gaps_deg, bounds)

    def feed_forward(
        self,
        gaps_deg: Sequence[float],
        target_velocities_deg_s: list[float],
        positions_deg: Sequence[float],
        velocities_deg_s: Sequence[float],
        v_max_deg_s: float,
    ) -> list[float]:
        """Next velocities of `feed_forward`; back to `rest` where a limit could not be kept (R8).

        A joint whose stopping point would pass its limit goes back alone, synchronised joints
        together.
        """
        if self._synchronised:
            together = follow_together(
                gaps_deg,
                target_velocities_deg_s,
                velocities_deg_s,
                v_max_deg_s,
                self._bounds,
                tcp_bound=self._tcp_bound,
            )
            if self.passing(positions_deg, together):
                return self.straight(gaps_deg, velocities_deg_s, v_max_deg_s)
            return together
        chosen = follow(gaps_deg, target_velocities_deg_s, velocities_deg_s, v_max_deg_s, self._bounds)
        passing = self.passing(positions_deg, chosen)
        if passing:
            rest = self.rest(gaps_deg, velocities_deg_s, v_max_deg_s)
            for index in passing:
                chosen[index] = rest[index]
        return self.tool_bounded(chosen, velocities_deg_s)

    def plan_ceiling_deg_s(self, gaps_deg: Sequence[float], v_max_deg_s: float) -> float:
        """What a jerk-limited plan may use of v_max; synchronised, no more than its line leaves the tool.

        A plan that keeps the tool's bound by itself is not dropped for it. Begun anew in motion it
        would not be straight: the last digits of a velocity are enough for the planner to give up
        the common factor.
        """
        if self._tcp_bound is None or not self._synchronised:
            return v_max_deg_s
        ceiling_deg_s = self._tcp_bound.ceiling_deg_s(gaps_deg)
        if ceiling_deg_s >= v_max_deg_s:
            return v_max_deg_s
        return math.floor(ceiling_deg_s * PLAN_CEILINGS_PER_DEG_S) / PLAN_CEILINGS_PER_DEG_S

    def passing(self, positions_deg: Sequence[float], chosen_deg_s: list[float]) -> list[int]:
        """The joints that could not stop inside their limits after a tick at these velocities."""
        if not self._limits_deg:
            return []
        bounds = self._bounds
        passing = []
        for index, (lowest, highest) in enumerate(self._roomy_deg):
            position = positions_deg[index]
            if lowest <= position <= highest:
                continue
            velocity = chosen_deg_s[index]
            after = position + velocity * bounds.period_s
            if not within_limits(after, velocity, self._limits_deg[index], bounds):
                passing.append(index)
        return passing

    def tool_bounded(self, chosen_deg_s: list[float], velocities_deg_s: Sequence[float]) -> list[float]:
        """Slow a frame to the tool-speed bound, each joint on the way to its own full brake.

        Synchronised joints slow down without turning. A joint may then keep more of its speed than a
        full brake would leave it: whether it can still stop in its limits is `passing`'s to say.
        """
        if self._tcp_bound is None or self._tcp_bound.keeps(chosen_deg_s):
            return chosen_deg_s
        slowed = brake_together if self._synchronised else brake
        return self._tcp_bound.limit(chosen_deg_s, slowed(velocities_deg_s, self._bounds.step_deg_s))
