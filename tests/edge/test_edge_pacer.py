"""The grids, the wait that hits them, and the histogram that says how well."""

import os
import tracemalloc
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadyhand.edge.clock import SYSTEM_CLOCK, ManualClock
from steadyhand.edge.lateness import LARGEST_NS, LatenessHistogram
from steadyhand.edge.pacer import KeptGrid, Pacer, SnapGrid

MS = 1_000_000
US = 1_000
PERIOD = 10 * MS

Ready = tuple[list[Any], list[Any], list[Any]]


class Sleeper:
    """A `select` that moves a manual clock: it oversleeps, or is woken by what became readable."""

    def __init__(self, clock: ManualClock, *, late_ns: int = 0) -> None:
        self.clock = clock
        self.late_ns = late_ns
        self.asked_s: list[float] = []
        self.readable_after_ns: list[tuple[int, list[Any]]] = []

    def __call__(self, watched: Sequence[Any], _: Any, __: Any, timeout_s: float) -> Ready:
        self.asked_s.append(timeout_s)
        if self.readable_after_ns:
            after_ns, ready = self.readable_after_ns.pop(0)
            self.clock.advance(after_ns)
            return ready, [], []
        self.clock.advance(round(timeout_s * 1e9) + self.late_ns)
        return [], [], []


def pacer_at(
    due_ns: int, *, spin_ns: int, late_ns: int = 0, step_ns: int = US
) -> tuple[Pacer, Sleeper, ManualClock]:
    clock = ManualClock(step_ns=step_ns)
    sleeper = Sleeper(clock, late_ns=late_ns)
    grid = SnapGrid(period_ns=PERIOD, first_ns=due_ns)
    return Pacer(grid, clock=clock, spin_ns=spin_ns, wait_readable=sleeper), sleeper, clock


def test_it_sleeps_until_shortly_before_the_slot_and_spins_the_rest() -> None:
    pacer, sleeper, clock = pacer_at(PERIOD, spin_ns=200 * US)
    assert pacer.wait(()) == []
    assert sleeper.asked_s == [pytest.approx(0.0098)]
    assert PERIOD <= clock.now_ns() <= PERIOD + 3 * US
    assert pacer.lateness.max_ns <= US


def test_a_sleep_that_ends_too_late_is_told_apart_from_a_late_tick() -> None:
    pacer, _, _ = pacer_at(PERIOD, spin_ns=200 * US, late_ns=350 * US, step_ns=0)
    pacer.wait(())
    assert pacer.overshoot.max_ns == 350 * US
    assert pacer.lateness.max_ns == 150 * US


def test_a_late_sleep_within_the_spin_makes_no_late_tick() -> None:
    pacer, _, _ = pacer_at(PERIOD, spin_ns=200 * US, late_ns=150 * US)
    pacer.wait(())
    assert pacer.lateness.max_ns <= US


def test_what_can_be_read_before_the_slot_is_handed_out_at_once() -> None:
    pacer, sleeper, clock = pacer_at(PERIOD, spin_ns=200 * US, step_ns=0)
    sleeper.readable_after_ns = [(3 * MS, ["socket"]), (2 * MS, ["feed"])]
    assert pacer.wait(["socket", "feed"]) == ["socket"]
    assert pacer.wait(["socket", "feed"]) == ["feed"]
    assert clock.now_ns() == 5 * MS
    assert pacer.lateness.count == 0


def test_a_slot_that_is_due_comes_before_what_can_be_read() -> None:
    pacer, sleeper, clock = pacer_at(PERIOD, spin_ns=200 * US)
    sleeper.readable_after_ns = [(1, ["flood"])] * 9
    clock.advance(PERIOD - 100 * US)
    assert pacer.wait(["flood"]) == []
    assert sleeper.asked_s == []


def test_a_sleep_that_ends_early_with_nothing_to_read_goes_on() -> None:
    pacer, sleeper, _ = pacer_at(PERIOD, spin_ns=0)
    sleeper.readable_after_ns = [(MS, []), (MS, [])]
    assert pacer.wait(()) == []
    assert len(sleeper.asked_s) == 3
    assert pacer.lateness.count == 1


def test_on_the_real_clock_no_tick_comes_early_and_all_come_in_order() -> None:
    grid = SnapGrid(period_ns=2 * MS, first_ns=SYSTEM_CLOCK.now_ns() + 2 * MS)
    pacer = Pacer(grid)
    ticks_ns: list[int] = []
    for _ in range(30):
        assert pacer.wait(()) == []
        ticks_ns.append(SYSTEM_CLOCK.now_ns())
        assert ticks_ns[-1] >= grid.due_ns
        grid.advance(ticks_ns[-1])
    assert all(earlier < later for earlier, later in pairwise(ticks_ns))
    assert pacer.lateness.count == 30


def test_a_real_descriptor_ends_the_sleep() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"x")
    a_minute_ns = 60_000 * MS
    pacer = Pacer(SnapGrid(period_ns=PERIOD, first_ns=SYSTEM_CLOCK.now_ns() + a_minute_ns))
    assert pacer.wait([reading]) == [reading]
    os.close(reading)
    os.close(writing)


