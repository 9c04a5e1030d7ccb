"""The data plane: one thread, one loop, and nothing in it that waits for anybody (R12, R14).

A wake reads the action socket first, at most 32 datagrams, then the local socket, then the state
feed. A tick observes, decides, writes, and only then tells: heartbeat, record, log lines. Everything
that could block lives in another process. This file is the steps; `data_plane_process` is the
process around them.
"""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Callable
from typing import Final

import msgspec

from steadyhand.core.follower.inputs import EmergencyStop, EnterIdle
from steadyhand.core.follower.outputs import FollowerEvent, Moved, ProgramFault, StopMotion, TickOutput
from steadyhand.core.safety.latch import EngageState, StopCause
from steadyhand.edge.clock import MonotonicClock
from steadyhand.edge.pacer import SnapGrid
from steadyhand.edge.ring import RingWriter
from steadyhand.ground.errors import SteadyhandError
from steadyhand.nodes.follower import local_link
from steadyhand.nodes.follower.carrier import Carrier
from steadyhand.nodes.follower.local_link import Hello, StopWanted
from steadyhand.nodes.follower.neighbours import Neighbours, Noticed
from steadyhand.nodes.follower.records import TickRecord, encode_record
from steadyhand.nodes.follower.requests import Requests
from steadyhand.nodes.follower.telling import (
    LineWriter,
    event_line,
    ingress_totals,
    is_urgent,
    playout_totals,
)
from steadyhand.wire.telemetry_frame import fit_state, telemetry_room_bytes

DATAGRAMS_A_WAKE: Final = 32
"""architecture.md: a flood delays a tick by the reading of so many at most."""

LONGEST_DATAGRAM_BYTES: Final = 2048
"""No legal one is longer than 1232; one that is cut here is malformed either way."""

EVENTS_A_RECORD: Final = 24
"""More than that in one tick wait for the next record: a slot of the ring has a fixed size."""

TRACEBACK_CHARS: Final = 4000
"""Of a program fault in a record, its last ones; the log line has it whole."""


class Outside(msgspec.Struct, frozen=True, kw_only=True):
    """What a data plane is connected to.

    Attributes:
        action: the action socket, non-blocking.
        local: its end of the local socket.
        ring: for its records.
        neighbours: heartbeats.
        say: for its log lines.
        clock: monotonic.
        wall_s: the wall clock.
        pid: of this process.
    """

    action: socket.socket
    local: socket.socket
    ring: RingWriter
    neighbours: Neighbours
    say: LineWriter
    clock: MonotonicClock
    wall_s: Callable[[], float]
    pid: int


