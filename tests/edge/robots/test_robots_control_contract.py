"""The contract of a control port: every driver passes every test (docs/robots.md)."""

import os
import signal
import socket
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from random import Random

import pytest

from steadyhand.core.controller.admission import ServoFrame
from steadyhand.core.controller.constants import FR3
from steadyhand.core.controller.model import ControllerModel
from steadyhand.edge.robots.contract import CallOutcome, ControlPort, LifecycleError, PortState
from steadyhand.edge.robots.fairino.control_port import FairinoControlPort
from steadyhand.edge.robots.simulated.control_port import SimulatedControlPort
from steadyhand.edge.robots.simulated.robot import Cable, SimulatedRobot
from steadyhand.ground.arms import FR3 as FR3_ARM
from steadyhand.nodes.controller.settings import START_POSE_DEG

MS = 1_000_000
BOUND_S = 2.0
"""The longest time-out used here is one second."""
_COMMAND = "import sys; from steadyhand.cli.controller import controller; controller(address=sys.argv[1])"


class Rig(ABC):
    """A control port, its controller, and a hand on the plug."""

    port: ControlPort

    @abstractmethod
    def press(self, button: str) -> None:
        """estop, release or power-cycle."""

    @abstractmethod
    def vanish(self) -> None: ...

    @abstractmethod
    def revive(self) -> None: ...

    @abstractmethod
    def fault(self) -> None:
        """Make the controller run away, and let the sweep be over."""

    def close(self) -> None:
        self.port.close()


class SimulatedRig(Rig):
    def __init__(self) -> None:
        self.now_ns = 0
        model = ControllerModel(FR3, Random(1), joint_limits=FR3_ARM.limits, joints_deg=START_POSE_DEG)
        self.robot = SimulatedRobot(model)
        self.port = SimulatedControlPort(self.robot, lambda: self.now_ns)

    def press(self, button: str) -> None:
        model = self.robot.at(self.now_ns)
        {"estop": model.press_estop, "release": model.release_estop, "power-cycle": model.power_cycle}[
            button
        ](self.now_ns)

    def vanish(self) -> None:
        self.robot.set_cable(Cable.BLACK_HOLE, self.now_ns)

    def revive(self) -> None:
        self.robot.set_cable(Cable.PLUGGED, self.now_ns)

    def fault(self) -> None:
        self.now_ns += 2000 * MS
        model = self.robot.at(self.now_ns)
        model.servo_move_start(self.now_ns)
        pose_deg = (START_POSE_DEG[0] + 2.5, *START_POSE_DEG[1:])
        model.servo_j(ServoFrame(joints_deg=pose_deg, period_ns=10 * MS), self.now_ns)
        self.now_ns += 3000 * MS


