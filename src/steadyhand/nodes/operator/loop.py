"""The operator's loop, one turn at a time: what was heard, what arrived, what is due.

It owns `OperatorCore` and carries out what the core answers, at once and in its order: datagrams,
actions, requests. One thread turns it (`engine`); a test turns it by hand, with a clock of its own.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, Final, assert_never

import msgspec

from steadyhand.core.operator import OperatorCore
from steadyhand.core.operator.inputs import ControlReply
from steadyhand.core.operator.notices import (
    Disengaged,
    Engaged,
    FollowerReleased,
    FollowerStopped,
    Level,
    Notice,
    RequestRefused,
    ResetConfirmed,
)
from steadyhand.core.operator.outputs import NOTHING, Outbound
from steadyhand.core.operator.sentences import level_of, sentence_of
from steadyhand.edge.clock import SYSTEM_CLOCK, MonotonicClock
from steadyhand.ground.robot_state import RobotState
from steadyhand.ground.setpoint import Setpoint
from steadyhand.nodes.operator.control_link import (
    ControlLink,
    ControlPath,
    FollowerTold,
    Heard,
    SessionAsk,
    SessionLost,
    SessionNotOpened,
    SessionOpened,
)
from steadyhand.nodes.operator.session import SessionKeeper, SessionState
from steadyhand.nodes.operator.sockets import OperatorSockets
from steadyhand.nodes.operator.view import ArmEvent, Led, OperatorView, Teller

EVENTS_KEPT: Final = 1_024
"""Events kept for a program that does not take them; older ones are dropped."""


class OperatorLoop:
    """One arm's operator, without a thread.

    Args:
        core: decides.
        sockets: of this end.
        link: the way to the control service; its answers come in through `hear`.
        ask: what is asked for when a session is opened; the attempt is filled in here.
        wall_s: wall time, for display.
        clock: monotonic.

    Attributes:
        state: the newest of the follower's; None before the first.
        engaged_ns: when setpoints were let through last; 0: never.
    """

    def __init__(
        self,
        core: OperatorCore,
        sockets: OperatorSockets,
        link: ControlLink,
        ask: SessionAsk,
        *,
        wall_s: Callable[[], float],
        clock: MonotonicClock = SYSTEM_CLOCK,
    ) -> None:
        self.core = core
        self.sockets = sockets
        self.clock = clock
        self.keeper = SessionKeeper()
        self.state: RobotState | None = None
        self.engaged_ns = 0
        self.events: deque[ArmEvent] = deque(maxlen=EVENTS_KEPT)
        self._link = link
        self._ask = ask
        self._wall_s = wall_s
        self._heard: deque[Heard] = deque()
        self._stop: FollowerStopped | None = None
        self._refusals: dict[str, RequestRefused] = {}
        self._disengaged: Disengaged | None = None
        self._reset_ns = 0
        link.start(self.hear)

    # ---- one turn

    def hear(self, heard: Heard) -> None:
        """Take an answer of the control service's, from any thread."""
        self._heard.append(heard)
        self.sockets.ring()

    def due_ns(self, now_ns: int) -> int:
        """When the next turn is wanted at the latest."""
        due_ns, session_due_ns = self.core.next_tick_ns(now_ns), self.keeper.due_ns
        return due_ns if session_due_ns is None else min(due_ns, session_due_ns)

    def turn(self) -> None:
        """Answers first, since one may confirm an e-stop; then telemetry, then what is due."""
        self.sockets.silence_bell()
        while self._heard:
            self._take(self._heard.popleft(), self.clock.now_ns())
        self._take_telemetry()
        now_ns = self.clock.now_ns()
        if now_ns >= self.core.next_tick_ns(now_ns):
            self.do(self.core.tick(now_ns).outbound)
        if self.keeper.step(now_ns):
            self._link.open_session(msgspec.structs.replace(self._ask, attempt=self.keeper.attempt))

    def do(self, outbound: Outbound) -> None:
        """Carry out what the core answers, and keep what it has to tell."""
        for datagram in outbound.datagrams:
            self.sockets.send(datagram.data)
        for action in outbound.actions:
            self._link.send_action(action)
        for request in outbound.requests:
            self._link.request(request)
        self._tell_notices()

    def _take_telemetry(self) -> None:
        datagrams = self.sockets.read_telemetry()
        if not datagrams:
            return
        # One reading for all: they were waiting together.
        now_ns, wall_s = self.clock.now_ns(), self._wall_s()
        for datagram in datagrams:
            output = self.core.telemetry(datagram, now_ns, wall_s)
            if output.state is not None:
                self.state = output.state
            self.do(output.outbound)

    # ---- what was heard

    def _take(self, heard: Heard, now_ns: int) -> None:
        match heard:
            case ControlReply():
                self.do(self.core.control_reply(heard, now_ns))
            case SessionOpened():
                self._session_opened(heard, now_ns)
            case SessionNotOpened(attempt=attempt, refused=refused, reason=reason):
                self.keeper.not_opened(attempt, refused=refused, reason=reason, now_ns=now_ns)
                self.say(f"no session: {reason}", now_ns, kind="SessionNotOpened")
            case SessionLost(attempt=attempt, reason=reason):
                if self.keeper.lost(attempt, reason, now_ns):
                    self.say(f"session lost: {reason}", now_ns, kind="SessionLost")
                    self._session_closed(now_ns)
            case ControlPath(attempt=attempt, up=up, reason=reason):
                if attempt == self.keeper.attempt and up != self.keeper.control_up:
                    self.keeper.control_up = up
                    text = "control service heard again" if up else f"control service not heard: {reason}"
                    self.say(text, now_ns, kind="ControlPath", level=Level.INFO if up else Level.WARNING)
            case FollowerTold():
                self._told(heard)
            case _:
                assert_never(heard)

    def _session_opened(self, answer: SessionOpened, now_ns: int) -> None:
        if not self.keeper.opened(answer, now_ns):
            return
        refused = self.core.session_opened(
            answer.session_id, answer.command_key, answer.telemetry_key, now_ns
        )
        if refused is not None:
            self.keeper.lost(answer.attempt, refused, now_ns)
        self._tell_notices()

    def _session_closed(self, now_ns: int) -> None:
        self.core.session_closed(now_ns)
        self._tell_notices()

    # ---- what whoever leads wants

    def lead(self, setpoint: Setpoint, now_ns: int, built_ns: int) -> Led:
        """Send one setpoint, or say which gate dropped it."""
        output = self.core.lead(setpoint, now_ns, built_ns=built_ns)
        self.do(output.outbound)
        stop = self.core.listener.word.stop
        return Led(output.verdict, stopped=stop is not None)

    def prepare(self, now_ns: int) -> int:
        """Ask for the stream; answers when that was, for `OperatorView.refused_since`."""
        self.do(self.core.prepare_stream(now_ns))
        return now_ns

    def idle(self, now_ns: int) -> int:
        """Leave the stream; asks the follower only where there is a session to ask in."""
        outbound = self.core.enter_idle(now_ns)
        self.do(outbound if self.keeper.state is SessionState.OPEN else NOTHING)
        return now_ns

    def press(self, reason: str, now_ns: int) -> int:
        """E-stop, on both paths."""
        self.do(self.core.emergency_stop(reason, now_ns))
        return now_ns

    def reset(self, reason: str, now_ns: int) -> int:
        """Ask for the latch's release."""
        self.do(self.core.reset_emergency(reason, now_ns))
        return now_ns

    def leave(self, now_ns: int) -> None:
        """Close the session, for good."""
        if self.keeper.state is SessionState.OPEN:
            self._link.close_session()
        self.keeper.close()
        self._session_closed(now_ns)

    def close(self) -> None:
        """Hang up and close the sockets."""
        self._link.close()
        self.sockets.close()

    # ---- what is told

    def view(self, now_ns: int) -> OperatorView:
        """This end, now."""
        return OperatorView(
            now_ns=now_ns,
            report=self.core.report(now_ns),
            session=self.keeper.view(),
            state=self.state,
            stop=self._stop,
            refusals=dict(self._refusals),
            disengaged=self._disengaged,
            engaged_ns=self.engaged_ns,
            reset_ns=self._reset_ns,
            refused_sends=self.sockets.refused_sends,
        )

    def take_events(self) -> tuple[ArmEvent, ...]:
        """What happened since the last call, oldest first."""
        events = tuple(self.events)
        self.events.clear()
        return events

    def _tell_notices(self) -> None:
        for notice in self.core.take_notices():
            self._note(notice)

    def _note(self, notice: Notice) -> None:
        match notice:
            case Engaged(at_ns=at_ns):
                self.engaged_ns = at_ns
            case Disengaged():
                self._disengaged = notice
            case RequestRefused(request=request):
                self._refusals[request] = notice
            case ResetConfirmed(at_ns=at_ns):
                self._reset_ns = at_ns
            case FollowerStopped():
                self._stop = notice
            case FollowerReleased():
                self._stop = None
            case _:
                pass
        fields = msgspec.to_builtins(notice)
        at_ns = fields.pop("at_ns")
        self.events.append(
            ArmEvent(
                teller=Teller.OPERATOR,
                kind=fields.pop("type"),
                text=sentence_of(notice),
                level=level_of(notice),
                at_ns=at_ns,
                fields=fields,
            )
        )

    def _told(self, told: FollowerTold) -> None:
        self.events.append(
            ArmEvent(
                teller=Teller.FOLLOWER,
                kind=told.kind,
                text=_in_words(told.kind, told.fields),
                level=Level.WARNING if told.priority else Level.INFO,
                at_ns=told.at_ns,
                fields=told.fields,
            )
        )

    def say(self, text: str, at_ns: int, *, kind: str = "Note", level: Level = Level.WARNING) -> None:
        """Tell something that the core knows nothing of."""
        self.events.append(ArmEvent(teller=Teller.OPERATOR, kind=kind, text=text, level=level, at_ns=at_ns))


def _in_words(kind: str, fields: dict[str, Any]) -> str:
    """Name and figures of a follower's event in one line."""
    said = [f"{key} {value}" for key, value in fields.items() if key not in ("at_ns", "type") and value != ""]
    return f"follower: {kind} {', '.join(said)}".strip().replace("\n", " ")[:300]
