"""The control plane, put together: service, sessions, telemetry, events, the controller's helper.

One asyncio loop. Nothing in it can delay a tick: it hears of the data plane by the ring and by its
heartbeat, and speaks to it over a socket that never waits.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from functools import partial

import grpc
import msgspec
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from steadyhand.core.follower.inputs import Reply
from steadyhand.core.follower.outputs import Stopped
from steadyhand.edge.clock import SYSTEM_CLOCK, MonotonicClock
from steadyhand.edge.control_service import SERVICE
from steadyhand.edge.control_service.channel import SERVER_OPTIONS, tcp_target
from steadyhand.edge.heartbeat_board import HeartbeatBoard, HeartbeatLine
from steadyhand.edge.keys import Identity, MutualTls, Unauthenticated
from steadyhand.edge.ring_reader import RingReader
from steadyhand.edge.robots.contract import CallReport, ControlPort
from steadyhand.ground.config import RobotConfig
from steadyhand.ground.config_safety import SafetyPolicy
from steadyhand.ground.errors import InputError
from steadyhand.ground.stamps import NS_PER_S
from steadyhand.nodes.follower.call_gate import CallGate
from steadyhand.nodes.follower.control_requests import ControlRequests
from steadyhand.nodes.follower.data_plane_client import ANSWER_WITHIN_S, DataPlaneClient
from steadyhand.nodes.follower.data_plane_watch import LOOK_EVERY_NS, DataPlaneWatch
from steadyhand.nodes.follower.describing import Description
from steadyhand.nodes.follower.event_lanes import EventFan, from_follower, own_event
from steadyhand.nodes.follower.local_link import Hello, StopWanted
from steadyhand.nodes.follower.records import TickRecord
from steadyhand.nodes.follower.robot_helper import Preparer, Stopper
from steadyhand.nodes.follower.service import ControlService, Parts
from steadyhand.nodes.follower.session_opening import Begun, SessionDesk
from steadyhand.nodes.follower.sessions import LivingSession, Sessions
from steadyhand.nodes.follower.telemetry_publisher import TelemetryPublisher
from steadyhand.nodes.follower.view import DataPlaneView, RecordsReader, Start
from steadyhand.wire import control_pb2
from steadyhand.wire.sealing import Sealer

ARM_HEALTH = "steadyhand.arm"
"""Asked of the health service: whether the arm may be moved. The service's own name, and the empty
one, tell whether the follower works, which a stopped one does.
"""

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
GRACE_S = 0.2
HELPER_ENDS_WITHIN_S = 1.0
ONLY_OWNER = 0o177

Say = Callable[[str], None]


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What a control plane is put into: descriptors, memory, the controller, the clock.

    Attributes:
        local: this end of the socket to the data plane.
        open_ring: opens its records, given where to start.
        wake_fd: eventfd that it rings after each.
        line: this process's heartbeat.
        board: all heartbeats.
        prepare_port: the controller, for one thread.
        stop_port: the controller, for another.
        say: prints one line.
        clock: what time it is.
        answer_within_s: after that the data plane is taken to be silent.
    """

    local: socket.socket
    open_ring: Callable[[Start], RingReader]
    wake_fd: int
    line: HeartbeatLine
    board: HeartbeatBoard
    prepare_port: ControlPort
    stop_port: ControlPort
    say: Say
    clock: MonotonicClock = SYSTEM_CLOCK
    answer_within_s: float = ANSWER_WITHIN_S


