"""OperatorCore: all that lies between the leader and the socket at the operator's end.

One deterministic object, the follower's counterpart. It is given actions, datagrams, replies and the
time and answers with values: what to send, what to ask, what to tell, and when to be called again. It
reads no clock, opens no socket and never raises: an exception inside stops the arm and is told.

A setpoint's way: `lead` (gates: e-stop → engaged → this arm → sendable → fresh → follower heard) →
uplink (number, history, bundle, seal) → Datagram. The measured state's way back: `telemetry`
(authenticate, newest only) → what it says → notices, redundancy, the confirmation of an e-stop.
"""

import traceback
from collections.abc import Callable
from typing import Final, TypeVar

from steadyhand.core.operator.control import Control
from steadyhand.core.operator.estop import Estop
from steadyhand.core.operator.gates import Gates
from steadyhand.core.operator.inputs import ControlReply
from steadyhand.core.operator.leading import Leading
from steadyhand.core.operator.listener import Listener
from steadyhand.core.operator.notices import Notice, ProgramFault, SessionBegun
from steadyhand.core.operator.outputs import (
    LeadOutput,
    LeadVerdict,
    OperatorReport,
    Outbound,
    TelemetryOutput,
    TelemetryVerdict,
    TickOutput,
)
from steadyhand.core.operator.settings import OperatorSettings
from steadyhand.core.operator.telemetry import Downlink
from steadyhand.core.operator.uplink import Uplink
from steadyhand.ground.setpoint import Setpoint
from steadyhand.ground.stamps import NS_PER_S, ms_from_ns
from steadyhand.wire.sealing import Sealer

T = TypeVar("T")

MAX_NOTICES: Final = 1024
"""Notices kept for an owner that does not take them; older ones are dropped and counted."""

IDLE_TICK_NS: Final = NS_PER_S
"""Longest pause between two ticks, where nothing is due."""


