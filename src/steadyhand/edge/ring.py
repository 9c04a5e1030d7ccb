"""The producer's end of the ring: publishes, and waits for nobody. The layout is in `ring_layout`."""

import os
from contextlib import suppress
from zlib import crc32

from steadyhand.edge.ring_layout import (
    CHECKSUM_WORD,
    DEPTH_WORD,
    HEADER_BYTES,
    MAGIC,
    MAGIC_WORD,
    NEWEST_WORD,
    OVERSIZE,
    PRODUCER_BYTE,
    PRODUCERS_WORD,
    SLOT_WORD,
    WORD,
    RingShape,
    map_words,
    memory_order_is_weak,
    shape_of,
)
from steadyhand.edge.segment import Segment
from steadyhand.ground.errors import InputError


class RingWriter:
    """The one producer of a ring.

    Args:
        segment: zeroed, or one that an earlier producer of the same shape has left.
        shape: of the ring; the segment must be `shape.size_bytes` long.
        wake_fds: eventfds of the consumers that want to be woken.
        checksum: None decides by the processor.

    Attributes:
        newest: number of the newest record, 0 before the first.

    Raises:
        InputError: there is a producer already, or the segment holds a ring of another shape.
    """

    def __init__(
        self,
        segment: Segment,
        shape: RingShape,
        *,
        wake_fds: tuple[int, ...] = (),
        checksum: bool | None = None,
    ) -> None:
        segment.claim(PRODUCER_BYTE, "producer")
        self._map, self._words = map_words(segment, writable=True)
        self._shape = shape
        self._stride_bytes = shape.stride_bytes  # a property worked out in every tick costs a µs
        self._wake_fds = wake_fds
        if self._words[MAGIC_WORD] == 0 and segment.size_bytes == shape.size_bytes:
            self._words[DEPTH_WORD], self._words[SLOT_WORD] = shape.depth, shape.slot_bytes
            self._words[CHECKSUM_WORD] = memory_order_is_weak() if checksum is None else checksum
            self._words[MAGIC_WORD] = MAGIC
        elif shape_of(self._words, segment) != shape:
            raise InputError("holds a ring of another shape", where=segment.name)
        self._checksum = bool(self._words[CHECKSUM_WORD])
        self._words[PRODUCERS_WORD] += 1
        self.newest: int = self._words[NEWEST_WORD]

    def publish(self, payload: bytes | bytearray | memoryview) -> bool:
        """Make `payload` the newest record; False if it was too long, and is a gap to all.

        A producer that died in the middle of a record left its number unpublished; the next one
        writes it anew, and no consumer has seen a byte of it.
        """
        sequence = self.newest + 1
        words, size = self._words, len(payload)
        start = HEADER_BYTES + (sequence - 1) % self._shape.depth * self._stride_bytes
        first = start // WORD
        words[first] = sequence
        fits = size <= self._shape.slot_bytes
        if fits:
            check = crc32(payload, sequence & 0xFFFF_FFFF) if self._checksum else 0
            words[first + 1] = size | check << 32
            body = start + 2 * WORD
            self._map[body : body + size] = payload
        else:
            words[first + 1] = OVERSIZE
        words[first + self._stride_bytes // WORD - 1] = sequence
        words[NEWEST_WORD] = sequence
        self.newest = sequence
        for wake_fd in self._wake_fds:
            _wake(wake_fd)
        return fits

    def close(self) -> None:
        """Unmap. The segment, and the claim on it, are the caller's to close."""
        self._words.release()
        self._map.close()


def new_wake_fd() -> int:
    """An eventfd for one consumer; hand it to the producer and to that consumer."""
    return os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)


def _wake(wake_fd: int) -> None:
    # Refused only when the consumer has not looked for 2**64 records; it is awake already.
    with suppress(BlockingIOError):
        os.eventfd_write(wake_fd, 1)
