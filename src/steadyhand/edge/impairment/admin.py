"""The control port: a line of text in, a line of JSON out, over TCP on loopback.

Whatever comes, the answer is one line, and the proxy goes on: a line that cannot be used, is too
long or is not text is answered with its error. One line of a client is answered a turn, and none
before it has read the answer before, so that a flood of lines holds up no datagram for long.
"""

import socket
from collections.abc import Callable
from typing import Any, Final

import msgspec

from steadyhand.edge.impairment.addresses import LOOPBACK, address_of, bound_socket
from steadyhand.ground.errors import InputError

MAX_LINE_BYTES: Final = 8_192
MAX_CLIENTS: Final = 8
READ_BYTES: Final = 4_096

Answer = Callable[[str], dict[str, Any]]
"""Carries out one line; raises InputError where it cannot be used."""


class LineBuffer:
    """Splits what comes into lines; of a line that is too long it keeps only enough to know."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held = bytearray()

    def __len__(self) -> int:
        return len(self._held)

    def add(self, data: bytes) -> None:
        """Take in what has come."""
        self._held += data
        if not self.has_line:
            del self._held[MAX_LINE_BYTES + 1 :]

    @property
    def has_line(self) -> bool:
        """Whether a whole line is there."""
        return b"\n" in self._held

    def take(self) -> bytes | None:
        """The next whole line without its end; None where there is none."""
        line, newline, rest = self._held.partition(b"\n")
        if not newline:
            return None
        self._held = rest
        return bytes(line)


class _Client:
    """What has come from one client, and what it has still to be told."""

    __slots__ = ("incoming", "outgoing", "socket")

    def __init__(self, accepted: socket.socket) -> None:
        self.socket = accepted
        self.incoming = LineBuffer()
        self.outgoing = bytearray()

    @property
    def has_work(self) -> bool:
        """An answer to send, or a line to answer."""
        return bool(self.outgoing) or self.incoming.has_line


class AdminPort:
    """Listens, splits into lines, answers. Owns its sockets.

    Attributes:
        port: where it listens on 127.0.0.1.
    """

    def __init__(self, port: int, answer: Answer) -> None:
        """Listen.

        Raises:
            InputError: the port is taken.
        """
        self._listener = bound_socket(socket.SOCK_STREAM, (LOOPBACK, port), "--admin")
        self.port = address_of(self._listener)[1]
        self._answer = answer
        self._clients: dict[socket.socket, _Client] = {}

    def readers(self) -> list[socket.socket]:
        """What to wait on for reading."""
        ready = [each for each, client in self._clients.items() if not client.has_work]
        if len(self._clients) < MAX_CLIENTS:
            ready.append(self._listener)
        return ready

    def writers(self) -> list[socket.socket]:
        """What to wait on for writing."""
        return [each for each, client in self._clients.items() if client.has_work]

    def read(self, ready: socket.socket) -> None:
        """Accept, or take in what has come and answer the first line of it."""
        if ready is self._listener:
            self._accept()
            return
        client = self._clients.get(ready)
        if client is None:
            return
        try:
            data = ready.recv(READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._forget(client)
            return
        client.incoming.add(data)
        self._answer_one(client)

    def write(self, ready: socket.socket) -> None:
        """Go on with a client that has read its answer."""
        client = self._clients.get(ready)
        if client is not None:
            self._answer_one(client)

    def close(self) -> None:
        """Close every socket."""
        for client in list(self._clients.values()):
            self._forget(client)
        self._listener.close()

    def _accept(self) -> None:
        try:
            accepted, _ = self._listener.accept()
        except OSError:
            return
        accepted.setblocking(False)
        self._clients[accepted] = _Client(accepted)

    def _answer_one(self, client: _Client) -> None:
        """Answer the next line, unless the answer before has still to be sent; send what there is."""
        if not client.outgoing:
            line = client.incoming.take()
            if line is not None:
                client.outgoing += self._reply(line)
        try:
            while client.outgoing:
                del client.outgoing[: client.socket.send(client.outgoing)]
        except BlockingIOError:
            return
        except OSError:
            self._forget(client)

    def _reply(self, line: bytes) -> bytes:
        """One line of JSON for one line of text."""
        reply: dict[str, Any]
        try:
            if len(line) > MAX_LINE_BYTES:
                raise InputError("the line is too long", hint=f"at most {MAX_LINE_BYTES} bytes")
            reply = {"ok": True} | self._answer(line.decode())
        except UnicodeDecodeError:
            reply = {"ok": False, "error": "the line is not UTF-8 text"}
        except InputError as error:
            reply = {"ok": False, "error": str(error)}
        return msgspec.json.encode(reply) + b"\n"

    def _forget(self, client: _Client) -> None:
        self._clients.pop(client.socket, None)
        client.socket.close()
