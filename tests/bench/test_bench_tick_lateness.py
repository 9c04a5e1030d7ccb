"""The bench of tick lateness: its arithmetic, its bounds, and ten seconds of it."""

import os
from typing import Any

import pytest

from bench import load
from bench.__main__ import merged
from bench.harness import Table
from bench.led_follower import (
    HeartWatch,
    Tick,
    lateness_ns,
    led_follower,
    lost_slots,
    missing_records,
    process_losses,
)
from bench.load import GARBAGE_BURST, LONGEST_S, loaded, owed
from bench.stalls import Witnesses, unexplained_losses
from bench.tick_lateness import SAMPLES, Counted, heartbeat_table, histogram_us, lateness_table, turns_s
from steadyhand.core.safety.latch import StopCause, StopKind
from steadyhand.edge.heartbeat_board import Alive, NeverBeat, StoodStill
from steadyhand.edge.realtime import DATA_PLANE_PRIORITY
from tests.nodes.processes import wait_until

MS = 1_000_000
PERIOD_NS = 10 * MS
TURN_S = 5.0
LOST = StopCause(kind=StopKind.PROCESS_LOST, detail="dead", name="launcher")


def ticks(*due_ms: float, late_ms: float = 0.0, causes: tuple[StopCause | None, ...] = ()) -> list[Tick]:
    stopped_by = causes or (None,) * len(due_ms)
    return [
        Tick(
            tick=number,
            pid=1,
            at_ns=round((due + late_ms) * MS),
            due_ns=round(due * MS),
            engage="idle",
            stopped_by=stopped_by[number],
        )
        for number, due in enumerate(due_ms)
    ]


# ---- arithmetic


def test_a_grid_that_snapped_has_lost_the_slots_it_passed() -> None:
    assert lost_slots(ticks(0, 10, 20, 30), PERIOD_NS) == 0
    # Trimmed by half a percent (R2): no slot is lost.
    assert lost_slots(ticks(0, 9.95, 20, 30.05), PERIOD_NS) == 0
    # Due at 20, ran at 47.3: the next one is due at 57.3, those due at 30 and 40 never ran.
    assert lost_slots(ticks(0, 10, 20, 57.3), PERIOD_NS) == 2


def test_lateness_is_from_the_slot_and_never_negative() -> None:
    assert lateness_ns(ticks(0, 10, late_ms=0.25)) == [250_000, 250_000]
    assert lateness_ns(ticks(0, late_ms=-1.0)) == [0]


def test_ticks_whose_record_was_not_read_are_counted() -> None:
    read = ticks(0, 10, 20, 30)
    assert missing_records(read) == 0
    assert missing_records([read[0], read[3]]) == 2
    assert missing_records([]) == 0


def test_a_stop_by_a_lost_process_counts_once() -> None:
    guard = StopCause(kind=StopKind.GUARD, detail="", name="")
    assert process_losses(ticks(0, 10, 20, 30, causes=(None, LOST, LOST, None))) == 1
    assert process_losses(ticks(0, 10, 20, causes=(None, guard, guard))) == 0
    assert process_losses(ticks(0, 10, 20, 30, 40, causes=(LOST, LOST, None, LOST, LOST))) == 1


def test_a_dead_heart_counts_once_until_it_beats_again() -> None:
    watch = HeartWatch()
    looks = (
        (NeverBeat(), Alive(5 * MS), Alive(MS)),
        (Alive(MS), StoodStill(301 * MS), Alive(MS)),
        (Alive(20 * MS), StoodStill(320 * MS), Alive(MS)),
        (Alive(MS), Alive(MS), Alive(MS)),
        (Alive(MS), StoodStill(310 * MS), Alive(MS)),
    )
    for look in looks:
        watch.note(look)
    assert (watch.judgements, watch.deaths) == ([4, 5, 5], [0, 2, 0])
    assert watch.longest_ns == [20 * MS, 320 * MS, MS]


def test_a_process_dead_from_the_start_of_a_turn_is_no_false_death() -> None:
    watch = HeartWatch()
    watch.note((Alive(MS), Alive(MS), Alive(MS)))
    watch.forget_state()
    watch.note((StoodStill(61 * MS), Alive(MS), Alive(MS)))
    assert watch.deaths == [0, 0, 0]


@pytest.mark.parametrize("rate_hz", [100, 500])
@pytest.mark.parametrize("samples", [100, 1_000, 6_000, SAMPLES])
def test_the_turns_give_the_samples_asked_for(rate_hz: int, samples: int) -> None:
    turns = turns_s(rate_hz, samples)
    assert sum(turns) * rate_hz == pytest.approx(samples)
    assert max(turns) <= 60.0


def test_all_samples_are_ten_minutes_and_two_of_sixty_seconds() -> None:
    assert (turns_s(100, SAMPLES), turns_s(500, SAMPLES)) == ([60.0] * 10, [60.0] * 2)


