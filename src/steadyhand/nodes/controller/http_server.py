"""TCP port 20003: as much of HTTP as XML-RPC needs. POST, a length, keep-alive; everything bounded."""

import asyncio
from http import HTTPStatus
from typing import Final

from steadyhand.nodes.controller.box import ControlBox
from steadyhand.nodes.controller.xmlrpc import answer

MAX_HEAD_BYTES: Final = 8192
MAX_BODY_BYTES: Final = 65536
REQUEST_S: Final = 5.0
"""From a request's first byte to its last: a trickle does not hold a connection for ever."""
MAX_CONNECTIONS: Final = 64
MAX_UNREAD_BYTES: Final = 1 << 20
"""Answers that a caller has not read; one that only asks is hung up on."""

_END_OF_HEAD: Final = b"\r\n\r\n"


class CallServer:
    """Counts connections.

    Args:
        box: whom the calls are for.
    """

    def __init__(self, box: ControlBox) -> None:
        self.box = box
        self.open: set[CallConnection] = set()
        box.at_power_off(self.hang_up)

    def connection(self) -> "CallConnection":
        """For `loop.create_server`."""
        return CallConnection(self)

    def hang_up(self) -> None:
        """Drop everybody at once."""
        for connection in tuple(self.open):
            connection.abort()


class Request:
    """The head of one request.

    Args:
        head: its bytes, without the empty line.
    """

    def __init__(self, head: bytes) -> None:
        first, *lines = head.decode("latin-1").split("\r\n")
        self.method, _, rest = first.partition(" ")
        self.version = rest.rpartition(" ")[2]
        fields = (line.partition(":") for line in lines)
        self.fields = {name.strip().lower(): value.strip() for name, _, value in fields}

    @property
    def refusal(self) -> HTTPStatus | None:
        """Why this request is not taken, or None."""
        if self.version not in ("HTTP/1.0", "HTTP/1.1"):
            return HTTPStatus.BAD_REQUEST
        if self.method != "POST":
            return HTTPStatus.METHOD_NOT_ALLOWED
        if "transfer-encoding" in self.fields or "content-encoding" in self.fields:
            return HTTPStatus.NOT_IMPLEMENTED
        length = self.fields.get("content-length", "")
        if not (length.isascii() and length.isdigit()):
            return HTTPStatus.LENGTH_REQUIRED
        return HTTPStatus.REQUEST_ENTITY_TOO_LARGE if self.length > MAX_BODY_BYTES else None

    @property
    def length(self) -> int:
        """Bytes of the body; only meaningful where nothing is refused."""
        digits = self.fields["content-length"]
        return int(digits) if len(digits) < 10 else MAX_BODY_BYTES + 1

    @property
    def keeps_alive(self) -> bool:
        """Whether another request may follow."""
        wanted = self.fields.get("connection", "").lower()
        return wanted != "close" if self.version == "HTTP/1.1" else wanted == "keep-alive"


class CallConnection(asyncio.Protocol):
    """One caller.

    Args:
        server: which counts it.
    """

    def __init__(self, server: CallServer) -> None:
        self._server = server
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the caller, unless there are too many."""
        if not isinstance(transport, asyncio.Transport):
            raise TypeError("calls come over a stream")
        self._transport = transport
        if len(self._server.open) >= MAX_CONNECTIONS:
            self.abort()
            return
        self._server.open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """The caller is gone."""
        self._server.open.discard(self)
        self._transport = None
        self._cancel_timer()

    def abort(self) -> None:
        """Hang up without a word."""
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Answer every request that is complete; the rest has a deadline."""
        self._buffer += data
        while self._take_request():
            self._cancel_timer()
        if self._buffer and self._timer is None and self._transport is not None:
            self._timer = asyncio.get_running_loop().call_later(REQUEST_S, self.abort)

    def _take_request(self) -> bool:
        """Answer the request at the head of the buffer, if it is all there."""
        if self._transport is None or self._transport.is_closing():
            self._buffer.clear()
            return False
        end = self._buffer.find(_END_OF_HEAD, 0, MAX_HEAD_BYTES)
        if end < 0:
            if len(self._buffer) >= MAX_HEAD_BYTES:
                self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
            return False
        request = Request(bytes(self._buffer[:end]))
        refusal = request.refusal
        if refusal is not None:
            self._refuse(refusal)
            return False
        start = end + len(_END_OF_HEAD)
        if len(self._buffer) - start < request.length:
            return False
        body = bytes(self._buffer[start : start + request.length])
        del self._buffer[: start + request.length]
        self._respond(answer(self._server.box, body), keep_alive=request.keeps_alive)
        return True

    def _respond(self, body: bytes | None, *, keep_alive: bool) -> None:
        if body is None or self._transport is None:
            self.abort()
            return
        head = (
            f"HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: {len(body)}\r\n"
            f"Connection: {'keep-alive' if keep_alive else 'close'}\r\n\r\n"
        )
        self._transport.write(head.encode() + body)
        if not keep_alive:
            self._transport.close()
        elif self._transport.get_write_buffer_size() > MAX_UNREAD_BYTES:
            self.abort()

    def _refuse(self, status: HTTPStatus) -> None:
        self._server.box.answers["http_refused"] += 1
        self._buffer.clear()
        if self._transport is not None:
            head = (
                f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            )
            self._transport.write(head.encode())
            self._transport.close()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
