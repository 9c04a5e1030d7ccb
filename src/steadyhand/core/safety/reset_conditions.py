"""What stands against a reset (R10): each cause by name, so that the operator knows what to clear.

A reset that succeeds with the e-stop still pressed is a known failure of other stacks: the arm is
reported ready, and moves when the button is turned out.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from steadyhand.ground.stamps import NS_PER_MS, ms_from_ns

AT_REST_DEG_S: Final = 0.5
"""Slower than this a measured joint stands: encoder noise, not motion."""
OLDEST_FRAME_NS: Final = 300 * NS_PER_MS
"""An older measured frame says nothing about now, neither that the button is out nor that the arm stands."""


class ResetConditions(msgspec.Struct, frozen=True, kw_only=True):
    """The arm at the moment of the reset, as the newest measured frame has it.

    Attributes:
        frame_age_ns: age of that frame; None where there never was one.
        estop_pressed: the controller's e-stop input.
        fastest_joint_deg_s: the largest measured joint speed.
        fault_code: the controller's main fault code, 0 for none.
        fault_sub_code: its sub code.
    """

    frame_age_ns: int | None
    estop_pressed: bool
    fastest_joint_deg_s: float
    fault_code: int = 0
    fault_sub_code: int = 0


ResetRule = Callable[[ResetConditions], str | None]


def the_feed_is_alive(conditions: ResetConditions) -> str | None:
    """Without a fresh measured frame no other cause can be ruled out."""
    age_ns = conditions.frame_age_ns
    if age_ns is None:
        return "no measured frame yet"
    if age_ns > OLDEST_FRAME_NS:
        return f"the state feed is silent for {ms_from_ns(age_ns):.0f} ms"
    return None


def the_button_is_out(conditions: ResetConditions) -> str | None:
    """The e-stop input is released."""
    return "the e-stop button is pressed" if conditions.estop_pressed else None


def the_controller_has_no_fault(conditions: ResetConditions) -> str | None:
    """The controller reports no fault."""
    if conditions.fault_code == 0:
        return None
    return f"the controller is in fault {conditions.fault_code}/{conditions.fault_sub_code}"


def the_arm_stands(conditions: ResetConditions) -> str | None:
    """No measured joint moves."""
    # Negated, so that a NaN counts as moving.
    if abs(conditions.fastest_joint_deg_s) <= AT_REST_DEG_S:
        return None
    return f"the arm still moves at {conditions.fastest_joint_deg_s:.1f} °/s"


RESET_LADDER: Final[tuple[ResetRule, ...]] = (
    the_feed_is_alive,
    the_button_is_out,
    the_controller_has_no_fault,
    the_arm_stands,
)


def standing_cause(conditions: ResetConditions) -> str | None:
    """The first cause that still stands, in words; None where the reset may pass."""
    for rule in RESET_LADDER:
        standing = rule(conditions)
        if standing is not None:
            return standing
    return None
