"""What was recorded of a run over sockets, and its translation into the lanes that `simulate` is judged by.

Three witnesses: the follower's ring says what reached the wire and when, the proxy says what the
network did to each datagram, the operator's end says what it led. All three read one clock, the
monotonic one of this host; times in a lane count from the first sending.
"""

from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import Final

import msgspec

from steadyhand.core.follower.outputs import FrameKind, Released, Stopped
from steadyhand.core.safety.latch import EngageState
from steadyhand.edge.impairment.memory import Packet
from steadyhand.ground.motion import JointsDeg
from steadyhand.ground.seq import SEQ_MASK
from steadyhand.ground.stamps import s_from_ns
from steadyhand.nodes.follower.records import TickRecord
from steadyhand.simulation.alternatives import Flight
from steadyhand.simulation.lanes import Lane, Stop, Tick
from steadyhand.simulation.sender import Sent

STREAMING: Final = EngageState.STREAMING.value


class Led(msgspec.Struct, frozen=True, gc=False):
    """One setpoint that left the operator's end.

    Attributes:
        seq: its wire number.
        at_ns: just before it was handed to the socket.
        joints_deg: the pose in it.
        copies: previous setpoints that rode along.
    """

    seq: int
    at_ns: int
    joints_deg: JointsDeg
    copies: int = 0


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """One run, recorded.

    Attributes:
        period_ns: nominal period.
        records: every tick of the follower that was read, oldest first.
        records_missed: ticks the recorder was too late for.
        led: setpoints that left the operator's end, oldest first.
        packets: what the proxy did to the action datagrams, oldest first, a doubled one's copies in a row.
        first_seq: the number of the first datagram that came to the proxy.
        packets_missed: copies the proxy had forgotten before they were asked for.
        begin_ns: the first sending; the figures describe the run from here …
        end_ns: … to here. What was measured afterwards (e-stops) is not in them.
        killed_ns: from the script's kill of the link to the first release after it; None without one.
    """

    period_ns: int
    records: Sequence[TickRecord]
    records_missed: int = 0
    led: Sequence[Led]
    packets: Sequence[Packet]
    first_seq: int = 0
    packets_missed: int = 0
    begin_ns: int
    end_ns: int
    killed_ns: tuple[int, int] | None = None

    def within(self) -> list[TickRecord]:
        """The ticks that the figures describe."""
        return [record for record in self.records if self.begin_ns <= record.at_ns < self.end_ns]


def flights_of(course: Course) -> list[Flight]:
    """Each datagram of the run with its setpoint and its arrivals.

    The proxy sees datagrams and no setpoints; but the operator's end numbers its datagrams as it sends
    them, over loopback, where none is lost: the n-th to come has the n-th number. E-stops have a number
    and no setpoint, and are no flights.
    """
    led_of = {led.seq: led for led in course.led}
    flights: list[Flight] = []
    for number, (came_ns, copies) in enumerate(groupby(course.packets, key=lambda packet: packet.sent_ns)):
        led = led_of.get((course.first_seq + number) & SEQ_MASK)
        if led is None or not course.begin_ns <= led.at_ns < course.end_ns:
            continue
        arrivals_ns = [copy.arrival_ns for copy in copies if copy.arrival_ns is not None]
        sent_ns = came_ns - course.begin_ns
        sent = Sent(len(flights), 0, led.seq, sent_ns, s_from_ns(came_ns), led.joints_deg)
        flights.append(Flight(sent, tuple(arrival_ns - course.begin_ns for arrival_ns in arrivals_ns)))
    return flights


def lane_of(course: Course) -> Lane:
    """The follower's ticks as a lane: what each put on the wire, and how old it was.

    The poses are those written to the controller, behind the safety envelope. Nothing was playing
    before the first release of a stream, nor while the arm was stopped or was being engaged again.
    """
    lane = Lane("buffer")
    led_of = {led.seq: led for led in course.led}
    live = ever_live = False
    for record in course.within():
        released = record.released
        live = record.engage == STREAMING and (live or released is not None)
        ever_live = ever_live or live
        age_ns = wait_ns = -1
        if released is not None and released.kind is FrameKind.FRESH:
            age_ns = _age_ns(released, led_of.get(released.seq))
            wait_ns = released.released_ns - released.arrived_ns
        lane.note(
            record.at_ns - course.begin_ns,
            _kind(record, live=live, ever_live=ever_live),
            None if record.sent is None else record.sent.joints_deg,
            age_ns=age_ns,
            wait_ns=wait_ns,
            depth=record.depth,
            target=record.target_depth,
        )
    lane.stops = stops_of(course)
    counters = counters_of(course)
    lane.lost_at_release = counters.get("lost_at_release", 0)
    lane.overflow_dropped = counters.get("overflow_dropped", 0)
    lane.aged_dropped = counters.get("aged_dropped", 0)
    lane.episodes = counters.get("underrun_episodes", 0)
    return lane


