"""The fields of the state feed: names and wire types, the vendor's default recipe, and ours.

Names and types: the vendor's CNDE tables and the state table of its Python SDK (commit 2e2c6c2). A
recipe is a list of names; the feed packs their values in that order, little-endian, without padding.
"""

import struct
from collections.abc import Sequence
from typing import Final

import msgspec

_CODES: Final = {
    "UINT8": "B",
    "INT8": "b",
    "UINT16": "H",
    "INT16": "h",
    "INT32": "i",
    "UINT32": "I",
    "UINT64": "Q",
    "FLOAT": "f",
    "DOUBLE": "d",
}
MAX_ELEMENTS: Final = 512
"""Elements of one array field: more than any the vendor describes (a file name of 256 bytes)."""


class WireType(msgspec.Struct, frozen=True):
    """The type of one field: a `struct` code and how many of it."""

    code: str
    count: int

    @property
    def format(self) -> str:
        """For `struct`, without byte order."""
        return f"{self.count}{self.code}"


def parse_type(text: str) -> WireType | None:
    """Read a type's name, "UINT8" or "DOUBLE_6"; None where it is none."""
    base, _, count_text = text.strip().partition("_")
    code = _CODES.get(base)
    if code is None:
        return None
    if not count_text:
        return WireType(code, 1)
    count = int(count_text) if count_text.isascii() and count_text.isdigit() and len(count_text) < 4 else 0
    return WireType(code, count) if 0 < count <= MAX_ELEMENTS else None


_TABLE: Final = {
    "UINT8": """
        program_state robot_state robot_mode cfg_DO_box std_DO_box cfg_DO_tool cfg_DI_box std_DI_box
        cfg_DI_tool ft_sensor_active emergency_stop gripper_motion_done collision_state
        safety_stop0_state safety_stop1_state gripper_fault_id gripper_position rotating_gripper_speed
        rotating_gripper_tor weld_break_off_state weld_arc_state abnormal_stop prog_total_line
        tpd_exception alarm_reboot_robot modbus_master_connect modbus_slave_connect
        btn_box_stop_signal drag_alarm safety_door_alarm safety_plane_alarm motion_alarm
        interfere_alarm weld_ready_state alarm_check_emerg_stop_btn ts_tm_cmd_com_error
        ts_tm_state_com_error safety_data_state force_sensor_err_state strange_pos_flag alarm dr_alarm
        socket_conn_timeout socket_read_timeout ts_web_state_com_err alive_slave_num_error
        cmd_point_error IO_error gripper_error file_error para_error exaxis_out_slimit_error dr_err
        out_sflimit_err exaxis_coord_id""",
    "INT32": """
        main_code sub_code tool_id wobj_id motion_done motion_queue_len trajectory_pnum gripper_fault
        gripper_active gripper_speed gripper_current gripper_temp gripper_voltage rbt_enable_state
        software_upgrade_state end_lua_err_code wide_voltage_ctrl_box_fan_current servoJ_cmd_num
        line_number udp_cmd_state ctrl_box_error""",
    "DOUBLE_6": """
        actual_joint_pos actual_TCP_pos actual_flange_pos actual_joint_vel actual_joint_acc
        target_TCP_vel actual_TCP_vel actual_joint_torque ft_sensor_raw_data ft_sensor_data
        joint_driver_torque actual_joint_temp target_joint_torque tool_coord wobj_coord exTool_coord
        exAxis_coord last_servoJ_target target_joint_pos target_joint_vel target_joint_acc
        target_joint_current actual_joint_current actual_TCP_force target_TCP_pos""",
    "DOUBLE": """
        std_AI0_box std_AI1_box std_AI_tool std_AO0_box std_AO1_box std_AO_tool rotating_gripper_num
        wide_voltage_ctrl_box_temp payload speed_scaling_man speed_scaling_auto welding_voltage
        welding_current welding_track_speed run_up_time""",
    "DOUBLE_2": "target_TCP_cmpvel actual_TCP_cmpvel",
    "DOUBLE_3": "pay_cog",
    "UINT8_4": "ctrl_open_lua_errcode",
    "UINT8_6": "collision_level safety_box_signal dr_com_err",
    "UINT8_8": "slave_com_error",
    "UINT8_16": "ext_DI_state ext_DO_state",
    "UINT8_25": "aux_axis_state",
    "UINT8_116": "exaxis_status",
    "UINT8_130": "axle_gen_com_data",
    "UINT8_256": "cur_lua_file_name",
    "INT32_4": "ext_AI_state ext_AO_state",
    "INT32_7": "robot_time",
    "UINT32": "smarttool_state",
    "UINT64": "timestamp_us",
}

