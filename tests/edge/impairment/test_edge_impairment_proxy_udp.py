"""Datagrams through real sockets: routing, order, delay, kill and revive, change while running."""

import socket
import time
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from steadyhand.core.link import PROFILES, LinkProfile, Outage
from steadyhand.edge.impairment import Forward, ImpairmentClient, ImpairmentProxy, ProxyConfig
from steadyhand.edge.impairment import udp_flow as udp_flow_module
from steadyhand.ground.errors import InputError

IDEAL = LinkProfile(name="ideal")
MakeSocket = Callable[[], socket.socket]
Start = Callable[..., ImpairmentProxy]
ClientOf = Callable[[ImpairmentProxy], ImpairmentClient]
Towards = Callable[[socket.socket], Forward]
Pending = Callable[[socket.socket], bytes | None]


def test_actions_go_onward_and_answers_come_back(udp: MakeSocket, start: Start, towards: Towards) -> None:
    operator, follower = udp(), udp()
    proxy = start(udp=towards(follower), link=IDEAL)
    operator.sendto(b"setpoint", proxy.flows[0].listen)
    data, seen_from = follower.recvfrom(100)
    assert data == b"setpoint"
    follower.sendto(b"acknowledged", seen_from)
    data, seen_from = operator.recvfrom(100)
    assert (data, seen_from) == (b"acknowledged", proxy.flows[0].listen)


def test_telemetry_goes_to_the_operator_under_the_link_back(
    udp: MakeSocket, start: Start, towards: Towards
) -> None:
    operator, follower = udp(), udp()
    back = LinkProfile(name="back", delay_ms=30.0)
    proxy = start(telemetry=towards(operator), link=LinkProfile(loss=1.0), link_back=back)
    began_ns = time.monotonic_ns()
    follower.sendto(b"state", proxy.flows[0].listen)
    assert operator.recv(100) == b"state"
    assert time.monotonic_ns() - began_ns >= 30_000_000
    assert proxy.status().udp["to_operator"].counters.delivered == 1


def test_two_operators_are_two_senders_to_the_follower_and_each_gets_its_own_answer(
    udp: MakeSocket, start: Start, towards: Towards
) -> None:
    first, second, follower = udp(), udp(), udp()
    proxy = start(udp=towards(follower), link=IDEAL)
    seen = {}
    for operator in (first, second):
        operator.sendto(b"hello", proxy.flows[0].listen)
        seen[operator] = follower.recvfrom(100)[1]
    assert seen[first] != seen[second]
    follower.sendto(b"to the first", seen[first])
    follower.sendto(b"to the second", seen[second])
    assert second.recv(100) == b"to the second"
    assert first.recv(100) == b"to the first"


def test_a_stranger_cannot_answer_in_the_followers_name(
    udp: MakeSocket, start: Start, towards: Towards, pending: Pending
) -> None:
    operator, follower, stranger = udp(), udp(), udp()
    proxy = start(udp=towards(follower), link=IDEAL, admin_port=0)
    operator.sendto(b"hello", proxy.flows[0].listen)
    _, seen_from = follower.recvfrom(100)
    stranger.sendto(b"forged", seen_from)
    follower.sendto(b"genuine", seen_from)
    assert operator.recv(100) == b"genuine"
    assert pending(operator) is None
    assert proxy.flows[0].strangers == 1


