"""Lateness: rules on literal times, and a property against the plain definition."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadyhand.core.timing import TransitEstimator
from steadyhand.core.timing.windowed_minimum import WindowedMinimum
from steadyhand.ground.setpoint import Setpoint

MS = 1_000_000
OFFSET_S = 5_000.0


def stamped(sent_ms: float, *, leader: bool = False) -> Setpoint:
    stamp_s = OFFSET_S + sent_ms / 1e3
    return Setpoint(joints_deg=(0.0,), timestamp_s=stamp_s, leader_timestamp_s=stamp_s if leader else None)


def observe(estimator: TransitEstimator, sent_ms: float, delay_ms: float, *, leader: bool = False) -> float:
    return observe_setpoint(estimator, stamped(sent_ms, leader=leader), round((sent_ms + delay_ms) * MS)) / MS


def observe_setpoint(estimator: TransitEstimator, setpoint: Setpoint, arrival_ns: int) -> int:
    return estimator.observe(
        arrival_ns=arrival_ns, sender_stamp_s=setpoint.sender_stamp_s, source=setpoint.stamp_source
    )


def copy_lateness(estimator: TransitEstimator, setpoint: Setpoint, arrival_ns: int) -> int:
    return estimator.lateness_ns(
        arrival_ns=arrival_ns, sender_stamp_s=setpoint.sender_stamp_s, source=setpoint.stamp_source
    )


def test_the_first_and_the_fastest_are_never_late() -> None:
    estimator = TransitEstimator()
    assert observe(estimator, 0, 40) == 0
    assert observe(estimator, 10, 30) == 0


def test_the_tail_of_a_stall_is_late_by_what_it_stood_still() -> None:
    estimator = TransitEstimator()
    observe(estimator, 0, 40)
    # Half a second of the silence counts as flow, and the floor rises by half a percent of it.
    assert observe(estimator, 10, 3_030) == pytest.approx(2_990 - 2.5)
    assert observe(estimator, 3_000, 40) == pytest.approx(0, abs=1e-3)


def test_a_copy_is_late_by_its_own_stamp_and_teaches_nothing() -> None:
    estimator = TransitEstimator()
    observe(estimator, 100, 40)
    assert copy_lateness(estimator, stamped(80), 140 * MS) == pytest.approx(20 * MS, abs=1_000)
    assert copy_lateness(estimator, stamped(200), 140 * MS) == 0
    assert observe(estimator, 110, 40) == pytest.approx(0, abs=1e-3)


def test_a_path_that_became_longer_for_good_is_forgotten_by_half_a_percent_of_the_flow() -> None:
    estimator = TransitEstimator()
    observe(estimator, 0, 40)
    late_ms = [observe(estimator, sent_ms, 140) for sent_ms in range(100, 25_000, 100)]
    assert late_ms[0] == pytest.approx(99.0, abs=0.1)
    assert late_ms[100] == pytest.approx(49.0, abs=0.1)
    assert late_ms[-1] == 0


@pytest.mark.parametrize("hold_s", [15, 19, 20, 25, 60, 3600])
def test_the_tail_of_a_hold_is_late_however_long_it_stood(hold_s: int) -> None:
    estimator = TransitEstimator()
    for sent_ms in range(0, 1_000, 10):
        observe(estimator, sent_ms, 40)
    held_ms = 1_000.0 * hold_s
    tail_ms = [observe(estimator, 1_000 + 10 * k, held_ms - 10 * k) for k in range(0, hold_s * 100, 50)]
    assert tail_ms[0] > held_ms - 100
    assert all(late_ms > held_ms - 500 * index - 100 for index, late_ms in enumerate(tail_ms))


def test_one_stamp_from_the_future_makes_nothing_late_and_three_are_a_faster_path() -> None:
    estimator = TransitEstimator()
    for sent_ms in range(0, 200, 10):
        observe(estimator, sent_ms, 40)
    assert observe(estimator, 700, -460) == 0
    assert observe(estimator, 210, 40) < 1
    faster = [observe(estimator, sent_ms, -20) for sent_ms in (300, 310, 320)]
    assert faster == [0, 0, 0]
    assert observe(estimator, 330, 40) == pytest.approx(60, abs=1)


def test_a_change_of_the_stamps_source_starts_anew() -> None:
    estimator = TransitEstimator()
    observe(estimator, 0, 40, leader=True)
    assert observe(estimator, 10, 900) == 0
    assert copy_lateness(estimator, stamped(10, leader=True), 2_000 * MS) == 0


def test_a_sender_that_does_not_stamp_is_not_judged() -> None:
    estimator = TransitEstimator()
    fixed = Setpoint(joints_deg=(0.0,), timestamp_s=0.0)
    assert [observe_setpoint(estimator, fixed, now_ms * MS) for now_ms in (0, 1_000, 60_000)] == [0, 0, 0]


@pytest.mark.parametrize("stamp_s", [float("nan"), float("inf"), -1e308, 1e308])
def test_no_stamp_breaks_it(stamp_s: float) -> None:
    estimator = TransitEstimator()
    observe(estimator, 0, 40)
    wild = Setpoint(joints_deg=(0.0,), timestamp_s=stamp_s)
    assert observe_setpoint(estimator, wild, 50 * MS) >= 0
    assert copy_lateness(estimator, wild, 60 * MS) >= 0


@given(st.lists(st.tuples(st.integers(0, 200), st.integers(0, 5_000)), min_size=1, max_size=60))
def test_lateness_is_transit_beyond_the_least_so_far_less_what_was_forgotten(
    packets: Sequence[tuple[int, int]],
) -> None:
    estimator = TransitEstimator()
    sent_ms, fastest_ms, flowed_ms, newest_ms = 0, 10**9, 0.0, None
    for gap_ms, delay_ms in packets:
        sent_ms += gap_ms + 1
        arrival_ms = sent_ms + delay_ms
        if newest_ms is not None:
            flowed_ms += min(500.0, max(0.0, arrival_ms - newest_ms))
        newest_ms = arrival_ms if newest_ms is None else max(newest_ms, arrival_ms)
        fastest_ms = min(fastest_ms, delay_ms)
        late_ms = observe(estimator, sent_ms, delay_ms)
        # A faster path is believed with its third witness, so what is late may read as less.
        assert 0 <= late_ms <= delay_ms - fastest_ms + 1e-2
        if delay_ms - fastest_ms == 0:
            assert late_ms == 0


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(-9, 9)), min_size=1, max_size=80),
    st.integers(20, 200),
)
def test_the_windowed_minimum_is_that_of_the_window_to_a_twentieth(
    steps: Sequence[tuple[int, int]], window_ns: int
) -> None:
    found = WindowedMinimum(window_ns)
    now_ns, seen = 0, []
    for step_ns, value in steps:
        now_ns += step_ns
        seen.append((now_ns, value))
        found.add(now_ns, value)
        bucket_ns = window_ns // 20
        short = [v for t, v in seen if t > now_ns - 19 * bucket_ns]
        long = [v for t, v in seen if t > now_ns - 21 * bucket_ns]
        assert min(long) <= found.smallest <= min(short)
