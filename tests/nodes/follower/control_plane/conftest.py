"""A control plane with real gRPC on loopback, before a data plane that is only its core.

The core is the real one, so who is refused and why is what a follower would say; it ticks in a thread
and drives nothing. Waiting is for events with a deadline, never a sleep.
"""

import asyncio
import contextlib
import itertools
import os
import queue
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from steadyhand.core.follower import FollowerCore, FollowerSettings
from steadyhand.core.follower.inputs import ControlCommand, ProbeReady, Reply
from steadyhand.core.follower.outputs import SendJoints
from steadyhand.core.safety.latch import StopCause
from steadyhand.core.safety.policy import NO_POLICY
from steadyhand.core.safety.writes import WriteOutcome
from steadyhand.edge.clock import SYSTEM_CLOCK
from steadyhand.edge.control_service import ControlClient, OpenWish, agreed_hash
from steadyhand.edge.heartbeat_board import HeartbeatBoard, HeartbeatLine, board_bytes
from steadyhand.edge.keys import Identity, PresharedKey, Unauthenticated
from steadyhand.edge.ring import RingWriter, new_wake_fd
from steadyhand.edge.ring_reader import RingReader
from steadyhand.edge.robots.contract import CallOutcome, CallReport, Codes, ControlPort
from steadyhand.edge.segment import create_anonymous
from steadyhand.ground.config import CommunicationConfig, RemoteNodeConfig, RobotConfig, RobotIdentity
from steadyhand.ground.config_safety import JointSpeedConfig, SafetyConfig
from steadyhand.ground.measured_arm import MeasuredArm
from steadyhand.ground.stamps import NS_PER_MS
from steadyhand.nodes.follower import local_link
from steadyhand.nodes.follower.control_plane import make_loop
from steadyhand.nodes.follower.control_plane_node import ControlPlane, Surroundings
from steadyhand.nodes.follower.local_link import Answered, Ask, CloseSession, Hello, OpenSession, StreamAction
from steadyhand.nodes.follower.process_settings import BOARD_PERIODS_NS
from steadyhand.nodes.follower.records import TickRecord, encode_record, ring_shape
from steadyhand.wire.telemetry_frame import fit_state, telemetry_room_bytes

WITHIN_S: Final = 10.0
ROBOT: Final = "fr3"
KEY: Final = PresharedKey(bytes(range(32)))
PERIOD_NS: Final = 10 * NS_PER_MS
PATIENT_PERIODS_NS: Final = (200 * NS_PER_MS, *BOARD_PERIODS_NS[1:])
"""A machine that tests keep busy holds up a thread for longer than a data plane is allowed to be."""
POSE_DEG: Final = (0.0, -90.0, 90.0, -90.0, -90.0, 0.0)


def config_of(*, with_guards: bool = False, **remote: Any) -> RobotConfig:
    """A robot file."""
    guard = JointSpeedConfig(max_deg_s=150.0)
    return RobotConfig(
        safety=SafetyConfig(joint_speed=guard) if with_guards else None,
        robot=RobotIdentity(id=ROBOT, type="fairino", model="fr3"),
        communication=CommunicationConfig(publish_rate_hz=100.0, playout_buffer_ms=100.0),
        remote_node=RemoteNodeConfig(**remote),
    )


class FakePort(ControlPort):
    """A controller that answers as it is told, and remembers what it was asked.

    Attributes:
        outcomes: of the next calls of a name, oldest first; then DONE.
        calls: a queue of what was called.
        entered: a queue of what was begun.
        gate: a call of this name waits for its event.
    """

    def __init__(self) -> None:
        super().__init__()
        self.outcomes: dict[str, list[CallOutcome]] = {}
        self.calls: queue.Queue[str] = queue.Queue()
        self.entered: queue.Queue[str] = queue.Queue()
        self.gate: dict[str, threading.Event] = {}
        self.connected = threading.Event()

    def _answer(self, call: str) -> CallReport:
        self.entered.put(call)
        if call in self.gate:
            assert self.gate[call].wait(WITHIN_S)
        planned = self.outcomes.get(call)
        outcome = planned.pop(0) if planned else CallOutcome.DONE
        self.calls.put(call)
        return CallReport(call=call, outcome=outcome, detail=f"{call} is {outcome.value}")

    def _connect(self) -> CallReport:
        report = self._answer("connect")
        if report.done:
            self.connected.set()
        return report

    def _enable(self) -> CallReport:
        return self._answer("enable")

    def _disable(self) -> CallReport:
        return self._answer("disable")

    def _reset(self) -> CallReport:
        return self._answer("reset")

    def _stop(self) -> CallReport:
        return self._answer("stop")

    def _read_codes(self) -> Codes:
        return Codes(report=CallReport(call="codes", outcome=CallOutcome.DONE))

    def _disconnect(self) -> None:
        pass

    def wait_call(self, call: str) -> None:
        """Wait until that was called, passing over others."""
        ends_s = time.monotonic() + WITHIN_S
        while (got := self.calls.get(timeout=max(0.0, ends_s - time.monotonic()))) != call:
            del got


