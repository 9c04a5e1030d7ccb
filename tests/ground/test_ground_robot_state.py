"""The robot state, its dictionary, and the setpoint it commands."""

import json
import math
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steadyhand.ground.action_dict import setpoint_from_dict, setpoint_from_state, state_from_setpoint
from steadyhand.ground.json_values import refuse_unsendable
from steadyhand.ground.robot_state import (
    HOT_KEYS,
    MAX_EPISODE_ID,
    MAX_JOINTS,
    MAX_ROBOT_ID_BYTES,
    RobotState,
    StateFault,
    StateRejection,
    is_robot_id,
)
from steadyhand.ground.robot_status import RobotStatus, VacuumState
from steadyhand.ground.setpoint import Setpoint

calm = settings(
    deadline=None, derandomize=True, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)

MINIMAL = {"timestamp": 1.0, "joint_positions": [1.0, 2.0]}

finite = st.floats(allow_nan=False, allow_infinity=False)
json_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 64) - 1)
    | finite
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
)
json_values = st.recursive(
    json_scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
).filter(lambda value: refuse_unsendable(value, "", depth=2) is None)
objects = st.dictionaries(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6), json_values, max_size=3
)
triples = st.none() | st.tuples(finite, finite, finite)


@st.composite
def states(draw: st.DrawFn) -> RobotState:
    """Any state that its own reader accepts."""
    joints = draw(st.integers(1, MAX_JOINTS))

    def vector(*, optional: bool) -> tuple[float, ...]:
        count = draw(st.sampled_from((0, joints))) if optional else joints
        return tuple(draw(st.lists(finite, min_size=count, max_size=count)))

    return RobotState(
        joint_positions=vector(optional=False),
        timestamp=draw(finite),
        robot_id=draw(st.sampled_from(("", "fr3", "größe", "x" * MAX_ROBOT_ID_BYTES))),
        leader_timestamp=draw(st.none() | finite),
        joint_velocities=vector(optional=True),
        joint_efforts=vector(optional=True),
        tcp_position_mm=draw(triples),
        tcp_orientation_deg=draw(triples),
        status=draw(st.sampled_from(RobotStatus)),
        emergency_stop=draw(st.booleans()),
        episode_id=draw(st.integers(0, MAX_EPISODE_ID)),
        error_code=draw(st.integers(-(1 << 31), (1 << 31) - 1)),
        error_sub_code=draw(st.integers(-(1 << 31), (1 << 31) - 1)),
        digital_outputs=draw(st.none() | st.integers(0, 0xFFFF)),
        vacuum=draw(st.none() | st.sampled_from(VacuumState)),
        gripper_position_pct=draw(st.none() | finite),
        safety=draw(objects),
        extras=draw(objects),
    )


def _read(value: Any) -> RobotState:
    state = RobotState.from_dict(value)
    assert isinstance(state, RobotState), state
    return state


def _refused(value: Any) -> StateFault:
    rejection = RobotState.from_dict(value)
    assert isinstance(rejection, StateRejection), rejection
    return rejection.fault


# to_dict and from_dict


@calm
@given(states())
def test_a_state_comes_back_from_its_dictionary(state: RobotState) -> None:
    assert RobotState.from_dict(state.to_dict()) == state


@calm
@given(states())
def test_the_dictionary_is_plain_json(state: RobotState) -> None:
    value = state.to_dict()
    assert json.loads(json.dumps(value, allow_nan=False)) == value
    assert msgspec.json.decode(msgspec.json.encode(value)) == value


def test_the_common_keys_are_always_there_in_this_order() -> None:
    assert list(RobotState(joint_positions=(1.0,), timestamp=1.0).to_dict()) == [
        "robot_id",
        "timestamp",
        "leader_timestamp",
        "joint_positions",
        "joint_velocities",
        "joint_efforts",
        "units",
        "joint_units",
        "status",
        "emergency_stop",
        "safety",
        "extras",
    ]


def test_sparse_keys_are_there_where_they_say_something() -> None:
    state = RobotState(
        joint_positions=(1.0,),
        timestamp=1.0,
        gripper_position_pct=0.0,
        digital_outputs=0,
        vacuum=VacuumState.OFF,
        error_code=14,
    )
    value = state.to_dict()
    assert value["gripper_position_pct"] == 0.0
    assert value["digital_outputs"] == 0
    assert value["vacuum"] == "off"
    assert type(value["vacuum"]) is str
    assert value["error_code"] == 14
    assert "error_sub_code" not in value
    assert "tcp_position_mm" not in value


def test_units_keeps_its_legacy_lie_and_joint_units_tells_the_truth() -> None:
    value = RobotState(joint_positions=(90.0,), timestamp=1.0).to_dict()
    assert value["units"] == "radians"
    assert value["joint_units"] == "degrees"


def test_the_lying_units_field_is_not_read_and_the_true_one_is() -> None:
    assert _read({**MINIMAL, "units": "degrees"}) == _read(MINIMAL)
    assert _read({**MINIMAL, "units": 5}) == _read(MINIMAL)
    assert _read({**MINIMAL, "joint_units": "degrees"}) == _read(MINIMAL)
    assert _refused({**MINIMAL, "joint_units": "radians"}) is StateFault.WRONG_UNITS


