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

from steadyhand.ground.errors import ConfigError


class TcpBound:
    """Slows commanded velocities so that the tool never passes `max_m_s`.

    Args:
        max_m_s: the bound.
        reach_m: largest distance of the tool from each joint's axis, shape (n_joints,).
    """

    __slots__ = ("_max_m_s", "_metres_per_degree")

    def __init__(self, *, max_m_s: float, reach_m: Sequence[float]) -> None:
        self._max_m_s = max_m_s
        self._metres_per_degree = tuple(math.radians(reach) for reach in reach_m)
        if not any(self._metres_per_degree):
            raise ConfigError(
                "the tool has no reach, so the bound binds nothing", where="safety.tcp_speed.reach_m"
            )

    def speed_m_s(self, velocities_deg_s: Sequence[float]) -> float:
        """No posture's tool is faster than this at these joint velocities, shape (n_joints,)."""
        total = 0.0
        for index, metres in enumerate(self._metres_per_degree):
            total += metres * abs(velocities_deg_s[index])
        return total

    def keeps(self, velocities_deg_s: Sequence[float]) -> bool:
        """Tell whether these velocities keep the bound in every posture."""
        return self.speed_m_s(velocities_deg_s) <= self._max_m_s

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
        return [slow + share * (want - slow) for want, slow in zip(chosen_deg_s, slowest_deg_s, strict=True)]
