"""Rigs: a driver, the controller it drives, and a hand on the plug. One for every driver."""

import asyncio
import itertools
import os
import select
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from random import Random

import pytest

from steadyhand.core.controller.constants import FR3
from steadyhand.core.controller.model import ControllerModel
from steadyhand.core.controller.state import ControllerState
from steadyhand.edge.robots.contract import DataPort, MeasuredState, PortState, Settling, Waiting
from steadyhand.edge.robots.fairino.data_port import FairinoDataPort
from steadyhand.edge.robots.fairino.ports import FairinoPorts
from steadyhand.edge.robots.simulated.data_port import SimulatedDataPort
from steadyhand.edge.robots.simulated.robot import Cable, SimulatedRobot
from steadyhand.ground.arms import FR3 as FR3_ARM
from steadyhand.nodes.controller.node import ControllerNode, make_loop
from steadyhand.nodes.controller.settings import START_POSE_DEG, ControllerSettings

MS = 1_000_000
PERIOD_NS = 10 * MS
VACUUM_BITS = (3, 9)
_hosts = itertools.count(1)


class Rig(ABC):
    """A data port and its controller. Time passes only in `run_until` and `skip`."""

    port: DataPort

    def __init__(self) -> None:
        self.seen: list[MeasuredState] = []

    @abstractmethod
    def now_ns(self) -> int: ...

    @abstractmethod
    def turn(self) -> None:
        """Let the other end do what it has to, and a little time pass."""

    @abstractmethod
    def skip(self, by_ns: int) -> None:
        """Let time pass, for driver and controller, in which neither does anything."""

    @abstractmethod
    def skip_at_controller(self, by_ns: int) -> None:
        """Let time pass at the controller alone, where the two do not share a clock."""

    @abstractmethod
    def model(self) -> ControllerModel: ...

    @abstractmethod
    def model_now_ns(self) -> int: ...

    @abstractmethod
    def die(self) -> None:
        """Nobody listens any more."""

    @abstractmethod
    def vanish(self) -> None:
        """The controller neither reads nor writes, and nobody says so."""

    @abstractmethod
    def revive(self) -> None: ...

    @abstractmethod
    def arrived(self) -> int:
        """Setpoints that reached the controller, whatever it answered."""

    # What every rig can do.

    def poll(self) -> list[MeasuredState]:
        states = self.port.poll(self.now_ns())
        self.seen += states
        return states

    def run_until(self, done: Callable[[], bool], *, within_s: float = 5.0) -> None:
        deadline_ns = self.now_ns() + int(within_s * 1e9)
        while not done():
            assert self.now_ns() < deadline_ns, f"not within {within_s} s: {self.port.report()}"
            self.turn()
            self.poll()

    def connect(self) -> None:
        """Configure, and wait for the first measured frame."""
        self.port.configure(self.now_ns())
        self.run_until(lambda: self.port.first_frame_seen)

    def enable(self) -> None:
        """The arm is enabled, and the window in which setpoints are refused is over."""
        self.model().set_mode(0, self.model_now_ns())
        self.model().enable(self.model_now_ns())
        self.skip_at_controller(1500 * MS)
        newest = len(self.seen)
        self.run_until(lambda: len(self.seen) > newest + 1)

    def settle(self, *, within_s: float = 8.0) -> Settling:
        """Take the probe's steps, one a period, until it decides."""
        settled: list[Settling] = []

        def decided() -> bool:
            settled.append(self.port.settle(self.now_ns()))
            due_ns = self.now_ns() + PERIOD_NS
            while self.now_ns() < due_ns:
                self.turn()
                self.poll()
            return not isinstance(settled[-1], Waiting)

        self.run_until(decided, within_s=within_s)
        return settled[-1]

    def engage(self) -> None:
        """All the way to active."""
        self.connect()
        self.enable()
        self.port.start_stream(self.now_ns())
        self.settle()
        assert self.port.state is PortState.ACTIVE

    def controller(self) -> ControllerState:
        return self.model().state(self.model_now_ns())


