"""What is seen of a demo: panel, plain lines, and the table at its end."""

import io
from typing import Any

import msgspec
import pytest
from rich.console import Console

from steadyhand.nodes.demo.glimpse import Glimpse
from steadyhand.view.demo_live import BAR_CELLS, PlainLines, depth_bar, mix, panel, plain_line, watching
from steadyhand.view.demo_table import print_demo, process_figures
from steadyhand.view.plots.demo_section import demo_section

SOON = Glimpse(
    phase="streaming",
    elapsed_s=3.25,
    duration_s=30.0,
    engage="streaming",
    depth=15,
    target=20,
    fresh=0.98,
    synthetic=0.005,
    held=0.015,
    wait_ms=148.4,
    latency_ms=152.6,
)
STOPPED = msgspec.structs.replace(
    SOON,
    phase="link killed",
    engage="stopped",
    link="killed",
    stopped_by="underrun for 20 ms",
    last_stop="stall: x",
)


def drawn(thing: Any, width: int = 120) -> str:
    out = io.StringIO()
    Console(file=out, width=width, no_color=True).print(thing)
    return out.getvalue()


def test_the_bar_is_filled_to_the_depth_and_marked_at_the_target() -> None:
    bar = depth_bar(10, 20).plain
    assert bar == "█" * 9 + "·" * 9 + "│" + "·" * 17 + " 10 of 20"


@pytest.mark.parametrize(("depth", "target"), [(0, 0), (500, 20), (0, 20), (40, 20), (3, 0)])
def test_the_bar_is_as_long_whatever_it_shows(depth: int, target: int) -> None:
    bar = depth_bar(depth, target).plain
    assert len(bar) == BAR_CELLS + len(f" {depth} of {target}")


def test_the_mix_is_told_in_percent() -> None:
    assert mix(SOON).plain == "98 % fresh  0 % synthetic  2 % held"


def test_the_panel_tells_phase_queue_latency_and_state() -> None:
    told = drawn(panel(SOON))
    for words in (
        "streaming · 3.2 of 30 s",
        "15 of 20",
        "148 ms in the queue",
        "153 ms from sending to release",
    ):
        assert words in told


def test_a_stop_is_seen_in_the_panel_with_its_cause() -> None:
    told = drawn(panel(STOPPED))
    for words in ("killed", "stopped", "underrun for 20 ms", "stall: x"):
        assert words in told


def test_what_was_not_seen_yet_is_a_dash() -> None:
    told = drawn(panel(Glimpse(phase="setting up", elapsed_s=-1.0, duration_s=30.0)))
    assert "setting up · 0.0 of 30 s" in told
    assert "– in the queue" in told


def test_a_plain_line_says_the_same() -> None:
    assert plain_line(STOPPED) == (
        "3.2 s link killed | arm stopped | queue 15 of 20 | 98 % fresh  0 % synthetic  2 % held | "
        "sent to released 153 ms | stopped: underrun for 20 ms"
    )


def test_headless_tells_what_happens_and_nothing_else() -> None:
    out = io.StringIO()
    with watching(headless=True, console=Console(file=out, width=200)) as watcher:
        watcher.say("12.00 s: the link is killed, [both] paths")
        watcher.show(SOON)
    assert out.getvalue() == "12.00 s: the link is killed, [both] paths\n"


def test_a_dumb_terminal_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    out = io.StringIO()
    with watching(headless=False, console=Console(file=out, width=200, force_terminal=True)) as watcher:
        assert isinstance(watcher, PlainLines)
        watcher.say("streaming")
    assert "\x1b" not in out.getvalue()


def test_a_terminal_gets_a_panel_and_what_happens_above_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    out = io.StringIO()
    console = Console(file=out, width=120, force_terminal=True, no_color=True)
    with watching(headless=False, console=console) as watcher:
        watcher.show(SOON)
        watcher.say("the link is killed")
    assert "15 of 20" in out.getvalue()
    assert "the link is killed" in out.getvalue()


def report(**changes: Any) -> dict[str, Any]:
    whole: dict[str, Any] = {
        "controller_faults": 0,
        "one_release_share": 0.9995,
        "periods": 2800,
        "tick_lateness_us": {"p50": 6.0, "p99_9": 2800.0, "max": 9337.4},
        "estops": [
            {
                "path": "datagram",
                "follower_ms": 1.9,
                "controller_ms": 3.5,
                "one_way_ms": 1.5,
                "cause": "e-stop by datagram",
                "at_s": 31.0,
            },
            {"path": "control", "follower_ms": None, "controller_ms": None, "one_way_ms": None},
        ],
        "records": {"read": 3434, "missed": 0},
        "log": "out/demo.ticks",
        "granted": ["scheduling: granted, SCHED_FIFO 80"],
    }
    return whole | changes


def test_the_processes_figures_are_told_in_words() -> None:
    assert dict(process_figures(report())) == {
        "controller faults": "0",
        "periods with one release": "99.95 % of 2,800",
        "ticks late by": "p50 6 µs, p99.9 2,800 µs, at most 9,337 µs",
        "e-stop over datagram alone": (
            "stopped after 1.9 ms, 1.5 ms of it on the way, its controller said so after 3.5 ms"
        ),
        "e-stop over control alone": "did not stop the arm",
        "log": "out/demo.ticks, 3,434 ticks",
    }


def test_what_was_not_measured_is_not_made_up() -> None:
    told = dict(
        process_figures(
            report(
                controller_faults=None,
                one_release_share=None,
                tick_lateness_us={"p50": None, "p99_9": None, "max": None},
                records={"read": 10, "missed": 3},
            )
        )
    )
    assert told["controller faults"] == "not told"
    assert told["periods with one release"] == "–"
    assert told["ticks late by"] == "p50 –, p99.9 –, at most –"
    assert told["log"].endswith("10 ticks, 3 missed")


def test_a_page_of_a_simulated_run_has_no_processes() -> None:
    assert demo_section({"stops": []}) == ""
    page = demo_section(report(log="<out>"))
    assert "&lt;out&gt;" in page
    assert "SCHED_FIFO 80" in page


def test_the_table_names_the_script_and_the_two_alternatives() -> None:
    lane = {
        "added_delay_ms": {"p50": 1.0, "p99": 2.0},
        "queue_wait_ms": {"p50": 1.0, "p99": 2.0},
        "oldest_released_ms": 3.0,
        "held_ticks": 1,
        "held_ticks_share": 0.01,
        "synthetics": 0,
        "lost_at_release": 0,
        "peak_speed_deg_s": 40.0,
        "peak_accel_deg_s2": 400.0,
        "stopped_ticks": 0,
        "stops": [],
        "false_stops": 0,
    }
    whole = report(
        **lane,
        scenario={
            "motion": "reaches",
            "link": "wifi",
            "duration_s": 30.0,
            "seed": 7,
            "script": "kill_link",
            "buffer": "Playout buffer on",
            "notes": ["a note"],
        },
        alternatives={"latest_wins": lane, "ordered": lane},
        datagrams={"sent": 1, "lost": 0, "doubled": 0, "copies_carried": 0},
    )
    out = io.StringIO()
    print_demo(whole, Console(file=out, width=200, no_color=True))
    for words in (
        "script kill_link",
        "latest wins",
        "ordered stream",
        "Note: a note",
        "controller faults: 0",
    ):
        assert words in out.getvalue()
