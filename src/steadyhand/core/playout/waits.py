"""R5: how long the released setpoints really stood in line, over the last ten seconds.

Depth × period would be wrong whenever the buffer holds or conceals. The window is kept as counts
of tenths of a millisecond, so that a release costs two dictionary updates and a health report
sorts a few hundred keys instead of a thousand samples.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from steadyhand.ground.stamps import NS_PER_MS, NS_PER_S

WAIT_WINDOW_NS: Final = 10 * NS_PER_S
"""The reported waiting times are those of the releases of this long (R5)."""

RESOLUTION_NS: Final = NS_PER_MS // 10
"""Waiting times are kept to this."""


class WaitWindow:
    """Waiting times of the releases of the last ten seconds, to 0.1 ms."""

    __slots__ = ("_counts", "_releases")

    def __init__(self) -> None:
        """Start empty."""
        self._releases: deque[tuple[int, int]] = deque()
        self._counts: dict[int, int] = {}

    def note(self, wait_ns: int, now_ns: int) -> None:
        """Take one release, and forget those older than the window."""
        releases, counts = self._releases, self._counts
        bucket = (wait_ns + RESOLUTION_NS // 2) // RESOLUTION_NS
        releases.append((now_ns, bucket))
        counts[bucket] = counts.get(bucket, 0) + 1
        while now_ns - releases[0][0] > WAIT_WINDOW_NS:
            old = releases.popleft()[1]
            left = counts[old] - 1
            if left:
                counts[old] = left
            else:
                del counts[old]

    def quantiles_ms(self, shares: Sequence[float], now_ns: int) -> list[float] | None:
        """Waiting times that these shares (0..1) of the window do not exceed; None while empty."""
        counts, expired = self._counts, self._expired(now_ns - WAIT_WINDOW_NS)
        if expired:
            counts = {bucket: count - expired.get(bucket, 0) for bucket, count in counts.items()}
        buckets = sorted(counts)
        seen = list(accumulate(map(counts.__getitem__, buckets)))
        if not seen or seen[-1] == 0:
            return None
        return [buckets[bisect_left(seen, share * seen[-1])] * RESOLUTION_NS / NS_PER_MS for share in shares]

    def _expired(self, oldest_ns: int) -> dict[int, int]:
        """Counts that no newer release has pushed out of the window yet: all of them after a stop."""
        expired: dict[int, int] = {}
        for released_ns, bucket in self._releases:
            if released_ns >= oldest_ns:
                break
            expired[bucket] = expired.get(bucket, 0) + 1
        return expired
