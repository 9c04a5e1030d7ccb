"""The operator's three sockets: actions out, telemetry in, and the bell that wakes the loop."""

import contextlib
import socket
from typing import Final

from steadyhand.ground.errors import InputError
from steadyhand.nodes.operator.addresses import Address, OperatorAddresses, listening_host, resolve

READS_A_WAKE: Final = 32
"""Telemetry datagrams taken before the loop looks up again, so that a flood delays no e-stop's copy."""

MAX_DATAGRAM_BYTES: Final = 2_048
"""More than any frame has; what is longer is cut and refused."""


class OperatorSockets:
    """Opened at once, none of them ever blocks.

    Raises:
        InputError: a host nobody knows, or a port that is taken.
    """

    def __init__(self, addresses: OperatorAddresses) -> None:
        self.target = resolve(addresses.actions)
        self.refused_sends = 0
        """Datagrams that the host itself did not take; the network's losses are not among them."""
        # Not connected: a connected socket answers an unreachable port by failing the *next* send,
        # and that next one may be an e-stop.
        self._actions = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._actions.setblocking(False)
        self.telemetry = _listener(addresses.telemetry_listen, self.target)
        self._bell, self.heard_bell = socket.socketpair()
        for end in (self._bell, self.heard_bell):
            end.setblocking(False)

    @property
    def watched(self) -> tuple[socket.socket, socket.socket]:
        """What the loop sleeps on."""
        return self.heard_bell, self.telemetry

    @property
    def telemetry_port(self) -> int:
        """The port telemetry is heard on, once the kernel has chosen."""
        return int(self.telemetry.getsockname()[1])

    def send(self, datagram: bytes) -> None:
        """One action datagram on its way; a host that takes none right now is counted."""
        try:
            self._actions.sendto(datagram, self.target)
        except OSError:
            self.refused_sends += 1

    def read_telemetry(self) -> list[bytes]:
        """What has arrived, oldest first, at most `READS_A_WAKE`."""
        datagrams: list[bytes] = []
        while len(datagrams) < READS_A_WAKE:
            try:
                datagrams.append(self.telemetry.recv(MAX_DATAGRAM_BYTES))
            except OSError:
                break
        return datagrams

    def ring(self) -> None:
        """Wake the loop, from any thread and from a signal handler; a bell that rings already is enough."""
        with contextlib.suppress(OSError):
            self._bell.send(b"\0")

    def silence_bell(self) -> None:
        """The loop is awake."""
        with contextlib.suppress(OSError):
            while self.heard_bell.recv(4096):
                pass

    def close(self) -> None:
        """Close all of them."""
        for one in (self._actions, self.telemetry, self._bell, self.heard_bell):
            one.close()


def _listener(listen: Address, target: Address) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listener.setblocking(False)
    place = (listening_host(listen, target), listen[1])
    try:
        listener.bind(place)
    except OSError as error:
        listener.close()
        raise InputError(
            f"UDP port {place[1]} of {place[0]} cannot be listened on: {error.strerror}",
            where="remote_node.telemetry_port",
            hint="another operator may be running on this host; give this one a port of its own",
        ) from None
    return listener
