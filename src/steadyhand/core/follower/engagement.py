"""Engaging, stopping and resetting one arm: the engage machine's effects, carried out.

The machine says what happens, this file does it: to the stream, to the driver (as commands), and to
whoever watches (as events). The first cause of a stop stays until the operator's reset.
"""

import math
from typing import assert_never

from steadyhand.core.follower.ingress import EstopArrived
from steadyhand.core.follower.inputs import Reply, ResetEmergency
from steadyhand.core.follower.outputs import (
    CancelProbe,
    DriverCommand,
    EndStream,
    FollowerEvent,
    Moved,
    RequestRefused,
    ResetDone,
    StartProbe,
    StartStream,
    StopMotion,
    Stopped,
)
from steadyhand.core.follower.stream import Stream
from steadyhand.core.safety.latch import (
    Decision,
    Effect,
    EngageMachine,
    EngageState,
    Ignore,
    Move,
    Refuse,
    StopCause,
    StopKind,
)
from steadyhand.core.safety.reset_conditions import AT_REST_DEG_S, ResetConditions
from steadyhand.core.safety.writes import WriteLedger
from steadyhand.ground.measured_arm import MeasuredArm
from steadyhand.ground.stamps import s_from_ns

Commands = tuple[DriverCommand, ...]
Answer = tuple[Reply, Commands]

MAX_EVENTS = 1024
"""Events kept for an owner that does not take them; older ones are dropped and counted."""