class FakeDataPlane:
    """The core behind the local socket, ticking in a thread; beats, records, answers.

    Attributes:
        heard: every request, in order.
        mute: answer nothing.
        beats: beat the heart.
    """

    def __init__(
        self, config: RobotConfig, end: socket.socket, writer: RingWriter, line: HeartbeatLine
    ) -> None:
        self.heard: queue.Queue[local_link.ToDataPlane] = queue.Queue()
        self.mute = False
        self.beats = True
        self.pid = 1000
        self.fault_code = 0
        self.own_pace = True
        self.lock = threading.Lock()
        self._config = config
        self._end = end
        self._writer = writer
        self._line = line
        self._ticks = itertools.count(1)
        self._closed = threading.Event()
        self.core = self._new_core(None)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _new_core(self, stopped_by: StopCause | None) -> FollowerCore:
        return FollowerCore(FollowerSettings.from_config(self._config), stopped_by=stopped_by)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._closed.set()
        self._thread.join(WITHIN_S)

    def restart(self, stopped_by: StopCause) -> None:
        """Another process in its place."""
        with self.lock:
            self.pid += 1
            self.core = self._new_core(stopped_by)
            self.say_hello(stopped_by)

    def say_hello(self, stopped_by: StopCause | None = None) -> None:
        hello = Hello(
            at_ns=SYSTEM_CLOCK.now_ns(),
            pid=self.pid,
            granted=("class: SCHED_FIFO",),
            stopped_by=stopped_by,
            udp_port=50063,
        )
        assert local_link.send(self._end, hello)

    def command(self, command: ControlCommand) -> Reply:
        """Something that happens to the core by itself."""
        with self.lock:
            return self.core.control(command, SYSTEM_CLOCK.now_ns())[0]

    def tell_stop(self, reason: str) -> None:
        assert local_link.send(self._end, local_link.StopWanted(at_ns=SYSTEM_CLOCK.now_ns(), reason=reason))

    def wait_heard(self, wanted: Callable[[local_link.ToDataPlane], bool]) -> local_link.ToDataPlane:
        ends_s = time.monotonic() + WITHIN_S
        while True:
            message = self.heard.get(timeout=max(0.0, ends_s - time.monotonic()))
            if wanted(message):
                return message

    def publish(self, **fields: Any) -> None:
        """One record."""
        core, now_ns = self.core, SYSTEM_CLOCK.now_ns()
        record = TickRecord(
            tick=next(self._ticks),
            pid=self.pid,
            at_ns=now_ns,
            wall_s=0.0,
            due_ns=now_ns,
            engage=core.state.value,
            operator=core.operator,
            stopped_by=core.cause,
            **fields,
        )
        assert self._writer.publish(encode_record(record))

    def _run(self) -> None:
        while not self._closed.is_set():
            select.select([self._end], [], [], 0.005)
            with self.lock:
                self._turn(SYSTEM_CLOCK.now_ns())

    def _turn(self, now_ns: int) -> None:
        if self.beats:
            self._line.beat(now_ns)
        while (request := local_link.receive_request(self._end)) is not None:
            self.heard.put(request)
            if not self.mute:
                self._answer(request, now_ns)
        if self.mute:
            return
        measured = MeasuredArm(arrival_ns=now_ns, joints_deg=POSE_DEG, speeds_deg_s=(0.0,) * 6)
        if self.fault_code:
            measured = MeasuredArm(arrival_ns=now_ns, joints_deg=POSE_DEG, fault_code=self.fault_code)
        self.core.observe(measured)
        for command in self.core.tick(now_ns).commands:
            if isinstance(command, SendJoints):
                self.core.note_write(WriteOutcome.TAKEN, now_ns)
        state = self.core.report(now_ns, 0.0)
        room = telemetry_room_bytes(ROBOT, sealed=True)
        if self.own_pace:
            self.publish(
                measured=measured,
                events=self.core.take_events(),
                state_json=fit_state(state, room_bytes=room),
            )

    def _answer(self, request: local_link.ToDataPlane, now_ns: int) -> None:
        match request:
            case Ask(request_id=request_id, command=command):
                reply = self.core.control(command, now_ns)[0]
                if type(command).__name__ == "PrepareStream" and reply.outcome == "done":
                    self.core.control(ProbeReady(), now_ns)
            case OpenSession(request_id=request_id):
                reply = self.core.open_session(
                    session_id=request.session_id,
                    command_key=request.command_key,
                    operator=request.operator,
                    take_over=request.take_over,
                    now_ns=now_ns,
                )
            case CloseSession(request_id=request_id, operator=operator):
                self.core.close_session(operator)
                reply = Reply(outcome="done")
            case StreamAction():
                return
        assert local_link.send(self._end, Answered(request_id=request_id, reply=reply))


