"""What the two ports of a robot answer: values, never exceptions for what the other end does."""

import math
from enum import StrEnum
from typing import Final

import msgspec

from steadyhand.core.safety.writes import WriteOutcome
from steadyhand.edge.robots.lifecycle import PortState
from steadyhand.ground.measured_arm import MeasuredArm


class MeasuredState(MeasuredArm, frozen=True, kw_only=True, gc=False):
    """One frame of the state feed: what the follower decides on, and what the driver has beside it.

    Attributes:
        efforts_nm: joint torques, shape (n_joints,), or empty.
        safety_stop: a safety input holds the arm.
        automatic: the controller is in automatic mode.
        accepted_target_deg: the last setpoint the controller took; None where the feed is silent on it.
        accepted_count: how many it took, wrapping as the vendor's counter does; None likewise.
        commanded_deg: where the controller wants the joints just now; None likewise. With the two above
            it tells a setpoint that was lost on the way from one that is merely being executed late.
    """

    efforts_nm: tuple[float, ...] = ()
    safety_stop: bool = False
    automatic: bool = True
    accepted_target_deg: tuple[float, ...] | None = None
    accepted_count: int | None = None
    commanded_deg: tuple[float, ...] | None = None

    @property
    def is_pose(self) -> bool:
        """Whether the joints can be believed to be a pose: they are finite numbers."""
        return all(map(math.isfinite, self.joints_deg))


class WriteReport(msgspec.Struct, frozen=True):
    """How one write ended.

    Attributes:
        outcome: what the core counts it as ("Writes can fail").
        detail: what a person needs to know; "" where it was taken.
    """

    outcome: WriteOutcome
    detail: str = ""


TAKEN: Final = WriteReport(WriteOutcome.TAKEN)


def lost(detail: str) -> WriteReport:
    """This frame did not leave; the next may."""
    return WriteReport(WriteOutcome.TRANSIENT, detail)


def broken(detail: str) -> WriteReport:
    """The channel is gone, or must not be used."""
    return WriteReport(WriteOutcome.FATAL, detail)


class Waiting(msgspec.Struct, frozen=True):
    """Still settling; `reason` is what it waits for."""

    reason: str


class Ready(msgspec.Struct, frozen=True):
    """The controller takes setpoints; `pose_deg` is the last one it was given."""

    pose_deg: tuple[float, ...]


class Failed(msgspec.Struct, frozen=True):
    """The probe gave up; the port is inactive again."""

    reason: str


Settling = Waiting | Ready | Failed


class DataReport(msgspec.Struct, frozen=True, kw_only=True):
    """What the data port has and has not: granted, not assumed.

    Attributes:
        state: where its lifecycle is.
        feed: the state feed in words: "streaming", "connecting", or why it is not there.
        granted: fields of the state feed that the controller grants, in its own names.
        missing: fields that were asked for and refused.
        period_ms: distance of the state frames; 0.0 before it is known.
        counters: what was sent, read, dropped; names are the driver's.
    """

    state: PortState
    feed: str
    granted: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    period_ms: float = 0.0
    counters: dict[str, int] = msgspec.field(default_factory=dict)


class CallOutcome(StrEnum):
    """How a blocking call ended."""

    DONE = "done"
    REFUSED = "refused"
    """The controller answered, and said no."""
    UNANSWERED = "unanswered"
    """Nobody there, too late, or an answer that is none."""


class CallReport(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to one blocking call.

    Attributes:
        call: the call, as the controller names it.
        outcome: done, refused or unanswered.
        code: the controller's return code; None where there was no answer.
        detail: the code in words, or why there was no answer.
        took_ms: how long it took.
    """

    call: str
    outcome: CallOutcome
    code: int | None = None
    detail: str = ""
    took_ms: float = 0.0

    @property
    def done(self) -> bool:
        """Whether the controller did it."""
        return self.outcome is CallOutcome.DONE


class Codes(msgspec.Struct, frozen=True, kw_only=True):
    """The controller's fault, read by a call.

    Attributes:
        report: how the call ended; the codes mean something only where it is done.
        main_code: 0 for none.
        sub_code: which.
        meaning: both in words.
    """

    report: CallReport
    main_code: int = 0
    sub_code: int = 0
    meaning: str = ""
