"""Loss concealment: a small hole is bridged, one synthetic setpoint a tick (document 000 §5.6).

Joint space, straight line, constant speed: the arm neither stops for a hole it would not notice
nor jumps across it. Received values are never touched (R7); what stands in for a setpoint that
never came is tagged.
"""

import math
from typing import Final

import msgspec

from steadyhand.ground.setpoint import Setpoint

INTERPOLATED_TAG: Final = "playout_interpolated"


def synthetic_between(last: Setpoint, head: Setpoint, missing: int) -> Setpoint | None:
    """Return the first of `missing` evenly spaced setpoints from `last` to `head`.

    Everything that is not motion (grippers, outputs, free-form extras) stays as it was last
    released: the future is not anticipated. Joint velocities are cleared. None where the two
    do not have the same joints, so that no line leads from one to the other.
    """
    if len(last.joints_deg) != len(head.joints_deg):
        return None
    fraction = 1.0 / (missing + 1)
    return msgspec.structs.replace(
        last,
        joints_deg=tuple(
            [a + (b - a) * fraction for a, b in zip(last.joints_deg, head.joints_deg, strict=True)]
        ),
        timestamp_s=_between(last.timestamp_s, head.timestamp_s, fraction),
        leader_timestamp_s=_leader_between(last, head, fraction),
        joint_velocities_deg_s=(),
        extras={**last.extras, INTERPOLATED_TAG: True},
    )


def _between(a: float, b: float, fraction: float) -> float:
    """Linear step from `a`; `a` itself where the two are too far apart for a float."""
    value = a + (b - a) * fraction
    return value if math.isfinite(value) else a


def _leader_between(last: Setpoint, head: Setpoint, fraction: float) -> float | None:
    if last.leader_timestamp_s is None or head.leader_timestamp_s is None:
        return last.leader_timestamp_s
    return _between(last.leader_timestamp_s, head.leader_timestamp_s, fraction)
