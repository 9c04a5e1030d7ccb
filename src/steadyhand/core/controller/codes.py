"""The vendor's numbers: what a call returns, and what a fault is called.

Two namespaces that share digits and nothing else. A *return code* answers one call (the SDK manual's
`errcode.rst`); a *fault* is a main and a sub code in the state frame (the CNDE tables,
`cmd_point_error`). Return code 32 is a joint over its limit; sub code 32 is the tool over its speed.
"""

from enum import IntEnum
from typing import Final

MAIN_OK: Final = 0
MAIN_COMMAND_POINT: Final = 1
"""Main code of every fault of a commanded point: what the campaign read beside sub code 32."""

SUB_OK: Final = 0
SUB_AXIS_1_COMMAND_SPEED: Final = 23
"""23 to 28: the command speed of axis 1 to 6 exceeds its limit."""
SUB_TCP_SPEED: Final = 32
"""Tool over its speed, by the vendor's table; and what every runaway of document 001 showed (R10)."""


class ReturnCode(IntEnum):
    """What the controller answers a call with."""

    OK = 0
    BAD_VALUE = 4
    """A parameter out of range or not a number."""
    EXECUTION_FAILED = 14
    """The controller is in a fault, or not ready for this call."""
    SERVOJ_OUT_OF_RANGE = 29
    """The setpoint lies outside a joint's range."""
    ESTOP = 31
    """The e-stop button was pressed; the control box must be power-cycled."""
    NOT_ENABLED = 101
    """Disabled, or still inside the enable window."""


def sub_axis_speed(axis: int) -> int:
    """Sub code of axis `axis` (counted from 0) commanded too fast."""
    return SUB_AXIS_1_COMMAND_SPEED + axis
