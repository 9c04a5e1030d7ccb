"""Ingress: from a datagram to the buffer or the mailbox (document 003, steps 5 and 6; R3, R4, R11).

Hostile input is counted and dropped, in the order that costs least: magic, name, version, seal,
structure, and only then a payload. The answer is one of a few verdicts; what they do to the arm is
the core's.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from steadyhand.core.follower.settings import FollowerSettings
from steadyhand.core.follower.stream import Stream
from steadyhand.core.redundancy import DatagramLossEstimator
from steadyhand.core.timing import TransitEstimator
from steadyhand.ground.seq import is_newer, unwrap
from steadyhand.ground.setpoint import Setpoint
from steadyhand.ground.stamps import NS_PER_MS, NS_PER_S
from steadyhand.wire.action_frame import ActionFrame, decode_plain, decode_unsealed, peek_estop
from steadyhand.wire.action_payload import decode_action
from steadyhand.wire.bundle import Entry
from steadyhand.wire.head import ACTION_MAGIC, Head, read_head
from steadyhand.wire.rejections import Reason, Rejection, RejectionCounts
from steadyhand.wire.sealing import Unsealed, Unsealer

GATE_EPOCH_NS: Final = 2 * NS_PER_S
"""Passthrough: silence after which an older-looking number is a restarted sender."""


PASSTHROUGH_MAX_LATENESS_NS: Final = 200 * NS_PER_MS
"""Passthrough has no age cap of its own; the buffer's least margin stands in (decision 0003)."""


class EstopArrived(msgspec.Struct, frozen=True):
    """Stop the arm. `seq` is its number where it is of the buffer's own space, else None."""

    session_id: int
    episode_id: int
    seq: int | None
    source: str


class Unreadable(msgspec.Struct, frozen=True):
    """An authentic datagram that cannot be rebuilt into a setpoint: stop the arm (R10)."""

    detail: str


IngressVerdict = EstopArrived | Unreadable | None


class IngressCounts(msgspec.Struct):
    """Where arrivals went that reached neither buffer nor mailbox, rejections by reason apart."""

    datagrams: int = 0
    foreign: int = 0
    not_streaming: int = 0
    wrong_transport: int = 0
    gate_dropped: int = 0
    stale_dropped: int = 0