class Rig:
    """A control plane in a thread of its own, its data plane, and clients for it.

    Attributes:
        said: the lines it printed.
    """

    def __init__(
        self, folder: Path, config: RobotConfig, identity: Identity, *, answer_within_s: float
    ) -> None:
        self.config = config
        self.identity = identity
        self.socket_path = str(folder / "f.sock")
        self.said: list[str] = []
        self.prepare_port, self.stop_port = FakePort(), FakePort()
        self._stack = contextlib.ExitStack()
        data_end, control_end = local_link.socket_pair()
        shape = ring_shape(PERIOD_NS)
        ring = create_anonymous("ring", shape.size_bytes)
        board = create_anonymous("board", board_bytes(len(BOARD_PERIODS_NS)))
        wake_fd = new_wake_fd()
        writer = RingWriter(ring, shape, wake_fds=(wake_fd,))
        self.data_plane = FakeDataPlane(config, data_end, writer, HeartbeatLine(board, 0, 1000))
        self.board = HeartbeatBoard(board, BOARD_PERIODS_NS)
        self._around = Surroundings(
            local=control_end,
            open_ring=lambda start: RingReader(ring, start=start),
            wake_fd=wake_fd,
            line=HeartbeatLine(board, 1, 1001),
            board=HeartbeatBoard(board, PATIENT_PERIODS_NS),
            answer_within_s=answer_within_s,
            prepare_port=self.prepare_port,
            stop_port=self.stop_port,
            say=self.said.append,
        )
        self._ready = threading.Event()
        self._loop = make_loop()
        self._stop = asyncio.Event()
        self._failed: list[BaseException] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._stack.callback(os.close, wake_fd)
        self._stack.callback(data_end.close)
        self._stack.callback(control_end.close)

    def start(self) -> None:
        self.data_plane.start()
        self._thread.start()
        assert self._ready.wait(WITHIN_S)
        assert not self._failed, self._failed

    def client(self, identity: Identity | None = None) -> ControlClient:
        made = ControlClient.tcp("127.0.0.1", self.plane.grpc_port, identity or self.identity)
        self._stack.callback(made.close)
        return made

    def local(self) -> ControlClient:
        made = ControlClient.unix(self.socket_path)
        self._stack.callback(made.close)
        return made

    def wish(self, operator: str = "ada", **changes: Any) -> OpenWish:
        fields: dict[str, Any] = {
            "robot_id": ROBOT,
            "operator": operator,
            "config_hash": agreed_hash(self.config),
        }
        return OpenWish(**(fields | changes))

    def on_loop(self, action: Callable[[], Any]) -> Any:
        """Run something in the control plane's own thread and answer what it answers."""

        async def run() -> Any:
            return action()

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(WITHIN_S)

    def close(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(WITHIN_S)
        self.data_plane.close()
        self._stack.close()
        assert not self._failed, self._failed

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._serve())
        except BaseException as error:
            self._failed.append(error)
            self._ready.set()

    async def _serve(self) -> None:
        self.plane = ControlPlane(self.config, NO_POLICY, self.identity, self._around)
        await self.plane.start("127.0.0.1", 0, self.socket_path)
        self._ready.set()
        work = asyncio.ensure_future(self.plane.work())
        stop = asyncio.ensure_future(self._stop.wait())
        await asyncio.wait((work, stop), return_when=asyncio.FIRST_COMPLETED)
        work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await work
        await self.plane.close()


MakeRig = Callable[..., Rig]


@pytest.fixture
def make_rig(tmp_path: Path) -> Iterator[MakeRig]:
    """Makes a control plane; options of `remote_node` by name."""
    rigs: list[Rig] = []

    def make(identity: Identity = KEY, *, answer_within_s: float = WITHIN_S, **remote: Any) -> Rig:
        auth = "none" if isinstance(identity, Unauthenticated) else "sealed"
        folder = tmp_path / str(len(rigs))
        folder.mkdir()
        rig = Rig(folder, config_of(**({"auth": auth} | remote)), identity, answer_within_s=answer_within_s)
        rigs.append(rig)
        rig.start()
        return rig

    yield make
    for rig in rigs:
        rig.close()


@pytest.fixture
def rig(make_rig: MakeRig) -> Rig:
    """A control plane with a pre-shared key."""
    return make_rig()


@pytest.fixture
def make_port() -> Callable[[], FakePort]:
    """Makes controllers."""
    return FakePort


@pytest.fixture
def impatient_rig(make_rig: MakeRig) -> Rig:
    """A control plane that takes its data plane for silent soon."""
    return make_rig(answer_within_s=0.5)
