"""The figures: each makes its point, and the committed files are what the code draws."""

import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from steadyhand.cli.figures import figures
from steadyhand.core.playout import DRAIN_LADDER, HoldReason, Offer, config
from steadyhand.ground.errors import InputError
from steadyhand.view.figures import SCRIPTS, Script, Trace, play, render_all, write_all
from steadyhand.view.figures.notes import notes
from steadyhand.view.figures.player import Drained, TickRecord
from steadyhand.view.figures.score import read_score
from steadyhand.view.figures.words import ARRIVAL_WORDS, HOLD_WORDS, sentence, spell
from steadyhand.view.rules_source import read_flush_paths

COMMITTED = Path(__file__).parents[2] / "docs/figures"
LETTERS = [script.letter for script in SCRIPTS]


@cache
def trace_of(letter: str) -> Trace:
    """Each figure is played on its own, so that a broken one names itself."""
    return play(next(script for script in SCRIPTS if script.letter == letter))


@pytest.fixture(scope="module")
def rendered() -> dict[str, bytes]:
    return render_all()


def released(trace: Trace) -> list[tuple[int, int, str]]:
    """(tick, seq, kind) of each tick that moved the arm."""
    return [(r.tick, r.drained.seq, r.drained.kind) for r in trace.ticks if r.drained.seq is not None]


def verdicts(trace: Trace) -> dict[int, list[Offer]]:
    """What each number met, in order of arrival."""
    met: dict[int, list[Offer]] = {}
    for record in trace.ticks:
        for arrived in record.arrivals:
            met.setdefault(arrived.seq, []).append(arrived.verdict)
    return met


def kinds(trace: Trace) -> list[str]:
    """What each tick did."""
    return [record.drained.kind for record in trace.ticks]


# What each figure says ---------------------------------------------------------------------------


@pytest.mark.parametrize("letter", LETTERS)
def test_releases_go_strictly_forward_whatever_the_network_does(letter: str) -> None:
    seqs = [seq for _, seq, _ in released(trace_of(letter))]
    assert len(seqs) > 5
    assert all(a < b for a, b in pairwise(seqs))


def test_figure_a_jitter_becomes_depth_and_the_releases_are_a_metronome() -> None:
    trace = trace_of("A")
    start = released(trace)[0][0]
    assert kinds(trace) == ["hold"] * start + ["release"] * (len(trace.ticks) - start)
    assert [seq for _, seq, _ in released(trace)] == list(range(len(trace.ticks) - start))
    arrivals = {len(record.arrivals) for record in trace.ticks}
    assert {0, 1, 2, 3} <= arrivals, "no jitter to speak of"
    depths = {record.depth for record in trace.ticks[start:]}
    assert min(depths) < 5 < max(depths)


def test_figure_b_the_overtaken_packet_lands_in_its_slot() -> None:
    trace = trace_of("B")
    order = [seq for seq in verdicts(trace) if seq in (8, 9)]
    assert order == [9, 8]
    assert verdicts(trace)[8] == [Offer.REPAIRED]
    seqs = [seq for _, seq, _ in released(trace)]
    assert seqs == list(range(len(seqs)))
    assert "synthetic" not in kinds(trace)


def test_figure_c_the_straggler_is_refused_and_never_sent() -> None:
    trace = trace_of("C")
    assert verdicts(trace)[9] == [Offer.TOO_LATE]
    came = next(r.tick for r in trace.ticks if 9 in [arrived.seq for arrived in r.arrivals])
    gone = {seq: tick for tick, seq, _ in released(trace)}
    assert gone[11] < came, "it is no straggler before 11 is released"
    assert [kind for _, seq, kind in released(trace) if seq == 9] == ["synthetic"]


def test_figure_d_no_tick_is_missed_and_the_burst_leaves_no_lag() -> None:
    trace = trace_of("D")
    start = released(trace)[0][0]
    assert set(kinds(trace)[start:]) == {"release"}
    burst = next(record for record in trace.ticks if len(record.arrivals) == 8)
    silent = [record.tick for record in trace.ticks if not record.arrivals]
    assert silent == list(range(burst.tick - 4, burst.tick))
    assert trace.ticks[burst.tick - 1].depth_left == 0, "paid out to the last entry"
    assert burst.overflow == (12, 13, 14)
    assert {record.depth for record in trace.ticks[burst.tick :]} == {5}
    seqs = [seq for _, seq, _ in released(trace)]
    assert [b for a, b in pairwise(seqs) if b != a + 1] == [15], "stepped over, not bridged (R1)"


def test_figure_e_leftovers_are_purged_and_the_new_stream_starts_clean() -> None:
    trace = trace_of("E")
    purged = {seq: record.tick for record in trace.ticks for seq in record.aged}
    assert purged.keys() == {0, 1}
    back = next(record.tick for record in trace.ticks if record.arrivals and record.tick > 1)
    assert max(purged.values()) < back
    assert trace.ticks[back].depth == 1
    assert [seq for _, seq, _ in released(trace)][:3] == [29, 30, 31]
    assert "stall" not in kinds(trace), "a stream that never played cannot stall"


