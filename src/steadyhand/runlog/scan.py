"""A scan: the records of a file, each with what is known of it. Never a partial one (R15).

Segment by segment. One whose lengths lead to a checkpoint that stands where it was written, whose CRC is
right and whose count follows on the last, is delivered verified. Behind a damage the scan resumes at the
next checkpoint; records in between are delivered, unverified, only where the lengths lead exactly there
and the counts agree that none is missing. It holds one segment at a time and raises nothing but `LogFault`
for a file that cannot be read at all.
"""

from collections.abc import Iterator
from enum import Enum, auto
from typing import Final
from zlib import crc32

import msgspec

from steadyhand.runlog.framing import (
    CHECKPOINT_BYTES,
    CHECKPOINT_CHANNEL,
    CHECKPOINT_PAYLOAD_BYTES,
    CRC_BYTES,
    FILE_HEADER_BYTES,
    MAX_PAYLOAD_BYTES,
    MAX_SEGMENT_BYTES,
    RECORD_HEADER,
    RECORD_HEADER_BYTES,
    SYNC,
    Checkpoint,
    read_checkpoint,
)
from steadyhand.runlog.integrity import Damage, DamageKind, Integrity, Trust
from steadyhand.runlog.window import Window

LONGEST_DAMAGE_WALKED: Final = 2 * MAX_SEGMENT_BYTES
"""A damage that swallowed one checkpoint is two segments long; what is longer is skipped."""


class Record(msgspec.Struct, frozen=True, gc=False):
    """One whole record.

    Attributes:
        channel: its number.
        time_ns: monotonic time of the writer's host.
        payload: for the channel's codec.
        trust: what is known of it.
        offset: where it begins in the file.
    """

    channel: int
    time_ns: int
    payload: bytes
    trust: Trust
    offset: int


_Span = tuple[int, int, int, int]
"""channel, time_ns, offset, offset behind it."""


class _End(Enum):
    """Where the lengths of a segment lead."""

    CHECKPOINT = auto()
    CUT = auto()
    BROKEN = auto()


