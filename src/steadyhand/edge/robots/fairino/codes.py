"""The vendor's numbers in words: return codes of calls, and faults of the state feed.

Two namespaces that share digits and nothing else. Return codes: the SDK manual's `errcode.rst`, and
document 001 for 31 and 101, which it does not list. Faults: the CNDE table `cmd_point_error`; that
main code 1 stands for that table is inferred, not documented (R10).
"""

from typing import Final

RETURN_CODES: Final[dict[int, str]] = {
    0: "done",
    3: "wrong number of parameters",
    4: "a parameter is out of range or not a number",
    14: "execution failed: the controller is in a fault, or not ready for this call",
    18: "a robot program is running; stop it first",
    28: "inverse kinematics failed",
    29: "ServoJ: a joint is outside its range",
    30: "a fault that only switching the control box off and on clears",
    31: "the e-stop button was pressed; release it and switch the control box off and on",
    32: "a joint is over its limit",
    38: "singular pose",
    64: "not taken into the instruction queue",
    99: "a safety stop input is active",
    101: "not enabled, or still becoming so",
    112: "the pose cannot be reached",
}

MAIN_COMMAND_POINT: Final = 1

_COMMAND_POINT: Final[dict[int, str]] = {
    17: "a joint command is out of its limit",
    20: "commanded too fast in Cartesian space",
    22: "a jog is out of its limit",
    **{22 + axis: f"axis {axis} is commanded too fast" for axis in range(1, 7)},
    29: "a joint moves too fast",
    30: "a joint is too far from its command",
    32: "the tool is commanded too fast",
    33: "the next command changes the arm's configuration",
    34: "the command changes the arm's configuration",
    37: "a point of the trajectory cannot be reached",
}


def code_in_words(code: int) -> str:
    """What a return code means, with its number."""
    return f"{code} ({RETURN_CODES.get(code, 'not in the vendor’s table')})"


def fault_in_words(main_code: int, sub_code: int) -> str:
    """What a fault means, with its numbers; "" for none."""
    if main_code == 0:
        return ""
    known = _COMMAND_POINT.get(sub_code) if main_code == MAIN_COMMAND_POINT else None
    return f"{main_code}/{sub_code} ({known or 'see the teach pendant'})"
