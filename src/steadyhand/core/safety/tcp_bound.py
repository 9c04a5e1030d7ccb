"""The command-side bound on the tool's speed (R10): shaped at the wire, for every posture.

The vendor's table reads the observed fault 1/32 as *TCP over-speed*, and at v_max one joint of an
FR3 alone moves its tool at 1.4 m/s. So where the controller judges tool speed, the commanded
stream must be slow enough by itself.

The bound is on Σ reach_j · |ω_j|, which no posture's tool speed exceeds. It is exact, costs no
kinematics, and a braking arm can only get further below it, since every |ω_j| falls. A bound on
the true tool speed would be less strict, but an arm that unfolds while it brakes could pass it.
"""

import math
from collections.abc import Sequence

from steadyhand.core.safety.braking import largest_magnitude
from steadyhand.core.safety.reach import Reach
from steadyhand.ground.errors import ConfigError


class TcpBound:
    """Slows commanded velocities so that the tool never passes `max_m_s`.

    Args:
        max_m_s: the bound.
        reach_m: largest distance of the tool from each joint's axis, shape (n_joints,).
    """

    __slots__ = ("_max_m_s", "_reach")

    def __init__(self, *, max_m_s: float, reach_m: Sequence[float]) -> None:
        self._max_m_s = max_m_s
        self._reach = Reach(reach_m)
        if not any(reach_m):
            raise ConfigError(
                "the tool has no reach, so the bound binds nothing", where="safety.tcp_speed.reach_m"
            )

    def speed_m_s(self, velocities_deg_s: Sequence[float]) -> float:
        """No posture's tool is faster than this at these joint velocities, shape (n_joints,)."""
        return self._reach.way_m(velocities_deg_s)

    def keeps(self, velocities_deg_s: Sequence[float]) -> bool:
        """Tell whether these velocities keep the bound in every posture."""
        if self._reach.overall_m_per_deg * math.hypot(*velocities_deg_s) <= self._max_m_s:
            return True
        return self.speed_m_s(velocities_deg_s) <= self._max_m_s

    def ceiling_deg_s(self, way_deg: Sequence[float]) -> float:
        """How fast the fastest joint may be on a straight way, shape (n_joints,); inf where no tool moves."""
        way_m = self.speed_m_s(way_deg)
        return self._max_m_s * largest_magnitude(way_deg) / way_m if way_m > 0.0 else math.inf

    def limit(self, chosen_deg_s: list[float], slowest_deg_s: list[float]) -> list[float]:
        """Slow velocities that do not keep the bound, on the way to `slowest`, until they do.

        Args:
            chosen_deg_s: what the law wants, shape (n_joints,); faster than the bound.
            slowest_deg_s: a full brake from the velocities in force; it keeps the bound whenever
                they did.
        """
        wanted_m_s = self.speed_m_s(chosen_deg_s)
        slowest_m_s = self.speed_m_s(slowest_deg_s)
        # Σ reach·|ω| is convex, so the line between the two is nowhere above this share of it.
        share = max(0.0, self._max_m_s - slowest_m_s) / (wanted_m_s - slowest_m_s)
        return [slow + share * (chosen_deg_s[index] - slow) for index, slow in enumerate(slowest_deg_s)]
