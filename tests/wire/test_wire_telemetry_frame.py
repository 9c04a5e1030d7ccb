"""S7N1: the measured state on its way back."""

import json
import math
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steadyhand.ground.robot_state import RobotState
from steadyhand.wire.head import TELEMETRY_MAGIC, Head, encode_head, read_head
from steadyhand.wire.limits import MAX_DATAGRAM_BYTES, FrameTooLarge
from steadyhand.wire.rejections import Reason, Rejection
from steadyhand.wire.sealing import Sealer, Unsealer
from steadyhand.wire.telemetry_frame import (
    TelemetryFrame,
    UnsendableState,
    decode_plain_telemetry,
    decode_sealed_telemetry,
    decode_state,
    encode_telemetry,
    fit_state,
    telemetry_room_bytes,
)

calm = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
KEY = bytes(range(32))
STATE = RobotState(joint_positions=(1.5, -2.0), timestamp=3.0, robot_id="fr3", safety={"any_tripped": False})


def _head(datagram: bytes) -> Head:
    head = read_head(datagram, TELEMETRY_MAGIC)
    assert isinstance(head, Head)
    return head


def _frame(payload: bytes, robot_id: str = "fr3") -> TelemetryFrame:
    return TelemetryFrame(1, 7, robot_id, payload)


def _reason(answer: object) -> Reason:
    assert isinstance(answer, Rejection), answer
    return answer.reason


def _debug(ladder: int, strip: int) -> dict[str, Any]:
    """A health report with wire debug: so many entries on the ladder and in the strip."""
    return {
        "depth": ladder,
        "entries": [[1000 + i, -10.5 * i, False] for i in range(ladder)],
        "releases": [[900 + i, i % 5 == 0] for i in range(strip)],
    }


def test_a_plain_frame_keeps_its_json_unchanged() -> None:
    payload = b' {"joint_positions": [1.0],  "timestamp": 2}'
    frame = decode_plain_telemetry(_head(encode_telemetry(payload, robot_id="fr3", seq=7)))
    assert frame == TelemetryFrame(1, 7, "fr3", payload)
    assert decode_state(frame) == RobotState(joint_positions=(1.0,), timestamp=2.0, robot_id="fr3")


def test_a_sealed_frame_comes_back_with_its_counter() -> None:
    unsealer, sealer = Unsealer(), Sealer(session_id=5, key=KEY)
    unsealer.open_session(session_id=5, key=KEY)
    payload = fit_state(STATE, room_bytes=telemetry_room_bytes("fr3", sealed=True))
    for counter in range(2):
        datagram = encode_telemetry(payload, robot_id="fr3", seq=7, sealer=sealer)
        assert payload not in datagram
        frame = decode_sealed_telemetry(_head(datagram), unsealer)
        assert frame == TelemetryFrame(3, 7, "fr3", payload, 5, counter)
        assert decode_state(frame) == STATE
        assert _reason(decode_plain_telemetry(_head(datagram))) is Reason.SEALED
        assert _reason(decode_sealed_telemetry(_head(datagram), unsealer)) is Reason.REPLAYED


def test_a_plain_frame_is_not_opened_as_a_sealed_one() -> None:
    datagram = encode_telemetry(b"{}", robot_id="fr3", seq=7)
    assert _reason(decode_sealed_telemetry(_head(datagram), Unsealer())) is Reason.NOT_SEALED


def test_a_frame_without_json_is_rejected_and_never_written() -> None:
    assert _reason(decode_plain_telemetry(_head(encode_head(TELEMETRY_MAGIC, 1, 7, "fr3")))) is (
        Reason.EMPTY_PAYLOAD
    )
    with pytest.raises(ValueError, match="no payload"):
        encode_telemetry(b"", robot_id="fr3", seq=7)


def test_a_name_that_is_no_text_is_rejected() -> None:
    head = Head(1, 7, b"\xff", b"{}", 0)
    assert _reason(decode_plain_telemetry(head)) is Reason.BAD_ROBOT_ID


@pytest.mark.parametrize(
    "payload",
    [b"{", b"{}x", b'{"timestamp":NaN}', b"[" * 1200, b"\xff", b'{"timestamp":1e999}', b"\xef\xbb\xbf{}"],
)
def test_what_is_no_json_is_rejected(payload: bytes) -> None:
    assert _reason(decode_state(_frame(payload))) is Reason.MALFORMED_JSON


