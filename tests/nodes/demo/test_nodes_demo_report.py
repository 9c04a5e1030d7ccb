"""The report's keys, each by a small literal case."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from steadyhand.core.follower.outputs import Stopped
from steadyhand.core.link import PROFILES
from steadyhand.core.safety.latch import StopCause, StopKind
from steadyhand.edge.impairment.memory import Packet
from steadyhand.ground.motion import Motion
from steadyhand.nodes.demo.course import Course
from steadyhand.nodes.demo.report import (
    EstopTaken,
    Findings,
    NothingPlayedError,
    report_of,
    run_result,
    shortcoming,
    with_one_way,
)
from steadyhand.nodes.follower.records import TickRecord
from steadyhand.simulation.scenario import Scenario
from steadyhand.simulation.script import Script

MS = 1_000_000
BEGIN_NS = 1_000 * MS
KEYS_OF_SIMULATE = (
    "stops",
    "held_ticks_share",
    "synthetics",
    "lost_at_release",
    "overflow_dropped",
    "aged_dropped",
    "underrun_episodes",
    "released",
    "queue_wait_ms",
    "oldest_released_ms",
    "peak_speed_deg_s",
    "peak_accel_deg_s2",
    "alternatives",
)

MakeTick = Callable[..., TickRecord]
MakeCourse = Callable[..., Course]


def scenario(script: Script = "none") -> Scenario:
    motion = Motion(times_s=(0.0, 1.0), poses_deg=((0.0,), (1.0,)))
    return Scenario(motion=motion, link=PROFILES["clean"], duration_s=6.0, script=script)


def findings(**changes: Any) -> Findings:
    whole = Findings(controller_faults=0, log=Path("demo.ticks"), granted=("scheduling: no",))
    return msgspec.structs.replace(whole, **changes)


def stopped(at_ms: float) -> Stopped:
    cause = StopCause(kind=StopKind.STALL, detail="nothing came", name="underrun")
    return Stopped(at_ns=BEGIN_NS + round(at_ms * MS), cause=cause)


@pytest.fixture
def played(course: MakeCourse, tick: MakeTick) -> Course:
    """Three setpoints on a link of 5 ms; the third tick holds."""
    return course(
        [
            tick(0.0, late_us=20),
            tick(10.0, released_deg=1.0, arrived_ms=5.1, late_us=30),
            tick(20.0, released_deg=2.0, arrived_ms=15.1, late_us=900, seq=1),
            tick(30.0, sent_deg=2.0, late_us=20, counters={"lost_at_release": 1, "underrun_episodes": 2}),
        ],
        led=((0.0, 1.0), (10.0, 2.0), (20.0, 3.0)),
        packets=((0.1, 5.1), (10.1, 15.1), (20.1, None)),
    )


def report(run: Course, script: Script = "none", **changes: Any) -> dict[str, Any]:
    return report_of(run_result(scenario(script), run, findings(**changes)), run, findings(**changes))


def test_the_report_has_the_keys_of_simulate_and_those_of_real_processes(played: Course) -> None:
    keys = set(report(played))
    assert set(KEYS_OF_SIMULATE) <= keys
    assert {
        "controller_faults",
        "one_release_share",
        "tick_lateness_us",
        "estop_ms",
        "log",
        "granted",
    } <= keys


def test_the_figures_are_those_of_what_was_recorded(played: Course) -> None:
    told = report(played)
    assert (told["released"], told["synthetics"], told["held_ticks"]) == (2, 0, 1)
    assert told["held_ticks_share"] == pytest.approx(1 / 3, abs=1e-6)
    assert (told["lost_at_release"], told["underrun_episodes"]) == (1, 2)
    assert told["queue_wait_ms"] == {"p50": 4.93, "p99": 5.8}
    assert told["oldest_released_ms"] == 10.9
    assert told["peak_speed_deg_s"] == 100.0
    assert told["datagrams"]["lost"] == 1


def test_the_alternatives_play_the_packets_of_the_proxy(played: Course) -> None:
    lanes = report(played)["alternatives"]
    assert {name: lane["released"] for name, lane in lanes.items()} == {"latest_wins": 2, "ordered": 2}
    assert lanes["latest_wins"]["held_ticks"] == 1


def test_the_share_of_periods_with_one_release(played: Course) -> None:
    assert report(played)["one_release_share"] == pytest.approx(2 / 3, abs=1e-6)


def test_lateness_is_of_the_ticks_against_when_they_were_due(played: Course) -> None:
    assert report(played)["tick_lateness_us"] == {"p50": 20.0, "p99_9": 900.0, "max": 900.0}


def test_estops_are_told_by_the_path_that_lived(played: Course) -> None:
    taken = (
        EstopTaken(path="datagram", pressed_ns=BEGIN_NS + 7_000 * MS, follower_ms=3.21049, controller_ms=4.0),
        EstopTaken(path="control", pressed_ns=BEGIN_NS + 9_000 * MS, follower_ms=5.0),
    )
    told = report(played, estops=taken)
    assert told["estop_ms"] == {"datagram": 3.21, "control": 5.0}
    assert told["estops"][0] == {
        "path": "datagram",
        "at_s": 7.0,
        "follower_ms": 3.21,
        "controller_ms": 4.0,
        "one_way_ms": None,
        "cause": "",
    }


def test_the_network_says_how_long_it_kept_the_estop(played: Course) -> None:
    pressed_ns = BEGIN_NS + 7_000 * MS
    packets = (*played.packets, Packet(pressed_ns + MS, pressed_ns + 4 * MS, "arrives"))
    run = msgspec.structs.replace(played, packets=packets)
    by_datagram = EstopTaken(path="datagram", pressed_ns=pressed_ns, follower_ms=5.0)
    assert with_one_way(by_datagram, run).one_way_ms == 3.0
    assert with_one_way(by_datagram, played).one_way_ms is None
    by_control = msgspec.structs.replace(by_datagram, path="control")
    assert with_one_way(by_control, run).one_way_ms is None


def test_a_run_that_sent_nothing_has_no_report(course: MakeCourse, tick: MakeTick) -> None:
    with pytest.raises(NothingPlayedError, match="before a setpoint was sent: it was interrupted"):
        run_result(scenario(), course([tick(0.0)]), findings(cut_short="it was interrupted"))


# ---- whether the run did what its script says


def judge(run: Course, script: Script = "none", **changes: Any) -> str | None:
    return shortcoming(run_result(scenario(script), run, findings(**changes)), run, findings(**changes))


def killed(course: MakeCourse, tick: MakeTick, *, stops: bool = True, plays_again: bool = True) -> Course:
    events = (stopped(20.0),) if stops else ()
    return course(
        [
            tick(0.0, released_deg=1.0),
            tick(20.0, engage="stopped", events=events),
            tick(60.0, released_deg=2.0 if plays_again else None, engage="streaming"),
        ],
        led=((-20.0, 1.0), (50.0, 2.0)),
        packets=((0.1, 0.2), (10.0, None), (55.0, 56.0)),
        end_ms=100.0,
        killed_ms=(5.0, 60.0 if plays_again else 100.0),
    )


def test_a_run_without_a_script_and_without_a_stop_did_what_it_should(played: Course) -> None:
    assert judge(played) is None


def test_a_killed_link_that_stops_the_arm_and_lets_it_play_again_is_as_it_should_be(
    course: MakeCourse, tick: MakeTick
) -> None:
    assert judge(killed(course, tick), "kill_link") is None


def test_a_killed_link_that_stops_nothing_is_told(course: MakeCourse, tick: MakeTick) -> None:
    told = judge(killed(course, tick, stops=False), "kill_link")
    assert told == "the arm was not stopped when the link was killed"


def test_an_arm_that_does_not_play_again_is_told(course: MakeCourse, tick: MakeTick) -> None:
    told = judge(killed(course, tick, plays_again=False), "kill_link")
    assert told == "the arm did not play again after the link had been killed"


def test_a_script_that_was_not_played_is_told(played: Course) -> None:
    assert judge(played, "kill_link") == "the link was not killed before the run ended"


def test_a_stop_that_nothing_called_for_is_told(course: MakeCourse, tick: MakeTick) -> None:
    run = course(
        [tick(5.0, released_deg=1.0), tick(2000.0, engage="stopped", events=(stopped(2000.0),))],
        led=tuple((float(at), 1.0) for at in range(0, 2100, 10)),
        packets=tuple((at + 0.1, at + 1.0) for at in range(0, 2100, 10)),
    )
    told = judge(run)
    assert told is not None
    assert told.startswith("the arm was stopped at 2.00 s though nothing called for it")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"controller_faults": 2}, "the controller faulted 2 times"),
        ({"controller_faults": None}, "the controller did not say how often it faulted"),
        ({"cut_short": "it was interrupted"}, "it was interrupted"),
        (
            {"estops": (EstopTaken(path="control", pressed_ns=0, follower_ms=None),)},
            "the e-stop over control alone did not stop the arm",
        ),
    ],
)
def test_faults_interruptions_and_lost_estops_are_told(
    played: Course, changes: dict[str, Any], told: str
) -> None:
    assert judge(played, **changes) == told