def test_lateness_never_adds_up() -> None:
    grid = SnapGrid(period_ns=PERIOD, first_ns=7)
    for tick in range(1000):
        grid.advance(grid.due_ns + tick % 9 * MS)
    assert grid.due_ns == 7 + 1000 * PERIOD
    assert (grid.snaps, grid.lost_slots) == (0, 0)


def test_behind_by_up_to_a_period_the_slot_is_used_late_and_the_grid_kept() -> None:
    grid = SnapGrid(period_ns=PERIOD, first_ns=0)
    grid.advance(2 * PERIOD)
    assert grid.due_ns == PERIOD
    assert grid.snaps == 0


def test_behind_by_more_than_a_period_the_grid_snaps_to_now_and_counts_it() -> None:
    grid = SnapGrid(period_ns=PERIOD, first_ns=0)
    now_ns = 5 * PERIOD + 3 * MS
    grid.advance(now_ns)
    assert grid.due_ns == now_ns
    assert (grid.snaps, grid.lost_slots) == (1, 4)


def test_the_core_may_trim_the_next_slot() -> None:
    grid = SnapGrid(period_ns=PERIOD, first_ns=0)
    grid.schedule(10 * MS + 50 * US, MS)
    assert grid.due_ns == 10 * MS + 50 * US


@given(st.lists(st.integers(0, 10 * PERIOD), min_size=1, max_size=60))
def test_after_any_stall_a_control_loop_catches_up_at_most_one_slot(works_ns: list[int]) -> None:
    grid = SnapGrid(period_ns=PERIOD, first_ns=0)
    now_ns = 0
    for work_ns in works_ns:
        now_ns = max(now_ns, grid.due_ns) + work_ns
        grid.advance(now_ns)
        assert grid.due_ns >= now_ns - PERIOD


@given(st.integers(0, 10**9), st.lists(st.integers(0, 10 * PERIOD), min_size=1, max_size=60))
def test_telemetry_keeps_its_grid_for_ever_and_counts_every_slot_it_skips(
    first_ns: int, works_ns: list[int]
) -> None:
    grid = KeptGrid(period_ns=PERIOD, first_ns=first_ns)
    now_ns = 0
    for used, work_ns in enumerate(works_ns, start=1):
        now_ns = max(now_ns, grid.due_ns) + work_ns
        grid.advance(now_ns)
        assert now_ns < grid.due_ns <= now_ns + PERIOD
        assert grid.due_ns == first_ns + (used + grid.skipped_slots) * PERIOD


def test_a_telemetry_slot_reached_only_now_is_skipped_too() -> None:
    grid = KeptGrid(period_ns=PERIOD, first_ns=0)
    grid.advance(2 * PERIOD)
    assert grid.due_ns == 3 * PERIOD
    assert grid.skipped_slots == 2


@pytest.mark.parametrize("grid", [SnapGrid, KeptGrid])
def test_a_period_of_nothing_is_refused(grid: type[SnapGrid] | type[KeptGrid]) -> None:
    with pytest.raises(ValueError, match="period of 0"):
        grid(period_ns=0, first_ns=0)


def test_a_negative_spin_is_refused() -> None:
    with pytest.raises(ValueError, match="spin"):
        Pacer(SnapGrid(period_ns=PERIOD, first_ns=0), spin_ns=-1)


def test_a_monotonic_clock_cannot_be_turned_back() -> None:
    clock = ManualClock(5)
    with pytest.raises(ValueError, match="back by 1"):
        clock.advance(-1)
    assert clock.now_ns() == 5


@given(
    st.lists(st.integers(0, 10**12) | st.integers(0, 200), min_size=1, max_size=300),
    st.sampled_from([0.5, 0.9, 0.99, 0.999, 1.0]),
)
def test_a_quantile_is_never_understated_and_overstated_by_a_32nd_at_most(
    late_ns: list[int], share: float
) -> None:
    histogram = LatenessHistogram()
    for sample in late_ns:
        histogram.add(sample)
    rank = max(1, -int(-share * len(late_ns) // 1))
    exact = sorted(late_ns)[rank - 1]
    assert exact <= histogram.quantile_ns(share) <= exact + exact // 32
    assert histogram.quantile_ns(1.0) == max(late_ns) == histogram.max_ns


@pytest.mark.parametrize("sample", [-5, 0, LARGEST_NS, LARGEST_NS * 1000])
def test_early_and_absurdly_late_samples_are_counted_too(sample: int) -> None:
    histogram = LatenessHistogram()
    histogram.add(sample)
    assert histogram.count == 1
    assert histogram.max_ns == max(0, sample)


def test_without_samples_every_figure_is_zero() -> None:
    summary = LatenessHistogram().summary()
    assert (summary.count, summary.p50_us, summary.p99_us, summary.p99_9_us, summary.max_us) == (
        0,
        0,
        0,
        0,
        0,
    )


@pytest.mark.parametrize("share", [0.0, -0.1, 1.1, float("nan")])
def test_a_quantile_that_cannot_be_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="quantile"):
        LatenessHistogram().quantile_ns(share)


def test_recording_needs_no_more_memory_however_long_it_goes_on() -> None:
    histogram = LatenessHistogram()
    tracemalloc.start()
    try:
        histogram.add(123_456_789)
        before, _ = tracemalloc.get_traced_memory()
        for sample in range(20_000):
            histogram.add(sample * 977)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 1_000
