"""The robot state: what the bus, the telemetry and an action's dictionary carry.

One shape serves three uses (document 003): the leader's pose as published on `action.{id}`, the
action rebuilt at the robot, and the measured pose on `state.{id}`. `docs/wire.md` fixes the field
names for other languages. Numbers are degrees although `units` says "radians": that legacy field
keeps its legacy value, and `joint_units` tells the truth beside it ("The wire and who may speak").
"""

import math
from enum import StrEnum
from typing import Any, Final

import msgspec

from steadyhand.ground.json_values import refuse_unsendable
from steadyhand.ground.robot_status import RobotStatus, VacuumState

LEGACY_UNITS: Final = "radians"
JOINT_UNITS: Final = "degrees"

#: Joints of the largest arm described plus its external axes: a bound against hostile input.
MAX_JOINTS: Final = 16
#: UTF-8 bytes of a robot's name; what the frame header has room to spend on it.
MAX_ROBOT_ID_BYTES: Final = 64
_MAX_CODE: Final = (1 << 31) - 1
#: Episodes are u64 on the wire.
MAX_EPISODE_ID: Final = (1 << 64) - 1
_MAX_OUTPUTS: Final = (1 << 16) - 1

Vector3 = tuple[float, float, float]


class RobotState(msgspec.Struct, frozen=True, kw_only=True):
    """One pose of one arm, commanded or measured.

    Attributes:
        joint_positions: shape (n_joints,), degrees. Empty only beside `emergency_stop`.
        timestamp: when this was built, seconds of the building host's clock. May be non-finite
            where it came off the wire: that verdict is the playout buffer's (document 000 §4).
        robot_id: the arm it belongs to.
        leader_timestamp: when the leader's device was read, seconds of that host; None if never.
        joint_velocities: shape (n_joints,) or empty, °/s.
        joint_efforts: shape (n_joints,) or empty, Nm.
        tcp_position_mm: tool centre point in the base frame, x y z, millimetres.
        tcp_orientation_deg: its fixed-axis rotations rx ry rz, degrees.
        status: the arm in one word, the most severe that applies.
        emergency_stop: as an action, asks for an emergency stop; as a state, says it is stopped.
        episode_id: which emergency (R11); 0 for none or unnamed.
        error_code: the controller's main fault code, 0 for none.
        error_sub_code: its sub code.
        digital_outputs: sixteen outputs as bits, DO0 in bit 0, CO0 in bit 8.
        vacuum: the vacuum valves, demultiplexed from the outputs.
        gripper_position_pct: 0 closed, 100 open.
        safety: the envelope's report, by guard name.
        extras: free-form rest; `extras["playout"]` is the buffer's health and
            `extras["playout_interpolated"]` tags a synthetic setpoint.
    """

    joint_positions: tuple[float, ...]
    timestamp: float
    robot_id: str = ""
    leader_timestamp: float | None = None
    joint_velocities: tuple[float, ...] = ()
    joint_efforts: tuple[float, ...] = ()
    tcp_position_mm: Vector3 | None = None
    tcp_orientation_deg: Vector3 | None = None
    status: RobotStatus = RobotStatus.UNKNOWN
    emergency_stop: bool = False
    episode_id: int = 0
    error_code: int = 0
    error_sub_code: int = 0
    digital_outputs: int | None = None
    vacuum: VacuumState | None = None
    gripper_position_pct: float | None = None
    safety: dict[str, Any] = msgspec.field(default_factory=dict)
    extras: dict[str, Any] = msgspec.field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The dictionary of the bus and the telemetry: the described fields, in a fixed order.

        The twelve common keys are always there, the sparse ones only where they say something:
        a telemetry frame has 1232 bytes for everything.
        """
        return {
            "robot_id": self.robot_id,
            "timestamp": self.timestamp,
            "leader_timestamp": self.leader_timestamp,
            "joint_positions": list(self.joint_positions),
            "joint_velocities": list(self.joint_velocities),
            "joint_efforts": list(self.joint_efforts),
            "units": LEGACY_UNITS,
            "joint_units": JOINT_UNITS,
            "status": self.status.value,
            "emergency_stop": self.emergency_stop,
            **_said(self),
            "safety": self.safety,
            "extras": self.extras,
        }

    @staticmethod
    def from_dict(value: Any) -> "RobotState | StateRejection":
        """Read the described dictionary; any value at all gets a state or a typed rejection.

        A key that no field knows is kept: it moves into `extras`, over a key of the same name
        there, so that a newer sender's field, or a tag put beside the fields, is not lost.
        `units` is not read (it is known to lie); `joint_units` other than "degrees" is refused,
        since the numbers would be misread by a factor of 57.
        """
        return _read(value)


#: Fields written only where they differ from their default, which stands beside them.
_SPARSE_DEFAULTS: Final[dict[str, int | None]] = {
    "episode_id": 0,
    "tcp_position_mm": None,
    "tcp_orientation_deg": None,
    "error_code": 0,
    "error_sub_code": 0,
    "digital_outputs": None,
    "vacuum": None,
    "gripper_position_pct": None,
}
_KNOWN_KEYS: Final = frozenset(RobotState.__struct_fields__) | {"units", "joint_units"}
#: What travels in typed fields of the action's protobuf or in the frame's header; `units` and
#: `joint_units` are constants of the format. None of them is ever read out of the free-form rest.
HOT_KEYS: Final = frozenset(
    {
        "robot_id",
        "timestamp",
        "leader_timestamp",
        "joint_positions",
        "joint_velocities",
        "emergency_stop",
        "episode_id",
        "units",
        "joint_units",
    }
)


def _said(state: RobotState) -> dict[str, Any]:
    """The sparse fields of `state` that say something, as JSON values."""
    said: dict[str, Any] = {}
    for name, default in _SPARSE_DEFAULTS.items():
        value = getattr(state, name)
        if value != default:
            said[name] = list(value) if isinstance(value, tuple) else value
    if state.vacuum is not None:
        said["vacuum"] = state.vacuum.value
    return said


class StateFault(StrEnum):
    """Why a value is not a robot state."""

    NOT_AN_OBJECT = "not_an_object"
    WRONG_TYPE = "wrong_type"
    WRONG_COUNT = "wrong_count"
    WRONG_UNITS = "wrong_units"
    NON_FINITE = "non_finite"
    OUT_OF_RANGE = "out_of_range"
    BAD_NAME = "bad_name"
    BAD_REST = "bad_rest"


class StateRejection(msgspec.Struct, frozen=True):
    """A typed refusal: the fault, and what it was found in."""

    fault: StateFault
    detail: str = ""


def _read(value: Any) -> RobotState | StateRejection:
    """`RobotState.from_dict`, below the tables it reads by."""
    if not isinstance(value, dict):
        return StateRejection(StateFault.NOT_AN_OBJECT, type(value).__name__)
    if not claims_degrees(value):
        return StateRejection(StateFault.WRONG_UNITS, "joint_units")
    unknown = {key: item for key, item in value.items() if key not in _KNOWN_KEYS}
    if unknown:
        value = _lift_into_extras(value, unknown)
    try:
        state = msgspec.convert(value, RobotState)
    except msgspec.ValidationError as error:
        return StateRejection(StateFault.WRONG_TYPE, str(error))
    return _first_fault(state) or state


def claims_degrees(value: dict[Any, Any]) -> bool:
    """Tell whether a dictionary leaves its joint units unsaid or says degrees."""
    return bool(value.get("joint_units", JOINT_UNITS) == JOINT_UNITS)


def _lift_into_extras(value: dict[Any, Any], unknown: dict[Any, Any]) -> dict[Any, Any]:
    """Move `unknown` keys into `extras`; an `extras` that is no object is left to be refused."""
    extras = value.get("extras", {})
    known = {key: item for key, item in value.items() if key not in unknown}
    return {**known, "extras": {**extras, **unknown}} if isinstance(extras, dict) else known


def _first_fault(state: RobotState) -> StateRejection | None:
    """Finiteness first, then counts, ranges and the free-form parts."""
    for check in (_refuse_non_finite, _refuse_counts, _refuse_ranges, _refuse_rest):
        refused = check(state)
        if refused is not None:
            return refused
    return None


def _refuse_non_finite(state: RobotState) -> StateRejection | None:
    """Every number is finite but the two stamps, whose verdict is the playout buffer's."""
    for name in (
        "joint_positions",
        "joint_velocities",
        "joint_efforts",
        "tcp_position_mm",
        "tcp_orientation_deg",
    ):
        if not all(map(math.isfinite, getattr(state, name) or ())):
            return StateRejection(StateFault.NON_FINITE, name)
    if state.gripper_position_pct is not None and not math.isfinite(state.gripper_position_pct):
        return StateRejection(StateFault.NON_FINITE, "gripper_position_pct")
    return None


