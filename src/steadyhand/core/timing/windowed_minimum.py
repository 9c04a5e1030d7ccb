"""The smallest value of the recent past, in constant memory and almost no time."""

from typing import Final

_BUCKETS: Final = 20


class WindowedMinimum:
    """Smallest value of the last `window_ns`, to a twentieth of it."""

    __slots__ = ("_bucket", "_bucket_ns", "_minima", "smallest")

    def __init__(self, window_ns: int) -> None:
        """Start without a value."""
        self._bucket_ns = max(1, window_ns // _BUCKETS)
        self.clear()

    def clear(self) -> None:
        """Forget all values."""
        self._minima: list[int | None] = [None] * _BUCKETS
        self._bucket: int | None = None
        self.smallest = 0
        """Smallest value of the window that ends with the newest one; 0 before the first."""

    def add(self, now_ns: int, value: int) -> None:
        """Take in a value; one with an older time than the newest counts as new."""
        bucket = now_ns // self._bucket_ns
        newest = self._bucket
        if newest is None or bucket > newest:
            self._roll(bucket, value)
            return
        slot = newest % _BUCKETS
        smallest = self._minima[slot]
        if smallest is None or value < smallest:
            self._minima[slot] = value
            self.smallest = min(self.smallest, value)

    def _roll(self, bucket: int, value: int) -> None:
        """Empty the buckets between the newest and this one, and look for the minimum anew."""
        newest = bucket - 1 if self._bucket is None else self._bucket
        for passed in range(max(newest + 1, bucket - _BUCKETS + 1), bucket):
            self._minima[passed % _BUCKETS] = None
        self._minima[bucket % _BUCKETS] = value
        self._bucket = bucket
        self.smallest = min([kept for kept in self._minima if kept is not None])
