"""The impairment proxy: sockets, links, control port, and the one loop that turns them.

One `select` waits for whatever comes first: a datagram, a connection, a command, or the time at
which the next thing is due (its time-out has microseconds; epoll's rounds to milliseconds). It
never spins: only the data plane does.
"""

import select
import socket
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from typing import Any, Final, assert_never

import msgspec

from steadyhand.core.link import PROFILES, LinkProfile
from steadyhand.edge.clock import SYSTEM_CLOCK
from steadyhand.edge.impairment.addresses import Forward
from steadyhand.edge.impairment.admin import AdminPort
from steadyhand.edge.impairment.commands import (
    Action,
    Begin,
    Kill,
    Play,
    ReadPackets,
    Reset,
    Revive,
    SetLink,
    Status,
    Step,
    parse_command,
)
from steadyhand.edge.impairment.lane import Direction
from steadyhand.edge.impairment.network import Network
from steadyhand.edge.impairment.scenario import ScenarioPlayer
from steadyhand.edge.impairment.status import ProxyStatus
from steadyhand.edge.impairment.tcp_relay import TcpRelay
from steadyhand.edge.impairment.udp_flow import Route, UdpFlow
from steadyhand.edge.lateness import LatenessHistogram
from steadyhand.ground.stamps import NS_PER_S, s_from_ns

PACKETS_PER_ANSWER: Final = 500


class ProxyConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What the proxy relays and what it obeys at first.

    Attributes:
        udp: actions, operator to follower; answers travel back.
        telemetry: follower to operator; answers travel back.
        control: the control service, TCP.
        link: towards the follower.
        link_back: towards the operator; `link` where not given.
        links: further links the control port knows by name.
        seed: of all dice.
        admin_port: the control port, 0 for any that is free; None for none.
    """

    udp: Forward | None = None
    telemetry: Forward | None = None
    control: Forward | None = None
    link: LinkProfile = PROFILES["clean"]
    link_back: LinkProfile | None = None
    links: Mapping[str, LinkProfile] = msgspec.field(default_factory=dict)
    seed: int = 0
    admin_port: int | None = None

    @property
    def back(self) -> LinkProfile:
        """The link towards the operator."""
        return self.link if self.link_back is None else self.link_back

    @property
    def known_links(self) -> dict[str, LinkProfile]:
        """What a command may name beside the profiles: everything that was given at the start."""
        return {**self.links, self.link.name: self.link, self.back.name: self.back}


class ImpairmentProxy:
    """Opened by its making, turned by `run`, ended by `stop`, let go by `close`.

    Attributes:
        config: what it was made from.
        network: its lanes.
        flows: its flows of datagrams.
        relay: its control path.
        admin: its control port.
        scenario: what it plays.
    """

    def __init__(self, config: ProxyConfig, *, clock: Callable[[], int] = SYSTEM_CLOCK.now_ns) -> None:
        """Open every socket, or none.

        Raises:
            InputError: a port is taken, naming it and its option.
        """
        self.config = config
        self._clock = clock
        self._opened_ns = clock()
        links: dict[Direction, LinkProfile] = {"to_follower": config.link, "to_operator": config.back}
        self.network: Network[Route] = Network(links, seed=config.seed, now_ns=self._opened_ns)
        self.scenario = ScenarioPlayer()
        self._lateness = LatenessHistogram()
        self._stopping = False
        self._known_links = config.known_links
        with ExitStack() as opened:
            self._open(opened)
            self._opened = opened.pop_all()

    def _open(self, opened: ExitStack) -> None:
        """Open the sockets, each one's closing noted in `opened`."""
        config = self.config
        self._wake, self._woken = socket.socketpair()
        for each in (self._wake, self._woken):
            opened.callback(each.close)
            each.setblocking(False)
        self.flows: list[UdpFlow] = []
        if config.udp is not None:
            self.flows.append(UdpFlow("udp", config.udp, onward="to_follower", back="to_operator"))
            opened.callback(self.flows[-1].close)
        if config.telemetry is not None:
            self.flows.append(
                UdpFlow("telemetry", config.telemetry, onward="to_operator", back="to_follower")
            )
            opened.callback(self.flows[-1].close)
        self.relay: TcpRelay | None = None
        if config.control is not None:
            self.relay = TcpRelay(config.control, self.network.lanes["control"])
            opened.callback(self.relay.close)
        self.admin: AdminPort | None = None
        if config.admin_port is not None:
            self.admin = AdminPort(config.admin_port, self.answer)
            opened.callback(self.admin.close)

    def run(self) -> None:
        """Turn until `stop`."""
        while not self._stopping:
            self._turn()

    def stop(self) -> None:
        """End `run` soon; may be called from another thread or a signal handler."""
        self._stopping = True
        with suppress(OSError):  # already closed, or already woken
            self._wake.send(b"!")

    def close(self) -> None:
        """Close every socket; control connections are reset."""
        self._opened.close()

    def answer(self, line: str) -> dict[str, Any]:
        """Carry out one line of the control port, and say what there is to say.

        Raises:
            InputError: the line cannot be used; nothing was done.
        """
        command = parse_command(line, self._known_links)
        match command:
            case Status():
                return {"status": self.status()}
            case ReadPackets(direction=direction, cursor=cursor):
                memory = self.network.schedule.memory[direction]
                return {"packets": memory.read(cursor, self._clock(), limit=PACKETS_PER_ANSWER)}
            case Play(steps=steps):
                self.play(steps)
            case SetLink() | Kill() | Revive() | Reset() | Begin():
                self.act(command)
            case _:
                assert_never(command)
        return {}

    def play(self, steps: tuple[Step, ...]) -> None:
        """Begin a scenario now."""
        self.scenario.begin(steps, self._clock())

    def act(self, action: Action) -> None:
        """Do something to the network now."""
        match action:
            case Reset():
                if self.relay is not None:
                    self.relay.reset()
            case Begin():
                self.network.begin(self._clock())
            case SetLink() | Kill() | Revive():
                self.network.apply(action, self._clock())
            case _:
                assert_never(action)

    def status(self) -> ProxyStatus:
        """How things stand."""
        relay = self.relay
        return ProxyStatus(
            seed=self.config.seed,
            uptime_s=s_from_ns(self._clock() - self._opened_ns),
            udp=self.network.udp_status(),
            control=self.network.control_status({} if relay is None else relay.counters),
            flows=tuple(flow.status() for flow in self.flows),
            relay=None if relay is None else relay.status(),
            lateness=self._lateness.summary(),
            steps_left=self.scenario.steps_left,
            played=tuple(self.scenario.played),
        )

    def _turn(self) -> None:
        """Wait once, then do what is due and what has come."""
        readers: dict[socket.socket, UdpFlow | TcpRelay | AdminPort | None] = {self._woken: None}
        writers: dict[socket.socket, TcpRelay | AdminPort] = {}
        for flow in self.flows:
            readers.update(dict.fromkeys(flow.sockets(), flow))
        for endpoint in (self.relay, self.admin):
            if endpoint is not None:
                readers.update(dict.fromkeys(endpoint.readers(), endpoint))
                writers.update(dict.fromkeys(endpoint.writers(), endpoint))
        readable, writable, _ = select.select(readers, writers, (), self._wait_s())
        self._deliver()
        for ready in writable:
            self._write(ready, writers[ready])
        for ready in readable:
            self._read(ready, readers[ready])
        self._deliver()

    def _wait_s(self) -> float | None:
        """How long nothing is due; None for as long as nothing comes."""
        dues_ns = [self.network.schedule.next_due_ns, self.scenario.next_due_ns]
        if self.relay is not None:
            dues_ns.append(self.relay.next_due_ns)
        due_ns = min((due_ns for due_ns in dues_ns if due_ns is not None), default=None)
        return None if due_ns is None else max(0, due_ns - self._clock()) / NS_PER_S

    def _read(self, ready: socket.socket, owner: UdpFlow | TcpRelay | AdminPort | None) -> None:
        """Let the socket's owner take in what has come."""
        match owner:
            case UdpFlow():
                owner.read(ready, self.network.schedule, self._clock)
                self._deliver()
            case TcpRelay():
                owner.read(ready, self._clock)
            case AdminPort():
                owner.read(ready)
            case None:
                ready.recv(64)
            case _:
                assert_never(owner)

    def _write(self, ready: socket.socket, owner: TcpRelay | AdminPort) -> None:
        """Let the socket's owner go on writing."""
        match owner:
            case TcpRelay():
                owner.write(ready, self._clock)
            case AdminPort():
                owner.write(ready)
            case _:
                assert_never(owner)

    def _deliver(self) -> None:
        """Do everything that is due: scenario first, so that what it kills is not read any more."""
        while (action := self.scenario.pop_due(self._clock())) is not None:
            self.act(action)
        schedule = self.network.schedule
        while (delivery := schedule.pop_due(self._clock())) is not None:
            sender, address = delivery.route
            try:
                sender.sendto(delivery.data, address)
            except OSError:  # no room, no route, or its sender's socket made room for another
                schedule.note_refused(delivery)
            self._lateness.add(self._clock() - delivery.due_ns)
        if self.relay is not None:
            self.relay.deliver(self._clock)
