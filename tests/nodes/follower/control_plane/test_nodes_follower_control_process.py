"""The control plane as a process: what it is handed, how it ends."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from steadyhand.edge.control_service import ControlClient
from steadyhand.edge.heartbeat_board import HeartbeatBoard, board_bytes
from steadyhand.edge.keys import create_key
from steadyhand.edge.ring import RingWriter, new_wake_fd
from steadyhand.edge.segment import create_anonymous, create_file, open_file
from steadyhand.nodes.follower import local_link
from steadyhand.nodes.follower.control_plane import main
from steadyhand.nodes.follower.process_settings import BOARD_PERIODS_NS, ControlPlaneSettings
from steadyhand.nodes.follower.records import ring_shape

WITHIN_S = 30
ROBOT_FILE = Path(__file__).resolve().parents[4] / "config" / "robots" / "fairino_fr3_remote_node.yaml"


class Child:
    """What a launcher makes, and the process."""

    def __init__(self, folder: Path, port: int) -> None:
        shape = ring_shape(10_000_000)
        self.ring = create_file(folder / "r.shm", shape.size_bytes)
        self.board = create_anonymous("board", board_bytes(len(BOARD_PERIODS_NS)))
        self.data_end, self.control_end = local_link.socket_pair()
        self.wake_fd = new_wake_fd()
        lifeline, self.lifeline = os.pipe2(os.O_CLOEXEC)
        self.socket_path = folder / "f.sock"
        create_key(folder / "key")
        self.settings = ControlPlaneSettings(
            robot_file=str(ROBOT_FILE),
            # Nobody answers at this address, so the calls of the helper come to nothing at once.
            overrides={"remote_node.grpc_port": str(port), "robot.address": "'127.9.9.9'"},
            listen="127.0.0.1",
            ring_path=str(folder / "r.shm"),
            board_fd=self.board.fileno(),
            line=1,
            local_fd=self.control_end.fileno(),
            wake_fd=self.wake_fd,
            lifeline_fd=lifeline,
            socket_path=str(self.socket_path),
            key_file=str(folder / "key"),
        )
        self.process = subprocess.Popen(
            [sys.executable, "-m", "steadyhand.nodes.follower.control_plane", self.settings.to_argument()],
            pass_fds=(self.board.fileno(), self.control_end.fileno(), self.wake_fd, lifeline),
            stdout=subprocess.PIPE,
            text=True,
        )
        os.close(lifeline)
        self.lines: list[str] = []

    def wait_line(self, word: str) -> str:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            if word in line:
                return line
        raise AssertionError(self.lines)

    def close(self) -> None:
        if self.lifeline >= 0:
            os.close(self.lifeline)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(WITHIN_S)
        assert self.process.stdout is not None
        self.process.stdout.close()
        for end in (self.data_end, self.control_end):
            end.close()
        os.close(self.wake_fd)
        self.ring.close()
        self.board.close()


@pytest.fixture
def child(tmp_path: Path, free_tcp_port: Any) -> Iterator[Child]:
    made = Child(tmp_path, free_tcp_port)
    yield made
    made.close()


@pytest.fixture
def free_tcp_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        name: tuple[str, int] = probe.getsockname()
        return name[1]


def test_it_serves_before_any_data_plane_has_set_up_the_ring_and_ends_when_told(child: Child) -> None:
    child.wait_line("serves on")
    with ControlClient.unix(child.socket_path) as client:
        assert client.describe(timeout_s=WITHIN_S).robot_id == "fr3"
        assert '"unknown"' in client.describe().state_json
    beat = HeartbeatBoard(child.board, BOARD_PERIODS_NS).read(1)
    assert beat is not None
    assert beat.pid == child.process.pid
    child.process.send_signal(signal.SIGTERM)
    assert child.process.wait(WITHIN_S) == 0


def test_a_terminals_interrupt_is_the_launchers_to_answer(child: Child) -> None:
    child.wait_line("serves on")
    child.process.send_signal(signal.SIGINT)
    with ControlClient.unix(child.socket_path) as client:
        assert client.describe(timeout_s=WITHIN_S).robot_id == "fr3"


def test_it_reads_a_ring_that_is_set_up_later(child: Child) -> None:
    child.wait_line("serves on")
    writer = RingWriter(
        open_file(Path(child.settings.ring_path), writable=True),
        ring_shape(10_000_000),
        wake_fds=(child.wake_fd,),
    )
    from steadyhand.core.follower.outputs import Moved
    from steadyhand.nodes.follower.records import TickRecord, encode_record

    with ControlClient.unix(child.socket_path) as client:
        watch = client.watch_events(timeout_s=WITHIN_S)
        watch.wait_open()
        record = TickRecord(
            tick=1,
            pid=7,
            at_ns=1,
            wall_s=0.0,
            due_ns=1,
            engage="idle",
            events=(Moved(at_ns=1, state="idle", by="test"),),
        )
        assert writer.publish(encode_record(record))
        assert next(watch).kind == "Moved"
        assert '"engage":"idle"' in client.describe().state_json
        watch.cancel()
    writer.close()


def test_an_orphan_has_the_arm_stopped_and_leaves(child: Child) -> None:
    child.wait_line("serves on")
    os.close(child.lifeline)
    child.lifeline = -1
    child.wait_line("the launcher is dead")
    child.wait_line("StopMotion")
    assert child.process.wait(WITHIN_S) == 0


def test_settings_that_cannot_work_are_one_line_and_code_2(capfd: Any, tmp_path: Path) -> None:
    settings = ControlPlaneSettings(
        robot_file=str(tmp_path / "none.yaml"),
        ring_path="",
        board_fd=-1,
        line=1,
        local_fd=-1,
        wake_fd=-1,
        lifeline_fd=-1,
        socket_path="",
    )
    assert main(settings.to_argument()) == 2
    assert capfd.readouterr().err.startswith("control plane: ")
