"""The follower's systemd unit: systemd reads it, and it has the rights that docs/deploy.md names."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from steadyhand.edge.realtime import DATA_PLANE_PRIORITY
from steadyhand.edge.segment import place_for_runtime
from steadyhand.nodes.follower.launcher import END_WITHIN_NS
from steadyhand.nodes.follower.shared_parts import ORPHANS_END_WITHIN_S

ROOT = Path(__file__).resolve().parents[2]
UNIT = ROOT / "deploy" / "steadyhand-follower@.service"
PAGE = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
INSTALLED = "/opt/steadyhand/bin/steadyhand"
EVERYWHERE = "/bin/true"


def settings() -> dict[str, list[str]]:
    """Every setting of the unit, and its values in order."""
    found: dict[str, list[str]] = {}
    for line in UNIT.read_text(encoding="utf-8").splitlines():
        if line and line[0] not in "#[":
            name, _, value = line.partition("=")
            found.setdefault(name, []).append(value)
    return found


def words(name: str) -> set[str]:
    return set(" ".join(settings()[name]).split())


def seconds(name: str) -> float:
    return float(settings()[name][0])


def verified(text: str, folder: Path) -> str:
    """What `systemd-analyze verify` says about a unit for the arm fr3; nothing where it is right."""
    (folder / UNIT.name).write_text(text, encoding="utf-8")
    instance = folder / UNIT.name.replace("@", "@fr3")
    done = subprocess.run(
        ["systemd-analyze", "verify", str(instance)], capture_output=True, text=True, timeout=60, check=False
    )
    said = done.stdout + done.stderr
    return said if said or done.returncode == 0 else f"exit code {done.returncode}"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path) -> None:
    """The binary is another: verify wants one that is there."""
    text = UNIT.read_text(encoding="utf-8").replace(INSTALLED, EVERYWHERE)
    assert verified(text, tmp_path) == ""
    assert "RestartSecs" in verified(text.replace("RestartSec=", "RestartSecs="), tmp_path)


def test_its_capabilities_are_those_the_page_names_and_no_more() -> None:
    named = set(re.findall(r"CAP_[A-Z_]+", PAGE))
    assert words("AmbientCapabilities") == named
    assert words("CapabilityBoundingSet") == named
    assert named == {"CAP_SYS_NICE", "CAP_IPC_LOCK"}


def test_its_limits_are_what_the_data_plane_asks_for() -> None:
    assert words("LimitRTPRIO") == {str(DATA_PLANE_PRIORITY)}
    assert words("LimitMEMLOCK") == {"infinity"}
    for name in ("LimitRTPRIO", "LimitMEMLOCK"):
        assert f"`{name}={settings()[name][0]}`" in PAGE


def test_nothing_in_it_takes_the_real_time_class_away() -> None:
    assert not settings().keys() & {
        "RestrictRealtime",
        "PrivateDevices",
        "CPUQuota",
        "MemoryDenyWriteExecute",
    }
    assert words("DeviceAllow") == {"/dev/cpu_dma_latency", "rw"}


def test_its_runtime_folder_is_where_the_page_looks_and_outlives_one_of_several_followers() -> None:
    folder = f"/run/{settings()['RuntimeDirectory'][0]}"
    assert place_for_runtime({"RUNTIME_DIRECTORY": folder}, 999, "") == Path(folder)
    assert f"RUNTIME_DIRECTORY={folder} " in PAGE
    assert settings()["RuntimeDirectoryPreserve"] == ["yes"]
    assert settings()["RuntimeDirectoryMode"] == ["0700"]


def test_the_launcher_alone_is_told_to_end_and_has_the_time_for_it() -> None:
    """A second SIGTERM would not wait for the arm to rest; data plane and control plane end in turn."""
    assert (settings()["KillMode"], settings()["KillSignal"]) == (["process"], ["SIGTERM"])
    assert seconds("TimeoutStopSec") > 2 * END_WITHIN_NS / 1e9


def test_only_a_launcher_that_was_killed_is_started_again() -> None:
    """Exit codes want a person; and by then the processes that it left have stopped the arm and gone."""
    assert settings()["Restart"] == ["on-abnormal"]
    assert seconds("RestartSec") > ORPHANS_END_WITHIN_S


def test_the_page_copies_the_unit_and_names_the_files_it_reads() -> None:
    assert str(UNIT.relative_to(ROOT)) in PAGE
    (command,) = settings()["ExecStart"]
    for path in re.findall(r"/\S+", command):
        assert path.replace("%i", "fr3") in PAGE
