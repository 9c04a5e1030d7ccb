"""What the pictures of a run are made of: the choices as numbers, and that no extreme is lost."""

from math import inf, isnan
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyhand.core.link import PROFILES, LinkProfile
from steadyhand.ground.builtin_motions import builtin_motion
from steadyhand.ground.config import CommunicationConfig
from steadyhand.simulation.lanes import Stop, Tick
from steadyhand.simulation.run import RunResult, simulate
from steadyhand.simulation.scenario import Scenario
from steadyhand.view.plots import words
from steadyhand.view.plots.chart_data import chart_data, detailed_spans
from steadyhand.view.plots.decimate import KEPT_PER_COLUMN, columns_of, keep_extremes
from steadyhand.view.plots.traces import (
    RunTraces,
    busiest_joint,
    choose_window,
    costly_moments,
    next_news_s,
    runs_of,
    traces_of,
)

LOSSY = LinkProfile(name="lossy", delay_ms=20.0, jitter_ms=4.0, loss=0.06)


def play(link: LinkProfile = PROFILES["wifi_burst"], *, duration_s: float = 3.0, **changes: Any) -> RunResult:
    """A short run of the built-in motion."""
    motion = builtin_motion("reaches", Random(7))
    return simulate(Scenario(motion=motion, link=link, duration_s=duration_s, seed=7, **changes))


# ---- the chart's data -----------------------------------------------------------------------------


def accumulated(steps: list[int | None], unit: float = 1.0) -> list[float]:
    """The page's decoder, in Python."""
    values, total = [], 0
    for step in steps:
        total += step or 0
        values.append(float("nan") if step is None else total * unit)
    return values


def expanded(runs: list[int]) -> list[int]:
    return [value for value, count in zip(runs[::2], runs[1::2], strict=True) for _ in range(count)]


RUNS = {
    "every loss becomes a synthetic": lambda: play(LOSSY, redundancy=0),
    "a stop, for ever": lambda: play(PROFILES["blackhole"], duration_s=7.0, recover_s=-1.0),
    "no buffer": lambda: play(communication=CommunicationConfig(playout_buffer_ms=0.0)),
}


@pytest.mark.parametrize("case", RUNS)
def test_every_tick_of_a_short_run_can_be_read_back_from_the_page(case: str) -> None:
    run = traces_of(RUNS[case]())
    data = chart_data(run, {lane.name: lane.name for lane in run.lanes})
    assert data["overview"] is None
    columns = [accumulated(column, data["units"]["angle"]) for column in data["sent"]["pose"]]
    for lane, told in zip(run.lanes, data["lanes"], strict=True):
        assert np.allclose(accumulated(told["t"], data["units"]["t"]), lane.t_s, atol=6e-5)
        assert expanded(told["kind"]) == lane.kind.tolist()
        assert expanded(told["target"]) == lane.target.tolist()
        assert accumulated(told["depth"]) == lane.depth.tolist()
        rows = accumulated(told["row"])
        for tick, (row, pose_deg) in enumerate(zip(rows, lane.pose_deg, strict=True)):
            if row >= 0:
                assert np.allclose([column[int(row)] for column in columns], pose_deg, atol=6e-4)
            elif tick in told["made"]:
                assert np.allclose(told["made"][tick], pose_deg, atol=6e-4)
            else:
                assert np.isnan(pose_deg).all()


def test_only_synthetics_and_what_repeats_them_need_a_pose_of_their_own() -> None:
    run = traces_of(play(LOSSY, redundancy=0))
    told = chart_data(run, {lane.name: lane.name for lane in run.lanes})["lanes"]
    assert set(told[0]["made"]) >= set(np.flatnonzero(run.lanes[0].kind == Tick.SYNTHETIC).tolist())
    assert (run.lanes[1].kind == Tick.HELD).any()
    assert told[1]["made"] == {}


def test_synthetics_are_among_what_is_read_back() -> None:
    run = traces_of(RUNS["every loss becomes a synthetic"]())
    assert (run.lanes[0].kind == Tick.SYNTHETIC).sum() > 3


def test_delays_and_losses_can_be_read_back_from_the_page() -> None:
    run = traces_of(play(LOSSY, redundancy=0))
    data = chart_data(run, {lane.name: lane.name for lane in run.lanes})
    delays_ms = accumulated(data["sent"]["delay"], data["units"]["delay"])
    assert np.allclose(delays_ms, run.delay_ms, atol=6e-3, equal_nan=True)
    assert any(map(isnan, delays_ms))


@pytest.fixture(scope="module")
def long_run() -> RunTraces:
    return traces_of(play(duration_s=120.0))


@pytest.mark.slow
def test_a_long_run_is_told_tick_by_tick_where_it_matters(long_run: RunTraces) -> None:
    spans = detailed_spans(long_run)
    told_s = [end_s - begin_s for begin_s, end_s in spans]
    assert 4.0 <= sum(told_s) <= 90.0 < long_run.duration_s
    for moment_s, _ in costly_moments(long_run, apart_s=4.0)[:3]:
        assert any(begin_s < moment_s < end_s for begin_s, end_s in spans)


def test_the_overview_of_a_long_run_keeps_its_extremes(long_run: RunTraces) -> None:
    data = chart_data(long_run, {lane.name: lane.name for lane in long_run.lanes})
    assert data["overview"] is not None
    for lane, told in zip(long_run.lanes, data["overview"]["lanes"], strict=True):
        speeds = [accumulated(part, data["units"]["speed"]) for part in told["speed"][long_run.joint]]
        assert np.nanmin(speeds[0]) == pytest.approx(np.nanmin(lane.speed_deg_s), abs=0.06)
        assert np.nanmax(speeds[1]) == pytest.approx(np.nanmax(lane.speed_deg_s), abs=0.06)
        ticks = [sum(expanded(counts)) for counts in told["kinds"].values()]
        assert sum(ticks) == len(lane.t_s)