def test_two_keys_are_enough_for_a_state() -> None:
    state = _read(MINIMAL)
    assert state == RobotState(joint_positions=(1.0, 2.0), timestamp=1.0)
    assert state.status is RobotStatus.UNKNOWN


def test_whole_numbers_are_numbers() -> None:
    assert _read({"timestamp": 1, "joint_positions": [1, 2]}) == _read(MINIMAL)


def test_a_key_that_no_field_knows_is_kept_in_extras() -> None:
    assert _read({**MINIMAL, "hops": [1], "extras": {"a": 1}}).extras == {"a": 1, "hops": [1]}


def test_a_tag_beside_the_fields_wins_over_one_inside_extras() -> None:
    value = {**MINIMAL, "playout_interpolated": True, "extras": {"playout_interpolated": False}}
    assert _read(value).extras == {"playout_interpolated": True}


@pytest.mark.parametrize("key", ["timestamp", "leader_timestamp"])
def test_a_non_finite_stamp_is_a_value(key: str) -> None:
    assert math.isnan(getattr(_read({**MINIMAL, key: math.nan}), key))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("key", ["joint_positions", "joint_velocities", "joint_efforts"])
def test_a_non_finite_joint_is_refused(key: str, bad: float) -> None:
    assert _refused({**MINIMAL, key: [1.0, bad]}) is StateFault.NON_FINITE


@pytest.mark.parametrize(
    "part",
    [
        {"tcp_position_mm": [1.0, 2.0, math.nan]},
        {"tcp_orientation_deg": [math.inf, 2.0, 3.0]},
        {"gripper_position_pct": math.nan},
    ],
)
def test_a_non_finite_pose_or_gripper_is_refused(part: dict[str, Any]) -> None:
    assert _refused({**MINIMAL, **part}) is StateFault.NON_FINITE


@pytest.mark.parametrize(
    ("part", "fault"),
    [
        ({"joint_positions": []}, StateFault.WRONG_COUNT),
        ({"joint_positions": [0.0] * (MAX_JOINTS + 1)}, StateFault.WRONG_COUNT),
        ({"joint_velocities": [1.0]}, StateFault.WRONG_COUNT),
        ({"joint_efforts": [1.0] * 3}, StateFault.WRONG_COUNT),
        ({"joint_positions": "12"}, StateFault.WRONG_TYPE),
        ({"joint_positions": [True, 1.0]}, StateFault.WRONG_TYPE),
        ({"joint_positions": [10**400, 1.0]}, StateFault.WRONG_TYPE),
        ({"timestamp": "now"}, StateFault.WRONG_TYPE),
        ({"timestamp": None}, StateFault.WRONG_TYPE),
        ({"emergency_stop": 1}, StateFault.WRONG_TYPE),
        ({"status": "asleep"}, StateFault.WRONG_TYPE),
        ({"vacuum": True}, StateFault.WRONG_TYPE),
        ({"tcp_position_mm": [1.0, 2.0]}, StateFault.WRONG_TYPE),
        ({"safety": []}, StateFault.WRONG_TYPE),
        ({"extras": None}, StateFault.WRONG_TYPE),
        ({"extras": 5, "unknown": 1}, StateFault.WRONG_TYPE),
        ({1: 2}, StateFault.WRONG_TYPE),
        ({"episode_id": -1}, StateFault.OUT_OF_RANGE),
        ({"episode_id": 1 << 64}, StateFault.OUT_OF_RANGE),
        ({"error_code": 1 << 31}, StateFault.OUT_OF_RANGE),
        ({"error_sub_code": -(1 << 31) - 1}, StateFault.OUT_OF_RANGE),
        ({"digital_outputs": 1 << 16}, StateFault.OUT_OF_RANGE),
        ({"robot_id": "a\nb"}, StateFault.BAD_NAME),
        ({"robot_id": "x" * 65}, StateFault.BAD_NAME),
        ({"robot_id": "\ud800"}, StateFault.BAD_NAME),
        ({"extras": {"a": math.nan}}, StateFault.BAD_REST),
        ({"extras": {"a": 1 << 64}}, StateFault.BAD_REST),
        ({"safety": {"a": "\ud800"}}, StateFault.BAD_REST),
        ({"unknown": object()}, StateFault.BAD_REST),
        ({"joint_units": []}, StateFault.WRONG_UNITS),
    ],
)
def test_what_is_no_state_is_refused_by_name(part: dict[Any, Any], fault: StateFault) -> None:
    assert _refused({**MINIMAL, **part}) is fault


@pytest.mark.parametrize("value", [None, 5, "x", [], [MINIMAL], b"{}", 1.5])
def test_what_is_no_object_is_refused(value: Any) -> None:
    assert _refused(value) is StateFault.NOT_AN_OBJECT


