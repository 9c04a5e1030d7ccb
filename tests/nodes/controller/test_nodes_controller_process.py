"""`steadyhand controller` as a process: started, pressed, attacked, driven, ended."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest

from steadyhand.core.safety.writes import WriteOutcome
from steadyhand.edge.robots.contract import MeasuredState, PortState, Ready, Waiting
from steadyhand.edge.robots.fairino.control_port import FairinoControlPort
from steadyhand.edge.robots.fairino.data_port import FairinoDataPort

MS = 1_000_000
COMMAND = """
import sys
from steadyhand.cli.controller import controller
from steadyhand.ground.errors import SteadyhandError
try:
    controller(address=sys.argv[1], model=sys.argv[2])
except SteadyhandError as error:
    print(error, file=sys.stderr)
    sys.exit(error.exit_code)
"""


class Controller:
    """One process, ended by its own id."""

    def __init__(self, host: int, model: str = "fr3", **pipes: Any) -> None:
        self.address = f"127.3.{os.getpid() % 250 + 1}.{host}"
        pipes = {"stdin": subprocess.DEVNULL, "stderr": subprocess.PIPE} | pipes
        self.process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, self.address, model], stdout=subprocess.PIPE, text=True, **pipes
        )

    def wait_ready(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("controller ready"), line
        host, _, port = line.split()[-1].partition(":")
        self.admin = (host, int(port))
        return line

    def console(self, command: str) -> dict[str, Any]:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as console:
            console.settimeout(5.0)
            console.sendto(command.encode(), self.admin)
            reply: dict[str, Any] = json.loads(console.recv(65536))
            return reply

    def end(self, number: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(10.0)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()
        return code


@pytest.fixture
def controller() -> Iterator[Controller]:
    one = Controller(1)
    one.wait_ready()
    yield one
    assert one.end() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_says_when_it_is_ready_and_ends_cleanly(number: signal.Signals) -> None:
    one = Controller(2)
    line = one.wait_ready()
    assert "XML-RPC 20003, state 20005, ServoJ 20007" in line
    assert one.address in line
    with socket.create_connection((one.address, 20003), timeout=5.0):
        assert one.end(number) == 0


def test_a_second_one_on_the_same_address_is_refused_in_one_line(controller: Controller) -> None:
    second = Controller(1)
    assert second.process.wait(10.0) == 2
    assert second.process.stderr is not None
    (line,) = second.process.stderr.read().splitlines()
    assert "address already in use" in line
    second.end()


def test_the_console_on_standard_input_presses_the_buttons() -> None:
    one = Controller(3, stdin=subprocess.PIPE)
    one.wait_ready()
    assert one.process.stdin is not None
    assert one.process.stdout is not None
    one.process.stdin.write("estop\nstatus\n")
    one.process.stdin.flush()
    assert "done" in json.loads(one.process.stdout.readline())
    assert json.loads(one.process.stdout.readline())["emergency_stop"] == 1
    one.process.stdin.close()
    assert one.console("status")["button_pressed"]
    assert one.end() == 0


def test_hostile_bytes_on_every_port_kill_nothing(controller: Controller) -> None:
    dice = Random(7)
    for _ in range(30):
        noise = dice.randbytes(dice.randrange(1, 3000))
        for port in (20003, 20005):
            with socket.create_connection((controller.address, port), timeout=5.0) as caller:
                caller.sendall(noise)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(noise, (controller.address, 20007))
            sender.sendto(noise, controller.admin)
    status = controller.console("status")
    assert status["arrived"]["udp_bad_frames"] >= 30
    assert (status["faults"], status["accepted"], status["enabled"]) == (0, 0, 0)


class Driver:
    """Both ports of the driver against the process, in real time."""

    def __init__(self, address: str) -> None:
        self.control = FairinoControlPort(address)
        self.data = FairinoDataPort(address, period_ns=10 * MS)
        self.seen: list[MeasuredState] = []
        self.due_ns = 0

    def until(self, done: Callable[[], bool], within_s: float = 6.0) -> None:
        deadline_s = time.monotonic() + within_s
        while not done():
            assert time.monotonic() < deadline_s, self.data.report()
            self.seen += self.data.poll(time.monotonic_ns())

    def period(self) -> int:
        """Wait for the next slot of the grid, reading the feed."""
        self.due_ns = max(self.due_ns + 10 * MS, time.monotonic_ns() - 10 * MS)
        self.until(lambda: time.monotonic_ns() >= self.due_ns)
        return time.monotonic_ns()

    def engage(self) -> None:
        assert self.control.configure().done
        assert self.control.activate().done
        self.data.configure(time.monotonic_ns())
        self.until(lambda: self.data.first_frame_seen)
        self.data.start_stream(time.monotonic_ns())
        while isinstance(settled := self.data.settle(self.period()), Waiting):
            pass
        assert isinstance(settled, Ready)
        self.pose_deg = settled.pose_deg

    def close(self) -> None:
        self.data.close(time.monotonic_ns())
        self.control.close()


@pytest.fixture
def driver(controller: Controller) -> Iterator[Driver]:
    one = Driver(controller.address)
    yield one
    one.close()


def test_the_driver_leads_the_arm_and_a_jump_makes_it_run_away_until_the_button(
    controller: Controller, driver: Driver
) -> None:
    """001, experiment 3, through the vendor's ports: the fault, the code 14, the sweep, the power cycle."""
    driver.engage()
    base, *rest = driver.pose_deg
    for tick in range(1, 61):
        joints_deg = (base + 0.2 * tick, *rest)
        assert driver.data.send_joints(joints_deg, driver.period()).outcome is WriteOutcome.TAKEN
    for _ in range(20):
        driver.data.send_joints(joints_deg, driver.period())
    reached_deg = base + 12.0
    driver.until(lambda: abs(driver.seen[-1].joints_deg[0] - reached_deg) < 0.01)
    assert controller.console("status")["faults"] == 0

    driver.data.send_joints((reached_deg + 2.5, *rest), driver.period())
    driver.until(lambda: driver.seen[-1].fault_code != 0)
    assert (driver.seen[-1].fault_code, driver.seen[-1].fault_sub_code) == (1, 32)
    assert driver.control.stop_motion().code == 14
    driver.until(lambda: driver.seen[-1].fastest_joint_deg_s > 190.0)
    controller.console("estop")
    driver.until(lambda: driver.seen[-1].estop_pressed and driver.seen[-1].fastest_joint_deg_s == 0.0)
    assert driver.control.stop_motion().code == 31
    driver.data.end_stream(time.monotonic_ns())

    controller.console("release")
    controller.console("power-cycle")
    driver.until(lambda: not driver.data.first_frame_seen)
    driver.until(lambda: driver.data.first_frame_seen)
    assert driver.control.stop_motion().done
    assert not driver.seen[-1].estop_pressed


