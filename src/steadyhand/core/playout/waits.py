"""R5: how long the released setpoints really stood in line, over the last ten seconds.

Depth × period would be wrong whenever the buffer holds or conceals. The window is kept as counts
of tenths of a millisecond, so that a release costs two dictionary updates and a health report
sorts a few hundred keys instead of a thousand samples.
"""

from collections import deque
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

    def quantile_ms(self, share: float, now_ns: int) -> float | None:
        """Waiting time that `share` (0..1) of the window does not exceed; None while empty."""
        expired = self._expired(now_ns - WAIT_WINDOW_NS)
        left = len(self._releases) - sum(expired.values())
        if left == 0:
            return None
        rank = share * left
        seen = bucket = 0
        for bucket in sorted(self._counts):
            seen += self._counts[bucket] - expired.get(bucket, 0)
            if seen >= rank:
                break
        return bucket * RESOLUTION_NS / NS_PER_MS

    def _expired(self, oldest_ns: int) -> dict[int, int]:
        """Counts that no newer release has pushed out of the window yet: all of them after a stop."""
        expired: dict[int, int] = {}
        for released_ns, bucket in self._releases:
            if released_ns >= oldest_ns:
                break
            expired[bucket] = expired.get(bucket, 0) + 1
        return expired
