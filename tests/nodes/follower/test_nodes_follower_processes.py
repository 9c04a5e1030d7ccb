"""The follower as processes: started, asked, killed piece by piece, ended."""

import json
import os
import select
import signal
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from steadyhand.core.safety.latch import StopCause, StopKind
from steadyhand.edge.control_service import ControlClient, ControlError
from steadyhand.edge.segment import held
from steadyhand.nodes.follower.process_settings import SHIPPED_POLICY, read_policy
from steadyhand.nodes.follower.records import TickRecord
from tests.nodes.processes import ControllerProcess, FollowerProcess, Process, wait_until

pytestmark = pytest.mark.slow

StartFollower = Callable[..., FollowerProcess]
LAUNCHED = (str(Path(__file__).resolve().with_name("launch_with_standin.py")),)
POLICY_FILE = Path(__file__).resolve().parents[3] / "config" / "safety_policy.yaml"


@pytest.fixture
def controller(controller_process: Callable[..., ControllerProcess]) -> ControllerProcess:
    return controller_process()


@pytest.fixture
def follower(controller: ControllerProcess, follower_process: StartFollower) -> FollowerProcess:
    return follower_process(controller)


@pytest.fixture
def alone(controller: ControllerProcess, follower_process: StartFollower) -> FollowerProcess:
    """Launcher and data plane; the control plane is stood in for, and prints what it is told."""
    return follower_process(controller, "--no-realtime", prefix=LAUNCHED)


def test_it_comes_up_idle_reads_the_arm_and_says_where_it_listens(alone: FollowerProcess) -> None:
    record = alone.wait_record(lambda record: record.measured is not None, what="a measured frame")
    assert (record.engage, record.stopped_by, record.sent) == ("idle", None, None)
    assert json.loads(record.state_json)["extras"]["engage"] == "idle"
    ready = alone.wait_line("follower ready")
    assert ready.startswith(f"follower ready: fr3 at 127.0.0.1: control {alone.grpc_port}, ")
    assert f"actions {alone.udp_port}" in ready
    alone.wait_line("data plane: Playout buffer on: depth 20 (200ms at cmdT 10.0ms), age cap 400ms")
    alone.wait_line("data plane: real time: not asked for")
    assert alone.card().data_plane_pid == record.pid


def test_status_tells_what_runs_and_how_it_stands(follower: FollowerProcess) -> None:
    follower.wait_record(lambda record: record.measured is not None)
    answer = follower.command("status", "--json")
    assert answer.returncode == 0, answer.stderr
    (told,) = json.loads(answer.stdout)
    assert (told["robot_id"], told["running"], told["state"]) == ("fr3", True, "idle")
    assert told["grpc_port"] == follower.grpc_port
    assert len(told["telemetry"]["joint_positions"]) == 6
    table = follower.command("status").stdout
    assert "idle" in table
    assert str(follower.pid) in table
    assert follower.command("status", "fr20").returncode == 1


def test_stop_stops_the_arm_without_any_control_plane_and_says_so(follower: FollowerProcess) -> None:
    os.kill(follower.card().control_plane_pid, signal.SIGSTOP)
    answer = follower.command("stop")
    assert (answer.returncode, answer.stdout.strip()) == (0, "fr3: stopped"), answer.stderr
    assert cause(follower.record()).kind in (StopKind.ESTOP, StopKind.PROCESS_LOST)
    assert follower.command("stop", "fr20").returncode == 1


def test_a_killed_data_plane_comes_up_latched_and_the_controller_is_told_to_stop(
    controller: ControllerProcess, follower: FollowerProcess
) -> None:
    before = follower.wait_record(lambda record: record.measured is not None)
    stops = controller.arrived("call_StopMotion")
    os.kill(before.pid, signal.SIGKILL)
    wait_until(lambda: controller.arrived("call_StopMotion") > stops, what="StopMotion at the controller")
    after = follower.wait_record(lambda record: record.pid != before.pid, what="another data plane")
    assert cause(after).kind is StopKind.PROCESS_LOST
    assert "the data plane was killed by SIGKILL" in cause(after).detail
    follower.wait_line("launcher: the data plane was killed by SIGKILL; started again in 0 s")
    follower.wait_record(lambda record: record.pid == after.pid and record.measured is not None)
    assert follower.card().deaths == (1, 0)


def test_the_launcher_asks_for_stop_motion_in_a_dead_data_planes_place(alone: FollowerProcess) -> None:
    os.kill(alone.card().data_plane_pid, signal.SIGKILL)
    seen = alone.lines.index(alone.wait_line("StopWanted("))
    # Before the new one is there, which asks again.
    assert not any("Hello(" in line and "PROCESS_LOST" in line for line in alone.lines[:seen])
    alone.wait_line("Hello(", after=seen)
    alone.wait_line("StopWanted(", after=seen + 1)


