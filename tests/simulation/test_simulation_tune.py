"""The frontier and the bound beside it."""

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadyhand.core.link import LinkProfile
from steadyhand.edge.motion_csv import load_motion
from steadyhand.simulation.frontier import CurveKind, Point
from steadyhand.simulation.offline_bound import LOST_MS, least_mean_delay_ms
from steadyhand.simulation.scenario import Scenario
from steadyhand.simulation.tune import adaptive_candidates, fixed_candidates, recommend, tune

DELAYS = st.lists(st.integers(1, 50).map(float), min_size=1, max_size=4)


def every_choice(seconds: list[list[float]], allowed_late: int) -> float:
    """Least mean delay by trying every number of setpoints given up in every second."""
    total = sum(len(second) for second in seconds)
    best = float("inf")
    for given_up in product(*(range(len(second)) for second in seconds)):
        if sum(given_up) <= allowed_late:
            pairs = zip(seconds, given_up, strict=True)
            best = min(best, sum(len(s) * sorted(s)[len(s) - 1 - k] for s, k in pairs) / total)
    return best


@given(st.lists(DELAYS, min_size=1, max_size=3), st.integers(0, 4))
def test_no_choice_of_delays_beats_the_bound(seconds: list[list[float]], allowed_late: int) -> None:
    total = sum(len(second) for second in seconds)
    bound = least_mean_delay_ms(seconds, allowed_late / total)
    assert bound <= every_choice(seconds, allowed_late) + 1e-9


@given(st.lists(DELAYS, min_size=1, max_size=4))
def test_without_late_setpoints_the_bound_is_the_worst_of_each_second(seconds: list[list[float]]) -> None:
    total = sum(len(second) for second in seconds)
    expected = sum(len(second) * max(second) for second in seconds) / total
    assert least_mean_delay_ms(seconds, 0.0) == pytest.approx(expected)


@given(st.lists(DELAYS, min_size=1, max_size=4), st.floats(0, 1), st.floats(0, 1))
def test_the_bound_falls_as_more_may_be_late(seconds: list[list[float]], a: float, b: float) -> None:
    less, more = sorted((a, b))
    assert least_mean_delay_ms(seconds, more) <= least_mean_delay_ms(seconds, less) + 1e-9


def test_one_spike_given_up_saves_its_whole_second() -> None:
    seconds = [[10.0] * 99 + [110.0], [10.0] * 100]
    assert least_mean_delay_ms(seconds, 0.0) == pytest.approx(60.0)
    assert least_mean_delay_ms(seconds, 1 / 200) == pytest.approx(10.0)


def test_lost_setpoints_are_not_charged_to_the_bound() -> None:
    assert least_mean_delay_ms([[10.0, LOST_MS], [LOST_MS]], 0.0) == 10.0
    assert least_mean_delay_ms([[LOST_MS]], 0.0) == 0.0


def point(**fields: Any) -> Point:
    return Point(**({"delay_ms": 100.0, "late_share": 0.0} | fields))


def test_the_recommendation_is_the_least_delay_without_a_stop_and_within_the_tolerance() -> None:
    stops, holds = point(delay_ms=50.0, stops=1), point(delay_ms=60.0, late_share=0.01)
    good, deeper = point(delay_ms=80.0, late_share=0.001), point(delay_ms=90.0)
    assert recommend([stops, holds, deeper, good], 0.001) is good
    assert recommend([stops, holds], 0.001) is None


def test_candidates_are_whole_slots_and_never_over_the_cap() -> None:
    assert fixed_candidates(10_000_000)[0] == (10.0, 0.0)
    assert fixed_candidates(50_000_000)[:2] == [(50.0, 0.0), (100.0, 0.0)]
    assert all(buffer_ms <= 200.0 for buffer_ms, _ in fixed_candidates(1_000_000))
    assert all(ceiling_ms <= 200.0 for _, ceiling_ms in adaptive_candidates(1_000_000))


def test_a_sweep_finds_the_shallow_buffer_of_a_quiet_link() -> None:
    quiet = Scenario(motion=load_motion("sine"), link=LinkProfile(delay_ms=20.0), duration_s=5.0)
    shares: list[float] = []
    found = tune(quiet, progress=shares.append)
    assert [curve.kind for curve in found.curves] == [CurveKind.FIXED, CurveKind.ADAPTIVE, CurveKind.BOUND]
    assert found.recommended is not None
    assert found.recommended.delay_ms < 60.0
    assert found.curves[2].points[0].delay_ms == pytest.approx(20.0)
    assert shares[-1] == 1.0
