"""When each setpoint leaves: an absolute grid at the action rate, in the thread of whoever leads."""

import time
from collections.abc import Callable

import msgspec

from steadyhand.edge.clock import SYSTEM_CLOCK, MonotonicClock
from steadyhand.edge.pacer import Pacer, SnapGrid
from steadyhand.ground.stamps import s_from_ns


class PaceReport(msgspec.Struct, frozen=True, kw_only=True):
    """How punctual it was.

    Attributes:
        late_p99_us: by how much a slot was missed at most in 99 % of them, µs.
        late_max_us: at most.
        lost_slots: how many passed unused, because whoever leads was late by more than a period.
    """

    late_p99_us: float
    late_max_us: float
    lost_slots: int


class Pace:
    """Waits for slot after slot. The first is now.

    A leader that is late by more than a period begins the grid anew, and its poses simply come that
    much later: none is left out, since leaving some out would be a jump.
    """

    def __init__(self, period_ns: int, clock: MonotonicClock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._grid = SnapGrid(period_ns=period_ns, first_ns=clock.now_ns())
        self._pacer = Pacer(self._grid, clock=clock, spin_ns=0)

    def wait(self) -> int:
        """Until the next slot; the time."""
        self._pacer.wait(())
        now_ns = self._clock.now_ns()
        self._grid.advance(now_ns)
        return now_ns

    def report(self) -> PaceReport:
        """So far."""
        late = self._pacer.lateness.summary()
        return PaceReport(late_p99_us=late.p99_us, late_max_us=late.max_us, lost_slots=self._grid.lost_slots)


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