class ControlPlane:
    """One follower's control plane.

    Args:
        config: the robot file.
        policy: which guards its type cannot be without.
        identity: what this side proves itself with.
        around: what it is put into.

    Raises:
        ConfigError: the safety block would run the arm half-protected.
    """

    def __init__(
        self, config: RobotConfig, policy: SafetyPolicy, identity: Identity, around: Surroundings
    ) -> None:
        remote = config.remote_node
        self.grpc_port = 0
        self.description = Description(config, policy)
        self.sessions = Sessions()
        self.gate = CallGate(self.sessions, sealed=remote.auth == "sealed", estop_open=remote.estop_open)
        self.events = EventFan()
        self.view = DataPlaneView()
        self._identity = identity
        self._around = around
        self._pid = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._udp: dict[socket.AddressFamily, socket.socket] = {}
        self._server: grpc.aio.Server | None = None
        self._health = health.aio.HealthServicer()  # type: ignore[attr-defined] # missing in the stubs
        self._health_told: dict[str, int] = {}
        self._preparer = Preparer(around.prepare_port, around.clock)
        self.stopper = Stopper(around.stop_port, self._stop_told_in_thread)
        self.data_plane = DataPlaneClient(
            around.local,
            on_stop_wanted=self._stop_wanted,
            on_hello=self._hello,
            clock=around.clock,
            answer_within_s=around.answer_within_s,
        )
        self.records = RecordsReader(around.open_ring, around.wake_fd, self._record)
        self.telemetry = TelemetryPublisher(
            config.robot.id,
            period_ns=config.communication.period_ns,
            first_ns=around.clock.now_ns(),
            send=self._send_datagram,
        )
        self.watch = DataPlaneWatch(
            around.line, around.board, on_lost=self._data_plane_lost, on_back=self._data_plane_back
        )
        self._requests = ControlRequests(self.data_plane, self._preparer, self.stopper, self.view)
        self._desk = SessionDesk(
            robot_id=config.robot.id,
            config_hash=self.description.config_hash,
            identity=identity,
            sessions=self.sessions,
            gate=self.gate,
            data_plane=self.data_plane,
            clock=around.clock,
            on_begun=self._begun,
        )

    # ---- life

    async def start(self, host: str, port: int, socket_path: str) -> None:
        """Begin: stopping first, the service last; the heart begins with `work`, when all is up.

        Args:
            host: IPv4 literal to listen on.
            port: of the service; 0 lets the kernel choose, see `grpc_port`.
            socket_path: of the unix socket for this user; "" for none.

        Raises:
            InputError: it cannot listen.
        """
        self._loop = asyncio.get_running_loop()
        self.stopper.start()
        self._preparer.start()
        self.data_plane.attach(self._loop)
        self.records.attach(self._loop)
        self._server = self._new_server()
        self._listen(self._server, host, port, socket_path)
        await self._tell_health()
        await self._server.start()

    async def work(self) -> None:
        """Beat, watch and publish until cancelled. An error in here ends the process: it is started anew."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._watching())
            tasks.create_task(self._publishing())

    async def close(self) -> None:
        """Hang up on everybody and give everything back."""
        if self._server is not None:
            await self._server.stop(GRACE_S)
        if self._loop is not None:
            self.records.detach(self._loop)
            self.data_plane.detach(self._loop)
        for udp in self._udp.values():
            udp.close()
        self._preparer.close(HELPER_ENDS_WITHIN_S)
        self.stopper.close(HELPER_ENDS_WITHIN_S)

    async def _watching(self) -> None:
        while True:
            self.watch.look(self._around.clock.now_ns())
            await self._tell_health()
            await asyncio.sleep(LOOK_EVERY_NS / NS_PER_S)

    async def _publishing(self) -> None:
        clock, telemetry = self._around.clock, self.telemetry
        while True:
            await asyncio.sleep(max(0, telemetry.grid.due_ns - clock.now_ns()) / NS_PER_S)
            now_ns = clock.now_ns()
            if now_ns >= telemetry.grid.due_ns:
                telemetry.slot(now_ns)

    # ---- listening

    def _new_server(self) -> grpc.aio.Server:
        parts = Parts(
            gate=self.gate,
            desk=self._desk,
            requests=self._requests,
            sessions=self.sessions,
            data_plane=self.data_plane,
            events=self.events,
            describe=self.describe,
            close_session=self._close_session,
        )
        server = grpc.aio.server(options=SERVER_OPTIONS)
        server.add_generic_rpc_handlers((ControlService(parts).handler(),))
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        reflection.enable_server_reflection((SERVICE, health.SERVICE_NAME, reflection.SERVICE_NAME), server)
        return server

    def _listen(self, server: grpc.aio.Server, host: str, port: int, socket_path: str) -> None:
        target, identity = tcp_target(host, port), self._identity
        try:
            if isinstance(identity, MutualTls):
                credentials = grpc.ssl_server_credentials(
                    [(identity.key, identity.certificate)], identity.authority, require_client_auth=True
                )
                self.grpc_port = server.add_secure_port(target, credentials)
            else:
                self.grpc_port = server.add_insecure_port(target)
        except RuntimeError:
            raise InputError(
                f"cannot listen on {target}", where="remote_node.grpc_port", hint="is another follower there?"
            ) from None
        if isinstance(identity, Unauthenticated):
            self._around.say(f"warning: auth none: whoever reaches {target} commands this arm (R11)")
        if socket_path:
            _listen_locally(server, socket_path)

    # ---- what is heard

    def _record(self, record: TickRecord) -> None:
        self._note_pid(record.pid)
        for event in record.events:
            if isinstance(event, Stopped):
                self._requests.note_change()
            self.description.take(event)
            self.events.tell(from_follower(event))
        self.view.take(record)
        if record.state_json:
            self.telemetry.note_state(record.state_json)

    def _hello(self, hello: Hello) -> None:
        self.description.hello = hello
        self._note_pid(hello.pid)

    def _note_pid(self, pid: int) -> None:
        """Another data plane knows no session: the one before it is over, and the operator opens anew."""
        if pid == self._pid:
            return
        known, self._pid = self._pid, pid
        if known:
            self._retire("the data plane was restarted")

    def _stop_wanted(self, wanted: StopWanted) -> None:
        self.stopper.stop(wanted.reason)

    def _data_plane_lost(self, how: str) -> None:
        self.stopper.stop(how)
        self._requests.note_change()
        self._around.say(f"{how}: StopMotion is called at the controller")
        self._tell("DataPlaneLost", reason=how)

    def _data_plane_back(self) -> None:
        self._tell("DataPlaneAlive")

    def _stop_told_in_thread(self, reason: str, report: CallReport) -> None:
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(partial(self._stop_told, reason, report))

    def _stop_told(self, reason: str, report: CallReport) -> None:
        self._around.say(f"StopMotion ({reason}): {report.outcome.value} {report.detail}".rstrip())
        self._tell(
            "StopMotionCalled",
            reason=reason,
            outcome=report.outcome.value,
            detail=report.detail,
            took_ms=round(report.took_ms, 3),
        )

    # ---- sessions

    def _begun(self, begun: Begun) -> None:
        self._requests.note_change()
        session = begun.session
        self._end_watchers(begun.retired, "another session began")
        if begun.telemetry is None:
            self.telemetry.close()
        else:
            keys = None if session.opened is None else session.opened.keys
            sealer = None
            if keys is not None:
                sealer = Sealer(session_id=session.session_id, key=keys.telemetry)
            self.telemetry.open(begun.telemetry, sealer)
        self._around.say(f"session of {session.operator} from {begun.telemetry or 'without telemetry'}")

    async def _close_session(self, session: LivingSession | None) -> Reply:
        reply = await self._desk.close(session)
        if session is not None and self.sessions.living is session:
            self._retire("its operator closed it")
        return reply

    def _retire(self, reason: str) -> None:
        retired = self.sessions.retire()
        self.telemetry.close()
        self._requests.note_change()
        if retired is not None:
            self._tell("SessionRetired", operator=retired.operator, reason=reason)
            self._around.say(f"session of {retired.operator} is over: {reason}")
        self._end_watchers(retired, f"the session is over: {reason}")

    def _end_watchers(self, retired: LivingSession | None, reason: str) -> None:
        if retired is not None:
            self.events.end_session(retired.session_id, reason)

    # ---- what is told

    def describe(self) -> control_pb2.DescribeReply:
        """What this follower is, and how it stands."""
        self.description.data_plane_life = self.watch.life
        return self.description.reply(
            view=self.view,
            sessions=self.sessions,
            gate=self.gate,
            telemetry=self.telemetry,
            records=self.records,
            now_ns=self._around.clock.now_ns(),
        )

    def _tell(self, kind: str, **fields: object) -> None:
        self.events.tell(own_event(kind, self._around.clock.now_ns(), fields))

    async def _tell_health(self) -> None:
        """The follower serves while its data plane beats; the arm while nothing is latched besides."""
        serving = SERVING if self.watch.alive else NOT_SERVING
        arm = serving if self.view.record is not None and not self.view.stopped else NOT_SERVING
        for name, status in (("", serving), (SERVICE, serving), (ARM_HEALTH, arm)):
            if self._health_told.get(name) != status:
                self._health_told[name] = status
                await self._health.set(name, status)

    def _send_datagram(self, frame: bytes, to: tuple[str, int]) -> bool:
        family = socket.AF_INET6 if ":" in to[0] else socket.AF_INET
        udp = self._udp.get(family)
        if udp is None:
            udp = self._udp[family] = socket.socket(family, socket.SOCK_DGRAM)
            udp.setblocking(False)
        try:
            udp.sendto(frame, to)
        except OSError:
            return False
        return True


def _listen_locally(server: grpc.aio.Server, socket_path: str) -> None:
    """A unix socket that only this user can open, in the place of a leftover."""
    before = os.umask(ONLY_OWNER)
    try:
        if os.path.exists(socket_path):
            os.unlink(socket_path)
        server.add_insecure_port(f"unix:{socket_path}")
    except (OSError, RuntimeError) as error:
        raise InputError(f"cannot listen: {error}", where=socket_path) from None
    finally:
        os.umask(before)
