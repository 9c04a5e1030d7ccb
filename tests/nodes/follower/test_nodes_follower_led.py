"""A follower that is led over its real sockets, and what ends it while the arm moves."""

import os
import signal
import socket
from collections.abc import Callable

import pytest

from steadyhand.core.safety.latch import StopKind
from steadyhand.nodes.follower.records import TickRecord
from tests.nodes.processes import (
    ROBOT_FILE,
    ControllerProcess,
    FollowerProcess,
    Process,
    free_port,
    wait_until,
)

pytestmark = pytest.mark.slow


class Led:
    """Controller, follower, and an operator that leads a sine until it is ended."""

    def __init__(
        self, controller: ControllerProcess, follower: FollowerProcess, processes: list[Process]
    ) -> None:
        self.controller = controller
        self.follower = follower
        settings = [*follower.overrides, f"remote_node.telemetry_port={free_port(socket.SOCK_DGRAM)}"]
        options = [part for setting in settings for part in ("--set", setting)]
        leading = ["--leader", "sine", "--duration", "600", "--key", str(follower.key_file)]
        operator = Process("operator", ["-m", "steadyhand", "operator", str(ROBOT_FILE), *options, *leading])
        processes.append(operator)
        follower.wait_record(moving, what="an arm that moves", deadline_s=60.0)

    def faults(self) -> int:
        return int(self.controller.console("status")["faults"])

    def at_rest(self) -> bool:
        return not any(self.controller.console("status")["speeds_deg_s"])


def moving(record: TickRecord) -> bool:
    measured = record.measured
    return (
        record.engage == "streaming"
        and record.released is not None
        and measured is not None
        and max(map(abs, measured.speeds_deg_s)) > 1.0
    )


@pytest.fixture
def led(
    controller_process: Callable[..., ControllerProcess],
    follower_process: Callable[..., FollowerProcess],
    processes: list[Process],
) -> Led:
    controller = controller_process()
    # An operator that a busy machine holds up is not what these tests are about: it is waited for.
    patient = ("communication.playout_underrun_estop_after_ms=-1",)
    return Led(controller, follower_process(controller, settings=patient), processes)


def test_sigterm_brakes_to_rest_before_anything_ends(led: Led) -> None:
    assert led.follower.end(signal.SIGTERM) == 0
    told = led.follower.told()
    braking, idle = told.index("now braking (by enter_idle)"), told.index("now idle (by at rest)")
    assert braking < idle < told.index("playout buffer totals", idle) < told.index("follower ended")
    assert "STOPPED" not in told
    wait_until(led.at_rest, what="an arm at rest")
    assert led.faults() == 0


def test_stop_at_the_terminal_stops_a_moving_arm(led: Led) -> None:
    answer = led.follower.command("stop")
    assert (answer.returncode, answer.stdout.strip()) == (0, "fr3: stopped"), answer.stderr
    wait_until(lambda: led.controller.arrived("call_StopMotion"), what="StopMotion at the controller")
    wait_until(led.at_rest, what="an arm at rest")
    record = led.follower.wait_record(lambda record: record.engage == "stopped")
    assert record.stopped_by is not None
    assert record.stopped_by.detail == "e-stop by the console"
    assert led.faults() == 0


def test_a_data_plane_killed_in_mid_motion_leaves_an_arm_at_rest_and_latched(led: Led) -> None:
    pid = led.follower.card().data_plane_pid
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: led.controller.arrived("call_StopMotion"), what="StopMotion at the controller")
    wait_until(led.at_rest, what="an arm at rest")
    record = led.follower.wait_record(lambda record: record.pid != pid)
    assert record.stopped_by is not None
    assert (record.engage, record.stopped_by.kind) == ("stopped", StopKind.PROCESS_LOST)
    assert led.faults() == 0


def test_a_launcher_killed_in_mid_motion_leaves_an_arm_at_rest(led: Led) -> None:
    led.follower.kill()
    wait_until(lambda: led.controller.console("status")["arrived"].get("end_0"), what="the stream's end")
    wait_until(led.at_rest, what="an arm at rest")
    record = led.follower.wait_record(lambda record: record.engage == "stopped")
    assert record.stopped_by is not None
    assert record.stopped_by.name == "launcher"
    assert led.faults() == 0
