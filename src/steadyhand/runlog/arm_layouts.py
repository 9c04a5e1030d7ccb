"""The three outputs of a tick, and the shaped setpoint beside them, in fixed layouts.

Every tick writes all three, in the order state, reference, command; what a tick does not have has a
count of 0 (document 002 §3, R16). Joints are f64 degrees.
"""

import math
import struct
from enum import IntEnum
from functools import cache
from typing import Final

import msgspec

from steadyhand.core.follower.outputs import FrameKind, Released, SendJoints
from steadyhand.ground.measured_arm import MeasuredArm
from steadyhand.ground.robot_state import MAX_JOINTS
from steadyhand.runlog.codec import FixedCodec
from steadyhand.runlog.faults import (
    CountBeyondBounds,
    NonFiniteValue,
    PayloadTruncated,
    TrailingBytes,
    UnknownCode,
)

_COUNT: Final = struct.Struct("<I")
_STATE: Final = struct.Struct("<IqiiBBB")
_RELEASED: Final = struct.Struct("<IqqqBB")
_COMMAND: Final = struct.Struct("<IqBB")

_PRESSED: Final = 1
_ENABLED: Final = 2
_NOTHING: Final = _COUNT.pack(0)


class CommandKind(IntEnum):
    """What a frame on the wire is."""

    FRESH = 0
    """A received setpoint, shaped."""
    HOLD = 1
    """The last target again."""
    SYNTHETIC = 2
    """A setpoint that the buffer made (R1)."""
    SYNCHRONOUS = 3
    """Made by the tick itself from no setpoint at all: the braking of a soft stop."""


KIND_OF_FRAME: Final = {
    FrameKind.FRESH: CommandKind.FRESH,
    FrameKind.HOLD: CommandKind.HOLD,
    FrameKind.SYNTHETIC: CommandKind.SYNTHETIC,
    FrameKind.BRAKE: CommandKind.SYNCHRONOUS,
}
"""The core's word for it, and the log's."""

_FRAME_OF_CODE: Final = {int(code): frame for frame, code in KIND_OF_FRAME.items()}
_RELEASED_CODES: Final = (CommandKind.FRESH, CommandKind.SYNTHETIC)


