"""One word for the state of the arm, and its outputs told apart."""

import pytest

from steadyhand.ground.robot_status import (
    RobotStatus,
    VacuumState,
    classify_status,
    demux_vacuum,
    join_outputs,
    most_severe,
)


def test_the_most_severe_status_wins() -> None:
    assert most_severe([RobotStatus.IDLE, RobotStatus.FAULT, RobotStatus.MOVING]) is RobotStatus.FAULT
    assert most_severe(list(RobotStatus)) is RobotStatus.EMERGENCY_STOP
    assert most_severe([RobotStatus.IDLE, RobotStatus.UNKNOWN]) is RobotStatus.UNKNOWN
    assert most_severe([]) is RobotStatus.UNKNOWN


@pytest.mark.parametrize(
    ("registers", "status"),
    [
        ((1, 14, True, False, True), RobotStatus.EMERGENCY_STOP),
        ((0, 14, True, False, True), RobotStatus.FAULT),
        ((0, 0, True, False, True), RobotStatus.SAFETY_STOP),
        ((0, 0, False, False, True), RobotStatus.DISABLED),
        ((0, 0, False, True, True), RobotStatus.MOVING),
        ((0, 0, False, True, False), RobotStatus.IDLE),
    ],
)
def test_registers_classify_most_severe_first(
    registers: tuple[int, int, bool, bool, bool], status: RobotStatus
) -> None:
    estop, error, safety, enabled, moving = registers
    assert status is classify_status(
        emergency_stop_code=estop, error_code=error, safety_stop=safety, enabled=enabled, moving=moving
    )


@pytest.mark.parametrize("code", [2, 255, -1])
def test_only_an_estop_code_of_one_counts_as_an_emergency_stop(code: int) -> None:
    status = classify_status(
        emergency_stop_code=code, error_code=0, safety_stop=False, enabled=True, moving=False
    )
    assert status is RobotStatus.IDLE


def test_outputs_join_with_the_configurable_byte_above() -> None:
    assert join_outputs(0x01, 0x80) == 0x8001
    assert join_outputs(0x1FF, 0x100) == 0x00FF


@pytest.mark.parametrize(
    ("outputs", "state"),
    [
        (0x0000, VacuumState.OFF),
        (0x0004, VacuumState.SUCTION),
        (0x0100, VacuumState.BLOW_OFF),
        (0x0104, VacuumState.CONFLICT),
        (0xFEFB, VacuumState.OFF),
    ],
)
def test_vacuum_is_demultiplexed_over_both_output_bytes(outputs: int, state: VacuumState) -> None:
    assert demux_vacuum(outputs, suction_bit=2, blow_off_bit=8) is state
