"""What is to be seen of an operator's end, as values that do not change any more."""

from enum import StrEnum
from typing import Any

import msgspec

from steadyhand.core.operator.notices import Disengaged, FollowerStopped, Level, RequestRefused
from steadyhand.core.operator.outputs import LeadVerdict, OperatorReport
from steadyhand.ground.robot_state import RobotState
from steadyhand.nodes.operator.session import SessionState, SessionView


class Teller(StrEnum):
    """Who tells of an event."""

    OPERATOR = "operator"
    FOLLOWER = "follower"


class ArmEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened, at this end or at the follower.

    Attributes:
        teller: which end says so; `at_ns` is that host's monotonic clock.
        kind: its name: Engaged, LinkLost, FollowerStopped, … here; Moved, Stopped, … there.
        text: one line for a person.
        level: how loudly it is said.
        at_ns: when, nanoseconds.
        fields: its figures.
    """

    teller: Teller
    kind: str
    text: str
    level: Level
    at_ns: int
    fields: dict[str, Any] = msgspec.field(default_factory=dict)


class OperatorView(msgspec.Struct, frozen=True, kw_only=True):
    """An operator's end at one moment.

    Attributes:
        now_ns: the moment, this host's monotonic clock.
        report: of the core: engaged, link, follower's state, e-stop, counters.
        session: of the control service.
        state: the newest of the follower's; None before the first.
        stop: why the follower is stopped; None while it is not, or has not said.
        refusals: the newest refusal of each request, by its name.
        disengaged: the newest end of an engagement; None: there was none.
        engaged_ns: when setpoints were let through last; 0: never.
        reset_ns: when a reset was confirmed last; 0: never.
        refused_sends: datagrams that this host did not take.
    """

    now_ns: int
    report: OperatorReport
    session: SessionView
    state: RobotState | None
    stop: FollowerStopped | None
    refusals: dict[str, RequestRefused]
    disengaged: Disengaged | None
    engaged_ns: int
    reset_ns: int
    refused_sends: int

    @property
    def open(self) -> bool:
        """Whether a session is open."""
        return self.session.state is SessionState.OPEN

    @property
    def measured(self) -> bool:
        """Whether it is known where the arm stands."""
        return self.state is not None and bool(self.state.joint_positions)

    @property
    def streaming(self) -> bool:
        """Whether setpoints sent now move the arm."""
        return self.report.engaged and self.report.follower == "streaming"

    @property
    def stopped(self) -> bool:
        """Whether the follower's newest word is that it is latched, or an e-stop of this end stands."""
        estop = self.report.estop
        return bool(self.report.stopped_by) or (estop is not None and estop.standing)

    def refused_since(self, request: str, since_ns: int) -> RequestRefused | None:
        """The refusal of a request made at `since_ns` or later."""
        refusal = self.refusals.get(request)
        return refusal if refusal is not None and refusal.at_ns >= since_ns else None


class Led(msgspec.Struct, frozen=True, gc=False):
    """What became of one setpoint, and whether the follower says that it is stopped."""

    verdict: LeadVerdict
    stopped: bool = False
