"""A setpoint as protobuf, the rest as JSON."""

import json
import math
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steadyhand.ground.action_dict import setpoint_from_state, state_from_setpoint
from steadyhand.ground.json_values import MAX_JSON_DEPTH, refuse_unsendable
from steadyhand.ground.robot_state import HOT_KEYS, MAX_EPISODE_ID, MAX_JOINTS, RobotState
from steadyhand.ground.setpoint import Setpoint
from steadyhand.wire.action_payload import (
    MAX_ESTOP_PAYLOAD_BYTES,
    UnsendableAction,
    decode_action,
    encode_action,
)
from steadyhand.wire.action_pb2 import Action
from steadyhand.wire.rejections import Reason, Rejection

calm = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])

finite = st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
rest_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 64) - 1) | finite | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
).filter(lambda value: refuse_unsendable(value, "", depth=1) is None)


@st.composite
def setpoints(draw: st.DrawFn) -> Setpoint:
    """Any setpoint that a sender may send, a non-finite stamp included."""
    joints = draw(st.lists(finite, min_size=1, max_size=MAX_JOINTS))
    count = draw(st.sampled_from((0, len(joints))))
    return Setpoint(
        joints_deg=tuple(joints),
        timestamp_s=draw(st.floats(allow_nan=False)),
        leader_timestamp_s=draw(st.none() | st.floats(allow_nan=False)),
        joint_velocities_deg_s=tuple(draw(st.lists(finite, min_size=count, max_size=count))),
        emergency_stop=draw(st.booleans()),
        episode_id=draw(st.integers(0, MAX_EPISODE_ID)),
        robot_id="fr3",
        extras=draw(st.dictionaries(texts.filter(lambda key: key not in HOT_KEYS), rest_values, max_size=3)),
    )


def _setpoint(**fields: Any) -> Setpoint:
    return Setpoint(**{"joints_deg": (1.0, 2.0), "timestamp_s": 1.0, "robot_id": "fr3", **fields})


def _reason(payload: bytes, **options: Any) -> Reason:
    answer = decode_action(payload, "fr3", **options)
    assert isinstance(answer, Rejection), answer
    return answer.reason


@calm
@given(setpoints())
def test_a_setpoint_comes_back_verbatim(setpoint: Setpoint) -> None:
    assert decode_action(encode_action(setpoint), "fr3") == setpoint


def test_a_state_crosses_the_wire_whole() -> None:
    state = RobotState(
        joint_positions=(1.5, -2.5),
        timestamp=3.0,
        robot_id="fr3",
        joint_efforts=(0.5, 0.25),
        gripper_position_pct=40.0,
        safety={"any_tripped": False},
        extras={"note": "größer"},
    )
    received = decode_action(encode_action(setpoint_from_state(state)), "fr3")
    assert isinstance(received, Setpoint)
    assert state_from_setpoint(received) == state


def test_six_joints_need_a_hundred_and_eighteen_bytes() -> None:
    six = _setpoint(joints_deg=(1.0,) * 6, joint_velocities_deg_s=(1.0,) * 6, leader_timestamp_s=1.0)
    assert len(encode_action(six)) == 118


def test_the_name_is_the_frames_and_not_the_payloads() -> None:
    received = decode_action(encode_action(_setpoint(robot_id="fr3")), "fr20")
    assert isinstance(received, Setpoint)
    assert received.robot_id == "fr20"
    assert b"fr3" not in encode_action(_setpoint(robot_id="fr3"))


@pytest.mark.parametrize("stamp_s", [math.inf, -math.inf, math.nan])
def test_a_non_finite_stamp_is_a_value_for_the_playout_buffer_to_judge(stamp_s: float) -> None:
    received = decode_action(encode_action(_setpoint(leader_timestamp_s=stamp_s)), "fr3")
    assert isinstance(received, Setpoint)
    assert not math.isfinite(received.sender_stamp_s)


# What a receiver rejects


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_non_finite_joint_is_rejected(bad: float) -> None:
    payload = Action(timestamp=1.0, joint_positions=[1.0, bad]).SerializeToString()
    assert _reason(payload) is Reason.NON_FINITE_JOINT
    payload = Action(joint_positions=[1.0, 2.0], joint_velocities=[bad, 0.0]).SerializeToString()
    assert _reason(payload) is Reason.NON_FINITE_JOINT


