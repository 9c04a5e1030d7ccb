"""One tick of the stream: what the buffer lets go, through the envelope, to a frame for the wire.

Buffered and passthrough differ in where the target comes from and in nothing else. What a tick
cannot send, it names: a stop with its cause, hard or soft.
"""

from typing import Final, assert_never

import msgspec

from steadyhand.core.follower.outputs import FrameKind, Released, SendJoints
from steadyhand.core.follower.settings import FollowerSettings
from steadyhand.core.playout import Hold, HoldReason, PlayoutBuffer, Release, Stall
from steadyhand.core.safety.latch import StopCause, StopKind
from steadyhand.core.safety.mailbox import FrameSource, FreshFrame, HoldFrame, Mailbox, StarvedFrame
from steadyhand.core.safety.policy import build_envelope
from steadyhand.core.safety.shaper import Proposal
from steadyhand.core.safety.verdicts import RETIRED_NAMES, Allowed, CommandVerdict, Refused
from steadyhand.core.safety.writes import WriteOutcome
from steadyhand.ground.config_safety import SafetyConfig
from steadyhand.ground.measured_arm import MeasuredArm
from steadyhand.ground.stamps import NS_PER_S

UNLED_NS: Final = 30 * NS_PER_S
"""Engaged and never led: a policy may think for a while before its first setpoint, an operator who died
between engaging and leading must not hold the arm, and everybody else out, for ever."""


class StreamStop(msgspec.Struct, frozen=True):
    """The stream cannot go on. `soft`: brake to rest and leave; else latch."""

    cause: StopCause
    soft: bool = False


class StreamStep(msgspec.Struct, frozen=True, gc=False):
    """What one streaming tick came to."""

    frame: SendJoints | StreamStop | None
    released: Released | None = None


