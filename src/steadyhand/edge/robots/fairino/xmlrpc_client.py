"""Calls on port 20003, each ended by its own deadline.

The standard library's client waits as long as the socket does, and a socket's time-out starts anew
with every byte: a peer that sends one a second holds a caller for ever. Here the whole call has one
deadline, an answer has a greatest size, and the connection is kept between calls, so that a StopMotion
does not first have to be let in.
"""

from __future__ import annotations

import http.client
import io
import socket
import time
import xmlrpc.client
from typing import TYPE_CHECKING, Any, Final

from steadyhand.edge.robots.fairino.ports import VENDOR_PORTS

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

MAX_ANSWER_BYTES: Final = 1 << 20
FORBIDDEN_PREFIX: Final = "system."
"""`system.listMethods` was seen to switch a controller off (fairino-fws); no introspection, ever."""


class CallError(Exception):
    """No usable answer: nobody there, too late, a fault, or bytes that are no answer."""


class _DeadlineReader(io.RawIOBase):
    """Reads a socket until a deadline, whatever dribbles in before it."""

    def __init__(self, owner: _DeadlineSocket) -> None:
        self._owner = owner

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        return self._owner.receive_into(buffer)


class _DeadlineSocket:
    """As much of a socket as `http.client` uses."""

    def __init__(self, connection: socket.socket, deadline_s: float) -> None:
        self._connection = connection
        self.deadline_s = deadline_s
        self.budget_bytes = MAX_ANSWER_BYTES

    def _arm(self) -> None:
        left_s = self.deadline_s - time.monotonic()
        if left_s <= 0.0:
            raise TimeoutError("the deadline has passed")
        self._connection.settimeout(left_s)

    def sendall(self, data: ReadableBuffer) -> None:
        self._arm()
        self._connection.sendall(data)

    def receive_into(self, buffer: WriteableBuffer) -> int:
        self._arm()
        received = self._connection.recv_into(buffer)
        self.budget_bytes -= received
        if self.budget_bytes < 0:
            raise OSError(f"an answer of more than {MAX_ANSWER_BYTES} bytes")
        return received

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_DeadlineReader(self))

    def close(self) -> None:
        """Nothing yet: `http.client` closes a connection it will not reuse before reading its answer."""

    def hang_up(self) -> None:
        self._connection.close()


class XmlRpcCaller:
    """One kept connection to one controller. One thread uses it; a failed call closes it.

    Args:
        address: IPv4 literal.
        port: TCP.
        timeout_s: of a whole call, connecting included.
    """

    def __init__(self, address: str, port: int = VENDOR_PORTS.xmlrpc, *, timeout_s: float = 1.0) -> None:
        self.timeout_s = timeout_s
        self._peer = (address, port)
        self._http: http.client.HTTPConnection | None = None
        self._socket: _DeadlineSocket | None = None

    @property
    def connected(self) -> bool:
        """Whether a connection is kept."""
        return self._socket is not None

    def call(self, method: str, *arguments: Any, timeout_s: float | None = None) -> Any:
        """Make one call and return its answer, as Python values.

        A connection that was kept and turns out to be dead is made anew once, within the deadline: the
        controller closes idle ones. Every call of the control port may be made twice.

        Raises:
            CallError: no usable answer; the message says which kind.
            ValueError: an introspection call.
        """
        if method.startswith(FORBIDDEN_PREFIX):
            raise ValueError(f"{method}: introspection switches the controller off")
        deadline_s = time.monotonic() + (self.timeout_s if timeout_s is None else timeout_s)
        body = xmlrpc.client.dumps(arguments, method).encode()
        was_kept = self.connected
        try:
            answer = self._exchange(body, deadline_s)
        except (ConnectionError, http.client.RemoteDisconnected) as error:
            self.close()
            if not was_kept:
                raise CallError(f"{method}: {_in_words(error)}") from None
            answer = self._exchange_or_fail(method, body, deadline_s)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise CallError(f"{method}: {_in_words(error)}") from None
        return _decode(method, answer)

    def close(self) -> None:
        """Hang up."""
        if self._http is not None:
            self._http.close()
        if self._socket is not None:
            self._socket.hang_up()
        self._http, self._socket = None, None

    def _exchange_or_fail(self, method: str, body: bytes, deadline_s: float) -> bytes:
        try:
            return self._exchange(body, deadline_s)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise CallError(f"{method}: {_in_words(error)}") from None

    def _exchange(self, body: bytes, deadline_s: float) -> bytes:
        connection, link = self._connect(deadline_s)
        link.deadline_s, link.budget_bytes = deadline_s, MAX_ANSWER_BYTES
        connection.request("POST", "/RPC2", body, {"Content-Type": "text/xml", "User-Agent": "steadyhand"})
        response = connection.getresponse()
        answer = response.read()
        if response.status != http.client.OK:
            raise http.client.HTTPException(f"HTTP status {response.status}")
        if response.will_close:
            self.close()
        return answer

    def _connect(self, deadline_s: float) -> tuple[http.client.HTTPConnection, _DeadlineSocket]:
        if self._http is not None and self._socket is not None:
            return self._http, self._socket
        left_s = max(deadline_s - time.monotonic(), 0.001)
        plain = socket.create_connection(self._peer, timeout=left_s)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = _DeadlineSocket(plain, deadline_s)
        self._http = http.client.HTTPConnection(*self._peer)
        # http.client is given our socket instead of making its own; it uses no more of one than this.
        self._http.sock = self._socket
        return self._http, self._socket


def _decode(method: str, answer: bytes) -> Any:
    if b"<!" in answer:
        raise CallError(f"{method}: the answer carries a document type, which no controller sends")
    try:
        values, _ = xmlrpc.client.loads(answer)
    except xmlrpc.client.Fault as fault:
        raise CallError(f"{method}: fault {fault.faultCode}: {fault.faultString}") from None
    except Exception as error:
        # The parser raises half a dozen kinds, depending on where the bytes go wrong.
        raise CallError(f"{method}: not an XML-RPC answer ({type(error).__name__})") from None
    return values[0] if len(values) == 1 else values


def _in_words(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text.lower() or type(error).__name__