def test_figure_f_the_queue_is_paid_out_held_for_the_grace_then_stopped() -> None:
    trace = trace_of("F")
    last = max(record.tick for record in trace.ticks if record.arrivals)
    after = [(record.drained.kind, record.drained.reason) for record in trace.ticks[last + 1 :]]
    held = ("hold", "underrun")
    assert after[:7] == [("release", None)] * 4 + [held] * 2 + [("stall", "underrun")]
    assert {kind for kind, _ in after[7:]} == {"hold"}
    stop = trace.ticks[last + 7]
    assert "upstream stopped" in (stop.drained.why or "")


def test_figure_g_the_stream_stops_ahead_of_the_hole() -> None:
    trace = trace_of("G")
    assert set(range(14, 29)).isdisjoint(verdicts(trace))
    stop = next(record for record in trace.ticks if record.drained.kind == "stall")
    assert stop.drained.reason == "hole_ahead"
    assert [arrived.seq for arrived in stop.arrivals] == [29], "at the first tick that could see the hole"
    assert stop.flushed == (10, 11, 12, 13, 29)
    assert released(trace)[-1][1] < 14


def test_figure_h_two_synthetics_walk_the_straight_line_and_the_straggler_is_sealed_off() -> None:
    trace = trace_of("H")
    angles = {r.drained.seq: r.drained.joint_deg for r in trace.ticks if r.drained.seq is not None}
    assert [seq for _, seq, kind in released(trace) if kind == "synthetic"] == [6, 7]
    five, six, seven, eight = (angles[seq] for seq in (5, 6, 7, 8))
    assert five is not None
    assert eight is not None
    assert [six, seven] == pytest.approx([five + (eight - five) / 3, five + 2 * (eight - five) / 3])
    assert six != pytest.approx(0.01 * 6 * 6), "the received path is curved, so the line is visible"
    assert verdicts(trace)[6] == [Offer.TOO_LATE]
    ticks = [tick for tick, _, _ in released(trace)]
    assert all(b == a + 1 for a, b in pairwise(ticks)), "the arm neither waits nor jumps"


def test_figure_i_absorbs_what_it_can_and_ends_in_a_stop() -> None:
    trace = trace_of("I")
    told = kinds(trace)
    start, stop = told.index("release"), told.index("stall")
    assert set(told[start : stop - 2]) == {"release"}
    assert told[stop - 2 : stop] == ["hold", "hold"]
    assert any(record.overflow for record in trace.ticks)
    assert trace.ticks[stop].drained.reason == "underrun"
    assert all(record.stopped for record in trace.ticks[stop + 1 :])


# The scripts, the notation, the words ------------------------------------------------------------


def test_there_are_nine_figures_a_to_i() -> None:
    assert "".join(LETTERS) == "ABCDEFGHI"


def test_every_rule_a_figure_names_exists() -> None:
    known = {rule.__name__ for rule in DRAIN_LADDER} | {verdict.value for verdict in Offer}
    known |= set(read_flush_paths()) | {name for name in vars(config) if name.isupper()}
    named = {rule for script in SCRIPTS for rule in script.rules}
    assert named
    assert named <= known


def test_a_score_is_read_tick_by_tick() -> None:
    assert read_score("0 9,8 12-14 . .*2 7..9 1,4-5") == (
        (0,),
        (9, 8),
        (12, 13, 14),
        (),
        (),
        (),
        (7,),
        (8,),
        (9,),
        (1, 4, 5),
    )


@pytest.mark.parametrize("token", ["x", "1,,2", "3-", "..", "1..", "*3", "9..7", "9-7"])
def test_a_token_that_is_none_is_named(token: str) -> None:
    with pytest.raises(InputError, match="score: .*" + token.replace(".", r"\.").replace("*", r"\*")):
        read_score(f"0 1 {token} 2")


def test_a_script_may_not_move_a_stopped_arm() -> None:
    script = Script(letter="X", title="", point="", danger="", answer="", rules=(), score="0..9 .*8 20..29")
    with pytest.raises(RuntimeError, match="after the stop"):
        play(script)


def test_every_verdict_and_every_hold_has_words() -> None:
    assert set(ARRIVAL_WORDS) == set(Offer)
    assert set(HOLD_WORDS) == set(HoldReason)


def test_numbers_are_spelt_as_people_write_them() -> None:
    assert spell([6, 7]) == "6 and 7"
    assert spell([12, 13, 14]) == "12–14"
    assert spell([10, 11, 12, 29]) == "10–12 and 29"
    assert spell([1, 3, 9]) == "1, 3 and 9"
    assert spell([4]) == "4"