class Stream:
    """Buffer or mailbox, envelope, and the grid of ticks of one arm."""

    def __init__(self, settings: FollowerSettings) -> None:
        self.settings = settings
        self.safety = settings.safety
        self.pending_safety = settings.safety
        self.envelope = build_envelope(settings.safety, settings.arm, settings.policy)
        self.buffer = None if settings.playout is None else PlayoutBuffer(settings.playout)
        self.mailbox = Mailbox()
        self.holds = 0
        self.last_released: Released | None = None
        self._source = FrameSource(
            self.mailbox, period_ns=settings.period_ns, stale_factor=settings.stale_factor
        )
        self._pending: Proposal | None = None
        self._seq = 0
        self._due_ns: int | None = None
        self._unled_since_ns: int | None = None
        self._speed_share = 1.0
        self._switched: dict[str, bool] = {}
        for name in RETIRED_NAMES:
            if getattr(settings.safety, name) is not None:
                self.envelope.set_enabled(name, enabled=True, now_ns=0)

    # ---- the grid

    def note_tick(self, now_ns: int) -> bool:
        """Keep the absolute grid; True where the loop was behind by more than a period and snapped."""
        due_ns = self._due_ns
        late = due_ns is not None and now_ns - due_ns > self.settings.period_ns
        if due_ns is None or late:
            self._due_ns = now_ns
        return late

    def next_tick_ns(self, now_ns: int) -> int:
        """Move the grid on by the trimmed period (R2); the controller is told the nominal one."""
        due_ns = now_ns if self._due_ns is None else self._due_ns
        period_ns = self.settings.period_ns if self.buffer is None else self.buffer.drain_period_ns
        self._due_ns = due_ns + period_ns
        return self._due_ns

    # ---- engaging and leaving

    def engage(self, now_ns: int) -> str | None:
        """Prime the envelope on the measured pose; why not, or None."""
        self._unled_since_ns = now_ns
        refused = self.envelope.engage(now_ns)
        return None if refused is None else refused.reason

    def flush(self) -> None:
        """Nothing queued before this moment is ever released."""
        if self.buffer is not None:
            self.buffer.flush_lifecycle()
        self.mailbox.clear()
        self._pending = None

    def flush_for_estop(self, estop_seq: int | None) -> None:
        """Flush, and seal past the e-stop's own number where it is of this space."""
        if self.buffer is not None:
            self.buffer.flush_for_estop(estop_seq)
        self.mailbox.clear()
        self._pending = None

    def abandon(self) -> None:
        """After a program fault: drop every target, and the parts that may have failed with it."""
        self._pending = None
        self.mailbox.clear()
        if self.settings.playout is not None:
            self.buffer = PlayoutBuffer(self.settings.playout)
        self.envelope.disengage()

    # ---- the safety block

    def keep_for_next_engagement(self, safety: SafetyConfig) -> None:
        """Keep an edited block until the arm is engaged anew; raises ConfigError unless it constructs."""
        build_envelope(safety, self.settings.arm, self.settings.policy)
        self.pending_safety = safety

    def adopt_pending_safety(self, measured: MeasuredArm | None, now_ns: int) -> None:
        """Take an edited block over, between two engagements.

        What was switched or lowered at run time stays so: no edit lifts a ceiling by the way.
        """
        if self.pending_safety is self.safety:
            return
        self.safety = self.pending_safety
        self.envelope = build_envelope(self.safety, self.settings.arm, self.settings.policy)
        for name, enabled in self._switched.items():
            self.envelope.set_enabled(name, enabled=enabled, now_ns=now_ns)
        if self._speed_share < 1.0:
            self.scale_speed(self._speed_share)
        if measured is not None:
            self.envelope.observe_state(
                measured.joints_deg, measured.arrival_ns, speeds_deg_s=measured.speeds_deg_s
            )

    def scale_speed(self, share: float) -> str | None:
        """Lower the shaper's ceiling to a share of v_max; why not, or None."""
        shaper = self.safety.stream_shaper
        if shaper is None:
            return "this arm has no stream shaper"
        if not 0.0 < share <= 1.0:
            return f"{share:g} is not a share above 0 and up to 1"
        refused = self.envelope.set_ceiling(shaper.v_max_deg_s * share)
        if refused is not None:
            return refused.reason
        self._speed_share = share
        return None

    def switch_guard(self, name: str, *, enabled: bool, now_ns: int) -> str | None:
        """Switch a guard that may be switched; why not, or None."""
        refused = self.envelope.set_enabled(name, enabled=enabled, now_ns=now_ns)
        if refused is not None:
            return refused.reason
        if name not in RETIRED_NAMES:
            self._switched[name] = enabled
        return None

    # ---- ticks

    def streaming_tick(self, now_ns: int) -> StreamStep:
        """Take what the buffer or the mailbox gives and walk it through the envelope."""
        if self._unled_since_ns is not None and now_ns - self._unled_since_ns > UNLED_NS:
            detail = f"nothing was led for {UNLED_NS // NS_PER_S} s after engaging"
            return StreamStep(StreamStop(StopCause(kind=StopKind.STALL, detail=detail), soft=True))
        if self.buffer is None:
            return self._passthrough(now_ns)
        match self.buffer.drain_tick(now_ns):
            case Release(setpoint, seq, synthetic, wait_ns):
                kind = FrameKind.SYNTHETIC if synthetic else FrameKind.FRESH
                released = Released(seq, kind, setpoint.joints_deg, now_ns - wait_ns, now_ns)
                return self._send(released, now_ns)
            case Hold(reason=HoldReason.AWAITING_PREPARE):
                detail = "the sender's numbering changed; prepare the stream anew"
                return StreamStep(StreamStop(StopCause(kind=StopKind.STALL, detail=detail), soft=True))
            case Hold():
                return StreamStep(self._hold(now_ns))
            case Stall(report=report):
                cause = StopCause(kind=StopKind.STALL, detail=report.why(), name=report.cause.value)
                return StreamStep(StreamStop(cause))
            case other:
                assert_never(other)

    def braking_tick(self, now_ns: int) -> SendJoints | StreamStop | None:
        """The next frame of a soft stop."""
        return self._judged(self.envelope.validate_brake(now_ns), FrameKind.BRAKE)

    def note_write(self, outcome: WriteOutcome, now_ns: int) -> None:
        """Commit the frame that the socket took; drop the one it did not."""
        pending, self._pending = self._pending, None
        if pending is not None and outcome is WriteOutcome.TAKEN:
            self.envelope.commit(pending, now_ns)

    def trip_cause(self) -> StopCause | None:
        """The stop that a latched guard calls for."""
        if not self.envelope.any_tripped:
            return None
        guard = self.envelope.tripped[0]
        report = self.envelope.report().get(guard.value)
        reason = "" if report is None else str(report.get("last_reason") or "")
        return StopCause(kind=StopKind.GUARD, detail=reason or f"{guard.value} tripped", name=guard.value)

    @property
    def target_depth(self) -> int:
        """The buffer's target, 0 in passthrough."""
        return 0 if self.buffer is None else self.buffer.target_depth

    # ---- small steps

    def _passthrough(self, now_ns: int) -> StreamStep:
        match self._source.next_frame(now_ns):
            case FreshFrame(setpoint=setpoint, age_ns=age_ns, is_new=is_new):
                if not is_new:
                    return StreamStep(self._resend(now_ns))
                self._seq += 1
                arrived_ns = now_ns - age_ns
                return self._send(
                    Released(self._seq, FrameKind.FRESH, setpoint.joints_deg, arrived_ns, now_ns), now_ns
                )
            case HoldFrame():
                return StreamStep(self._hold(now_ns))
            case StarvedFrame(age_ns=None):
                return StreamStep(self._hold(now_ns))
            case StarvedFrame(age_ns=age_ns):
                detail = f"no setpoint for {(age_ns or 0) / 1e6:.0f} ms"
                return StreamStep(StreamStop(StopCause(kind=StopKind.STALL, detail=detail), soft=True))
            case other:
                assert_never(other)

    def _send(self, released: Released, now_ns: int) -> StreamStep:
        self._seq = released.seq
        self.last_released = released
        self._unled_since_ns = None
        verdict = self.envelope.validate_command(released.target_deg, now_ns)
        return StreamStep(self._judged(verdict, released.kind), released)

    def _resend(self, now_ns: int) -> SendJoints | StreamStop | None:
        """A slot read again inside its window: the same setpoint, fresh on the wire and no hold (003)."""
        target_deg = self.envelope.hold_target_deg
        if target_deg is None:
            return None
        return self._judged(self.envelope.validate_command(target_deg, now_ns, fresh=False), FrameKind.FRESH)

    def _hold(self, now_ns: int) -> SendJoints | StreamStop | None:
        """Send the last target again, through every guard like any frame."""
        target_deg = self.envelope.hold_target_deg
        if target_deg is None:
            return None
        self.holds += 1
        verdict = self.envelope.validate_command(target_deg, now_ns, fresh=False)
        return self._judged(verdict, FrameKind.HOLD)

    def _judged(self, verdict: CommandVerdict, kind: FrameKind) -> SendJoints | StreamStop | None:
        match verdict:
            case Allowed(proposal=proposal):
                self._pending = proposal
                return SendJoints(proposal.joints_deg, self._seq, kind)
            case Refused(tripped=False):
                return None
            case Refused(guard=guard, reason=reason):
                return StreamStop(StopCause(kind=StopKind.GUARD, detail=reason, name=guard.value))
            case other:
                assert_never(other)