def _refuse_counts(state: RobotState) -> StateRejection | None:
    """1 to MAX_JOINTS joints, none only beside an e-stop; velocities and efforts as many or none."""
    joints = len(state.joint_positions)
    if joints > MAX_JOINTS or (joints == 0 and not state.emergency_stop):
        return StateRejection(StateFault.WRONG_COUNT, f"joint_positions: {joints}")
    for name in ("joint_velocities", "joint_efforts"):
        count = len(getattr(state, name))
        if count not in (0, joints):
            return StateRejection(StateFault.WRONG_COUNT, f"{name}: {count} for {joints} joints")
    return None


def _refuse_ranges(state: RobotState) -> StateRejection | None:
    """Integers fit the width that every reader has for them; the name is short and printable."""
    for name, low, high in (
        ("episode_id", 0, MAX_EPISODE_ID),
        ("error_code", -_MAX_CODE - 1, _MAX_CODE),
        ("error_sub_code", -_MAX_CODE - 1, _MAX_CODE),
        ("digital_outputs", 0, _MAX_OUTPUTS),
    ):
        if not low <= (getattr(state, name) or 0) <= high:
            return StateRejection(StateFault.OUT_OF_RANGE, name)
    if state.robot_id and not is_robot_id(state.robot_id):
        return StateRejection(StateFault.BAD_NAME, "robot_id")
    return None


def _refuse_rest(state: RobotState) -> StateRejection | None:
    """`safety` and `extras` are sendable, bounded JSON (`ground.json_values`)."""
    for name in ("safety", "extras"):
        refusal = refuse_unsendable(getattr(state, name), name, depth=1)
        if refusal is not None:
            return StateRejection(StateFault.BAD_REST, str(refusal))
    return None


def is_robot_id(name: str) -> bool:
    """Tell whether `name` can name a robot: printable, 1 to MAX_ROBOT_ID_BYTES bytes of UTF-8.

    Printable, because names reach log lines and pages, and a line feed would forge a line.
    """
    return bool(name) and name.isprintable() and len(name.encode()) <= MAX_ROBOT_ID_BYTES


def rest_of(state: RobotState) -> dict[str, Any]:
    """The state's dictionary less `HOT_KEYS` and less what is at its default."""
    rest = _said(state)
    rest.pop("episode_id", None)
    if state.joint_efforts:
        rest["joint_efforts"] = list(state.joint_efforts)
    if state.status is not RobotStatus.UNKNOWN:
        rest["status"] = state.status.value
    if state.safety:
        rest["safety"] = state.safety
    if state.extras:
        rest["extras"] = state.extras
    return rest