class DataPlane:
    """The steps of the loop, for one arm.

    Args:
        carrier: core and port; the port is configured.
        outside: sockets, ring, heartbeats, clocks.
        granted: what the machine granted, one line each, for `Hello`.

    Attributes:
        grid: when the next tick is due.
        ticks: how many there were.
        lost_slots: periods that passed without one.
        unsendable: states that no telemetry frame can carry.
        oversize: records that did not fit their slot.
    """

    def __init__(self, carrier: Carrier, outside: Outside, granted: tuple[str, ...] = ()) -> None:
        self.carrier = carrier
        self.core = carrier.core
        self.requests = Requests(carrier, outside.local, outside.neighbours)
        self.ticks = 0
        self.lost_slots = 0
        self.unsendable = 0
        self.oversize = 0
        self._outside = outside
        self._granted = granted
        self._came_up_with: StopCause | None = self.core.cause
        self._arrived = 0
        self._untold: deque[FollowerEvent] = deque()
        self._greeting_due = True
        settings = self.core.settings
        self.grid = SnapGrid(period_ns=settings.period_ns, first_ns=outside.clock.now_ns())
        self._room_bytes = telemetry_room_bytes(settings.robot_id, sealed=settings.sealed)
        self._base_target = 0 if settings.playout is None else settings.playout.base_depth
        self._streaming = False

    # ---- coming up

    def begin(self, now_ns: int) -> None:
        """After a death, end the stream that the dead one may have left open. The first beat says hello."""
        self.requests.born_ns = now_ns
        if self._came_up_with is not None:
            self.carrier.port.end_stream(now_ns)
            self.carrier.stop_requests.append(StopMotion(self._came_up_with.detail))
        self._beat(now_ns)
        self._ask_for_stops(now_ns)

    # ---- a wake

    def wake(self, now_ns: int) -> None:
        """Something can be read: datagrams first, then requests, then the state feed."""
        wall_s = self._outside.wall_s()
        self._read_datagrams(now_ns, wall_s)
        self.requests.serve(now_ns, wall_s)
        self.carrier.poll(now_ns)
        self._beat(now_ns)
        self._ask_for_stops(now_ns)

    def _read_datagrams(self, now_ns: int, wall_s: float) -> None:
        core, carry, receive = self.core, self.carrier.carry, self._outside.action.recv
        for _ in range(DATAGRAMS_A_WAKE):
            try:
                datagram = receive(LONGEST_DATAGRAM_BYTES)
            except OSError:
                return
            self._arrived += 1
            commands = core.receive(datagram, now_ns, wall_s)
            if commands:
                carry(commands, now_ns)

    # ---- a tick

    def tick(self, now_ns: int) -> None:
        """One period: observe, decide, write; then heartbeat, record and lines."""
        due_ns, period_ns = self.grid.due_ns, self.grid.period_ns
        # Here, since the core's own grid snaps before ours is asked.
        if now_ns - due_ns > period_ns:
            self.lost_slots += (now_ns - due_ns) // period_ns
        self.carrier.poll(now_ns)
        output = self.carrier.tick(now_ns)
        self.grid.schedule(output.next_tick_ns, now_ns)
        self.ticks += 1
        self._ask_for_stops(now_ns)
        self._beat(now_ns)
        events = self.core.take_events()
        self._untold.extend(events)
        self._publish(self._record(output, now_ns, due_ns))
        if events:
            self._tell(events, now_ns)

    def _record(self, output: TickOutput, now_ns: int, due_ns: int) -> TickRecord:
        core, carrier, wall_s = self.core, self.carrier, self._outside.wall_s()
        written, carrier.written = carrier.written, None
        measured, carrier.measured = carrier.measured, None
        arrived, self._arrived = self._arrived, 0
        state, buffer = core.state, core.stream.buffer
        return TickRecord(
            tick=self.ticks,
            pid=self._outside.pid,
            at_ns=now_ns,
            wall_s=wall_s,
            due_ns=due_ns,
            engage=state.value,
            operator=core.operator,
            stopped_by=core.cause,
            released=output.released,
            sent=None if written is None else written.frame,
            sent_ns=0 if written is None else written.returned_ns,
            write="" if written is None else written.outcome.value,
            measured=measured,
            depth=0 if buffer is None else buffer.depth,
            target_depth=core.stream.target_depth,
            held=state is EngageState.STREAMING and output.released is None,
            arrived=arrived,
            events=self._next_events() if self._untold else (),
            state_json=self._state_json(now_ns, wall_s),
            counters={} if buffer is None else msgspec.structs.asdict(buffer.stats),
        )

    def _next_events(self) -> tuple[FollowerEvent, ...]:
        untold = self._untold
        taken = [untold.popleft() for _ in range(min(len(untold), EVENTS_A_RECORD))]
        return tuple(_shortened(event) for event in taken)

    def _state_json(self, now_ns: int, wall_s: float) -> bytes:
        """The telemetry's state. One that no frame can carry is counted; the arm is none the worse."""
        try:
            return fit_state(self.core.report(now_ns, wall_s), room_bytes=self._room_bytes)
        except SteadyhandError as error:
            self.unsendable += 1
            self._outside.say.say_if_few(f"telemetry: {error}", now_ns)
            return b""

    def _publish(self, record: TickRecord) -> None:
        ring = self._outside.ring
        if ring.publish(encode_record(record)):
            return
        self.oversize += 1
        # A gap would hide the tick; without its words the record fits for certain.
        ring.publish(encode_record(msgspec.structs.replace(record, events=(), state_json=b"")))

    # ---- heartbeats

    def _beat(self, now_ns: int) -> None:
        noticed = self._outside.neighbours.beat(now_ns)
        if noticed.lost or noticed.away is not None:
            self._stop_for(noticed, now_ns)
        if noticed.new_control_plane:
            self._greeting_due = True
        if self._greeting_due:
            self._greet(now_ns)

    def _stop_for(self, noticed: Noticed, now_ns: int) -> None:
        """A dead neighbour stops the arm, engaged or not; our own absence only one that was engaged."""
        lost = noticed.lost
        if noticed.away is not None and self.core.arm.engaged:
            lost = (noticed.away, *lost)
        for loss in lost:
            if self.core.state is not EngageState.STOPPED:
                self.carrier.carry(self.core.control(loss, now_ns)[1], now_ns)

    def _greet(self, now_ns: int) -> None:
        """Tell the control plane who is here; again, until it was taken."""
        hello = Hello(
            at_ns=now_ns,
            pid=self._outside.pid,
            granted=self._granted,
            stopped_by=self._came_up_with,
            udp_port=self._outside.action.getsockname()[1],
        )
        self._greeting_due = not local_link.send(self._outside.local, hello)

    def _ask_for_stops(self, now_ns: int) -> None:
        """Hand the blocking half of a stop to the control plane; what it takes not is asked again."""
        wanted = self.carrier.stop_requests
        while wanted:
            stop = StopWanted(at_ns=now_ns, reason=wanted[0].reason)
            if not local_link.send(self._outside.local, stop):
                return
            del wanted[0]

    # ---- stopping and leaving

    def emergency_stop(self, source: str, now_ns: int) -> None:
        """Stop now; the way that needs no other process."""
        command = EmergencyStop(source=source)
        self.carrier.carry(self.core.control(command, now_ns)[1], now_ns)
        self._ask_for_stops(now_ns)

    def leave(self, now_ns: int) -> None:
        """Begin to end: nobody engages any more, and a stream brakes to rest."""
        self.requests.leaving = True
        if self.core.arm.engaged:
            self.carrier.carry(self.core.control(EnterIdle(operator="launcher"), now_ns)[1], now_ns)

    @property
    def at_rest(self) -> bool:
        """Whether nothing is sent any more."""
        return not self.core.arm.engaged

    # ---- telling

    def _tell(self, events: tuple[FollowerEvent, ...], now_ns: int) -> None:
        say = self._outside.say
        for event in events:
            line = event_line(event, self._base_target)
            if is_urgent(event):
                say.say(line)
            else:
                say.say_if_few(line, now_ns)
            if isinstance(event, Moved):
                self._tell_account(event)

    def _tell_account(self, moved: Moved) -> None:
        """The buffer's account, in one line whenever a stream has ended (document 000 §9)."""
        was, self._streaming = self._streaming, moved.state == EngageState.STREAMING
        buffer = self.core.stream.buffer
        if was and not self._streaming and buffer is not None:
            self._outside.say.say(playout_totals(buffer.stats))

    def totals(self) -> tuple[str, ...]:
        """What was counted, for the end: buffer, datagrams, writes, whatever went wrong."""
        core, buffer, writes = self.core, self.core.stream.buffer, self.core.arm.writes
        lines = [] if buffer is None else [playout_totals(buffer.stats)]
        lines.append(ingress_totals(core))
        lines.append(f"setpoints written: {writes.taken}, dropped {writes.dropped}")
        odd = {
            "requests too old": self.requests.too_old,
            "requests unreadable": self.requests.unreadable,
            "answers not taken": self.requests.unanswered,
            "absences": self._outside.neighbours.absences,
            "states without telemetry": self.unsendable,
            "records too long": self.oversize,
            "events dropped": core.arm.events_dropped,
            "log lines left out": self._outside.say.left_out,
        }
        told = [f"{name} {count}" for name, count in odd.items() if count]
        return (*lines, *([", ".join(told)] if told else []))


def _shortened(event: FollowerEvent) -> FollowerEvent:
    if isinstance(event, ProgramFault):
        return msgspec.structs.replace(event, traceback=event.traceback[-TRACEBACK_CHARS:])
    return event
