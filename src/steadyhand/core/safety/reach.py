"""How far an arm's tool can go at most: bounds that hold in every posture and need no kinematics.

A joint that turns by ω moves the tool by no more than its reach times ω, so the tool moves by no
more than Σ reachᵢ·|ωᵢ|. That in turn is no more than |reach|·|ω|, which is looser by up to the root
of the number of joints, but is one call of a C function, where the sum is a loop. Whoever asks a
bound asks the cheap one first; what it cannot decide is decided as if it had not been asked.
"""

import math
from collections.abc import Sequence
from typing import Final

ROUNDED_UP: Final = 1.0 + 1e-9
"""Times this, a bound stays one whatever the last digits of either side are."""


class Reach:
    """The reach of one arm, per degree of its joints.

    Args:
        reach_m: largest distance of the tool from each joint's axis, shape (n_joints,).

    Attributes:
        metres_per_degree: how far a degree of each joint moves the tool at most, shape (n_joints,).
        overall_m_per_deg: the same for a degree of the joint vector's length.
    """

    __slots__ = ("metres_per_degree", "overall_m_per_deg")

    def __init__(self, reach_m: Sequence[float]) -> None:
        self.metres_per_degree = tuple(math.radians(reach) for reach in reach_m)
        self.overall_m_per_deg = math.hypot(*self.metres_per_degree) * ROUNDED_UP

    def way_m(self, offsets_deg: Sequence[float]) -> float:
        """No tool moves farther while its joints move by `offsets_deg`, or faster by °/s: m/s."""
        total = 0.0
        for index, metres in enumerate(self.metres_per_degree):
            total += metres * abs(offsets_deg[index])
        return total
