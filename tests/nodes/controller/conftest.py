"""A simulated controller on real sockets, its loop turned by hand, and callers that turn with it."""

import asyncio
import itertools
import os
import socket
import struct
import time
import xmlrpc.client
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from steadyhand.edge.robots.fairino import cnde
from steadyhand.edge.robots.fairino.cnde import Frame, FrameParser, FrameType
from steadyhand.edge.robots.fairino.ports import FairinoPorts
from steadyhand.nodes.controller.box import ControlBox
from steadyhand.nodes.controller.node import ControllerNode, make_loop
from steadyhand.nodes.controller.settings import ControllerSettings

MS = 1_000_000
_hosts = itertools.count(1)


class Bench:
    """A node, its loop, and callers that are turned with it."""

    def __init__(self) -> None:
        self.shift_ns = 0
        self.loop = make_loop()
        address = f"127.2.{os.getpid() % 250 + 1}.{next(_hosts) % 250 + 1}"
        settings = ControllerSettings(address=address, ports=FairinoPorts(xmlrpc=0, state=0, servoj=0))
        self.node = ControllerNode(settings, clock=self)
        self.loop.run_until_complete(self.node.start())
        self.sockets: list[socket.socket] = []

    def now_ns(self) -> int:
        return time.monotonic_ns() + self.shift_ns

    @property
    def box(self) -> ControlBox:
        return self.node.box

    def turn(self) -> None:
        self.loop.call_soon(self.loop.stop)
        self.loop.run_forever()

    def until(self, done: Callable[[], Any], within_s: float = 5.0) -> None:
        deadline_s = time.monotonic() + within_s
        while not done():
            assert time.monotonic() < deadline_s, self.box.status()
            self.turn()

    def ready(self) -> None:
        """Enabled, past the window, streaming."""
        self.box.model.enable(self.now_ns())
        self.shift_ns += 1500 * MS
        self.box.model.servo_move_start(self.now_ns())

    def connect(self, port: int) -> "Caller":
        caller = Caller(self, (self.node.address, port))
        self.sockets.append(caller.socket)
        return caller

    def call(self, method: str, *arguments: Any) -> Any:
        """One XML-RPC call on a connection of its own."""
        return self.connect(self.node.ports.xmlrpc).call(method, *arguments)

    def close(self) -> None:
        for one in self.sockets:
            one.close()
        self.loop.run_until_complete(self.node.close())
        self.loop.run_until_complete(asyncio.sleep(0))
        self.loop.close()


class Caller:
    """One TCP connection to the node."""

    def __init__(self, bench: Bench, peer: tuple[str, int]) -> None:
        self.bench = bench
        self.socket = socket.create_connection(peer, timeout=5.0)
        self.socket.setblocking(False)
        self.data = b""
        self.closed = False
        self.parser = FrameParser()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)
        self.bench.turn()

    def take(self) -> bytes:
        """Whatever has arrived since, and one read of it."""
        try:
            arrived = self.socket.recv(1 << 20)
        except BlockingIOError:
            return b""
        except OSError:
            arrived = b""
        self.closed = self.closed or not arrived
        self.data += arrived
        return arrived

    def until_closed(self) -> bytes:
        def done() -> bool:
            self.take()
            return self.closed

        self.bench.until(done)
        return self.data

    def exchange(self, body: bytes) -> bytes:
        """POST a body; the body of the answer."""
        self.data = b""
        self.send(f"POST /RPC2 HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)

        def done() -> bool:
            self.take()
            head, found, rest = self.data.partition(b"\r\n\r\n")
            return bool(found) and len(rest) >= int(head.lower().split(b"content-length:")[1].split()[0])

        self.bench.until(done)
        return self.data.partition(b"\r\n\r\n")[2]

    def call(self, method: str, *arguments: Any) -> Any:
        answer = self.exchange(xmlrpc.client.dumps(arguments, method).encode())
        return xmlrpc.client.loads(answer)[0][0]

    def ask(self, frame_type: FrameType, data: bytes = b"") -> Frame:
        """One frame to the state port; the next message back."""
        self.send(cnde.encode(0, frame_type, data))
        heard: list[Frame] = []

        def done() -> bool:
            heard.extend(f for f in self.parser.feed(self.take()) if f.type is FrameType.MESSAGE)
            return bool(heard)

        self.bench.until(done)
        return heard[0]

    def subscribe(self, names: str, period_ms: int = 8) -> Frame:
        return self.ask(FrameType.OUTPUT_CONFIG, struct.pack("<H", period_ms) + names.encode())


@pytest.fixture
def bench() -> Iterator[Bench]:
    one = Bench()
    yield one
    one.close()