@pytest.mark.parametrize(
    "part",
    [
        {"joint_positions": [True]},
        {"joint_positions": []},
        {"joint_positions": [0.0] * 17},
        {"timestamp": None},
        {"timestamp": "1"},
        {"extras": {"a": 1 << 64}},
        {"robot_id": "fr20"},
        {"joint_units": "radians"},
        {"status": "fine"},
    ],
)
def test_json_that_is_no_state_is_rejected(part: dict[str, Any]) -> None:
    value = {"timestamp": 1.0, "joint_positions": [1.0], **part}
    assert _reason(decode_state(_frame(json.dumps(value).encode()))) is Reason.BAD_STATE


@pytest.mark.parametrize("payload", [b"5", b"null", b'"x"', b"[]", b"1" * 1000])
def test_json_that_is_no_object_is_rejected(payload: bytes) -> None:
    assert _reason(decode_state(_frame(payload))) is Reason.BAD_STATE


def test_the_frames_name_fills_in_for_a_state_without_one() -> None:
    state = decode_state(_frame(b'{"timestamp":1.0,"joint_positions":[1.0]}', "fr20"))
    assert isinstance(state, RobotState)
    assert state.robot_id == "fr20"


# Sizes


def _fitted(state: RobotState, room_bytes: int) -> dict[str, Any]:
    payload = fit_state(state, room_bytes=room_bytes)
    assert len(payload) <= room_bytes
    value = msgspec.json.decode(payload)
    assert isinstance(value, dict)
    return value


def test_a_state_that_fits_is_sent_whole() -> None:
    state = msgspec.structs.replace(STATE, extras={"playout": _debug(5, 5), "note": "x"})
    assert _fitted(state, 1200) == state.to_dict()


def test_a_state_that_just_fits_is_sent_whole() -> None:
    state = msgspec.structs.replace(STATE, extras={"note": "x" * 50})
    size = len(msgspec.json.encode(state.to_dict()))
    assert _fitted(state, size) == state.to_dict()
    assert _fitted(state, size - 1) != state.to_dict()


def test_wire_debug_gives_way_first_and_keeps_its_newest() -> None:
    state = msgspec.structs.replace(STATE, extras={"playout": _debug(64, 10), "note": "x"})
    value = _fitted(state, 1180)
    entries = value["extras"]["playout"]["entries"]
    assert 0 < len(entries) < 64
    assert entries == state.extras["playout"]["entries"][-len(entries) :]
    assert value["extras"]["playout"]["releases"] == state.extras["playout"]["releases"]
    assert value["extras"]["note"] == "x"
    assert value["extras"]["shed"] == ["extras.playout.entries"]


def test_both_strips_may_go_before_anything_else_does() -> None:
    extras = {"playout": _debug(64, 64), "note": "x" * 500}
    value = _fitted(msgspec.structs.replace(STATE, extras=extras), 1180)
    assert value["extras"]["playout"]["entries"] == []
    assert len(value["extras"]["playout"]["releases"]) < 64
    assert value["extras"]["note"] == "x" * 500
    assert value["extras"]["shed"] == ["extras.playout.entries", "extras.playout.releases"]


def test_a_stalls_sentence_is_cut_before_the_engage_state_and_the_cause_go() -> None:
    """Without them an operator's end would not know that the arm streams again after a stall."""
    extras = {"playout": {"depth": 20, "last_stall": "y" * 200}, "engage": "streaming", "note": "x" * 700}
    value = _fitted(msgspec.structs.replace(STATE, extras=extras), 1180)
    assert value["extras"]["engage"] == "streaming"
    assert 0 < len(value["extras"]["playout"]["last_stall"]) < 200
    assert value["extras"]["shed"] == ["extras.playout.last_stall"]


def test_a_guards_reason_goes_before_the_cause_that_repeats_it() -> None:
    safety = {"any_tripped": True, "divergence": {"tripped": True, "last_reason": "r" * 300}}
    extras = {"engage": "stopped", "stop_cause": {"kind": "guard", "name": "divergence"}, "note": "x" * 600}
    value = _fitted(msgspec.structs.replace(STATE, safety=safety, extras=extras), 1180)
    assert value["extras"]["stop_cause"] == {"kind": "guard", "name": "divergence"}
    assert value["safety"] == {"any_tripped": True, "divergence": {"tripped": True}}
    assert value["extras"]["shed"] == ["safety.divergence.last_reason"]


