"""A scenario played in virtual time: the figures it must and must not give."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from steadyhand.core.link import PROFILES, LinkProfile
from steadyhand.edge.link_csv import load_link
from steadyhand.edge.motion_csv import load_motion
from steadyhand.ground.errors import InputError
from steadyhand.ground.motion import Motion
from steadyhand.simulation.lanes import Tick
from steadyhand.simulation.metrics import kinds, summarize
from steadyhand.simulation.run import RunResult, simulate
from steadyhand.simulation.scenario import DEPLOYED, Restart, Scenario
from steadyhand.simulation.sender import transmissions

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the measured traces are not beside the project")


def scenario(**changes: Any) -> Scenario:
    fields: dict[str, Any] = {
        "motion": load_motion("sine"),
        "link": LinkProfile(delay_ms=40.0),
        "duration_s": 10.0,
    }
    return Scenario(**(fields | changes))


def released(result: RunResult) -> list[tuple[float, ...]]:
    lane = result.buffer
    return [pose for pose, kind in zip(lane.joints_deg, lane.kind, strict=True) if kind == Tick.REAL and pose]


def test_a_clean_link_releases_one_setpoint_a_tick_and_waits_the_configured_delay() -> None:
    report = summarize(simulate(scenario()))
    assert report["held_ticks"] == report["synthetics"] == report["lost_at_release"] == 0
    assert report["stops"] == []
    assert report["queue_wait_ms"]["p50"] == pytest.approx(200.0, abs=10.0)
    assert report["added_delay_ms"]["p50"] == pytest.approx(240.0, abs=10.0)


def test_released_values_are_the_sent_ones_in_order() -> None:
    run = scenario(link=LinkProfile(delay_ms=20.0, jitter_ms=8.0, reorder=True))
    result = simulate(run)
    sent = [sent.joints_deg for sent in transmissions(run)]
    poses = released(result)
    assert len(poses) > 900
    assert poses == sent[: len(poses)]


def test_the_same_seed_gives_the_same_report_and_another_seed_another() -> None:
    lossy = LinkProfile(delay_ms=30.0, jitter_ms=8.0, loss=0.02)
    first, again, other = (summarize(simulate(scenario(link=lossy, seed=seed))) for seed in (1, 1, 2))
    assert msgspec.json.encode(first) == msgspec.json.encode(again)
    assert msgspec.json.encode(first) != msgspec.json.encode(other)


def test_every_arrival_is_accounted_for() -> None:
    link = LinkProfile(delay_ms=30.0, jitter_ms=20.0, loss=0.1, duplicate=0.05, reorder=True)
    result = simulate(scenario(link=link, redundancy=2))
    counters = result.counters
    left = counters["offered"] - sum(
        counters[name]
        for name in (
            "released", "late_dropped", "duplicate_dropped", "overflow_dropped", "aged_dropped",
            "flushed", "malformed_ts", "on_probation", "retired_session",
        )
    )  # fmt: skip
    assert left == result.buffer.depth[-1]


def test_without_copies_losses_are_concealed_and_with_copies_repaired() -> None:
    lossy = LinkProfile(delay_ms=30.0, loss=0.02)
    bare = summarize(simulate(scenario(link=lossy, redundancy=0)))
    bundled = summarize(simulate(scenario(link=lossy, redundancy=2)))
    assert bare["synthetics"] > 5
    assert bare["counters"]["interpolated"] == bare["synthetics"]
    assert bundled["synthetics"] < bare["synthetics"]
    assert bundled["counters"]["repaired"] > 5


def test_a_black_hole_is_one_stop_that_names_its_cause() -> None:
    report = summarize(simulate(scenario(link=PROFILES["blackhole"])))
    (stop,) = report["stops"]
    assert stop["cause"] == "underrun"
    assert "nothing has arrived" in stop["why"]
    assert 5.0 < stop["t_s"] < 5.5
    assert not stop["false"]


def test_nothing_stale_is_released_after_a_stall_of_seconds() -> None:
    report = summarize(simulate(scenario(link=PROFILES["stale_replay"], duration_s=40.0)))
    others = report["alternatives"]
    assert report["stops"]
    assert report["oldest_released_ms"] < 440.0
    assert others["ordered"]["oldest_released_ms"] > 2_000.0


@pytest.mark.parametrize("hold_ms", [15_000, 19_000, 25_000])
@pytest.mark.parametrize("slow", ["", ",rate_kbit_s=5000"])
def test_a_tail_held_back_for_long_is_as_old_as_it_is(hold_ms: int, slow: str) -> None:
    """Silence must not make the network's own debris look young (decision 0003)."""
    link = load_link(f"delay_ms=40,jitter_ms=4,outages=3000+{hold_ms},outage_burst=true{slow}")
    report = summarize(simulate(scenario(link=link, duration_s=hold_ms / 1e3 + 12.0), peers=False))
    assert report["stops"]
    assert report["oldest_released_ms"] < 460.0


@pytest.mark.parametrize("seed", [0, 3, 7, 9])
def test_engaging_into_a_burst_starts_behind_it(seed: int) -> None:
    """Nothing old, and no catch-up once the arm moves: the sine itself reaches 31.4 °/s."""
    report = summarize(
        simulate(scenario(link=PROFILES["stale_replay"], seed=seed, duration_s=30.0), peers=False)
    )
    assert report["oldest_released_ms"] < 300.0
    assert report["peak_speed_deg_s"] < 31.5


