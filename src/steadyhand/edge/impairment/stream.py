"""When the bytes of one direction of one TCP connection are passed on: the pure part of the relay.

A stream keeps its order whatever the link does to it. Loss has no meaning above the kernel, so what
the link refuses (a lost row of a trace, an outage without end) waits at the door and is offered
again, and everything behind it waits too.
"""

from collections import deque
from typing import Final

from steadyhand.edge.impairment.lane import Lane
from steadyhand.ground.stamps import NS_PER_MS

WINDOW_BYTES: Final = 256 * 1024
"""Bytes under way before the sender's socket is left unread, as a receive window would."""

RETRY_NS: Final = 200 * NS_PER_MS
"""How long what was refused waits: the kernel's least retransmission time-out (Linux, TCP_RTO_MIN)."""

SEGMENT_BYTES: Final = 1448
SEGMENT_OVERHEAD_BYTES: Final = 52
"""An Ethernet frame's worth of stream, and its IPv4 and TCP headers with time stamps."""

END: Final = b""
"""In place of bytes: the sender has closed its side."""


class StreamSchedule:
    """Bytes under way in one direction.

    Attributes:
        under_way_bytes: taken in and not yet handed out.
    """

    __slots__ = ("_at_door", "_ended", "_lane", "_queue", "_retry_ns", "under_way_bytes")

    def __init__(self, lane: Lane) -> None:
        self._lane = lane
        self._queue: deque[tuple[int, bytes]] = deque()
        self._at_door: bytes | None = None
        self._retry_ns = 0
        self._ended = False
        self.under_way_bytes = 0

    @property
    def wants_more(self) -> bool:
        """Whether to read on: the lane is alive, nothing waits at its door, the window is open."""
        return (
            self._lane.alive
            and self._at_door is None
            and not self._ended
            and self.under_way_bytes < WINDOW_BYTES
        )

    def offer(self, data: bytes, now_ns: int) -> None:
        """Take in what was read at `now_ns`; `END` closes the stream behind all before it.

        Raises:
            ValueError: more was read than `wants_more` allowed, or `now_ns` went back.
        """
        if self._ended or self._at_door is not None:
            raise ValueError("the stream is not to be read on")
        self._ended = data == END
        self.under_way_bytes += len(data)
        self._enter(data, now_ns)

    @property
    def next_due_ns(self) -> int | None:
        """When to ask again; None where nothing is under way or the lane is killed with all at its door."""
        retry_ns = self._retry_ns if self._at_door is not None and self._lane.alive else None
        if not self._queue:
            return retry_ns
        due_ns = self._queue[0][0]
        return due_ns if retry_ns is None else min(due_ns, retry_ns)

    def pop_due(self, now_ns: int) -> bytes | None:
        """The next bytes due at `now_ns`, or `END`; None where nothing is due."""
        if self._at_door is not None and self._lane.alive and now_ns >= self._retry_ns:
            data, self._at_door = self._at_door, None
            self._enter(data, now_ns)
        if not self._queue or self._queue[0][0] > now_ns:
            return None
        data = self._queue.popleft()[1]
        self.under_way_bytes -= len(data)
        return data

    def _enter(self, data: bytes, now_ns: int) -> None:
        """Into the link, or back to the door."""
        segments = max(1, -(-len(data) // SEGMENT_BYTES))
        arrivals_ns = self._lane.send(now_ns, len(data) + segments * SEGMENT_OVERHEAD_BYTES)
        if not arrivals_ns:
            self._at_door = data
            self._retry_ns = now_ns + RETRY_NS
            return
        # A change of link may promise an earlier arrival than what is under way: it stands behind it.
        self._queue.append((arrivals_ns[0], data))
