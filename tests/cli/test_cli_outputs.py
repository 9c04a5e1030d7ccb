"""Outputs: refused before the run where they could not be written after it, and whole or not there."""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steadyhand.cli import outputs
from steadyhand.cli.main import run
from steadyhand.ground.errors import InputError
from steadyhand.view import whole_file
from steadyhand.view.figures import write_all
from steadyhand.view.whole_file import write_whole

Captured = pytest.CaptureFixture[str]

MOTION = "t_s,j1_deg\n0,1\n1,2\n2,1\n"
LINK = "t_ms,rtt_ms\n0,10\n10,11\n"
ROBOT = "robot: {id: a, type: simulated, model: sim}\ncommunication: {playout_buffer_ms: 100}\n"


@pytest.fixture(autouse=True)
def _no_run_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder of its own, where a run that begins fails the test."""

    def begun(*_arguments: Any, **_options: Any) -> None:
        raise RuntimeError("the run began before its outputs were looked at")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("steadyhand.simulation.run.simulate", begun)
    monkeypatch.setattr("steadyhand.simulation.tune.simulate", begun)
    monkeypatch.setattr("steadyhand.view.figures.files.render_all", begun)


def refused(capsys: Captured, *arguments: str) -> str:
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err.removeprefix("steadyhand: ")


SIMULATE = ["simulate"]
TUNE = ["tune", "--link", "clean"]
BOTH = pytest.mark.parametrize("command", [SIMULATE, TUNE], ids=["simulate", "tune"])


@BOTH
@pytest.mark.parametrize("other", ["run.html", "./run.html", "folder/../run.html", "linked.html"])
def test_two_outputs_into_one_file_are_refused(command: list[str], other: str, capsys: Captured) -> None:
    Path("folder").mkdir()
    Path("linked.html").symlink_to("run.html")
    line = refused(capsys, *command, "--json", "run.html", "--plot", other)
    assert line == f"--plot: {Path(other)} is also what --json names; it would be overwritten\n"


def test_two_outputs_into_one_file_that_is_there_are_refused(capsys: Captured) -> None:
    Path("run.html").write_text("old", encoding="utf-8")
    os.link("run.html", "same.html")
    assert "--json names" in refused(capsys, "simulate", "--json", "run.html", "--plot", "same.html")
    assert Path("run.html").read_text(encoding="utf-8") == "old"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--motion", "motion.csv", "--json", "motion.csv"],
        ["--link", "link.csv", "--json", "./link.csv"],
        ["--link", "link.csv:loss=0.1", "--json", "link.csv"],
        ["--config", "robot.yaml", "--json", "robot.yaml"],
    ],
)
def test_an_output_never_overwrites_what_is_read(arguments: list[str], capsys: Captured) -> None:
    content = {"motion.csv": MOTION, "link.csv": LINK, "robot.yaml": ROBOT}
    for name, text in content.items():
        Path(name).write_text(text, encoding="utf-8")
    line = refused(capsys, "simulate", *arguments)
    assert line.endswith(f"is also what {arguments[0]} names; it would be overwritten\n")
    assert {name: Path(name).read_text(encoding="utf-8") for name in content} == content


@BOTH
@pytest.mark.parametrize("option", ["--json", "--plot"])
@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("nowhere/run.svg", "there is no folder nowhere (create it first)"),
        ("folder.svg", "folder.svg is a folder (name a file in it)"),
        ("file/run.svg", "there is no folder file (create it first)"),
        ("x" * 300 + ".svg", "cannot be written: File name too long"),
        ("/proc/run.svg", "/proc/run.svg cannot be written: "),
    ],
)
def test_an_output_that_cannot_be_is_refused_before_the_run(
    command: list[str], option: str, path: str, says: str, capsys: Captured
) -> None:
    Path("folder.svg").mkdir()
    Path("file").write_text("", encoding="utf-8")
    line = refused(capsys, *command, option, path)
    assert line.startswith(f"{option}: ")
    assert says in line
    assert sorted(path.name for path in Path().iterdir()) == ["file", "folder.svg"], "nothing is left behind"


def without_permission(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's answer to a user who may not: root, as whom tests often run, always may."""

    def denied(*_arguments: Any, **_options: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(outputs, "TemporaryFile", denied)
    monkeypatch.setattr("steadyhand.view.figures.files.TemporaryFile", denied)


@BOTH
def test_a_folder_one_may_not_write_into_is_refused_before_the_run(
    command: list[str], capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_permission(monkeypatch)
    line = refused(capsys, *command, "--json", "run.json")
    assert line == "--json: run.json cannot be written: Permission denied\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_file_one_may_not_write_is_refused_before_the_run(capsys: Captured) -> None:
    Path("run.json").touch(mode=0o444)
    assert refused(capsys, "simulate", "--json", "run.json") == "--json: run.json may not be written\n"


@pytest.mark.parametrize("out", ["file", "file/figures", "/proc/figures"])
def test_figures_that_cannot_be_written_are_refused_before_they_are_drawn(out: str, capsys: Captured) -> None:
    Path("file").write_text("", encoding="utf-8")
    assert refused(capsys, "figures", "--out", out).startswith(f"{out}: cannot write the figures: ")


def test_figures_one_may_not_write_are_refused_before_they_are_drawn(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_permission(monkeypatch)
    line = refused(capsys, "figures", "--out", "figures")
    assert line == "figures: cannot write the figures: Permission denied\n"


# Whole or not there --------------------------------------------------------------------------------


def test_an_older_file_stays_whole_until_the_new_one_is(monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path("run.json")
    path.write_text("old", encoding="utf-8")
    seen: list[str] = []

    def watched(beside: Path, target: Path) -> Path:
        seen.extend([target.read_text(encoding="utf-8"), beside.read_text(encoding="utf-8")])
        return real(beside, target)

    real: Callable[[Path, Path], Path] = Path.replace
    monkeypatch.setattr(Path, "replace", watched)
    write_whole(path, b"new")
    assert seen == ["old", "new"]
    assert path.read_text(encoding="utf-8") == "new"
    assert [found.name for found in Path().iterdir()] == ["run.json"]


@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_write_that_fails_leaves_the_older_file_and_nothing_else(
    fault: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path("run.json")
    path.write_text("old", encoding="utf-8")

    def full(*_arguments: Any) -> None:
        raise fault

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises((InputError, KeyboardInterrupt)) as caught:
        write_whole(path, b"new")
    if isinstance(caught.value, InputError):
        assert str(caught.value) == "run.json: cannot be written: No space left on device"
    assert path.read_text(encoding="utf-8") == "old"
    assert [found.name for found in Path().iterdir()] == ["run.json"]


def test_the_older_files_permissions_stay() -> None:
    path = Path("run.json")
    path.touch(mode=0o600)
    write_whole(path, b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_new_file_has_the_permissions_any_program_would_give_it() -> None:
    Path("beside").write_bytes(b"")
    write_whole(Path("run.json"), b"new")
    assert Path("run.json").stat().st_mode == Path("beside").stat().st_mode


def test_a_link_is_followed_and_stays() -> None:
    Path("folder").mkdir()
    Path("run.json").symlink_to("folder/real.json")
    write_whole(Path("run.json"), b"new")
    assert Path("run.json").is_symlink()
    assert Path("folder/real.json").read_bytes() == b"new"


def test_what_is_no_file_takes_the_bytes_as_they_come() -> None:
    write_whole(Path("/dev/null"), b"gone")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_name_for_the_time_of_writing_never_meets_anothers(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is made with O_EXCL: in a folder shared with strangers a link of that name is not followed."""
    monkeypatch.setattr(whole_file, "token_hex", lambda _bytes: "taken")
    Path("elsewhere").write_text("precious", encoding="utf-8")
    Path(".taken.partial").symlink_to("elsewhere")
    with pytest.raises(InputError, match="File exists"):
        write_whole(Path("run.json"), b"new")
    assert Path("elsewhere").read_text(encoding="utf-8") == "precious"
    assert Path(".taken.partial").is_symlink()


def test_every_figure_is_moved_into_place_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    monkeypatch.setattr("steadyhand.view.figures.files.render_all", lambda: {"a.svg": b"a", "b.svg": b"b"})
    monkeypatch.setattr(
        "steadyhand.view.figures.files.write_whole", lambda path, content: written.append(path.name)
    )
    write_all(Path("figures"))
    assert written == ["a.svg", "b.svg"]
