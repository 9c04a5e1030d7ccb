"""The command as its user types it: outputs, contract keys, and one line for what cannot be used."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from steadyhand.cli.main import run

LANE_KEYS = {
    "stops", "held_ticks_share", "synthetics", "lost_at_release", "overflow_dropped", "aged_dropped",
    "underrun_episodes", "released", "queue_wait_ms", "oldest_released_ms", "peak_speed_deg_s",
    "peak_accel_deg_s2",
}  # fmt: skip


def test_the_json_has_the_contract_keys_for_all_three_ways(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    assert run(["simulate", "--link", "wifi", "--duration", "5", "--json", str(out)]) == 0
    report = json.loads(out.read_text(encoding="utf-8"))
    assert set(report) >= LANE_KEYS | {"added_delay_ms", "alternatives"}
    assert set(report["alternatives"]) == {"latest_wins", "ordered"}
    assert all(set(lane) >= LANE_KEYS for lane in report["alternatives"].values())
    assert set(report["queue_wait_ms"]) == {"p50", "p99"}


def test_a_stop_is_listed_with_cause_and_time(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    assert run(["simulate", "--link", "blackhole", "--duration", "7", "--json", str(out)]) == 0
    (stop,) = json.loads(out.read_text(encoding="utf-8"))["stops"]
    assert stop["cause"] == "underrun"
    assert 5.0 < stop["t_s"] < 6.0


def test_the_same_options_give_the_same_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = "delay_ms=40,jitter_ms=8,loss=0.01,reorder=true"
    outputs = []
    for name in ("a.json", "b.json"):
        out = tmp_path / name
        assert run(["simulate", "--link", spec, "--seed", "3", "--duration", "5", "--json", str(out)]) == 0
        outputs.append((out.read_bytes(), capsys.readouterr().out))
    assert outputs[0] == outputs[1]


def test_json_to_standard_output_is_only_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "--duration", "2", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["scenario"]["motion"] == "reaches"


def test_the_table_names_the_three_ways_and_the_stop(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "--link", "blackhole", "--duration", "7"]) == 0
    printed = capsys.readouterr().out
    for word in ("playout buffer", "latest wins", "ordered stream", "Stop at 5.", "nothing has arrived"):
        assert word in printed


def test_overrides_reach_the_buffer(capsys: pytest.CaptureFixture[str]) -> None:
    line = ["simulate", "--duration", "2", "--link", "clean", "--set", "communication.publish_rate_hz=50"]
    assert run([*line, "--buffer-ms", "100", "--drift-ppm", "-200"]) == 0
    assert "depth 5 (100ms at cmdT 20.0ms)" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["png", "svg", "html"])
def test_a_run_is_drawn(kind: str, tmp_path: Path) -> None:
    plot = tmp_path / f"run.{kind}"
    assert run(["simulate", "--duration", "3", "--plot", str(plot)]) == 0
    assert plot.stat().st_size > 5_000


BAD_MOTION = "t_s,j1_deg\n0,1\n0.01,nan\n"
BAD_YAML = "robot: {id: a, type: simulated, model: sim}\ncommunication: {playout_bufer_ms: 1}\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--motion", "nosuch"], ["nosuch"]),
        (["--motion", "nan.csv"], ["nan.csv", "3"]),
        (["--motion", "link.csv"], ["link.csv", "t_s"]),
        (["--link", "nosuch"], ["nosuch"]),
        (["--link", "empty.csv"], ["empty.csv"]),
        (["--link", "motion.csv"], ["motion.csv", "rtt_ms"]),
        (["--link", "delai_ms=3"], ["delai_ms", "delay_ms"]),
        (["--link", "loss=2"], ["loss"]),
        (["--config", "bad.yaml"], ["bad.yaml", "communication", "playout_bufer_ms", "playout_buffer_ms"]),
        (["--config", "nosuch.yaml"], ["nosuch.yaml"]),
        (["--set", "communication.playout_buffer_ms"], ["--set"]),
        (["--set", "communication.playout_buffer_ms=soon"], ["playout_buffer_ms", "soon"]),
        (["--restart", "soon"], ["--restart"]),
        (["--duration", "nan"], ["--duration"]),
        (["--duration", "-1"], ["--duration"]),
        (["--rate-hz", "100000"], ["rate"]),
        (["--redundancy", "11"], ["redundancy"]),
        (["--plot", "run.pdf"], ["run.pdf", ".png"]),
        (["--json", "no/such/folder/out.json"], ["folder"]),
        (["--gaps", "maybe"], ["maybe"]),
        (["--nosuch", "1"], ["--nosuch"]),
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
    Path("nan.csv").write_text(BAD_MOTION, encoding="utf-8")
    Path("motion.csv").write_text("t_s,j1_deg\n0,1\n1,2\n", encoding="utf-8")
    Path("link.csv").write_text("t_ms,rtt_ms\n0,10\n10,11\n", encoding="utf-8")
    Path("empty.csv").write_text("", encoding="utf-8")
    Path("bad.yaml").write_text(BAD_YAML, encoding="utf-8")
    assert run(["simulate", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("steadyhand: ")
    for word in words:
        assert word in captured.err


def test_as_a_process_it_exits_2_without_a_traceback() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "steadyhand", "simulate", "--motion", "nosuch"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("output", [["--json", "-"], []], ids=["json", "table"])
def test_a_closed_pipe_is_no_error(output: list[str]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "steadyhand", "simulate", "--duration", "2", *output],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    if process.stdout is None or process.stderr is None:
        raise RuntimeError("pipes were asked for")
    process.stdout.close()
    complaint = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 0
    assert complaint == b""
