"""Walls around the shaper's stopping point: whether a braking arm stays inside its work area (R8)."""

import math
from collections.abc import Sequence

from steadyhand.core.safety.braking import MotionBounds, largest_magnitude, stop_distance_deg
from steadyhand.core.safety.workarea import WorkArea


class WallGate:
    """Whether an arm sent to a pose at some velocities stays inside the area until it stands.

    Frame and stopping point are looked at exactly, what lies between them by a bound: along a
    straight line in joint space the tool bows from its chord by at most ⅛·ΣΣ reach·|Δᵢ||Δⱼ|, and
    joints that stop at different times leave that line by a known part of their way. The region
    being convex, clearance beyond that bow at both ends is clearance all along. The bow falls with
    the fourth power of speed: 10 mm for one joint of 1 m reach at 130 °/s and 500 °/s², a
    half millimetre at 65.

    So a frame that is allowed can always be braked inside, and the shaper that only ever sends
    allowed frames or their full brake never passes a wall.

    Args:
        area: the work area as this arm sees it.
        bounds: the shaper's constants.
    """

    __slots__ = ("_arc_m_per_deg2", "_area", "_bounds", "_last_step_deg", "_last_step_m", "_way_m_per_deg")

    def __init__(self, area: WorkArea, bounds: MotionBounds) -> None:
        self._area = area
        self._bounds = bounds
        self._last_step_deg = bounds.step_deg_s * bounds.period_s / 8.0
        # As if every joint went as fast as the fastest: what `_at_most_m` multiplies.
        self._way_m_per_deg = self._arc_m_per_deg2 = 0.0
        for before, metres in enumerate(area.reach.metres_per_degree):
            self._way_m_per_deg += metres
            self._arc_m_per_deg2 += math.radians(metres) * (1 + 2 * before) / 8.0
        self._last_step_m = self._way_m_per_deg * self._last_step_deg

    def allows(self, joints_deg: Sequence[float], velocities_deg_s: Sequence[float]) -> bool:
        """Tell whether the frame and every frame of the full brake after it lie inside the area."""
        area, at_most_m = self._area, self._at_most_m(velocities_deg_s)
        if area.surely_has(at_most_m, joints_deg):
            return True
        clearance_m = area.clearance_m(joints_deg)
        if clearance_m >= at_most_m:
            return True
        offsets_deg = self._stop_offsets(velocities_deg_s)
        needed_m = self._bow_m(velocities_deg_s, offsets_deg)
        if clearance_m < needed_m:
            return False
        stop_deg = [joint + offsets_deg[index] for index, joint in enumerate(joints_deg)]
        return area.clearance_m(stop_deg) >= needed_m

    def _at_most_m(self, velocities_deg_s: Sequence[float]) -> float:
        """No less than way and bow together, from the fastest joint alone.

        A joint of share r leaves the straight line by r²·(1−r)/(1+r) of the fastest one's way, which
        is nowhere above a tenth.
        """
        way_deg = stop_distance_deg(largest_magnitude(velocities_deg_s), self._bounds)
        return self._last_step_m + (1.1 * self._way_m_per_deg + self._arc_m_per_deg2 * way_deg) * way_deg

    def _stop_offsets(self, velocities_deg_s: Sequence[float]) -> list[float]:
        """From the frame to where the continuous brake through the next frames ends, degrees."""
        half_step = 0.5 * self._bounds.step_deg_s
        per_twice_a = 0.5 / self._bounds.a_max_deg_s2
        offsets = []
        for velocity in velocities_deg_s:
            effective = abs(velocity) - half_step
            offset = effective * effective * per_twice_a if effective > 0.0 else 0.0
            offsets.append(offset if velocity >= 0.0 else -offset)
        return offsets

    def _bow_m(self, velocities_deg_s: Sequence[float], offsets_deg: Sequence[float]) -> float:
        """How far the tool can be from the chord between frame and stopping point, metres.

        Three parts: the arc of a straight joint path; joints that stand before the slowest does
        (a joint with the share r of its effective speed is off the straight line by at most
        (1−r)/(1+r) of its own way); and the last partial step of the discrete brake, aT²/8.
        """
        bounds = self._bounds
        half_step = 0.5 * bounds.step_deg_s
        fastest = largest_magnitude(velocities_deg_s) - half_step
        arc_m = spread_m = 0.0
        before_deg = 0.0
        for index, metres in enumerate(self._area.reach.metres_per_degree):
            speed, way = abs(velocities_deg_s[index]), abs(offsets_deg[index])
            spread_m += metres * min(self._last_step_deg, speed * bounds.period_s / 8.0)
            if way > 0.0:
                share = (speed - half_step) / fastest
                spread_m += metres * way * (1.0 - share) / (1.0 + share)
                arc_m += metres * way * (way + 2.0 * before_deg)
                before_deg += way
        return math.radians(arc_m) / 8.0 + spread_m
