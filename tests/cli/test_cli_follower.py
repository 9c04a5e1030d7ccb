"""`steadyhand follower`, `status` and `stop`: what is refused, what is said, which exit code."""

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from steadyhand.cli.main import run
from steadyhand.core.safety.latch import StopCause, StopKind
from steadyhand.edge.ring import RingWriter
from steadyhand.edge.segment import Segment, create_file
from steadyhand.nodes.follower import local_stop
from steadyhand.nodes.follower.local_stop import stop_all
from steadyhand.nodes.follower.records import TickRecord, encode_record, ring_shape
from steadyhand.nodes.follower.runtime_files import FollowerCard, RuntimeFiles, find_followers

ROBOT = str(Path(__file__).resolve().parents[2] / "config" / "robots" / "fairino_fr3_remote_node.yaml")
PERIOD_NS = 10_000_000


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "run"
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(made))
    made.mkdir(0o700)
    return made


class Published:
    """A follower's files as a running one has them; this process stands for all of it."""

    def __init__(self, folder: Path, robot_id: str) -> None:
        files = RuntimeFiles.of(folder, robot_id)
        shape = ring_shape(PERIOD_NS)
        self.segment: Segment = create_file(files.ring, shape.size_bytes)
        self.writer = RingWriter(self.segment, shape)
        self.ticks = 0
        files.write_card(
            FollowerCard(
                robot_id=robot_id,
                pid=os.getpid(),
                listen="127.0.0.1",
                grpc_port=1,
                udp_port=2,
                ring_path=str(files.ring),
                socket_path=str(files.socket),
            )
        )

    def tick(self, engage: str = "idle", *, age_ns: int = 0) -> None:
        self.ticks += 1
        cause = (
            StopCause(kind=StopKind.ESTOP, detail="e-stop by the console") if engage == "stopped" else None
        )
        record = TickRecord(
            tick=self.ticks,
            pid=os.getpid(),
            at_ns=time.monotonic_ns() - age_ns,
            wall_s=1.0,
            due_ns=1,
            engage=engage,
            stopped_by=cause if engage == "stopped" else None,
        )
        self.writer.publish(encode_record(record))

    def close(self) -> None:
        self.writer.close()
        self.segment.close()


@pytest.fixture
def published(folder: Path) -> Iterator[Published]:
    one = Published(folder, "fr3")
    yield one
    one.close()


@pytest.fixture
def stops_at_signal(published: Published) -> Iterator[Published]:
    """As the data plane does at SIGUSR1."""
    before = signal.signal(signal.SIGUSR1, lambda *_: published.tick("stopped"))
    yield published
    signal.signal(signal.SIGUSR1, before)


# ---- follower


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--listen", "localhost"], "--listen: 'localhost' is no IPv4 address"),
        (["--set", "robot.id"], "--set: 'robot.id' is not PATH=VALUE"),
        (["--set", "robot.type=simulated"], "a simulated robot has no controller to connect to"),
        (["--set", "communication.publish_rate_hz=10"], "10 Hz is too slow for the data plane's heartbeat"),
        (["--set", "safety.divergence_guard.lag_s=-1"], "divergence_guard"),
        (["--policy", "/nowhere.yaml"], "/nowhere.yaml"),
    ],
)
def test_what_cannot_run_is_refused_in_one_line_before_anything_is_started(
    options: list[str], said: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["follower", ROBOT, *options]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert said in line
    assert list(folder.iterdir()) == []


def test_a_fairino_without_its_guards_is_refused_though_no_policy_is_named(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    bare = tmp_path / "bare.yaml"
    bare.write_text("robot: {id: fr3, type: fairino, model: fr3}\n", encoding="ascii")
    assert run(["follower", str(bare)]) == 2
    assert "the safety policy requires it for robot type fairino" in capfd.readouterr().err


# ---- status


def test_status_where_nothing_runs_says_so_and_has_exit_code_1(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["status"]) == 1
    assert capfd.readouterr().err == "steadyhand: no follower runs\n"
    assert run(["status", "fr20", "--json"]) == 1
    told = capfd.readouterr()
    assert json.loads(told.out) == []
    assert "no follower runs for fr20" in told.err


def test_status_needs_no_process_to_answer(published: Published, capfd: pytest.CaptureFixture[str]) -> None:
    published.tick("streaming")
    assert run(["status", "--json"]) == 0
    (told,) = json.loads(capfd.readouterr().out)
    assert (told["robot_id"], told["state"]) == ("fr3", "streaming")
    published.tick(age_ns=10_000_000_000)
    assert run(["status"]) == 0
    assert "no data plane" in capfd.readouterr().out


# ---- stop


def test_stop_is_done_when_it_was_seen(stops_at_signal: Published, capfd: pytest.CaptureFixture[str]) -> None:
    stops_at_signal.tick("streaming")
    assert run(["stop"]) == 0
    assert capfd.readouterr().out == "fr3: stopped\n"


def test_stop_names_what_it_did_not_find_and_stops_the_rest(
    stops_at_signal: Published, capfd: pytest.CaptureFixture[str]
) -> None:
    stops_at_signal.tick("streaming")
    assert run(["stop", "fr3", "fr20"]) == 1
    told = capfd.readouterr()
    assert told.out == "fr3: stopped\n"
    assert told.err == "steadyhand: no follower runs for fr20\n"
    assert run(["stop", "fr20"]) == 1


def test_stop_where_nothing_runs_has_exit_code_1(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["stop"]) == 1
    assert capfd.readouterr().err == "steadyhand: no follower runs\n"


def test_a_data_plane_that_tells_nothing_is_not_signalled_but_asked_for_by_call(
    published: Published, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process id may be another's by now, which the signal would kill."""
    published.tick("streaming", age_ns=local_stop.FRESH_NS + 1)
    killed: list[int] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: killed.append(pid))

    def call(follower: Any) -> str:
        published.tick("stopped")
        published.tick("stopped", age_ns=-1_000_000_000)
        return ""

    assert stop_all(find_followers(folder), call) == [""]
    assert killed == []


def test_an_arm_that_was_stopped_before_is_not_taken_for_stopped_now(
    published: Published, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_stop, "STOPPED_WITHIN_S", 0.05)
    published.tick("stopped", age_ns=local_stop.FRESH_NS + 1)
    assert stop_all(find_followers(folder), lambda _: "nobody answers") == ["nobody answers"]
    assert stop_all(find_followers(folder), lambda _: "") == ["its data plane tells nothing"]


def test_stop_that_was_not_seen_says_so_and_names_the_button(
    published: Published, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """No control plane answers on the socket either: the error says that, and what is left to do."""
    monkeypatch.setattr(local_stop, "STOPPED_WITHIN_S", 0.05)
    monkeypatch.setattr("steadyhand.cli.stop.CALL_WITHIN_S", 0.3)
    published.tick("streaming", age_ns=local_stop.FRESH_NS + 1)
    assert run(["stop"]) == 1
    (line,) = capfd.readouterr().err.splitlines()
    assert "fr3 was NOT seen to stop: " in line
    assert "press the robot's e-stop button" in line
