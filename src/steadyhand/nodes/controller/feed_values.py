"""What the fields of the state feed say. A field the model knows nothing of is zero."""

import struct
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

import msgspec

from steadyhand.core.controller.state import ControllerState
from steadyhand.edge.robots.fairino.cnde import MAX_DATA_BYTES
from steadyhand.edge.robots.fairino.cnde_fields import FIELD_TYPES, WireType, parse_type
from steadyhand.nodes.controller.box import ControlBox

STOPPED: Final = 1
RUNNING: Final = 2
_INT32: Final = 0x7FFFFFFF

Values = tuple[float, ...]


class Snapshot(msgspec.Struct, frozen=True):
    """One instant of the box."""

    state: ControllerState
    tool: Values
    outputs: int
    wall: datetime


def take_snapshot(box: ControlBox) -> Snapshot:
    """What a state frame made now is made of."""
    state = box.state()
    return Snapshot(state, box.tool_pose(state.joints_deg), box.digital_outputs, datetime.now())


def _moving(snapshot: Snapshot) -> Values:
    return (STOPPED if snapshot.state.motion_done else RUNNING,)


def _robot_time(snapshot: Snapshot) -> Values:
    wall = snapshot.wall
    return (wall.year, wall.month, wall.day, wall.hour, wall.minute, wall.second, wall.microsecond // 1000)


FIELDS: Final[dict[str, Callable[[Snapshot], Values]]] = {
    "program_state": lambda snapshot: (STOPPED,),
    "robot_state": _moving,
    "robot_mode": lambda snapshot: (snapshot.state.robot_mode,),
    "main_code": lambda snapshot: (snapshot.state.main_code,),
    "sub_code": lambda snapshot: (snapshot.state.sub_code,),
    "cmd_point_error": lambda snapshot: (snapshot.state.sub_code,),
    "actual_joint_pos": lambda snapshot: snapshot.state.joints_deg,
    "actual_joint_vel": lambda snapshot: snapshot.state.joint_velocities_deg_s,
    "actual_TCP_pos": lambda snapshot: snapshot.tool,
    "actual_flange_pos": lambda snapshot: snapshot.tool,
    "cfg_DO_box": lambda snapshot: (snapshot.outputs >> 8,),
    "std_DO_box": lambda snapshot: (snapshot.outputs & 0xFF,),
    "emergency_stop": lambda snapshot: (snapshot.state.emergency_stop,),
    "btn_box_stop_signal": lambda snapshot: (snapshot.state.emergency_stop,),
    # 1: release the button and switch the control box off and on.
    "alarm_reboot_robot": lambda snapshot: (snapshot.state.emergency_stop,),
    "motion_done": lambda snapshot: (snapshot.state.motion_done,),
    "motion_queue_len": lambda snapshot: (snapshot.state.motion_queue_len,),
    "rbt_enable_state": lambda snapshot: (snapshot.state.enabled,),
    "last_servoJ_target": lambda snapshot: snapshot.state.last_servoj_target_deg,
    "servoJ_cmd_num": lambda snapshot: (snapshot.state.servoj_cmd_num & _INT32,),
    # Where the controller wants the joints now: the model's arm is always exactly there.
    "target_joint_pos": lambda snapshot: snapshot.state.joints_deg,
    "target_joint_vel": lambda snapshot: snapshot.state.joint_velocities_deg_s,
    "speed_scaling_man": lambda snapshot: (100.0,),
    "speed_scaling_auto": lambda snapshot: (100.0,),
    "robot_time": _robot_time,
    "timestamp_us": lambda snapshot: (int(snapshot.wall.timestamp() * 1e6),),
}


class Refused(msgspec.Struct, frozen=True):
    """A recipe the controller does not grant; `reason` is what it answers."""

    reason: str


class Recipe:
    """A granted list of names, ready to pack.

    Args:
        names: known names.
        types: their types.
    """

    def __init__(self, names: Sequence[str], types: Sequence[WireType]) -> None:
        self.names = tuple(names)
        self.type_names = ",".join(FIELD_TYPES[name] for name in names)
        self._struct = struct.Struct("<" + "".join(wire_type.format for wire_type in types))
        self._zeros = [(0,) * wire_type.count for wire_type in types]

    @property
    def size_bytes(self) -> int:
        """Bytes of one payload."""
        return self._struct.size

    def pack(self, snapshot: Snapshot) -> bytes:
        """One payload, the values in the order they were asked for."""
        values: list[float] = []
        for name, zeros in zip(self.names, self._zeros, strict=True):
            read = FIELDS.get(name)
            values += zeros if read is None else read(snapshot)
        return self._struct.pack(*values)


def grant(names: Sequence[str]) -> Recipe | Refused:
    """Look a list of names up, as the controller does on a configuration."""
    unknown = next((name for name in names if name not in FIELD_TYPES), None)
    if unknown is not None:
        return Refused(f"{unknown[:64]} NOT_FOUND" if unknown else "NOT_FOUND")
    types = [wire_type for name in names if (wire_type := parse_type(FIELD_TYPES[name])) is not None]
    recipe = Recipe(names, types)
    if recipe.size_bytes > MAX_DATA_BYTES:
        return Refused(f"{recipe.size_bytes} bytes are more than {MAX_DATA_BYTES}")
    return recipe
