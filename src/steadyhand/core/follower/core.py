"""FollowerCore: all that lies between the socket and the wire at the robot.

One deterministic object. It is given bytes and the time and answers with values: commands for the
driver, events, the time of the next tick. It reads no clock, opens no socket and never raises: an
exception anywhere inside stops the arm and is told as an event.

A setpoint's way: `receive` (ingress: authenticate, decode, judge lateness, offer) … `tick` (drain
ladder → latch → envelope: limits, work area, shaper, divergence) → SendJoints → `note_write`.
"""

import traceback
from collections.abc import Callable
from typing import Final, TypeVar, assert_never

import msgspec

from steadyhand.core.follower.control import carry_out
from steadyhand.core.follower.engagement import Answer, Commands, Engagement
from steadyhand.core.follower.inbox import DatagramIn
from steadyhand.core.follower.ingress import EstopArrived, Ingress, IngressVerdict, Unreadable
from steadyhand.core.follower.inputs import ControlCommand, Reply
from steadyhand.core.follower.outputs import (
    DepthChanged,
    FollowerEvent,
    ProgramFault,
    SafetyNote,
    SendJoints,
    SessionOpened,
    TickOutput,
)
from steadyhand.core.follower.settings import FollowerSettings
from steadyhand.core.follower.snapshot import put_snapshot, take_snapshot
from steadyhand.core.follower.snapshot_classes import snapshot_plan
from steadyhand.core.follower.state_report import state_report
from steadyhand.core.follower.stream import Stream, StreamStop
from steadyhand.core.safety.latch import EngageEvent, EngageState, StopCause, StopKind
from steadyhand.core.safety.writes import WriteOutcome
from steadyhand.core.snapshot import Snapshots
from steadyhand.ground.measured_arm import MeasuredArm
from steadyhand.ground.robot_state import RobotState
from steadyhand.ground.stamps import ms_from_ns
from steadyhand.wire.rejections import Rejection
from steadyhand.wire.sealing import Unsealed

T = TypeVar("T")


