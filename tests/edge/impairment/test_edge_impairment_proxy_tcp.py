"""The control path through real sockets: order, delay, black hole, reset, backpressure, endings."""

import select
import socket
import struct
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

from steadyhand.core.link import LinkProfile, Outage
from steadyhand.edge.impairment import Forward, ImpairmentClient, ProxyConfig, running
from steadyhand.edge.impairment.lane import DIRECTIONS, Lane
from steadyhand.edge.impairment.status import ControlStatus
from steadyhand.edge.impairment.tcp_relay import TcpRelay

IDEAL = LinkProfile(name="ideal")
DEADLINE_S = 10.0
MakeSocket = Callable[[], socket.socket]
Pending = Callable[[socket.socket], bytes | None]


class ControlPath:
    """A server, a proxy before it, and a client of its control port."""

    def __init__(self, opened: ExitStack, fields: dict[str, Any]) -> None:
        self._opened = opened
        self.server = opened.enter_context(socket.create_server(("127.0.0.1", 0)))
        self.server.settimeout(DEADLINE_S)
        forward = Forward(listen=("127.0.0.1", 0), target=self.server.getsockname())
        self.proxy = opened.enter_context(running(ProxyConfig(control=forward, admin_port=0, **fields)))
        if self.proxy.relay is None or self.proxy.admin is None:
            raise RuntimeError("both were asked for")
        self.address = self.proxy.relay.listen
        self.admin = opened.enter_context(ImpairmentClient(self.proxy.admin.port, timeout_s=DEADLINE_S))

    def connect(self) -> socket.socket:
        return self._opened.enter_context(socket.create_connection(self.address, timeout=DEADLINE_S))

    def accept(self) -> socket.socket:
        served = self._opened.enter_context(self.server.accept()[0])
        served.settimeout(DEADLINE_S)
        return served

    def relay(self) -> ControlStatus:
        status = self.admin.status().relay
        if status is None:
            raise RuntimeError("the proxy has no control path")
        return status


MakeControl = Callable[..., ControlPath]


@pytest.fixture
def control(opened: ExitStack) -> MakeControl:
    """Makes a control path from the fields of the proxy's configuration."""
    return lambda **fields: ControlPath(opened, fields)


