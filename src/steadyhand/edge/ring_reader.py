"""A consumer's end of the ring: reads without ever writing. The layout is in `ring_layout`."""

import os
import select
from contextlib import suppress
from typing import Final, Literal
from zlib import crc32

import msgspec

from steadyhand.edge.ring_layout import (
    CHECKSUM_WORD,
    HEADER_BYTES,
    NEWEST_WORD,
    OVERSIZE,
    PRODUCERS_WORD,
    WORD,
    map_words,
    shape_of,
)
from steadyhand.edge.segment import Segment

ATTEMPTS: Final = 64
"""How often one call tries anew before it answers «nothing yet»: no loop here is without bound."""


class RingRecord(msgspec.Struct, frozen=True, gc=False):
    """One record, whole."""

    sequence: int
    payload: bytes


class RingReader:
    """One consumer of a ring: `next_record` for every record, `latest_record` for the newest only.

    Args:
        segment: of a ring that a producer has set up.
        start: «new» begins after what is there now, «first» at number 1.
        margin_records: how far behind the newest to go on after having been lapped; half the depth
            unless given, so that as little as possible is lost and half a lap is gained.
        wake_fd: an eventfd that the producer was given.

    Attributes:
        shape: of the ring.
        received: records handed out.
        missed: records published that were not: overwritten, too long, or passed over by
            `latest_record`. From the first number on, received + missed + backlog = published.

    Raises:
        InputError: the segment holds no ring.
        ValueError: the margin is not less than the depth.
    """

    def __init__(
        self,
        segment: Segment,
        *,
        start: Literal["new", "first"] = "new",
        margin_records: int | None = None,
        wake_fd: int | None = None,
    ) -> None:
        self._map, self._words = map_words(segment, writable=False)
        self.shape = shape_of(self._words, segment)
        self._stride_bytes = self.shape.stride_bytes
        self._margin = self.shape.depth // 2 if margin_records is None else margin_records
        if not 0 <= self._margin < self.shape.depth:
            raise ValueError(f"a margin of {self._margin} records in a ring of {self.shape.depth}")
        self._checksum = bool(self._words[CHECKSUM_WORD])
        self._wake_fd = wake_fd
        self._wanted = 1 if start == "first" else self.newest + 1
        self.received = 0
        self.missed = 0

    @property
    def newest(self) -> int:
        """Number of the newest record published, 0 before the first."""
        return self._words[NEWEST_WORD]

    @property
    def producers(self) -> int:
        """How many producers the ring has had; a change tells of a restart."""
        return self._words[PRODUCERS_WORD]

    @property
    def backlog(self) -> int:
        """Records published and not yet asked for."""
        return self.newest - self._wanted + 1

    def next_record(self) -> RingRecord | None:
        """The record after the last one, or None: nothing yet. A gap is counted in `missed`."""
        for _ in range(ATTEMPTS):
            wanted, newest = self._wanted, self.newest
            if wanted > newest:
                return None
            found = self._read(wanted)
            if isinstance(found, bytes):
                return self._hand_out(wanted, found)
            if found == "not yet":
                return None
            self._skip_to(wanted + 1 if found == "too long" else max(wanted + 1, self.newest - self._margin))
        return None

    def latest_record(self) -> RingRecord | None:
        """The newest record, or None: nothing since the last. Those passed over count as missed."""
        for _ in range(ATTEMPTS):
            newest = self.newest
            if self._wanted > newest:
                return None
            found = self._read(newest)
            if isinstance(found, bytes):
                self._skip_to(newest)
                return self._hand_out(newest, found)
            if found == "too long":
                self._skip_to(newest + 1)
        return None

    def wait(self, timeout_s: float) -> bool:
        """Sleep until the producer has published, at most `timeout_s`; whether there is a backlog.

        Raises:
            ValueError: this reader was given no eventfd.
        """
        if self.backlog > 0:
            return True
        select.select([self], [], [], timeout_s)
        self.clear_wake()
        return self.backlog > 0

    def fileno(self) -> int:
        """The eventfd, for a `select` or an event loop of the caller's. Raises ValueError without."""
        if self._wake_fd is None:
            raise ValueError("this reader was given no eventfd to be woken by")
        return self._wake_fd

    def clear_wake(self) -> None:
        """Take the wake back; before reading, so that none is lost."""
        with suppress(BlockingIOError):
            os.eventfd_read(self.fileno())

    def close(self) -> None:
        """Unmap. The segment is the caller's to close."""
        self._words.release()
        self._map.close()

    def _read(self, sequence: int) -> bytes | Literal["lapped", "not yet", "too long"]:
        """Copy one slot and prove that it was `sequence` from before the copy until after it."""
        start = HEADER_BYTES + (sequence - 1) % self.shape.depth * self._stride_bytes
        first = start // WORD
        if self._words[first + self._stride_bytes // WORD - 1] != sequence:
            return "lapped" if self._words[first] > sequence else "not yet"
        meta = self._words[first + 1]
        size = meta & 0xFFFF_FFFF
        payload = self._copy(start + 2 * WORD, min(size, self.shape.slot_bytes))
        if not self._still_holds(first, sequence):
            return "lapped"
        if size == OVERSIZE:
            return "too long"
        if self._checksum and crc32(payload, sequence & 0xFFFF_FFFF) != meta >> 32:
            return "not yet"
        return payload

    def _copy(self, start: int, size: int) -> bytes:
        return self._map[start : start + size]

    def _still_holds(self, first: int, sequence: int) -> bool:
        """The second look (R13): without it, 95 % of the records tear under a flood."""
        return self._words[first] == sequence

    def _skip_to(self, sequence: int) -> None:
        self.missed += sequence - self._wanted
        self._wanted = sequence

    def _hand_out(self, sequence: int, payload: bytes) -> RingRecord:
        self.received += 1
        self._wanted = sequence + 1
        return RingRecord(sequence, payload)
