"""Every path that discards queued motion, and what it seals (document 000 §8).

All of them share `discard_all`. What survives a flush is knowledge of the link (the learned
target, the loss and jitter averages); what does not is everything that belonged to the stream.
"""

from steadyhand.core.playout.arrival_health import STAMP_LEAP_S
from steadyhand.core.playout.config import ARRIVING_PERIODS, NUMBERING_JUMP
from steadyhand.core.playout.state import UNKNOWN_CLOCK, PlayoutState
from steadyhand.core.playout.verdicts import Stall, StallCause, StallReport
from steadyhand.ground.seq import SEQ_MODULUS, unwrap
from steadyhand.ground.stamps import NS_PER_S, ms_from_ns


def discard_all(state: PlayoutState) -> None:
    """Empty the queue, restart prefill and liveness, and drop the stream's evidence."""
    state.stats.flushed += len(state.queue)
    state.queue.clear()
    state.queued.clear()
    state.tombstones.clear()
    state.prefilling = True
    state.live = False
    state.underrun_since_ns = None
    state.deepen_ticks = 0
    state.last_drop_ns = None
    state.hole_noted = False
    state.last_released = None
    state.last_release_synthetic = False
    state.depth.discard_evidence()
    state.trim.idle()
    state.arrivals.drop_reference()


def seal_at_newest(state: PlayoutState) -> None:
    """Raise the floor to the newest known number: stragglers from before read too late."""
    if state.newest is not None:
        state.advance_floor(state.newest)


def flush_for_estop(state: PlayoutState, estop_seq: int | None) -> None:
    """Discard the queue because an emergency stop arrived; seal past it where comparable.

    `estop_seq` is the e-stop's number in this queue's own sequence space, or None where it came
    over the other transport: numbers of two spaces do not compare, and sealing with one would
    shut the live stream out.
    """
    discard_all(state)
    if estop_seq is not None:
        newest = state.newest
        number = estop_seq + SEQ_MODULUS if newest is None else unwrap(estop_seq, newest)
        # A number out of nowhere is not believed, not even an e-stop's (R3).
        if newest is None or newest < number <= newest + NUMBERING_JUMP:
            state.newest = number
    seal_at_newest(state)


def flush_lifecycle(state: PlayoutState) -> None:
    """Discard the queue for a new engagement or idle; the numbering goes on.

    Engaging anew is also the consent R3 asks for after a change of numbering.
    """
    discard_all(state)
    seal_at_newest(state)
    state.awaiting_prepare = False
    state.probation.clear()


def forget_numbering(state: PlayoutState) -> None:
    """Discard the queue and every number and stamp: another sender, another clock.

    Where the old numbering was live, the arm was being driven: nothing is released again before
    the stream has been prepared anew (R3).
    """
    state.awaiting_prepare = state.awaiting_prepare or state.live
    discard_all(state)
    state.floor = None
    state.newest = None
    state.numbering_began = None
    state.accepted.clear()
    state.arrivals.forget()
    state.probation.clear()
    state.stepped_clock.clear()


def stall(state: PlayoutState, cause: StallCause, now_ns: int) -> Stall:
    """Give the stream up: take the diagnosis, flush, seal, and tell the node to latch."""
    report = _diagnose(state, cause, now_ns)
    discard_all(state)
    seal_at_newest(state)
    state.stats.stall_estops += 1
    state.last_stall = report
    return Stall(report)


def _diagnose(state: PlayoutState, cause: StallCause, now_ns: int) -> StallReport:
    stats, arrivals, config = state.stats, state.arrivals, state.config
    last_ns = arrivals.last_accepted_ns
    since_ns = state.underrun_since_ns
    return StallReport(
        cause=cause,
        at_ns=now_ns,
        since_last_arrival_ns=None if last_ns is None else now_ns - last_ns,
        empty_for_ns=0 if since_ns is None else now_ns - since_ns,
        span_ms=queue_span_s(state) * 1e3,
        span_limit_ms=state.span_limit_s * 1e3,
        depth=len(state.queue),
        target=state.target,
        loss_pct=arrivals.loss_fraction * 100.0,
        unrepaired_holes=max(0, stats.seq_holes - stats.repaired),
        jitter_ms=arrivals.jitter_s * 1e3,
        late_by_ms=ms_from_ns(arrivals.late_ns),
        late_limit_ms=ms_from_ns(state.target * config.period_ns),
        late_dropped=stats.late_dropped,
        aged_dropped=stats.aged_dropped,
        overflow_dropped=stats.overflow_dropped,
        on_probation=stats.on_probation,
        arriving_within_ns=ARRIVING_PERIODS * config.period_ns,
    )


def queue_span_s(state: PlayoutState) -> float:
    """Sender time from the queue's head to its tail, seconds.

    Across a change of the stamp's source two hosts' clocks would meet; there the distance in
    numbers, at the nominal period, stands in.
    """
    if not state.queue:
        return 0.0
    head, tail = state.queue[0], state.queue[-1]
    if head.clock == tail.clock != UNKNOWN_CLOCK:
        return min(STAMP_LEAP_S, max(0.0, tail.stamp_s - head.stamp_s))
    return (tail.number - head.number) * state.config.period_ns / NS_PER_S
