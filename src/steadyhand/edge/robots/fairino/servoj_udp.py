"""UDP port 20007: setpoints as text, one command per frame (vendor SDK, `linux/fairino/Robot.py`).

    /f/bIII{n}III{command}III{length}III{content}III/b/f

n counts frames from 0 and wraps after 65535; the command is 376 for ServoJ, 689 and 690 for the start
and the end of a stream. Nothing is answered and nothing is repeated: a datagram is a setpoint, or lost.
"""

import math
import re
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Final

import msgspec

COUNT_MODULUS: Final = 65536
MAX_DATAGRAM_BYTES: Final = 4096
MAX_FRAMES: Final = 32
"""Frames read out of one datagram; what comes after them is counted as bad."""

_SEPARATOR: Final = "III"
_N_JOINTS: Final = 6
_N_EXTERNAL: Final = 4
_N_ARGUMENTS: Final = _N_JOINTS + _N_EXTERNAL + 6
_EXTERNAL_AXES: Final = "0.000000," * _N_EXTERNAL
_FRAME: Final = re.compile(rb"/f/bIII(\d{1,5})III(\d{1,5})III(\d{1,5})III([^\x00]*?)III/b/f")
_CALL: Final = re.compile(r"(\w{1,32})\((.*)\)", re.DOTALL)


class Command(IntEnum):
    """The commands of this port that a setpoint stream needs."""

    SERVO_J = 376
    SERVO_MOVE_START = 689
    SERVO_MOVE_END = 690


Encoder = Callable[[int], bytes]
"""Makes a frame of its number."""


def encode(count: int, command: Command, content: str) -> bytes:
    """Frame one command."""
    return f"/f/bIII{count}III{command.value}III{len(content)}III{content}III/b/f".encode("ascii")


def encode_start(count: int) -> bytes:
    """ServoMoveStart: setpoints follow."""
    return encode(count, Command.SERVO_MOVE_START, "ServoMoveStart()")


def encode_end(count: int) -> bytes:
    """ServoMoveEnd: none follow."""
    return encode(count, Command.SERVO_MOVE_END, "ServoMoveEnd()")


def encode_servo_j(count: int, joints_deg: Sequence[float], *, period_s: float, frame_id: int = 0) -> bytes:
    """ServoJ: one setpoint.

    Six decimals, as the vendor's C++ SDK writes; its Python SDK writes four. Rounding is noise on the
    acceleration, four times half a unit of the last place over cmdT²: with four decimals ±2 °/s² at
    10 ms and ±200 °/s² at 1 ms, with six a hundredth of that. More would be longer than anything the
    controller is known to have read.

    Args:
        count: the frame's number.
        joints_deg: shape (up to 6,), finite; missing joints are written as zero.
        period_s: cmdT. The controller computes joint speed as step / cmdT, so it must be the period
            the setpoints were made for, never the measured one (document 003, step 9).
        frame_id: echoed by the controller, otherwise unused.
    """
    joints = [*joints_deg, *(0.0,) * (_N_JOINTS - len(joints_deg))]
    numbers = ",".join([f"{joint:.6f}" for joint in joints])
    # acc, vel, cmdT, filterT, gain: only cmdT is open to users of the vendor's interface.
    options = f"0.000000,0.000000,{period_s:.6f},0.000000,0.000000,{frame_id}"
    return encode(count, Command.SERVO_J, f"ServoJ({numbers},{_EXTERNAL_AXES}{options})")


class ServoJ(msgspec.Struct, frozen=True, kw_only=True):
    """A decoded setpoint. Values may be out of range or not finite: the controller judges them."""

    joints_deg: tuple[float, ...]
    period_s: float
    frame_id: int = 0


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """A decoded frame.

    Attributes:
        count: the sender's number.
        command: which.
        setpoint: of a ServoJ, else None.
    """

    count: int
    command: Command
    setpoint: ServoJ | None = None


class BadFrame(msgspec.Struct, frozen=True):
    """What arrived is no frame, or no command of ours."""

    reason: str


def decode(datagram: bytes) -> list[Frame | BadFrame]:
    """Every frame of one datagram, in order; any bytes at all get an answer, never an exception."""
    if len(datagram) > MAX_DATAGRAM_BYTES:
        return [BadFrame("longer than any command")]
    frames: list[Frame | BadFrame] = []
    end = 0
    for match in _FRAME.finditer(datagram):
        if len(frames) == MAX_FRAMES or match.start() != end:
            break
        end = match.end()
        frames.append(_decode_one(*match.groups()))
    if end != len(datagram):
        frames.append(BadFrame("not framed"))
    return frames


def _decode_one(count: bytes, command: bytes, length: bytes, content: bytes) -> Frame | BadFrame:
    if int(length) != len(content):
        return BadFrame("the stated length is not the content's")
    number = int(count)
    if number >= COUNT_MODULUS:
        return BadFrame("the frame's number is beyond 65535")
    try:
        known = Command(int(command))
        call = _CALL.fullmatch(content.decode("ascii"))
    except ValueError:
        return BadFrame("not a command of this port")
    if call is None or call[1] != _NAMES[known]:
        return BadFrame("the content is not the command's call")
    if known is not Command.SERVO_J:
        return Frame(count=number, command=known) if not call[2].strip() else BadFrame("too many arguments")
    setpoint = _decode_servo_j(call[2])
    return (
        setpoint if isinstance(setpoint, BadFrame) else Frame(count=number, command=known, setpoint=setpoint)
    )


_NAMES: Final = {
    Command.SERVO_J: "ServoJ",
    Command.SERVO_MOVE_START: "ServoMoveStart",
    Command.SERVO_MOVE_END: "ServoMoveEnd",
}


def _decode_servo_j(arguments: str) -> ServoJ | BadFrame:
    texts = arguments.split(",")
    # float() also reads 1_0, which no controller does.
    if len(texts) != _N_ARGUMENTS or "_" in arguments:
        return BadFrame("ServoJ takes 16 arguments")
    try:
        values = [float(text) for text in texts]
    except ValueError:
        return BadFrame("an argument of ServoJ is not a number")
    frame_id = values[-1]
    period_s = values[_N_JOINTS + _N_EXTERNAL + 2]
    return ServoJ(
        joints_deg=tuple(values[:_N_JOINTS]),
        period_s=period_s,
        frame_id=int(frame_id) if math.isfinite(frame_id) and abs(frame_id) < 2**31 else 0,
    )
