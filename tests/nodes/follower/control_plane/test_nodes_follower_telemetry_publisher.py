"""Telemetry out: on its grid, newest first, no state twice, sealed where the session is."""

import json
import socket
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyhand.edge.keys import Unauthenticated
from steadyhand.ground.stamps import NS_PER_MS
from steadyhand.nodes.follower.telemetry_publisher import TelemetryPublisher
from steadyhand.wire.head import TELEMETRY_MAGIC, Head, read_head
from steadyhand.wire.limits import MAX_DATAGRAM_BYTES
from steadyhand.wire.sealing import Sealer, Unsealer
from steadyhand.wire.telemetry_frame import TelemetryFrame, decode_plain_telemetry, decode_sealed_telemetry

PERIOD_NS = 10 * NS_PER_MS
TO = ("192.0.2.1", 5)


class Wire:
    """What left."""

    def __init__(self) -> None:
        self.frames: list[TelemetryFrame] = []
        self.takes = True
        self.publisher = TelemetryPublisher("fr3", period_ns=PERIOD_NS, first_ns=PERIOD_NS, send=self.send)

    def send(self, data: bytes, to: tuple[str, int]) -> bool:
        assert to == TO
        head = read_head(data, TELEMETRY_MAGIC)
        assert isinstance(head, Head)
        frame = decode_plain_telemetry(head)
        assert isinstance(frame, TelemetryFrame)
        self.frames.append(frame)
        return self.takes

    @property
    def payloads(self) -> list[bytes]:
        return [frame.payload for frame in self.frames]


@pytest.fixture
def wire() -> Wire:
    wire = Wire()
    wire.publisher.open(TO, None)
    return wire


def test_a_slot_takes_the_newest_state(wire: Wire) -> None:
    wire.publisher.note_state(b"1")
    wire.publisher.note_state(b"2")
    assert wire.payloads == []
    wire.publisher.slot(PERIOD_NS)
    assert wire.payloads == [b"2"]
    assert wire.publisher.counts.replaced == 1


def test_a_slot_without_a_state_is_owed_and_paid_by_the_next(wire: Wire) -> None:
    wire.publisher.slot(PERIOD_NS)
    wire.publisher.note_state(b"1")
    assert wire.payloads == [b"1"]
    wire.publisher.note_state(b"2")
    assert wire.payloads == [b"1"], "a second state is for the next slot"


def test_slots_without_states_are_owed_once(wire: Wire) -> None:
    for slot in range(1, 5):
        wire.publisher.slot(slot * PERIOD_NS)
    for state in (b"1", b"2"):
        wire.publisher.note_state(state)
    assert wire.payloads == [b"1"]


def test_no_state_is_sent_twice(wire: Wire) -> None:
    wire.publisher.note_state(b"1")
    wire.publisher.slot(PERIOD_NS)
    wire.publisher.slot(2 * PERIOD_NS)
    assert wire.payloads == [b"1"]


def test_the_grid_is_kept_for_ever_and_missed_slots_are_counted(wire: Wire) -> None:
    wire.publisher.slot(round(4.5 * PERIOD_NS))
    assert wire.publisher.grid.due_ns == 5 * PERIOD_NS
    assert wire.publisher.grid.skipped_slots == 3


@settings(deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 30 * NS_PER_MS)), max_size=60))
def test_never_more_than_one_frame_a_slot_and_one(steps: list[tuple[bool, int]]) -> None:
    wire = Wire()
    wire.publisher.open(TO, None)
    now_ns = PERIOD_NS
    slots = states = 0
    for is_slot, later_ns in steps:
        now_ns += later_ns
        if is_slot:
            wire.publisher.slot(now_ns)
            slots += 1
            assert wire.publisher.grid.due_ns > now_ns
            assert wire.publisher.grid.due_ns % PERIOD_NS == 0
        else:
            states += 1
            wire.publisher.note_state(b"%d" % states)
    assert len(wire.frames) <= min(slots, states)
    numbers = [int(payload) for payload in wire.payloads]
    assert numbers == sorted(set(numbers))


