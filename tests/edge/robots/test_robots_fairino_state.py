"""Registers into a measured arm (document 003, return path, step 2)."""

import math
import struct

import pytest

from steadyhand.edge.robots.fairino.cnde_fields import FIELD_TYPES, OUR_RECIPES, Layout, WireType, parse_type
from steadyhand.edge.robots.fairino.codes import code_in_words, fault_in_words
from steadyhand.edge.robots.fairino.state import StateMapper
from steadyhand.edge.robots.reports import MeasuredState
from steadyhand.ground.robot_status import RobotStatus, VacuumState

JOINTS = (1.0, -2.0, 3.0, -4.0, 5.0, -6.0)
HEALTHY: dict[str, tuple[float, ...]] = {
    "robot_state": (1,),
    "motion_done": (1,),
    "rbt_enable_state": (1,),
    "actual_joint_pos": JOINTS,
    "actual_joint_vel": (0.5,) * 6,
    "actual_joint_torque": (7.0,) * 6,
    "last_servoJ_target": tuple(joint + 0.5 for joint in JOINTS),
    "target_joint_pos": tuple(joint + 0.25 for joint in JOINTS),
    "servoJ_cmd_num": (41,),
    "actual_TCP_pos": (100.0, 200.0, 300.0, 10.0, 20.0, 30.0),
    "std_DO_box": (0b0000_1000,),
    "cfg_DO_box": (0b0000_0010,),
}


def types_of(names: tuple[str, ...]) -> list[WireType]:
    return [wire_type for name in names if (wire_type := parse_type(FIELD_TYPES[name])) is not None]


def frame(names: tuple[str, ...] = OUR_RECIPES[0], /, **changed: float | tuple[float, ...]) -> bytes:
    """One payload: a healthy arm, but for what is changed."""
    values: list[float] = []
    for name, wire_type in zip(names, types_of(names), strict=True):
        value = changed.get(name, HEALTHY.get(name, (0,) * wire_type.count))
        values += value if isinstance(value, tuple) else (value,)
    return struct.pack("<" + "".join(wire_type.format for wire_type in types_of(names)), *values)


def mapper(n_joints: int = 6, names: tuple[str, ...] = OUR_RECIPES[0]) -> StateMapper:
    return StateMapper(Layout(names, types_of(names)), n_joints, (3, 9))


def read(**changed: float | tuple[float, ...]) -> MeasuredState:
    state = mapper().read(frame(**changed), 123)
    assert state is not None
    return state


def test_every_register_finds_its_place() -> None:
    state = read()
    assert state.arrival_ns == 123
    assert state.joints_deg == JOINTS
    assert state.speeds_deg_s == (0.5,) * 6
    assert state.efforts_nm == (7.0,) * 6
    assert state.accepted_target_deg == HEALTHY["last_servoJ_target"]
    assert state.commanded_deg == HEALTHY["target_joint_pos"]
    assert state.accepted_count == 41
    assert (state.tcp_position_mm, state.tcp_orientation_deg) == ((100.0, 200.0, 300.0), (10.0, 20.0, 30.0))
    assert (state.status, state.enabled, state.automatic) == (RobotStatus.IDLE, True, True)
    assert (state.fault_code, state.fault_sub_code, state.estop_pressed, state.safety_stop) == (
        0,
        0,
        False,
        False,
    )


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        (
            {"emergency_stop": 1, "main_code": 1, "safety_stop0_state": 1, "rbt_enable_state": 0},
            "emergency_stop",
        ),
        ({"main_code": 1, "safety_stop0_state": 1, "rbt_enable_state": 0}, "fault"),
        ({"safety_stop0_state": 1, "rbt_enable_state": 0}, "safety_stop"),
        ({"safety_stop1_state": 1}, "safety_stop"),
        ({"rbt_enable_state": 0, "robot_state": 2}, "disabled"),
        ({"robot_state": 2}, "moving"),
        ({"motion_done": 0}, "moving"),
        ({}, "idle"),
    ],
)
def test_the_most_severe_wins(changed: dict[str, float], status: str) -> None:
    assert read(**changed).status is RobotStatus(status)


