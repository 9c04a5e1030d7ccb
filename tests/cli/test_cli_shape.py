"""`steadyhand shape` as its user types it: outputs, contract keys, one line for what cannot be used."""

import csv
import json
import math
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from steadyhand.cli.main import run

LANE_KEYS = {
    "settle_s", "overshoot_deg", "trail_deg", "peak_speed_deg_s", "peak_accel_deg_s2", "controller_faults",
    "distance_max_deg", "first_fault", "rejected_frames", "sweep_deg", "arm_peak_speed_deg_s",
    "arm_behind_max_deg",
}  # fmt: skip
RECORDINGS = Path(__file__).parents[2].parent / "shared" / "data" / "motions"


def report_of(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    assert run(["shape", *options, "--json", "-"]) == 0
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    return report


def test_the_json_has_the_contract_keys_shaped_and_unshaped(capsys: pytest.CaptureFixture[str]) -> None:
    report = report_of(capsys, "--jump", "30")
    assert set(report) == LANE_KEYS | {"scenario", "unshaped"}
    assert set(report["unshaped"]) == LANE_KEYS
    assert report["settle_s"] <= 0.52
    assert report["controller_faults"] == 0
    assert report["unshaped"]["controller_faults"] == 1
    assert report["scenario"]["optimal_s"] == pytest.approx(0.490, abs=5e-4)


@pytest.mark.peer
def test_a_comparison_adds_ruckig_of_both_orders(capsys: pytest.CaptureFixture[str]) -> None:
    report = report_of(capsys, "--jump", "-30", "--compare")
    for name in ("ruckig_2", "ruckig_3"):
        assert set(report[name]) == LANE_KEYS | {"planned_s", "solver_errors"}
    assert report["ruckig_2"]["planned_s"] == pytest.approx(0.490, abs=5e-4)
    assert report["ruckig_3"]["planned_s"] > report["ruckig_2"]["planned_s"]


def test_without_options_it_shows_the_jump_that_was_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["shape"]) == 0
    printed = capsys.readouterr().out
    for words in ("a jump of 2.5° by joint 1", "unshaped", "the arm swept 88.6° by itself", "no fault"):
        assert words in printed


def test_every_option_reaches_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    options = "--jump -12 --joint 3 --v-max 60 --a-max 400 --period-ms 8 --mode feed_forward --synchronised"
    more = "--model fr20 --trigger tcp_speed --seed 5 --duration 1.2"
    scenario = report_of(capsys, *options.split(), *more.split())["scenario"]
    expected = {
        "motion": None, "jump_deg": -12.0, "joint": 3,
        "v_max_deg_s": 60.0, "a_max_deg_s2": 400.0, "period_ms": 8.0,
        "mode": "feed_forward", "synchronised": True, "model": "fr20", "trigger": "tcp_speed", "seed": 5,
        "duration_s": 1.2, "title": "a jump of -12° by joint 3 in one tick",
    }  # fmt: skip
    assert {key: scenario[key] for key in expected} == expected
    assert "tool under 2 m/s" in scenario["notes"][0]


def test_the_models_own_ceiling_holds_where_none_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert report_of(capsys, "--model", "fr20")["scenario"]["v_max_deg_s"] == 120.0
    assert report_of(capsys, "--model", "fr3")["scenario"]["v_max_deg_s"] == 130.0


def test_the_csv_has_every_tick_and_its_bounds_can_be_checked(tmp_path: Path) -> None:
    out = tmp_path / "ticks.csv"
    assert run(["shape", "--jump", "30", "--csv", str(out)]) == 0
    with out.open(encoding="utf-8", newline="") as file:
        rows = [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]
    assert [row["tick"] for row in rows] == list(range(len(rows)))
    assert rows[20]["raw_j1_deg"] - rows[19]["raw_j1_deg"] == 30.0
    assert rows[-1]["j1_deg"] == pytest.approx(30.0, abs=1e-9)
    assert rows[-1]["arm_j1_deg"] == pytest.approx(30.0, abs=1e-9)
    for before, now in pairwise(rows):
        speed_deg_s = (now["j1_deg"] - before["j1_deg"]) / 0.01
        assert now["velocity_j1_deg_s"] == pytest.approx(speed_deg_s, abs=1e-9)
        assert abs(now["velocity_j1_deg_s"]) <= 130.0 + 1e-9
        assert abs(now["velocity_j1_deg_s"] - before["velocity_j1_deg_s"]) <= 5.0 + 1e-9
        assert all(math.isfinite(value) for value in now.values())


