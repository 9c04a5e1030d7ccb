"""Options as a user mistypes them: one line that names what was typed, exit code 2, nothing run."""

from pathlib import Path
from random import Random

import pytest

from steadyhand.cli.main import run
from steadyhand.cli.options import check_memory
from steadyhand.core.link import PROFILES
from steadyhand.ground.builtin_motions import builtin_motion
from steadyhand.ground.config import CommunicationConfig
from steadyhand.ground.errors import InputError
from steadyhand.simulation.scenario import Scenario

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def refused(capsys: Captured, *arguments: str) -> str:
    """The one line the command refused `arguments` with."""
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("steadyhand: ")
    assert captured.err.count("\n") == 1
    return captured.err.removeprefix("steadyhand: ").rstrip("\n")


@pytest.mark.parametrize("command", [["simulate"], ["tune", "--link", "clean"]])
@pytest.mark.parametrize("typed", ["1.5", "-1", "1e3", "0x10", "", "seven", "٣"])
def test_a_seed_is_a_whole_number_from_zero_up(command: list[str], typed: str, capsys: Captured) -> None:
    line = refused(capsys, *command, f"--seed={typed}")
    assert line == f"--seed: {typed!r} is not a whole number from 0 up"


def test_a_seed_of_many_digits_is_taken(capsys: Captured) -> None:
    assert run(["simulate", "--duration", "1", "--seed", "007" + "1" * 40]) == 0


@pytest.mark.parametrize("at", ["2", "2.5", "1e9"])
def test_a_restart_at_or_after_the_end_is_refused(at: str, capsys: Captured) -> None:
    line = refused(capsys, "simulate", "--duration", "2", "--restart", f"{at}:0.5")
    assert line.startswith("--restart: restart at ")
    assert "comes after the end at 2 s" in line


def test_a_sender_may_die_before_the_end_and_stay_dead(capsys: Captured) -> None:
    assert run(["simulate", "--duration", "2", "--restart", "1.9:5"]) == 0


@pytest.mark.parametrize(
    ("arguments", "begins"),
    [
        (["--rate-hz", "100000"], "--rate-hz: 100000 is not within 1 to 2000 Hz"),
        (["--set", "communication.publish_rate_hz=5000"], "--set communication.publish_rate_hz: 5000 is"),
        (
            ["--rate-hz", "50", "--set", "communication.publish_rate_hz=5000"],
            "--set communication.publish_rate_hz: 5000 is",
        ),
        (["--config", "fast.yaml"], "fast.yaml: communication.publish_rate_hz: 5000 is"),
        (["--redundancy", "11"], "--redundancy: expected auto or a whole number from 0 to 10, found"),
        (["--redundancy", "many"], "--redundancy: expected auto or a whole number from 0 to 10, found"),
        (["--motion", "nosuch"], "--motion: no motion and no file 'nosuch'"),
        (["--motion", ""], "--motion: no motion is named (a CSV file, or one of reaches, sine, step)"),
        (["--motion", " "], "--motion: no motion is named"),
        (["--link", "nosuch"], "--link: no link profile 'nosuch'"),
        (["--link", ""], "--link: no link is named"),
        (["--config", ""], "--config: no file or folder is named"),
        (["--json", ""], "--json: no file or folder is named"),
        (["--plot", ""], "--plot: no file or folder is named"),
        (["--set", "=5"], "--set: '=5' is not PATH=VALUE"),
    ],
)
def test_an_error_names_the_option_that_was_typed(
    arguments: list[str], begins: str, capsys: Captured
) -> None:
    Path("fast.yaml").write_text(
        "robot: {id: a, type: simulated, model: sim}\ncommunication: {publish_rate_hz: 5000}\n",
        encoding="utf-8",
    )
    assert refused(capsys, "simulate", *arguments).startswith(begins)


def test_tune_names_what_was_typed_too(capsys: Captured) -> None:
    setting = "communication.publish_rate_hz=5000"
    line = refused(capsys, "tune", "--link", "clean", "--set", setting)
    assert line.startswith("--set communication.publish_rate_hz: 5000")


def test_figures_into_the_empty_name_are_refused(capsys: Captured) -> None:
    assert refused(capsys, "figures", "--out", "") == "--out: no file or folder is named"
    assert list(Path().iterdir()) == []


def whole_day(rate_hz: float = 100.0) -> Scenario:
    return Scenario(
        motion=builtin_motion("reaches", Random(0)),
        link=PROFILES["clean"],
        communication=CommunicationConfig(publish_rate_hz=rate_hz),
        duration_s=86_400.0,
    )


def test_a_run_that_memory_cannot_hold_is_refused_with_the_most_that_it_can() -> None:
    with pytest.raises(InputError) as caught:
        check_memory(whole_day(2_000.0), free_bytes=8_000_000_000)
    line = str(caught.value)
    assert line.startswith("--duration: 86400 s are 172,800,000 setpoints, about 276.5 GB to keep; ")
    assert line.endswith("there is room for 6.4 GB (at this rate at most 2000 s)")


def test_the_same_day_fits_where_there_is_room() -> None:
    check_memory(whole_day(), free_bytes=18_000_000_000)


@pytest.mark.parametrize("command", [["simulate"], ["tune", "--link", "clean"]])
def test_both_commands_ask_before_they_play(command: list[str], capsys: Captured) -> None:
    line = refused(capsys, *command, "--duration", "86400", "--set", "communication.publish_rate_hz=2000")
    assert line.startswith("--duration: 86400 s are 172,800,000 setpoints")