@pytest.mark.parametrize("code", [2, 3, 255])
def test_only_emergency_stop_1_counts(code: int) -> None:
    """A quirk of the described classifier, kept: any other value falls through."""
    state = read(emergency_stop=code)
    assert not state.estop_pressed
    assert state.status is RobotStatus.IDLE


def test_outputs_are_demultiplexed() -> None:
    state = read()
    assert state.digital_outputs == 0b0000_0010_0000_1000
    assert state.vacuum is VacuumState.CONFLICT
    assert read(cfg_DO_box=0).vacuum is VacuumState.SUCTION
    assert read(std_DO_box=0).vacuum is VacuumState.BLOW_OFF
    assert read(std_DO_box=0, cfg_DO_box=0).vacuum is VacuumState.OFF


def test_joint_arrays_are_truncated_to_the_arms_joints() -> None:
    state = mapper(4).read(frame(), 0)
    assert state is not None
    assert state.joints_deg == JOINTS[:4]
    assert (len(state.speeds_deg_s), len(state.efforts_nm), len(state.accepted_target_deg or ())) == (4, 4, 4)


def test_a_firmware_without_the_optional_fields_is_read_without_them() -> None:
    names = OUR_RECIPES[1]
    state = mapper(names=names).read(frame(names), 0)
    assert state is not None
    assert (state.efforts_nm, state.commanded_deg, state.accepted_count) == ((), None, None)
    assert (state.tcp_position_mm, state.digital_outputs, state.vacuum) == (None, None, None)
    assert state.accepted_target_deg == HEALTHY["last_servoJ_target"]


def test_a_blank_frame_is_no_measurement_but_an_arm_at_zero_is() -> None:
    """The first-frame latch: a stream seeded from an all-zero packet would jump the arm."""
    one = mapper()
    assert one.read(b"\0" * len(frame()), 0) is None
    assert one.blank_frames == 1
    state = one.read(frame(actual_joint_pos=(0.0,) * 6), 0)
    assert state is not None
    assert state.joints_deg == (0.0,) * 6


def test_a_pose_that_is_not_finite_is_told_and_counted() -> None:
    one = mapper()
    state = one.read(frame(actual_joint_pos=(math.nan, *JOINTS[1:])), 0)
    assert state is not None
    assert not state.is_pose
    assert one.non_finite_frames == 1


def test_a_speed_that_is_not_a_number_is_the_fastest() -> None:
    assert read(actual_joint_vel=(0.0, -9.0, 1.0, 0.0, 0.0, 0.0)).fastest_joint_deg_s == 9.0
    assert math.isnan(read(actual_joint_vel=(9.0, math.nan, 1.0, 0.0, 0.0, 0.0)).fastest_joint_deg_s)


def test_a_frame_of_another_length_is_no_measurement() -> None:
    assert mapper().read(frame()[:-1], 0) is None


@pytest.mark.parametrize(
    ("name", "wire_type"),
    [
        ("main_code", WireType("d", 1)),
        ("main_code", WireType("i", 2)),
        ("actual_joint_pos", WireType("d", 5)),
        ("last_servoJ_target", WireType("d", 3)),
    ],
)
def test_a_layout_that_cannot_describe_the_arm_is_refused_by_field(name: str, wire_type: WireType) -> None:
    names = OUR_RECIPES[1]
    types = [wire_type if one == name else known for one, known in zip(names, types_of(names), strict=True)]
    with pytest.raises(ValueError, match=name):
        StateMapper(Layout(names, types), 6)


def test_codes_are_said_in_words() -> None:
    assert code_in_words(101) == "101 (not enabled, or still becoming so)"
    assert code_in_words(-7).startswith("-7 (not in the vendor")
    assert fault_in_words(0, 0) == ""
    assert fault_in_words(1, 25) == "1/25 (axis 3 is commanded too fast)"
    assert fault_in_words(1, 32) == "1/32 (the tool is commanded too fast)"
    assert fault_in_words(9, 32) == "9/32 (see the teach pendant)"
