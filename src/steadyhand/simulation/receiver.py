"""The robot's end in virtual time: the real playout buffer behind a virtual socket."""

import msgspec

from steadyhand.core.playout import Hold, HoldReason, PlayoutBuffer, PlayoutConfig, Release, Stall
from steadyhand.core.redundancy import DatagramLossEstimator, ReceiverReport
from steadyhand.core.timing import TransitEstimator
from steadyhand.ground.motion import JointsDeg
from steadyhand.ground.setpoint import Setpoint
from steadyhand.ground.stamps import NS_PER_S, ns_from_s
from steadyhand.simulation.lanes import Lane, Stop, Tick
from steadyhand.simulation.scenario import Scenario
from steadyhand.simulation.sender import Sent


class BufferedReceiver:
    """Offers what arrives, drains once a tick, stops where the buffer says so, and recovers.

    A stop is followed by the operator's reset and a new engagement after `recover_s`, so that a
    long run goes on and counts every stop.
    """

    def __init__(self, scenario: Scenario, config: PlayoutConfig) -> None:
        """Build the buffer of `config`; the lane is called `buffer`."""
        self.buffer = PlayoutBuffer(config)
        self.lane = Lane("buffer")
        self._transit = TransitEstimator()
        self._datagram_loss = DatagramLossEstimator()
        self.reengagements = 0
        self._recover_ns = ns_from_s(scenario.recover_s) if scenario.recover_s >= 0 else None
        self._resume_ns: int | None = None
        self._stopped = False
        self._last_deg: JointsDeg | None = None

    def receive(self, entries: list[Sent], now_ns: int) -> None:
        """Take one datagram: the current setpoint first, then the history it carries.

        While the arm is stopped nothing is offered: the node's latch stands before the queue.
        """
        self._datagram_loss.observe(entries[0].seq)
        if self._stopped:
            return
        for position, sent in enumerate(entries):
            if position and self.buffer.screen(sent.seq, now_ns) is not None:
                continue
            setpoint = Setpoint(
                joints_deg=sent.joints_deg, timestamp_s=sent.stamp_s, extras={"sent_ns": sent.sent_ns}
            )
            judge = self._transit.lateness_ns if position else self._transit.observe
            lateness_ns = judge(arrival_ns=now_ns, sender_stamp_s=sent.stamp_s)
            self.buffer.offer(sent.seq, setpoint, now_ns, is_copy=position > 0, lateness_ns=lateness_ns)

    def tick(self, now_ns: int) -> int:
        """Run one drain tick and return the time of the next."""
        if self._stopped and not self._recovered(now_ns):
            self._note(now_ns, Tick.STOPPED, None)
            return now_ns + self.buffer.drain_period_ns
        match self.buffer.drain_tick(now_ns):
            case Release(setpoint, _, synthetic, wait_ns):
                self._last_deg = setpoint.joints_deg
                age_ns = -1 if synthetic else now_ns - int(setpoint.extras["sent_ns"])
                kind = Tick.SYNTHETIC if synthetic else Tick.REAL
                self._note(now_ns, kind, self._last_deg, age_ns, -1 if synthetic else wait_ns)
            case Hold(reason):
                self._hold(reason, now_ns)
            case Stall(report):
                self.lane.stops.append(Stop(now_ns / NS_PER_S, report.cause.value, report.why(), False))
                self._stop(now_ns)
        return now_ns + self.buffer.drain_period_ns

    def report(self, now_ns: int) -> ReceiverReport:
        """What the health report carries to the sender (R4)."""
        return ReceiverReport(
            loss_pct=self._datagram_loss.loss_pct, delay_growth_ms=self._transit.growth_ms(now_ns)
        )

    def counters(self) -> dict[str, int]:
        """The buffer's account of every arrival, by name."""
        return dict(msgspec.to_builtins(self.buffer.stats))

    def close(self) -> Lane:
        """Copy the buffer's account into the lane and hand the lane over."""
        stats = self.buffer.stats
        self.lane.lost_at_release = stats.lost_at_release
        self.lane.overflow_dropped = stats.overflow_dropped
        self.lane.aged_dropped = stats.aged_dropped
        self.lane.episodes = stats.underrun_episodes
        return self.lane

    def _hold(self, reason: HoldReason, now_ns: int) -> None:
        if reason is HoldReason.AWAITING_PREPARE:
            # Not an emergency: the stream is another one now and wants to be engaged.
            self._stop(now_ns)
        elif self.buffer.live:
            self._note(now_ns, Tick.HELD, self._last_deg)
        else:
            self._note(now_ns, Tick.STOPPED if self.reengagements else Tick.WAITING, None)

    def _stop(self, now_ns: int) -> None:
        self._stopped = True
        self._resume_ns = None if self._recover_ns is None else now_ns + self._recover_ns
        self._last_deg = None
        self._note(now_ns, Tick.STOPPED, None)

    def _recovered(self, now_ns: int) -> bool:
        if self._resume_ns is None or now_ns < self._resume_ns:
            return False
        self.buffer.flush_lifecycle()
        self._stopped = False
        self.reengagements += 1
        return True

    def _note(
        self, now_ns: int, kind: Tick, joints_deg: JointsDeg | None, age_ns: int = -1, wait_ns: int = -1
    ) -> None:
        buffer = self.buffer
        self.lane.note(
            now_ns,
            kind,
            joints_deg,
            age_ns=age_ns,
            wait_ns=wait_ns,
            depth=buffer.depth,
            target=buffer.target_depth,
        )
