"""When each setpoint leaves: an absolute grid at the action rate, in the thread of whoever leads."""

import time
from collections.abc import Callable
from typing import Final

import msgspec

from steadyhand.edge.clock import SYSTEM_CLOCK, MonotonicClock
from steadyhand.edge.pacer import Pacer
from steadyhand.ground.stamps import s_from_ns

CATCH_UP_PERIODS: Final = 2
"""One less than what the operator's gate takes for backlog (document 000 §11: three)."""


class Due(msgspec.Struct):
    """A pacer's grid whose owner sets every slot."""

    due_ns: int = 0


class PaceReport(msgspec.Struct, frozen=True, kw_only=True):
    """How punctual it was.

    Attributes:
        late_p99_us: by how much a slot was missed at most in 99 % of them, µs.
        late_max_us: at most.
        lost_slots: how many passed unused, because whoever leads was late by more than two periods.
    """

    late_p99_us: float
    late_max_us: float
    lost_slots: int


class Pace:
    """Waits for slot after slot. The first is now.

    A leader that was held up for a moment uses its slots at once: a setpoint that is missing from the
    follower's queue would be made up for by the clock trim only, half a percent at a time. One that is
    late by more than that begins the grid anew, and its poses simply come that much later: none is left
    out, since leaving some out would be a jump.
    """

    def __init__(self, period_ns: int, clock: MonotonicClock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._period_ns = period_ns
        self._next_ns = clock.now_ns()
        self._due = Due()
        self._pacer = Pacer(self._due, clock=clock, spin_ns=0)
        self._lost_slots = 0

    def wait(self) -> int:
        """Until the next slot; its time, which is when its setpoint counts as built."""
        self._due.due_ns = self._next_ns
        self._pacer.wait(())
        lost = slots_over(self._clock.now_ns() - self._next_ns, self._period_ns)
        if lost:
            self._lost_slots += lost
            self._next_ns = self._clock.now_ns()
        slot_ns = self._next_ns
        self._next_ns += self._period_ns
        return slot_ns

    def report(self) -> PaceReport:
        """So far."""
        late = self._pacer.lateness.summary()
        return PaceReport(late_p99_us=late.p99_us, late_max_us=late.max_us, lost_slots=self._lost_slots)


def slots_over(late_ns: int, period_ns: int) -> int:
    """How many slots, the one that is due included, are too late to be led.

    What a short hold-up kept back is sent at once; what is older the operator's own gate would drop
    (document 000 §11).
    """
    return 0 if late_ns <= CATCH_UP_PERIODS * period_ns else late_ns // period_ns


class SteadyWallClock:
    """Wall time that no synchronisation steps: read once, carried on by the monotonic clock.

    The follower compares a sender's stamps with each other and takes none that is older than the
    newest, so a wall clock that is set back by an hour would silence its sender for an hour. Slewing
    moves both clocks alike; only a step parts them, and a step changes no more than a displayed
    latency here.
    """

    def __init__(self, clock: MonotonicClock = SYSTEM_CLOCK, wall_s: Callable[[], float] = time.time) -> None:
        self._offset_s = wall_s() - s_from_ns(clock.now_ns())

    def at_s(self, now_ns: int) -> float:
        """Wall time at a moment of the monotonic clock."""
        return self._offset_s + s_from_ns(now_ns)
