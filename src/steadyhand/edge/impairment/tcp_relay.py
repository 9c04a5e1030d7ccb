"""The control path: TCP connections relayed with delay, black hole and reset.

A killed lane is a black hole. Nothing more is read from its sockets, so their senders' buffers fill
as behind a dead link, and what they hold comes through after the revival, as the kernel's
retransmissions would bring it. A client that connects meanwhile hears nothing, not even a refusal.
"""

import errno
import socket
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from steadyhand.edge.impairment.addresses import Forward, address_of, address_text, bound_socket
from steadyhand.edge.impairment.lane import DIRECTIONS, Direction, Lane
from steadyhand.edge.impairment.pipe import ByteCounters, Pipe
from steadyhand.edge.impairment.status import ControlStatus

MAX_CONNECTIONS: Final = 64
_RESET: Final = struct.pack("ii", 1, 0)


class Connection:
    """A client, its connection onward, and the two pipes between them.

    Attributes:
        connecting: the connection onward is not yet made.
        onward: from the client to the target.
        back: from the target to the client.
    """

    __slots__ = ("back", "client", "connecting", "onward", "upstream")

    def __init__(self, client: socket.socket, upstream: socket.socket, onward: Pipe, back: Pipe) -> None:
        self.client = client
        self.upstream = upstream
        self.onward = onward
        self.back = back
        self.connecting = True

    @property
    def finished(self) -> bool:
        """Both sides have closed, and the other has been told."""
        return self.onward.finished and self.back.finished

    @property
    def next_due_ns(self) -> int | None:
        """When something of it is due; nothing while it is not yet made."""
        if self.connecting:
            return None
        dues_ns = [pipe.next_due_ns for pipe in (self.onward, self.back) if not pipe.finished]
        return min((due_ns for due_ns in dues_ns if due_ns is not None), default=None)


class TcpRelay:
    """Relays what connects to `listen` onward to `target`. Owns its sockets.

    Attributes:
        listen: where it listens.
        target: where it connects.
        counters: bytes of each direction.
        opened: connections accepted.
        refused: connections the target did not take.
        resets: connections cut, by command or by either end.
    """

    def __init__(self, forward: Forward, lanes: Mapping[Direction, Lane]) -> None:
        """Listen.

        Raises:
            InputError: the port is taken.
        """
        self._listener = bound_socket(socket.SOCK_STREAM, forward.listen, "--control")
        self.listen = address_of(self._listener)
        self.target = forward.target
        self._lanes = lanes
        self.counters: dict[Direction, ByteCounters] = {direction: ByteCounters() for direction in DIRECTIONS}
        self.opened = self.refused = self.resets = 0
        self._connections: dict[socket.socket, Connection] = {}  # by each of its two sockets

    @property
    def connections(self) -> int:
        """Connections open now."""
        return len(self._connections) // 2

    def status(self) -> ControlStatus:
        """How it stands."""
        return ControlStatus(
            listen=address_text(self.listen),
            target=address_text(self.target),
            connections=self.connections,
            opened=self.opened,
            refused=self.refused,
            resets=self.resets,
        )

    def readers(self) -> list[socket.socket]:
        """What to wait on for reading."""
        ready = [
            each
            for each, connection in self._connections.items()
            if (connection.onward if each is connection.client else connection.back).wants_to_read
            and not (connection.connecting and each is connection.upstream)
        ]
        if self._may_accept:
            ready.append(self._listener)
        return ready

    def writers(self) -> list[socket.socket]:
        """What to wait on for writing, or for the connection to be made."""
        return [
            each
            for each, connection in self._connections.items()
            if (connection.connecting and each is connection.upstream)
            or (connection.onward if each is connection.upstream else connection.back).wants_to_write
        ]

    @property
    def next_due_ns(self) -> int | None:
        """When something is due."""
        dues_ns = (connection.next_due_ns for connection in set(self._connections.values()))
        return min((due_ns for due_ns in dues_ns if due_ns is not None), default=None)

    def read(self, ready: socket.socket, clock: Callable[[], int]) -> None:
        """Accept, or take in what has come, unless something of the same turn has forbidden it."""
        if ready is self._listener:
            if self._may_accept:
                self._accept()
            return
        connection = self._connections.get(ready)
        if connection is None:
            return
        pipe = connection.onward if ready is connection.client else connection.back
        if not pipe.wants_to_read:
            return
        try:
            pipe.fill(clock())
        except OSError:
            self._cut(connection)

    def write(self, ready: socket.socket, clock: Callable[[], int]) -> None:
        """Go on writing, or see whether the connection onward was made."""
        connection = self._connections.get(ready)
        if connection is None:
            return
        if connection.connecting and ready is connection.upstream:
            if ready.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                self.refused += 1
                self._cut(connection)
                return
            connection.connecting = False
        self._drain(connection, clock())

    def deliver(self, clock: Callable[[], int]) -> None:
        """Write what is due on every connection."""
        for connection in set(self._connections.values()):
            due_ns = connection.next_due_ns
            if due_ns is not None and due_ns <= clock():
                self._drain(connection, clock())

    def reset(self) -> int:
        """Cut every connection with a TCP reset to both ends; returns how many."""
        cut = set(self._connections.values())
        for connection in cut:
            self._cut(connection)
        return len(cut)

    def close(self) -> None:
        """Cut every connection and stop listening."""
        self.reset()
        self._listener.close()

    @property
    def _may_accept(self) -> bool:
        """Whether a new connection may enter."""
        return self._lanes["to_follower"].alive and self.connections < MAX_CONNECTIONS

    def _accept(self) -> None:
        """Take one client and begin its connection onward."""
        try:
            client, _ = self._listener.accept()
        except OSError:  # gone again before it was taken
            return
        self.opened += 1
        upstream = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        for each in (client, upstream):
            each.setblocking(False)
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        onward = Pipe(client, upstream, self._lanes["to_follower"], self.counters["to_follower"])
        back = Pipe(upstream, client, self._lanes["to_operator"], self.counters["to_operator"])
        connection = Connection(client, upstream, onward, back)
        self._connections[client] = self._connections[upstream] = connection
        if upstream.connect_ex(self.target) not in (0, errno.EINPROGRESS):
            self.refused += 1
            self._cut(connection)

    def _drain(self, connection: Connection, now_ns: int) -> None:
        """Write both ways; close what has finished, cut what is broken."""
        try:
            if not connection.connecting:
                connection.onward.drain(now_ns)
                connection.back.drain(now_ns)
        except OSError:
            self._cut(connection)
            return
        if connection.finished:
            self._forget(connection)

    def _cut(self, connection: Connection) -> None:
        """Close both ends with a reset."""
        self.resets += 1
        for each in (connection.client, connection.upstream):
            with suppress(OSError):
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self._forget(connection)

    def _forget(self, connection: Connection) -> None:
        """Close both ends and let go of them."""
        for each in (connection.client, connection.upstream):
            self._connections.pop(each, None)
            each.close()
        connection.onward.drop()
        connection.back.drop()
