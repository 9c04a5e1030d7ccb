"""A rig around FollowerCore: a sealed sender, an arm that executes what it is sent, and literal time."""

import math
from collections import deque
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from steadyhand.core.follower import FollowerCore, FollowerSettings
from steadyhand.core.follower.inputs import PrepareStream, ProbeReady, Reply
from steadyhand.core.follower.outputs import DriverCommand, FollowerEvent, SendJoints, StartStream, TickOutput
from steadyhand.core.safety.writes import WriteOutcome
from steadyhand.ground.config import RobotConfig
from steadyhand.ground.measured_arm import MeasuredArm
from steadyhand.ground.robot_status import RobotStatus
from steadyhand.ground.setpoint import Setpoint
from steadyhand.wire.action_frame import encode_sealed, encode_single
from steadyhand.wire.action_payload import encode_action
from steadyhand.wire.bundle import Entry
from steadyhand.wire.sealing import Sealer

MS = 1_000_000
PERIOD_NS = 10 * MS
LAG_TICKS = 8
KEY = bytes(range(32))
WALL_S = 1_700_000_000.0
HOME = (0.0, -90.0, 90.0, 0.0, 0.0, 0.0)

ROBOT: dict[str, Any] = {
    "robot": {"id": "arm", "type": "fairino", "model": "fr3"},
    "communication": {
        "publish_rate_hz": 100.0,
        "playout_buffer_ms": 50.0,
        "playout_underrun_estop_after_ms": 20.0,
    },
    "safety": {
        "stream_shaper": {"v_max_deg_s": 130.0, "a_max_deg_s2": 500.0},
        "divergence_guard": {"form": "window", "lag_s": 0.08, "margin_deg": 3.0},
        "joint_speed": {"max_deg_s": 150.0},
    },
}


class Rig:
    """Drives one core tick by tick; the arm follows each frame `LAG_TICKS` later."""

    def __init__(self, **blocks: dict[str, Any]) -> None:
        tree = {name: {**ROBOT.get(name, {}), **blocks.get(name, {})} for name in {*ROBOT, *blocks}}
        self.config = msgspec.convert(tree, RobotConfig)
        self.core = FollowerCore(FollowerSettings.from_config(self.config))
        self.now_ns = 1_000 * MS
        self.seq = 0
        self.pose: tuple[float, ...] = HOME
        self.measured: tuple[float, ...] = HOME
        self.primed: tuple[float, ...] = HOME
        self.in_the_arm: deque[tuple[float, ...]] = deque([HOME] * LAG_TICKS)
        self.frames: list[tuple[float, ...]] = []
        self.commands: list[DriverCommand] = []
        self.events: list[FollowerEvent] = []
        self.write_outcome = WriteOutcome.TAKEN
        self.sealer = Sealer(session_id=7, key=KEY)
        opened = self.core.open_session(session_id=7, command_key=KEY, operator="ann", now_ns=self.now_ns)
        assert opened.outcome == "done"

    # ---- the sender

    def datagram(self, pose: tuple[float, ...], **fields: Any) -> bytes:
        """The next setpoint, sealed."""
        setpoint = self.setpoint(pose, **fields)
        entry = Entry(self.seq, encode_action(setpoint))
        self.seq += 1
        return encode_sealed(robot_id="arm", entries=(entry,), sealer=self.sealer)

    def plain(self, pose: tuple[float, ...], **fields: Any) -> bytes:
        """The next setpoint as a version 1 frame."""
        entry = Entry(self.seq, encode_action(self.setpoint(pose, **fields)))
        self.seq += 1
        return encode_single(robot_id="arm", entry=entry)

    def setpoint(self, pose: tuple[float, ...], **fields: Any) -> Setpoint:
        stamp_s = fields.pop("stamp_s", 500.0 + self.now_ns / 1e9)
        return Setpoint(joints_deg=pose, timestamp_s=stamp_s, robot_id="arm", **fields)

    def deliver(self, datagram: bytes) -> tuple[DriverCommand, ...]:
        """Hand a datagram in at this moment."""
        commands = self.core.receive(datagram, self.now_ns, WALL_S)
        self.commands += commands
        self.events += self.core.take_events()
        return commands

    # ---- the arm

    def observe(self, **fields: Any) -> tuple[DriverCommand, ...]:
        """One frame of the state feed, of the arm as it is."""
        measured: dict[str, Any] = {
            "arrival_ns": self.now_ns,
            "joints_deg": self.measured,
            "speeds_deg_s": (0.0,) * 6,
            "status": RobotStatus.IDLE,
        }
        measured.update(fields)
        commands = self.core.observe(MeasuredArm(**measured))
        self.commands += commands
        self.events += self.core.take_events()
        return commands

    def control(self, command: Any) -> Reply:
        """One request of the control service."""
        reply, commands = self.core.control(command, self.now_ns)
        if StartStream() in commands:
            self.primed = self.measured
        self.commands += commands
        self.events += self.core.take_events()
        return reply

    def engage(self) -> None:
        """From idle to streaming, as the operator and the probe do it."""
        self.observe()
        assert self.control(PrepareStream(operator="ann")).outcome == "done"
        assert self.control(ProbeReady()).outcome == "done"
        assert self.core.state.value == "streaming"

    # ---- time

    def tick(self) -> TickOutput:
        """One period: the arm moves, its frame comes in, the core ticks, the frame is written."""
        self.now_ns += PERIOD_NS
        before, self.measured = self.measured, self.in_the_arm.popleft()
        speeds = tuple((now - then) / 0.01 for now, then in zip(self.measured, before, strict=True))
        self.observe(speeds_deg_s=speeds)
        output = self.core.tick(self.now_ns)
        sent = self.in_the_arm[-1]
        for command in output.commands:
            self.commands.append(command)
            if isinstance(command, SendJoints):
                if self.write_outcome is WriteOutcome.TAKEN:
                    sent = command.joints_deg
                    self.frames.append(sent)
                self.commands += self.core.note_write(self.write_outcome, self.now_ns, "test")
        self.in_the_arm.append(sent)
        self.events += self.core.take_events()
        return output

    def stream(self, ticks: int, step_deg: float = 0.3) -> None:
        """Send one moving setpoint a period and tick."""
        for _ in range(ticks):
            self.pose = (self.pose[0] + step_deg, *self.pose[1:])
            self.deliver(self.datagram(self.pose))
            self.tick()

    def check_legal(self, v_max: float = 130.0, a_max: float = 500.0) -> None:
        """Every frame on the wire is within the bounds of its predecessor."""
        wire = [self.primed, *self.frames]
        speeds = [0.0, *((later[0] - earlier[0]) / 0.01 for earlier, later in pairwise(wire))]
        assert all(abs(speed) <= v_max + 1e-6 for speed in speeds)
        changes = [abs(b - a) for a, b in pairwise(speeds)]
        assert all(change <= a_max * 0.01 + 1e-6 for change in changes)
        assert all(map(math.isfinite, speeds))


@pytest.fixture
def rig() -> Rig:
    return Rig()


@pytest.fixture
def make_rig() -> type[Rig]:
    return Rig