def read_exactly(ready: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        piece = ready.recv(65_536)
        if not piece:
            break
        data += piece
    return bytes(data)


def is_reset(ready: socket.socket) -> bool:
    """Whether the connection is cut by a reset, waited for with its deadline."""
    try:
        while ready.recv(65_536):
            pass
    except ConnectionResetError:
        return True
    return False


def test_both_directions_are_relayed_whole_and_in_order(control: MakeControl) -> None:
    path = control(link=LinkProfile(delay_ms=1.0, jitter_ms=3.0, reorder=True, loss=0.5))
    client = path.connect()
    served = path.accept()
    sent = b"".join(number.to_bytes(4, "big") for number in range(5_000))
    for at in range(0, len(sent), 500):
        client.sendall(sent[at : at + 500])
    assert read_exactly(served, len(sent)) == sent
    served.sendall(b"answer")
    assert read_exactly(client, 6) == b"answer"


def test_each_direction_is_delayed_by_its_own_link(control: MakeControl) -> None:
    path = control(link=LinkProfile(delay_ms=40.0), link_back=LinkProfile(delay_ms=80.0))
    client = path.connect()
    served = path.accept()
    began_ns = time.monotonic_ns()
    client.sendall(b"ping")
    assert read_exactly(served, 4) == b"ping"
    there_ns = time.monotonic_ns()
    served.sendall(b"pong")
    assert read_exactly(client, 4) == b"pong"
    assert there_ns - began_ns >= 40_000_000
    assert time.monotonic_ns() - there_ns >= 80_000_000


def test_a_closed_side_closes_the_other_and_leaves_the_answer_its_way(control: MakeControl) -> None:
    path = control(link=LinkProfile(delay_ms=5.0))
    client = path.connect()
    served = path.accept()
    client.sendall(b"question")
    client.shutdown(socket.SHUT_WR)
    assert read_exactly(served, 100) == b"question"
    served.sendall(b"answer")
    served.close()
    assert read_exactly(client, 100) == b"answer"
    while path.relay().connections:
        pass
    assert path.relay().resets == 0


def test_a_killed_control_path_forwards_nothing_and_delivers_all_after_the_revival(
    control: MakeControl, pending: Pending
) -> None:
    path = control(link=IDEAL)
    client = path.connect()
    served = path.accept()
    path.admin.kill("control")
    client.sendall(b"held")
    # Two answers later the proxy has turned, and would have read what it may not.
    path.admin.status()
    assert path.admin.status().control["to_follower"].counters.received == 0
    assert pending(served) is None
    path.admin.revive("control")
    assert read_exactly(served, 4) == b"held"


def test_a_kill_holds_for_what_was_found_readable_in_the_same_turn(opened: ExitStack) -> None:
    server = opened.enter_context(socket.create_server(("127.0.0.1", 0)))
    lanes = {each: Lane("control", each, IDEAL, seed=1, now_ns=0) for each in DIRECTIONS}
    relay = TcpRelay(Forward(listen=("127.0.0.1", 0), target=server.getsockname()), lanes)
    opened.callback(relay.close)

    def found_readable() -> list[socket.socket]:
        return select.select(relay.readers(), [], [], DEADLINE_S)[0]

    client = opened.enter_context(socket.create_connection(relay.listen, timeout=DEADLINE_S))
    for ready in found_readable():
        relay.read(ready, time.monotonic_ns)
    client.sendall(b"held")
    opened.enter_context(socket.create_connection(relay.listen, timeout=DEADLINE_S))
    found = found_readable()
    lanes["to_follower"].kill()
    for ready in found:
        relay.read(ready, time.monotonic_ns)
    assert found
    assert (relay.connections, relay.counters["to_follower"].received) == (1, 0)


def test_who_connects_to_a_killed_control_path_hears_nothing_until_it_is_revived(
    control: MakeControl,
) -> None:
    path = control(link=IDEAL)
    path.admin.kill("control")
    client = path.connect()
    client.sendall(b"hello")
    relay = path.relay()
    assert relay.opened == 0
    path.admin.revive()
    assert read_exactly(path.accept(), 5) == b"hello"


def test_a_client_that_dies_behind_a_black_hole_is_not_missed_before_the_revival(
    control: MakeControl,
) -> None:
    path = control(link=IDEAL)
    client = path.connect()
    served = path.accept()
    path.admin.kill("control")
    client.close()
    path.admin.status()
    assert not select.select([served], [], [], 0.0)[0]
    path.admin.revive("control")
    assert read_exactly(served, 1) == b""


def test_kill_udp_leaves_control_alive_and_kill_control_leaves_udp_alive(
    control: MakeControl, udp: MakeSocket, pending: Pending
) -> None:
    follower, operator = udp(), udp()
    path = control(udp=Forward(listen=("127.0.0.1", 0), target=follower.getsockname()), link=IDEAL)
    client = path.connect()
    served = path.accept()
    path.admin.kill("udp")
    operator.sendto(b"x", path.proxy.flows[0].listen)
    client.sendall(b"stop")
    assert read_exactly(served, 4) == b"stop"
    while path.admin.status().udp["to_follower"].counters.killed == 0:
        pass
    path.admin.revive("udp")
    path.admin.kill("control")
    client.sendall(b"stop")
    operator.sendto(b"stop", path.proxy.flows[0].listen)
    assert follower.recv(100) == b"stop"
    assert pending(served) is None


def test_reset_cuts_both_ends_and_new_connections_are_welcome(control: MakeControl) -> None:
    path = control(link=IDEAL)
    client = path.connect()
    served = path.accept()
    client.sendall(b"x")
    assert served.recv(1) == b"x"
    path.admin.reset()
    assert is_reset(client)
    assert is_reset(served)
    again = path.connect()
    again.sendall(b"y")
    assert path.accept().recv(1) == b"y"
    relay = path.relay()
    assert (relay.opened, relay.resets, relay.connections) == (2, 1, 1)


def test_an_end_that_resets_resets_the_other(control: MakeControl) -> None:
    path = control(link=IDEAL)
    client = path.connect()
    served = path.accept()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
    assert is_reset(served)


def test_a_target_that_is_not_there_resets_the_client_and_is_counted(control: MakeControl) -> None:
    path = control(link=IDEAL)
    path.server.close()
    try:
        cut = is_reset(path.connect())
    except ConnectionResetError:  # as early as while connecting
        cut = True
    assert cut
    relay = path.relay()
    assert (relay.refused, relay.connections) == (1, 0)


def test_a_reader_that_does_not_read_holds_its_sender_back(control: MakeControl) -> None:
    path = control(link=LinkProfile(delay_ms=1.0))
    client = path.connect()
    served = path.accept()
    client.setblocking(False)
    sent, full = 0, 0
    while full < 20:
        try:
            sent += client.send(b"x" * 65_536)
            full = 0
        except BlockingIOError:
            full += 1
            path.admin.status()
    counters = path.admin.status().control["to_follower"].counters
    assert counters.queued <= 512 * 1024
    assert counters.received == counters.delivered + counters.queued < sent
    client.shutdown(socket.SHUT_WR)
    assert len(read_exactly(served, sent + 1)) == sent


def test_bytes_cut_under_way_are_counted_as_dropped(control: MakeControl) -> None:
    path = control(link=LinkProfile(delay_ms=60_000.0))
    client = path.connect()
    client.sendall(b"never")
    while path.admin.status().control["to_follower"].counters.queued < 5:
        pass
    path.admin.reset()
    counters = path.admin.status().control["to_follower"].counters
    assert (counters.received, counters.delivered, counters.queued, counters.dropped) == (5, 0, 0, 5)


def test_an_endless_outage_holds_control_and_a_new_link_frees_it(
    control: MakeControl, pending: Pending
) -> None:
    outage = LinkProfile(outages=(Outage(start_ms=0.0, duration_ms=float("inf")),))
    path = control(link=outage, link_back=IDEAL)
    client = path.connect()
    client.sendall(b"held")
    served = path.accept()
    while path.admin.status().control["to_follower"].counters.queued < 4:
        pass
    assert pending(served) is None
    path.admin.set_link("clean", path="control")
    assert read_exactly(served, 4) == b"held"
    assert path.admin.status().udp["to_follower"].link == "ideal"


def test_over_the_limit_of_connections_the_next_waits_its_turn(
    control: MakeControl, monkeypatch: pytest.MonkeyPatch
) -> None:
    from steadyhand.edge.impairment import tcp_relay

    monkeypatch.setattr(tcp_relay, "MAX_CONNECTIONS", 1)
    path = control(link=IDEAL)
    first = path.connect()
    served = path.accept()
    second = path.connect()
    second.sendall(b"second")
    first.sendall(b"first")
    assert read_exactly(served, 5) == b"first"
    assert path.relay().opened == 1
    first.close()
    assert read_exactly(served, 1) == b""
    served.close()
    assert read_exactly(path.accept(), 6) == b"second"
