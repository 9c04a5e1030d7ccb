"""One direction of one relayed connection: read, delay, write."""

import socket
from collections import deque

import msgspec

from steadyhand.edge.impairment.lane import Lane
from steadyhand.edge.impairment.stream import END, StreamSchedule

READ_BYTES = 64 * 1024


class ByteCounters(msgspec.Struct, kw_only=True):
    """What became of the bytes of one direction of the control path: in = out + dropped + queued.

    Attributes:
        received: bytes read; `in` in JSON.
        delivered: bytes handed to the kernel; `out` in JSON.
        queued: bytes under way.
        dropped: bytes under way when their connection was cut.
    """

    received: int = msgspec.field(default=0, name="in")
    delivered: int = msgspec.field(default=0, name="out")
    queued: int = 0
    dropped: int = 0


class Pipe:
    """Bytes from `source` to `sink`.

    Attributes:
        source: the socket read.
        sink: the socket written.
        finished: the source's end has been passed on.
    """

    __slots__ = ("_counters", "_outgoing", "_queued_bytes", "_schedule", "finished", "sink", "source")

    def __init__(
        self, source: socket.socket, sink: socket.socket, lane: Lane, counters: ByteCounters
    ) -> None:
        self.source = source
        self.sink = sink
        self.finished = False
        self._counters = counters
        self._schedule = StreamSchedule(lane)
        self._outgoing: deque[memoryview] = deque()
        self._queued_bytes = 0

    @property
    def wants_to_read(self) -> bool:
        """Whether to wait for the source; a killed lane or a full window leaves it unread."""
        return self._schedule.wants_more

    @property
    def wants_to_write(self) -> bool:
        """Whether to wait for the sink."""
        return bool(self._outgoing)

    @property
    def next_due_ns(self) -> int | None:
        """When to call `drain` again."""
        return None if self._outgoing else self._schedule.next_due_ns

    def fill(self, now_ns: int) -> None:
        """Read once.

        Raises:
            OSError: the connection is broken.
        """
        try:
            data = self.source.recv(READ_BYTES)
        except BlockingIOError:
            return
        self._queued_bytes += len(data)
        self._counters.received += len(data)
        self._counters.queued += len(data)
        self._schedule.offer(data, now_ns)

    def drain(self, now_ns: int) -> None:
        """Write what is due, as far as the sink takes it.

        Raises:
            OSError: the connection is broken.
        """
        while not self.finished:
            if not self._outgoing:
                data = self._schedule.pop_due(now_ns)
                if data is None:
                    return
                if data == END:
                    self.sink.shutdown(socket.SHUT_WR)
                    self.finished = True
                    return
                self._outgoing.append(memoryview(data))
            if not self._write():
                return

    def drop(self) -> None:
        """Give up what is under way."""
        self._counters.queued -= self._queued_bytes
        self._counters.dropped += self._queued_bytes
        self._queued_bytes = 0

    def _write(self) -> bool:
        """Hand the first piece to the kernel; False where it takes no more for now."""
        piece = self._outgoing.popleft()
        try:
            taken = self.sink.send(piece)
        except BlockingIOError:
            taken = 0
        self._queued_bytes -= taken
        self._counters.queued -= taken
        self._counters.delivered += taken
        if taken < len(piece):
            self._outgoing.appendleft(piece[taken:])
            return False
        return True