class FairinoRig(Rig):
    """A process of its own, so that it can be frozen."""

    def __init__(self) -> None:
        self.address = f"127.1.{os.getpid() % 250 + 1}.{os.getpid() // 250 % 250 + 1}"
        self.process = subprocess.Popen(
            [sys.executable, "-c", _COMMAND, self.address],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        ready = self.process.stdout.readline()
        assert ready.startswith("controller ready"), ready
        host, _, port = ready.split()[-1].partition(":")
        self.admin = (host, int(port))
        self.port = FairinoControlPort(
            self.address, call_timeout_s=0.4, enable_timeout_s=1.0, stop_timeout_s=0.4
        )

    def press(self, button: str) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as console:
            console.settimeout(5.0)
            console.sendto(button.encode(), self.admin)
            assert b"done" in console.recv(4096)

    def vanish(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def revive(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def fault(self) -> None:
        """A giant step over XML-RPC: refused and latched, without a sweep to wait for."""
        caller = self.port._caller  # type: ignore[attr-defined]
        caller.call("ServoMoveStart")
        far_deg = [START_POSE_DEG[0] + 40.0, *START_POSE_DEG[1:]]
        deadline_s = time.monotonic() + 5.0
        while caller.call("ServoJ", far_deg, [0.0] * 4, 0.0, 0.0, 0.01, 0.0, 0.0, 1) == 101:
            assert time.monotonic() < deadline_s

    def close(self) -> None:
        super().close()
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        assert self.process.wait(10.0) == 0
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture(scope="module")
def controller() -> Iterator[FairinoRig]:
    """One process for the whole file; each test begins with the box switched off and on."""
    rig = FairinoRig()
    yield rig
    rig.close()


@pytest.fixture(params=["simulated", "fairino"])
def rig(request: pytest.FixtureRequest) -> Iterator[Rig]:
    if request.param == "simulated":
        yield SimulatedRig()
        return
    one: FairinoRig = request.getfixturevalue("controller")
    one.press("release")
    one.press("power-cycle")
    yield one
    one.revive()
    one.port.close()


def state_of(port: ControlPort) -> PortState:
    """The state, afresh: it changes behind a type checker's back."""
    return port.state


def test_from_unconfigured_to_active_and_back(rig: Rig) -> None:
    assert state_of(rig.port) is PortState.UNCONFIGURED
    assert rig.port.configure().done
    assert state_of(rig.port) is PortState.INACTIVE
    report = rig.port.activate()
    assert (report.call, report.outcome, report.code) == ("RobotEnable", CallOutcome.DONE, 0)
    assert state_of(rig.port) is PortState.ACTIVE
    assert rig.port.deactivate().done
    assert state_of(rig.port) is PortState.INACTIVE
    rig.port.close()
    assert state_of(rig.port) is PortState.UNCONFIGURED


def test_calls_out_of_order_raise_and_change_nothing(rig: Rig) -> None:
    port = rig.port
    for call in (port.activate, port.deactivate, port.recover, port.reset_errors, port.read_codes):
        with pytest.raises(LifecycleError):
            call()
    assert state_of(port) is PortState.UNCONFIGURED
    port.configure()
    for call in (port.configure, port.recover):
        with pytest.raises(LifecycleError):
            call()
    assert state_of(port) is PortState.INACTIVE


def test_stop_motion_is_possible_in_every_state(rig: Rig) -> None:
    port = rig.port
    assert port.stop_motion().done
    assert state_of(port) is PortState.UNCONFIGURED
    port.configure()
    assert port.stop_motion().done
    assert state_of(port) is PortState.INACTIVE
    port.activate()
    assert port.stop_motion().done
    assert state_of(port) is PortState.ACTIVE


def test_nothing_takes_longer_than_its_time_out_and_unanswered_is_the_error_state(rig: Rig) -> None:
    rig.port.configure()
    rig.vanish()
    started_s = time.monotonic()
    report = rig.port.reset_errors()
    assert time.monotonic() - started_s < BOUND_S
    assert report.outcome is CallOutcome.UNANSWERED
    assert "no answer in time" in report.detail
    assert state_of(rig.port) is PortState.ERROR
    started_s = time.monotonic()
    assert rig.port.stop_motion().outcome is CallOutcome.UNANSWERED
    assert not rig.port.recover().done
    assert time.monotonic() - started_s < BOUND_S
    assert state_of(rig.port) is PortState.ERROR
    rig.revive()
    assert rig.port.stop_motion().done
    assert state_of(rig.port) is PortState.ERROR
    assert rig.port.recover().done
    assert state_of(rig.port) is PortState.INACTIVE


def test_configuring_against_nobody_is_the_error_state(rig: Rig) -> None:
    rig.vanish()
    assert rig.port.configure().outcome is CallOutcome.UNANSWERED
    assert state_of(rig.port) is PortState.ERROR


def test_a_refusal_is_told_with_its_code_in_words_and_changes_no_state(rig: Rig) -> None:
    rig.port.configure()
    rig.press("estop")
    for call in (rig.port.activate, rig.port.reset_errors, rig.port.stop_motion):
        report = call()
        assert (report.outcome, report.code) == (CallOutcome.REFUSED, 31)
        assert "e-stop button" in report.detail
    assert state_of(rig.port) is PortState.INACTIVE


def test_deactivating_is_inactive_whatever_the_answer(rig: Rig) -> None:
    rig.port.configure()
    rig.port.activate()
    rig.press("estop")
    assert rig.port.deactivate().outcome is CallOutcome.REFUSED
    assert state_of(rig.port) is PortState.INACTIVE


def test_only_the_power_cycle_ends_an_estop(rig: Rig) -> None:
    rig.port.configure()
    rig.press("estop")
    rig.press("release")
    assert rig.port.activate().code == 31
    rig.press("power-cycle")
    assert rig.port.activate().done


def test_codes_are_read_and_a_reset_clears_them(rig: Rig) -> None:
    rig.port.configure()
    rig.port.activate()
    codes = rig.port.read_codes()
    assert (codes.report.done, codes.main_code, codes.sub_code, codes.meaning) == (True, 0, 0, "")
    rig.fault()
    codes = rig.port.read_codes()
    assert codes.main_code == 1
    assert codes.meaning.startswith(f"1/{codes.sub_code} (")
    assert rig.port.reset_errors().done
    assert rig.port.read_codes().main_code == 0


def test_codes_that_could_not_be_read_say_so(rig: Rig) -> None:
    rig.port.configure()
    rig.vanish()
    assert rig.port.read_codes().report.outcome is CallOutcome.UNANSWERED
    assert state_of(rig.port) is PortState.ERROR
