"""Calls with a deadline, against peers that do not keep to anything."""

import contextlib
import http
import socket
import threading
import time
import xmlrpc.client
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from steadyhand.edge.robots.fairino.xmlrpc_client import CallError, XmlRpcCaller

ADDRESS = "127.0.0.1"
TIMEOUT_S = 0.3
SLACK_S = 0.5

Handler = Callable[[socket.socket], None]


class Server:
    """Hands each connection to the next handler, in a thread of its own."""

    def __init__(self) -> None:
        self.listener = socket.create_server((ADDRESS, 0))
        self.port: int = self.listener.getsockname()[1]
        self.handlers: list[Handler] = []
        self.accepted = 0
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            if not self.handlers:
                connection.close()
                return
            self.accepted += 1
            with connection:
                connection.settimeout(5.0)
                with contextlib.suppress(OSError):
                    self.handlers.pop(0)(connection)

    def close(self) -> None:
        self.handlers.clear()
        # Wakes the accept, which then finds nothing to do.
        with socket.socket() as waker:
            waker.connect_ex((ADDRESS, self.port))
        self._thread.join(5.0)
        self.listener.close()
        assert not self._thread.is_alive()


@pytest.fixture
def server() -> Iterator[Server]:
    one = Server()
    yield one
    one.close()


@pytest.fixture
def caller(server: Server) -> Iterator[XmlRpcCaller]:
    one = XmlRpcCaller(ADDRESS, server.port, timeout_s=TIMEOUT_S)
    yield one
    one.close()


def request_of(connection: socket.socket) -> bytes:
    """Read one request."""
    data = b""
    while b"\r\n\r\n" not in data:
        received = connection.recv(4096)
        if not received:
            raise ConnectionError
        data += received
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(
        int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")
    )
    while len(body) < length:
        body += connection.recv(4096)
    return body


def response(value: Any, *, version: str = "1.1", extra: str = "") -> bytes:
    body = value if isinstance(value, bytes) else xmlrpc.client.dumps((value,), methodresponse=True).encode()
    head = f"HTTP/{version} {http.HTTPStatus.OK.value} OK\r\nContent-Length: {len(body)}\r\n{extra}\r\n"
    return head.encode() + body


def serve(*values: Any, **how: str) -> Handler:
    """Answer one request after the other, then hang up."""

    def handle(connection: socket.socket) -> None:
        for value in values:
            request_of(connection)
            connection.sendall(response(value, **how))

    return handle


def failing(caller: XmlRpcCaller, *, within_s: float = TIMEOUT_S + SLACK_S) -> str:
    started_s = time.monotonic()
    with pytest.raises(CallError) as caught:
        caller.call("StopMotion")
    assert time.monotonic() - started_s < within_s
    assert not caller.connected
    return str(caught.value)


def test_a_call_and_its_answer(server: Server, caller: XmlRpcCaller) -> None:
    asked: list[bytes] = []

    def handle(connection: socket.socket) -> None:
        asked.append(request_of(connection))
        connection.sendall(response([0, "127.0.0.1"]))

    server.handlers = [handle]
    assert caller.call("GetControllerIP", 1, 2.5, "x") == [0, "127.0.0.1"]
    assert xmlrpc.client.loads(asked[0]) == ((1, 2.5, "x"), "GetControllerIP")


def test_the_connection_is_kept_between_calls(server: Server, caller: XmlRpcCaller) -> None:
    server.handlers = [serve(0, 14, 0)]
    assert [caller.call("Mode", 0) for _ in range(3)] == [0, 14, 0]
    assert server.accepted == 1
    assert caller.connected


def test_a_kept_connection_that_died_is_made_anew_within_the_deadline(
    server: Server, caller: XmlRpcCaller
) -> None:
    server.handlers = [serve(0), serve(7)]
    assert caller.call("Mode", 0) == 0
    assert caller.call("Mode", 0) == 7
    assert server.accepted == 2


