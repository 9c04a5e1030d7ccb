"""The ring between the data plane and whoever looks on (R13).

One producer, any number of consumers, the oldest record is overwritten, nobody waits for anybody.
A record's number says its slot; each slot carries that number twice:

    begin u64 │ length u32, crc u32 │ payload … │ end u64

The producer writes `begin`, the payload, then `end`, and last the newest number into the header. A
consumer reads `end`, copies, then reads `begin`: where both are the number it wanted, no byte of the
copy is another record's. Where the processor may reorder stores (all but x86), a CRC-32 over number
and payload decides as well. A consumer that was lapped skips to the newest minus a margin, not to
the slot about to be overwritten, and counts what it missed: received + missed = published, always.

Consumers map the ring read-only. A producer that died is followed by one that carries its numbers
on. Numbers start at 1; nothing here blocks or allocates per slot.
"""

import platform
from contextlib import suppress
from math import ceil
from mmap import mmap
from typing import Final

import msgspec

from steadyhand.edge.segment import Segment
from steadyhand.ground.errors import InputError

DEFAULT_SECONDS: Final = 2.0
"""R13: so deep that a recorder need not be kept off the ring."""

MAGIC: Final = int.from_bytes(b"SHring01", "little")
MAGIC_WORD, DEPTH_WORD, SLOT_WORD, CHECKSUM_WORD, PRODUCERS_WORD, NEWEST_WORD = 0, 1, 2, 3, 4, 8
"""Words of 8 bytes; the newest number, which all poll, has a cache line of its own."""

HEADER_BYTES: Final = 128
CACHE_LINE: Final = 64
WORD: Final = 8
PRODUCER_BYTE: Final = 1

OVERSIZE: Final = 0xFFFF_FFFF
"""The length of a record that did not fit: it keeps its number and is a gap to every consumer."""

STRONG_ORDER: Final = frozenset({"x86_64", "amd64", "i386", "i486", "i586", "i686"})


class RingShape(msgspec.Struct, frozen=True, kw_only=True):
    """How large a ring is.

    Attributes:
        depth: records it holds, at least 2.
        slot_bytes: the longest record, 1 to 16 MiB.
    """

    depth: int
    slot_bytes: int

    def __post_init__(self) -> None:
        if self.depth < 2 or not 1 <= self.slot_bytes <= 1 << 24:
            raise ValueError(f"a ring of {self.depth} slots of {self.slot_bytes} bytes cannot be")

    @classmethod
    def lasting(cls, *, rate_hz: float, slot_bytes: int, seconds: float = DEFAULT_SECONDS) -> "RingShape":
        """The ring that holds `seconds` of records at one record a tick."""
        return cls(depth=max(2, ceil(rate_hz * seconds)), slot_bytes=slot_bytes)

    @property
    def stride_bytes(self) -> int:
        """From one slot to the next: whole cache lines, so that neighbours do not disturb."""
        return -(-(3 * WORD + self.slot_bytes) // CACHE_LINE) * CACHE_LINE

    @property
    def size_bytes(self) -> int:
        """Of the segment that holds it."""
        return HEADER_BYTES + self.depth * self.stride_bytes


def memory_order_is_weak() -> bool:
    """Whether another core may see stores in another order than they were made."""
    return platform.machine().lower() not in STRONG_ORDER


def map_words(segment: Segment, *, writable: bool) -> tuple[mmap, memoryview]:
    """The segment as bytes and as words of 8 bytes. Raises InputError if it is too small for a ring."""
    if segment.size_bytes < HEADER_BYTES or segment.size_bytes % WORD:
        raise InputError("holds no ring", where=segment.name)
    mapped = segment.map(writable=writable)
    return mapped, memoryview(mapped).cast("Q")


def shape_of(words: memoryview, segment: Segment) -> RingShape:
    """The shape in a ring's header. Raises InputError where there is no ring that fits the segment."""
    if words[MAGIC_WORD] == MAGIC:
        with suppress(ValueError):
            shape = RingShape(depth=words[DEPTH_WORD], slot_bytes=words[SLOT_WORD])
            if shape.size_bytes == segment.size_bytes:
                return shape
    raise InputError("holds no ring", where=segment.name)