def test_frames_are_numbered_over_sessions(wire: Wire) -> None:
    for number in range(3):
        wire.publisher.note_state(b"x")
        wire.publisher.slot((number + 1) * PERIOD_NS)
        wire.publisher.open(TO, None)
    assert [frame.seq for frame in wire.frames] == [0, 1, 2]


def test_a_new_session_is_sent_nothing_of_before(wire: Wire) -> None:
    wire.publisher.note_state(b"old")
    wire.publisher.open(TO, None)
    wire.publisher.slot(PERIOD_NS)
    assert wire.payloads == []


def test_nothing_is_sent_without_a_session(wire: Wire) -> None:
    wire.publisher.note_state(b"1")
    wire.publisher.close()
    wire.publisher.slot(PERIOD_NS)
    wire.publisher.note_state(b"2")
    wire.publisher.slot(2 * PERIOD_NS)
    assert wire.payloads == []


def test_a_frame_the_socket_does_not_take_is_counted(wire: Wire) -> None:
    wire.takes = False
    wire.publisher.note_state(b"1")
    wire.publisher.slot(PERIOD_NS)
    assert (wire.publisher.counts.sent, wire.publisher.counts.refused) == (0, 1)


def test_a_state_that_no_datagram_holds_is_counted_and_not_sent(wire: Wire) -> None:
    wire.publisher.note_state(b"x" * MAX_DATAGRAM_BYTES)
    wire.publisher.slot(PERIOD_NS)
    assert wire.payloads == []
    assert wire.publisher.counts.too_large == 1


def test_a_sealed_frame_opens_with_the_telemetry_key() -> None:
    got: list[bytes] = []

    def send(data: bytes, _to: tuple[str, int]) -> bool:
        got.append(data)
        return True

    publisher = TelemetryPublisher("fr3", period_ns=PERIOD_NS, first_ns=0, send=send)
    publisher.open(TO, Sealer(session_id=5, key=bytes(32)))
    publisher.note_state(b"{}")
    publisher.slot(0)
    head = read_head(got[0], TELEMETRY_MAGIC)
    assert isinstance(head, Head)
    unsealer = Unsealer()
    unsealer.open_session(session_id=5, key=bytes(32))
    frame = decode_sealed_telemetry(head, unsealer)
    assert isinstance(frame, TelemetryFrame)
    assert frame.payload == b"{}"


# ---- over a socket


@pytest.fixture
def listener() -> Any:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.settimeout(10)
        yield listening


def test_telemetry_of_a_session_is_sealed_with_its_key(rig: Any, listener: Any) -> None:
    session = rig.client().open_session(rig.wish(telemetry_port=listener.getsockname()[1]))
    unsealer = Unsealer()
    unsealer.open_session(session_id=session.session_id, key=session.keys.telemetry)
    seqs = []
    for _ in range(5):
        head = read_head(listener.recv(2048), TELEMETRY_MAGIC)
        assert isinstance(head, Head)
        frame = decode_sealed_telemetry(head, unsealer)
        assert isinstance(frame, TelemetryFrame), frame
        assert json.loads(frame.payload)["robot_id"] == "fr3"
        seqs.append(frame.seq)
    assert seqs == list(range(seqs[0], seqs[0] + 5))


def test_telemetry_without_authentication_is_plain(make_rig: Any, listener: Any) -> None:
    rig = make_rig(Unauthenticated())
    rig.client().open_session(rig.wish(telemetry_port=listener.getsockname()[1]))
    head = read_head(listener.recv(2048), TELEMETRY_MAGIC)
    assert isinstance(head, Head)
    assert isinstance(decode_plain_telemetry(head), TelemetryFrame)


def test_telemetry_ends_with_the_session(rig: Any, listener: Any) -> None:
    client = rig.client()
    client.open_session(rig.wish(telemetry_port=listener.getsockname()[1]))
    listener.recv(2048)
    client.close_session()
    sent = rig.plane.telemetry.counts.sent
    rig.on_loop(lambda: rig.plane.telemetry.note_state(b"{}"))
    rig.on_loop(lambda: rig.plane.telemetry.slot(rig.plane.telemetry.grid.due_ns))
    assert rig.plane.telemetry.counts.sent == sent
