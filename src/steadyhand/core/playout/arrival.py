"""The arrival side: one verdict for each setpoint that comes in (document 000 §4, R1, R3, R6).

The questions come in this order: is the stamp a number, is the numbering
believable, did the sender restart, is it too late, is it already here. Whatever is accepted is
put in sequence order, and what then stands above the high-water mark is dropped from the front.
"""

import math
from collections import deque

import msgspec

from steadyhand.core.playout.arrival_health import SENDER_STALL_PERIODS
from steadyhand.core.playout.config import ACTION_EPOCH_RESET_NS, HIGH_WATER_SLACK, NUMBERING_JUMP
from steadyhand.core.playout.flush import forget_numbering
from steadyhand.core.playout.numbering import Arrival, NumberingStart
from steadyhand.core.playout.state import UNKNOWN_CLOCK, Entry, PlayoutState
from steadyhand.core.playout.verdicts import Offer
from steadyhand.ground.seq import HALF_WINDOW, SEQ_MASK, SEQ_MODULUS, unwrap
from steadyhand.ground.setpoint import Setpoint, StampSource


def offer(
    state: PlayoutState, seq: int, setpoint: Setpoint, now_ns: int, *, is_copy: bool, lateness_ns: int
) -> Offer:
    """Judge one arrival and queue it if it may still be played.

    `is_copy` marks an earlier setpoint that rode along in a later datagram: it is one more
    chance to fill a hole, but no second witness for a new numbering. `lateness_ns` is how much
    later it came than the fastest recent datagram would have brought it; its age starts there.
    """
    state.stats.offered += 1
    leader_s = setpoint.leader_timestamp_s
    stamp_s = setpoint.timestamp_s if leader_s is None else leader_s
    if not math.isfinite(stamp_s):
        state.stats.malformed_ts += 1
        return Offer.MALFORMED
    source = StampSource.BUILD if leader_s is None else StampSource.LEADER
    arrived = Arrival(seq, setpoint, stamp_s, source, now_ns, now_ns - lateness_ns, is_copy)
    newest = state.newest
    if newest is None:
        return _accept(state, seq + SEQ_MODULUS, arrived)
    ahead = (seq - newest) & SEQ_MASK
    if 0 < ahead <= NUMBERING_JUMP:
        # Newer than everything, so above the floor and not queued: the ordinary case.
        return _accept_in_numbering(state, newest + ahead, arrived)
    if 0 < ahead < HALF_WINDOW:
        return _prove_numbering(state, newest + ahead, arrived)
    if _epoch_expired(state, now_ns):
        newer = state.arrivals.is_newer_stamp(stamp_s, source)
        if newer is None:
            return _prove_numbering(state, newest + ahead, arrived)
        if newer:
            return _begin_numbering(state, arrived)
    number = unwrap(seq, newest)
    rejected = _known(state, number, is_copy=is_copy)
    if rejected is not None:
        return _reject(state, rejected)
    return _accept_in_numbering(state, number, arrived)


def screen(state: PlayoutState, seq: int, now_ns: int) -> Offer | None:
    """Answer for a copy by its number alone, before its payload is parsed (R4).

    Returns TOO_LATE or DUPLICATE, counted as an arrival, or None: parse it and `offer` it.
    """
    newest = state.newest
    if newest is None or _epoch_expired(state, now_ns):
        return None
    number = unwrap(seq, newest)
    if number > newest:
        return None
    rejected = _known(state, number, is_copy=True)
    if rejected is None:
        return None
    state.stats.offered += 1
    return _reject(state, rejected)


def _known(state: PlayoutState, number: int, *, is_copy: bool) -> Offer | None:
    """TOO_LATE at or below the floor; DUPLICATE where queued, or dropped by us before.

    A copy of what came in before is a duplicate also below the floor (R4): it missed nothing. Only a
    copy of what never came was late.
    """
    floor = state.floor
    if floor is not None and number <= floor:
        return Offer.DUPLICATE if is_copy and number in state.accepted else Offer.TOO_LATE
    if number in state.queued or number in state.tombstones:
        return Offer.DUPLICATE
    return None


def _reject(state: PlayoutState, verdict: Offer) -> Offer:
    if verdict is Offer.DUPLICATE:
        state.stats.duplicate_dropped += 1
    else:
        state.stats.late_dropped += 1
    return verdict


def _epoch_expired(state: PlayoutState, now_ns: int) -> bool:
    """Nothing was *accepted* for two seconds; rejected arrivals do not break the silence (R3)."""
    last_ns = state.arrivals.last_accepted_ns
    return last_ns is not None and now_ns - last_ns >= ACTION_EPOCH_RESET_NS


