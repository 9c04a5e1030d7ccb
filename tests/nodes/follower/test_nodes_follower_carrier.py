"""Core, driver and the vendor's controller in virtual time: a sealed stream moves the arm, and stops do."""

from collections import deque
from pathlib import Path
from random import Random
from typing import Any

import pytest

from steadyhand.core.controller.constants import PRESETS
from steadyhand.core.controller.model import ControllerModel
from steadyhand.core.follower import FollowerCore, FollowerSettings
from steadyhand.core.follower.inputs import PrepareStream, ResetEmergency
from steadyhand.core.link import Link, parse_link_spec
from steadyhand.core.safety.latch import StopKind
from steadyhand.edge.motion_csv import load_motion
from steadyhand.edge.robot_yaml import load_robot
from steadyhand.edge.robots.contract import PortState
from steadyhand.edge.robots.simulated.data_port import SimulatedDataPort
from steadyhand.edge.robots.simulated.robot import Cable, SimulatedRobot
from steadyhand.ground.arms import FR3
from steadyhand.ground.setpoint import Setpoint
from steadyhand.nodes.follower.carrier import Carrier
from steadyhand.wire.action_frame import encode_sealed
from steadyhand.wire.action_payload import encode_action
from steadyhand.wire.bundle import Entry
from steadyhand.wire.sealing import Sealer

MS = 1_000_000
PERIOD_NS = 10 * MS
KEY = bytes(range(32))
ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"


class Chain:
    """Sender → link → core → driver → controller model, one virtual clock."""

    def __init__(self, link: str, seed: int = 1) -> None:
        config = load_robot(ROBOTS / "fairino_fr3_remote_node.yaml")
        self.robot_id = config.robot.id
        self.motion = load_motion("reaches", rng=Random(seed))
        self.home = self.motion.at(0.0)
        self.model = ControllerModel(
            PRESETS["fr3"], Random(seed), joint_limits=FR3.limits, joints_deg=self.home
        )
        self.robot = SimulatedRobot(self.model)
        self.model.enable(0)
        self.port = SimulatedDataPort(self.robot, period_ns=PERIOD_NS)
        self.core = FollowerCore(FollowerSettings.from_config(config))
        self.carrier = Carrier(self.core, self.port)
        self.sealer = Sealer(session_id=5, key=KEY)
        self.core.open_session(session_id=5, command_key=KEY, operator="ann", now_ns=0)
        self.link = Link(parse_link_spec(link), Random(seed))
        self.under_way: deque[tuple[int, bytes]] = deque()
        self.now_ns = 0
        self.sent = 0
        self.sending = False
        self.port.configure(0)

    def run(self, seconds: float) -> None:
        """Tick for a while; a setpoint a period is sent while `sending`."""
        for _ in range(round(seconds * 100)):
            self.now_ns += PERIOD_NS
            if self.sending:
                self._send()
            while self.under_way and self.under_way[0][0] <= self.now_ns:
                _, datagram = self.under_way.popleft()
                self.carrier.carry(self.core.receive(datagram, self.now_ns, 1.7e9), self.now_ns)
            self.carrier.poll(self.now_ns)
            self.carrier.tick(self.now_ns)

    def _send(self) -> None:
        joints = self.motion.at(self.sent * 0.01)
        setpoint = Setpoint(joints_deg=joints, timestamp_s=77.0 + self.now_ns / 1e9, robot_id=self.robot_id)
        datagram = encode_sealed(
            robot_id=self.robot_id, entries=(Entry(self.sent, encode_action(setpoint)),), sealer=self.sealer
        )
        self.sent += 1
        self.under_way.extend((at_ns, datagram) for at_ns in self.link.send(self.now_ns))

    def control(self, command: Any) -> str:
        reply, commands = self.core.control(command, self.now_ns)
        self.carrier.carry(commands, self.now_ns)
        outcome: str = reply.outcome
        return outcome

    def engage(self) -> None:
        """As the operator does it: prepare, wait for the probe, then lead."""
        assert self.control(PrepareStream(operator="ann")) == "done"
        for _ in range(60):
            if self.core.state.value == "streaming":
                return
            self.run(0.1)
        raise AssertionError(self.core.take_events())

    @property
    def faults(self) -> int:
        return self.model.fault_count


@pytest.fixture
def chain() -> Chain:
    made = Chain("wifi_burst")
    made.run(0.2)
    made.engage()
    return made


def test_the_probe_settles_through_the_enable_window_before_anything_streams() -> None:
    made = Chain("clean")
    made.run(0.2)
    made.control(PrepareStream())
    made.run(0.5)
    assert (made.core.state.value, made.port.state) == ("preparing", PortState.SETTLING)
    made.run(3.0)
    assert (made.core.state.value, made.port.state) == ("streaming", PortState.ACTIVE)
    assert made.faults == 0


def test_a_persons_motion_over_bursty_wifi_reaches_the_controller_without_a_fault(chain: Chain) -> None:
    chain.sending = True
    chain.run(25.0)
    assert chain.core.state.value == "streaming", chain.core.cause
    assert chain.faults == 0
    led = chain.motion.at((chain.sent - 1) * 0.01 - 0.35)
    executed = chain.model.state(chain.now_ns).joints_deg
    assert max(abs(a - b) for a, b in zip(led, executed, strict=True)) < 20.0


def test_a_link_that_dies_stops_the_arm_and_names_the_cause_and_a_reset_recovers(chain: Chain) -> None:
    chain.sending = True
    chain.run(5.0)
    chain.sending = False
    chain.run(1.0)
    assert chain.core.cause is not None
    assert chain.core.cause.kind is StopKind.STALL
    assert chain.carrier.stop_requests
    assert chain.port.state is not PortState.ACTIVE
    assert chain.control(PrepareStream()) == "refused"
    assert chain.control(ResetEmergency(operator="ann", reason="link is back")) == "done"
    chain.engage()
    chain.sending = True
    chain.run(3.0)
    assert chain.core.state.value == "streaming"
    assert chain.faults == 0


def test_a_pulled_cable_is_noticed_by_the_feeds_age(chain: Chain) -> None:
    chain.sending = True
    chain.run(3.0)
    chain.robot.set_cable(Cable.BLACK_HOLE, chain.now_ns)
    chain.run(1.0)
    assert chain.core.cause is not None
    assert chain.core.cause.name == "state_feed"


def test_the_controllers_estop_button_stops_and_holds_a_reset_off(chain: Chain) -> None:
    chain.sending = True
    chain.run(3.0)
    chain.robot.at(chain.now_ns).press_estop(chain.now_ns)
    chain.run(0.5)
    assert chain.core.cause is not None
    assert chain.core.cause.name == "controller"
    assert chain.control(ResetEmergency()) == "refused"