def test_a_stop_made_up_by_the_receiver_is_called_false() -> None:
    # R2's own case: a slow sender empties a fixed queue unless the drain follows it.
    fixed_period = msgspec.structs.replace(DEPLOYED, playout_clock_trim=False)
    slow = scenario(communication=fixed_period, drift_ppm=-3_000.0, duration_s=90.0)
    report = summarize(simulate(slow))
    assert report["stops"]
    assert report["false_stops"] == len(report["stops"])
    trimmed = summarize(simulate(scenario(drift_ppm=-3_000.0, duration_s=90.0)))
    assert trimmed["stops"] == []


@pytest.mark.parametrize("gap_s", [0.5, 2.5])
def test_a_restarted_sender_is_stopped_for_and_played_again_only_forward(gap_s: float) -> None:
    # A ramp: each pose is sent once, so that a pose says when it was sent.
    ramp = Motion(times_s=(0.0, 20.0), poses_deg=((0.0,), (20.0,)), interpolation="linear")
    run = scenario(motion=ramp, restarts=(Restart(4.0, gap_s),), duration_s=14.0)
    result = simulate(run)
    report = summarize(result)
    assert [stop["cause"] for stop in report["stops"]] == ["underrun"]
    assert report["counters"]["epoch_resets"] == 1
    assert kinds(result.buffer)[-1] == Tick.REAL
    index_of = {sent.joints_deg: sent.index for sent in transmissions(run)}
    played = [index_of[pose] for pose in released(result)]
    assert all(later > earlier for earlier, later in pairwise(played))


def test_a_depth_of_zero_is_passthrough() -> None:
    unbuffered = msgspec.structs.replace(DEPLOYED, playout_buffer_ms=0.0)
    report = summarize(simulate(scenario(communication=unbuffered)))
    assert report["added_delay_ms"]["p50"] < 60.0
    assert report["counters"] == {}


@pytest.mark.parametrize(("gap_s", "out_s"), [(0.5, 2.0), (2.5, 2.5)])
def test_in_passthrough_a_restarted_sender_gets_in_after_two_seconds_of_silence(
    gap_s: float, out_s: float
) -> None:
    """The follower's own gate: without a session the numbers of two lives do not compare."""
    unbuffered = msgspec.structs.replace(DEPLOYED, playout_buffer_ms=0.0)
    run = scenario(communication=unbuffered, restarts=(Restart(at_s=5.0, gap_s=gap_s),))
    lane = simulate(run, peers=False).buffer
    real_ns = [at_ns for at_ns, kind in zip(lane.tick_ns, lane.kind, strict=True) if kind == Tick.REAL]
    longest_s = max(b - a for a, b in pairwise(real_ns)) / 1e9
    assert longest_s == pytest.approx(out_s, abs=0.025)


def test_in_passthrough_no_stale_tail_passes_the_gate() -> None:
    unbuffered = msgspec.structs.replace(DEPLOYED, playout_buffer_ms=0.0)
    link = PROFILES["stale_replay"]
    report = summarize(simulate(scenario(communication=unbuffered, link=link, duration_s=40.0)))
    assert report["oldest_released_ms"] < 300.0


def test_never_recovering_leaves_the_arm_stopped() -> None:
    result = simulate(scenario(link=PROFILES["stale_replay"], duration_s=30.0, recover_s=-1.0))
    kind = kinds(result.buffer)
    first = kind.tolist().index(Tick.STOPPED)
    assert set(kind[first:].tolist()) == {int(Tick.STOPPED)}


def test_progress_ends_at_the_whole() -> None:
    shares: list[float] = []
    simulate(scenario(), shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"duration_s": float("nan")}, "--duration"),
        ({"duration_s": 0.0}, "--duration"),
        ({"drift_ppm": 1e9}, "--drift-ppm"),
        ({"recover_s": float("nan")}, "--recover"),
        ({"restarts": (Restart(5.0, 1.0), Restart(5.5, 1.0))}, "--restart"),
        ({"restarts": (Restart(float("nan"), 1.0),)}, "--restart"),
    ],
)
def test_a_scenario_out_of_range_names_its_option(changes: dict[str, Any], word: str) -> None:
    with pytest.raises(InputError) as refused:
        scenario(**changes)
    assert word in str(refused.value)


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize("name", ["5g_urban_public_v30.csv", "5g_urban_private_v30.csv"])
def test_a_measured_city_link_neither_stops_nor_holds_a_measured_arm(name: str) -> None:
    link = load_link(str(DATA / "links" / name))
    assert link.trace is not None
    report = summarize(
        simulate(
            scenario(
                motion=load_motion(str(DATA / "motions" / "ur10e_unloaded.csv")),
                link=link,
                duration_s=link.trace.period_ns / 1e9,
            ),
            peers=False,
        )
    )
    assert report["stops"] == []
    assert report["held_ticks_share"] <= 0.001


@needs_data
def test_the_measured_rural_link_is_a_stop_that_names_its_cause() -> None:
    link = load_link(str(DATA / "links" / "5g_rural_weak.csv"))
    report = summarize(simulate(scenario(link=link, duration_s=60.0), peers=False))
    assert report["stops"]
    assert all(stop["cause"] == "underrun" and not stop["false"] for stop in report["stops"])
    assert all("nothing has arrived for" in stop["why"] for stop in report["stops"])
