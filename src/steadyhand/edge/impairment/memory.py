"""The last minute of datagrams of one lane: when each was sent, and when it arrives or why it does not.

Kept in columns of plain integers: a minute at 1 kHz is a megabyte, and nothing for the garbage
collector to walk while a datagram is due.
"""

from array import array
from enum import IntEnum
from typing import Final

import msgspec

from steadyhand.ground.stamps import NS_PER_S

MEMORY_NS: Final = 60 * NS_PER_S
MEMORY_PACKETS: Final = 65_536


class Fate(IntEnum):
    """Why a datagram does not arrive; stands in the place of its arrival."""

    LOST = -1
    """The link lost it."""
    KILLED = -2
    """Its lane was killed when it came."""
    OVERFLOWED = -3
    """More was under way than the proxy holds."""


class Packet(msgspec.Struct, frozen=True, gc=False):
    """One copy of a datagram.

    Attributes:
        sent_ns: when it came to the proxy.
        arrival_ns: when it is delivered, or None.
        fate: `arrives`, `lost`, `killed` or `overflowed`.
    """

    sent_ns: int
    arrival_ns: int | None
    fate: str


class Packets(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of the memory, oldest first.

    Attributes:
        packets: the copies, a doubled datagram's two in a row.
        next: where to read on.
        missed: copies asked for that are no longer remembered.
    """

    packets: tuple[Packet, ...]
    next: int
    missed: int


class PacketMemory:
    """Remembers a bounded number of copies, the newest, and tells no more than the last minute."""

    __slots__ = ("_arrival_ns", "_capacity", "_count", "_sent_ns")

    def __init__(self, capacity: int = MEMORY_PACKETS) -> None:
        self._capacity = capacity
        self._sent_ns = array("q", bytes(8 * capacity))
        self._arrival_ns = array("q", bytes(8 * capacity))
        self._count = 0

    def note(self, sent_ns: int, arrival_ns: int) -> None:
        """Remember a copy; `arrival_ns` is a `Fate` where it does not arrive."""
        place = self._count % self._capacity
        self._sent_ns[place] = sent_ns
        self._arrival_ns[place] = arrival_ns
        self._count += 1

    def read(self, cursor: int, now_ns: int, *, limit: int) -> Packets:
        """Up to `limit` copies from number `cursor` on, none sent over a minute before `now_ns`.

        Args:
            cursor: 0, or `next` of the answer before.
            now_ns: now.
            limit: most copies in one answer.
        """
        oldest = self._oldest(now_ns)
        start = max(cursor, oldest)
        end = min(start + limit, self._count)
        return Packets(
            packets=tuple(self._packet(number % self._capacity) for number in range(start, end)),
            next=end,
            missed=max(0, start - cursor),
        )

    def _oldest(self, now_ns: int) -> int:
        """Number of the oldest copy that is still told; sendings never go back, so halving finds it."""
        low, high = max(0, self._count - self._capacity), self._count
        while low < high:
            middle = (low + high) // 2
            if self._sent_ns[middle % self._capacity] < now_ns - MEMORY_NS:
                low = middle + 1
            else:
                high = middle
        return low

    def _packet(self, place: int) -> Packet:
        arrival_ns = self._arrival_ns[place]
        if arrival_ns >= 0:
            return Packet(self._sent_ns[place], arrival_ns, "arrives")
        return Packet(self._sent_ns[place], None, Fate(arrival_ns).name.lower())