@pytest.mark.parametrize("key", list(MINIMAL))
def test_a_missing_required_key_is_refused(key: str) -> None:
    assert _refused({k: v for k, v in MINIMAL.items() if k != key}) is StateFault.WRONG_TYPE


def test_no_joints_are_no_fault_beside_an_estop() -> None:
    assert _read({"timestamp": 1.0, "joint_positions": [], "emergency_stop": True}).emergency_stop


any_json: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from((*RobotState.__struct_fields__, "units", "joint_units")) | st.text(max_size=3),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@calm
@given(any_json)
def test_any_value_gets_a_state_or_a_typed_rejection(value: Any) -> None:
    assert isinstance(RobotState.from_dict(value), RobotState | StateRejection)
    assert isinstance(setpoint_from_dict(value), Setpoint | StateRejection)


@calm
@given(states(), st.dictionaries(st.sampled_from(RobotState.__struct_fields__), any_json, max_size=2))
def test_a_state_with_a_part_replaced_gets_a_state_or_a_typed_rejection(
    state: RobotState, part: dict[str, Any]
) -> None:
    answer = RobotState.from_dict({**state.to_dict(), **part})
    if isinstance(answer, RobotState) and math.isfinite(answer.timestamp):
        assert repr(RobotState.from_dict(answer.to_dict())) == repr(answer)


# Names


@pytest.mark.parametrize("name", ["fr3", "größe", "x" * MAX_ROBOT_ID_BYTES, "a b"])
def test_printable_names_are_robot_ids(name: str) -> None:
    assert is_robot_id(name)


@pytest.mark.parametrize("name", ["", "a\n", "a\x00", "\x1b[2J", "x" * 65, "ö" * 33, "\ud800"])
def test_empty_long_and_unprintable_names_are_not(name: str) -> None:
    assert not is_robot_id(name)


# Setpoints


@calm
@given(states())
def test_a_state_comes_back_from_the_setpoint_it_commands(state: RobotState) -> None:
    assert state_from_setpoint(setpoint_from_state(state)) == state


@calm
@given(states())
def test_an_actions_dictionary_is_the_setpoint_of_its_state(state: RobotState) -> None:
    assert setpoint_from_dict(state.to_dict()) == setpoint_from_state(state)


@calm
@given(states())
def test_a_setpoints_extras_hold_no_hot_key(state: RobotState) -> None:
    assert HOT_KEYS.isdisjoint(setpoint_from_state(state).extras)


def test_typed_fields_are_laid_over_the_rest() -> None:
    setpoint = Setpoint(
        joints_deg=(1.0,),
        timestamp_s=2.0,
        robot_id="fr3",
        extras={"timestamp": "x", "joint_positions": [9.0], "robot_id": "fr20", "error_code": 3},
    )
    state = state_from_setpoint(setpoint)
    assert state == RobotState(joint_positions=(1.0,), timestamp=2.0, robot_id="fr3", error_code=3)


def test_extras_in_other_units_are_refused() -> None:
    setpoint = Setpoint(joints_deg=(1.0,), timestamp_s=2.0, extras={"joint_units": "radians"})
    answer = state_from_setpoint(setpoint)
    assert isinstance(answer, StateRejection)
    assert answer.fault is StateFault.WRONG_UNITS


def test_the_playout_tag_lands_in_the_states_extras() -> None:
    tagged = Setpoint(joints_deg=(1.0,), timestamp_s=2.0, extras={"playout_interpolated": True})
    state = state_from_setpoint(tagged)
    assert isinstance(state, RobotState)
    assert state.to_dict()["extras"] == {"playout_interpolated": True}


def test_extras_that_no_state_can_hold_are_refused_by_name() -> None:
    setpoint = Setpoint(joints_deg=(1.0,), timestamp_s=2.0, extras={"status": "asleep"})
    answer = state_from_setpoint(setpoint)
    assert isinstance(answer, StateRejection)
    assert answer.fault is StateFault.WRONG_TYPE


@pytest.mark.parametrize(
    "part",
    [
        {},
        {"joint_positions": [math.nan]},
        {"joint_positions": "x", "timestamp": "y"},
        {"extras": {"a": math.inf}},
        {"joint_units": "radians"},
    ],
)
def test_an_estop_is_never_refused_for_what_rides_along(part: dict[str, Any]) -> None:
    value = {"emergency_stop": True, "robot_id": "fr3", "episode_id": 9, **part}
    setpoint = setpoint_from_dict(value)
    assert isinstance(setpoint, Setpoint)
    assert setpoint.emergency_stop
    assert setpoint.joints_deg == ()
    assert (setpoint.robot_id, setpoint.episode_id) == ("fr3", 9)


def test_an_estop_keeps_of_who_and_which_what_can_be_read() -> None:
    value = {"emergency_stop": True, "robot_id": 5, "episode_id": -1, "timestamp": 7.0}
    assert setpoint_from_dict(value) == Setpoint(joints_deg=(), timestamp_s=7.0, emergency_stop=True)


def test_a_truthy_estop_that_is_not_true_is_no_estop() -> None:
    assert isinstance(setpoint_from_dict({"emergency_stop": 1}), StateRejection)
