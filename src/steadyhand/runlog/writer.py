"""The writer: append-only, and the same calls give the same bytes.

It reads no clock. Each record brings its time, and a checkpoint the two clocks of whoever owns the
writer, read together; a simulated run has none, and its checkpoints bear no wall time (R16). When what
was written reaches the disk (`fsync`) is the owner's decision.
"""

from collections.abc import Callable
from typing import Final, Protocol
from zlib import crc32

import msgspec

from steadyhand.runlog.channels import PROVENANCE_CHANNEL, SCHEMA_CHANNEL
from steadyhand.runlog.faults import LogWriteError, Unrecordable
from steadyhand.runlog.framing import (
    CHECKPOINT_BYTES,
    CHECKPOINT_EVERY_BYTES,
    CHECKPOINT_EVERY_NS,
    MAX_PAYLOAD_BYTES,
    RECORD_HEADER,
    RECORD_HEADER_BYTES,
    checkpoint_bytes,
    file_header,
)
from steadyhand.runlog.schema import SCHEMA, LogSchema

MAX_PENDING_BYTES: Final = 4 << 20
"""What is kept for a file that takes nothing, before appending fails too."""

_TIMES: Final = range(-(1 << 63), 1 << 63)


class Sink(Protocol):
    """Where bytes go: an unbuffered file, or a stand-in."""

    def write(self, data: bytes, /) -> int | None:
        """Take some of the bytes and tell how many. Raises OSError."""


class ClockPair(msgspec.Struct, frozen=True):
    """The same moment by two clocks."""

    monotonic_ns: int
    wall_ns: int


class RunLogWriter:
    """Writes one log.

    The file header, the schema record and a first checkpoint are written at once, so that a log says
    what it is however early it is cut.

    Args:
        sink: takes the bytes.
        schema: of the log; no other channel can be written.
        now_ns: monotonic time of the schema record.
        clocks: reads both clocks, for checkpoints; None in a simulated run.

    Attributes:
        records: how many were appended, the schema among them.
        offset: bytes appended, header included.
        flushed: bytes of these that the sink took.

    Raises:
        LogWriteError: the sink refuses.
    """

    def __init__(
        self, sink: Sink, schema: LogSchema, *, now_ns: int, clocks: Callable[[], ClockPair] | None = None
    ) -> None:
        self.records = 0
        self.flushed = 0
        self._sink = sink
        self._clocks = clocks
        self._channels = frozenset(row.number for row in schema.channels)
        self._pending = bytearray(file_header())
        self._crc = 0
        self._summed = 0
        """How much of what is pending is in the CRC."""
        self._segment_at = 0
        self._newest_ns = now_ns
        self._covered_ns = now_ns
        if clocks is None and PROVENANCE_CHANNEL in self._channels:
            self._channels -= {PROVENANCE_CHANNEL}
        self._put(SCHEMA_CHANNEL, now_ns, SCHEMA.encode(schema))
        self.checkpoint(now_ns)

    @property
    def offset(self) -> int:
        """Bytes appended."""
        return self.flushed + len(self._pending)

    def append(self, channel: int, time_ns: int, payload: bytes) -> None:
        """Append one record; a checkpoint goes before it where it would come too late after it.

        Raises:
            Unrecordable: the channel is not in the schema (provenance: not in a simulated run's), the
                payload is longer than `MAX_PAYLOAD_BYTES`, or the time is no i64.
            LogWriteError: the sink refuses; this record is not in the log.
        """
        if channel not in self._channels:
            raise Unrecordable(f"channel {channel} is not in this log's schema")
        if len(payload) > MAX_PAYLOAD_BYTES:
            raise Unrecordable(f"{len(payload)} bytes on channel {channel}; a record has {MAX_PAYLOAD_BYTES}")
        if time_ns not in _TIMES:
            raise Unrecordable(f"{time_ns} is no time of 64 bits")
        if len(self._pending) > MAX_PENDING_BYTES:
            self.flush()
        size = RECORD_HEADER_BYTES + len(payload)
        segment = self.offset - self._segment_at
        too_large = segment + size + CHECKPOINT_BYTES > CHECKPOINT_EVERY_BYTES
        if (too_large and segment) or time_ns - self._covered_ns >= CHECKPOINT_EVERY_NS:
            self.checkpoint(time_ns)
        self._put(channel, time_ns, payload)

    def keep_up(self, now_ns: int) -> None:
        """Write the checkpoint that is due where no record came; call it once a loop."""
        if now_ns - self._covered_ns >= CHECKPOINT_EVERY_NS:
            self.checkpoint(now_ns)

    def checkpoint(self, now_ns: int) -> None:
        """Close the segment and flush.

        Args:
            now_ns: the monotonic time it bears in a simulated run; else the clocks say.
        """
        pair = ClockPair(max(now_ns, self._newest_ns), 0) if self._clocks is None else self._clocks()
        self._pending += checkpoint_bytes(
            offset=self.offset,
            records=self.records,
            time_ns=pair.monotonic_ns,
            wall_ns=pair.wall_ns,
            crc_before=self._summed_up(),
        )
        self._crc, self._summed = 0, len(self._pending)
        self._segment_at = self.offset
        self._covered_ns = now_ns
        self.flush()

    def flush(self) -> None:
        """Hand everything pending to the sink. What it does not take stays pending, in order."""
        self._summed_up()
        while self._pending:
            try:
                taken = self._sink.write(bytes(self._pending)) or 0
            except OSError as error:
                raise LogWriteError(f"the log cannot be written: {error.strerror or error}") from error
            if taken <= 0:
                raise LogWriteError("the log cannot be written: nothing is taken")
            del self._pending[:taken]
            self._summed -= taken
            self.flushed += taken

    def finish(self, now_ns: int) -> None:
        """Cover what is not covered yet, and flush. Nothing is appended afterwards."""
        if self.offset > self._segment_at:
            self.checkpoint(now_ns)
        self.flush()

    def _put(self, channel: int, time_ns: int, payload: bytes) -> None:
        self._pending += RECORD_HEADER.pack(channel, len(payload), time_ns)
        self._pending += payload
        self.records += 1
        self._newest_ns = max(self._newest_ns, time_ns)

    def _summed_up(self) -> int:
        """The CRC of the open segment."""
        if self._summed < len(self._pending):
            with memoryview(self._pending) as pending:
                self._crc = crc32(pending[self._summed :], self._crc)
            self._summed = len(self._pending)
        return self._crc
