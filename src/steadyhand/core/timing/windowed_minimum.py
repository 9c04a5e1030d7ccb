"""The smallest value of the recent past, in constant memory and almost no time."""

from typing import Final

_BUCKETS: Final = 20


class WindowedMinimum:
    """Smallest value of the last `window_ns`, to a twentieth of it."""

    __slots__ = ("_bucket", "_bucket_ns", "_minima", "minimum")

    def __init__(self, window_ns: int) -> None:
        """Start without a value."""
        self._bucket_ns = max(1, window_ns // _BUCKETS)
        self.clear()

    def clear(self) -> None:
        """Forget all values."""
        self._minima: list[float | None] = [None] * _BUCKETS
        self._bucket: int | None = None
        self.minimum: float | None = None
        """Smallest value of the window that ends with the newest one; None before the first."""

    def add(self, now_ns: int, value: float) -> None:
        """Take in a value; one with an older time than the newest counts as new."""
        bucket = now_ns // self._bucket_ns
        newest = self._bucket
        if newest is None or bucket > newest:
            self._roll(bucket)
        elif bucket < newest:
            bucket = newest
        slot = bucket % _BUCKETS
        smallest = self._minima[slot]
        if smallest is None or value < smallest:
            self._minima[slot] = value
        if self.minimum is None or value < self.minimum:
            self.minimum = value

    def _roll(self, bucket: int) -> None:
        """Empty the buckets between the newest and this one, and look for the minimum anew."""
        newest = bucket - 1 if self._bucket is None else self._bucket
        for passed in range(max(newest + 1, bucket - _BUCKETS + 1), bucket + 1):
            self._minima[passed % _BUCKETS] = None
        self._bucket = bucket
        self.minimum = min([value for value in self._minima if value is not None], default=None)
