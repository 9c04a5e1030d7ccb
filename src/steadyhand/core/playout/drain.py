"""The drain: one tick, one verdict, by a ladder read from top to bottom (document 000 §5).

A rule takes the state and the time and returns a verdict or None; the first verdict wins. Rules
marked *housekeeping* change the state and never decide. `docs/rules/playout.md` is generated
from this ladder and its docstrings.
"""

from collections.abc import Callable
from typing import Final

from steadyhand.core.playout.conceal import synthetic_between
from steadyhand.core.playout.config import DEEPEN_SLEW_EVERY, HIGH_WATER_SLACK, INTERP_MAX_GAP
from steadyhand.core.playout.flush import queue_span_s, stall
from steadyhand.core.playout.state import PlayoutState
from steadyhand.core.playout.verdicts import HOLDS, DrainTick, Hold, HoldReason, Release, Stall, StallCause
from steadyhand.ground.seq import SEQ_MASK

Rule = Callable[[PlayoutState, int], DrainTick | None]


def purge_aged(state: PlayoutState, now_ns: int) -> DrainTick | None:
    """Housekeeping. An entry that waited longer than the age cap is discarded, never sent.

    The cap is the buffer's own delay plus an equal margin (at least 200 ms), stretched with an
    adapted target: whatever waited longer is debris of a stall. Waiting counts from when the
    fastest recent datagram would have brought the entry, so that time spent standing still inside
    the network counts too. This is the direct rule against replay. Source: document 000 §5 step 1;
    tombstones by R1; waiting inside the network by decision 0003.
    """
    queue = state.queue
    if not queue:
        return None
    oldest_allowed_ns = now_ns - state.max_age_ns
    if state.oldest_due_ns >= oldest_allowed_ns:
        return None
    # The bound is stale or something is over age: look at every entry once, and renew the bound.
    kept = [entry for entry in queue if entry.due_ns >= oldest_allowed_ns]
    if len(kept) < len(queue):
        for entry in queue:
            if entry.due_ns < oldest_allowed_ns:
                state.queued.discard(entry.number)
                state.bury(entry.number, now_ns)
                state.stats.aged_dropped += 1
        queue.clear()
        queue.extend(kept)
    state.oldest_due_ns = min([entry.due_ns for entry in kept], default=now_ns)
    return None


def sample_depth(state: PlayoutState, now_ns: int) -> DrainTick | None:
    """Housekeeping. Each live tick feeds the queue's depth to the depth policy.

    Idle and prefill ticks feed nothing, so that a stream that is not playing never adapts on
    noise. Source: document 000 §5 step 2 and §6; shrinking waits for the mean depth by R2.
    """
    if state.live and not state.prefilling:
        state.depth.sample(len(state.queue), state.trim.mean_depth, now_ns)
        if state.depth.target != state.target:
            state.retarget()
    return None


def prepare_gate(state: PlayoutState, now_ns: int) -> DrainTick | None:
    """After the numbering changed under a live stream, hold until the stream is prepared anew.

    A restarted sender is not the person who was leading a moment ago until somebody says so.
    Source: R3.
    """
    if not state.awaiting_prepare:
        return None
    return _hold(state, HoldReason.AWAITING_PREPARE)


def prefill_gate(state: PlayoutState, now_ns: int) -> DrainTick | None:
    """Draining starts only once the depth has reached the target, at start and after emptiness.

    A queue that starts at depth one has no slack for the next late packet; one that starts on the
    front of a burst still landing would leap over what follows, so a head that came late is let go
    by first. A new stream whose head came late starts at the target exactly: what is dropped before
    its first release is no leap, and the burst's last entries find room. A tick with nothing to
    release after the stream was live runs the underrun policy: hold, and when the configured window
    is over, flush and stall. Source: document 000 §5 step 3; the burst by decisions 0003 and 0004.
    """
    depth = len(state.queue)
    if state.prefilling:
        if depth < state.target or _burst_is_landing(state, now_ns):
            return _underrun_tick(state, now_ns)
        state.prefilling = False
        if not state.live and _head_came_late(state):
            state.drop_down_to_target(now_ns)
    elif depth == 0:
        state.prefilling = True
        return _underrun_tick(state, now_ns)
    return None


def hole_ahead(state: PlayoutState, now_ns: int) -> DrainTick | None:
    """A queue that spans more than three buffers of sender time has a hole: stop before it.

    Releasing the head would walk the arm into a jump across the hole. With the stall policy off
    the release goes on, counted once a hole. Source: document 000 §5 step 4.
    """
    if queue_span_s(state) <= state.span_limit_s:
        state.hole_noted = False
        return None
    if state.config.underrun_window_ns is not None:
        state.stats.hole_aheads += 1
        return stall(state, StallCause.HOLE_AHEAD, now_ns)
    if not state.hole_noted:
        state.hole_noted = True
        state.stats.hole_aheads += 1
    return None


