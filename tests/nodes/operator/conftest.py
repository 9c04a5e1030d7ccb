"""A whole follower in this process, behind real UDP sockets; its control service is `DeskLink`.

`Bench` turns it by hand in virtual time; `Follower.run` in a thread, for the calls that wait.
"""

import select
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from steadyhand.core.controller.constants import PRESETS
from steadyhand.core.controller.model import ControllerModel
from steadyhand.core.follower import FollowerCore, FollowerSettings
from steadyhand.core.follower.inputs import (
    ControlCommand,
    EmergencyStop,
    EnterIdle,
    PrepareStream,
    ResetEmergency,
)
from steadyhand.core.follower.outputs import Stopped
from steadyhand.core.operator import OperatorCore, OperatorSettings
from steadyhand.core.operator.inputs import ControlReply
from steadyhand.core.operator.outputs import (
    ControlRequest,
    RequestEstop,
    RequestIdle,
    RequestPrepare,
    RequestReset,
    StreamedAction,
)
from steadyhand.core.safety.latch import StopCause
from steadyhand.edge.clock import SYSTEM_CLOCK, ManualClock
from steadyhand.edge.robot_yaml import apply_overrides, load_robot
from steadyhand.edge.robots.simulated.data_port import SimulatedDataPort
from steadyhand.edge.robots.simulated.robot import SimulatedRobot
from steadyhand.ground.arms import FR3
from steadyhand.ground.builtin_motions import HOME_DEG
from steadyhand.ground.config import RobotConfig
from steadyhand.ground.setpoint import Setpoint
from steadyhand.nodes.follower.carrier import Carrier
from steadyhand.nodes.operator.addresses import OperatorAddresses
from steadyhand.nodes.operator.control_link import (
    ControlPath,
    FollowerTold,
    SessionAsk,
    SessionLost,
    SessionNotOpened,
    SessionOpened,
    Sink,
)
from steadyhand.nodes.operator.loop import OperatorLoop
from steadyhand.nodes.operator.sockets import OperatorSockets
from steadyhand.nodes.operator.view import Led, OperatorView
from steadyhand.wire.sealing import Sealer
from steadyhand.wire.telemetry_frame import encode_telemetry, fit_state, telemetry_room_bytes

MS = 1_000_000
PERIOD_NS = 10 * MS
WALL_S = 1_700_000_000.0
ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"


def robot_config(**overrides: str) -> RobotConfig:
    """The FR3's file with a short buffer, so that tests are short."""
    config = load_robot(ROBOTS / "fairino_fr3_remote_node.yaml")
    settings = {"communication.playout_buffer_ms": "60"} | {
        name.replace("__", "."): text for name, text in overrides.items()
    }
    return apply_overrides(config, settings)


