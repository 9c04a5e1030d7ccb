"""The sockets of one flow of datagrams: what comes to `listen` travels to `target`, answers travel back.

As a NAT does, it gives each sender an address of its own towards the
target, so that the target tells two operators apart and each gets its own answers.
"""

import socket
import struct
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, TypeAlias

from steadyhand.edge.impairment.addresses import Address, Forward, address_of, address_text, bound_socket
from steadyhand.edge.impairment.lane import Direction
from steadyhand.edge.impairment.schedule import Schedule
from steadyhand.edge.impairment.status import FlowStatus

Route: TypeAlias = tuple[socket.socket, Address]

MAX_SOURCES: Final = 64
BATCH: Final = 16
"""Datagrams read from a socket before what is due is looked at again."""

RECEIVE_BUFFER_BYTES: Final = 4 << 20
MAX_UDP_BYTES: Final = 65_535

SO_MEMINFO: Final = 55
"""Linux, asm-generic/socket.h; Python's socket module has no name for it."""

_MEMINFO: Final = struct.Struct("=9I")
_MEMINFO_DROPS: Final = 8


class UdpFlow:
    """One flow. Owns its sockets.

    Attributes:
        name: what it carries, for people.
        target: where it goes.
        listen: where it is listened for.
        strangers: datagrams that came in the target's name from elsewhere; dropped.
    """

    def __init__(self, name: str, forward: Forward, *, onward: Direction, back: Direction) -> None:
        """Listen.

        Raises:
            InputError: the port is taken.
        """
        self.name = name
        self.target = forward.target
        self._onward: Direction = onward
        self._back: Direction = back
        self._listener = bound_socket(socket.SOCK_DGRAM, forward.listen, f"--{name}")
        _widen(self._listener)
        self.listen = address_of(self._listener)
        self.strangers = 0
        self._upstream: OrderedDict[Address, socket.socket] = OrderedDict()
        self._senders: dict[socket.socket, Address] = {}

    def status(self) -> FlowStatus:
        """How it stands."""
        return FlowStatus(
            name=self.name,
            listen=address_text(self.listen),
            target=address_text(self.target),
            sources=len(self._upstream),
            strangers=self.strangers,
            kernel_dropped=sum(_drops(each) for each in self.sockets()),
        )

    def sockets(self) -> tuple[socket.socket, ...]:
        """What to wait on."""
        return (self._listener, *self._senders)

    def read(self, ready: socket.socket, schedule: Schedule[Route], clock: Callable[[], int]) -> None:
        """Hand what has come to the schedule, a batch at most."""
        for _ in range(BATCH):
            try:
                data, source = ready.recvfrom(MAX_UDP_BYTES)
            except OSError:
                return
            if ready is self._listener:
                route = (self._towards_target(source), self.target)
                schedule.offer(self._onward, route, data, clock())
            elif source == self.target and ready in self._senders:
                schedule.offer(self._back, (self._listener, self._senders[ready]), data, clock())
            else:
                self.strangers += 1

    def close(self) -> None:
        """Close every socket."""
        for each in self.sockets():
            each.close()

    def _towards_target(self, source: Address) -> socket.socket:
        """The socket that stands for `source`; over the limit, the one longest silent makes room."""
        upstream = self._upstream.get(source)
        if upstream is not None:
            self._upstream.move_to_end(source)
            return upstream
        if len(self._upstream) >= MAX_SOURCES:
            _, silent = self._upstream.popitem(last=False)
            del self._senders[silent]
            silent.close()
        upstream = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        upstream.setblocking(False)
        _widen(upstream)
        self._upstream[source] = upstream
        self._senders[upstream] = source
        return upstream


def _widen(each: socket.socket) -> None:
    """Ask for room for a burst; the kernel grants what it may."""
    each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)


def _drops(each: socket.socket) -> int:
    """What the kernel has dropped at a socket; 0 where it does not tell."""
    try:
        info = each.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, _MEMINFO.size)
    except OSError:
        return 0
    return int(_MEMINFO.unpack(info)[_MEMINFO_DROPS]) if len(info) == _MEMINFO.size else 0
