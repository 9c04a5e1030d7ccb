"""OperatorCore and FollowerCore over bad links in virtual time, sealed, each on a clock of its own.

Three paths, each a `core.link.Link` that can be cut on its own: commands and telemetry as datagrams,
the control service as an ordered path. The arm executes each frame 80 ms later.
"""

import math
from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from random import Random
from typing import Any

import msgspec
import pytest

from steadyhand.core.follower import FollowerCore, FollowerSettings
from steadyhand.core.follower.inputs import (
    ControlCommand,
    EmergencyStop,
    EnterIdle,
    PrepareStream,
    ProbeReady,
    ResetEmergency,
)
from steadyhand.core.follower.outputs import DriverCommand, SendJoints, StartProbe, Stopped
from steadyhand.core.link import Link, LinkProfile
from steadyhand.core.operator import OperatorCore, OperatorSettings
from steadyhand.core.operator.inputs import ControlReply
from steadyhand.core.operator.notices import Notice, ProgramFault
from steadyhand.core.operator.outputs import (
    ControlRequest,
    Outbound,
    RequestEstop,
    RequestIdle,
    RequestPrepare,
    RequestReset,
)
from steadyhand.core.safety.latch import StopCause
from steadyhand.core.safety.writes import WriteOutcome
from steadyhand.ground.config import RobotConfig
from steadyhand.ground.measured_arm import MeasuredArm
from steadyhand.ground.robot_status import RobotStatus
from steadyhand.ground.setpoint import Setpoint
from steadyhand.wire.sealing import Sealer
from steadyhand.wire.telemetry_frame import encode_telemetry, fit_state, telemetry_room_bytes

MS = 1_000_000
PERIOD_NS = 10 * MS
CLOCKS_APART_NS = 5_000_000 * MS
LAG_TICKS = 8
COMMAND_KEY, TELEMETRY_KEY = bytes(range(32)), bytes(range(32, 64))
WALL_S = 1_700_000_000.0
HOME = (0.0, -90.0, 90.0, 0.0, 0.0, 0.0)
ROBOT: dict[str, Any] = {
    "robot": {"id": "arm", "type": "fairino", "model": "fr3"},
    "communication": {
        "publish_rate_hz": 100.0,
        "playout_buffer_ms": 200.0,
        "playout_adaptive_max_ms": 500.0,
        "playout_underrun_estop_after_ms": 20.0,
    },
    "safety": {
        "stream_shaper": {"v_max_deg_s": 130.0, "a_max_deg_s2": 500.0},
        "divergence_guard": {"form": "window", "lag_s": 0.08, "margin_deg": 3.0},
        "joint_speed": {"max_deg_s": 150.0},
    },
}
STEADY = LinkProfile(name="steady", description="A constant 20 ms.", delay_ms=20.0)


