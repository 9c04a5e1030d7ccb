"""One data plane in virtual time: real sockets and a real ring, the controller's model, no sleep."""

import os
import socket
from pathlib import Path
from random import Random
from typing import Any

from steadyhand.core.controller.constants import PRESETS
from steadyhand.core.controller.model import ControllerModel
from steadyhand.core.follower import FollowerCore, FollowerSettings
from steadyhand.core.follower.inputs import (
    ControlCommand,
    PrepareStream,
    Reply,
)
from steadyhand.core.safety.latch import StopCause
from steadyhand.edge.clock import ManualClock
from steadyhand.edge.heartbeat_board import HeartbeatBoard, HeartbeatLine, board_bytes
from steadyhand.edge.ring import RingWriter
from steadyhand.edge.ring_reader import RingReader
from steadyhand.edge.robot_yaml import load_robot
from steadyhand.edge.robots.simulated.data_port import SimulatedDataPort
from steadyhand.edge.robots.simulated.robot import SimulatedRobot
from steadyhand.edge.segment import create_anonymous
from steadyhand.ground.arms import FR3
from steadyhand.ground.setpoint import Setpoint
from steadyhand.nodes.controller.settings import START_POSE_DEG
from steadyhand.nodes.follower import local_link
from steadyhand.nodes.follower.carrier import Carrier
from steadyhand.nodes.follower.data_plane import DataPlane, Outside
from steadyhand.nodes.follower.local_link import (
    Answered,
    Ask,
    OpenSession,
    StopWanted,
)
from steadyhand.nodes.follower.neighbours import Neighbours
from steadyhand.nodes.follower.process_settings import (
    BOARD_PERIODS_NS,
    CONTROL_PLANE_LINE,
    DATA_PLANE_LINE,
    LAUNCHER_LINE,
)
from steadyhand.nodes.follower.records import TickRecord, decode_record, ring_shape
from steadyhand.nodes.follower.telling import LineWriter
from steadyhand.wire.action_frame import encode_sealed
from steadyhand.wire.action_payload import encode_action
from steadyhand.wire.bundle import Entry
from steadyhand.wire.sealing import Sealer

MS = 1_000_000
PERIOD_NS = 10 * MS
START_NS = 1_000 * MS
KEY = bytes(range(32))
WALL_S = 1.7e9
ROBOT_FILE = Path(__file__).resolve().parents[3] / "config" / "robots" / "fairino_fr3_remote_node.yaml"


class Rig:
    """One data plane, its neighbours' heartbeats, and both ends of everything."""

    def __init__(self, stopped_by: StopCause | None = None) -> None:
        self.clock = ManualClock(START_NS)
        config = load_robot(ROBOT_FILE)
        self.model = ControllerModel(
            PRESETS["fr3"], Random(1), joint_limits=FR3.limits, joints_deg=START_POSE_DEG
        )
        self.model.enable(START_NS)
        self.port = SimulatedDataPort(SimulatedRobot(self.model), period_ns=PERIOD_NS)
        self.port.configure(START_NS)
        self.core = FollowerCore(FollowerSettings.from_config(config), stopped_by=stopped_by)
        shape = ring_shape(PERIOD_NS)
        self.segment = create_anonymous("ring", shape.size_bytes)
        self.ring = RingWriter(self.segment, shape)
        self.reader = RingReader(self.segment, start="first")
        board = create_anonymous("board", board_bytes(3))
        self.lines = {line: HeartbeatLine(board, line, 100 + line) for line in range(3)}
        neighbours = Neighbours(self.lines[DATA_PLANE_LINE], HeartbeatBoard(board, BOARD_PERIODS_NS))
        self.local, self.control_end = local_link.socket_pair()
        self.action = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.action.bind(("127.0.0.1", 0))
        self.action.setblocking(False)
        self.sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sender.connect(self.action.getsockname())
        self.said, said_into = os.pipe()
        os.set_blocking(self.said, False)
        self.said_into = said_into
        outside = Outside(
            action=self.action,
            local=self.local,
            ring=self.ring,
            neighbours=neighbours,
            say=LineWriter(said_into),
            clock=self.clock,
            wall_s=lambda: WALL_S,
            pid=77,
        )
        self.carrier = Carrier(self.core, self.port, read_clock=lambda: self.clock.now_ns() + 5)
        self.plane = DataPlane(self.carrier, outside, granted=("heap: granted",))
        self.beating = [CONTROL_PLANE_LINE, LAUNCHER_LINE]
        self.told: list[Any] = []
        self.sealer = Sealer(session_id=5, key=KEY)
        self.sent = 0
        self._asked = 0

    @property
    def now_ns(self) -> int:
        return self.clock.now_ns()

    def run(self, ticks: int, *, sending: bool = False) -> None:
        """So many periods: neighbours beat, a setpoint is sent, the plane wakes and ticks."""
        for _ in range(ticks):
            self.clock.advance(PERIOD_NS)
            for line in self.beating:
                self.lines[line].beat(self.now_ns)
            if sending:
                self.send_setpoint()
                self.plane.wake(self.now_ns)
            self.plane.tick(self.now_ns)
            self.hear()

    def hear(self) -> None:
        while (message := local_link.receive_answer(self.control_end)) is not None:
            self.told.append(message)

    def send_setpoint(self) -> None:
        pose = (START_POSE_DEG[0] + 0.05 * self.sent, *START_POSE_DEG[1:])
        setpoint = Setpoint(
            joints_deg=pose, timestamp_s=50.0 + self.now_ns / 1e9, robot_id=self.core.settings.robot_id
        )
        entries = (Entry(self.sent, encode_action(setpoint)),)
        self.sender.send(
            encode_sealed(robot_id=self.core.settings.robot_id, entries=entries, sealer=self.sealer)
        )
        self.sent += 1

    def ask(self, command: ControlCommand, *, waited_ns: int = 0) -> Reply:
        self._asked += 1
        request = Ask(request_id=self._asked, sent_ns=self.now_ns - waited_ns, command=command)
        return self.exchange(request)

    def exchange(self, request: Any) -> Reply:
        assert local_link.send(self.control_end, request)
        self.plane.wake(self.now_ns)
        self.hear()
        answers = [one for one in self.told if isinstance(one, Answered)]
        assert answers[-1].request_id == request.request_id
        return answers[-1].reply

    def open_session(self, operator: str = "ann") -> Reply:
        self._asked += 1
        request = OpenSession(
            request_id=self._asked, sent_ns=self.now_ns, session_id=5, command_key=KEY, operator=operator
        )
        return self.exchange(request)

    def engage(self) -> None:
        self.run(20)
        assert self.open_session().outcome == "done"
        assert self.ask(PrepareStream(operator="ann")).outcome == "done"
        for _ in range(500):
            self.run(1)
            if self.core.state.value == "streaming":
                return
        raise AssertionError(self.records()[-1])

    def records(self) -> list[TickRecord]:
        read = []
        while (record := self.reader.next_record()) is not None:
            read.append(decode_record(record.payload))
        return read

    def lines_said(self) -> list[str]:
        try:
            return os.read(self.said, 1 << 20).decode().splitlines()
        except BlockingIOError:
            return []

    def stops_wanted(self) -> list[str]:
        return [one.reason for one in self.told if isinstance(one, StopWanted)]

    def close(self) -> None:
        for end in (self.action, self.sender, self.local, self.control_end):
            end.close()
        os.close(self.said)
        os.close(self.said_into)
        self.reader.close()
        self.ring.close()
        self.segment.close()
