"""The engage machine: when motion may be sent, and the latch that ends it.

One table decides every (state, event) pair; a test walks the whole product. A stop latches with its
cause and stays until the operator's reset, which is refused while the cause stands. `braking` is
the soft stop of "How an arm is stopped": the shaper brakes to rest, then the stream ends.

The machine moves nothing. It answers the effects its owner has to carry out, in their order.
"""

from enum import StrEnum
from typing import Final

import msgspec

from steadyhand.core.safety.episodes import EpisodeBook
from steadyhand.core.safety.reset_conditions import ResetConditions, standing_cause


class EngageState(StrEnum):
    """Where the arm is between standing by and being stopped."""

    IDLE = "idle"
    """No stream; nothing is sent."""
    PREPARING = "preparing"
    """The readiness probe owns the channel alone."""
    STREAMING = "streaming"
    """Setpoints are sent, every period."""
    BRAKING = "braking"
    """A soft stop: the shaper brakes to rest, setpoints are not taken any more."""
    STOPPED = "stopped"
    """Latched: nothing is sent until the operator's reset."""


class EngageEvent(StrEnum):
    """What can happen to it."""

    PREPARE = "prepare"
    """The operator asks for a stream (prepare_stream)."""
    READY = "ready"
    """The probe saw its frames accepted, and the pose is primed."""
    PROBE_FAILED = "probe_failed"
    """The probe gave up."""
    SOFT_STOP = "soft_stop"
    """The operator leaves (enter_idle), or the mode machine asks for SAFE_HOLD."""
    AT_REST = "at_rest"
    """The commanded stream has come to rest."""
    STOP = "stop"
    """An e-stop or any fault (`StopCause`)."""
    RESET = "reset"
    """The operator's reset."""


class Effect(StrEnum):
    """What the owner does on a transition, in the order given."""

    START_PROBE = "start_probe"
    CANCEL_PROBE = "cancel_probe"
    START_STREAM = "start_stream"
    """The first frame carries the primed pose."""
    BRAKE_TO_REST = "brake_to_rest"
    END_STREAM = "end_stream"
    """The driver's non-blocking stream end, and no motion after it."""
    FLUSH_QUEUE = "flush_queue"
    """Nothing queued before this moment is ever released (document 000)."""
    FORGET_SHAPER = "forget_shaper"
    CLEAR_LATCHES = "clear_latches"
    """Guards, write failures; the queue's stall."""


class StopKind(StrEnum):
    """What stopped the arm."""

    ESTOP = "estop"
    GUARD = "guard"
    STALL = "stall"
    WRITE_FAILURES = "write_failures"
    CONTROLLER_FAULT = "controller_fault"
    DRIVER_ERROR = "driver_error"
    UNREADABLE_COMMAND = "unreadable_command"
    """An authentic datagram that cannot be rebuilt into a setpoint (R10)."""
    PROCESS_LOST = "process_lost"
    PROGRAM_ERROR = "program_error"


class StopCause(msgspec.Struct, frozen=True, kw_only=True):
    """Why, with the figures that led to it.

    Attributes:
        kind: the class of cause.
        detail: the sentence a person reads.
        name: the guard, the stall's cause or the source of the e-stop.
    """

    kind: StopKind
    detail: str
    name: str = ""


class Move(msgspec.Struct, frozen=True):
    """The pair leads to `state`; `effects` are to be carried out in this order."""

    state: EngageState
    effects: tuple[Effect, ...] = ()


class Ignore(msgspec.Struct, frozen=True):
    """The pair changes nothing, and nobody need be told: a repetition, or an answer come too late."""

    reason: str


class Refuse(msgspec.Struct, frozen=True):
    """The pair changes nothing, and whoever asked is told why."""

    reason: str


Decision = Move | Ignore | Refuse

