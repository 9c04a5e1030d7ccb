"""What the envelope answers and tells: violations, verdicts and events, all of them values."""

from enum import StrEnum

import msgspec

from steadyhand.core.safety.shaper import Proposal


class Guard(StrEnum):
    """The keys of the `safety` dict (document 001, "no nameless e-stops")."""

    JOINT_LIMITS = "joint_limits"
    WORKAREA = "workarea"
    STREAM_SHAPER = "stream_shaper"
    STATE_FEED = "state_feed"
    DIVERGENCE = "divergence"
    JOINT_SPEED = "joint_speed"
    EEF_SPEED = "eef_speed"
    TCP_SPEED = "tcp_speed"


RETIRED_NAMES = ("command_guard", "command_speed", "cap_delta")
"""Guards of document 003 that document 001 replaced: still accepted by name, with a warning."""


class Violation(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One guard's finding at one moment.

    Attributes:
        reason: the sentence a person reads, with the figures in it.
        joint: name of the joint, or "" where it is not about one.
        measured: the offending figure.
        allowed: what it may be.
        unit: of both.
    """

    reason: str
    joint: str = ""
    measured: float = 0.0
    allowed: float = 0.0
    unit: str = ""


class Allowed(msgspec.Struct, frozen=True, gc=False):
    """The command may be sent: write `proposal`, then tell the envelope what came of it."""

    proposal: Proposal


class Refused(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The command must not be sent.

    Attributes:
        guard: who refused.
        reason: its sentence.
        tripped: the guard has latched, now or before: stop the arm. False while fewer violations
            in a row were seen than the trip count asks for.
    """

    guard: Guard
    reason: str
    tripped: bool


CommandVerdict = Allowed | Refused


class GuardTripped(msgspec.Struct, frozen=True, kw_only=True):
    """A guard has latched. Told once per latch; stop the arm."""

    guard: Guard
    violation: Violation
    at_ns: int


class JumpAbsorbed(msgspec.Struct, frozen=True, kw_only=True):
    """A raw target lay beyond the braking trail; the shaper absorbs it. Told once per episode."""

    joint: str
    distance_deg: float
    at_ns: int


class WallHeld(msgspec.Struct, frozen=True, kw_only=True):
    """A wall of the work area slowed the stream down. Told once per episode."""

    at_ns: int


class GuardToggled(msgspec.Struct, frozen=True, kw_only=True):
    """An operator switched a guard on or off."""

    guard: Guard
    enabled: bool
    at_ns: int


class RetiredNameUsed(msgspec.Struct, frozen=True, kw_only=True):
    """A toggle or an edit named a retired guard; nothing happened."""

    name: str
    at_ns: int


SafetyEvent = GuardTripped | JumpAbsorbed | WallHeld | GuardToggled | RetiredNameUsed
