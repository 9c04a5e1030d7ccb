"""The telemetry surface: a live health snapshot and the queue on the wire (document 000 §9)."""

from typing import Any

import msgspec

from steadyhand.core.playout.arrival_health import STAMP_LEAP_S
from steadyhand.core.playout.config import ARRIVING_PERIODS, HIGH_WATER_SLACK, WIRE_DEBUG_MAX_ENTRIES
from steadyhand.core.playout.flush import queue_span_s
from steadyhand.core.playout.state import PlayoutState
from steadyhand.ground.seq import SEQ_MASK
from steadyhand.ground.stamps import ms_from_ns


class QueueWait(msgspec.Struct, frozen=True):
    """Measured waiting time of the released setpoints of the last ten seconds (R5)."""

    p50: float
    p99: float


class PlayoutHealth(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=False):
    """What `extras["playout"]` carries on every telemetry frame.

    Names are document 000's; `queue_wait_ms` is R5's, `clock_trim_ppm` R2's, the probation,
    session and prepare fields R3's. Times are milliseconds. `loss_pct` averages the gaps seen at
    append, loss and reordering together; true loss is `seq_holes − repaired`. `held_back` says
    why nothing is played although setpoints arrive (decision 0003), and is left out otherwise.
    """

    depth: int
    target_depth: int
    target_ms: float
    min_ms: float
    max_ms: float
    prefilling: bool
    holding: bool
    awaiting_prepare: bool
    jitter_ms: float
    loss_pct: float
    span_ms: float
    release_age_ms: float | None
    queue_wait_ms: QueueWait | None
    clock_trim_ppm: float
    last_stall: str | None
    counters: dict[str, int]
    held_back: str | None = None
    entries: list[tuple[int, float, bool]] | None = None
    releases: list[tuple[int, bool]] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Flat JSON object: the counters stand beside the rest, what is absent is left out."""
        fields: dict[str, Any] = dict(msgspec.to_builtins(self))
        counters = fields.pop("counters")
        for name in ("held_back", "entries", "releases"):
            if fields[name] is None:
                del fields[name]
        fields.update(counters)
        return fields


def health(state: PlayoutState, now_ns: int) -> PlayoutHealth:
    """Take the snapshot. Pure: asking changes nothing."""
    config, target = state.config, state.target
    release_ns = state.last_release_ns
    return PlayoutHealth(
        depth=len(state.queue),
        target_depth=target,
        target_ms=ms_from_ns(target * config.period_ns),
        min_ms=ms_from_ns(config.base_depth * config.period_ns),
        max_ms=ms_from_ns(config.max_depth * config.period_ns),
        prefilling=state.prefilling,
        holding=state.underrun_since_ns is not None,
        awaiting_prepare=state.awaiting_prepare,
        jitter_ms=state.arrivals.jitter_s * 1e3,
        loss_pct=state.arrivals.loss_fraction * 100.0,
        span_ms=queue_span_s(state) * 1e3,
        release_age_ms=None if release_ns is None else ms_from_ns(now_ns - release_ns),
        queue_wait_ms=queue_wait(state, now_ns),
        clock_trim_ppm=state.trim.ppm,
        last_stall=None if state.last_stall is None else state.last_stall.why(),
        counters=msgspec.to_builtins(state.stats),
        held_back=held_back(state, now_ns),
        entries=_ladder(state) if config.wire_debug else None,
        releases=list(state.recent_releases) if config.wire_debug else None,
    )


def queue_wait(state: PlayoutState, now_ns: int) -> QueueWait | None:
    """Release minus arrival on one clock; None without a release in the last ten seconds (R5)."""
    waits = state.waits.quantiles_ms((0.50, 0.99), now_ns)
    return None if waits is None else QueueWait(*waits)


def held_back(state: PlayoutState, now_ns: int) -> str | None:
    """Tell why prefill plays nothing although enough setpoints arrive: they come late; else None."""
    period_ns, late_ns = state.config.period_ns, state.arrivals.late_ns
    accepted_ns, dropped_ns = state.arrivals.last_accepted_ns, state.last_drop_ns
    arriving_ns = ARRIVING_PERIODS * period_ns
    if not state.prefilling or accepted_ns is None or now_ns - accepted_ns > arriving_ns:
        return None
    dropping = dropped_ns is not None and now_ns - dropped_ns <= arriving_ns
    if late_ns <= HIGH_WATER_SLACK * period_ns or not (dropping or len(state.queue) >= state.target):
        return None
    return f"setpoints arrive {ms_from_ns(late_ns):.0f} ms late; none is played until they come in time"


def _ladder(state: PlayoutState) -> list[tuple[int, float, bool]]:
    """Oldest first: (seq, milliseconds of sender time behind the newest, arrived as a repair)."""
    newest_s = state.arrivals.newest_stamp_s
    ladder: list[tuple[int, float, bool]] = []
    for entry in state.queue:
        if len(ladder) == WIRE_DEBUG_MAX_ENTRIES:
            break
        behind_s = newest_s - entry.stamp_s if entry.clock == state.arrivals.clock else 0.0
        behind_s = max(-STAMP_LEAP_S, min(STAMP_LEAP_S, behind_s))
        ladder.append((entry.number & SEQ_MASK, behind_s * 1e3, entry.repaired))
    return ladder
