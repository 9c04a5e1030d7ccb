"""`steadyhand demo`: what is refused before anything is started."""

from pathlib import Path

import pytest

from steadyhand.cli.main import run

ROBOTS = Path(__file__).resolve().parents[2] / "config" / "robots"


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The default picture's folder is made in the current one."""
    monkeypatch.chdir(tmp_path)


def refused(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """The one line with which a command that was started with these options gives up."""
    assert run(["demo", *options]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    return told.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--duration", "3", "--script", "kill_link"), "--duration: 3 s are too short for script kill_link"),
        (("--duration", "1"), "--duration: 1 s are too short for script none"),
        (("--duration", "3601"), "--duration: 3601 s are more than a demo keeps (an hour at most)"),
        (("--script", "explode"), "script"),
        (("--link", "no-such-link"), "--link"),
        (("--motion", "no-such-motion.csv"), "no-such-motion.csv"),
        (("--seed", "-1"), "--seed"),
        (("--plot", "run.txt"), "--plot: run.txt does not end in .png, .svg, .html"),
        (("--plot", "nowhere/run.html"), "--plot: there is no folder nowhere"),
        (("--plot", "run.html", "--json", "run.ticks"), "run.ticks is also what"),
        (("--config", "no-such.yaml"), "no-such.yaml"),
        (("--set", "communication.publish_rate_hz=9000"), "is not within 1 to 2000 Hz"),
        (("--set", "robot.type=simulated"), "the demo simulates no simulated fr3"),
    ],
)
def test_what_cannot_be_played_is_refused_in_one_line(
    capsys: pytest.CaptureFixture[str], options: tuple[str, ...], words: str
) -> None:
    assert words in refused(capsys, *options)


def test_a_robot_files_arm_has_to_be_able_to_make_the_motion(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    motion = tmp_path / "far.csv"
    motion.write_text(
        "t_s,j1_deg,j2_deg,j3_deg,j4_deg,j5_deg,j6_deg\n0,0,0,0,0,0,0\n1,0,0,155,0,0,0\n", encoding="utf-8"
    )
    fr3 = str(ROBOTS / "fairino_fr3_remote_node.yaml")
    assert "joint 3 is at 155° at 1 s" in refused(capsys, "--config", fr3, "--motion", str(motion))
