"""`steadyhand info`, `dump` and `recover` as their user types them."""

import json
from pathlib import Path

import pytest

from steadyhand.cli.main import run
from steadyhand.core.follower.outputs import FrameKind, Released, SendJoints
from steadyhand.runlog.arm_layouts import StateOut
from steadyhand.runlog.channels import numbered
from steadyhand.runlog.framing import FILE_HEADER, MAGIC
from steadyhand.runlog.log_file import create_log
from steadyhand.runlog.schema import schema_for

POSE = (1.0, 2.0, 3.0)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Three seconds of a simulated arm."""
    path = tmp_path / "run.shlog"
    channels = numbered("arm")
    with create_log(path, schema_for("arm", configuration="robot: [sim]\n"), now_ns=0) as writer:
        for tick in range(300):
            now_ns = tick * 10_000_000
            outputs = (
                (16, StateOut(arrival_ns=now_ns, joints_deg=POSE)),
                (18, Released(tick, FrameKind.FRESH, POSE, now_ns, now_ns)),
                (17, SendJoints(POSE, tick, FrameKind.FRESH)),
            )
            for number, value in outputs:
                writer.append(number, now_ns, channels[number].codec.encode(value))
    return path


def test_info_tells_channels_counts_duration_and_the_verified_part(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["info", str(log)]) == 0
    printed = capsys.readouterr().out
    for words in ("arm run, 901 records over 2.990 s", "complete: all 901 records verified", "reference"):
        assert words in printed
    assert "100.0" in printed


def test_info_as_json(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", str(log), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["complete"] is True
    assert {one["name"]: one["records"] for one in told["channels"] if one["records"]} == {
        "schema": 1, "state": 300, "command": 300, "reference": 300,
    }  # fmt: skip
    assert told["integrity"]["verified_bytes"] == told["integrity"]["size_bytes"] == log.stat().st_size


def test_info_prints_the_configuration_to_be_used_again(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["info", str(log), "--config"]) == 0
    assert capsys.readouterr().out == "robot: [sim]\n"


def test_info_of_a_damaged_log_says_where(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 1
    log.write_bytes(data)
    assert run(["info", str(log)]) == 0
    assert "first damage between bytes" in capsys.readouterr().out


def test_a_version_1_log_is_one_line_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = tmp_path / "old.shlog"
    old.write_bytes(FILE_HEADER.pack(MAGIC, 1, 0, 0))
    for command in (["info", str(old)], ["dump", str(old)], ["recover", str(old), str(tmp_path / "new")]):
        assert run(command) == 2
        said = capsys.readouterr().err
        assert "unsupported log version 1" in said
        assert said.count("\n") == 1


def test_dump_writes_beside_the_log_or_where_it_is_told(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["dump", str(log)]) == 0
    names = {one.name for one in (tmp_path / "run-tables").iterdir()}
    assert names == {"state.csv", "command.csv", "reference.csv", "setpoint_feedback.csv"}
    assert "reference.csv: 300 rows" in capsys.readouterr().out
    assert run(["dump", str(log), "--out", str(tmp_path / "a" / "b")]) == 0
    assert (tmp_path / "a" / "b" / "reference.csv").exists()


def test_dump_says_what_it_left_out(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log.write_bytes(log.read_bytes()[:-60])
    assert run(["dump", str(log)]) == 0
    assert "unverified records left out" in capsys.readouterr().out


def test_dump_into_a_file_is_one_line(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "taken").write_text("")
    assert run(["dump", str(log), "--out", str(tmp_path / "taken")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_recover_ends_with_0_3_or_4(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = log.read_bytes()
    assert run(["recover", str(log), str(tmp_path / "whole")]) == 0
    log.write_bytes(data[:-1])
    assert run(["recover", str(log), str(tmp_path / "part")]) == 3
    assert "recovered" in capsys.readouterr().err
    log.write_bytes(data[:50])
    assert run(["recover", str(log), str(tmp_path / "none")]) == 4
    assert not (tmp_path / "none").exists()
    assert run(["info", str(tmp_path / "part")]) == 0
    assert "complete" in capsys.readouterr().out


def test_recover_writes_nothing_over(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["recover", str(log), str(log)]) == 2
    assert "exists already" in capsys.readouterr().err
