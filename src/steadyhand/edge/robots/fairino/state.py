"""From the registers of a state frame to a measured arm (document 003, return path, step 2)."""

from typing import Final

from steadyhand.edge.robots.fairino.cnde_fields import Layout
from steadyhand.edge.robots.reports import MeasuredState
from steadyhand.ground.robot_status import (
    EMERGENCY_STOP_CODE,
    VacuumState,
    classify_status,
    demux_vacuum,
    join_outputs,
)

ROBOT_STATE_RUNNING: Final = 2
AUTOMATIC_MODE: Final = 0

_REGISTERS: Final = (
    "robot_state",
    "main_code",
    "sub_code",
    "robot_mode",
    "emergency_stop",
    "motion_done",
    "safety_stop0_state",
    "safety_stop1_state",
    "rbt_enable_state",
)


class StateMapper:
    """Reads data frames of one layout. Plain slices into the unpacked row; nothing is searched for.

    Joint arrays are six wide on the wire and are truncated to the arm's joints.

    Args:
        layout: what was granted.
        n_joints: of the arm.
        vacuum_bits: which outputs open suction and blow-off, counted as in `join_outputs`; None
            where there is no such gripper.

    Raises:
        ValueError: the layout cannot describe this arm; the message says which field.
    """

    def __init__(self, layout: Layout, n_joints: int, vacuum_bits: tuple[int, int] | None = None) -> None:
        for name in _REGISTERS:
            if layout.count_of(name) != 1 or not layout.is_whole(name):
                raise ValueError(f"the state feed grants no usable {name}")
        for name in ("actual_joint_pos", "actual_joint_vel", "last_servoJ_target"):
            if layout.count_of(name) < n_joints:
                raise ValueError(f"the state feed has {layout.count_of(name)} of {n_joints} joints in {name}")
        self.blank_frames = 0
        self.non_finite_frames = 0
        self._layout = layout
        self._vacuum_bits = vacuum_bits
        self._register_at = [layout.slice_of(name).start for name in _REGISTERS]
        self._joints = _first(layout.slice_of("actual_joint_pos"), n_joints)
        self._speeds = _first(layout.slice_of("actual_joint_vel"), n_joints)
        self._accepted = _first(layout.slice_of("last_servoJ_target"), n_joints)
        self._efforts = _first(layout.slice_of("actual_joint_torque"), n_joints)
        self._commanded = _first(layout.slice_of("target_joint_pos"), n_joints)
        self._tool = layout.slice_of("actual_TCP_pos")
        self._standard = self._optional_register("std_DO_box")
        self._configurable = self._optional_register("cfg_DO_box")
        self._count = self._optional_register("servoJ_cmd_num")

    def _optional_register(self, name: str) -> slice:
        """Where it is, if it was granted as one whole number; nowhere otherwise."""
        usable = self._layout.count_of(name) == 1 and self._layout.is_whole(name)
        return self._layout.slice_of(name) if usable else slice(0, 0)

    def read(self, payload: bytes, arrival_ns: int) -> MeasuredState | None:
        """The measured arm of one frame; None where the frame is blank or of another length.

        A blank frame, every byte zero, is what a controller sends before it knows where its arm is: a
        stream seeded from it would jump the arm (document 003, the first-frame latch). An arm that
        stands at zero is not blank: its `robot_state` is never 0.
        """
        row = self._layout.unpack(payload)
        if row is None:
            return None
        if not any(payload):
            self.blank_frames += 1
            return None
        registers = [int(row[at]) for at in self._register_at]
        running, main_code, sub_code, mode, estop_code, motion_done, stop0, stop1, enable = registers
        standard, configurable = row[self._standard], row[self._configurable]
        outputs = join_outputs(int(standard[0]), int(configurable[0])) if standard and configurable else None
        tool = row[self._tool]
        count = row[self._count]
        safety_stop = bool(stop0 == 1 or stop1 == 1)
        state = MeasuredState(
            arrival_ns=arrival_ns,
            joints_deg=row[self._joints],
            speeds_deg_s=row[self._speeds],
            status=classify_status(
                emergency_stop_code=estop_code,
                error_code=main_code,
                safety_stop=safety_stop,
                enabled=enable == 1,
                moving=running == ROBOT_STATE_RUNNING or motion_done == 0,
            ),
            fault_code=main_code,
            fault_sub_code=sub_code,
            estop_pressed=estop_code == EMERGENCY_STOP_CODE,
            enabled=enable == 1,
            digital_outputs=outputs,
            vacuum=self._vacuum(outputs),
            tcp_position_mm=tool[:3] if len(tool) == 6 else None,
            tcp_orientation_deg=tool[3:] if len(tool) == 6 else None,
            efforts_nm=row[self._efforts],
            safety_stop=safety_stop,
            automatic=mode == AUTOMATIC_MODE,
            accepted_target_deg=row[self._accepted],
            accepted_count=int(count[0]) if count else None,
            commanded_deg=row[self._commanded] or None,
        )
        self.non_finite_frames += not state.is_pose
        return state

    def _vacuum(self, outputs: int | None) -> VacuumState | None:
        if outputs is None or self._vacuum_bits is None:
            return None
        suction_bit, blow_off_bit = self._vacuum_bits
        return demux_vacuum(outputs, suction_bit=suction_bit, blow_off_bit=blow_off_bit)


def _first(whole: slice, n_joints: int) -> slice:
    """The first joints of an array; nothing of one that was not granted or is too short."""
    count = whole.stop - whole.start
    return slice(whole.start, whole.start + n_joints) if count >= n_joints else slice(0, 0)
