"""Port 20003 of the simulated controller: calls, and everything that is none."""

import xmlrpc.client
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steadyhand.nodes.controller import http_server
from steadyhand.nodes.controller.settings import START_POSE_DEG
from tests.nodes.controller.bench_types import Bench

MS = 1_000_000
HOLD = list(START_POSE_DEG)


def test_what_the_calls_answer(bench: Bench) -> None:
    caller = bench.connect(bench.node.ports.xmlrpc)
    assert caller.call("GetControllerIP") == [0, bench.node.address]
    assert caller.call("GetActualJointPosDegree", 1) == [0, *START_POSE_DEG]
    assert caller.call("Mode", 0) == 0
    assert caller.call("Mode", 7) == 4
    assert caller.call("ServoJ", HOLD, [0.0] * 4, 0.0, 0.0, 0.01, 0.0, 0.0, 1) == 101
    assert caller.call("RobotEnable", 1) == 0
    assert caller.call("ServoMoveStart") == 0
    bench.shift_ns += 1500 * MS
    assert caller.call("ServoJ", HOLD, [0.0] * 4, 0.0, 0.0, 0.01, 0.0, 0.0, 1) == 0
    assert caller.call("ServoJ", HOLD, [0.0] * 4, 0.0, 0.0, float("nan"), 0.0, 0.0, 1) == 4
    far = [200.0, *HOLD[1:]]
    assert caller.call("ServoJ", far, [0.0] * 4, 0.0, 0.0, 0.01, 0.0, 0.0, 1) == 29
    assert caller.call("ServoMoveEnd") == 0
    assert caller.call("StopMotion") == 0
    assert caller.call("GetRobotErrorCode") == [0, 0, 0]
    assert caller.call("ResetAllError") == 0
    assert caller.call("GetRobotEmergencyStopState") == [0, 0]
    bench.box.press_estop()
    assert caller.call("GetRobotEmergencyStopState") == [0, 1]
    assert caller.call("StopMotion") == 31
    assert len(caller.call("GetActualTCPPose", 1)) == 7
    assert caller.call("GetSoftwareVersion")[0] == 0


def test_an_unknown_method_is_fault_506_and_the_connection_goes_on(bench: Bench) -> None:
    caller = bench.connect(bench.node.ports.xmlrpc)
    with pytest.raises(xmlrpc.client.Fault) as caught:
        caller.call("MakeCoffee")
    assert caught.value.faultCode == -506
    assert caller.call("Mode", 0) == 0


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("Mode", ()),
        ("Mode", ("0",)),
        ("Mode", (True,)),
        ("Mode", (0.5,)),
        ("ServoJ", (HOLD,)),
        ("ServoJ", ("x", [0.0] * 4, 0.0, 0.0, 0.01, 0.0, 0.0, 1)),
        ("ServoJ", (["x"] * 6, [0.0] * 4, 0.0, 0.0, 0.01, 0.0, 0.0, 1)),
        ("ServoJ", (HOLD, 0, 0.0, 0.0, 0.01, 0.0, 0.0, 1)),
        ("SetDO", (1, 1, "x", 0, 0)),
    ],
)
def test_wrong_parameters_are_fault_501(bench: Bench, method: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(xmlrpc.client.Fault) as caught:
        bench.call(method, *arguments)
    assert caught.value.faultCode == -501


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\xfe\x00",
        b"<methodCall>",
        b"<methodCall><methodName>Mode</methodName><params><param><value><int>x</int></value>"
        b"</param></params></methodCall>",
        b'<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;">]><methodCall><methodName>&c;</methodName>'
        b"</methodCall>",
        b"<a>" * 5000,
    ],
)
def test_a_body_that_is_no_call_is_fault_503(bench: Bench, body: bytes) -> None:
    caller = bench.connect(bench.node.ports.xmlrpc)
    with pytest.raises(xmlrpc.client.Fault) as caught:
        xmlrpc.client.loads(caller.exchange(body))
    assert caught.value.faultCode == -503
    assert caller.call("Mode", 0) == 0


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", b"405"),
        (b"POST /RPC2 HTTP/1.1\r\n\r\n", b"411"),
        (b"POST /RPC2 HTTP/1.1\r\nContent-Length: x\r\n\r\n", b"411"),
        (b"POST /RPC2 HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"411"),
        ("POST /RPC2 HTTP/1.1\r\nContent-Length: ²\r\n\r\n".encode("latin-1"), b"411"),
        (b"POST /RPC2 HTTP/1.1\r\nContent-Length: 65537\r\n\r\n", b"413"),
        (b"POST /RPC2 HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", b"413"),
        (b"POST /RPC2 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", b"501"),
        (b"POST /RPC2 HTTP/9.9\r\n\r\n", b"400"),
        (b"\r\n\r\n", b"400"),
        (b"\x16\x03\x01\x02\x00\x01\r\n\r\n", b"400"),
        (b"x" * 9000, b"431"),
    ],
)
def test_a_request_that_is_none_is_refused_and_hung_up_on(
    bench: Bench, request_: bytes, status: bytes
) -> None:
    caller = bench.connect(bench.node.ports.xmlrpc)
    caller.send(request_)
    assert caller.until_closed().split()[1] == status
    assert bench.call("Mode", 0) == 0