FIELD_TYPES: Final[dict[str, str]] = {
    name: wire_type for wire_type, names in _TABLE.items() for name in names.split()
}
"""Type of every field the firmware is known to grant. `frame_cnt` is not among them: the FR firmware
refuses it (document 003)."""

_VENDOR_NAMES: Final = """
    program_state robot_state main_code sub_code robot_mode actual_joint_pos actual_TCP_pos
    actual_flange_pos actual_joint_vel actual_joint_acc target_TCP_cmpvel target_TCP_vel
    actual_TCP_cmpvel actual_TCP_vel actual_joint_torque tool_id wobj_id cfg_DO_box std_DO_box
    cfg_DO_tool cfg_DI_box std_DI_box cfg_DI_tool std_AI0_box std_AI1_box std_AI_tool
    ft_sensor_raw_data ft_sensor_data ft_sensor_active emergency_stop motion_done
    gripper_motion_done motion_queue_len collision_state trajectory_pnum safety_stop0_state
    safety_stop1_state gripper_fault_id gripper_fault gripper_active gripper_position gripper_speed
    gripper_current gripper_temp gripper_voltage aux_axis_state exaxis_status ext_DI_state
    ext_DO_state ext_AI_state ext_AO_state rbt_enable_state joint_driver_torque actual_joint_temp
    robot_time software_upgrade_state end_lua_err_code std_AO0_box std_AO1_box std_AO_tool
    rotating_gripper_num rotating_gripper_speed rotating_gripper_tor weld_break_off_state
    weld_arc_state target_joint_torque smarttool_state wide_voltage_ctrl_box_temp
    wide_voltage_ctrl_box_fan_current tool_coord wobj_coord exTool_coord exAxis_coord payload pay_cog
    last_servoJ_target"""

VENDOR_RECIPE: Final[tuple[str, ...]] = tuple(_VENDOR_NAMES.split())
"""What the vendor's SDK asks for unless told otherwise: 1318 bytes, every 8 ms."""

REQUIRED_FIELDS: Final[tuple[str, ...]] = (
    "robot_state",
    "main_code",
    "sub_code",
    "robot_mode",
    "actual_joint_pos",
    "actual_joint_vel",
    "emergency_stop",
    "motion_done",
    "safety_stop0_state",
    "safety_stop1_state",
    "rbt_enable_state",
    "last_servoJ_target",
)
"""Without these no arm is driven. All are of the vendor's default recipe."""

OPTIONAL_FIELDS: Final[tuple[str, ...]] = (
    "std_DO_box",
    "cfg_DO_box",
    "actual_TCP_pos",
    "actual_joint_torque",
    "servoJ_cmd_num",
    "target_joint_pos",
)
"""Asked for first, left out where a firmware does not know them."""

OUR_RECIPES: Final = (REQUIRED_FIELDS + OPTIONAL_FIELDS, REQUIRED_FIELDS)
PERIOD_MS: Final = 8


class Layout:
    """Where the granted fields lie in a data frame.

    Args:
        names: the recipe.
        types: their types, as the controller answered them.
    """

    def __init__(self, names: Sequence[str], types: Sequence[WireType]) -> None:
        self.names = tuple(names)
        self._struct = struct.Struct("<" + "".join(wire_type.format for wire_type in types))
        self._slices: dict[str, slice] = {}
        self._codes = {name: wire_type.code for name, wire_type in zip(names, types, strict=True)}
        start = 0
        for name, wire_type in zip(names, types, strict=True):
            self._slices[name] = slice(start, start + wire_type.count)
            start += wire_type.count

    @property
    def size_bytes(self) -> int:
        """Bytes of a data frame's payload."""
        return self._struct.size

    def count_of(self, name: str) -> int:
        """How many values a field has; 0 where it was not granted."""
        at = self._slices.get(name)
        return 0 if at is None else at.stop - at.start

    def is_whole(self, name: str) -> bool:
        """Whether a field's values are whole numbers, as a register's are."""
        return self._codes.get(name, "d") not in ("d", "f")

    def slice_of(self, name: str) -> slice:
        """Where a field's values are among the unpacked ones; empty where it was not granted."""
        return self._slices.get(name, slice(0, 0))

    def unpack(self, payload: bytes) -> tuple[float, ...] | None:
        """All values of a payload in one row; None where its length is not the layout's."""
        return self._struct.unpack(payload) if len(payload) == self._struct.size else None
