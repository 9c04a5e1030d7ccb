"""No buffer: what a robot file with a depth of zero gives (document 000 §2).

The newest sequence number wins, one mailbox deep, read without being taken; each tick sends it
again if nothing newer came. There is no stall policy without a buffer. The gate is the follower's on
an unsealed link: a restarted sender gets in after two seconds of silence, and what comes more than
200 ms late is dropped (decision 0003). Stragglers of a dead numbering are told by nothing else.
"""

from steadyhand.core.follower.ingress import GATE_EPOCH_NS, PASSTHROUGH_MAX_LATENESS_NS
from steadyhand.core.redundancy import ReceiverReport
from steadyhand.core.timing import TransitEstimator
from steadyhand.ground.motion import JointsDeg
from steadyhand.ground.seq import is_newer
from steadyhand.simulation.lanes import Lane, Tick
from steadyhand.simulation.scenario import Scenario
from steadyhand.simulation.sender import Sent


class PassthroughReceiver:
    """The sequence gate and the mailbox of document 003, steps 5 and 8."""

    reengagements = 0

    def __init__(self, scenario: Scenario) -> None:
        """Start with an empty mailbox."""
        self.lane = Lane("buffer")
        self._period_ns = scenario.period_ns
        self._transit = TransitEstimator()
        self._newest: Sent | None = None
        self._arrival_ns = 0
        self._fresh = False

    def receive(self, entries: list[Sent], now_ns: int) -> None:
        """Overwrite the mailbox with the current setpoint where the gate lets it by."""
        sent, newest = entries[0], self._newest
        lateness_ns = self._transit.observe(arrival_ns=now_ns, sender_stamp_s=sent.stamp_s)
        silence_ns = now_ns - self._arrival_ns
        passes = newest is None or silence_ns >= GATE_EPOCH_NS or is_newer(sent.seq, newest.seq)
        if lateness_ns <= PASSTHROUGH_MAX_LATENESS_NS and passes:
            self._newest, self._arrival_ns, self._fresh = sent, now_ns, True

    def tick(self, now_ns: int) -> int:
        """Send the mailbox's setpoint, fresh or again, and return the time of the next tick."""
        sent = self._newest
        joints_deg: JointsDeg | None = None if sent is None else sent.joints_deg
        if sent is not None and self._fresh:
            age_ns, wait_ns = now_ns - sent.sent_ns, now_ns - self._arrival_ns
            self.lane.note(now_ns, Tick.REAL, joints_deg, age_ns=age_ns, wait_ns=wait_ns)
        else:
            self.lane.note(now_ns, Tick.WAITING if sent is None else Tick.HELD, joints_deg)
        self._fresh = False
        return now_ns + self._period_ns

    def report(self, now_ns: int) -> ReceiverReport:
        """Nothing is measured without a buffer."""
        return ReceiverReport(loss_pct=0.0, delay_growth_ms=0.0)

    def counters(self) -> dict[str, int]:
        """No buffer, no account."""
        return {}

    def close(self) -> Lane:
        """Hand the lane over."""
        return self.lane
