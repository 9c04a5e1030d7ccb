"""Sockets with deadlines for the proxy's tests: nothing here waits for ever, and nothing sleeps."""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from steadyhand.edge.impairment import Forward, ImpairmentClient, ImpairmentProxy, ProxyConfig, running

DEADLINE_S = 10.0


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    """What a test opened, closed after it in reverse order."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def udp(opened: ExitStack) -> Callable[[], socket.socket]:
    """Makes a datagram socket on loopback."""

    def make() -> socket.socket:
        made = opened.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        made.bind(("127.0.0.1", 0))
        made.settimeout(DEADLINE_S)
        return made

    return make


@pytest.fixture
def start(opened: ExitStack) -> Callable[..., ImpairmentProxy]:
    """Starts a proxy in a thread, from the fields of its configuration."""

    def make(**fields: Any) -> ImpairmentProxy:
        return opened.enter_context(running(ProxyConfig(**fields)))

    return make


@pytest.fixture
def client_of(opened: ExitStack) -> Callable[[ImpairmentProxy], ImpairmentClient]:
    """Makes a client of a proxy's control port."""

    def make(proxy: ImpairmentProxy) -> ImpairmentClient:
        if proxy.admin is None:
            raise RuntimeError("the proxy has no control port")
        return opened.enter_context(ImpairmentClient(proxy.admin.port, timeout_s=DEADLINE_S))

    return make


@pytest.fixture
def towards() -> Callable[[socket.socket], Forward]:
    """Makes a forward from any free port to a socket's address."""

    def make(target: socket.socket) -> Forward:
        host, port = target.getsockname()
        return Forward(listen=("127.0.0.1", 0), target=(host, port))

    return make


@pytest.fixture
def pending() -> Callable[[socket.socket], bytes | None]:
    """Reads what has already come to a socket; None where nothing has. Never waits."""

    def read(ready: socket.socket) -> bytes | None:
        ready.setblocking(False)
        try:
            return ready.recv(65_535)
        except BlockingIOError:
            return None
        finally:
            ready.settimeout(DEADLINE_S)

    return read