class SimulatedRig(Rig):
    """Virtual time: a turn is two milliseconds."""

    def __init__(self) -> None:
        super().__init__()
        self._now_ns = 1000 * MS
        model = ControllerModel(FR3, Random(1), joint_limits=FR3_ARM.limits, joints_deg=START_POSE_DEG)
        self._model = model
        self.robot = SimulatedRobot(model)
        self.port = SimulatedDataPort(self.robot, period_ns=PERIOD_NS, vacuum_bits=VACUUM_BITS)

    def now_ns(self) -> int:
        return self._now_ns

    def turn(self) -> None:
        self._now_ns += 2 * MS

    def skip(self, by_ns: int) -> None:
        self._now_ns += by_ns

    def skip_at_controller(self, by_ns: int) -> None:
        self.skip(by_ns)

    def model(self) -> ControllerModel:
        return self.robot.at(self._now_ns)

    def model_now_ns(self) -> int:
        return self._now_ns

    def die(self) -> None:
        self.robot.set_cable(Cable.DEAD, self._now_ns)

    def vanish(self) -> None:
        self.robot.set_cable(Cable.BLACK_HOLE, self._now_ns)

    def revive(self) -> None:
        self.robot.set_cable(Cable.PLUGGED, self._now_ns)

    def arrived(self) -> int:
        counters = self.port.report().counters
        return sum(count for name, count in counters.items() if name.startswith("answered_"))


class _ShiftedClock:
    """The monotonic clock, and what was skipped."""

    def __init__(self) -> None:
        self.shift_ns = 0

    def now_ns(self) -> int:
        return time.monotonic_ns() + self.shift_ns


class FairinoRig(Rig):
    """Real sockets on an address of its own; the controller's loop turns in this thread."""

    def __init__(self) -> None:
        super().__init__()
        self.shift_ns = 0
        self.clock = _ShiftedClock()
        self.address = f"127.0.{os.getpid() % 250 + 1}.{next(_hosts) % 250 + 1}"
        self.loop = make_loop()
        self.frozen = False
        self.node = self._start(FairinoPorts(xmlrpc=0, state=0, servoj=0))
        self.ports = self.node.ports
        self.port = FairinoDataPort(
            self.address, period_ns=PERIOD_NS, ports=self.ports, vacuum_bits=VACUUM_BITS
        )

    def _start(self, ports: FairinoPorts) -> ControllerNode:
        node = ControllerNode(ControllerSettings(address=self.address, ports=ports), self.clock)
        self.loop.run_until_complete(node.start())
        return node

    def now_ns(self) -> int:
        return time.monotonic_ns() + self.shift_ns

    def turn(self) -> None:
        if not self.frozen:
            self.loop.call_soon(self.loop.stop)
            self.loop.run_forever()
        select.select(self.port.read_fds(), self.port.write_fds(), [], 0.0005)

    def skip(self, by_ns: int) -> None:
        self.shift_ns += by_ns
        self.clock.shift_ns += by_ns

    def skip_at_controller(self, by_ns: int) -> None:
        self.clock.shift_ns += by_ns

    def model(self) -> ControllerModel:
        return self.node.box.model

    def model_now_ns(self) -> int:
        return self.clock.now_ns()

    def die(self) -> None:
        self.loop.run_until_complete(self.node.close())

    def vanish(self) -> None:
        self.frozen = True

    def revive(self) -> None:
        if self.frozen:
            self.frozen = False
        else:
            self.node = self._start(self.ports)

    def arrived(self) -> int:
        answers = self.node.box.answers
        return sum(count for name, count in answers.items() if name.startswith("servo_j_"))

    def close(self) -> None:
        self.port.close(self.now_ns())
        self.loop.run_until_complete(self.node.close())
        self.loop.run_until_complete(asyncio.sleep(0))
        self.loop.close()


@pytest.fixture
def fairino() -> Iterator[FairinoRig]:
    rig = FairinoRig()
    yield rig
    rig.close()


@pytest.fixture(params=["simulated", "fairino"])
def rig(request: pytest.FixtureRequest) -> Iterator[Rig]:
    """Every driver, one after the other."""
    if request.param == "simulated":
        yield SimulatedRig()
        return
    real = FairinoRig()
    yield real
    real.close()