class Loop:
    """Both cores, three paths and an arm; `now_ns` is the follower's clock."""

    def __init__(
        self, commands: LinkProfile = STEADY, telemetry: LinkProfile = STEADY, control: LinkProfile = STEADY
    ) -> None:
        config = msgspec.convert(ROBOT, RobotConfig)
        self.follower = FollowerCore(FollowerSettings.from_config(config))
        self.operator = OperatorCore(OperatorSettings.from_config(config), first_episode_id=41)
        self.links = {
            "commands": Link(commands, Random(1)),
            "telemetry": Link(telemetry, Random(2)),
            "control": Link(control, Random(3)),
        }
        self.cut: set[str] = set()
        self.now_ns = 1_000 * MS
        self.notices: list[Notice] = []
        self.sizes: list[int] = []
        self.stops: list[tuple[int, StopCause]] = []
        self.in_the_arm: deque[tuple[float, ...]] = deque([HOME] * LAG_TICKS)
        self.measured: tuple[float, ...] = HOME
        self.leading = True
        self.telemetry_seq = 0
        self.longest_gap_ns = 0
        """Longest silence on the action socket once the stream was running."""
        self._arrived_ns = 0
        self._sealer = Sealer(session_id=7, key=TELEMETRY_KEY)
        self._due: list[tuple[int, int, Callable[[], None]]] = []
        self._order = 0
        self.follower.open_session(session_id=7, command_key=COMMAND_KEY, operator="ann", now_ns=self.now_ns)
        assert self.operator.session_opened(7, COMMAND_KEY, TELEMETRY_KEY, self.here_ns) is None
        for start_ns, action in ((1, self._lead), (2, self._follow), (3, self._report)):
            self.at(self.now_ns + start_ns * MS, action)

    @property
    def here_ns(self) -> int:
        """The operator host's clock."""
        return self.now_ns + CLOCKS_APART_NS

    # ---- time

    def at(self, due_ns: int, action: Callable[[], None]) -> None:
        self._order += 1
        heappush(self._due, (max(due_ns, self.now_ns), self._order, action))

    def run(self, ms: float) -> None:
        until_ns = self.now_ns + round(ms * MS)
        while self._due and self._due[0][0] <= until_ns:
            self.now_ns, _, action = heappop(self._due)
            action()
        self.now_ns = until_ns

    def travel(self, path: str, size_bytes: int, action: Callable[[], None]) -> None:
        """On its way; what is cut off while it leaves never arrives."""
        arrivals = self.links[path].send(self.now_ns, size_bytes)
        if path not in self.cut:
            for arrival_ns in arrivals:
                self.at(arrival_ns, action)

    # ---- the operator's end

    def do(self, outbound: Outbound) -> None:
        """Carry out what the operator's core answers, and ask when it wants its tick."""
        for datagram in outbound.datagrams:
            self.sizes.append(len(datagram.data))
            self.travel("commands", len(datagram.data), lambda data=datagram.data: self._receive(data))  # type: ignore[misc]
        for request in outbound.requests:
            self.travel("control", 200, lambda request=request: self._control(request))  # type: ignore[misc]
        self.notices += self.operator.take_notices()
        self.at(self.operator.next_tick_ns(self.here_ns) - CLOCKS_APART_NS, self._operator_tick)

    def _operator_tick(self) -> None:
        if self.operator.next_tick_ns(self.here_ns) <= self.here_ns:
            self.do(self.operator.tick(self.here_ns).outbound)

    def _lead(self) -> None:
        self.at(self.now_ns + PERIOD_NS, self._lead)
        swing_deg = 20.0 * math.sin(self.now_ns / 1e9)
        pose = (swing_deg, *HOME[1:])
        if self.leading:
            setpoint = Setpoint(joints_deg=pose, timestamp_s=self.here_ns / 1e9, robot_id="arm")
            self.do(self.operator.lead(setpoint, self.here_ns).outbound)

    # ---- the robot's side

    def drive(self, commands: tuple[DriverCommand, ...]) -> None:
        """Note the stops; probes succeed after 20 ms."""
        for command in commands:
            if isinstance(command, StartProbe):
                self.at(
                    self.now_ns + 20 * MS,
                    lambda: self.drive(self.follower.control(ProbeReady(), self.now_ns)[1]),
                )
        for event in self.follower.take_events():
            if isinstance(event, Stopped):
                self.stops.append((event.at_ns, event.cause))

    def _receive(self, data: bytes) -> None:
        if self._arrived_ns:
            self.longest_gap_ns = max(self.longest_gap_ns, self.now_ns - self._arrived_ns)
        self._arrived_ns = self.now_ns
        self.drive(self.follower.receive(data, self.now_ns, WALL_S))

    def _control(self, request: ControlRequest) -> None:
        reply, commands = self.follower.control(_command(request), self.now_ns)
        self.drive(commands)
        answer = ControlReply(request_id=request.request_id, outcome=reply.outcome, reason=reply.reason)
        self.travel("control", 100, lambda: self.do(self.operator.control_reply(answer, self.here_ns)))

    def _follow(self) -> None:
        before, self.measured = self.measured, self.in_the_arm.popleft()
        speeds = tuple((now - then) / 0.01 for now, then in zip(self.measured, before, strict=True))
        arm = MeasuredArm(
            arrival_ns=self.now_ns, joints_deg=self.measured, speeds_deg_s=speeds, status=RobotStatus.MOVING
        )
        self.drive(self.follower.observe(arm))
        output = self.follower.tick(self.now_ns)
        pose = self.in_the_arm[-1]
        for command in output.commands:
            if isinstance(command, SendJoints):
                pose = command.joints_deg
                self.drive(self.follower.note_write(WriteOutcome.TAKEN, self.now_ns))
        self.in_the_arm.append(pose)
        self.drive(output.commands)
        self.at(output.next_tick_ns, self._follow)

    def _report(self) -> None:
        self.at(self.now_ns + PERIOD_NS, self._report)
        state = self.follower.report(self.now_ns, WALL_S)
        payload = fit_state(state, room_bytes=telemetry_room_bytes("arm", sealed=True))
        data = encode_telemetry(payload, robot_id="arm", seq=self.telemetry_seq, sealer=self._sealer)
        self.telemetry_seq += 1
        self.sizes.append(len(data))
        self.travel("telemetry", len(data), lambda: self._heard(data))

    def _heard(self, data: bytes) -> None:
        self.do(self.operator.telemetry(data, self.here_ns, WALL_S).outbound)

    # ---- a person's steps

    def engage(self) -> None:
        self.run(100)
        self.do(self.operator.prepare_stream(self.here_ns))
        self.run(500)
        assert self.state() == "streaming"
        assert self.operator.report(self.here_ns).engaged

    def press(self) -> int:
        """Press the button; when."""
        self.do(self.operator.emergency_stop("the button", self.here_ns))
        return self.now_ns

    def told(self, kind: type) -> list[Any]:
        return [notice for notice in self.notices if isinstance(notice, kind)]

    def state(self) -> str:
        """Where the follower's engage machine is."""
        return self.follower.state.value

    def confirmed(self) -> tuple[int, int] | None:
        """The e-stop that the follower acknowledges."""
        return self.follower.arm.acknowledged_estop

    def check(self) -> None:
        """What holds in every run."""
        assert max(self.sizes) <= 1232
        assert self.told(ProgramFault) == []


def _command(request: ControlRequest) -> ControlCommand:
    match request:
        case RequestPrepare():
            return PrepareStream(operator="ann")
        case RequestIdle():
            return EnterIdle(operator="ann")
        case RequestReset(reason=reason):
            return ResetEmergency(operator="ann", reason=reason)
        case RequestEstop(session_id=session_id, episode_id=episode_id):
            return EmergencyStop(source="control service", session_id=session_id, episode_id=episode_id)


@pytest.fixture
def make_loop() -> type[Loop]:
    return Loop