class FollowerCore:
    """The follower of one arm.

    Args:
        settings: from the robot file.
        stopped_by: the cause it comes up latched with: a data plane that was restarted.
    """

    def __init__(self, settings: FollowerSettings, *, stopped_by: StopCause | None = None) -> None:
        self.settings = settings
        self.stream = Stream(settings)
        self.arm = Engagement(self.stream, stopped_by)
        self.ingress = Ingress(settings, self.stream)
        self.operator = ""
        """Who holds the session; "" for nobody."""
        self.late_ticks = 0
        self._told_target = self.stream.target_depth

    @property
    def state(self) -> EngageState:
        """Where the engage machine is."""
        return self.arm.machine.state

    @property
    def cause(self) -> StopCause | None:
        """What stopped the arm; None unless it is stopped."""
        return self.arm.machine.cause

    # ---- who speaks

    def open_session(
        self,
        *,
        session_id: int,
        command_key: bytes | None,
        operator: str,
        now_ns: int,
        take_over: bool = False,
    ) -> Reply:
        """Open a sealed session; the one before is retired at once (R3).

        While an operator's stream is engaged nobody gets in, take-over or not; while it merely
        holds the session, another has to ask to take over. Without a key only `replay_datagram` is
        understood.
        """
        refused = self._session_refused(operator, take_over=take_over)
        if refused is None:
            try:
                self.ingress.open_session(session_id, command_key)
            except (RuntimeError, ValueError) as error:
                refused = str(error)
        if refused is not None:
            return self.arm.refuse("open_session", refused, now_ns)
        self.operator = operator
        self.arm.tell(SessionOpened(at_ns=now_ns, session_id=session_id, operator=operator))
        return Reply(outcome="done")

    def close_session(self, operator: str) -> None:
        """The operator has gone: its frames are nobody's any more."""
        if operator == self.operator:
            self.ingress.unsealer.retire_session()
            self.operator = ""

    def _session_refused(self, operator: str, *, take_over: bool) -> str | None:
        if self.arm.engaged:
            # Whoever engaged it may have gone: its engagement is nobody's to inherit.
            return f"{self.operator or 'an operator that has gone'} is driving; it must enter idle first"
        if self.operator and self.operator != operator and not take_over:
            return f"{self.operator} holds the session; ask to take over"
        return None

    # ---- the inbox

    def receive(self, datagram: bytes, now_ns: int, wall_s: float) -> Commands:
        """Take a datagram. An e-stop acts at once, before any queue; setpoints wait for the tick."""

        return self._receive(datagram, None, now_ns, wall_s)

    def replay_datagram(self, arrived: DatagramIn) -> Commands:
        """Take a datagram of a recorded run: what its seal came to is believed, the rest is walked again.

        Raises:
            SealError: it is not of the living session, or came before: the record has a hole.
        """
        judged = arrived.judged()
        if isinstance(judged, Unsealed):
            self.ingress.unsealer.accept_judged(judged)
        return self._receive(arrived.datagram, judged, arrived.now_ns, arrived.wall_s)

    def _receive(
        self, datagram: bytes, judged: Unsealed | Rejection | None, now_ns: int, wall_s: float
    ) -> Commands:
        def take() -> Commands:
            streaming = self.arm.streaming
            verdict = self.ingress.datagram(datagram, now_ns, wall_s, streaming=streaming, judged=judged)
            return () if verdict is None else self._act_on(verdict, now_ns)

        return self._guarded("receive", now_ns, take, _as_commands)

    def receive_action(self, payload: bytes, session_id: int, now_ns: int, wall_s: float) -> Commands:
        """Take an action off the ordered stream of the control service."""

        def take() -> Commands:
            verdict = self.ingress.action(payload, session_id, now_ns, wall_s, streaming=self.arm.streaming)
            return () if verdict is None else self._act_on(verdict, now_ns)

        return self._guarded("receive_action", now_ns, take, _as_commands)

    def observe(self, measured: MeasuredArm) -> Commands:
        """Take a frame of the state feed: speeds are watched, faults and the e-stop input stop."""

        def take() -> Commands:
            taken = self.stream.envelope.observe_state(
                measured.joints_deg, measured.arrival_ns, speeds_deg_s=measured.speeds_deg_s
            )
            if not taken:
                return ()
            self.arm.note_measured(measured)
            return self.arm.watch(measured)

        return self._guarded("observe", measured.arrival_ns, take, _as_commands)

    def note_write(self, outcome: WriteOutcome, now_ns: int, detail: str = "") -> Commands:
        """What became of the last SendJoints: the shaper advances only if the socket took it."""

        def take() -> Commands:
            self.stream.note_write(outcome, now_ns)
            cause = self.arm.writes.note(outcome, detail)
            return () if cause is None else self.arm.stop(cause, now_ns)

        return self._guarded("note_write", now_ns, take, _as_commands)

    def control(self, command: ControlCommand, now_ns: int) -> Answer:
        """Carry out one request of the control service and answer whoever asked."""

        def failed(commands: Commands) -> Answer:
            return Reply(outcome="refused", reason="a program fault; the arm is stopped"), commands

        return self._guarded("control", now_ns, lambda: carry_out(self.arm, command, now_ns), failed)

    def _act_on(self, verdict: IngressVerdict, now_ns: int) -> Commands:
        match verdict:
            case None:
                return ()
            case EstopArrived():
                return self.arm.estop(verdict, now_ns)
            case Unreadable(detail=detail):
                return self.arm.stop(StopCause(kind=StopKind.UNREADABLE_COMMAND, detail=detail), now_ns)
            case _:
                assert_never(verdict)

    # ---- the tick

    def tick(self, now_ns: int) -> TickOutput:
        """Run one period: at most one frame leaves, and it has passed every guard."""
        self.late_ticks += self.stream.note_tick(now_ns)

        def failed(commands: Commands) -> TickOutput:
            return TickOutput(commands, self.stream.next_tick_ns(now_ns))

        return self._guarded("tick", now_ns, lambda: self._tick(now_ns), failed)

    def _tick(self, now_ns: int) -> TickOutput:
        commands: Commands = ()
        released = None
        state = self.arm.machine.state
        if state is EngageState.STREAMING:
            step = self.stream.streaming_tick(now_ns)
            commands, released = self._sent(step.frame, now_ns), step.released
        elif state is EngageState.BRAKING:
            commands = self._braking(now_ns)
        self._tell_changes(now_ns)
        return TickOutput(commands, self.stream.next_tick_ns(now_ns), released)

    def _braking(self, now_ns: int) -> Commands:
        if self.stream.envelope.at_rest:
            return self.arm.effects(self.arm.machine.handle(EngageEvent.AT_REST), "at rest", now_ns)
        return self._sent(self.stream.braking_tick(now_ns), now_ns)

    def _sent(self, frame: SendJoints | StreamStop | None, now_ns: int) -> Commands:
        """A frame goes out; what cannot go on is stopped, softly where that is enough."""
        match frame:
            case None:
                return ()
            case SendJoints():
                return (frame,)
            case StreamStop(soft=True, cause=cause):
                decision = self.arm.machine.handle(EngageEvent.SOFT_STOP)
                return self.arm.effects(decision, cause.detail, now_ns)
            case StreamStop(cause=cause):
                return self.arm.stop(cause, now_ns)
            case _:
                assert_never(frame)

    # ---- what is told

    def report(self, now_ns: int, wall_s: float) -> RobotState:
        """The telemetry's state: measured pose, safety dict, the buffer's health in the extras."""
        return state_report(self.settings, self.arm, self.ingress, now_ns=now_ns, wall_s=wall_s)

    def take_events(self) -> tuple[FollowerEvent, ...]:
        """What happened since the last call, oldest first."""
        events = tuple(self.arm.events)
        self.arm.events.clear()
        return events

    # ---- what is remembered

    def snapshot(self) -> bytes:
        """Everything it remembers, as canonical bytes (R17); never a key.

        Raises:
            SnapshotError: it holds something that no snapshot can, which a test would have met.
        """
        return take_snapshot(_SNAPSHOTS, self)

    @classmethod
    def restore(cls, settings: FollowerSettings, snapshot: bytes) -> "FollowerCore":
        """A core that goes on where a snapshot was taken: whatever it is given, it answers the same.

        It has no keys: sealed datagrams are refused until a new session opens, recorded ones are
        taken (`replay_datagram`).

        Args:
            settings: those of the core that it was taken of.
            snapshot: what `snapshot` answered.

        Raises:
            SnapshotError: damaged, of another version, or of other settings.
        """
        core = cls(settings)
        put_snapshot(_SNAPSHOTS, core, snapshot)
        return core

    def _tell_changes(self, now_ns: int) -> None:
        for note in self.stream.envelope.take_events():
            fields = msgspec.to_builtins(note)
            self.arm.tell(SafetyNote(at_ns=now_ns, kind=type(note).__name__, fields=fields))
        target = self.stream.target_depth
        if target != self._told_target and self.settings.playout is not None:
            self._told_target = target
            period_ms = ms_from_ns(self.settings.period_ns)
            base_ms = self.settings.playout.base_depth * period_ms
            self.arm.tell(
                DepthChanged(at_ns=now_ns, target=target, target_ms=target * period_ms, base_ms=base_ms)
            )

    def _guarded(
        self, where: str, now_ns: int, action: Callable[[], T], failed: Callable[[Commands], T]
    ) -> T:
        """An exception in the data path stops the arm and is told; it never leaves (lane three)."""
        try:
            return action()
        except Exception as error:
            told = "".join(traceback.format_exception(error))
            self.arm.tell(ProgramFault(at_ns=now_ns, where=where, traceback=told))
            return failed(self.arm.stop_for_program_error(f"{type(error).__name__} in {where}", now_ns))


def _as_commands(commands: Commands) -> Commands:
    return commands


_SNAPSHOTS: Final = Snapshots(snapshot_plan(FollowerCore))
