"""The control port through real sockets: every line is answered, and nothing sent to it stops the proxy."""

import json
import select
import socket
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

from steadyhand.core.link import LinkProfile
from steadyhand.edge.impairment import Forward, ImpairmentClient, ImpairmentProxy, ProxyConfig, running
from steadyhand.edge.impairment.admin import MAX_CLIENTS, MAX_LINE_BYTES, LineBuffer
from steadyhand.ground.errors import InputError

IDEAL = LinkProfile(name="ideal")
MakeSocket = Callable[[], socket.socket]
Start = Callable[..., ImpairmentProxy]
ClientOf = Callable[[ImpairmentProxy], ImpairmentClient]
Towards = Callable[[socket.socket], Forward]
Raw = Callable[[ImpairmentProxy], socket.socket]


@pytest.fixture
def raw(opened: ExitStack) -> Raw:
    """Makes a bare connection to a proxy's control port."""

    def make(proxy: ImpairmentProxy) -> socket.socket:
        if proxy.admin is None:
            raise RuntimeError("the proxy has no control port")
        return opened.enter_context(socket.create_connection(("127.0.0.1", proxy.admin.port), timeout=10.0))

    return make


def answers(ready: socket.socket, count: int) -> list[dict[str, Any]]:
    """The next `count` answers."""
    data = b""
    while data.count(b"\n") < count:
        piece = ready.recv(65_536)
        if not piece:
            raise ConnectionError("the proxy hung up")
        data += piece
    return [json.loads(line) for line in data.splitlines()]


def test_a_line_of_text_is_answered_with_a_line_of_json(start: Start, raw: Raw) -> None:
    connection = raw(start(link=IDEAL, admin_port=0))
    connection.sendall(b"status\n")
    (answer,) = answers(connection, 1)
    assert answer["ok"] is True
    assert answer["status"]["udp"]["to_follower"]["counters"]["in"] == 0
    assert answer["status"]["control"]["to_operator"]["alive"] is True


def test_several_lines_at_once_are_answered_in_order(start: Start, raw: Raw) -> None:
    connection = raw(start(link=IDEAL, admin_port=0))
    connection.sendall(b"kill udp\r\nnonsense\nrevive udp\nstat")
    assert [answer["ok"] for answer in answers(connection, 3)] == [True, False, True]
    connection.sendall(b"us\n")
    assert answers(connection, 1)[0]["status"]["udp"]["to_follower"]["alive"] is True


def test_a_flood_of_lines_is_answered_line_by_line(start: Start, raw: Raw) -> None:
    connection = raw(start(link=IDEAL, admin_port=0))
    connection.sendall(b"status\n" * 300)
    assert all(answer["ok"] for answer in answers(connection, 300))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"", "unknown command"),
        (b"\x00\x01\x02", "unknown command"),
        (b"\xff\xfe", "not UTF-8"),
        (b"GET / HTTP/1.1", "unknown command 'GET'"),
        (b'{"command": "status"}', "unknown command"),
        (b"x" * (MAX_LINE_BYTES + 1), "too long"),
        (b"x" * 1_000_000, "too long"),
        (b"link both " + b"9" * 500, "no link profile"),
        (b"link both outages=0+1/" + b"/" * 400, "does not parse"),
        (b"scenario " + b"1 scenario " * 700, "cannot be a step"),
        (b"link both outage_every_ms=0.001,outage_ms=0.001", "outage_every_ms must be at least"),
    ],
)
def test_a_hostile_line_is_answered_with_its_error_and_the_port_goes_on(
    line: bytes, words: str, start: Start, raw: Raw
) -> None:
    connection = raw(start(link=IDEAL, admin_port=0))
    connection.sendall(line + b"\nstatus\n")
    refused, status = answers(connection, 2)
    assert refused["ok"] is False
    assert words in refused["error"]
    assert status["ok"] is True


def test_a_line_without_an_end_takes_no_memory() -> None:
    buffer = LineBuffer()
    for _ in range(1000):
        buffer.add(b"x" * 4096)
    assert len(buffer) <= MAX_LINE_BYTES + 1
    buffer.add(b"\nstatus\nstat")
    line = buffer.take()
    assert line is not None
    assert len(line) > MAX_LINE_BYTES
    assert (buffer.take(), buffer.take()) == (b"status", None)