def test_requests_may_come_in_pieces_and_several_at_once(bench: Bench) -> None:
    body = xmlrpc.client.dumps((0,), "Mode").encode()
    request = f"POST /RPC2 HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    caller = bench.connect(bench.node.ports.xmlrpc)
    stream = request * 3
    for start in range(0, len(stream), 50):
        caller.send(stream[start : start + 50])

    def answered() -> bool:
        caller.take()
        return caller.data.count(b"</methodResponse>") == 3

    bench.until(answered)
    assert not caller.closed


def test_a_caller_that_wants_to_hang_up_is_let_go(bench: Bench) -> None:
    body = xmlrpc.client.dumps((0,), "Mode").encode()
    for head in (b"POST / HTTP/1.0\r\n", b"POST / HTTP/1.1\r\nConnection: close\r\n"):
        caller = bench.connect(bench.node.ports.xmlrpc)
        caller.send(head + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        assert b"methodResponse" in caller.until_closed()


def test_a_request_that_trickles_is_hung_up_on_and_a_complete_one_is_not(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "REQUEST_S", 0.05)
    idle = bench.connect(bench.node.ports.xmlrpc)
    body = xmlrpc.client.dumps((0,), "Mode").encode()
    whole = f"POST / HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    idle.send(whole[:30])
    bench.until(lambda: any(connection._buffer for connection in bench.node._calls.open))
    idle.send(whole[30:])

    def answered() -> bool:
        idle.take()
        return b"</methodResponse>" in idle.data

    bench.until(answered)
    slow = bench.connect(bench.node.ports.xmlrpc)
    slow.send(b"POST / HT")
    assert slow.until_closed() == b""
    assert not idle.closed
    assert idle.call("Mode", 0) == 0


def test_too_many_callers_are_turned_away_and_the_others_served(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "MAX_CONNECTIONS", 3)
    callers = [bench.connect(bench.node.ports.xmlrpc) for _ in range(3)]
    assert all(caller.call("Mode", 0) == 0 for caller in callers)
    assert bench.connect(bench.node.ports.xmlrpc).until_closed() == b""
    assert callers[0].call("Mode", 0) == 0


def test_introspection_switches_the_box_off(bench: Bench) -> None:
    bench.ready()
    feed = bench.connect(bench.node.ports.state)
    feed.subscribe("main_code")
    caller = bench.connect(bench.node.ports.xmlrpc)
    body = xmlrpc.client.dumps((), "system.listMethods").encode()
    caller.send(f"POST / HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    assert caller.until_closed() == b""
    feed.until_closed()
    assert bench.box.power_cycles == 1
    assert bench.box.state().enabled == 0


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.binary(max_size=300), min_size=1, max_size=4))
def test_any_bytes_on_the_call_port_leave_it_serving(bench: Bench, chunks: list[bytes]) -> None:
    caller = bench.connect(bench.node.ports.xmlrpc)
    for chunk in chunks:
        try:
            caller.send(chunk)
        except OSError:
            break
    bench.sockets.remove(caller.socket)
    caller.socket.close()
    assert bench.call("Mode", 0) == 0
    bench.sockets.pop().close()