def test_a_controller_that_is_killed_is_noticed_and_another_in_its_place_is_found(driver: Driver) -> None:
    address = driver.data._address
    driver.data.configure(time.monotonic_ns())
    driver.until(lambda: driver.data.first_frame_seen)
    # The fixture's process stays; this one has an address of its own.
    one = Controller(4)
    one.wait_ready()
    victim = Driver(one.address)
    victim.data.configure(time.monotonic_ns())
    victim.until(lambda: victim.data.first_frame_seen)
    os.kill(one.process.pid, signal.SIGKILL)
    victim.until(lambda: not victim.data.first_frame_seen)
    assert victim.data.take_feed_loss() is not None
    one.end()
    again = Controller(4)
    again.wait_ready()
    victim.until(lambda: victim.data.first_frame_seen)
    assert victim.data.state is PortState.INACTIVE
    victim.close()
    assert again.end() == 0
    assert driver.data._address == address


def test_a_second_driver_gets_no_state_feed_and_is_told_why(controller: Controller, driver: Driver) -> None:
    driver.data.configure(time.monotonic_ns())
    driver.until(lambda: driver.data.first_frame_seen)
    second = Driver(controller.address)
    second.data.configure(time.monotonic_ns())
    second.until(lambda: "another client is connected" in second.data.report().feed)
    assert not second.data.first_frame_seen
    driver.data.close(time.monotonic_ns())
    second.until(lambda: second.data.first_frame_seen)
    second.close()