def _kind(record: TickRecord, *, live: bool, ever_live: bool) -> Tick:
    if record.released is not None:
        return Tick.REAL if record.released.kind is FrameKind.FRESH else Tick.SYNTHETIC
    if live:
        return Tick.HELD
    return Tick.STOPPED if ever_live else Tick.WAITING


def _age_ns(released: Released, led: Led | None) -> int:
    """Release minus sending; −1 where nobody led that value under that number (R7: none is altered)."""
    if led is None or led.joints_deg != released.target_deg:
        return -1
    return released.released_ns - led.at_ns


def stopped_in(record: TickRecord, before: TickRecord | None) -> tuple[Stopped, ...]:
    """The stops that a tick tells of; a data plane that came up latched in another's place is one."""
    told = tuple(event for event in record.events if isinstance(event, Stopped))
    came_up = before is not None and before.pid != record.pid and record.stopped_by is not None
    if told or not came_up or record.stopped_by is None:
        return told
    return (Stopped(at_ns=record.at_ns, cause=record.stopped_by),)


def stops_of(course: Course) -> list[Stop]:
    """Each stop of the run; `false` is judged later, from the packets."""
    records = course.within()
    events = [
        event
        for before, record in zip([None, *records], records, strict=False)
        for event in stopped_in(record, before)
    ]
    return [
        Stop(
            s_from_ns(event.at_ns - course.begin_ns),
            event.cause.name or event.cause.kind.value,
            event.cause.detail,
            False,
        )
        for event in events
    ]


def counters_of(course: Course) -> dict[str, int]:
    """The buffer's account over the run: the newest of each data plane process, added up."""
    newest: dict[int, dict[str, int]] = {}
    for record in course.within():
        if record.counters:
            newest[record.pid] = record.counters
    total: dict[str, int] = {}
    for counters in newest.values():
        for name, count in counters.items():
            total[name] = total.get(name, 0) + count
    return total


def killed_span(
    records: Sequence[TickRecord], *, kill_ns: int, revive_ns: int, end_ns: int
) -> tuple[int, int]:
    """From the script's kill to the first release after the stop it made.

    To the run's end where the arm never played again; to the revival where nothing was stopped.
    """
    stopped_ns = next(
        (
            event.at_ns
            for record in records
            for event in record.events
            if isinstance(event, Stopped) and kill_ns <= event.at_ns < end_ns
        ),
        None,
    )
    if stopped_ns is None:
        return kill_ns, revive_ns
    again = (record.at_ns for record in records if record.released is not None and record.at_ns > stopped_ns)
    return kill_ns, min(next(again, end_ns), end_ns)


def lost_periods(earlier: TickRecord, later: TickRecord, period_ns: int) -> int:
    """Periods between two successive records in which no tick ran, or none that was read."""
    return max(0, round((later.due_ns - earlier.due_ns) / period_ns) - 1)


def lateness_ns(records: Sequence[TickRecord]) -> list[int]:
    """How late each tick ran; what ran early counts as on time."""
    return [max(0, record.at_ns - record.due_ns) for record in records]


def one_release(course: Course) -> tuple[int, int]:
    """(periods with exactly one release, periods) from the first release to the end.

    A period is a slot of the follower's grid; one whose tick was lost, or whose record was missed, has
    no release. Left out is the script's doing: from its kill of the link to the first release after it.
    """
    records = course.within()
    first = next((place for place, record in enumerate(records) if record.released is not None), None)
    if first is None:
        return 0, 0
    judged = [record for record in records[first:] if not _by_script(course, record)]
    released = len([record for record in judged if record.released is not None])
    lost = [
        lost_periods(earlier, later, course.period_ns)
        for earlier, later in pairwise(records[first:])
        if not (_by_script(course, earlier) or _by_script(course, later))
    ]
    return released, len(judged) + sum(lost)


def _by_script(course: Course, record: TickRecord) -> bool:
    return course.killed_ns is not None and course.killed_ns[0] <= record.at_ns < course.killed_ns[1]