def deepening_hold(state: PlayoutState, now_ns: int) -> DrainTick | None:
    """A grown target is reached by holding one tick in four, while the deficit is above two.

    Depth climbs by a quarter of real time without the stream ever pausing. Once the target has been
    reached, a dip of the depth is jitter, and holding for it again would only push the queue over
    its high-water mark. Source: document 000 §5 step 5.
    """
    deficit = state.target - len(state.queue)
    if deficit <= 0:
        state.deepening = False
    if not state.deepening or deficit <= HIGH_WATER_SLACK:
        state.deepen_ticks = 0
        return None
    state.trim.idle()
    state.deepen_ticks += 1
    if state.deepen_ticks % DEEPEN_SLEW_EVERY:
        return None
    state.stats.deepening_holds += 1
    return _hold(state, HoldReason.DEEPENING)


def conceal_hole(state: PlayoutState, now_ns: int) -> DrainTick | None:
    """A hole of at most three missing setpoints is bridged, one tagged synthetic a tick.

    Decided anew each tick, so that a straggler before its slot still plays for real. What the
    buffer itself dropped is stepped over, never bridged. Source: document 000 §5 step 6; R1.
    """
    last, floor = state.last_released, state.floor
    if last is None or floor is None:
        return None
    head = state.queue[0]
    if head.number == floor + 1:
        return None
    missing = state.missing_before(head.number)
    if not 0 < missing <= INTERP_MAX_GAP:
        return None
    synthetic = synthetic_between(last, head.setpoint, missing)
    if synthetic is None:
        return None
    number = floor + 1
    while number in state.tombstones:
        number += 1
    state.stats.interpolated += 1
    state.stats.concealment_events += not state.last_release_synthetic
    return _released(state, number, Release(synthetic, number & SEQ_MASK, True, 0), now_ns)


def pop_head(state: PlayoutState, now_ns: int) -> DrainTick | None:
    """Release the head; what the cursor crosses unfilled, and unburied, is true loss.

    Source: document 000 §5 step 7; waiting time by R5.
    """
    entry = state.queue.popleft()
    state.queued.discard(entry.number)
    stats = state.stats
    if state.live:
        stats.lost_at_release += state.missing_before(entry.number)
    stats.released += 1
    wait_ns = now_ns - entry.arrival_ns
    state.waits.note(wait_ns, now_ns)
    release = Release(entry.setpoint, entry.number & SEQ_MASK, False, wait_ns)
    return _released(state, entry.number, release, now_ns)


DRAIN_LADDER: Final[tuple[Rule, ...]] = (
    purge_aged,
    sample_depth,
    prepare_gate,
    prefill_gate,
    hole_ahead,
    deepening_hold,
    conceal_hole,
    pop_head,
)


def drain_tick(state: PlayoutState, now_ns: int) -> DrainTick:
    """Walk the ladder; the first verdict wins."""
    for rule in DRAIN_LADDER:
        verdict = rule(state, now_ns)
        if verdict is not None:
            return verdict
    raise RuntimeError("the last rule of the drain ladder always decides")


def _underrun_tick(state: PlayoutState, now_ns: int) -> Hold | Stall:
    """Hold; after a live stream count it, and escalate once the window is over.

    Initial prefill never escalates: the stream must have released something first.
    """
    if not state.live:
        return HOLDS[HoldReason.PREFILL]
    if state.underrun_since_ns is None:
        state.underrun_since_ns = now_ns
        state.stats.underrun_episodes += 1
    window_ns = state.config.underrun_window_ns
    if window_ns is not None and now_ns - state.underrun_since_ns >= window_ns:
        state.stats.hold_ticks += 1
        return stall(state, StallCause.UNDERRUN, now_ns)
    return _hold(state, HoldReason.UNDERRUN)


def _burst_is_landing(state: PlayoutState, now_ns: int) -> bool:
    """Whether the head came late, and is older than a full queue's head or something was just dropped."""
    if not _head_came_late(state):
        return False
    period_ns, dropped_ns = state.config.period_ns, state.last_drop_ns
    too_old = now_ns - state.queue[0].due_ns > (state.target + HIGH_WATER_SLACK) * period_ns
    return too_old or (dropped_ns is not None and now_ns - dropped_ns <= period_ns)


def _head_came_late(state: PlayoutState) -> bool:
    """Whether the head stood still in the network for longer than a healthy wobble."""
    head = state.queue[0]
    return head.arrival_ns - head.due_ns > HIGH_WATER_SLACK * state.config.period_ns


def _hold(state: PlayoutState, reason: HoldReason) -> Hold:
    """Count a tick in which a stream that was live moves nothing, and idle the trim."""
    state.stats.hold_ticks += state.live
    state.trim.idle()
    return HOLDS[reason]


def _released(state: PlayoutState, number: int, release: Release, now_ns: int) -> Release:
    """Advance the cursor to `number` and keep what the next tick needs."""
    if state.tombstones:
        state.advance_floor(number)
    state.floor = number
    state.live = True
    state.underrun_since_ns = None
    state.last_released = release.setpoint
    state.last_release_synthetic = release.synthetic
    state.last_release_ns = now_ns
    if not state.deepen_ticks:
        state.trim.sample(len(state.queue), state.target, now_ns)
    if state.config.wire_debug:
        state.recent_releases.append((release.seq, release.synthetic))
    return release