class Scan:
    """Iterate once; `integrity` says meanwhile and afterwards how much is verified.

    Args:
        window: of the file, whose header was checked.
        declared: channels of the log's own table, by which unverified records are judged; None where
            it is not known.
    """

    def __init__(self, window: Window, declared: frozenset[int] | None = None) -> None:
        self.integrity = Integrity(size_bytes=window.size)
        self._window = window
        self._declared = declared
        self._intact = True
        """Whether nothing was damaged yet."""
        self._counted = 0
        """Records before the segment, as the checkpoint before it says."""
        self._proven = True
        """Whether that checkpoint's own segment held."""

    def __iter__(self) -> Iterator[Record]:
        position = FILE_HEADER_BYTES
        while position < self._window.size:
            spans, at, end = self._walk(position)
            checkpoint = self._holds(position, at, len(spans)) if end is _End.CHECKPOINT else None
            if checkpoint is not None:
                yield from self._verified(spans, checkpoint)
                position = at + CHECKPOINT_BYTES
                continue
            following = self._next_checkpoint(position)
            if following is None:
                yield from self._tail(position)
                return
            yield from self._damaged(position, following)
            position = following.offset + CHECKPOINT_BYTES

    # ---- a segment

    def _walk(self, position: int) -> tuple[list[_Span], int, _End]:
        """Follow the lengths from `position` to a checkpoint, the end of the file, or nonsense."""
        window, spans = self._window, list[_Span]()
        at = position
        while True:
            if not window.hold(position, at + RECORD_HEADER_BYTES):
                return spans, at, _End.CUT
            channel, length, time_ns = RECORD_HEADER.unpack_from(window.data, at - window.base)
            end = at + RECORD_HEADER_BYTES + length
            if channel == CHECKPOINT_CHANNEL:
                return spans, at, _End.CHECKPOINT if length == CHECKPOINT_PAYLOAD_BYTES else _End.BROKEN
            if length > MAX_PAYLOAD_BYTES or end - position > MAX_SEGMENT_BYTES:
                return spans, at, _End.BROKEN
            if not window.hold(position, end):
                return spans, at, _End.CUT
            spans.append((channel, time_ns, at, end))
            at = end

    def _holds(self, position: int, at: int, walked: int) -> Checkpoint | None:
        """The checkpoint at `at`, if it vouches for all since `position`."""
        begin = 0 if position == FILE_HEADER_BYTES else position
        checkpoint = self._checkpoint_at(begin, at)
        if checkpoint is None:
            return None
        window = self._window
        covered = memoryview(window.data)[
            begin - window.base : at + CHECKPOINT_BYTES - CRC_BYTES - window.base
        ]
        if crc32(covered) != checkpoint.crc:
            return None
        if self._proven and checkpoint.records != self._counted + walked:
            return None
        return checkpoint

    def _checkpoint_at(self, begin: int, at: int) -> Checkpoint | None:
        window = self._window
        if not window.hold(begin, at + CHECKPOINT_BYTES):
            return None
        return read_checkpoint(window.data, at - window.base, at)

    def _verified(self, spans: list[_Span], checkpoint: Checkpoint) -> Iterator[Record]:
        told, behind = self.integrity, checkpoint.offset + CHECKPOINT_BYTES
        self._counted, self._proven = checkpoint.records, True
        if self._intact:
            told.verified_bytes = behind
            told.verified_records += len(spans)
            told.verified_until_ns, told.verified_wall_ns = checkpoint.time_ns, checkpoint.wall_ns
            yield from self._records(spans, Trust.VERIFIED)
            return
        told.resumed_records += len(spans)
        told.lost_records = max(0, checkpoint.records - told.records)
        yield from self._records(spans, Trust.RESUMED)

    def _records(self, spans: list[_Span], trust: Trust) -> Iterator[Record]:
        data, base = self._window.data, self._window.base
        for channel, time_ns, begin, end in spans:
            payload = data[begin + RECORD_HEADER_BYTES - base : end - base]
            yield Record(channel, time_ns, payload, trust, begin)

    # ---- damage

    def _next_checkpoint(self, position: int) -> Checkpoint | None:
        """The first one at `position` or behind it that has its form and stands where it was written."""
        found = self._window.find(SYNC, position + RECORD_HEADER_BYTES)
        while found is not None:
            at = found - RECORD_HEADER_BYTES
            checkpoint = self._checkpoint_at(at, at)
            if checkpoint is not None:
                return checkpoint
            found = self._window.find(SYNC, found + 1)
        return None

    def _damaged(self, position: int, following: Checkpoint) -> Iterator[Record]:
        """What lies before a checkpoint that does not vouch for it."""
        spans = self._spans_between(position, following.offset)
        agreed = spans is not None and following.records == self._counted + len(spans)
        delivered = spans if spans is not None and agreed else []
        self.integrity.note(
            Damage(
                kind=DamageKind.CHANGED if agreed else DamageKind.BROKEN,
                begin=position,
                end=following.offset + CHECKPOINT_BYTES,
                delivered=len(delivered),
            )
        )
        self._intact, self._proven = False, False
        self._counted = following.records
        self.integrity.unverified_records += len(delivered)
        yield from self._records(delivered, Trust.UNVERIFIED)

    def _spans_between(self, position: int, end: int) -> list[_Span] | None:
        """The records whose lengths lead exactly to `end`; None where they do not, or it is too far.

        A checkpoint whose own bytes were changed is stepped over like a record and is none.
        """
        window = self._window
        if end - position > LONGEST_DAMAGE_WALKED or not window.hold(position, end):
            return None
        spans, at = list[_Span](), position
        while at + RECORD_HEADER_BYTES <= end:
            channel, length, time_ns = RECORD_HEADER.unpack_from(window.data, at - window.base)
            if length > MAX_PAYLOAD_BYTES:
                return None
            begin, at = at, at + RECORD_HEADER_BYTES + length
            if channel == CHECKPOINT_CHANNEL or self._was_checkpoint(begin):
                continue
            spans.append((channel, time_ns, begin, at))
        return spans if at == end else None

    def _was_checkpoint(self, at: int) -> bool:
        """Whether the record at `at` is a checkpoint whose channel was changed: pattern and place are its."""
        mark = SYNC + at.to_bytes(8, "little")
        return self._window.data.startswith(mark, at + RECORD_HEADER_BYTES - self._window.base)

    def _tail(self, position: int) -> Iterator[Record]:
        """Behind the last checkpoint: whole records of declared channels, up to the first that is none."""
        spans, at, _ = self._walk(position)
        for index, (channel, _, begin, _) in enumerate(spans):
            foreign = self._declared is not None and channel not in self._declared
            if foreign or self._was_checkpoint(begin):
                spans, at = spans[:index], begin
                break
        told, size = self.integrity, self._window.size
        told.cut_bytes = size - at
        told.unverified_records += len(spans)
        if spans:
            told.note(Damage(kind=DamageKind.OPEN, begin=position, end=at, delivered=len(spans)))
        if at < size:
            told.note(Damage(kind=DamageKind.CUT, begin=at, end=size))
        self._intact = False
        yield from self._records(spans, Trust.UNVERIFIED)