def test_the_sender_longest_silent_makes_room_for_a_new_one(
    udp: MakeSocket, start: Start, towards: Towards, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(udp_flow_module, "MAX_SOURCES", 2)
    follower = udp()
    first, second, third = udp(), udp(), udp()
    proxy = start(udp=towards(follower), link=IDEAL)
    seen = []
    for sender in (first, second, first, third):
        sender.sendto(b"hello", proxy.flows[0].listen)
        seen.append(follower.recvfrom(100)[1])
    assert seen[2] == seen[0]
    assert proxy.flows[0].status().sources == 2
    follower.sendto(b"answer", seen[0])
    assert first.recv(100) == b"answer"


def test_what_was_under_way_for_a_sender_that_made_room_is_counted_as_refused(
    udp: MakeSocket,
    start: Start,
    client_of: ClientOf,
    towards: Towards,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(udp_flow_module, "MAX_SOURCES", 1)
    follower, first, second = udp(), udp(), udp()
    proxy = start(udp=towards(follower), link=LinkProfile(delay_ms=50.0), admin_port=0)
    client = client_of(proxy)
    first.sendto(b"first", proxy.flows[0].listen)
    while client.status().udp["to_follower"].counters.received == 0:
        pass
    second.sendto(b"second", proxy.flows[0].listen)
    assert follower.recv(100) == b"second"
    counters = client.status().udp["to_follower"].counters
    assert (counters.received, counters.delivered, counters.refused) == (2, 1, 1)


def test_a_thousand_datagrams_arrive_whole_and_in_order(
    udp: MakeSocket, start: Start, towards: Towards
) -> None:
    operator, follower = udp(), udp()
    proxy = start(udp=towards(follower), link=LinkProfile(delay_ms=2.0, jitter_ms=3.0))
    for number in range(1000):
        operator.sendto(number.to_bytes(4, "big") * (1 + number % 300), proxy.flows[0].listen)
        if number % 50 == 49:  # never more under way than a receive buffer holds
            for back in range(number - 49, number + 1):
                assert follower.recv(65_535) == back.to_bytes(4, "big") * (1 + back % 300)


def test_an_empty_datagram_and_the_largest_one_pass(udp: MakeSocket, start: Start, towards: Towards) -> None:
    operator, follower = udp(), udp()
    proxy = start(udp=towards(follower), link=IDEAL)
    for datagram in (b"", b"x" * 65_507):
        operator.sendto(datagram, proxy.flows[0].listen)
        assert follower.recv(65_535) == datagram


def test_kill_udp_stops_what_comes_after_it_and_revive_lets_it_pass(
    udp: MakeSocket, start: Start, client_of: ClientOf, towards: Towards, pending: Pending
) -> None:
    operator, follower = udp(), udp()
    proxy = start(udp=towards(follower), link=IDEAL, admin_port=0)
    client = client_of(proxy)
    client.kill("udp")
    operator.sendto(b"lost", proxy.flows[0].listen)
    while client.status().udp["to_follower"].counters.killed == 0:
        pass  # each turn is an answer waited for, with its deadline
    client.revive("udp")
    operator.sendto(b"passed", proxy.flows[0].listen)
    assert follower.recv(100) == b"passed"
    assert pending(follower) is None


def test_a_change_of_link_leaves_what_is_under_way_its_fate(
    udp: MakeSocket, start: Start, client_of: ClientOf, towards: Towards
) -> None:
    operator, follower = udp(), udp()
    proxy = start(udp=towards(follower), link=LinkProfile(delay_ms=200.0), admin_port=0)
    client = client_of(proxy)
    operator.sendto(b"old", proxy.flows[0].listen)
    while client.status().udp["to_follower"].counters.queued == 0:
        pass
    client.set_link("delay_ms=1", direction="to_follower")
    operator.sendto(b"new", proxy.flows[0].listen)
    assert [follower.recv(100), follower.recv(100)] == [b"new", b"old"]


def test_a_freeze_then_burst_delivers_the_stale_tail_in_order(
    udp: MakeSocket, start: Start, towards: Towards
) -> None:
    operator, follower = udp(), udp()
    freeze = LinkProfile(outages=(Outage(start_ms=0.0, duration_ms=300.0),), outage_burst=True)
    proxy = start(udp=towards(follower), link=freeze)
    for number in range(10):
        operator.sendto(bytes([number]), proxy.flows[0].listen)
    assert [follower.recv(10)[0] for _ in range(10)] == list(range(10))
    assert proxy.status().uptime_s >= 0.3


def test_a_target_that_is_not_there_stops_nothing(
    udp: MakeSocket, start: Start, client_of: ClientOf, towards: Towards
) -> None:
    operator, follower = udp(), udp()
    proxy = start(udp=towards(follower), link=IDEAL, admin_port=0)
    address = follower.getsockname()
    follower.close()
    for _ in range(3):
        operator.sendto(b"into the void", proxy.flows[0].listen)
    client = client_of(proxy)
    while client.status().udp["to_follower"].counters.delivered < 3:
        pass
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as back:
        back.bind(address)
        back.settimeout(10.0)
        operator.sendto(b"back again", proxy.flows[0].listen)
        assert back.recv(100) == b"back again"


def test_the_counters_balance_and_the_lateness_is_told(
    udp: MakeSocket, start: Start, client_of: ClientOf, towards: Towards
) -> None:
    operator, follower = udp(), udp()
    proxy = start(udp=towards(follower), link=LinkProfile(loss=0.5), seed=3, admin_port=0)
    client = client_of(proxy)
    for _ in range(100):
        operator.sendto(b"x", proxy.flows[0].listen)
    while (counters := client.status().udp["to_follower"].counters).received < 100:
        pass
    assert counters.delivered + counters.lost + counters.queued == 100
    assert 20 < counters.lost < 80
    late = client.status().lateness
    assert late.count == counters.delivered
    assert 0.0 <= late.p50_us <= late.p99_us <= late.max_us


def test_a_port_in_use_is_one_line_and_nothing_stays_open(opened: ExitStack, udp: MakeSocket) -> None:
    taken, listener = udp(), opened.enter_context(socket.create_server(("127.0.0.1", 0)))
    host, port = taken.getsockname()
    with udp() as freed:
        free = Forward(listen=freed.getsockname(), target=(host, port))
    busy = Forward(listen=listener.getsockname(), target=(host, port))
    with pytest.raises(InputError) as refused:
        ImpairmentProxy(ProxyConfig(udp=Forward(listen=(host, port), target=(host, port))))
    assert str(refused.value) == f"--udp: 127.0.0.1:{port} cannot be listened on: Address already in use"
    with pytest.raises(InputError, match=r"^--control: .*already in use"):
        ImpairmentProxy(ProxyConfig(udp=free, control=busy))
    with pytest.raises(InputError, match=r"^--admin: .*already in use"):
        ImpairmentProxy(ProxyConfig(udp=free, admin_port=listener.getsockname()[1]))
    with pytest.raises(InputError, match=r"^--admin: 70000 is not a port"):
        ImpairmentProxy(ProxyConfig(udp=free, admin_port=70_000))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as again:
        again.bind(free.listen)


def test_a_proxy_says_what_it_was_made_from(udp: MakeSocket, start: Start, towards: Towards) -> None:
    follower = udp()
    proxy = start(udp=towards(follower), link=PROFILES["wifi"], link_back=IDEAL, seed=5)
    status = proxy.status()
    assert (status.seed, status.relay) == (5, None)
    assert {name: lane.link for name, lane in status.udp.items()} == {
        "to_follower": "wifi",
        "to_operator": "ideal",
    }
    assert status.flows[0].target == f"127.0.0.1:{follower.getsockname()[1]}"
