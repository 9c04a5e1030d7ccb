"""What a playout buffer is told once, at start: its depth, its period, its policies.

Document 000 §11 fixes the keys and what happens at their edges; this file turns the keys into
whole slots and nanoseconds, so that nothing behind it ever sees a NaN or a negative depth.
"""

from __future__ import annotations

import math
from typing import Final

import msgspec

from steadyhand.ground.config import CommunicationConfig
from steadyhand.ground.stamps import NS_PER_MS, NS_PER_S, ms_from_ns

MAX_TARGET_DEPTH: Final = 200
"""Deepest queue anybody gets, in slots: two seconds at 100 Hz is already no teleoperation."""

HIGH_WATER_SLACK: Final = 2
"""Slots above the target that a healthy wobble may use before catch-up drops the oldest."""

AGE_CAP_MARGIN_FLOOR_NS: Final = 200 * NS_PER_MS
"""Least grace on top of the buffer's own delay before a waiting entry counts as stall debris."""

HOLE_AHEAD_FACTOR: Final = 3
"""Buffers of sender time that may lie between head and tail before the queue has a hole in it."""

DEEPEN_SLEW_EVERY: Final = 4
"""A grown target is reached by holding one tick in this many."""

INTERP_MAX_GAP: Final = 3
"""Largest number of missing setpoints that is bridged; more is a jump, counted as true loss."""

ADAPT_WINDOW_NS: Final = NS_PER_S
"""The least depth within each of these windows decides about growing and shrinking."""

ADAPT_GROW_MARGIN: Final = 3
"""A window whose least depth was at or below this nearly underran: deepen."""

ADAPT_SHRINK_CALM_WINDOWS: Final = 10
"""Calm windows in a row before the target gives a slot back, one per further calm window."""

ACTION_EPOCH_RESET_NS: Final = 2 * NS_PER_S
"""Silence after which a number that looks ancient may belong to a restarted sender."""

NUMBERING_JUMP: Final = 1 << 15
"""A jump ahead beyond this is not believed from one datagram (R3)."""

PROBATION_DATAGRAMS: Final = 5
"""Consecutive datagrams of a new numbering that prove it (R3; GStreamer's jitter buffer: five)."""

ARRIVING_PERIODS: Final = 5
"""A stream whose last accepted setpoint is no older than this many periods is still arriving."""

CLOCK_STEP_PACE_NS: Final = 200 * NS_PER_MS
"""How far a run of numbers and stamps may stray from the time that passes and still be a live sender's:
jitter strays less, the burst of a relay's tail more."""

ACCEPTED_MEMORY: Final = 256
"""Numbers of which it is remembered whether they came: the deepest queue and a whole bundle behind it."""

MAX_TOMBSTONES: Final = 1024
"""Bound on the numbers remembered as dropped (R1); a stream that never plays would add them for ever."""

WIRE_DEBUG_MAX_ENTRIES: Final = 64
"""Bound on each debug list in the telemetry frame, however deep the queue is."""


class PlayoutConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Playout settings in slots and nanoseconds. Build it with `from_communication`.

    Attributes:
        period_ns: nominal drain period, cmdT.
        base_depth: target depth in slots, 1..200; also the floor of the adaptive target.
        max_depth: ceiling of the adaptive target; equal to `base_depth` means fixed depth.
        underrun_window_ns: how long a live stream may be empty before the stall; None: for ever.
        clock_trim: whether the drain follows the sender's clock (R2).
        wire_debug: whether health carries the queue ladder and the strip of releases.
        warnings: what was clamped, in words, for the log at start.
    """

    period_ns: int
    base_depth: int
    max_depth: int
    underrun_window_ns: int | None = None
    clock_trim: bool = True
    wire_debug: bool = False
    warnings: tuple[str, ...] = ()

    @classmethod
    def from_communication(cls, communication: CommunicationConfig) -> PlayoutConfig | None:
        """Translate a robot file's `communication` block; None means passthrough, no buffer.

        Passthrough is what a depth of zero slots means: 0, negative and NaN milliseconds, and
        anything that rounds to no slot (document 000 §11).
        """
        period_ns = communication.period_ns
        base_depth = _slots(communication.playout_buffer_ms, period_ns)
        if base_depth == 0:
            return None
        warnings: list[str] = []
        ceiling = _slots(communication.playout_adaptive_max_ms, period_ns)
        for key, slots in (("playout_buffer_ms", base_depth), ("playout_adaptive_max_ms", ceiling)):
            if slots > MAX_TARGET_DEPTH:
                limit_ms = ms_from_ns(MAX_TARGET_DEPTH * period_ns)
                warnings.append(f"{key} clamped to {MAX_TARGET_DEPTH} slots ({limit_ms:g} ms)")
        base_depth = min(base_depth, MAX_TARGET_DEPTH)
        return cls(
            period_ns=period_ns,
            base_depth=base_depth,
            max_depth=max(base_depth, min(ceiling, MAX_TARGET_DEPTH)),
            underrun_window_ns=_window_ns(communication.playout_underrun_estop_after_ms),
            clock_trim=communication.playout_clock_trim,
            wire_debug=communication.playout_wire_debug,
            warnings=tuple(warnings),
        )

    @property
    def adaptive(self) -> bool:
        """Whether the target may leave the base."""
        return self.max_depth > self.base_depth

    def max_age_ns(self, target_depth: int) -> int:
        """Longest wait a queued entry may have and still be sent, nanoseconds.

        The buffer's own delay plus an equal margin (at least 200 ms), stretched by twice the
        adapted depth: healthy waiting (deepening, wobble, concealment) fits inside one buffer
        of grace, and a tighter cap once purged healthy heads (document 000 §5 step 1).
        """
        base_ns = self.base_depth * self.period_ns
        grown_ns = (target_depth - self.base_depth) * self.period_ns
        return base_ns + max(base_ns, AGE_CAP_MARGIN_FLOOR_NS) + 2 * grown_ns

    def describe(self) -> str:
        """One line for the log at start, in the wording operators search for."""
        period_ms = ms_from_ns(self.period_ns)
        return (
            f"Playout buffer on: depth {self.base_depth} ({self.base_depth * period_ms:.0f}ms at "
            f"cmdT {period_ms:.1f}ms), age cap {ms_from_ns(self.max_age_ns(self.base_depth)):.0f}ms"
        )


def _slots(milliseconds: float, period_ns: int) -> int:
    """Whole slots nearest to `milliseconds`, halves up; not-a-number and negatives are none."""
    if math.isnan(milliseconds) or milliseconds <= 0:
        return 0
    slots = milliseconds * NS_PER_MS / period_ns
    return MAX_TARGET_DEPTH + 1 if slots > MAX_TARGET_DEPTH + 0.5 else math.floor(slots + 0.5)


def _window_ns(milliseconds: float) -> int | None:
    """Underrun window in nanoseconds; negative, NaN and infinite mean no stall policy."""
    if math.isnan(milliseconds) or milliseconds < 0 or math.isinf(milliseconds):
        return None
    return round(milliseconds * NS_PER_MS)