class StateOut(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The measured state that a tick decided on. The controller's numbers, whatever they are (NaN too).

    Attributes:
        arrival_ns: when the frame arrived.
        joints_deg: measured pose, shape (n_joints,).
        speeds_deg_s: shape (n_joints,), or empty where none are reported.
        fault_code: main fault code.
        fault_sub_code: its sub code.
        estop_pressed: the e-stop input.
        enabled: the drives are on.
    """

    arrival_ns: int
    joints_deg: tuple[float, ...]
    speeds_deg_s: tuple[float, ...] = ()
    fault_code: int = 0
    fault_sub_code: int = 0
    estop_pressed: bool = False
    enabled: bool = True

    @classmethod
    def of(cls, measured: MeasuredArm) -> "StateOut":
        """What of a measured frame is an output; the whole frame is on the input channel."""
        return cls(
            arrival_ns=measured.arrival_ns,
            joints_deg=measured.joints_deg,
            speeds_deg_s=measured.speeds_deg_s,
            fault_code=measured.fault_code,
            fault_sub_code=measured.fault_sub_code,
            estop_pressed=measured.estop_pressed,
            enabled=measured.enabled,
        )


# ---- channel 16


def _write_state(state: StateOut | None) -> bytes:
    if state is None:
        return _NOTHING
    flags = _PRESSED * state.estop_pressed + _ENABLED * state.enabled
    joints, speeds = state.joints_deg, state.speeds_deg_s
    head = _STATE.pack(
        1, state.arrival_ns, state.fault_code, state.fault_sub_code, flags, len(joints), len(speeds)
    )
    return head + _numbers(len(joints) + len(speeds)).pack(*joints, *speeds)


def _read_state(payload: bytes) -> StateOut | None:
    if not _is_one(payload, _STATE.size):
        return None
    _, arrival_ns, fault, sub, flags, joints, speeds = _STATE.unpack_from(payload)
    if flags & ~(_PRESSED | _ENABLED):
        raise UnknownCode(f"unknown flags {flags:#x}")
    if not 1 <= joints <= MAX_JOINTS or speeds not in (0, joints):
        raise CountBeyondBounds(f"{joints} joints and {speeds} speeds")
    values = _values(payload, _STATE.size, joints + speeds)
    return StateOut(
        arrival_ns=arrival_ns,
        joints_deg=values[:joints],
        speeds_deg_s=values[joints:],
        fault_code=fault,
        fault_sub_code=sub,
        estop_pressed=bool(flags & _PRESSED),
        enabled=bool(flags & _ENABLED),
    )


# ---- channel 18


def _write_released(released: Released | None) -> bytes:
    if released is None:
        return _NOTHING
    joints = released.target_deg
    kind = KIND_OF_FRAME[released.kind]
    head = _RELEASED.pack(1, released.released_ns, released.arrived_ns, released.seq, kind, len(joints))
    return head + _numbers(len(joints)).pack(*joints)


def _read_released(payload: bytes) -> Released | None:
    if not _is_one(payload, _RELEASED.size):
        return None
    _, released_ns, arrived_ns, seq, kind, joints = _RELEASED.unpack_from(payload)
    if kind not in _RELEASED_CODES:
        raise UnknownCode(f"a released setpoint is of no kind {kind}")
    target_deg = _finite(_values(payload, _RELEASED.size, _joint_count(joints)))
    return Released(seq, _FRAME_OF_CODE[kind], target_deg, arrived_ns, released_ns)


# ---- channels 17 and 19


def _write_command(command: SendJoints | None) -> bytes:
    if command is None:
        return _NOTHING
    joints = command.joints_deg
    head = _COMMAND.pack(1, command.seq, KIND_OF_FRAME[command.kind], len(joints))
    return head + _numbers(len(joints)).pack(*joints)


def _read_command(payload: bytes) -> SendJoints | None:
    if not _is_one(payload, _COMMAND.size):
        return None
    _, seq, kind, joints = _COMMAND.unpack_from(payload)
    frame = _FRAME_OF_CODE.get(kind)
    if frame is None:
        raise UnknownCode(f"a command is of no kind {kind}")
    joints_deg = _finite(_values(payload, _COMMAND.size, _joint_count(joints)))
    return SendJoints(joints_deg, seq, frame)


# ---- small steps


@cache
def _numbers(count: int) -> struct.Struct:
    return struct.Struct(f"<{count}d")


def _is_one(payload: bytes, head_bytes: int) -> bool:
    """Whether the payload has a value; it has none, whole, or one whose head is there."""
    if len(payload) < _COUNT.size:
        raise PayloadTruncated("no room for a count")
    count: int = _COUNT.unpack_from(payload)[0]
    if count > 1:
        raise CountBeyondBounds(f"count {count} in one tick, at most 1")
    if count == 0 and len(payload) > _COUNT.size:
        raise TrailingBytes(f"{len(payload) - _COUNT.size} bytes behind a count of 0")
    if count == 1 and len(payload) < head_bytes:
        raise PayloadTruncated(f"{len(payload)} bytes, its head has {head_bytes}")
    return count == 1


def _joint_count(count: int) -> int:
    if not 1 <= count <= MAX_JOINTS:
        raise CountBeyondBounds(f"{count} joints, 1 to {MAX_JOINTS} are possible")
    return count


def _values(payload: bytes, at: int, count: int) -> tuple[float, ...]:
    """All that is left of the payload: exactly so many numbers."""
    wanted = at + 8 * count
    if len(payload) < wanted:
        raise PayloadTruncated(f"{len(payload)} bytes of {wanted}")
    if len(payload) > wanted:
        raise TrailingBytes(f"{len(payload) - wanted} bytes behind the last joint")
    return _numbers(count).unpack_from(payload, at)


def _finite(values: tuple[float, ...]) -> tuple[float, ...]:
    if not all(map(math.isfinite, values)):
        raise NonFiniteValue("a joint is not a finite number")
    return values


# ---- the codecs

_JOINTS: Final = "joints × f64 °"
_KINDS: Final = {kind.name.lower(): int(kind) for kind in CommandKind}

STATE: Final = FixedCodec[StateOut | None](
    {
        "fields": ["count u32, 0 or 1", "arrival_ns i64", "fault_code i32", "fault_sub_code i32",
                   "flags u8", "joints u8", "speeds u8, 0 or joints", _JOINTS, "speeds × f64 °/s"],
        "flags": {"estop_pressed": _PRESSED, "enabled": _ENABLED},
    },
    _write_state,
    _read_state,
)  # fmt: skip
"""Channel 16: the measured state a tick decided on; None before the first frame."""

RELEASED: Final = FixedCodec[Released | None](
    {
        "fields": ["count u32, 0 or 1", "released_ns i64", "arrived_ns i64", "seq i64", "kind u8",
                   "joints u8", _JOINTS],
        "kind": {"fresh": 0, "synthetic": 2},
    },
    _write_released,
    _read_released,
)  # fmt: skip
"""Channel 18: the arm's reference, the setpoint that the buffer let go; None in a tick that held."""

COMMAND: Final = FixedCodec[SendJoints | None](
    {"fields": ["count u32, 0 or 1", "seq i64", "kind u8", "joints u8", _JOINTS], "kind": _KINDS},
    _write_command,
    _read_command,
)
"""Channel 17: the frame for the wire; None in a tick that wrote none. Channel 19 likewise."""