class Ingress:
    """Authenticates, decodes and hands on. `streaming` tells whether setpoints are taken now."""

    def __init__(self, settings: FollowerSettings, stream: Stream) -> None:
        self.counts = IngressCounts()
        self.rejections = RejectionCounts()
        self.transit = TransitEstimator()
        self.datagram_loss = DatagramLossEstimator()
        self.unsealer = Unsealer()
        self.last_unsealed: Unsealed | Rejection | None = None
        """What the seal of the last datagram came to, for the record of it; None where none was asked."""
        self.last_leader_stamp_s: float | None = None
        self.last_arrival_ns: int | None = None
        self.latency_wall_s: float | None = None
        self._settings = settings
        self._name = settings.robot_id.encode()
        self._stream = stream
        self._newest: int | None = None
        self._gate_seq: int | None = None
        self._gate_ns = 0

    def open_session(self, session_id: int, command_key: bytes | None) -> None:
        """Begin a sealed session: the one before is retired, and nothing of it is compared any more.

        Raises:
            SealError: this session was used before.
            ValueError: the key is not 32 bytes.
        """
        self.unsealer.open_session(session_id=session_id, key=command_key)
        self.forget_sender()

    def forget_sender(self) -> None:
        """Another sender, another clock, another numbering."""
        self.transit.reset()
        self._newest = None
        self._gate_seq = None
        if self._stream.buffer is not None:
            self._stream.buffer.forget_numbering()

    # ---- datagrams

    def datagram(
        self,
        data: bytes,
        now_ns: int,
        wall_s: float,
        *,
        streaming: bool,
        judged: Unsealed | Rejection | None = None,
    ) -> IngressVerdict:
        """Take one datagram off the action socket.

        `judged` is what its seal came to when it first arrived, in a run that is executed again
        without keys: believed here, and all that follows is the same.
        """
        self.last_unsealed = None
        self.counts.datagrams += 1
        head = read_head(data, ACTION_MAGIC)
        if isinstance(head, Rejection):
            self.rejections.count(head)
            return None
        if head.name != self._name:
            self.counts.foreign += 1
            return None
        frame = self._authenticated(head, judged)
        if isinstance(frame, Rejection):
            return self._refused(head, frame)
        return self._frame(frame, now_ns, wall_s, streaming=streaming)

    def _authenticated(self, head: Head, judged: Unsealed | Rejection | None) -> ActionFrame | Rejection:
        if not self._settings.sealed:
            return decode_plain(head)
        if judged is None:
            judged = self.unsealer.unseal(head)
        self.last_unsealed = judged
        return judged if isinstance(judged, Rejection) else decode_unsealed(head, judged)

    def _refused(self, head: Head, rejection: Rejection) -> IngressVerdict:
        """Count what was refused; let an open e-stop through where the policy says so.

        A bundle that is broken under a good seal stops the arm, like a payload that cannot be rebuilt.
        """
        if rejection.reason is Reason.NOT_SEALED and self._settings.estop_open:
            estop = peek_estop(head)
            if estop is not None:
                return EstopArrived(0, estop.episode_id, None, "unsealed datagram")
        self.rejections.count(rejection)
        if rejection.reason is Reason.RETIRED_SESSION and self._stream.buffer is not None:
            self._stream.buffer.count_retired_session()
        return Unreadable(f"bundle: {rejection.reason.value}") if rejection.authentic else None

    def _frame(self, frame: ActionFrame, now_ns: int, wall_s: float, *, streaming: bool) -> IngressVerdict:
        """Newest entry first, so that a gap is seen before a copy fills it."""
        self.datagram_loss.observe(self._numbered(frame))
        for position, entry in enumerate(frame.entries):
            if position and not self._wanted(entry, now_ns, streaming=streaming):
                continue
            verdict = self._entry(frame, entry, now_ns, wall_s, is_copy=position > 0, streaming=streaming)
            if verdict is not None:
                return verdict
        return None

    def _numbered(self, frame: ActionFrame) -> int:
        """What counts datagrams: the seal's counter, else the unwrapped sequence number."""
        if self._settings.sealed:
            return frame.counter
        newest = self._newest
        self._newest = frame.seq if newest is None else unwrap(frame.seq, newest)
        return self._newest

    def _wanted(self, entry: Entry, now_ns: int, *, streaming: bool) -> bool:
        """Whether a copy is worth parsing: not while nothing is taken, nor if seen before (R4)."""
        return (
            streaming
            and self._stream.buffer is not None
            and self._stream.buffer.screen(entry.seq, now_ns) is None
        )

    def _entry(
        self, frame: ActionFrame, entry: Entry, now_ns: int, wall_s: float, *, is_copy: bool, streaming: bool
    ) -> IngressVerdict:
        settings = self._settings
        setpoint = decode_action(entry.payload, settings.robot_id, joint_count=settings.n_joints)
        if isinstance(setpoint, Rejection):
            return self._unreadable(setpoint)
        if setpoint.emergency_stop:
            seq = entry.seq if settings.transport == "udp" else None
            return EstopArrived(frame.session_id, setpoint.episode_id, seq, "datagram")
        if settings.transport != "udp":
            self.counts.wrong_transport += 1
            return None
        self._setpoint(entry.seq, setpoint, now_ns, wall_s, is_copy=is_copy, streaming=streaming)
        return None

    def _unreadable(self, rejection: Rejection) -> IngressVerdict:
        """NaN or infinity in a command: the datagram is rejected, the last setpoint held. Anything
        else unreadable stops the arm if its sender is authentic.
        """
        self.rejections.count(rejection)
        if not self._settings.sealed or rejection.reason is Reason.NON_FINITE_JOINT:
            return None
        return Unreadable(f"{rejection.reason.value} {rejection.detail}".strip())

    # ---- the ordered transport

    def action(
        self, payload: bytes, session_id: int, now_ns: int, wall_s: float, *, streaming: bool
    ) -> IngressVerdict:
        """Take one action off the ordered stream; the control service has authenticated it."""
        settings = self._settings
        setpoint = decode_action(payload, settings.robot_id, joint_count=settings.n_joints)
        if isinstance(setpoint, Rejection):
            return self._unreadable(setpoint)
        if setpoint.emergency_stop:
            return EstopArrived(session_id, setpoint.episode_id, None, "control service")
        if settings.transport != "grpc":
            self.counts.wrong_transport += 1
            return None
        seq = 0 if self._stream.buffer is None else self._stream.buffer.next_synthetic_seq()
        self._setpoint(seq, setpoint, now_ns, wall_s, is_copy=False, streaming=streaming)
        return None

    # ---- a setpoint

    def _setpoint(
        self, seq: int, setpoint: Setpoint, now_ns: int, wall_s: float, *, is_copy: bool, streaming: bool
    ) -> None:
        """Judge lateness and hand over; before a stream is engaged nothing is taken."""
        judge: Callable[..., int] = self.transit.lateness_ns if is_copy else self.transit.observe
        lateness_ns = judge(
            arrival_ns=now_ns, sender_stamp_s=setpoint.sender_stamp_s, source=setpoint.stamp_source
        )
        if not is_copy:
            self.last_arrival_ns = now_ns
            self.last_leader_stamp_s = setpoint.leader_timestamp_s
            self.latency_wall_s = wall_s
        if not streaming:
            self.counts.not_streaming += 1
        elif self._stream.buffer is not None:
            buffer = self._stream.buffer
            clock_steps = buffer.stats.clock_steps
            buffer.offer(seq, setpoint, now_ns, is_copy=is_copy, lateness_ns=lateness_ns)
            if buffer.stats.clock_steps != clock_steps:
                # Believed on a clock that was set back: lateness is against that one from here.
                self.transit.reset()
        elif lateness_ns > PASSTHROUGH_MAX_LATENESS_NS:
            self.counts.stale_dropped += 1
        elif self._settings.transport == "grpc" or self._gate_passes(seq, now_ns):
            self._stream.mailbox.put(setpoint, now_ns)

    def _gate_passes(self, seq: int, now_ns: int) -> bool:
        """Passthrough's gate: newer than the newest, or anything after two seconds of silence."""
        newest = self._gate_seq
        if newest is not None and now_ns - self._gate_ns < GATE_EPOCH_NS and not is_newer(seq, newest):
            self.counts.gate_dropped += 1
            return False
        self._gate_seq, self._gate_ns = seq, now_ns
        return True
