"""What the buffer remembers: the queue, the floor, and where every arrival went."""

from collections import deque
from typing import Final

import msgspec

from steadyhand.core.playout.arrival_health import ArrivalHealth
from steadyhand.core.playout.config import (
    HIGH_WATER_SLACK,
    HOLE_AHEAD_FACTOR,
    MAX_TOMBSTONES,
    WIRE_DEBUG_MAX_ENTRIES,
    PlayoutConfig,
)
from steadyhand.core.playout.depth import DepthPolicy, depth_policy_for
from steadyhand.core.playout.numbering import AcceptedNumbers, NumberingStart, Probation, SteppedClock
from steadyhand.core.playout.trim import ClockTrim
from steadyhand.core.playout.verdicts import StallReport
from steadyhand.core.playout.waits import WaitWindow
from steadyhand.ground.setpoint import Setpoint
from steadyhand.ground.stamps import NS_PER_S

UNKNOWN_CLOCK: Final = -1
"""Of a repair whose stamp is of another source than the newest's: it compares with nothing."""


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One queued setpoint.

    Attributes:
        number: unwrapped sequence number.
        setpoint: the value, verbatim.
        stamp_s: its sender stamp, taken out once.
        arrival_ns: local monotonic time of arrival.
        due_ns: when the fastest recent datagram would have brought it; age counts from here.
        clock: which run of one stamp source it belongs to; stamps compare only within one.
        repaired: whether it arrived behind a newer one.
    """

    number: int
    setpoint: Setpoint
    stamp_s: float
    arrival_ns: int
    due_ns: int
    clock: int
    repaired: bool


class PlayoutStats(msgspec.Struct, kw_only=True):
    """Cumulative account. Every arrival ends in exactly one of the first ten (R6).

    `offered` = released + late_dropped + duplicate_dropped + overflow_dropped + aged_dropped +
    flushed + malformed_ts + on_probation + retired_session + still queued.
    """

    offered: int = 0
    released: int = 0
    late_dropped: int = 0
    duplicate_dropped: int = 0
    overflow_dropped: int = 0
    aged_dropped: int = 0
    flushed: int = 0
    malformed_ts: int = 0
    on_probation: int = 0
    retired_session: int = 0
    repaired: int = 0
    seq_holes: int = 0
    lost_at_release: int = 0
    interpolated: int = 0
    concealment_events: int = 0
    hold_ticks: int = 0
    deepening_holds: int = 0
    sender_stalls: int = 0
    nonmonotonic_ts: int = 0
    stamp_source_changes: int = 0
    epoch_resets: int = 0
    clock_steps: int = 0
    underrun_episodes: int = 0
    stall_estops: int = 0
    hole_aheads: int = 0

    def accounted(self) -> int:
        """Arrivals that have left the queue, by whichever way."""
        return (
            self.released
            + self.late_dropped
            + self.duplicate_dropped
            + self.overflow_dropped
            + self.aged_dropped
            + self.flushed
            + self.malformed_ts
            + self.on_probation
            + self.retired_session
        )


class PlayoutState:
    """All mutable state of one buffer; the rules in `arrival`, `drain` and `flush` act on it.

    Numbers are unwrapped integers. `floor` is the newest number released or sealed past,
    `newest` the newest number accepted in this numbering; both None before the first arrival
    of a numbering.
    """

    __slots__ = (
        "accepted",
        "arrivals",
        "awaiting_prepare",
        "config",
        "deepen_ticks",
        "deepening",
        "depth",
        "floor",
        "hole_noted",
        "last_drop_ns",
        "last_release_ns",
        "last_release_synthetic",
        "last_released",
        "last_stall",
        "live",
        "max_age_ns",
        "newest",
        "numbering_began",
        "oldest_due_ns",
        "prefilling",
        "probation",
        "queue",
        "queued",
        "recent_releases",
        "span_limit_s",
        "stats",
        "stepped_clock",
        "target",
        "tombstones",
        "trim",
        "underrun_since_ns",
        "waits",
    )

    def __init__(self, config: PlayoutConfig) -> None:
        """Start empty and prefilling."""
        self.config = config
        self.stats = PlayoutStats()
        self.queue: deque[Entry] = deque()
        self.queued: set[int] = set()
        self.tombstones: set[int] = set()
        self.floor: int | None = None
        self.newest: int | None = None
        self.numbering_began: NumberingStart | None = None
        """Set where a dead numbering came before: its stragglers are told by their stamps."""
        self.oldest_due_ns = 0
        """Never later than the oldest due time in the queue; exact only after a purge."""
        self.accepted = AcceptedNumbers()
        self.probation = Probation()
        self.stepped_clock = SteppedClock()
        self.arrivals = ArrivalHealth(config.period_ns)
        self.depth: DepthPolicy = depth_policy_for(config)
        self.deepening = False
        """Whether a grown target is still being reached."""
        self.target = config.base_depth
        self.retarget()
        self.trim = ClockTrim(config.period_ns, enabled=config.clock_trim)
        self.prefilling = True
        self.live = False
        """Whether something was released since the last flush."""
        self.awaiting_prepare = False
        """Whether the numbering changed under a live stream, so that it must be engaged anew."""
        self.underrun_since_ns: int | None = None
        self.deepen_ticks = 0
        self.last_drop_ns: int | None = None
        """When overflow or age last dropped something."""
        self.hole_noted = False
        self.last_released: Setpoint | None = None
        self.last_release_synthetic = False
        self.last_release_ns: int | None = None
        self.last_stall: StallReport | None = None
        self.waits = WaitWindow()
        self.recent_releases: deque[tuple[int, bool]] = deque(maxlen=WIRE_DEBUG_MAX_ENTRIES)

    def retarget(self) -> None:
        """Take the policy's target over, with the bounds that hang on it.

        They are asked for every tick and change a few times an hour.
        """
        config, target = self.config, self.depth.target
        if target > self.target:
            self.deepening = target - len(self.queue) > HIGH_WATER_SLACK
        elif target == config.base_depth:
            self.deepening = False
        self.target = target
        self.max_age_ns = config.max_age_ns(target)
        self.span_limit_s = HOLE_AHEAD_FACTOR * target * config.period_ns / NS_PER_S

    def missing_before(self, number: int) -> int:
        """Count the numbers between the floor and `number` that are truly missing.

        R1: what the buffer itself dropped has a tombstone and is not missing.
        """
        if self.floor is None:
            return 0
        gap = number - self.floor - 1
        if gap <= 0 or not self.tombstones:
            return max(gap, 0)
        floor = self.floor
        return gap - len([t for t in self.tombstones if floor < t < number])

    def bury(self, number: int, now_ns: int) -> None:
        """Leave a tombstone where the buffer dropped a queued entry (R1)."""
        self.tombstones.add(number)
        self.last_drop_ns = now_ns
        if len(self.tombstones) > MAX_TOMBSTONES:
            self._seal_oldest_tombstones()

    def drop_down_to_target(self, now_ns: int) -> None:
        """Catch up: drop the oldest, leaving tombstones (R1), counted as overflow."""
        queue, target = self.queue, self.target
        while len(queue) > target:
            dropped = queue.popleft()
            self.queued.discard(dropped.number)
            self.bury(dropped.number, now_ns)
            self.stats.overflow_dropped += 1

    def advance_floor(self, number: int) -> None:
        """Move the floor up to `number` and forget the tombstones it has passed."""
        self.floor = number
        if self.tombstones:
            self.tombstones = {t for t in self.tombstones if t > number}

    def _seal_oldest_tombstones(self) -> None:
        """Bound the memory of a stream that never plays: seal past the older half."""
        oldest = sorted(self.tombstones)[MAX_TOMBSTONES // 2]
        if self.floor is None or oldest > self.floor:
            self.advance_floor(oldest)
