"""Leads the motion: a pose a period on the scenario's own grid, and a note of each that left.

The motion goes on while nothing is sent, since the person's hand does. After a stop it is joined again
smoothly, from where the arm stands, at a walking pace.
"""

import time
from typing import Final

from steadyhand.core.operator.outputs import LeadVerdict
from steadyhand.edge.pacer import Pacer
from steadyhand.ground.motion import JointsDeg, Motion
from steadyhand.ground.setpoint import Setpoint
from steadyhand.ground.stamps import NS_PER_S, s_from_ns
from steadyhand.nodes.demo.course import Led
from steadyhand.nodes.operator.approach import ApproachBounds, approach, minimum_jerk
from steadyhand.nodes.operator.engine import OperatorEngine
from steadyhand.nodes.operator.loop import OperatorLoop
from steadyhand.nodes.operator.pacing import Due, SteadyWallClock, slots_over


class Way:
    """The pose of every slot: the motion's own, or on the way from where the arm stands back to it.

    The way is a growing share of the moving motion, by the minimum-jerk quintic, so it sets out at rest
    and arrives with the motion's own speed.

    Args:
        motion: what is led.
        period_ns: between two slots.
        bounds: of the way back.
    """

    def __init__(self, motion: Motion, *, period_ns: int, bounds: ApproachBounds) -> None:
        self._motion = motion
        self._period_s = s_from_ns(period_ns)
        self._rate_hz = NS_PER_S / period_ns
        self._bounds = bounds
        self._from_deg: JointsDeg = ()
        self._from_slot = 0
        self._steps = 0

    def rejoin(self, slot: int, here_deg: JointsDeg) -> None:
        """Set out from `here_deg` in this slot."""
        goal_deg = self._motion.at(slot / self._rate_hz)
        way = approach(here_deg, goal_deg, period_s=self._period_s, bounds=self._bounds)
        self._from_deg, self._from_slot, self._steps = here_deg, slot, len(way) - 1

    def pose(self, slot: int) -> JointsDeg:
        """The pose of a slot."""
        pose_deg = self._motion.at(slot / self._rate_hz)
        passed = slot - self._from_slot
        if passed >= self._steps:
            return pose_deg
        share = minimum_jerk(max(0, passed) / self._steps)
        return tuple(a + (b - a) * share for a, b in zip(self._from_deg, pose_deg, strict=True))


class Leader:
    """One motion, led through one operator's end.

    Args:
        engine: running, its session open.
        motion: what is led.
        period_ns: nominal period.
        robot_id: of the arm.
        bounds: of the way back to the motion.

    Attributes:
        led: setpoints that left, oldest first; only ever appended to.
        first_seq: the number of the first datagram this operator's end sends.
        begin_ns: when the motion began; 0 before.
        stopped: whether the follower's newest word was that it is latched.
        lost_slots: periods in which this process was too busy to lead.
    """

    def __init__(
        self, engine: OperatorEngine, motion: Motion, *, period_ns: int, robot_id: str, bounds: ApproachBounds
    ) -> None:
        self.led: list[Led] = []
        self._by_seq: dict[int, Led] = {}
        self.begin_ns = 0
        self.stopped = False
        self.lost_slots = 0
        self.first_seq: Final = engine.call(lambda loop, _: loop.core.uplink.next_seq)
        self._engine = engine
        self._way = Way(motion, period_ns=period_ns, bounds=bounds)
        self._period_ns = period_ns
        self._robot_id = robot_id
        self._wall = SteadyWallClock()
        self._due = Due()
        self._pacer = Pacer(self._due, spin_ns=0)
        self._next_slot = 0

    def led_of(self, seq: int) -> Led | None:
        """The setpoint that left under a number; from any thread."""
        return self._by_seq.get(seq)

    def begin(self, now_ns: int) -> None:
        """The motion begins now."""
        self.begin_ns = now_ns

    def rejoin(self, here_deg: JointsDeg) -> None:
        """Set out from where the arm stands; the motion has gone on meanwhile."""
        self.stopped = True
        self._way.rejoin(self._wait() + 1, here_deg)
        self.stopped = False

    def step(self) -> LeadVerdict:
        """Wait for the next slot and lead its pose: what became of it."""
        slot = self._wait()
        built_ns = self.begin_ns + slot * self._period_ns
        stamp_s = self._wall.at_s(built_ns)
        setpoint = Setpoint(
            joints_deg=self._way.pose(slot),
            timestamp_s=stamp_s,
            leader_timestamp_s=stamp_s,
            robot_id=self._robot_id,
        )
        return self._engine.call(lambda loop, now_ns: self._lead(loop, now_ns, setpoint, built_ns))

    def _lead(self, loop: OperatorLoop, now_ns: int, setpoint: Setpoint, built_ns: int) -> LeadVerdict:
        """In the loop's thread: send, and note what left under which number."""
        output = loop.core.lead(setpoint, now_ns, built_ns=built_ns)
        loop.do(output.outbound)
        if output.verdict is LeadVerdict.SENT:
            for datagram in output.outbound.datagrams:
                left = Led(datagram.seq, now_ns, setpoint.joints_deg, datagram.copies)
                self.led.append(left)
                self._by_seq[left.seq] = left
        self.stopped = loop.core.listener.word.stop is not None
        return output.verdict

    def _wait(self) -> int:
        """Until the next slot is due; its number. Slots that are over are left out and counted."""
        if not self.begin_ns:
            raise RuntimeError("the motion has not begun")
        self._due.due_ns = self.begin_ns + self._next_slot * self._period_ns
        self._pacer.wait(())
        lost = slots_over(time.monotonic_ns() - self._due.due_ns, self._period_ns)
        # While the arm is stopped nobody leads: the slots of that time are not lost.
        self.lost_slots += 0 if self.stopped else lost
        slot = self._next_slot + lost
        self._next_slot = slot + 1
        return slot
