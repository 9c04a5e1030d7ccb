"""The whole demo as processes: what its exit code, its report and its end promise.

Real time is not repeatable: the network's dice are, the moments at which datagrams come to it are not.
So these tests hold what has to be so in every run, and no figure of a single one.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from steadyhand.nodes.demo.recorder import read_log
from steadyhand.nodes.follower.runtime_files import RuntimeFiles, newest_record

WITHIN_S = 120.0


@pytest.fixture
def folder() -> Iterator[Path]:
    """A private runtime folder with a short path: a unix socket's may have 107 characters."""
    with tempfile.TemporaryDirectory(prefix="sh-") as made:
        yield Path(made)


class Demo:
    """One demo, its lines read by a thread, ended by its own id."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.lines: list[str] = []
        self._news = threading.Condition()
        self.environment = {**os.environ, "RUNTIME_DIRECTORY": str(folder)}
        places = ["--json", str(folder / "demo.json"), "--plot", str(folder / "demo.png")]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "steadyhand", "demo", "--headless", *places, *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self.environment,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._news:
                self.lines.append(line.rstrip())
                self._news.notify_all()

    def wait_line(self, part: str) -> None:
        with self._news:
            assert self._news.wait_for(lambda: any(part in line for line in self.lines), WITHIN_S), (
                self.told()
            )

    def wait_playing(self) -> None:
        """Until the follower has released a setpoint."""
        ring = RuntimeFiles.of(Path(self.environment["RUNTIME_DIRECTORY"]), "demo").ring
        deadline_s = time.monotonic() + WITHIN_S
        while time.monotonic() < deadline_s and self.process.poll() is None:
            record = newest_record(ring)
            if record is not None and record.released is not None:
                return
            time.sleep(0.001)
        raise AssertionError(self.told())

    def wait_end(self) -> int:
        code = self.process.wait(WITHIN_S)
        self._reader.join(WITHIN_S)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code

    def told(self) -> str:
        return "\n".join(self.lines)

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "steadyhand", *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=WITHIN_S,
            check=False,
        )


@pytest.fixture
def demo(folder: Path) -> Iterator[Callable[..., Demo]]:
    started: list[Demo] = []

    def start(*options: str) -> Demo:
        started.append(Demo(folder, *options))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.terminate()
            one.wait_end()


def report_in(folder: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((folder / "demo.json").read_text(encoding="utf-8"))
    return report


def nothing_runs(one: Demo) -> bool:
    """Whether no follower is left, and none of the demo's processes."""
    return one.command("status").returncode == 1


@pytest.mark.slow
def test_a_killed_link_stops_the_arm_which_is_reset_and_plays_on(
    demo: Callable[..., Demo], folder: Path
) -> None:
    one = demo("--duration", "6", "--script", "kill_link", "--link", "wifi", "--seed", "7")
    assert one.wait_end() == 0, one.told()
    report = report_in(folder)
    first = report["stops"][0]
    assert 2.4 < first["t_s"] < 3.9
    assert first["cause"] == "underrun"
    assert report["reengagements"] >= 1
    assert report["controller_faults"] == 0
    assert report["released"] > 200
    assert report["one_release_share"] > 0.5
    assert report["lost_at_release"] + report["aged_dropped"] + report["overflow_dropped"] < 20
    assert report["queue_wait_ms"]["p50"] > 50.0
    assert report["peak_speed_deg_s"] <= 130.0 + 1e-6
    assert report["peak_accel_deg_s2"] <= 500.0 + 1e-3
    assert set(report["alternatives"]) == {"latest_wins", "ordered"}
    assert report["alternatives"]["latest_wins"]["stops"] == []
    assert set(report["tick_lateness_us"]) == {"p50", "p99_9", "max"}
    assert set(report["estop_ms"]) == {"datagram", "control"}
    assert all(0.0 < taken_ms < 500.0 for taken_ms in report["estop_ms"].values())
    assert report["scenario"]["script"] == "kill_link"
    assert any("scheduling" in line for line in report["granted"])
    assert report["records"]["missed"] == 0
    assert len(list(read_log(Path(report["log"])))) == report["records"]["read"]
    assert (folder / "demo.png").stat().st_size > 10_000
    assert nothing_runs(one)


@pytest.mark.slow
def test_a_person_stops_the_arm_from_another_terminal_and_it_is_left_so(
    demo: Callable[..., Demo], folder: Path
) -> None:
    one = demo("--duration", "60", "--link", "wifi")
    one.wait_line("streaming")
    assert "demo" in one.command("status").stdout
    assert one.command("stop").returncode == 0
    assert one.wait_end() == 1, one.told()
    assert "the arm was stopped (estop)" in one.lines[-1]
    assert report_in(folder)["estops"] == []
    assert nothing_runs(one)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_ends_softly_with_a_report(
    demo: Callable[..., Demo], folder: Path, number: signal.Signals
) -> None:
    one = demo("--duration", "60", "--link", "wifi")
    one.wait_playing()
    one.process.send_signal(number)
    assert one.wait_end() == 1, one.told()
    assert "it was interrupted" in one.lines[-1]
    report = report_in(folder)
    assert report["stops"] == []
    assert report["cut_short"] == "it was interrupted"
    assert nothing_runs(one)
