"""The process: three servers and a console on one loop, one thread."""

import asyncio
import contextlib
import ipaddress
import selectors
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any, Final

from steadyhand.core.controller.kinds import ARM_OF
from steadyhand.edge.clock import SYSTEM_CLOCK, MonotonicClock
from steadyhand.edge.realtime import CONTROLLER_PRIORITY, RealtimeRequest, ask_for
from steadyhand.edge.robots.fairino.ports import FairinoPorts, require_address
from steadyhand.ground.errors import InputError
from steadyhand.nodes.controller.box import ControlBox
from steadyhand.nodes.controller.console import AdminServer, Console
from steadyhand.nodes.controller.http_server import CallServer
from steadyhand.nodes.controller.servoj_server import ServojServer
from steadyhand.nodes.controller.settings import ControllerSettings, build_model
from steadyhand.nodes.controller.state_server import StateServer

LOOPBACK: Final = "127.0.0.1"
_BACKLOG: Final = 32


def make_loop() -> asyncio.AbstractEventLoop:
    """A loop that waits in `select`: its time-out has microseconds, where epoll's rounds to milliseconds."""
    return asyncio.SelectorEventLoop(selectors.SelectSelector())


class ControllerNode:
    """One simulated controller on its sockets.

    Args:
        settings: which, and where.
        clock: what time it is.
    """

    def __init__(self, settings: ControllerSettings, clock: MonotonicClock = SYSTEM_CLOCK) -> None:
        self.settings = settings
        self.address = require_address(settings.address)
        self.box = ControlBox(build_model(settings), ARM_OF[settings.model], self.address, clock)
        self.ports = settings.ports
        self.admin: tuple[str, int] = (LOOPBACK, 0)
        self._calls = CallServer(self.box)
        self._states = StateServer(self.box)
        self._servers: list[asyncio.Server] = []
        self._datagrams: list[asyncio.DatagramTransport] = []

    async def start(self) -> None:
        """Bind everything and begin to serve.

        Raises:
            InputError: an address is not ours, or a port is taken.
        """
        ports = self.settings.ports
        xmlrpc_port = await self._serve_stream(self._calls.connection, ports.xmlrpc)
        state_port = await self._serve_stream(self._states.connection, ports.state)
        servoj = await self._serve_datagrams(ServojServer(self.box), self.address, ports.servoj)
        on_loopback = ipaddress.ip_address(self.address).is_loopback
        admin_address = self.address if on_loopback else LOOPBACK
        self.admin = await self._serve_datagrams(
            AdminServer(self.box), admin_address, self.settings.admin_port
        )
        self.ports = FairinoPorts(xmlrpc=xmlrpc_port, state=state_port, servoj=servoj[1])

    async def _serve_stream(self, protocol: Callable[[], asyncio.Protocol], port: int) -> int:
        listener = _bound(socket.SOCK_STREAM, self.address, port)
        server = await asyncio.get_running_loop().create_server(protocol, sock=listener, backlog=_BACKLOG)
        self._servers.append(server)
        return _port_of(listener)

    async def _serve_datagrams(
        self, protocol: asyncio.DatagramProtocol, address: str, port: int
    ) -> tuple[str, int]:
        bound = _bound(socket.SOCK_DGRAM, address, port)
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(lambda: protocol, sock=bound)
        self._datagrams.append(transport)
        return address, _port_of(bound)

    @property
    def ready_line(self) -> str:
        """What is printed once it serves."""
        ports = self.ports
        return (
            f"controller ready: {self.settings.model} at {self.address}, trigger {self.settings.trigger}, "
            f"XML-RPC {ports.xmlrpc}, state {ports.state}, ServoJ {ports.servoj}, "
            f"console {self.admin[0]}:{self.admin[1]}"
        )

    async def close(self) -> None:
        """Hang up and give every socket back."""
        for server in self._servers:
            server.close()
        for transport in self._datagrams:
            transport.close()
        self._calls.hang_up()
        self._states.hang_up()
        # Transports close their sockets in the loop's next turn.
        await asyncio.sleep(0)
        self._servers.clear()
        self._datagrams.clear()


def _bound(kind: socket.SocketKind, address: str, port: int) -> socket.socket:
    bound = socket.socket(socket.AF_INET, kind)
    try:
        if kind is socket.SOCK_STREAM:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.setblocking(False)
        bound.bind((address, port))
    except OSError as error:
        bound.close()
        raise InputError(
            f"cannot listen on {address}:{port}: {(error.strerror or str(error)).lower()}",
            where="--address",
            hint="every simulated robot needs a loopback address of its own, such as 127.0.0.2",
        ) from None
    return bound


def _port_of(bound: socket.socket) -> int:
    name: tuple[str, int] = bound.getsockname()
    return name[1]


def serve(settings: ControllerSettings, say: Callable[[str], None], *, realtime: bool = False) -> None:
    """Serve until SIGTERM or SIGINT.

    Args:
        settings: which controller, and where.
        say: prints one line: what was granted, that it is ready, and what the console answers.
        realtime: ask the machine for a punctual process, below the data plane's priority.

    Raises:
        InputError: it cannot be built, or cannot listen.
    """
    with asyncio.Runner(loop_factory=make_loop) as runner:
        runner.run(_serve(settings, say, realtime=realtime))


async def _serve(settings: ControllerSettings, say: Callable[[str], None], *, realtime: bool) -> None:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: say(_fault_line(context)))
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    node = ControllerNode(settings)
    console: Console | None = None
    try:
        await node.start()
        if sys.stdin is not None:
            # Reading the terminal from the background stops a process, unless the signal is ignored.
            signal.signal(signal.SIGTTIN, signal.SIG_IGN)
            with contextlib.suppress(OSError, ValueError):
                console = Console(node.box, say, sys.stdin.fileno())
                console.attach(loop)
        if realtime:
            # The loop makes reference cycles, which a collector that is off would keep.
            request = RealtimeRequest(priority=CONTROLLER_PRIORITY, quiet_collector=False)
            for line in ask_for(request).lines():
                say(line)
        say(node.ready_line)
        await stop.wait()
    finally:
        if console is not None:
            console.detach(loop)
        await node.close()


def _fault_line(context: dict[str, Any]) -> str:
    """A mistake of ours in a callback: said, and served on. A controller that dies stops no arm."""
    return f"controller error: {context.get('message', '')}: {context.get('exception')!r}"
