"""What the death of each process does to an arm that is led. Each test is a row of docs/faults.md."""

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

import steadyhand
from steadyhand.core.safety.latch import StopCause, StopKind
from steadyhand.edge.robots.fairino.ports import VENDOR_PORTS
from steadyhand.edge.robots.fairino.servoj_udp import encode_servo_j
from steadyhand.nodes.follower.records import TickRecord
from tests.nodes.faults import lawful
from tests.nodes.faults.operating import Operator, moving
from tests.nodes.faults.stack import Stack
from tests.nodes.processes import ControllerProcess, wait_until

pytestmark = pytest.mark.slow

FAULTY = (str(Path(__file__).resolve().with_name("launch_with_fault.py")),)
NO_MORE = steadyhand.Stopped | steadyhand.LinkLost | steadyhand.NotEngaged
"""What a leader may be told where its session dies and the arm is stopped: whichever comes first."""


@pytest.fixture(scope="module")
def module_stack(module_folder: Path) -> Iterator[Stack]:
    """With a data plane that makes a mistake where it is told to."""
    stack = Stack(module_folder, prefix=FAULTY)
    yield stack
    stack.close()


def cause_of(record: TickRecord) -> StopCause:
    assert record.stopped_by is not None
    return record.stopped_by


def stop_motions(stack: Stack) -> int:
    return stack.controller.arrived("call_StopMotion")


def test_a_killed_data_plane_leaves_the_arm_at_rest_and_comes_back_latched(stack: Stack) -> None:
    with Operator(stack) as operator:
        operator.begin()
        pid, stops = stack.follower.card().data_plane_pid, stop_motions(stack)
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: stop_motions(stack) > stops, what="StopMotion at the controller")
        record = stack.wait_stopped()
        assert record.pid != pid
        assert cause_of(record).kind is StopKind.PROCESS_LOST
        assert cause_of(record).detail == "the data plane was killed by SIGKILL"
        assert isinstance(
            operator.wait_ended(), steadyhand.Stopped | steadyhand.LinkLost | steadyhand.NotEngaged
        )
        # The session died with it; another is opened, and nobody is engaged by that.
        operator.wait_view("another session", lambda view: view.open and view.session.opened == 2)
        operator.wait_event("FollowerStopped", "the data plane was killed by SIGKILL")
        operator.recover()
    lawful.check(stack)


def test_a_killed_control_plane_stops_the_arm_and_the_session_comes_back_by_itself(stack: Stack) -> None:
    with Operator(stack) as operator:
        operator.begin()
        os.kill(stack.follower.card().control_plane_pid, signal.SIGKILL)
        cause = cause_of(stack.wait_stopped())
        assert (cause.kind, cause.name) == (StopKind.PROCESS_LOST, "control plane")
        stack.wait_at_rest()
        assert isinstance(
            operator.wait_ended(), steadyhand.Stopped | steadyhand.LinkLost | steadyhand.NotEngaged
        )
        operator.wait_view("another session", lambda view: view.open and view.session.opened == 2)
        operator.wait_event("FollowerStopped", "process_lost (control plane)")
        operator.recover()
    lawful.check(stack)


def test_a_killed_operator_stops_the_arm_by_a_stall_and_the_next_one_is_told(stack: Stack) -> None:
    with Operator(stack) as first:
        first.begin()
        first.rest()
        first.arm.idle()
    leading = stack.operator_process("--leader", "sine", "--duration", "600", "--take-over", "--name", "ann")
    stack.wait(moving, "an arm that moves", since=len(stack.ticks.records), deadline_s=60.0)
    leading.kill()
    cause = cause_of(stack.wait_stopped())
    assert (cause.kind, cause.name) == (StopKind.STALL, "underrun")
    assert "nothing has arrived for" in cause.detail
    stack.wait_at_rest()
    arrived = stack.setpoints_arrived()
    with pytest.raises(steadyhand.Refused, match="ann holds the session"):
        Operator(stack, "bob", take_over=False)
    with Operator(stack, "bob") as operator:
        operator.wait_event("FollowerStopped", "stall (underrun)")
        assert stack.setpoints_arrived() == arrived
        operator.recover()
    lawful.check(stack)