def _prove_numbering(state: PlayoutState, number: int, arrived: Arrival) -> Offer:
    """Believe a numbering from nowhere only after five datagrams in a row, each newer (R3)."""
    if not arrived.is_copy:
        newer = state.arrivals.is_newer_stamp(arrived.stamp_s, arrived.source)
        if newer is False:
            if _clock_stepped_back(state, number, arrived):
                return _begin_on_stepped_clock(state, arrived)
        elif state.probation.proven_by(arrived):
            return _begin_numbering(state, arrived)
    state.stats.on_probation += 1
    return Offer.ON_PROBATION


def _begin_numbering(state: PlayoutState, arrived: Arrival) -> Offer:
    """Flush the dead numbering and queue this entry as the first of the new one (R3)."""
    forget_numbering(state)
    state.stats.epoch_resets += 1
    number = arrived.seq + SEQ_MODULUS
    state.numbering_began = NumberingStart(number, arrived.stamp_s, arrived.source)
    _accept(state, number, arrived)
    return Offer.EPOCH_RESET


def _begin_on_stepped_clock(state: PlayoutState, arrived: Arrival) -> Offer:
    """Begin anew; its lateness was measured against the clock that is no more."""
    state.stats.clock_steps += 1
    return _begin_numbering(state, msgspec.structs.replace(arrived, due_ns=arrived.now_ns))


def _accept_in_numbering(state: PlayoutState, number: int, arrived: Arrival) -> Offer:
    """Accept, unless its stamp says that it was sent before this numbering began."""
    began, arrivals = state.numbering_began, state.arrivals
    if began is None or not began.comes_after(number, arrived, arrivals.period_s):
        return _accept(state, number, arrived)
    if not arrived.is_copy and _clock_stepped_back(state, number, arrived):
        return _begin_on_stepped_clock(state, arrived)
    return _reject(state, Offer.TOO_LATE)


def _clock_stepped_back(state: PlayoutState, number: int, arrived: Arrival) -> bool:
    """Whether the sender's clock was set back behind the beginning of its numbering (R3).

    After two seconds in which nothing was accepted, a sender that has gone on with its numbers at
    its pace is believed again, as a new numbering.
    """
    newest = state.newest
    return newest is not None and state.stepped_clock.believed_with(
        number,
        arrived,
        newest=newest,
        last_accepted_ns=state.arrivals.last_accepted_ns,
        period_ns=state.config.period_ns,
    )


def _accept(state: PlayoutState, number: int, arrived: Arrival) -> Offer:
    """Put an entry in sequence order, keep the books, and bound the queue."""
    arrivals, queue, now_ns, due_ns = state.arrivals, state.queue, arrived.now_ns, arrived.due_ns
    if not queue or due_ns < state.oldest_due_ns:
        state.oldest_due_ns = due_ns
    newest = state.newest
    verdict = Offer.QUEUED if newest is None or number > newest else Offer.REPAIRED
    repaired = verdict is Offer.REPAIRED
    if not repaired:
        _note_newest(state, number, arrived)
    same_clock = not repaired or arrived.source is arrivals.newest_source
    clock = arrivals.clock if same_clock else UNKNOWN_CLOCK
    entry = Entry(number, arrived.setpoint, arrived.stamp_s, now_ns, due_ns, clock, repaired)
    if repaired:
        state.stats.repaired += 1
        _insert(queue, entry)
    else:
        queue.append(entry)
    state.queued.add(number)
    state.accepted.add(number)
    arrivals.last_accepted_ns = now_ns
    state.probation.candidate_seq = None
    state.stepped_clock.datagrams = 0
    if len(queue) > state.target + HIGH_WATER_SLACK:
        # A burst after a stall shortens the queue to the freshest instead of building a standing lag.
        state.drop_down_to_target(now_ns)
    return verdict


def _note_newest(state: PlayoutState, number: int, arrived: Arrival) -> None:
    """Fold the newest arrival into loss, spacing and jitter; a repair is judged by its hole."""
    arrivals, stats, newest = state.arrivals, state.stats, state.newest
    clock = arrivals.clock
    spacing_s = arrivals.note_arrival(arrived.stamp_s, arrived.source, arrived.now_ns)
    stats.stamp_source_changes += clock != arrivals.clock and newest is not None
    state.newest = number
    arrivals.late_ns = arrived.now_ns - arrived.due_ns
    missing = 0 if newest is None else number - newest - 1
    if arrivals.loss_fraction or missing:
        arrivals.note_gap(missing)
    stats.seq_holes += missing
    if spacing_s is None:
        return
    if spacing_s < 0.0:
        stats.nonmonotonic_ts += 1
    elif missing == 0 and spacing_s > SENDER_STALL_PERIODS * arrivals.period_s:
        stats.sender_stalls += 1


def _insert(queue: deque[Entry], entry: Entry) -> None:
    """Slot a reordered entry in from the tail: reordering is shallow, depth may not be."""
    position = len(queue)
    while position and queue[position - 1].number > entry.number:
        position -= 1
    queue.insert(position, entry)