_S, _E, _F = EngageState, EngageEvent, Effect
_LATE_PROBE: Final = Ignore("the probe's answer came after it was cancelled")
_NO_MOTION: Final = Ignore("nothing moves")
_NOT_STOPPED: Final = Refuse("nothing is latched")
_STOP_STREAM: Final = (_F.END_STREAM, _F.FLUSH_QUEUE, _F.FORGET_SHAPER)

TABLE: Final[dict[tuple[EngageState, EngageEvent], Decision]] = {
    (_S.IDLE, _E.PREPARE): Move(_S.PREPARING, (_F.START_PROBE,)),
    (_S.IDLE, _E.READY): _LATE_PROBE,
    (_S.IDLE, _E.PROBE_FAILED): _LATE_PROBE,
    (_S.IDLE, _E.SOFT_STOP): Ignore("already idle"),
    (_S.IDLE, _E.AT_REST): _NO_MOTION,
    (_S.IDLE, _E.STOP): Move(_S.STOPPED, _STOP_STREAM),
    (_S.IDLE, _E.RESET): _NOT_STOPPED,
    (_S.PREPARING, _E.PREPARE): Ignore("already preparing"),
    (_S.PREPARING, _E.READY): Move(_S.STREAMING, (_F.FLUSH_QUEUE, _F.START_STREAM)),
    (_S.PREPARING, _E.PROBE_FAILED): Move(_S.IDLE, (_F.CANCEL_PROBE, _F.END_STREAM)),
    (_S.PREPARING, _E.SOFT_STOP): Move(_S.IDLE, (_F.CANCEL_PROBE, _F.END_STREAM)),
    (_S.PREPARING, _E.AT_REST): _NO_MOTION,
    (_S.PREPARING, _E.STOP): Move(_S.STOPPED, (_F.CANCEL_PROBE, *_STOP_STREAM)),
    (_S.PREPARING, _E.RESET): _NOT_STOPPED,
    (_S.STREAMING, _E.PREPARE): Ignore("already streaming"),
    (_S.STREAMING, _E.READY): _LATE_PROBE,
    (_S.STREAMING, _E.PROBE_FAILED): _LATE_PROBE,
    (_S.STREAMING, _E.SOFT_STOP): Move(_S.BRAKING, (_F.FLUSH_QUEUE, _F.BRAKE_TO_REST)),
    (_S.STREAMING, _E.AT_REST): Ignore("a stream may stand still"),
    (_S.STREAMING, _E.STOP): Move(_S.STOPPED, _STOP_STREAM),
    (_S.STREAMING, _E.RESET): _NOT_STOPPED,
    (_S.BRAKING, _E.PREPARE): Refuse("still braking; ask again once it is idle"),
    (_S.BRAKING, _E.READY): _LATE_PROBE,
    (_S.BRAKING, _E.PROBE_FAILED): _LATE_PROBE,
    (_S.BRAKING, _E.SOFT_STOP): Ignore("already braking"),
    (_S.BRAKING, _E.AT_REST): Move(_S.IDLE, _STOP_STREAM),
    (_S.BRAKING, _E.STOP): Move(_S.STOPPED, _STOP_STREAM),
    (_S.BRAKING, _E.RESET): _NOT_STOPPED,
    (_S.STOPPED, _E.PREPARE): Refuse("stopped; reset first"),
    (_S.STOPPED, _E.READY): _LATE_PROBE,
    (_S.STOPPED, _E.PROBE_FAILED): _LATE_PROBE,
    (_S.STOPPED, _E.SOFT_STOP): Ignore("already stopped"),
    (_S.STOPPED, _E.AT_REST): _NO_MOTION,
    (_S.STOPPED, _E.STOP): Ignore("already stopped; the first cause stays"),
    (_S.STOPPED, _E.RESET): Move(_S.IDLE, (_F.CLEAR_LATCHES,)),
}
"""Every pair, decided. What the table allows may still be refused by what the arm's own condition says:
PREPARE and READY before the first measured frame, RESET while a cause stands."""