class OperatorCore:
    """The operator's end of one arm.

    Args:
        settings: from the robot file.
        first_episode_id: u64; the first e-stop's episode. Not one of an earlier process, see `Estop`:
            the owner draws it at random.
        first_seq: the first wire number.
    """

    def __init__(self, settings: OperatorSettings, *, first_episode_id: int, first_seq: int = 0) -> None:
        self.settings = settings
        self.uplink = Uplink(settings, first_seq)
        self.downlink = Downlink(settings)
        self.control = Control(uplink=self.uplink, tell=self._tell)
        self.estop = Estop(
            settings,
            self.uplink,
            next_request_id=self.control.next_request_id,
            first_episode_id=first_episode_id,
            tell=self._tell,
        )
        self.gates = Gates(
            settings, estop=self.estop, downlink=self.downlink, uplink=self.uplink, tell=self._tell
        )
        self.listener = Listener(
            self.downlink, estop=self.estop, gates=self.gates, uplink=self.uplink, tell=self._tell
        )
        self.leading = Leading(gates=self.gates, uplink=self.uplink, press=self._press, tell=self._tell)
        self._notices: list[Notice] = []
        self._notices_dropped = 0

    # ---- the session

    def session_opened(
        self, session_id: int, command_key: bytes, telemetry_key: bytes, now_ns: int
    ) -> str | None:
        """Speak and listen under a new session's keys; why not, or None.

        The stream has to be prepared anew (R3). An e-stop that stands goes on under the new keys.
        """
        if not self.settings.sealed:
            return None
        try:
            sealer = Sealer(session_id=session_id, key=command_key)
            # Refuses a session that was used: sealing under it again would repeat its nonces.
            self.downlink.open_session(session_id, telemetry_key)
        except (RuntimeError, ValueError) as error:
            self.control.refuse("open_session", str(error), now_ns)
            return str(error)
        self.uplink.adopt(sealer)
        self._forget_follower("a new session", now_ns)
        self._tell(SessionBegun(at_ns=now_ns, session_id=session_id))
        return None

    def session_closed(self, now_ns: int) -> None:
        """The session is over: nothing is sealed and nobody believed until the next."""
        self.uplink.close_session()
        self.downlink.close_session()
        self._forget_follower("the session is closed", now_ns)

    def _forget_follower(self, by: str, now_ns: int) -> None:
        self.gates.disengage(by, now_ns)
        self.control.forget()
        self.listener.forget()

    # ---- what the operator wants

    def prepare_stream(self, now_ns: int) -> Outbound:
        """Ask the follower for the stream; its answer engages."""
        return self._asking("prepare_stream", now_ns, lambda: self.control.prepare(self.estop, now_ns))

    def enter_idle(self, now_ns: int) -> Outbound:
        """Leave the stream; nothing is forwarded from here on."""
        return self._asking("enter_idle", now_ns, lambda: self.control.idle(self.gates, now_ns))

    def reset_emergency(self, reason: str, now_ns: int) -> Outbound:
        """Ask for the release of the latch, once the follower has confirmed the e-stop."""
        return self._asking("reset_emergency", now_ns, lambda: self.control.reset(self.estop, reason, now_ns))

    def emergency_stop(self, reason: str, now_ns: int) -> Outbound:
        """Stop the arm: a datagram and a control request now, then a copy a period until confirmed."""
        return self._asking("emergency_stop", now_ns, lambda: self._press(reason, now_ns))

    def control_reply(self, reply: ControlReply, now_ns: int) -> Outbound:
        """Take the control service's answer to one request."""

        def take() -> Outbound:
            stopped = self.listener.follower_stopped
            return self.control.replied(
                reply, gates=self.gates, estop=self.estop, stopped=stopped, now_ns=now_ns
            )

        return self._asking("control_reply", now_ns, take)

    def _press(self, reason: str, now_ns: int) -> Outbound:
        self.control.forget()
        self.gates.disengage(f"emergency stop, {reason}", now_ns)
        return self.estop.press(reason, now_ns)

    # ---- what the leader does

    def lead(self, setpoint: Setpoint, now_ns: int, *, built_ns: int | None = None) -> LeadOutput:
        """Take one action: an e-stop passes every gate, a setpoint has to pass them all.

        Args:
            setpoint: the action; what is sent is sent verbatim (R7).
            now_ns: local monotonic time.
            built_ns: when it was built on this host's monotonic clock; of a message from another
                host, when it arrived. Without it the setpoint's own build stamp is taken for that.
        """

        def take() -> LeadOutput:
            stopped = self.listener.follower_stopped
            return self.leading.take(setpoint, now_ns, built_ns=built_ns, follower_stopped=stopped)

        def failed(outbound: Outbound) -> LeadOutput:
            self.leading.counts[LeadVerdict.FAULT] += 1
            return LeadOutput(LeadVerdict.FAULT, outbound)

        return self._guarded("lead", now_ns, take, failed)

    # ---- what the follower says

    def telemetry(self, datagram: bytes, now_ns: int, wall_s: float) -> TelemetryOutput:
        """Take one telemetry datagram; the newest state comes out, with its JSON for the bus.

        Args:
            datagram: off the telemetry socket, from whomever.
            now_ns: local monotonic time of its arrival.
            wall_s: wall time, for display only.
        """

        def take() -> TelemetryOutput:
            return self.listener.take(datagram, now_ns, wall_s)

        def failed(outbound: Outbound) -> TelemetryOutput:
            self.downlink.counts[TelemetryVerdict.FAULT] += 1
            return TelemetryOutput(TelemetryVerdict.FAULT, outbound=outbound)

        return self._guarded("telemetry", now_ns, take, failed)

    def link_lost(self, reason: str, now_ns: int) -> None:
        """The owner knows that the link is gone, before the silence says so."""
        self.listener.link_lost(reason, now_ns)

    # ---- the tick

    def tick(self, now_ns: int) -> TickOutput:
        """Repeat the e-stop, watch the silence; answers what to send and when to be called again."""

        def take() -> TickOutput:
            self.listener.watch_silence(now_ns)
            self.gates.watch_silence(now_ns)
            outbound = self.estop.repeat(now_ns)
            return TickOutput(outbound, self.next_tick_ns(now_ns))

        def failed(outbound: Outbound) -> TickOutput:
            return TickOutput(outbound, now_ns + self.settings.period_ns)

        return self._guarded("tick", now_ns, take, failed)

    def next_tick_ns(self, now_ns: int) -> int:
        """When the next tick is wanted at the latest; to be asked again after every other call."""
        due_ns = now_ns + IDLE_TICK_NS
        for one_ns in (self.estop.due_ns, self.gates.due_ns, self.downlink.loss_due_ns):
            if one_ns is not None:
                due_ns = min(due_ns, one_ns)
        return due_ns

    # ---- what is told

    def report(self, now_ns: int) -> OperatorReport:
        """What the operator's display shows. Pure: asking changes nothing."""
        silent_ns = self.downlink.silent_ns(now_ns)
        word = self.listener.word
        return OperatorReport(
            engaged=self.gates.engaged,
            deadman_blocking=self.gates.deadman_blocking,
            silent_ms=None if silent_ns is None else ms_from_ns(silent_ns),
            link_lost=self.downlink.lost,
            follower=word.engage,
            stopped_by="" if word.stop is None else f"{word.stop.kind} {word.stop.name}".strip(),
            estop=self.estop.report(),
            copies=self.uplink.copies_in_use,
            redundancy_rule=self.uplink.redundancy_rule,
            next_seq=self.uplink.next_seq,
            command_latency_ms=word.command_latency_ms,
            telemetry_latency_ms=self.listener.telemetry_latency_ms,
            lead={verdict.value: times for verdict, times in self.leading.counts.items()},
            telemetry={verdict.value: times for verdict, times in self.downlink.counts.items()},
            rejections={name: times for name, times in self.downlink.rejections.as_dict().items() if times},
            notices_dropped=self._notices_dropped,
        )

    def take_notices(self) -> tuple[Notice, ...]:
        """What the operator has to be told since the last call, oldest first."""
        notices = tuple(self._notices)
        self._notices.clear()
        return notices

    def _tell(self, notice: Notice) -> None:
        """Keep a notice until it is taken; the memory is bounded."""
        if len(self._notices) >= MAX_NOTICES:
            del self._notices[0]
            self._notices_dropped += 1
        self._notices.append(notice)

    # ---- our own mistakes

    def _asking(self, where: str, now_ns: int, action: Callable[[], Outbound]) -> Outbound:
        return self._guarded(where, now_ns, action, lambda outbound: outbound)

    def _guarded(
        self, where: str, now_ns: int, action: Callable[[], T], failed: Callable[[Outbound], T]
    ) -> T:
        """An exception at this end stops the arm and is told; it never leaves (lane three)."""
        try:
            return action()
        except Exception as error:
            self._tell_fault(where, error, now_ns)
            return failed(self._stop_after_fault(f"{type(error).__name__} in {where}", now_ns))

    def _stop_after_fault(self, detail: str, now_ns: int) -> Outbound:
        """Press, unless an e-stop stands; where pressing is what fails, ask over control alone."""
        if not self.estop.standing:
            try:
                return self._press(f"program fault: {detail}", now_ns)
            except Exception as error:
                self._tell_fault("emergency_stop", error, now_ns)
                # Whatever failed, no setpoint may follow.
                self.gates.engaged_ns = None
        return self.estop.ask_alone(now_ns)

    def _tell_fault(self, where: str, error: Exception, now_ns: int) -> None:
        told = "".join(traceback.format_exception(error))
        self._tell(ProgramFault(at_ns=now_ns, where=where, traceback=told))