class Follower:
    """One follower on a UDP port; control requests wait until it is turned."""

    def __init__(self, config: RobotConfig, now_ns: int) -> None:
        self.config = config
        self.core = FollowerCore(FollowerSettings.from_config(config))
        model = ControllerModel(PRESETS["fr3"], Random(1), joint_limits=FR3.limits, joints_deg=HOME_DEG)
        model.enable(now_ns - 5_000 * MS)
        self.model = model
        self.robot = SimulatedRobot(model)
        self.port = SimulatedDataPort(self.robot, period_ns=PERIOD_NS)
        self.carrier = Carrier(self.core, self.port)
        self.port.configure(now_ns)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.setblocking(False)
        self.deaf = False
        """No datagram gets in."""
        self.mute = False
        """No telemetry gets out."""
        self.stops: list[tuple[int, StopCause]] = []
        self.told: list[Any] = []
        self.sessions = 0
        self.inbox: deque[Callable[[int], None]] = deque()
        self._watchers: list[Callable[[FollowerTold], None]] = []
        self._telemetry_to: tuple[str, int] | None = None
        self._sealer: Sealer | None = None
        self._tick_ns = self._report_ns = now_ns
        self._seq = 0
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def udp_port(self) -> int:
        return int(self.socket.getsockname()[1])

    @property
    def where(self) -> str:
        return self.core.state.value

    # ---- turning

    def turn(self, now_ns: int) -> None:
        """What came in over control, then datagrams, then the tick, then telemetry."""
        while self.inbox:
            self.inbox.popleft()(now_ns)
        self._read(now_ns)
        self.carrier.poll(now_ns)
        while self._tick_ns <= now_ns:
            self._tick_ns = self.carrier.tick(now_ns).next_tick_ns
        self._note_events()
        while self._report_ns <= now_ns:
            self._report_ns += PERIOD_NS
            self._publish(now_ns)

    def _read(self, now_ns: int) -> None:
        while True:
            try:
                datagram = self.socket.recv(2048)
            except BlockingIOError:
                return
            if not self.deaf:
                self.carrier.carry(self.core.receive(datagram, now_ns, WALL_S), now_ns)

    def _note_events(self) -> None:
        for event in self.core.take_events():
            self.told.append(event)
            if isinstance(event, Stopped):
                self.stops.append((event.at_ns, event.cause))
            fields = msgspec.to_builtins(event)
            kind, at_ns = fields.pop("type", type(event).__name__), fields.pop("at_ns", 0)
            for watcher in self._watchers:
                watcher(FollowerTold(attempt=0, kind=kind, fields=fields, at_ns=at_ns))

    def _publish(self, now_ns: int) -> None:
        state = self.core.report(now_ns, WALL_S)
        sealed = self.config.remote_node.auth == "sealed"
        name = self.config.robot.id
        payload = fit_state(state, room_bytes=telemetry_room_bytes(name, sealed=sealed))
        if self._telemetry_to is None or (sealed and self._sealer is None):
            return
        frame = encode_telemetry(payload, robot_id=name, seq=self._seq, sealer=self._sealer)
        self._seq += 1
        if not self.mute:
            self.socket.sendto(frame, self._telemetry_to)

    # ---- in a thread

    def run(self) -> None:
        def turn_until_ended() -> None:
            while not self._ended.is_set():
                wait_s = max(0.0, min(self._tick_ns, self._report_ns) - SYSTEM_CLOCK.now_ns()) / 1e9
                select.select((self.socket,), (), (), min(wait_s, 0.002))
                self.turn(SYSTEM_CLOCK.now_ns())

        self._thread = threading.Thread(target=turn_until_ended, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join(5.0)
        self.socket.close()

    # ---- control

    def open_session(self, ask: SessionAsk, now_ns: int) -> SessionOpened | SessionNotOpened:
        self.sessions += 1
        session_id = 1_000 + self.sessions
        command_key, telemetry_key = bytes([self.sessions]) * 32, bytes([100 + self.sessions]) * 32
        reply = self.core.open_session(
            session_id=session_id,
            command_key=command_key,
            operator=ask.operator,
            now_ns=now_ns,
            take_over=ask.take_over,
        )
        if reply.outcome != "done":
            return SessionNotOpened(attempt=ask.attempt, refused=True, reason=reply.reason)
        self._telemetry_to = (ask.telemetry_host or "127.0.0.1", ask.telemetry_port)
        if self.config.remote_node.auth == "sealed":
            self._sealer = Sealer(session_id=session_id, key=telemetry_key)
        return SessionOpened(
            attempt=ask.attempt, session_id=session_id, command_key=command_key, telemetry_key=telemetry_key
        )

    def control(self, command: ControlCommand, now_ns: int) -> tuple[str, str]:
        reply, commands = self.core.control(command, now_ns)
        self.carrier.carry(commands, now_ns)
        return reply.outcome, reply.reason

    def press_button(self) -> None:
        self.inbox.append(lambda now_ns: self.robot.at(now_ns).press_estop(now_ns))

    def wait(self, done: Callable[[], Any], within_s: float = 10.0) -> None:
        """Until it is so, as its thread makes it so."""
        look, ends_ns = threading.Event(), SYSTEM_CLOCK.now_ns() + round(within_s * 1e9)
        while not done():
            assert SYSTEM_CLOCK.now_ns() < ends_ns, (self.where, self.told)
            look.wait(0.002)

    def watch(self, watcher: Callable[[FollowerTold], None]) -> None:
        self._watchers.append(watcher)


class DeskLink:
    """The operator's end of the control service, without a network; `cut` makes it a black hole."""

    def __init__(self, follower: Follower) -> None:
        self.follower = follower
        self.cut = False
        self.asks: list[SessionAsk] = []
        self.requests: list[ControlRequest] = []
        self.closed_session = self.closed = False
        self._sink: Sink = lambda heard: None

    def start(self, sink: Sink) -> None:
        self._sink = sink

    def open_session(self, ask: SessionAsk) -> None:
        self.asks.append(ask)
        if self.cut:
            self._sink(SessionNotOpened(attempt=ask.attempt, refused=False, reason="nobody answers"))
            return
        self.follower.inbox.append(lambda now_ns: self._open(ask, now_ns))

    def _open(self, ask: SessionAsk, now_ns: int) -> None:
        answer = self.follower.open_session(ask, now_ns)
        self._sink(answer)
        if isinstance(answer, SessionOpened):
            self.follower.watch(self._sink)

    def request(self, request: ControlRequest) -> None:
        self.requests.append(request)
        if self.cut:
            self._sink(ControlReply(request_id=request.request_id, outcome="failed", reason="nobody answers"))
            return
        self.follower.inbox.append(lambda now_ns: self._carry_out(request, now_ns))

    def _carry_out(self, request: ControlRequest, now_ns: int) -> None:
        outcome, reason = self.follower.control(_command(request, self.asks[-1].operator), now_ns)
        self._sink(ControlReply(request_id=request.request_id, outcome=outcome, reason=reason))  # type: ignore[arg-type]

    def send_action(self, action: StreamedAction) -> None:
        session_id = 1_000 + self.follower.sessions
        if not self.cut:
            self.follower.inbox.append(lambda now_ns: self._act(action, session_id, now_ns))

    def _act(self, action: StreamedAction, session_id: int, now_ns: int) -> None:
        core = self.follower.core
        self.follower.carrier.carry(core.receive_action(action.payload, session_id, now_ns, WALL_S), now_ns)

    def close_session(self) -> None:
        self.closed_session = True
        self.follower.inbox.append(lambda _: self.follower.core.close_session(self.asks[-1].operator))

    def close(self) -> None:
        self.closed = True

    def lose_session(self) -> None:
        """The follower was restarted, say."""
        self._sink(SessionLost(attempt=self.asks[-1].attempt, reason="restarted"))

    def path(self, *, up: bool) -> None:
        self._sink(ControlPath(attempt=self.asks[-1].attempt, up=up, reason="broken"))


def _command(request: ControlRequest, operator: str) -> ControlCommand:
    match request:
        case RequestPrepare():
            return PrepareStream(operator=operator)
        case RequestIdle():
            return EnterIdle(operator=operator)
        case RequestReset(reason=reason):
            return ResetEmergency(operator=operator, reason=reason)
        case RequestEstop(session_id=session_id, episode_id=episode_id):
            return EmergencyStop(source="control service", session_id=session_id, episode_id=episode_id)


def addresses_to(follower: Follower) -> OperatorAddresses:
    return OperatorAddresses(actions=("127.0.0.1", follower.udp_port), control=("127.0.0.1", 1))


class Bench:
    """The loop and a follower in virtual time, a millisecond a step; sockets are real, and instant."""

    def __init__(self, follower: Follower | None = None, operator: str = "ann", **overrides: str) -> None:
        self.config = robot_config(**overrides)
        self.clock = ManualClock(10_000 * MS)
        self.follower = follower or Follower(self.config, self.now_ns)
        self.link = DeskLink(self.follower)
        core = OperatorCore(OperatorSettings.from_config(self.config), first_episode_id=41)
        self.sockets = OperatorSockets(addresses_to(self.follower))
        ask = SessionAsk(
            attempt=0,
            robot_id=self.config.robot.id,
            operator=operator,
            config_hash="",
            take_over=False,
            telemetry_host="",
            telemetry_port=self.sockets.telemetry_port,
        )
        self.loop = OperatorLoop(core, self.sockets, self.link, ask, wall_s=lambda: WALL_S, clock=self.clock)
        self.kinds: list[str] = []
        self.texts: list[str] = []
        self.leading = False
        self.verdicts: list[str] = []

    @property
    def now_ns(self) -> int:
        return self.clock.now_ns()

    @property
    def view(self) -> OperatorView:
        return self.loop.view(self.now_ns)

    def run(self, ms: int) -> None:
        for _ in range(ms):
            self.clock.advance(MS)
            if self.leading and self.now_ns % PERIOD_NS == 0:
                self.verdicts.append(self.lead().verdict.value)
            self.loop.turn()
            self.follower.turn(self.now_ns)
            for event in self.loop.take_events():
                self.kinds.append(event.kind)
                self.texts.append(event.text)

    def until(self, done: Callable[[], bool], within_ms: int = 5_000) -> int:
        """Run until it is so; how many milliseconds that took."""
        for ms in range(within_ms):
            if done():
                return ms
            self.run(1)
        raise AssertionError((self.view, self.texts))

    def lead(self, joints_deg: tuple[float, ...] = HOME_DEG) -> Led:
        now_ns = self.now_ns
        setpoint = Setpoint(joints_deg=joints_deg, timestamp_s=now_ns / 1e9, robot_id=self.config.robot.id)
        return self.loop.lead(setpoint, now_ns, now_ns)

    def engage(self) -> None:
        self.until(lambda: self.view.open and self.view.measured)
        self.loop.prepare(self.now_ns)
        self.until(lambda: self.view.streaming)
        self.leading = True
        self.run(300)

    def close(self) -> None:
        self.loop.close()
        self.follower.close()


@pytest.fixture
def bench() -> Iterator[Bench]:
    one = Bench()
    yield one
    one.close()


@pytest.fixture
def make_bench() -> Iterator[Callable[..., Bench]]:
    made: list[Bench] = []

    def make(**arguments: Any) -> Bench:
        made.append(Bench(**arguments))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def make_desk_follower() -> Callable[..., tuple[Follower, Callable[[], DeskLink], OperatorAddresses]]:
    """A follower that its own thread will turn, links to it, and its addresses; see `Follower.run`."""

    def make(**overrides: str) -> tuple[Follower, Callable[[], DeskLink], OperatorAddresses]:
        follower = Follower(robot_config(**overrides), SYSTEM_CLOCK.now_ns())
        return follower, lambda: DeskLink(follower), addresses_to(follower)

    return make
