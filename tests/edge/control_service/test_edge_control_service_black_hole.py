"""A connection that swallows everything and never closes is noticed by its pings."""

import select
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest

from steadyhand.edge.control_service import SERVICE, CallFault, ControlClient, ControlError
from steadyhand.edge.control_service.channel import SERVER_OPTIONS
from steadyhand.edge.keys import Unauthenticated

WITHIN_S = 30.0


class Relay:
    """One connection to `port`, until it is told to swallow what comes."""

    def __init__(self, port: int) -> None:
        self.swallows = threading.Event()
        self.ended = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._to = port
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        name: tuple[str, int] = self._listener.getsockname()
        return name[1]

    def close(self) -> None:
        self.ended.set()
        self._thread.join(WITHIN_S)
        self._listener.close()

    def _run(self) -> None:
        client, _ = self._listener.accept()
        server = socket.create_connection(("127.0.0.1", self._to))
        with client, server:
            while not self.ended.is_set():
                for readable in select.select([client, server], [], [], 0.02)[0]:
                    data = readable.recv(65_536)
                    if not data:
                        self.ended.set()
                    elif not self.swallows.is_set():
                        (server if readable is client else client).sendall(data)


@pytest.fixture
def relay() -> Iterator[Relay]:
    over = threading.Event()

    def watch_events(_request: bytes, context: Any) -> Iterator[bytes]:
        context.send_initial_metadata(())
        over.wait(WITHIN_S)
        yield b""

    pool = ThreadPoolExecutor(1)
    server = grpc.server(pool, options=SERVER_OPTIONS)
    handlers = {"WatchEvents": grpc.unary_stream_rpc_method_handler(watch_events)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    made = Relay(port)
    yield made
    over.set()
    made.close()
    server.stop(0).wait(WITHIN_S)
    pool.shutdown()


def test_a_black_hole_is_noticed_in_seconds(relay: Relay) -> None:
    with ControlClient.tcp("127.0.0.1", relay.port, Unauthenticated()) as client:
        watch = client.watch_events(timeout_s=WITHIN_S)
        watch.wait_open()
        relay.swallows.set()
        with pytest.raises(ControlError) as caught:
            next(watch)
    # Not the watch's own time-out, which would come after thirty seconds.
    assert caught.value.fault is CallFault.UNREACHABLE