@pytest.mark.parametrize(
    ("positions", "speeds"), [(0, 0), (MAX_JOINTS + 1, 0), (3, 2), (2, 3), (0, 2), (140, 0)]
)
def test_a_wrong_number_of_joints_is_rejected(positions: int, speeds: int) -> None:
    message = Action(joint_positions=[1.0] * positions, joint_velocities=[1.0] * speeds)
    assert _reason(message.SerializeToString()) is Reason.JOINT_COUNT


def test_a_receiver_that_knows_its_arm_rejects_another_number_of_joints() -> None:
    payload = encode_action(_setpoint())
    assert isinstance(decode_action(payload, "fr3", joint_count=2), Setpoint)
    assert _reason(payload, joint_count=6) is Reason.JOINT_COUNT


@pytest.mark.parametrize("payload", [b"\xff", b"\x1a\x30\x00", b"\x7a\x02\xff\xfe", b"\x0b" * 400])
def test_bytes_that_are_no_action_are_rejected(payload: bytes) -> None:
    assert _reason(payload) is Reason.MALFORMED_PROTOBUF


def test_a_field_of_a_later_version_is_ignored() -> None:
    payload = encode_action(_setpoint())
    assert decode_action(payload + b"\xa2\x06\x03new", "fr3") == decode_action(payload, "fr3")


def _with_rest(rest: str, **fields: Any) -> bytes:
    return Action(joint_positions=[1.0], rest_json=rest, **fields).SerializeToString()


@pytest.mark.parametrize(
    "rest",
    ["{", "{}x", '{"a":NaN}', '{"a":Infinity}', '{"a":1e999}', '{"a":"\\ud800"}', "[" * 900, "\x00"],
)
def test_a_rest_that_is_no_json_is_rejected(rest: str) -> None:
    assert _reason(_with_rest(rest)) is Reason.MALFORMED_JSON


@pytest.mark.parametrize(
    "rest",
    [
        "[]",
        "null",
        '"x"',
        "5",
        '{"joint_units":"radians"}',
        '{"joint_units":null}',
        '{"a":18446744073709551616}',
        '{"a":-9223372036854775809}',
        '{"a":' + "[" * MAX_JSON_DEPTH + "]" * MAX_JSON_DEPTH + "}",
        '{"a":' + "1" * 1000 + "}",
        '{"a":[' + ",".join("1" * 3000) + "]}",
    ],
)
def test_a_rest_out_of_bounds_is_rejected(rest: str) -> None:
    assert _reason(_with_rest(rest)) is Reason.BAD_REST


def test_a_rest_nested_past_the_interpreters_stack_is_rejected() -> None:
    assert _reason(_with_rest("[" * 100_000)) is Reason.MALFORMED_JSON


def test_a_rejections_detail_holds_none_of_the_input() -> None:
    answer = decode_action(_with_rest('{"sekrit":18446744073709551616}'), "fr3")
    assert isinstance(answer, Rejection)
    assert "sekrit" not in answer.detail


# The rest and the typed fields


def test_hot_keys_in_the_rest_lose_to_the_typed_fields_and_are_dropped() -> None:
    rest = dict.fromkeys(HOT_KEYS, "x") | {"note": 1, "joint_units": "degrees"}
    received = decode_action(_with_rest(json.dumps(rest), timestamp=4.0), "fr3")
    assert received == _setpoint(joints_deg=(1.0,), timestamp_s=4.0, extras={"note": 1})


def test_a_sender_leaves_hot_keys_out_of_the_rest() -> None:
    message = Action.FromString(encode_action(_setpoint(extras={"timestamp": 5, "note": 1})))
    assert msgspec.json.decode(message.rest_json) == {"note": 1}
    message = Action.FromString(encode_action(_setpoint(extras={"timestamp": 5})))
    assert message.rest_json == ""


def test_an_estop_counts_where_the_rest_asks_for_it() -> None:
    received = decode_action(_with_rest('{"emergency_stop":true}'), "fr3")
    assert isinstance(received, Setpoint)
    assert received.emergency_stop
    received = decode_action(_with_rest('{"emergency_stop":1}'), "fr3")
    assert isinstance(received, Setpoint)
    assert not received.emergency_stop


