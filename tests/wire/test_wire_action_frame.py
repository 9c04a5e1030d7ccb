"""S7A1 in its three versions."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steadyhand.ground.robot_state import MAX_ROBOT_ID_BYTES
from steadyhand.ground.setpoint import Setpoint
from steadyhand.wire.action_frame import (
    ActionFrame,
    bundle_budget_bytes,
    decode_plain,
    decode_sealed,
    encode_bundle,
    encode_sealed,
    encode_single,
    peek_estop,
    sealed_bundle_budget_bytes,
)
from steadyhand.wire.action_payload import encode_action
from steadyhand.wire.bundle import Entry, bundle_entries_within_budget
from steadyhand.wire.head import ACTION_MAGIC, Head, encode_head, read_head
from steadyhand.wire.limits import ACTION_BUNDLE_BUDGET_BYTES, MAX_DATAGRAM_BYTES, FrameTooLarge
from steadyhand.wire.rejections import Reason, Rejection
from steadyhand.wire.sealing import Sealer, Unsealer

calm = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
KEY = bytes(range(32))
ESTOP = encode_action(
    Setpoint(joints_deg=(), timestamp_s=1.0, emergency_stop=True, episode_id=3, robot_id="fr3")
)
MOTION = encode_action(Setpoint(joints_deg=(1.0,), timestamp_s=1.0, robot_id="fr3"))

names = st.sampled_from(("f", "fr3", "x" * 21, "x" * 22, "ö" * 32, "x" * MAX_ROBOT_ID_BYTES))


def _sealer() -> Sealer:
    return Sealer(session_id=5, key=KEY)


def _unsealer() -> Unsealer:
    unsealer = Unsealer()
    unsealer.open_session(session_id=5, key=KEY)
    return unsealer


def _head(datagram: bytes) -> Head:
    head = read_head(datagram, ACTION_MAGIC)
    assert isinstance(head, Head)
    return head


def _reason(answer: ActionFrame | Rejection) -> Reason:
    assert isinstance(answer, Rejection), answer
    return answer.reason


def test_a_single_frame_reads_as_it_was_written() -> None:
    datagram = encode_single(robot_id="fr3", entry=Entry(9, MOTION))
    assert decode_plain(_head(datagram)) == ActionFrame(1, "fr3", (Entry(9, MOTION),))


def test_a_bundle_frame_carries_the_newest_entrys_number() -> None:
    entries = [Entry(9, MOTION), Entry(8, MOTION), Entry(6, MOTION)]
    frame = decode_plain(_head(encode_bundle(robot_id="fr3", entries=entries)))
    assert frame == ActionFrame(2, "fr3", tuple(entries))
    assert frame.seq == 9


def test_a_sealed_frame_carries_its_session_and_counter() -> None:
    entries, sealer, unsealer = [Entry(9, MOTION), Entry(8, MOTION)], _sealer(), _unsealer()
    for counter in range(3):
        datagram = encode_sealed(robot_id="fr3", entries=entries, sealer=sealer)
        assert decode_sealed(_head(datagram), unsealer) == ActionFrame(3, "fr3", tuple(entries), 5, counter)


def test_a_sealed_frame_shows_nothing_of_its_payload() -> None:
    datagram = encode_sealed(robot_id="fr3", entries=[Entry(9, MOTION)], sealer=_sealer())
    assert MOTION not in datagram


# Sizes


@st.composite
def rings(draw: st.DrawFn) -> list[Entry]:
    """A current setpoint and its ring, of states of any size."""
    sizes = draw(st.lists(st.integers(1, 1400), min_size=1, max_size=11))
    return [Entry(1000 - back, bytes(size)) for back, size in enumerate(sizes)]


@calm
@given(name=names, ring=rings())
def test_no_datagram_is_ever_larger_than_1232_bytes(name: str, ring: list[Entry]) -> None:
    plain = bundle_entries_within_budget(ring[0], ring[1:], budget_bytes=bundle_budget_bytes(name))
    room = sealed_bundle_budget_bytes(name)
    sealed = bundle_entries_within_budget(ring[0], ring[1:], budget_bytes=room)
    if len(ring[0].payload) + 5 <= bundle_budget_bytes(name):
        datagram = encode_bundle(robot_id=name, entries=plain)
        assert len(datagram) <= MAX_DATAGRAM_BYTES
        read = decode_plain(_head(datagram))
        assert isinstance(read, ActionFrame)
        assert list(read.entries) == plain
    if len(ring[0].payload) + 5 <= room:
        datagram = encode_sealed(robot_id=name, entries=sealed, sealer=_sealer())
        assert len(datagram) <= MAX_DATAGRAM_BYTES
        read = decode_sealed(_head(datagram), _unsealer())
        assert isinstance(read, ActionFrame)
        assert list(read.entries) == sealed
    else:
        with pytest.raises(FrameTooLarge):
            encode_sealed(robot_id=name, entries=sealed, sealer=_sealer())


@calm
@given(name=names, ring=rings())
def test_entries_beyond_the_budget_are_refused_and_never_cut(name: str, ring: list[Entry]) -> None:
    body = 1 + sum(4 + len(entry.payload) for entry in ring)
    fits = body <= bundle_budget_bytes(name)
    try:
        datagram = encode_bundle(robot_id=name, entries=ring)
    except FrameTooLarge:
        assert not fits
    else:
        assert fits
        assert len(datagram) <= MAX_DATAGRAM_BYTES


def test_the_budgets_follow_from_the_overhead() -> None:
    assert bundle_budget_bytes("fr3") == ACTION_BUNDLE_BUDGET_BYTES
    assert bundle_budget_bytes("x" * 21) == 1200
    assert bundle_budget_bytes("x" * 22) == 1199
    assert bundle_budget_bytes("x" * 64) == 1232 - 11 - 64
    assert sealed_bundle_budget_bytes("fr3") == 1232 - 11 - 3 - 16 - 16


@pytest.mark.parametrize("name", ["f", "x" * MAX_ROBOT_ID_BYTES])
def test_the_largest_payload_fits_and_one_byte_more_is_refused_by_name(name: str) -> None:
    largest = MAX_DATAGRAM_BYTES - 11 - len(name)
    datagram = encode_single(robot_id=name, entry=Entry(9, bytes(largest)))
    assert len(datagram) == MAX_DATAGRAM_BYTES
    with pytest.raises(FrameTooLarge, match=f"setpoint 9 of {name} needs"):
        encode_single(robot_id=name, entry=Entry(9, bytes(largest + 1)))
    room = sealed_bundle_budget_bytes(name) - 5
    sealed = encode_sealed(robot_id=name, entries=[Entry(9, bytes(room))], sealer=_sealer())
    assert len(sealed) == MAX_DATAGRAM_BYTES
    with pytest.raises(FrameTooLarge, match=f"setpoint 9 of {name} needs"):
        encode_sealed(robot_id=name, entries=[Entry(9, bytes(room + 1))], sealer=_sealer())


def test_a_refused_setpoint_spends_no_counter() -> None:
    sealer = _sealer()
    with pytest.raises(FrameTooLarge):
        encode_sealed(robot_id="fr3", entries=[Entry(9, bytes(1300))], sealer=sealer)
    datagram = encode_sealed(robot_id="fr3", entries=[Entry(9, MOTION)], sealer=sealer)
    frame = decode_sealed(_head(datagram), _unsealer())
    assert isinstance(frame, ActionFrame)
    assert frame.counter == 0


def test_a_received_bundle_beyond_its_budget_is_rejected() -> None:
    entries = [Entry(9, bytes(1196))]
    datagram = encode_head(ACTION_MAGIC, 2, 9, "fr3") + b"\x01\x00\x00\x04\xac" + entries[0].payload
    assert len(datagram) <= MAX_DATAGRAM_BYTES
    assert _reason(decode_plain(_head(datagram))) is Reason.OVERSIZE


def test_an_empty_payload_is_neither_written_nor_read() -> None:
    with pytest.raises(ValueError, match="no payload"):
        encode_single(robot_id="fr3", entry=Entry(9, b""))
    assert _reason(decode_plain(_head(encode_head(ACTION_MAGIC, 1, 9, "fr3")))) is Reason.EMPTY_PAYLOAD


# Which version for whom


def test_a_plain_frame_is_not_opened_and_a_sealed_one_not_read_plainly() -> None:
    plain = encode_single(robot_id="fr3", entry=Entry(9, MOTION))
    sealed = encode_sealed(robot_id="fr3", entries=[Entry(9, MOTION)], sealer=_sealer())
    assert _reason(decode_sealed(_head(plain), _unsealer())) is Reason.NOT_SEALED
    assert _reason(decode_plain(_head(sealed))) is Reason.SEALED


def test_a_name_that_is_no_text_is_rejected_in_every_version() -> None:
    named = b"\x00\x00\x00\x09\x00\x01\xff"
    for version in (b"\x01", b"\x02"):
        datagram = ACTION_MAGIC + version + named + b"\x01\x00\x00\x00\x01x"
        assert _reason(decode_plain(_head(datagram))) is Reason.BAD_ROBOT_ID
    sealed = _sealer().seal(ACTION_MAGIC + b"\x03" + named, b"\x01\x00\x00\x00\x01x")
    assert _reason(decode_sealed(_head(sealed), _unsealer())) is Reason.BAD_ROBOT_ID


def test_an_authentic_frame_that_is_no_bundle_is_rejected_as_such() -> None:
    sealed = _sealer().seal(encode_head(ACTION_MAGIC, 3, 9, "fr3"), b"\x00")
    assert _reason(decode_sealed(_head(sealed), _unsealer())) is Reason.BUNDLE_COUNT


def test_peeking_finds_the_estop_in_a_single_frame() -> None:
    found = peek_estop(_head(encode_single(robot_id="fr3", entry=Entry(9, ESTOP))))
    assert found is not None
    assert (found.emergency_stop, found.episode_id, found.robot_id) == (True, 3, "fr3")


@pytest.mark.parametrize(
    "datagram",
    [
        encode_single(robot_id="fr3", entry=Entry(9, MOTION)),
        encode_single(robot_id="fr3", entry=Entry(9, b"\xff")),
        encode_bundle(robot_id="fr3", entries=[Entry(9, ESTOP)]),
        encode_sealed(robot_id="fr3", entries=[Entry(9, ESTOP)], sealer=_sealer()),
        encode_head(ACTION_MAGIC, 1, 9, "fr3"),
    ],
    ids=["motion", "garbage", "bundle", "sealed", "empty"],
)
def test_peeking_finds_no_estop_in_anything_else(datagram: bytes) -> None:
    assert peek_estop(_head(datagram)) is None
