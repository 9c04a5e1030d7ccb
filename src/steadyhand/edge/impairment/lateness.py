"""How late the proxy is against its own schedule."""

from array import array
from typing import Final

import msgspec

from steadyhand.ground.stamps import NS_PER_US

SAMPLES: Final = 2_048


class LatenessReport(msgspec.Struct, frozen=True, kw_only=True):
    """From when a datagram was due to when it was handed to the kernel, µs.

    Attributes:
        samples: how many the percentiles are of, the newest.
        p50: median.
        p99: of a hundred, one is later.
        max: the latest since the start.
    """

    samples: int
    p50: float
    p99: float
    max: float


class Lateness:
    """A bounded number of samples, and the worst of all."""

    __slots__ = ("_count", "_ns", "_worst_ns")

    def __init__(self) -> None:
        self._ns = array("q", bytes(8 * SAMPLES))
        self._count = 0
        self._worst_ns = 0

    def note(self, late_ns: int) -> None:
        """One delivery."""
        self._ns[self._count % SAMPLES] = late_ns
        self._count += 1
        self._worst_ns = max(self._worst_ns, late_ns)

    def report(self) -> LatenessReport:
        """The figures so far; noughts where there are none."""
        ranked = sorted(self._ns[: min(self._count, SAMPLES)])
        count = len(ranked)
        return LatenessReport(
            samples=count,
            p50=ranked[count // 2] / NS_PER_US if count else 0.0,
            p99=ranked[count * 99 // 100] / NS_PER_US if count else 0.0,
            max=self._worst_ns / NS_PER_US,
        )