def test_a_killed_control_plane_latches_the_arm_and_another_serves(follower: FollowerProcess) -> None:
    first = follower.card().control_plane_pid
    os.kill(first, signal.SIGKILL)
    record = follower.wait_record(lambda record: record.engage == "stopped")
    assert (cause(record).kind, cause(record).name) == (StopKind.PROCESS_LOST, "control plane")
    wait_until(lambda: follower.card().control_plane_pid not in (0, first), what="another control plane")
    with ControlClient.unix(follower.files.socket) as client:
        described = wait_until(lambda: describe(client), what="an answer of the new control plane")
    assert (described.robot_id, described.udp_port) == ("fr3", follower.udp_port)
    assert "process_lost" in described.state_json


def test_a_data_plane_that_dies_again_and_again_is_left_dead(alone: FollowerProcess) -> None:
    """And with it the follower: what died five times would die again, with an arm in its hands."""
    pid = 0
    for _ in range(5):
        pid = alone.wait_record(partial(is_anothers, pid), what="a data plane").pid
        os.kill(pid, signal.SIGKILL)
    assert alone.wait_end() == 1
    assert "the data plane died 5 times in a short time (was killed by SIGKILL)" in alone.lines[-1]


def test_a_frozen_control_plane_latches_the_arm_and_is_started_again(follower: FollowerProcess) -> None:
    os.kill(follower.card().control_plane_pid, signal.SIGSTOP)
    record = follower.wait_record(lambda record: record.engage == "stopped")
    assert cause(record).name == "control plane"
    assert "has sent no heartbeat for" in cause(record).detail
    # The launcher's patience ends after two seconds.
    follower.wait_line("the control plane has no heartbeat; it is killed")
    follower.wait_line("control plane was killed by SIGKILL")


def test_a_killed_launcher_takes_both_children_with_it(follower: FollowerProcess) -> None:
    card = follower.card()
    follower.kill()
    wait_until_gone([card.data_plane_pid, card.control_plane_pid])
    assert cause(follower.record()).name == "launcher"
    assert not held(follower.files.ring)
    answer = follower.command("status", "--json")
    assert answer.returncode == 1
    assert json.loads(answer.stdout)[0]["state"] == "killed"


def test_a_follower_is_found_where_a_killed_one_left_its_files(
    controller: ControllerProcess, follower: FollowerProcess, follower_process: StartFollower
) -> None:
    follower.kill()
    again = follower_process(controller)
    record = again.wait_record(lambda record: record.measured is not None)
    assert (record.engage, record.stopped_by) == ("idle", None)


def test_a_second_follower_of_one_robot_is_refused_by_name(
    controller: ControllerProcess, follower: FollowerProcess, follower_process: StartFollower
) -> None:
    second = follower_process(controller, ready=False)
    assert second.wait_end() == 2
    assert f"a follower for fr3 is running already (process {follower.pid})" in second.lines[-1]
    follower.wait_record(lambda record: record.engage == "idle")


def test_sigterm_ends_it_with_totals_and_leaves_nothing(follower: FollowerProcess) -> None:
    follower.wait_record(lambda record: record.tick > 20)
    card = follower.card()
    assert follower.end(signal.SIGTERM) == 0
    for part in ("playout buffer totals: offered=0 released=0", "setpoints written: 0", "ticks: "):
        follower.wait_line(f"data plane: {part}")
    assert follower.lines[-1].startswith("follower ended: fr3: data plane died 0 times")
    wait_until_gone([card.data_plane_pid, card.control_plane_pid])
    left = sorted(path.name for path in follower.folder.iterdir())
    assert left == ["test.key"]


def test_settings_that_cannot_work_end_it_in_one_line(
    controller: ControllerProcess, follower: FollowerProcess, processes: list[Process]
) -> None:
    """The port is taken: the data plane says so, and is not started again and again."""
    taken = ("--set", "robot.id=other", "--set", f"remote_node.udp_port={follower.udp_port}")
    second = type(follower)(controller.address, follower.folder, *taken)
    processes.append(second)
    assert second.wait_end() == 2
    assert "address already in use" in second.lines[-1]


def test_the_shipped_policy_is_the_file_in_config() -> None:
    assert read_policy(POLICY_FILE) == SHIPPED_POLICY == read_policy(None)


def describe(client: ControlClient) -> Any:
    with suppress(ControlError):
        return client.describe()
    return None


def is_anothers(pid: int, record: TickRecord) -> bool:
    return record.pid != pid


def cause(record: TickRecord | None) -> StopCause:
    assert record is not None
    assert record.engage == "stopped"
    assert record.stopped_by is not None
    return record.stopped_by


def wait_until_gone(pids: list[int]) -> None:
    """Wait for processes that are not our children to be gone."""
    for pid in pids:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            assert select.select([descriptor], [], [], 10.0)[0], f"process {pid} does not end"
        finally:
            os.close(descriptor)
