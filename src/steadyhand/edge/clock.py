"""Where `now_ns` comes from: one clock for everything that decides, and one that tests turn by hand.

Below `edge` no clock is read at all; it is handed in. Here it is read, and only the monotonic one:
wall time jumps when a host is synchronised, and has stopped healthy arms elsewhere (rulings, "Time").
"""

import time
from typing import Final, Protocol


class MonotonicClock(Protocol):
    """Anything that answers with integer nanoseconds that never run backwards."""

    def now_ns(self) -> int:
        """Nanoseconds since an arbitrary moment, the same for all processes of one host."""


class SystemClock:
    """The host's CLOCK_MONOTONIC: slewed by clock synchronisation, never stepped."""

    # The builtin itself, not a method around it: the pacer reads it in a tight loop.
    now_ns = staticmethod(time.monotonic_ns)


SYSTEM_CLOCK: Final = SystemClock()


class ManualClock:
    """A clock for tests: stands still until it is advanced, or moves a fixed step at each reading.

    Args:
        now_ns: where it starts.
        step_ns: how far each reading moves it on; what a loop that spins on the clock needs to end.
    """

    def __init__(self, now_ns: int = 0, *, step_ns: int = 0) -> None:
        self._now_ns = now_ns
        self._step_ns = _not_backwards(step_ns)

    def now_ns(self) -> int:
        """The present reading; the step comes after it."""
        reading_ns = self._now_ns
        self._now_ns += self._step_ns
        return reading_ns

    def advance(self, by_ns: int) -> None:
        """Move on. Raises ValueError for a step backwards: a monotonic clock has none."""
        self._now_ns += _not_backwards(by_ns)


def _not_backwards(by_ns: int) -> int:
    if by_ns < 0:
        raise ValueError(f"a monotonic clock cannot go back by {-by_ns} ns")
    return by_ns