class EngageMachine:
    """Walks the table for one arm; holds the first-frame latch, the stop's cause and the episodes.

    A machine starts idle, or stopped: a data plane that was restarted comes up latched.

    Args:
        stopped_by: the cause it comes up with, or None.
    """

    def __init__(self, stopped_by: StopCause | None = None) -> None:
        self._state = EngageState.IDLE if stopped_by is None else EngageState.STOPPED
        self._cause = stopped_by
        self._stopped_at_ns: int | None = None
        self._first_frame_seen = False
        self._episodes = EpisodeBook()

    @property
    def state(self) -> EngageState:
        """Where the machine is."""
        return self._state

    @property
    def cause(self) -> StopCause | None:
        """What stopped the arm; None unless it is stopped."""
        return self._cause

    @property
    def stopped_at_ns(self) -> int | None:
        """When it was stopped; None unless it was, while this machine was running."""
        return self._stopped_at_ns

    @property
    def first_frame_seen(self) -> bool:
        """Whether the state feed has delivered since it last (re)connected."""
        return self._first_frame_seen

    def note_first_frame(self) -> None:
        """The feed delivered a measured pose. Until then every pose is a guess (document 003)."""
        self._first_frame_seen = True

    def note_feed_lost(self) -> None:
        """The feed's connection is gone; what it said last is no pose to engage on."""
        self._first_frame_seen = False

    def handle(self, event: EngageEvent) -> Decision:
        """Decide on an event other than STOP and RESET, which have more to say.

        PREPARE and READY are refused before the first measured frame: a probe seeded from an
        all-zero packet would jump the arm (document 003, the first-frame latch).

        Raises:
            ValueError: STOP or RESET; use `stop`, `estop` and `reset`.
        """
        if event in (EngageEvent.STOP, EngageEvent.RESET):
            raise ValueError(f"{event.value} has a method of its own")
        decision = TABLE[self._state, event]
        if isinstance(decision, Move) and event in _NEEDS_A_POSE and not self._first_frame_seen:
            return Refuse("no measured frame yet")
        return self._take(decision)

    def stop(self, cause: StopCause, now_ns: int) -> Decision:
        """Stop the arm for any fault of our own finding. The first cause stays until the reset."""
        decision = self._take(TABLE[self._state, EngageEvent.STOP])
        if isinstance(decision, Move):
            self._cause = cause
            self._stopped_at_ns = now_ns
        return decision

    def estop(self, *, session_id: int, episode_id: int, source: str, now_ns: int) -> Decision:
        """Stop the arm because an e-stop asks for it, on whichever path it came.

        A late copy of an episode that a reset has settled is ignored (R11); everything else stops,
        an e-stop without an episode id always.

        Args:
            session_id: of the sender; episodes of different sessions are different ones.
            episode_id: which emergency; 0 where the frame carries none.
            source: for the cause: "datagram", "control service", "console".
            now_ns: local monotonic time.
        """
        if self._episodes.is_settled(session_id, episode_id):
            return Ignore(f"late copy of e-stop episode {episode_id}, settled by a reset")
        self._episodes.note(session_id, episode_id)
        return self.stop(StopCause(kind=StopKind.ESTOP, detail=f"e-stop by {source}", name=source), now_ns)

    def reset(self, conditions: ResetConditions) -> Decision:
        """Release the latch, unless its cause stands: then the refusal names it."""
        decision = TABLE[self._state, EngageEvent.RESET]
        if isinstance(decision, Move):
            standing = standing_cause(conditions)
            if standing is not None:
                return Refuse(standing)
            self._cause = None
            self._stopped_at_ns = None
            self._episodes.settle()
        return self._take(decision)

    def _take(self, decision: Decision) -> Decision:
        """Carry a decision out on the machine itself."""
        if isinstance(decision, Move):
            self._state = decision.state
        return decision


_NEEDS_A_POSE: Final = (EngageEvent.PREPARE, EngageEvent.READY)
