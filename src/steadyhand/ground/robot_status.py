"""What a controller says about itself, folded into one word, and its outputs told apart.

Both are the vendor-neutral half of reading a state (document 003, return path, step 2); which
registers they are read from belongs to the driver.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final


class RobotStatus(StrEnum):
    """The state of the arm in one word. Declared from the most severe to the least."""

    EMERGENCY_STOP = "emergency_stop"
    FAULT = "fault"
    SAFETY_STOP = "safety_stop"
    DISABLED = "disabled"
    #: Nothing has been read yet: more worrying than an arm that is known to stand or to move.
    UNKNOWN = "unknown"
    MOVING = "moving"
    IDLE = "idle"


_SEVERITY: Final = {status: rank for rank, status in enumerate(RobotStatus)}

#: The only value of the controller's e-stop register that counts as an emergency stop.
EMERGENCY_STOP_CODE: Final = 1


def most_severe(statuses: Iterable[RobotStatus]) -> RobotStatus:
    """The most severe of several statuses wins; of none, UNKNOWN."""
    return min(statuses, key=_SEVERITY.__getitem__, default=RobotStatus.UNKNOWN)


def classify_status(
    *, emergency_stop_code: int, error_code: int, safety_stop: bool, enabled: bool, moving: bool
) -> RobotStatus:
    """Classify a controller's registers, most severe first.

    Only `emergency_stop_code == 1` counts as an emergency stop; any other non-zero value falls
    through to the rules below it (document 003: a quirk of the described classifier, kept).

    Args:
        emergency_stop_code: the controller's e-stop register.
        error_code: main fault code, 0 where there is none.
        safety_stop: a safety input (light curtain, protective stop) holds the arm.
        enabled: the drives are on.
        moving: the controller reports motion.
    """
    if emergency_stop_code == EMERGENCY_STOP_CODE:
        return RobotStatus.EMERGENCY_STOP
    if error_code != 0:
        return RobotStatus.FAULT
    if safety_stop:
        return RobotStatus.SAFETY_STOP
    if not enabled:
        return RobotStatus.DISABLED
    return RobotStatus.MOVING if moving else RobotStatus.IDLE


class VacuumState(StrEnum):
    """What a vacuum gripper is told to do by its two valves."""

    OFF = "off"
    SUCTION = "suction"
    BLOW_OFF = "blow_off"
    #: Both valves at once: a wiring or programming mistake that is shown, not resolved.
    CONFLICT = "conflict"


def join_outputs(standard_byte: int, configurable_byte: int) -> int:
    """Join a controller's two output bytes: DO0–DO7 in bits 0–7, CO0–CO7 in bits 8–15."""
    return (standard_byte & 0xFF) | (configurable_byte & 0xFF) << 8


def demux_vacuum(digital_outputs: int, *, suction_bit: int, blow_off_bit: int) -> VacuumState:
    """Read the vacuum's state off its two bits among the joined outputs (`join_outputs`).

    Args:
        digital_outputs: sixteen outputs, DO0 in bit 0, CO0 in bit 8.
        suction_bit: number of the bit that opens the suction valve, 0–15.
        blow_off_bit: number of the bit that opens the blow-off valve, 0–15.
    """
    suction = bool(digital_outputs >> suction_bit & 1)
    blow_off = bool(digital_outputs >> blow_off_bit & 1)
    if suction and blow_off:
        return VacuumState.CONFLICT
    if suction:
        return VacuumState.SUCTION
    return VacuumState.BLOW_OFF if blow_off else VacuumState.OFF