def test_a_tick_is_told_in_the_order_in_which_it_happened() -> None:
    ticks = trace_of("D").ticks
    assert sentence(ticks[16]) == (
        "Tick 16, 160 ms. 12–19 arrive. 12–14 are dropped: the queue stood above its high-water mark "
        "and falls back to the target. 15 is released (2.25°). Queue 5, then 4; target 5."
    )
    assert "still filling, 3 of 5" in sentence(ticks[2])
    assert "6 has not come: a synthetic stands in" in sentence(trace_of("H").ticks[10])
    assert "6 arrives after its moment and is refused" in sentence(trace_of("H").ticks[13])
    assert "8 arrives out of order and takes its slot" in sentence(trace_of("B").ticks[10])
    assert "STOP, underrun for 20 ms" in sentence(trace_of("F").ticks[18])
    assert "The arm stands" in sentence(trace_of("F").ticks[19])
    assert "0 is discarded unsent" in sentence(trace_of("E").ticks[25])


def test_every_hold_reason_can_be_told() -> None:
    for reason in HoldReason:
        record = TickRecord(
            tick=1,
            at_ms=10.0,
            arrivals=(),
            overflow=(),
            aged=(),
            flushed=(),
            drained=Drained(kind="hold", reason=reason.value),
            depth=2,
            depth_left=2,
            target=5,
            stopped=False,
        )
        assert "Nothing is released: " in sentence(record)
        assert "{" not in sentence(record)


def test_notes_stand_at_the_ticks_where_a_rule_shows() -> None:
    assert notes(trace_of("I").ticks) == [
        (4, "5 queued: playing starts"),
        (24, "20–22 dropped: over high water"),
        (38, "empty: hold"),
        (40, "STOP: underrun"),
    ]


# The files ---------------------------------------------------------------------------------------


def test_the_committed_figures_are_what_the_code_draws(rendered: dict[str, bytes]) -> None:
    committed = {path.name: path.read_bytes() for path in sorted(COMMITTED.iterdir())}
    assert committed.keys() == rendered.keys(), "docs/figures has drifted: run `make figures`"
    changed = [name for name, content in rendered.items() if committed[name] != content]
    assert changed == [], "docs/figures has drifted: run `make figures`"


def test_the_numbers_are_those_of_the_traces(rendered: dict[str, bytes]) -> None:
    numbers = json.loads(rendered["figures.json"])
    assert [entry["figure"]["letter"] for entry in numbers] == LETTERS
    for entry in numbers:
        trace = trace_of(entry["figure"]["letter"])
        assert [tick["depth"] for tick in entry["ticks"]] == [record.depth for record in trace.ticks]
        assert [tick["drained"]["kind"] for tick in entry["ticks"]] == kinds(trace)
        assert [tick["drained"].get("seq") for tick in entry["ticks"]] == [r.drained.seq for r in trace.ticks]
        arrived = [[(a["seq"], a["verdict"]) for a in tick.get("arrivals", [])] for tick in entry["ticks"]]
        assert arrived == [[(a.seq, a.verdict.value) for a in r.arrivals] for r in trace.ticks]


def test_the_same_code_writes_the_same_bytes(rendered: dict[str, bytes], tmp_path: Path) -> None:
    written = write_all(tmp_path / "new" / "figures")
    assert {path.name: path.read_bytes() for path in written} == rendered
    assert sorted(path.name for path in (tmp_path / "new" / "figures").iterdir()) == sorted(rendered)


def test_the_command_says_what_it_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figures(out=tmp_path)
    assert (tmp_path / "index.html").exists()
    assert capsys.readouterr().out == f"11 files in {tmp_path}; open {tmp_path / 'index.html'}\n"


def test_an_out_that_is_a_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="file: cannot write the figures"):
        write_all(tmp_path / "file")


def svgs(rendered: dict[str, bytes]) -> Iterator[tuple[str, ET.Element]]:
    for name, content in rendered.items():
        if name.endswith(".svg"):
            yield name[0].upper(), ET.fromstring(content.decode())  # our own bytes, not a stranger's


def test_each_picture_has_a_name_a_story_and_a_ground(rendered: dict[str, bytes]) -> None:
    space = "{http://www.w3.org/2000/svg}"
    drawn = dict(svgs(rendered))
    assert sorted(drawn) == LETTERS
    for letter, svg in drawn.items():
        ids = {element.get("id") for element in svg.iter() if element.get("id")}
        assert set((svg.get("aria-labelledby") or "").split()) <= ids
        assert (svg.findtext(f"{space}title") or "").startswith(f"{letter} · ")
        assert len(svg.findtext(f"{space}desc") or "") > 100
        ground = svg.find(f"{space}rect")
        assert ground is not None
        assert (ground.get("width"), ground.get("height")) == (svg.get("width"), svg.get("height"))
        titles = [column.findtext(f"{space}title") for column in svg.iter(f"{space}rect") if len(column)]
        assert titles == [sentence(record) for record in trace_of(letter).ticks]


def test_nothing_in_the_files_points_outside(rendered: dict[str, bytes]) -> None:
    for content in rendered.values():
        text = content.decode().replace("http://www.w3.org/2000/svg", "")
        assert "http" not in text
        assert "//" not in text.replace("// One figure", "")
        assert "@import" not in text
        assert "url(" not in text
