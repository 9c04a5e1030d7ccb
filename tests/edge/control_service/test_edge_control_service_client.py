"""The control service's client, as far as it needs no follower; the rest is in tests/nodes/follower."""

import socket
from pathlib import Path
from typing import Any

import msgspec
import pytest

from steadyhand.edge.control_service import (
    METHODS,
    CallFault,
    ControlClient,
    ControlError,
    EventWatch,
    OpenWish,
    agreed_hash,
)
from steadyhand.edge.control_service.channel import tcp_target
from steadyhand.edge.control_service.streams import ACTIONS_KEPT, ActionStream
from steadyhand.edge.keys import PresharedKey, Unauthenticated
from steadyhand.edge.robot_yaml import apply_overrides, load_robot
from steadyhand.wire import control_pb2
from steadyhand.wire.control_auth import ControlSigner, ControlVerifier

KEY = bytes(32)
WATCH = METHODS["WatchEvents"].path
ROBOT_FILE = Path(__file__).parents[3] / "config" / "robots" / "fairino_fr3_remote_node.yaml"


class Call:
    """A stream of replies that came already."""

    def __init__(self, replies: list[bytes]) -> None:
        self._replies = iter(replies)
        self.cancelled = False

    def __next__(self) -> bytes:
        return next(self._replies)

    def cancel(self) -> None:
        self.cancelled = True


def signed(number: int, kind: str = "Moved") -> bytes:
    event = control_pb2.Event(kind=kind, json='{"state":"idle"}', at_ns=5).SerializeToString()
    mac = ControlVerifier(session_id=1, key=KEY).event(WATCH, number, event)
    return control_pb2.SignedEvent(event=event, number=number, mac=mac).SerializeToString()


def watch(*replies: bytes) -> tuple[EventWatch, Call]:
    call = Call(list(replies))
    return EventWatch(call, ControlSigner(session_id=1, key=KEY), "there"), call


def test_events_are_read_in_their_order() -> None:
    events = list(watch(signed(1), signed(2, "Stopped"))[0])
    assert [(event.kind, event.fields) for event in events] == [
        ("Moved", {"state": "idle"}),
        ("Stopped", {"state": "idle"}),
    ]


@pytest.mark.parametrize("numbers", [(1, 1), (1, 3), (2,), (0,)])
def test_an_event_left_out_repeated_or_moved_is_found_out(numbers: tuple[int, ...]) -> None:
    events, call = watch(*map(signed, numbers))
    with pytest.raises(ControlError, match="not the follower's") as caught:
        list(events)
    assert caught.value.fault is CallFault.FORGED
    assert call.cancelled


def test_an_unsigned_event_is_not_believed_in_a_session() -> None:
    event = control_pb2.Event(kind="Stopped").SerializeToString()
    with pytest.raises(ControlError):
        list(watch(control_pb2.SignedEvent(event=event, number=1).SerializeToString())[0])


class Sending:
    """The call of a stream of actions; takes messages when told to."""

    def __init__(self) -> None:
        self.messages: Any = None

    def __call__(self, messages: Any) -> "Sending":
        self.messages = messages
        return self

    def cancel(self) -> None:
        pass

    def done(self) -> bool:
        return False


def test_a_connection_that_takes_nothing_keeps_the_newest_actions_only() -> None:
    sending = Sending()
    stream = ActionStream(sending, ControlSigner(session_id=1, key=KEY), "there")
    for number in range(ACTIONS_KEPT + 5):
        stream.send(bytes([number]))
    stream.cancel()
    sent = [control_pb2.StreamedAction.FromString(data) for data in sending.messages]
    assert [action.payload for action in sent] == [bytes([n]) for n in range(5, ACTIONS_KEPT + 5)]
    assert stream.dropped == 5
    verifier = ControlVerifier(session_id=1, key=KEY)
    path = METHODS["StreamActions"].path
    assert not any(verifier.action(path, a.counter, a.payload, a.mac) for a in sent)


def test_nobody_there_is_told_by_address() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        with ControlClient.tcp("127.0.0.1", port, PresharedKey(KEY)) as client:
            with pytest.raises(ControlError, match=f"no follower answers at 127.0.0.1:{port}") as caught:
                client.open_session(OpenWish(robot_id="fr3", operator="ada", config_hash=""))
            assert caught.value.fault is CallFault.UNREACHABLE


def test_a_peer_that_never_answers_is_given_up_on_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with ControlClient.tcp("127.0.0.1", port, Unauthenticated()) as client:
            with pytest.raises(ControlError) as caught:
                client.describe(timeout_s=0.2)
            assert caught.value.fault in (CallFault.TIMEOUT, CallFault.UNREACHABLE)


def test_a_closed_client_makes_no_call() -> None:
    client = ControlClient.tcp("127.0.0.1", 1, Unauthenticated())
    client.close()
    with pytest.raises(ControlError) as caught:
        client.describe()
    assert caught.value.fault is CallFault.CANCELLED


@pytest.mark.parametrize(
    ("host", "target"),
    [("127.0.0.1", "127.0.0.1:5"), ("::1", "[::1]:5"), ("robot.example", "robot.example:5")],
)
def test_hosts_are_told_to_grpc_as_it_wants(host: str, target: str) -> None:
    assert tcp_target(host, 5) == target


# ---- what both sides must agree on


@pytest.mark.parametrize(
    "override",
    [
        {"robot.address": "'10.0.0.1'"},
        {"remote_node.host": "'far'"},
        {"remote_node.grpc_port": "1"},
        {"remote_node.udp_port": "2"},
        {"remote_node.telemetry_port": "3"},
    ],
)
def test_where_the_other_end_is_found_may_differ(override: dict[str, str]) -> None:
    config = load_robot(ROBOT_FILE)
    assert agreed_hash(apply_overrides(config, override)) == agreed_hash(config)


@pytest.mark.parametrize(
    "override",
    [
        {"communication.publish_rate_hz": "77"},
        {"communication.playout_buffer_ms": "33"},
        {"remote_node.deadman_s": "0.5"},
        {"remote_node.estop_open": "true"},
        {"robot.id": "another"},
        {"safety.stream_shaper.v_max_deg_s": "99"},
    ],
)
def test_everything_else_must_be_the_same(override: dict[str, str]) -> None:
    config = load_robot(ROBOT_FILE)
    assert agreed_hash(apply_overrides(config, override)) != agreed_hash(config)


# ---- the table


def test_the_table_has_every_call_of_the_description_by_its_path() -> None:
    assert METHODS.keys() == {
        "Hello", "OpenSession", "CloseSession", "PrepareStream", "EnterIdle", "ResetEmergency",
        "EmergencyStop", "StreamActions", "WatchEvents", "ToggleGuard", "EditGuard", "ScaleSpeed",
        "Describe",
    }  # fmt: skip
    prepare = METHODS["PrepareStream"]
    assert prepare.path == "/steadyhand.control.v1.FollowerControl/PrepareStream"
    assert (prepare.request, prepare.reply) == (control_pb2.PrepareStreamRequest, control_pb2.Reply)
    streams = {m.name: (m.streams_requests, m.streams_replies) for m in METHODS.values()}
    assert {name for name, kind in streams.items() if kind != (False, False)} == {
        "StreamActions",
        "WatchEvents",
    }
    assert streams["StreamActions"] == (True, False)
    assert msgspec.structs.asdict(METHODS["WatchEvents"])["streams_replies"]
