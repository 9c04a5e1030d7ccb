"""When the next tick is due, and how to be there on time while watching sockets.

Two grids, both absolute, so that lateness never adds up (a loop that sleeps a period after its
work drifts; one that makes up for a stall bursts):

* `SnapGrid` for loops that control: late by more than a period, it snaps to now, because the slots
  in between belong to a moment that is over. Counted.
* `KeptGrid` for telemetry: it keeps its grid for ever and skips the slots it missed. Counted.

`Pacer` waits for a grid's next slot: asleep in one `select` until shortly before it, awake on the
clock for the rest. `select`, because its time-out has microseconds where epoll's rounds to
milliseconds. The wake of a sleeping process is late by tens to hundreds of µs, a spin by one reading
of the clock. What arrives during the spin is read after the tick: those µs belong to the tick, and
a flood cannot take them.
"""

import select
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from steadyhand.edge.clock import SYSTEM_CLOCK, MonotonicClock
from steadyhand.edge.lateness import LatenessHistogram
from steadyhand.ground.stamps import NS_PER_S

SPIN_NS: Final = 200_000
"""How long before the slot the pacer stops sleeping. Measured: see `docs/doctor.md`."""

Watched = Sequence[Any]
Select = Callable[[Watched, Watched, Watched, float], tuple[list[Any], list[Any], list[Any]]]
"""`select.select`: readable, writable, exceptional, seconds."""


class Grid(Protocol):
    """Anything that says when the next slot is due."""

    due_ns: int


class SnapGrid:
    """The grid of a control loop: absolute, and snapping to now when late by more than a period.

    Attributes:
        period_ns: distance of two slots.
        due_ns: the next slot.
        snaps: how often it snapped.
        lost_slots: how many slots passed unused by that.
    """

    def __init__(self, *, period_ns: int, first_ns: int) -> None:
        self.period_ns = _positive(period_ns)
        self.due_ns = first_ns
        self.snaps = 0
        self.lost_slots = 0

    def advance(self, now_ns: int) -> None:
        """The slot was used: on to the next one of the grid."""
        self.schedule(self.due_ns + self.period_ns, now_ns)

    def schedule(self, next_ns: int, now_ns: int) -> None:
        """On to the slot the core asked for (R2 trims the period), unless that is long past.

        Behind by up to a period the slot stays where it is and is used at once; behind by more, the
        grid starts anew from now.
        """
        behind_ns = now_ns - next_ns
        if behind_ns > self.period_ns:
            self.snaps += 1
            self.lost_slots += behind_ns // self.period_ns
            next_ns = now_ns
        self.due_ns = next_ns


class KeptGrid:
    """The grid of telemetry: the first slot and the period fix every slot for ever.

    Attributes:
        period_ns: distance of two slots.
        due_ns: the next slot.
        skipped_slots: how many passed unused.
    """

    def __init__(self, *, period_ns: int, first_ns: int) -> None:
        self.period_ns = _positive(period_ns)
        self.due_ns = first_ns
        self.skipped_slots = 0

    def advance(self, now_ns: int) -> None:
        """The slot was used: on to the first one of the grid that is still to come."""
        self.due_ns += self.period_ns
        if now_ns >= self.due_ns:
            missed = (now_ns - self.due_ns) // self.period_ns + 1
            self.skipped_slots += missed
            self.due_ns += missed * self.period_ns


class Pacer:
    """Waits for a grid's next slot while watching for readable file descriptors.

    Args:
        grid: says when; its owner advances it after the tick.
        clock: the clock of the grid.
        spin_ns: how long before the slot to stop sleeping; 0 never spins and is late by the wake.
        wait_readable: `select.select`, or what a test puts in its place.

    Attributes:
        lateness: by how much each slot was missed.
        overshoot: by how much each sleep that nothing interrupted ended too late. Where its p99.9
            is above `spin_ns`, a longer spin buys punctuality for CPU.
    """

    def __init__(
        self,
        grid: Grid,
        *,
        clock: MonotonicClock = SYSTEM_CLOCK,
        spin_ns: int = SPIN_NS,
        wait_readable: Select = select.select,
    ) -> None:
        if spin_ns < 0:
            raise ValueError(f"a spin of {spin_ns} ns cannot be")
        self.lateness = LatenessHistogram()
        self.overshoot = LatenessHistogram()
        self._grid = grid
        self._now_ns = clock.now_ns
        self._spin_ns = spin_ns
        self._wait_readable = wait_readable

    def wait(self, watched: Watched) -> list[Any]:
        """The watched ones that can be read, or an empty list: the slot is due.

        A slot that is due comes before anything that can be read, so that a flood of datagrams can
        delay a tick by no more than the caller reads at a time.
        """
        due_ns = self._grid.due_ns
        asleep_until_ns = due_ns - self._spin_ns
        now_ns = self._now_ns()
        while now_ns < asleep_until_ns:
            readable = self._wait_readable(watched, (), (), (asleep_until_ns - now_ns) / NS_PER_S)[0]
            if readable:
                return readable
            now_ns = self._now_ns()
            if now_ns >= asleep_until_ns:
                self.overshoot.add(now_ns - asleep_until_ns)
        while now_ns < due_ns:
            now_ns = self._now_ns()
        self.lateness.add(now_ns - due_ns)
        return []


def _positive(period_ns: int) -> int:
    if period_ns <= 0:
        raise ValueError(f"a period of {period_ns} ns cannot be")
    return period_ns