def test_a_client_that_never_reads_or_hangs_up_stops_nobody(
    start: Start, raw: Raw, client_of: ClientOf
) -> None:
    proxy = start(link=IDEAL, admin_port=0)
    deaf = raw(proxy)
    deaf.setblocking(False)
    try:
        while True:
            deaf.send(b"status\n" * 1000)
    except BlockingIOError:
        pass
    gone = raw(proxy)
    gone.sendall(b"stat")
    gone.close()
    assert client_of(proxy).status().steps_left == 0


def test_over_the_limit_of_clients_the_next_waits_its_turn(start: Start, raw: Raw) -> None:
    proxy = start(link=IDEAL, admin_port=0)
    served = [raw(proxy) for _ in range(MAX_CLIENTS)]
    for connection in served:
        connection.sendall(b"status\n")
        answers(connection, 1)
    waiting = raw(proxy)
    waiting.sendall(b"status\n")
    for connection in served:  # turns enough to have answered it
        connection.sendall(b"status\n")
        answers(connection, 1)
    assert not select.select([waiting], [], [], 0.0)[0]
    served[0].close()
    assert answers(waiting, 1)[0]["ok"] is True


def test_a_scenario_kills_and_revives_by_itself(
    start: Start, client_of: ClientOf, udp: MakeSocket, towards: Towards
) -> None:
    follower = udp()
    proxy = start(udp=towards(follower), link=IDEAL, admin_port=0)
    client = client_of(proxy)
    client.play([(0.05, "kill_link"), (0.1, "revive both")])
    assert client.status().steps_left > 0
    seen = set()
    while (status := client.status()).steps_left:
        seen.add(status.udp["to_follower"].alive)
    assert seen == {True, False}
    assert status.udp["to_follower"].alive
    assert [played.split(": ")[1] for played in status.played] == ["kill_link", "revive both"]
    assert 0.05 <= float(status.played[0].split()[0]) < 5.0


def test_a_scenario_with_a_bad_step_begins_nothing(start: Start, client_of: ClientOf) -> None:
    client = client_of(start(link=IDEAL, admin_port=0))
    with pytest.raises(InputError, match="unknown path"):
        client.play([(0.0, "kill both"), (1.0, "revive nothing")])
    status = client.status()
    assert (status.steps_left, status.udp["to_follower"].alive) == (0, True)


def test_the_packets_of_the_last_minute_are_told(
    start: Start, client_of: ClientOf, udp: MakeSocket, towards: Towards
) -> None:
    operator, follower = udp(), udp()
    proxy = start(udp=towards(follower), link=LinkProfile(delay_ms=3.0), admin_port=0)
    client = client_of(proxy)
    for _ in range(3):
        operator.sendto(b"x", proxy.flows[0].listen)
        follower.recv(10)
    client.kill("udp")
    operator.sendto(b"x", proxy.flows[0].listen)
    while len((read := client.packets("to_follower")).packets) < 4:
        pass
    assert [packet.fate for packet in read.packets] == ["arrives", "arrives", "arrives", "killed"]
    first = read.packets[0]
    assert first.arrival_ns is not None
    assert first.arrival_ns - first.sent_ns == 3_000_000
    assert client.packets("to_follower", read.next).packets == ()


def test_a_client_raises_what_the_proxy_refused(start: Start, client_of: ClientOf) -> None:
    client = client_of(start(link=IDEAL, admin_port=0))
    with pytest.raises(InputError, match=r"127\.0\.0\.1:\d+: .*did you mean wifi\?"):
        client.set_link("wify")
    with pytest.raises(InputError, match="one line"):
        client.ask("status\nstatus")
    client.set_link("wifi", direction="to_operator", path="udp")
    assert client.status().udp["to_operator"].link == "wifi"


def test_a_client_without_a_proxy_says_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(InputError, match="no impairment proxy answers"):
        ImpairmentClient(port)


def test_a_client_whose_proxy_ends_says_so(opened: ExitStack) -> None:
    with running(ProxyConfig(link=IDEAL, admin_port=0)) as proxy:
        if proxy.admin is None:
            raise RuntimeError("the proxy has no control port")
        client = opened.enter_context(ImpairmentClient(proxy.admin.port))
        client.status()
    with pytest.raises(InputError, match="no impairment proxy answers"):
        client.status()
