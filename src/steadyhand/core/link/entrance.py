"""The door of a link: outages that close it and the queue of a bottleneck behind it.

A datagram enters when the ones before it have been served and no outage is on. Outages act at the
door alone: what has entered is under way and arrives.
"""

from collections import deque
from collections.abc import Iterator
from math import isinf, log
from random import Random
from typing import Final

from steadyhand.core.link.profile import LinkProfile, Outage
from steadyhand.core.link.trace import LOST, TraceCursor
from steadyhand.ground.stamps import NS_PER_MS, ns_from_ms

NEVER_NS: Final = 1 << 62
Window = tuple[int, int]


class Gate:
    """Outages from one source, as windows in time; asked with times that never go back."""

    __slots__ = ("_begin_ns", "_end_ns", "_windows")

    def __init__(self, windows: Iterator[Window]) -> None:
        self._windows = windows
        self._begin_ns, self._end_ns = next(windows, (NEVER_NS, NEVER_NS))

    def reopens_ns(self, t_ns: int) -> int:
        """`t_ns` itself, or the end of the outage it falls in; `NEVER_NS` where that never ends."""
        while t_ns >= self._end_ns:
            self._begin_ns, self._end_ns = next(self._windows, (NEVER_NS, NEVER_NS))
        return self._end_ns if t_ns >= self._begin_ns else t_ns


class Entrance:
    """Answers when a datagram gets into the link."""

    __slots__ = ("_backlog_bytes", "_burst", "_free_ns", "_gates", "_limit_bytes", "_ns_per_byte", "_queue")

    def __init__(self, profile: LinkProfile, rng: Random, trace: TraceCursor | None) -> None:
        rate = profile.rate_kbit_s
        self._ns_per_byte = 8e6 / rate if rate > 0.0 else 0.0
        # At least one byte where there is a rate: 0 stands for no bound at all.
        timed_bytes = max(1, int(profile.queue_ms * rate / 8.0)) if rate > 0.0 else 0
        self._limit_bytes = profile.queue_bytes or timed_bytes
        self._queue: deque[tuple[int, int]] = deque()  # (when it leaves, size), oldest first
        self._backlog_bytes = 0
        self._burst = profile.outage_burst
        self._free_ns = 0
        gates: list[Gate | TraceCursor] = []
        if profile.outages:
            gates.append(Gate(_planned(profile.outages)))
        if profile.outage_every_ms > 0.0:
            gates.append(Gate(_recurring(profile, rng)))
        if trace is not None:
            gates.append(trace)
        self._gates = tuple(gates)

    def admit(self, t_ns: int, size_bytes: int) -> int:
        """When a datagram offered at `t_ns` has entered the link, or `LOST`.

        Tail drop comes first, since a full queue refuses whatever the weather. Then its turn
        comes; an outage then either loses it or holds it to the outage's end; then it takes the
        bottleneck for its size.
        """
        if self._limit_bytes and self._overflows(t_ns, size_bytes):
            return LOST
        open_ns = self._open_ns(t_ns if t_ns > self._free_ns else self._free_ns)
        if open_ns == LOST:
            return LOST
        entered_ns = open_ns + int(size_bytes * self._ns_per_byte)
        self._free_ns = entered_ns
        if self._limit_bytes:
            self._queue.append((entered_ns, size_bytes))
            self._backlog_bytes += size_bytes
        return entered_ns

    def _overflows(self, t_ns: int, size_bytes: int) -> bool:
        """Whether the queue has no room for one more; forgets what has left it."""
        queue = self._queue
        while queue and queue[0][0] <= t_ns:
            self._backlog_bytes -= queue.popleft()[1]
        backlog_bytes = self._backlog_bytes
        return backlog_bytes > 0 and backlog_bytes + size_bytes > self._limit_bytes

    def _open_ns(self, t_ns: int) -> int:
        """`t_ns`, or the first time after it at which no gate is shut, or `LOST`."""
        settled = False
        while not settled:
            settled = True
            for gate in self._gates:
                reopened_ns = gate.reopens_ns(t_ns)
                if reopened_ns != t_ns:
                    if not self._burst or reopened_ns >= NEVER_NS:
                        # The gates are never asked about an earlier time than this again.
                        self._free_ns = t_ns
                        return LOST
                    t_ns = reopened_ns
                    settled = False
        return t_ns


def needs_entrance(profile: LinkProfile) -> bool:
    """Whether anything of the profile happens at the door."""
    return bool(
        profile.rate_kbit_s or profile.outages or profile.outage_every_ms or profile.trace is not None
    )


def _planned(outages: tuple[Outage, ...]) -> Iterator[Window]:
    """The planned outages in order of their starts."""
    for outage in sorted(outages, key=lambda planned: planned.start_ms):
        begin_ns = ns_from_ms(outage.start_ms)
        endless = isinf(outage.duration_ms)
        yield begin_ns, NEVER_NS if endless else begin_ns + ns_from_ms(outage.duration_ms)


def _recurring(profile: LinkProfile, rng: Random) -> Iterator[Window]:
    """Quiet, outage, quiet, outage … for ever."""
    quiet_ns = profile.outage_every_ms * NS_PER_MS
    shortest_ns = profile.outage_ms * NS_PER_MS
    spread_ns = max(0.0, profile.outage_max_ms - profile.outage_ms) * NS_PER_MS
    end_ns = 0
    while True:
        wait_ns = -quiet_ns * log(1.0 - rng.random()) if profile.outage_random else quiet_ns
        length_ns = shortest_ns + rng.random() * spread_ns if spread_ns else shortest_ns
        begin_ns = end_ns + int(wait_ns)
        end_ns = begin_ns + int(length_ns)
        yield begin_ns, end_ns
