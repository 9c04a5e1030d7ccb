"""The frontier of a link: what each policy pays in delay, and what it pays in held ticks.

`tune` fills these values in, the plot and the printed table read them. A point is one
configuration played over the whole trace; a curve is one policy over its parameter.
"""

from enum import StrEnum
from typing import Final

import msgspec

TOLERANCE_SHARE: Final = 0.001
"""Share of held ticks a user accepts unless they say otherwise: one tick in ten seconds at 100 Hz."""


class CurveKind(StrEnum):
    """What sort of policy a curve stands for."""

    FIXED = "fixed"
    """The described buffer with one depth for the whole run."""
    ADAPTIVE = "adaptive"
    """The described buffer with its depth moving between a base and a ceiling (`graze`)."""
    BOUND = "bound"
    """Least mean delay of a policy that knows the trace in advance and changes once a second."""
    PEER = "peer"
    """Somebody else's policy on the same arrivals, for comparison only."""


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One configuration, played over the trace.

    Attributes:
        delay_ms: added delay, mean or median of release minus sending, as the curves' producer
            states in `TuneResult.title`; milliseconds.
        late_share: ticks held, or setpoints late for the bound, as a share of all, 0 to 1.
        stops: how often the arm was stopped; 0 for the bound, which has no stall policy.
        label: the configuration in the words of a user, such as "200 ms" or "200..400 ms".
        buffer_ms: `playout_buffer_ms` of the configuration; 0 for the bound and for peers.
        adaptive_max_ms: `playout_adaptive_max_ms` of it; 0 for a fixed depth.
    """

    delay_ms: float
    late_share: float
    stops: int = 0
    label: str = ""
    buffer_ms: float = 0.0
    adaptive_max_ms: float = 0.0


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """One policy over its parameter.

    Attributes:
        name: what the legend calls it.
        kind: what sort of policy it is.
        points: its configurations, in order of the parameter; may be empty.
    """

    name: str
    kind: CurveKind
    points: tuple[Point, ...]


class TuneResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a sweep found.

    Attributes:
        curves: one per policy.
        recommended: the configuration of least delay within the tolerance and without a stop;
            None where there is none.
        tolerance_share: share of held ticks the user accepts, 0 to 1.
        title: the trace and the motion it was played with, in plain words.
    """

    curves: tuple[Curve, ...]
    recommended: Point | None
    tolerance_share: float = TOLERANCE_SHARE
    title: str = ""