@pytest.mark.parametrize("how", [{"version": "1.0"}, {"extra": "Connection: close\r\n"}])
def test_an_answer_that_ends_the_connection_is_read_to_its_end(
    server: Server, caller: XmlRpcCaller, how: dict[str, str]
) -> None:
    server.handlers = [serve([0, "x" * 5000], **how), serve(0)]
    assert caller.call("GetControllerIP") == [0, "x" * 5000]
    assert not caller.connected
    assert caller.call("Mode", 0) == 0


def test_a_chunked_answer_is_read(server: Server, caller: XmlRpcCaller) -> None:
    body = xmlrpc.client.dumps((5,), methodresponse=True).encode()

    def handle(connection: socket.socket) -> None:
        request_of(connection)
        chunk = f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n"
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk)

    server.handlers = [handle]
    assert caller.call("Mode", 0) == 5


def test_nobody_there() -> None:
    with socket.create_server((ADDRESS, 0)) as listener:
        port = listener.getsockname()[1]
    caller = XmlRpcCaller(ADDRESS, port, timeout_s=TIMEOUT_S)
    assert failing(caller) == "StopMotion: connection refused"


def silent(connection: socket.socket) -> None:
    """Read until the caller gives up."""
    while connection.recv(4096):
        pass


def greeting(connection: socket.socket) -> None:
    """Answer with something else."""
    request_of(connection)
    connection.sendall(b"hello\r\n\r\n")


def test_a_peer_that_never_answers(server: Server, caller: XmlRpcCaller) -> None:
    server.handlers = [silent]
    assert failing(caller) == "StopMotion: no answer in time"


def test_a_peer_that_dribbles_is_held_to_the_deadline_of_the_whole_call(
    server: Server, caller: XmlRpcCaller
) -> None:
    """A socket's own time-out starts anew with every byte."""

    def dribble(connection: socket.socket) -> None:
        request_of(connection)
        connection.settimeout(0.02)
        for byte in b"HTTP/1.1 200 OK\r\nX: " + b"x" * 2000:
            connection.sendall(bytes([byte]))
            try:
                if not connection.recv(1):
                    return
            except TimeoutError:
                continue

    server.handlers = [dribble]
    assert failing(caller) == "StopMotion: no answer in time"


def test_a_peer_that_hangs_up_instead_of_answering(server: Server, caller: XmlRpcCaller) -> None:
    server.handlers = [lambda connection: None, lambda connection: None]
    said = failing(caller)
    assert said.startswith("StopMotion: ")


def test_an_answer_without_end_is_refused(server: Server, caller: XmlRpcCaller) -> None:
    def flood(connection: socket.socket) -> None:
        request_of(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n")
        for _ in range(200):
            connection.sendall(b"x" * 65536)

    server.handlers = [flood]
    assert "an answer of more than 1048576 bytes" in failing(caller, within_s=5.0)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "not an XML-RPC answer"),
        (b"\xff\xfe", "not an XML-RPC answer"),
        (
            b"<methodResponse><params><param><value><int>x</int></value></param></params></methodResponse>",
            "not an",
        ),
        (b"<!DOCTYPE a [<!ENTITY b 'c'>]><methodResponse/>", "a document type"),
        (
            xmlrpc.client.dumps(xmlrpc.client.Fault(-506, "no such"), methodresponse=True).encode(),
            "fault -506",
        ),
    ],
)
def test_an_answer_that_is_none(server: Server, caller: XmlRpcCaller, body: bytes, said: str) -> None:
    server.handlers = [serve(body)]
    with pytest.raises(CallError, match=said):
        caller.call("Mode", 0)


def test_a_status_that_is_not_ok(server: Server, caller: XmlRpcCaller) -> None:
    def handle(connection: socket.socket) -> None:
        request_of(connection)
        connection.sendall(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")

    server.handlers = [handle]
    assert failing(caller) == "StopMotion: http status 503"


def test_bytes_that_are_no_http(server: Server, caller: XmlRpcCaller) -> None:
    server.handlers = [greeting]
    failing(caller)


def test_introspection_is_never_called(caller: XmlRpcCaller, server: Server) -> None:
    """`system.listMethods` was seen to switch a controller off."""
    with pytest.raises(ValueError, match="introspection"):
        caller.call("system.listMethods")
    assert server.accepted == 0
