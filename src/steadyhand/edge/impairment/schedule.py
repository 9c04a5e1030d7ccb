"""Which datagram is delivered when: the pure part of the proxy, told the time and never asking for it.

A datagram's fate is settled when it comes. A killed lane takes it; else its link answers with the
arrival of each copy, and the copies wait in one heap for all lanes.
"""

from collections.abc import Mapping
from heapq import heappop, heappush
from typing import Final, Generic, TypeVar

import msgspec

from steadyhand.edge.impairment.lane import Direction, Lane
from steadyhand.edge.impairment.memory import Fate, PacketMemory

UDP_OVERHEAD_BYTES: Final = 28
"""IPv4 and UDP headers: what a datagram occupies of a bottleneck beside its payload."""

MAX_QUEUED: Final = 65_536
MAX_QUEUED_BYTES: Final = 64 << 20

RouteT = TypeVar("RouteT")


class Counters(msgspec.Struct, kw_only=True):
    """What became of the datagrams of one lane.

    At every moment in + doubled = out + lost + killed + overflowed + refused + queued.

    Attributes:
        received: datagrams that came; `in` in JSON.
        delivered: copies handed to the kernel; `out` in JSON.
        lost: datagrams the link lost.
        doubled: second copies the link made.
        queued: copies under way.
        killed: datagrams that came while the lane was killed.
        overflowed: copies that found the proxy itself full (65,536 copies or 64 MiB under way).
        refused: copies the kernel did not take.
    """

    received: int = msgspec.field(default=0, name="in")
    delivered: int = msgspec.field(default=0, name="out")
    lost: int = 0
    doubled: int = 0
    queued: int = 0
    killed: int = 0
    overflowed: int = 0
    refused: int = 0


class Delivery(msgspec.Struct, Generic[RouteT], frozen=True, gc=False):
    """A copy that is due.

    Attributes:
        due_ns: when it arrives.
        direction: its lane.
        route: where to, as it was handed in.
        data: the datagram, untouched.
    """

    due_ns: int
    direction: Direction
    route: RouteT
    data: bytes


class Schedule(Generic[RouteT]):
    """The datagrams under way in both directions.

    Attributes:
        lanes: the lane of each direction; change and kill them there.
        counters: the account of each.
        memory: the last minute of each.
    """

    __slots__ = ("_heap", "_number", "_queued_bytes", "counters", "lanes", "memory")

    def __init__(self, lanes: Mapping[Direction, Lane]) -> None:
        self.lanes = lanes
        self.counters: dict[Direction, Counters] = {direction: Counters() for direction in lanes}
        self.memory: dict[Direction, PacketMemory] = {direction: PacketMemory() for direction in lanes}
        self._heap: list[tuple[int, int, Delivery[RouteT]]] = []
        self._number = 0
        self._queued_bytes = 0

    def offer(self, direction: Direction, route: RouteT, data: bytes, now_ns: int) -> None:
        """Take in a datagram that came at `now_ns`, and settle its fate.

        Args:
            direction: the lane it travels.
            route: where its copies go; handed back with each.
            data: its payload.
            now_ns: never before that of the datagram before.

        Raises:
            ValueError: `now_ns` went back.
        """
        counters = self.counters[direction]
        counters.received += 1
        lane = self.lanes[direction]
        if not lane.alive:
            counters.killed += 1
            self.memory[direction].note(now_ns, Fate.KILLED)
            return
        arrivals_ns = lane.send(now_ns, len(data) + UDP_OVERHEAD_BYTES)
        if not arrivals_ns:
            counters.lost += 1
            self.memory[direction].note(now_ns, Fate.LOST)
            return
        counters.doubled += len(arrivals_ns) - 1
        for arrival_ns in arrivals_ns:
            self._put_under_way(Delivery(arrival_ns, direction, route, data), now_ns)

    @property
    def next_due_ns(self) -> int | None:
        """When the next copy is due; None where nothing is under way."""
        return self._heap[0][0] if self._heap else None

    def pop_due(self, now_ns: int) -> Delivery[RouteT] | None:
        """The next copy that is due at `now_ns`, in order of arrival; among equals the first sent."""
        if not self._heap or self._heap[0][0] > now_ns:
            return None
        delivery = heappop(self._heap)[2]
        self._queued_bytes -= len(delivery.data)
        counters = self.counters[delivery.direction]
        counters.queued -= 1
        counters.delivered += 1
        return delivery

    def note_refused(self, delivery: Delivery[RouteT]) -> None:
        """Take back a delivery: the kernel did not take it."""
        counters = self.counters[delivery.direction]
        counters.delivered -= 1
        counters.refused += 1

    def _put_under_way(self, delivery: Delivery[RouteT], now_ns: int) -> None:
        """One copy into the heap, unless the proxy holds all it may."""
        counters = self.counters[delivery.direction]
        memory = self.memory[delivery.direction]
        if len(self._heap) >= MAX_QUEUED or self._queued_bytes + len(delivery.data) > MAX_QUEUED_BYTES:
            counters.overflowed += 1
            memory.note(now_ns, Fate.OVERFLOWED)
            return
        self._number += 1
        self._queued_bytes += len(delivery.data)
        counters.queued += 1
        memory.note(now_ns, delivery.due_ns)
        heappush(self._heap, (delivery.due_ns, self._number, delivery))