class Engagement:
    """Where the arm stands between idle and stopped, and what follows from it."""

    def __init__(self, stream: Stream, stopped_by: StopCause | None) -> None:
        self.machine = EngageMachine(stopped_by)
        self.stream = stream
        self.writes = WriteLedger()
        self.measured: MeasuredArm | None = None
        self._measured_before: MeasuredArm | None = None
        self.acknowledged_estop: tuple[int, int] | None = None
        """(session, episode) of the e-stop the sender may stop repeating."""
        self.events: list[FollowerEvent] = []
        self.events_dropped = 0

    @property
    def streaming(self) -> bool:
        """Whether setpoints are taken."""
        return self.machine.state is EngageState.STREAMING

    @property
    def engaged(self) -> bool:
        """Whether the arm is somebody's right now."""
        return self.machine.state in (EngageState.PREPARING, EngageState.STREAMING, EngageState.BRAKING)

    def note_measured(self, measured: MeasuredArm) -> None:
        """Keep the newest frame, and the one before it for a feed that reports no speeds."""
        self._measured_before, self.measured = self.measured, measured
        self.machine.note_first_frame()

    @property
    def fastest_joint_deg_s(self) -> float:
        """How fast the arm moves: as reported, else by its last two poses; NaN where nobody knows."""
        arm, before = self.measured, self._measured_before
        if arm is None:
            return math.nan
        if arm.speeds_deg_s:
            return arm.fastest_joint_deg_s
        if before is None or before.arrival_ns >= arm.arrival_ns:
            return math.nan
        furthest_deg = max(
            [abs(now - then) for now, then in zip(arm.joints_deg, before.joints_deg, strict=True)]
        )
        return furthest_deg / s_from_ns(arm.arrival_ns - before.arrival_ns)

    # ---- stopping

    def estop(self, arrived: EstopArrived, now_ns: int) -> Commands:
        """Latch, flush and seal past the e-stop, and acknowledge it, first copy or tenth (R11)."""
        self.acknowledged_estop = (arrived.session_id, arrived.episode_id)
        decision = self.machine.estop(
            session_id=arrived.session_id, episode_id=arrived.episode_id, source=arrived.source, now_ns=now_ns
        )
        if not isinstance(decision, Move):
            return ()
        self.stream.flush_for_estop(arrived.seq)
        return self._stopped(decision, now_ns)

    def stop(self, cause: StopCause, now_ns: int) -> Commands:
        """Latch for a fault of our own finding; nothing where it is latched already."""
        decision = self.machine.stop(cause, now_ns)
        return self._stopped(decision, now_ns) if isinstance(decision, Move) else ()

    def stop_for_program_error(self, detail: str, now_ns: int) -> Commands:
        """Latch without asking any part that may be what failed."""
        cause = StopCause(kind=StopKind.PROGRAM_ERROR, detail=detail)
        self.stream.abandon()
        if not isinstance(self.machine.stop(cause, now_ns), Move):
            return ()
        self.tell(Stopped(at_ns=now_ns, cause=cause))
        return (EndStream(), StopMotion(detail))

    def watch(self, measured: MeasuredArm) -> Commands:
        """The controller's e-stop input, its faults and the guards on the measured arm stop it."""
        now_ns = measured.arrival_ns
        if measured.estop_pressed:
            detail = "e-stop input of the controller"
            return self.stop(StopCause(kind=StopKind.ESTOP, detail=detail, name="controller"), now_ns)
        if measured.fault_code:
            detail = f"controller fault {measured.fault_code}/{measured.fault_sub_code}"
            return self.stop(StopCause(kind=StopKind.CONTROLLER_FAULT, detail=detail), now_ns)
        tripped = self.stream.trip_cause()
        return () if tripped is None else self.stop(tripped, now_ns)

    def _stopped(self, decision: Move, now_ns: int) -> Commands:
        cause = self.machine.cause
        if cause is None:
            raise RuntimeError("a stop without a cause")
        commands = self.effects(decision, cause.kind.value, now_ns)
        self.tell(Stopped(at_ns=now_ns, cause=cause))
        return (*commands, StopMotion(cause.detail))

    # ---- resetting

    def reset(self, command: ResetEmergency, now_ns: int) -> Answer:
        """Release the latch, unless its cause stands: then the refusal names it (R10)."""
        decision = self.machine.reset(self._reset_conditions(now_ns))
        answer = self.decided("reset_emergency", decision, now_ns)
        if answer[0].outcome == "done":
            self.tell(ResetDone(at_ns=now_ns, operator=command.operator, reason=command.reason))
        return answer

    def _reset_conditions(self, now_ns: int) -> ResetConditions:
        arm = self.measured
        if arm is None or not self.machine.first_frame_seen:
            return ResetConditions(frame_age_ns=None, estop_pressed=False, fastest_joint_deg_s=0.0)
        return ResetConditions(
            frame_age_ns=now_ns - arm.arrival_ns,
            estop_pressed=arm.estop_pressed,
            fastest_joint_deg_s=self.fastest_joint_deg_s,
            fault_code=arm.fault_code,
            fault_sub_code=arm.fault_sub_code,
        )

    # ---- effects

    def decided(self, request: str, decision: Decision, now_ns: int) -> Answer:
        """Carry a decision out and put it into a reply."""
        match decision:
            case Move():
                return Reply(outcome="done"), self.effects(decision, request, now_ns)
            case Ignore(reason=reason):
                return Reply(outcome="ignored", reason=reason), ()
            case Refuse(reason=reason):
                return self.refuse(request, reason, now_ns), ()
            case _:
                assert_never(decision)

    def effects(self, decision: Decision, by: str, now_ns: int) -> Commands:
        """Carry out a transition's effects, in the table's order."""
        if not isinstance(decision, Move):
            return ()
        self.tell(Moved(at_ns=now_ns, state=decision.state.value, by=by))
        commands: list[DriverCommand] = []
        for effect in decision.effects:
            commands += self._effect(effect, now_ns)
        return tuple(commands)

    def _effect(self, effect: Effect, now_ns: int) -> Commands:
        match effect:
            case Effect.START_PROBE:
                return (StartProbe(self.measured.joints_deg),) if self.measured is not None else ()
            case Effect.CANCEL_PROBE:
                return (CancelProbe(),)
            case Effect.START_STREAM:
                return self._start_stream(now_ns)
            case Effect.END_STREAM:
                return (EndStream(),)
            case Effect.FLUSH_QUEUE:
                self.stream.flush()
            case Effect.FORGET_SHAPER:
                self.stream.envelope.disengage()
            case Effect.CLEAR_LATCHES:
                self.stream.envelope.reset()
                self.writes.clear()
            case Effect.BRAKE_TO_REST:
                pass  # The state says it: the next ticks brake.
            case _:
                assert_never(effect)
        return ()

    def _start_stream(self, now_ns: int) -> Commands:
        """Prime on the measured pose; an arm that cannot be primed is stopped, with the reason.

        Nor while it moves: the pose it is primed on would be behind it before the first frame.
        """
        fastest_deg_s = self.fastest_joint_deg_s
        # Negated, so that a NaN counts as moving.
        moving = not fastest_deg_s <= AT_REST_DEG_S
        refused = f"the arm moves at {fastest_deg_s:.1f} °/s" if moving else self.stream.engage(now_ns)
        if refused is None:
            self.writes.clear()
            return (StartStream(),)
        self.refuse("engage", refused, now_ns)
        cause = StopCause(kind=StopKind.GUARD, detail=f"cannot engage: {refused}", name="engage")
        return self.stop(cause, now_ns)

    # ---- telling

    def refuse(self, request: str, reason: str, now_ns: int) -> Reply:
        """Say no, to whoever asked and to whoever watches."""
        self.tell(RequestRefused(at_ns=now_ns, request=request, reason=reason))
        return Reply(outcome="refused", reason=reason)

    def tell(self, event: FollowerEvent) -> None:
        """Keep an event until it is taken; the memory is bounded."""
        if len(self.events) >= MAX_EVENTS:
            del self.events[0]
            self.events_dropped += 1
        self.events.append(event)
