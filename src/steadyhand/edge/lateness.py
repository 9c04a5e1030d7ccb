"""How late: quantiles of nanoseconds in constant memory, cheap enough for every tick.

Log-linear buckets, 32 to the octave, as in Gil Tene's HDR histogram: a quantile is never
understated, and overstated by 3.2 % at most; the maximum is exact. Recording touches one counter of
a fixed array, so nothing is allocated that the garbage collector would have to look at.
"""

from array import array
from typing import Final

import msgspec

from steadyhand.ground.stamps import NS_PER_US

SUB_BITS: Final = 5
SUB_BUCKETS: Final = 1 << SUB_BITS
LARGEST_BITS: Final = 44  # 2**44 ns are almost five hours; later than that counts as that late
LARGEST_NS: Final = (1 << LARGEST_BITS) - 1
BUCKETS: Final = (LARGEST_BITS - SUB_BITS + 1) * SUB_BUCKETS


class LatenessSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Quantiles of lateness in µs over `count` samples; all zero when there are none."""

    count: int
    p50_us: float
    p99_us: float
    p99_9_us: float
    max_us: float


class LatenessHistogram:
    """Counts how late things were; answers with quantiles."""

    def __init__(self) -> None:
        self._counts = array("Q", bytes(8 * BUCKETS))
        self.count = 0
        self.max_ns = 0

    def add(self, late_ns: int) -> None:
        """Record one sample; a negative one (early) counts as on time."""
        clamped_ns = min(max(late_ns, 0), LARGEST_NS)
        shift = max(clamped_ns.bit_length() - SUB_BITS - 1, 0)
        index = (shift << SUB_BITS) + (clamped_ns >> shift)
        self._counts[index] += 1
        self.count += 1
        self.max_ns = max(self.max_ns, late_ns)

    def quantile_ns(self, share: float) -> int:
        """The lateness that `share` of the samples did not exceed; 0 without samples.

        Raises:
            ValueError: the share does not lie in (0, 1].
        """
        if not 0.0 < share <= 1.0:
            raise ValueError(f"a quantile lies in (0, 1], not at {share}")
        wanted = share * self.count
        seen = 0
        for index, count in enumerate(self._counts):
            seen += count
            if count and seen >= wanted:
                return min(_upper_edge_ns(index), self.max_ns)
        return self.max_ns

    def summary(self) -> LatenessSummary:
        """Count, p50, p99, p99.9 and maximum."""
        return LatenessSummary(
            count=self.count,
            p50_us=self.quantile_ns(0.5) / NS_PER_US,
            p99_us=self.quantile_ns(0.99) / NS_PER_US,
            p99_9_us=self.quantile_ns(0.999) / NS_PER_US,
            max_us=self.max_ns / NS_PER_US,
        )


def _upper_edge_ns(index: int) -> int:
    """The largest value that falls into this bucket."""
    shift = max(0, (index >> SUB_BITS) - 1)
    return ((index - (shift << SUB_BITS) + 1) << shift) - 1