# ---- what is shown --------------------------------------------------------------------------------


def test_the_joint_that_travels_farthest_is_shown() -> None:
    pose_deg = np.array([[0.0, 50.0, 3.0], [1.0, 50.0, -3.0], [0.0, 51.0, 3.0]])
    assert busiest_joint(pose_deg) == 2


def test_what_never_arrives_is_news_only_when_something_newer_arrives() -> None:
    arrival_s = np.array([0.1, np.nan, 0.5, 0.3, np.nan])
    assert next_news_s(arrival_s, 2.0).tolist() == [0.1, 0.3, 0.3, 0.3, 2.0]


def test_the_first_stop_is_enlarged() -> None:
    stops = (Stop(20.0, "underrun", "", False), Stop(30.0, "underrun", "", False))
    begin_s, end_s = choose_window(
        sent_s=np.arange(100.0),
        known_s=np.arange(100.0),
        cost_deg=np.eye(100)[70],
        stops=stops,
        duration_s=100.0,
    )
    assert begin_s == pytest.approx(19.2)
    assert end_s == pytest.approx(23.2)


def test_without_a_stop_the_moment_that_cost_most_is_enlarged_within_the_run() -> None:
    sent_s = np.arange(0.0, 10.0, 0.01)
    for worst, lateness_s, length_s in ((500, 0.1, 2.0), (500, 0.3, 3.0), (500, 2.0, 4.0), (999, 0.1, 2.0)):
        cost_deg = np.zeros(1000)
        cost_deg[worst] = 3.0
        begin_s, end_s = choose_window(
            sent_s=sent_s, known_s=sent_s + lateness_s, cost_deg=cost_deg, stops=(), duration_s=10.0
        )
        assert end_s - begin_s == pytest.approx(length_s)
        assert 0.0 <= begin_s < sent_s[worst] < end_s <= 10.0


def test_lateness_while_the_arm_rests_costs_nothing() -> None:
    run = traces_of(play(duration_s=20.0))
    resting = np.abs(np.gradient(run.sent_deg)) < 1e-9
    late = run.delay_ms > 40.0
    assert (run.cost_deg[resting & ~late] < 1.5).all()
    assert run.cost_deg.max() > 2.0


def test_a_silence_is_a_span_in_which_nothing_arrives() -> None:
    run = traces_of(play(PROFILES["blackhole"], duration_s=8.0))
    begin_s, end_s = run.silences[-1]
    assert begin_s == pytest.approx(5.0, abs=0.05)
    assert end_s == 8.0
    assert traces_of(play(PROFILES["clean"])).silences == ()


def test_the_released_mix_in_stretches_covers_all_ticks() -> None:
    kind = np.array([0, 0, 1, 3, 3, 1], dtype=np.int8)
    t_s = np.array([0.0, 0.01, 0.02, 0.03, 0.04, 0.05])
    assert runs_of(kind, t_s, 0.01) == [
        (Tick.WAITING, 0.0, 0.02),
        (Tick.REAL, 0.02, 0.03),
        (Tick.HELD, 0.03, 0.05),
        (Tick.REAL, 0.05, pytest.approx(0.06)),
    ]
    assert runs_of(np.array([], dtype=np.int8), np.array([]), 0.01) == []


# ---- decimation -----------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.one_of(st.floats(-1e6, 1e6), st.just(float("nan"))), min_size=1, max_size=400),
    st.integers(1, 40),
    st.data(),
)
def test_decimation_keeps_the_extremes_of_every_column(
    values: list[float], columns: int, data: st.DataObject
) -> None:
    steps = data.draw(st.lists(st.floats(0.0, 1.0), min_size=len(values), max_size=len(values)))
    times = np.cumsum(np.array(steps, dtype=np.float64), dtype=np.float64)
    array = np.array(values, dtype=np.float64)
    kept = keep_extremes(times, array, columns)
    assert (np.diff(kept) > 0).all()
    assert len(kept) <= KEPT_PER_COLUMN * columns
    assert {0, len(values) - 1} <= set(kept.tolist())
    column = columns_of(times, columns)
    for place in np.unique(column):
        inside = column == place
        thinned = kept[column[kept] == place]
        assert np.isnan(array[inside]).any() == np.isnan(array[thinned]).any()
        if not np.isnan(array[inside]).all():
            assert np.nanmax(array[thinned]) == np.nanmax(array[inside])
            assert np.nanmin(array[thinned]) == np.nanmin(array[inside])


def test_one_tick_of_an_hour_stays_in_the_picture() -> None:
    times = np.linspace(0.0, 3600.0, 360_000)
    values = np.zeros(360_000)
    values[123_456] = 1.0
    kept = keep_extremes(times, values, 1100)
    assert 123_456 in kept
    assert len(kept) <= 5 * 1100


# ---- figures as words -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "none"),
        (0.00005, "< 0.01 %"),
        (0.00067, "0.067 %"),
        (0.0512, "5.1 %"),
        (0.783, "78 %"),
        (1.0, "100 %"),
    ],
)
def test_a_share_is_never_rounded_down_to_nothing(value: float, text: str) -> None:
    assert words.share(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (inf, "–"),
        (0.04, "0 ms"),
        (3.0, "3 ms"),
        (3.06, "3.1 ms"),
        (203.5, "204 ms"),
        (12_345.0, "12.3 s"),
    ],
)
def test_milliseconds_have_as_many_digits_as_they_are_worth(value: float | None, text: str) -> None:
    assert words.milliseconds(value) == text