def test_the_csv_can_be_played_again_as_a_motion(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "shaped.csv"
    assert run(["shape", "--jump", "30", "--csv", str(out), "--json", str(tmp_path / "first.json")]) == 0
    capsys.readouterr()
    again = report_of(capsys, "--motion", str(out), "--mode", "feed_forward")
    assert again["unshaped"]["controller_faults"] == 0
    assert again["controller_faults"] == 0


def test_the_same_options_give_the_same_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = []
    for name in ("a", "b"):
        files = [tmp_path / f"{name}.{kind}" for kind in ("json", "csv", "svg")]
        given = ["--json", str(files[0]), "--csv", str(files[1]), "--plot", str(files[2])]
        assert run(["shape", "--jump", "1.3", "--seed", "4", *given]) == 0
        made.append(([file.read_bytes() for file in files], capsys.readouterr().out))
    assert made[0] == made[1]


@pytest.mark.parametrize("option", ["--json", "--csv"])
def test_standard_output_has_only_what_was_asked_for(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["shape", option, "-"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("{\n" if option == "--json" else "tick,t_s,raw_j1_deg,")
    assert printed.endswith("}\n" if option == "--json" else "\n")


@pytest.mark.parametrize("kind", ["png", "svg", "html"])
def test_a_run_is_drawn(kind: str, tmp_path: Path) -> None:
    plot = tmp_path / f"shape.{kind}"
    assert run(["shape", "--motion", "step", "--plot", str(plot)]) == 0
    assert plot.stat().st_size > 20_000
    if kind != "png":
        drawn = plot.read_text(encoding="utf-8")
        for words in ("Through the shaper", "unshaped", "fault 1/32", "joint 1, °", "acceleration"):
            assert words in drawn


@pytest.mark.parametrize("jump", ["0", "0.4", "-2.5", "60"])
@pytest.mark.parametrize("model", ["sim", "fr20"])
def test_any_jump_on_any_model_is_drawn(jump: str, model: str, tmp_path: Path) -> None:
    """Also where nothing moves, nothing faults, or the frame is refused."""
    plot = tmp_path / "shape.svg"
    assert run(["shape", "--jump", jump, "--model", model, "--plot", str(plot)]) == 0
    assert "Through the shaper" in plot.read_text(encoding="utf-8")


def test_a_recording_is_shaped_without_a_fault(capsys: pytest.CaptureFixture[str]) -> None:
    recording = RECORDINGS / "ur10e_excitation.csv"
    if not recording.exists():
        pytest.skip("no recorded motions here")
    report = report_of(capsys, "--motion", str(recording), "--mode", "feed_forward", "--duration", "12")
    assert report["controller_faults"] == report["unshaped"]["controller_faults"] == 0
    assert report["distance_max_deg"] < 0.0002


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--motion", "nosuch"], ["nosuch"]),
        (["--motion", "nan.csv"], ["nan.csv", "3"]),
        (["--motion", "far.csv"], ["far.csv", "joint 1", "175", " s "]),
        (["--motion", "seven.csv"], ["7 joints", "6"]),
        (["--motion", "sine", "--jump", "3"], ["--jump", "two streams"]),
        (["--motion", "sine", "--joint", "2"], ["--joint", "belongs to --jump"]),
        (["--jump", "nan"], ["--jump"]),
        (["--jump", "200"], ["joint 1", "200", "175"]),
        (["--jump", "1000"], ["--jump", "1000"]),
        (["--joint", "0"], ["--joint", "1 to 6"]),
        (["--joint", "7"], ["--joint", "1 to 6"]),
        (["--v-max", "0"], ["--v-max"]),
        (["--v-max", "nan"], ["--v-max"]),
        (["--a-max", "-5"], ["--a-max"]),
        (["--a-max", "inf"], ["--a-max"]),
        (["--jerk-max", "0"], ["--jerk-max"]),
        (["--period-ms", "0"], ["--period-ms"]),
        (["--period-ms", "50"], ["--period-ms", "1 to 20"]),
        (["--mode", "fast"], ["fast"]),
        (["--model", "ur10e"], ["ur10e"]),
        (["--trigger", "mood"], ["mood"]),
        (["--duration", "0.1"], ["--duration"]),
        (["--duration", "nan"], ["--duration"]),
        (["--motion", "sine", "--duration", "1e9"], ["--duration"]),
        (["--plot", "run.pdf"], ["run.pdf", ".png"]),
        (["--json", "no/such/folder/out.json"], ["folder"]),
        (["--csv", "no/such/folder/out.csv"], ["folder"]),
        (["--csv", "-", "--json", "-"], ["--csv", "--json"]),
        (["--nosuch", "1"], ["--nosuch", "steadyhand shape --help"]),
        (["--seed", "x"], ["--seed"]),
    ],
)
def test_input_that_cannot_be_used_is_one_line_and_exit_code_2(
    arguments: list[str],
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("nan.csv").write_text("t_s,j1_deg\n0,1\n0.01,nan\n", encoding="utf-8")
    Path("far.csv").write_text("t_s,j1_deg\n0,150\n1,200\n", encoding="utf-8")
    names = ",".join(f"j{joint}_deg" for joint in range(1, 8))
    Path("seven.csv").write_text(f"t_s,{names}\n0,1,1,1,1,1,1,1\n1,2,2,2,2,2,2,2\n", encoding="utf-8")
    assert run(["shape", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("steadyhand: ")
    for word in words:
        assert word in captured.err


def test_without_the_library_the_comparison_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ruckig", None)
    assert run(["shape", "--compare"]) == 2
    assert "pip install steadyhand[peers]" in capsys.readouterr().err


def test_the_command_loads_no_plotting_and_no_peer_until_asked() -> None:
    code = (
        "import sys; from steadyhand.cli.main import run; run(['shape', '--json', '-']); "
        "sys.exit(any(name in sys.modules for name in ('matplotlib', 'ruckig')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=False)
    assert done.returncode == 0