def test_of_two_equal_keys_the_last_counts() -> None:
    received = decode_action(_with_rest('{"a":1,"a":2}'), "fr3")
    assert isinstance(received, Setpoint)
    assert received.extras == {"a": 2}


# E-stops


@pytest.mark.parametrize(
    "fields",
    [
        {"joint_positions": []},
        {"joint_positions": [math.nan, 1.0]},
        {"joint_positions": [1.0] * 17},
        {"joint_positions": [1.0], "joint_velocities": [1.0, 2.0]},
        {"joint_positions": [1.0], "rest_json": "{"},
        {"joint_positions": [1.0], "rest_json": "[]"},
        {"joint_positions": [1.0, math.inf], "rest_json": '{"a":18446744073709551616}'},
    ],
)
def test_an_estop_is_never_refused_for_what_rides_along(fields: dict[str, Any]) -> None:
    message = Action(emergency_stop=True, episode_id=9, **fields)
    received = decode_action(message.SerializeToString(), "fr3", joint_count=1)
    assert isinstance(received, Setpoint)
    assert received.emergency_stop
    assert received.episode_id == 9
    assert all(map(math.isfinite, received.joints_deg))


def test_an_estop_keeps_what_of_it_is_sound() -> None:
    broken_rest = Action(emergency_stop=True, joint_positions=[1.0, 2.0], rest_json="{")
    received = decode_action(broken_rest.SerializeToString(), "fr3")
    assert received == _setpoint(timestamp_s=0.0, emergency_stop=True)
    broken_joints = Action(emergency_stop=True, joint_positions=[math.nan], rest_json='{"why":"button"}')
    received = decode_action(broken_joints.SerializeToString(), "fr3")
    assert received == _setpoint(
        timestamp_s=0.0, joints_deg=(), emergency_stop=True, extras={"why": "button"}
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"joints_deg": ()},
        {"joints_deg": (math.nan,)},
        {"joints_deg": (1.0,) * 17},
        {"extras": {"a": math.nan}},
        {"extras": {"a": object()}},
        {"extras": {"a": "x" * 5000}},
    ],
)
def test_a_sender_can_always_send_an_estop(fields: dict[str, Any]) -> None:
    payload = encode_action(_setpoint(emergency_stop=True, episode_id=9, **fields))
    assert len(payload) <= MAX_ESTOP_PAYLOAD_BYTES
    received = decode_action(payload, "fr3")
    assert isinstance(received, Setpoint)
    assert (received.emergency_stop, received.episode_id) == (True, 9)


def test_an_estop_of_the_largest_arm_fits() -> None:
    largest = _setpoint(
        emergency_stop=True,
        joints_deg=(1.1,) * MAX_JOINTS,
        joint_velocities_deg_s=(1.1,) * MAX_JOINTS,
        leader_timestamp_s=1.0,
        episode_id=MAX_EPISODE_ID,
        extras={"a": "x" * 1000},
    )
    received = decode_action(encode_action(largest), "fr3")
    assert received == msgspec.structs.replace(largest, extras={})


# What a sender is refused


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"joints_deg": (math.nan,)}, "non_finite_joint"),
        ({"joint_velocities_deg_s": (1.0, math.inf)}, "non_finite_joint"),
        ({"joints_deg": ()}, "joint_count 0 joints"),
        ({"joint_velocities_deg_s": (1.0,)}, "joint_count 1 speeds for 2 joints"),
        ({"extras": {"a": [math.nan]}}, r"bad_rest: non_finite at extras\.a\[0\]"),
        ({"extras": {"a": 1 << 64}}, "int_too_large"),
        ({"extras": {"joint_units": "radians"}}, "joint_units are not degrees"),
        ({"extras": {"a": "\ud800"}}, "bad_text"),
        ({"episode_id": -1}, "u64"),
        ({"episode_id": 1 << 64}, "u64"),
    ],
)
def test_a_sender_cannot_send_what_would_be_rejected(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UnsendableAction, match=message):
        encode_action(_setpoint(**fields))
