"""What the operator's loop needs of the control service, and what comes back from it.

A small contract, so that a test can put a follower in its place. Calls never wait: whatever comes of
them is a value handed to the sink, from any thread, in the order it happened.
"""

from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from steadyhand.core.operator.inputs import ControlReply
from steadyhand.core.operator.outputs import ControlRequest, StreamedAction


class SessionAsk(msgspec.Struct, frozen=True, kw_only=True):
    """Ask for a session.

    Attributes:
        attempt: counts the askings of a process; an answer to an earlier one is nobody's.
        robot_id: the arm.
        operator: who asks; told to whoever is refused because of it.
        config_hash: `agreed_hash` of this end's copy of the robot file.
        take_over: take the session from an operator whose stream is not engaged.
        telemetry_host: where telemetry goes; empty: to whoever asks.
        telemetry_port: likewise.
    """

    attempt: int
    robot_id: str
    operator: str
    config_hash: str
    take_over: bool
    telemetry_host: str
    telemetry_port: int


class FollowerCard(msgspec.Struct, frozen=True, kw_only=True):
    """What the follower says of itself when a session opens.

    Attributes:
        version: of its software.
        granted: what the machine granted its processes, one line each.
        guards_json: its guards by name.
    """

    version: str = ""
    granted: tuple[str, ...] = ()
    guards_json: str = ""


class SessionOpened(msgspec.Struct, frozen=True, kw_only=True):
    """A session is open. Its keys are never printed and never logged (R17)."""

    attempt: int
    session_id: int
    command_key: bytes
    telemetry_key: bytes
    follower: FollowerCard = FollowerCard()

    def __repr__(self) -> str:
        """Keep keys out of logs and tracebacks."""
        return f"SessionOpened(attempt={self.attempt}, session_id={self.session_id:016x}, …)"


class SessionNotOpened(msgspec.Struct, frozen=True, kw_only=True):
    """No session.

    Attributes:
        attempt: which asking.
        refused: whether somebody said no; else nobody answered.
        reason: in a sentence.
    """

    attempt: int
    refused: bool
    reason: str


class SessionLost(msgspec.Struct, frozen=True, kw_only=True):
    """The follower does not know this session any more: it was restarted, or another took over."""

    attempt: int
    reason: str


class ControlPath(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the control service is heard, as its event stream tells.

    The session lives on without it: motion and telemetry take another path.
    """

    attempt: int
    up: bool
    reason: str = ""


class FollowerTold(msgspec.Struct, frozen=True, kw_only=True):
    """One event of the follower's.

    Attributes:
        attempt: of the session it was told in.
        kind: as the follower's log has it: Stopped, Moved, SafetyNote, …
        fields: what it says.
        at_ns: the follower host's monotonic clock.
        priority: whether it changes the arm's state.
        dropped: diagnostics dropped before it, because this watcher was too slow.
    """

    attempt: int
    kind: str
    fields: dict[str, Any]
    at_ns: int
    priority: bool = False
    dropped: int = 0


Heard = SessionOpened | SessionNotOpened | SessionLost | ControlPath | FollowerTold | ControlReply
Sink = Callable[[Heard], None]


class ControlLink(Protocol):
    """The way to the control service. No call waits, none raises."""

    def start(self, sink: Sink) -> None:
        """Where answers go from here on."""

    def open_session(self, ask: SessionAsk) -> None:
        """Open a session and watch its events; answered by SessionOpened or SessionNotOpened."""

    def request(self, request: ControlRequest) -> None:
        """Make a request; answered by a ControlReply that names it."""

    def send_action(self, action: StreamedAction) -> None:
        """Send an action on the ordered stream (`transport: grpc`)."""

    def close_session(self) -> None:
        """Tell the follower, once, that this operator goes; waits for nothing."""

    def close(self) -> None:
        """Hang up; the follower has a moment to hear what was said last."""