def test_what_cyclictest_leaves_out_of_its_histogram_is_as_late_as_its_maximum() -> None:
    told = {"thread": {"0": {"histogram": {"3": 2, "50": 1}, "cycles": 4, "max": 90_000}}}
    assert histogram_us(told) == [3.0, 3.0, 50.0, 90_000.0]


def test_the_tables_say_every_contender_and_every_process() -> None:
    ours = Counted(late_us=[1.0, 2.0], lost=1, led_ticks=1, read=400, stops=2)
    found = {100: {"data plane": ours, "cyclictest": Counted(note="skipped: not installed")}}
    late = lateness_table(found, 2)
    assert late.rows[1][:2] == ["100 Hz, cyclictest", "skipped: not installed"]
    told = late.figures["data_plane_100_hz"]
    assert (told["max"], told["lost"], told["led_share"], told["garbage_per_s"]) == (2.0, 1, 0.5, 20_000.0)
    hearts = heartbeat_table(found, {100: HeartWatch()})
    assert [row[0].partition(", ")[2] for row in hearts.rows] == [
        "data plane",
        "control plane",
        "launcher",
        "arm stopped by that",
    ]
    assert hearts.figures["stops_100_hz"] == 2


def test_figures_of_one_bench_leave_those_of_the_others() -> None:
    kept: dict[str, Any] = {"machine": {}, "tables": {"a": {"x": 1}, "b": {"y": 2}}}
    made = merged(kept, [Table(name="b", title="", columns=[], rows=[], figures={"y": 3})])
    assert made["tables"] == {"a": {"x": 1}, "b": {"y": 3}}
    assert made["machine"]["cores"] == os.cpu_count()


def test_a_lost_slot_is_explained_by_a_stall_around_its_late_tick_alone() -> None:
    # Due at 20, ran at 47.3.
    seen = [*ticks(0, 10), *ticks(20, late_ms=27.3), *ticks(57.3)]
    assert unexplained_losses(seen, PERIOD_NS, []) == [seen[2]]
    assert unexplained_losses(seen, PERIOD_NS, [(0, 9 * MS), (48 * MS, 60 * MS)]) == [seen[2]]
    assert unexplained_losses(seen, PERIOD_NS, [(21 * MS, 46 * MS)]) == []
    # The tick before, held up in its middle, makes this one late.
    assert unexplained_losses(seen, PERIOD_NS, [(12 * MS, 47 * MS)]) == []
    assert unexplained_losses(ticks(0, 10, 20, late_ms=9.0), PERIOD_NS, []) == []


# ---- bounds


def test_the_flood_is_bounded_in_rate_burst_and_number() -> None:
    assert owed(1 * MS, 0, 1_000_000) == (20, 0)
    assert owed(1_000 * MS, 0, 1_000_000) == (GARBAGE_BURST, 20_000 - GARBAGE_BURST)
    assert owed(1_000 * MS, 19_990, 19_995) == (5, 0)


def test_nobody_asks_for_a_load_without_an_end() -> None:
    for seconds in ("0", "nan", "inf", f"{LONGEST_S + 1}"):
        with pytest.raises(SystemExit):
            load.main("busy", seconds)


# ---- ten seconds of it


def test_the_load_ends_with_its_block() -> None:
    with loaded(9, 30.0):
        wait_until(lambda: len(load_children()) == 2, what="a busy process and a flood")
    assert not load_children()


def load_children() -> list[int]:
    """Processes of this one that are the load."""
    with open(f"/proc/{os.getpid()}/task/{os.getpid()}/children", encoding="ascii") as told:
        return [pid for pid in map(int, told.read().split()) if _is_load(pid)]


def _is_load(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as told:
            return b"bench.load" in told.read()
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.parametrize("rate_hz", [100, 500])
def test_no_tick_is_lost_under_load(rate_hz: int) -> None:
    """Five seconds at each rate. How late they are is reported by `make bench` and judged by nobody.

    A slot in which the machine itself stood still, as a virtual one does for milliseconds, is not ours.
    """
    period_ns = 1_000_000_000 // rate_hz
    with led_follower(rate_hz) as running:
        granted = f"scheduling: granted, SCHED_FIFO {DATA_PLANE_PRIORITY}"
        if not any("data plane: " + granted in line for line in running.follower.lines):
            pytest.skip("this machine grants no real-time class")
        witnesses = Witnesses()
        with loaded(running.follower.udp_port, TURN_S + 60.0):
            seen = running.watch(TURN_S)
        stalls = witnesses.stalls()
    assert missing_records(seen) == 0
    assert sum(tick.arrived for tick in seen) > 1_000
    lost = unexplained_losses(seen, period_ns, stalls)
    late_ms = [f"{tick_ns / MS:.1f} ms" for tick_ns in lateness_ns(lost)]
    assert not lost, f"{late_ms} late without a stall, of {len(seen)} ticks; stalls: {len(stalls)}"