def test_a_killed_controller_stops_the_arm_and_a_reset_waits_for_another(stack: Stack) -> None:
    with Operator(stack) as operator:
        operator.begin()
        pose = ",".join(f"{angle:.6f}" for angle in stack.status()["joints_deg"])
        stack.controller.kill()
        cause = cause_of(stack.wait_stopped())
        assert cause.kind is StopKind.DRIVER_ERROR
        assert "nobody listens on the controller's setpoint port" in cause.detail
        error = operator.wait_ended()
        assert isinstance(error, steadyhand.Stopped)
        assert error.cause == "driver_error"
        with pytest.raises(steadyhand.Refused):
            operator.arm.reset("too early", timeout_s=1.5)
        assert stack.ticks.records[-1].engage == "stopped"
        stack.controller = stack.add(ControllerProcess(f"--pose={pose}", address=stack.controller.address))
        stack.controller.wait_ready()
        operator.recover()
    lawful.check(stack)


def test_a_controller_in_fault_stops_the_arm_with_its_codes_and_a_reset_clears_it(stack: Stack) -> None:
    with Operator(stack) as operator:
        operator.begin()
        giant_deg = [0.0, -90.0, 90.0, -90.0, -90.0, 60.0]
        period_s = stack.playout.period_ns / 1e9
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            frame = encode_servo_j(0, giant_deg, period_s=period_s)
            stranger.sendto(frame, (stack.controller.address, VENDOR_PORTS.servoj))
        cause = cause_of(stack.wait_stopped())
        assert (cause.kind, cause.detail) == (StopKind.CONTROLLER_FAULT, "controller fault 1/28")
        error = operator.wait_ended()
        assert isinstance(error, steadyhand.Stopped)
        assert error.cause == "controller_fault"
        assert "1/28" in str(error)
        stack.wait_at_rest()
        arrived = stack.setpoints_arrived()
        assert stack.status()["main_code"] == 1
        assert stack.setpoints_arrived() == arrived
        operator.recover()
    lawful.check(stack)


def test_a_pressed_button_stops_the_arm_and_no_reset_passes_before_it_is_out(stack: Stack) -> None:
    with Operator(stack) as operator:
        operator.begin()
        stack.controller.console("estop")
        cause = cause_of(stack.wait_stopped())
        assert (cause.kind, cause.name) == (StopKind.ESTOP, "controller")
        error = operator.wait_ended()
        assert isinstance(error, steadyhand.Stopped)
        assert error.cause == "estop"
        with pytest.raises(steadyhand.Refused, match="button is pressed"):
            operator.arm.reset("too early", timeout_s=1.5)
        stack.controller.console("release")
        stack.controller.console("power-cycle")
        operator.recover()
    lawful.check(stack)


def test_a_mistake_in_the_data_planes_loop_stops_the_arm_and_is_told_whole(stack: Stack) -> None:
    with Operator(stack) as operator:
        operator.begin()
        pid = stack.follower.card().data_plane_pid
        os.kill(pid, signal.SIGUSR2)
        stack.follower.wait_line("PROGRAM FAULT in the data plane's loop; the stream is ended")
        stack.follower.wait_line("ZeroDivisionError: made by a test")
        record = stack.wait_stopped()
        assert record.pid != pid
        cause = cause_of(record)
        assert (cause.kind, cause.name) == (StopKind.PROCESS_LOST, "data plane")
        stack.wait_at_rest()
        operator.wait_view("another session", lambda view: view.open and view.session.opened == 2)
        operator.recover()
    lawful.check(stack)


def test_a_second_ctrl_c_at_the_operator_is_an_estop(stack: Stack) -> None:
    with Operator(stack) as first:
        first.begin()
        first.rest()
        first.arm.idle()
    leading = stack.operator_process("--leader", "sine", "--duration", "600", "--take-over", "--name", "ann")
    since = len(stack.ticks.records)
    stack.wait(moving, "an arm that moves", since=since, deadline_s=60.0)
    # The soft stop that the first one asks for does not arrive: the operator is still waiting for it.
    stack.network.kill("control")
    leading.process.send_signal(signal.SIGINT)
    # Two signals of one number that are both pending are one.
    leading.wait_line("disengaged: enter_idle")
    leading.process.send_signal(signal.SIGINT)
    cause = cause_of(stack.wait_stopped())
    assert (cause.kind, cause.name) == (StopKind.ESTOP, "datagram")
    stack.network.revive("both")
    assert leading.wait_end() == 130, leading.told()
    with Operator(stack) as operator:
        operator.recover()
    lawful.check(stack)