def test_of_the_other_extras_the_last_one_goes_first() -> None:
    extras = {
        "engage": "stopped",
        "cause": "c" * 300,
        "link": "l" * 300,
        "playout": {"depth": 20},
        "ack": "a" * 500,
    }
    value = _fitted(msgspec.structs.replace(STATE, extras=extras), 1180)
    assert list(value["extras"]) == ["engage", "cause", "link", "playout", "shed"]
    assert value["extras"]["shed"] == ["extras.ack"]
    less = _fitted(msgspec.structs.replace(STATE, extras=extras), 800)
    assert list(less["extras"]) == ["engage", "cause", "playout", "shed"]
    assert less["extras"]["shed"] == ["extras.link", "extras.ack"]


def test_other_extras_give_way_before_the_buffers_health() -> None:
    extras = {"playout": {"depth": 20}, "note": "x" * 1200}
    value = _fitted(msgspec.structs.replace(STATE, extras=extras), 1180)
    assert value["extras"] == {"playout": {"depth": 20}, "shed": ["extras"]}
    assert value["safety"] == STATE.safety


def test_safety_shrinks_last_and_still_says_whether_anything_tripped() -> None:
    safety = {"any_tripped": True, "divergence": {"reason": "x" * 1200}}
    value = _fitted(msgspec.structs.replace(STATE, safety=safety, extras={"note": 1}), 1180)
    assert value["safety"] == {"any_tripped": True}
    assert value["extras"] == {"shed": ["extras", "safety"]}
    assert value["joint_positions"] == [1.5, -2.0]


def test_what_cannot_shrink_is_refused_by_name() -> None:
    state = msgspec.structs.replace(STATE, extras={"playout": {"note": "x" * 1200}})
    with pytest.raises(FrameTooLarge, match="state of fr3 needs"):
        fit_state(state, room_bytes=1180)
    with pytest.raises(FrameTooLarge, match="state 7 of fr3 needs"):
        encode_telemetry(bytes(1219), robot_id="fr3", seq=7)


@calm
@given(
    joints=st.integers(1, 16),
    ladder=st.integers(0, 64),
    strip=st.integers(0, 64),
    note=st.text(st.characters(exclude_categories=["Cs"]), max_size=400),
    reason=st.text(st.characters(exclude_categories=["Cs"]), max_size=400),
    name=st.sampled_from(("f", "fr3", "ö" * 32)),
    sealed=st.booleans(),
)
def test_a_state_of_any_size_fits_its_datagram_and_is_read_back(  # noqa: PLR0917 - one per dimension
    joints: int, ladder: int, strip: int, note: str, reason: str, name: str, sealed: bool
) -> None:
    state = RobotState(
        joint_positions=(0.1,) * joints,
        timestamp=1.0,
        robot_id=name,
        safety={"any_tripped": False, "reason": reason},
        extras={"playout": _debug(ladder, strip), "note": note},
    )
    payload = fit_state(state, room_bytes=telemetry_room_bytes(name, sealed=sealed))
    sealer = Sealer(session_id=5, key=KEY) if sealed else None
    assert len(encode_telemetry(payload, robot_id=name, seq=7, sealer=sealer)) <= MAX_DATAGRAM_BYTES
    read = decode_state(_frame(payload, name))
    assert isinstance(read, RobotState)
    assert read.joint_positions == state.joint_positions


@pytest.mark.parametrize(
    "fields",
    [
        {"joint_positions": (math.nan,)},
        {"timestamp": math.nan},
        {"leader_timestamp": math.inf},
        {"extras": {"a": math.nan}},
        {"extras": {"a": object()}},
        {"joint_velocities": (1.0,)},
    ],
)
def test_a_state_that_json_cannot_carry_is_refused_by_name(fields: dict[str, Any]) -> None:
    with pytest.raises(UnsendableState, match="fr3"):
        fit_state(msgspec.structs.replace(STATE, **fields), room_bytes=1180)
