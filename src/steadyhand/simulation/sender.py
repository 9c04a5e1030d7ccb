"""The operator's end in virtual time: setpoints at a rate, stamped by a clock that drifts."""

from collections.abc import Iterator
from typing import Final

import msgspec

from steadyhand.ground.motion import JointsDeg
from steadyhand.ground.seq import SEQ_MASK
from steadyhand.ground.stamps import NS_PER_S, ns_from_s
from steadyhand.simulation.scenario import Scenario

SENDER_CLOCK_OFFSET_S: Final = 1_000_000.0
"""The sender's clock shows another time altogether: nothing may depend on its absolute value."""


class Sent(msgspec.Struct, frozen=True, gc=False):
    """One setpoint as it left the sender.

    Attributes:
        index: how many were sent before it in the whole run.
        incarnation: how often the sender had restarted.
        seq: its wire number; numbering starts at zero in every incarnation.
        sent_ns: true time of sending.
        stamp_s: the sender's own clock at that moment.
        joints_deg: the pose.
    """

    index: int
    incarnation: int
    seq: int
    sent_ns: int
    stamp_s: float
    joints_deg: JointsDeg


def transmissions(scenario: Scenario) -> Iterator[Sent]:
    """Yield every setpoint of the run, in sending order.

    The sender ticks its nominal period on its own clock, so in true time its period is
    shorter where it is fast. While it is down after a restart it sends nothing; the motion goes
    on meanwhile, since the person's hand does.
    """
    rate_hz = NS_PER_S / scenario.period_ns
    speed = 1.0 + scenario.drift_ppm * 1e-6
    poses = scenario.motion.resample(rate_hz, scenario.duration_s * max(speed, 1.0) + 1.0 / rate_hz)
    starts = [0, *(ns_from_s(restart.at_s) for restart in scenario.restarts)]
    resumes = [0, *(ns_from_s(restart.at_s + restart.gap_s) for restart in scenario.restarts)]
    incarnation, first_tick, index = 0, 0, 0
    for tick, pose in enumerate(poses):
        sent_ns = round(tick * scenario.period_ns / speed)
        if sent_ns >= scenario.duration_ns:
            return
        while incarnation + 1 < len(starts) and sent_ns >= starts[incarnation + 1]:
            incarnation += 1
            first_tick = -1
        if sent_ns < resumes[incarnation]:
            continue
        if first_tick < 0:
            first_tick = tick
        stamp_s = SENDER_CLOCK_OFFSET_S + tick / rate_hz
        yield Sent(index, incarnation, (tick - first_tick) & SEQ_MASK, sent_ns, stamp_s, pose)
        index += 1
