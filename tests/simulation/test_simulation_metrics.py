"""The figures of a lane, on literal lanes."""

import pytest

from steadyhand.simulation.lanes import Lane, Stop, Tick
from steadyhand.simulation.metrics import lane_figures

PERIOD_NS = 10_000_000


def lane(*ticks: tuple[Tick, float | None]) -> Lane:
    made = Lane("buffer")
    for index, (kind, joint_deg) in enumerate(ticks):
        pose = None if joint_deg is None else (joint_deg, 0.0)
        age_ns = 50_000_000 if kind is Tick.REAL else -1
        made.note(index * PERIOD_NS, kind, pose, age_ns=age_ns, wait_ns=age_ns)
    return made


def test_peaks_are_differences_of_successive_commands_over_the_nominal_period() -> None:
    figures = lane_figures(lane((Tick.REAL, 0.0), (Tick.REAL, 1.0), (Tick.REAL, 1.0)), PERIOD_NS)
    assert figures["peak_speed_deg_s"] == pytest.approx(100.0)
    assert figures["peak_accel_deg_s2"] == pytest.approx(10_000.0)


def test_a_stop_ends_the_stretch_over_which_speeds_are_taken() -> None:
    figures = lane_figures(lane((Tick.REAL, 0.0), (Tick.STOPPED, None), (Tick.REAL, 90.0)), PERIOD_NS)
    assert figures["peak_speed_deg_s"] == 0.0


def test_the_held_share_is_of_the_ticks_that_play() -> None:
    figures = lane_figures(
        lane(
            (Tick.WAITING, None),
            (Tick.REAL, 0.0),
            (Tick.HELD, 0.0),
            (Tick.SYNTHETIC, 1.0),
            (Tick.REAL, 2.0),
            (Tick.STOPPED, None),
        ),
        PERIOD_NS,
    )
    assert figures["held_ticks"] == 1
    assert figures["held_ticks_share"] == 0.25
    assert figures["released"] == 2
    assert figures["oldest_released_ms"] == 50.0


def test_an_empty_lane_has_figures_and_no_quantiles() -> None:
    figures = lane_figures(lane((Tick.WAITING, None)), PERIOD_NS)
    assert figures["queue_wait_ms"] == {"p50": None, "p99": None}
    assert figures["oldest_released_ms"] is None
    assert figures["peak_speed_deg_s"] == 0.0


def test_false_stops_are_counted_apart() -> None:
    stopped = lane((Tick.REAL, 0.0))
    stopped.stops = [Stop(1.0, "underrun", "dead", False), Stop(2.0, "underrun", "drift", True)]
    figures = lane_figures(stopped, PERIOD_NS)
    assert (len(figures["stops"]), figures["false_stops"]) == (2, 1)
