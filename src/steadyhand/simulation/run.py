"""One scenario, played from the first datagram to the last tick.

Three kinds of event share one virtual clock: the sender sends, a datagram arrives, the receiver
ticks. At equal times arrivals come before the tick, as in the follower's loop, which reads its
socket first. The receiver's reports go back over the same model of a link, with dice of its own.
"""

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from random import Random
from typing import Final

import msgspec

from steadyhand.core.link import Link
from steadyhand.core.playout import PlayoutConfig
from steadyhand.core.redundancy import ReceiverReport, RedundancyController
from steadyhand.ground.config import MAX_REDUNDANCY
from steadyhand.ground.errors import InputError
from steadyhand.ground.stamps import NS_PER_MS, NS_PER_S
from steadyhand.simulation.alternatives import Flight, latest_wins, ordered
from steadyhand.simulation.hindsight import judged
from steadyhand.simulation.lanes import Lane
from steadyhand.simulation.passthrough import PassthroughReceiver
from steadyhand.simulation.receiver import BufferedReceiver
from steadyhand.simulation.scenario import Scenario
from steadyhand.simulation.script import killed
from steadyhand.simulation.sender import Sent, transmissions

FIRST_TICK_NS: Final = 3 * NS_PER_MS
"""The receiver's grid is not the sender's: its first tick falls somewhere into the period."""

REPORT_EVERY_NS: Final = 100 * NS_PER_MS
REPORT_BYTES: Final = 468
"""A report on its way back, headers included: it travels in a telemetry frame of some 400 bytes."""

FRAME_OVERHEAD_BYTES: Final = 28 + 40
"""IPv4 and UDP headers, and the frame's own header with its seal, per datagram."""

PROGRESS_EVERY: Final = 4096

Receiver = BufferedReceiver | PassthroughReceiver
Progress = Callable[[float], None]


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a report or a plot is drawn from.

    Attributes:
        scenario: what was asked.
        config: the buffer's settings, None for passthrough.
        buffer: our lane.
        alternatives: the other two lanes, on the same packets and the same nominal period.
        flights: every datagram with its arrivals.
        counters: the buffer's own account, empty in passthrough.
        reengagements: how often the operator engaged again after a stop.
        copies_sent: previous setpoints that rode along, all datagrams together.
    """

    scenario: Scenario
    config: PlayoutConfig | None
    buffer: Lane
    alternatives: tuple[Lane, ...]
    flights: list[Flight]
    counters: dict[str, int]
    reengagements: int
    copies_sent: int


def simulate(scenario: Scenario, progress: Progress | None = None, *, peers: bool = True) -> RunResult:
    """Play the scenario; pure, so the same scenario gives the same result.

    `progress` is called now and then with the share that is done. `peers=False` leaves the
    alternatives out, for sweeps that look at the buffer alone.

    Raises:
        InputError: the link delivered nothing to play and nothing was sent.
    """
    config = PlayoutConfig.from_communication(scenario.communication)
    receiver = _receiver(scenario, config)
    flights, copies_sent = _play(scenario, receiver, progress)
    if not flights:
        raise InputError("the run ends before the first setpoint is sent", where="--duration")
    lane = receiver.close()
    if config is not None:
        lane.stops = judged(lane.stops, flights, config)
    grid_ns = _nominal_grid(scenario, lane)
    return RunResult(
        scenario=scenario,
        config=config,
        buffer=lane,
        alternatives=(latest_wins(flights, grid_ns), ordered(flights, grid_ns)) if peers else (),
        flights=flights,
        counters=receiver.counters(),
        reengagements=receiver.reengagements,
        copies_sent=copies_sent,
    )


def _receiver(scenario: Scenario, config: PlayoutConfig | None) -> Receiver:
    if config is None:
        return PassthroughReceiver(scenario)
    return BufferedReceiver(scenario, config)


def _nominal_grid(scenario: Scenario, lane: Lane) -> list[int]:
    """The alternatives' ticks: same start and span as ours, at the untrimmed period."""
    return list(range(FIRST_TICK_NS, lane.tick_ns[-1] + 1, scenario.period_ns))


def _play(scenario: Scenario, receiver: Receiver, progress: Progress | None) -> tuple[list[Flight], int]:
    uplink, way_back = _Uplink(scenario), _WayBack(scenario)
    end_ns = scenario.duration_ns
    next_tick_ns = FIRST_TICK_NS
    next_report_ns = REPORT_EVERY_NS
    in_flight = uplink.in_flight
    for done, sent in enumerate(transmissions(scenario)):
        while next_tick_ns < sent.sent_ns:
            _deliver(receiver, uplink, next_tick_ns)
            next_tick_ns = receiver.tick(next_tick_ns)
        if sent.sent_ns >= next_report_ns:
            _deliver(receiver, uplink, sent.sent_ns)
            way_back.send(receiver.report(sent.sent_ns), sent.sent_ns)
            next_report_ns += REPORT_EVERY_NS
        for report in way_back.arrived(sent.sent_ns):
            uplink.hear_report(report, sent.sent_ns)
        uplink.send(sent)
        if progress is not None and done % PROGRESS_EVERY == 0:
            progress(sent.sent_ns / end_ns)
    while next_tick_ns < end_ns:
        _deliver(receiver, uplink, next_tick_ns)
        next_tick_ns = receiver.tick(next_tick_ns)
    if progress is not None:
        progress(1.0)
    in_flight.clear()
    return uplink.flights, uplink.copies_sent


def _deliver(receiver: Receiver, uplink: "_Uplink", now_ns: int) -> None:
    """Hand over all datagrams that have arrived by `now_ns`, each at its own time."""
    in_flight = uplink.in_flight
    while in_flight and in_flight[0][0] <= now_ns:
        arrival_ns, _, entries = heappop(in_flight)
        receiver.receive(entries, arrival_ns)


class _Uplink:
    """Sender's bundle policy and the link there."""

    def __init__(self, scenario: Scenario) -> None:
        self.flights: list[Flight] = []
        self.copies_sent = 0
        self.in_flight: list[tuple[int, int, list[Sent]]] = []
        self._link = Link(scenario.link, Random(scenario.seed), start_ns=0)
        self._killed = killed(scenario.script, scenario.duration_s)
        self._redundancy = RedundancyController(scenario.redundancy)
        self._state_bytes = scenario.state_bytes
        self._history: deque[Sent] = deque(maxlen=MAX_REDUNDANCY)
        self._sizes = [scenario.state_bytes] * MAX_REDUNDANCY
        self._incarnation = 0

    def send(self, sent: Sent) -> None:
        """Bundle one setpoint with as much history as R4 allows now, and send it."""
        if sent.incarnation != self._incarnation:
            self._incarnation = sent.incarnation
            self._history.clear()
        history = self._history
        copies = self._redundancy.copies(
            current_bytes=self._state_bytes,
            previous_bytes=self._sizes[: len(history)],
            now_ns=sent.sent_ns,
        )
        entries = [sent]
        if copies:
            entries += [history[-1 - back] for back in range(copies)]
        self.copies_sent += copies
        size_bytes = FRAME_OVERHEAD_BYTES + self._state_bytes * (1 + copies)
        dead = self._killed is not None and self._killed.holds(sent.sent_ns / NS_PER_S)
        arrivals_ns = () if dead else self._link.send(sent.sent_ns, size_bytes)
        self.flights.append(Flight(sent, arrivals_ns))
        for arrival_ns in arrivals_ns:
            heappush(self.in_flight, (arrival_ns, len(self.flights), entries))
        history.append(sent)

    def hear_report(self, report: ReceiverReport, now_ns: int) -> None:
        """The receiver's report has come back: the next bundle obeys it."""
        self._redundancy.on_report(report, now_ns)


class _WayBack:
    """The receiver's reports between the two: late, lost or out of order as the link has it."""

    def __init__(self, scenario: Scenario) -> None:
        self._link = Link(scenario.link, Random(f"{scenario.seed}, way back"), start_ns=0)
        self._killed = killed(scenario.script, scenario.duration_s)
        self._under_way: list[tuple[int, int, ReceiverReport]] = []
        self._sent = 0
        self._newest = 0

    def send(self, report: ReceiverReport, now_ns: int) -> None:
        """Send one report; the newest number is the newest report."""
        self._sent += 1
        if self._killed is not None and self._killed.holds(now_ns / NS_PER_S):
            return
        for arrival_ns in self._link.send(now_ns, REPORT_BYTES):
            heappush(self._under_way, (arrival_ns, self._sent, report))

    def arrived(self, now_ns: int) -> list[ReceiverReport]:
        """Reports that have come since the last call; one that a newer has overtaken is old news."""
        reports = []
        while self._under_way and self._under_way[0][0] <= now_ns:
            _, number, report = heappop(self._under_way)
            if number > self._newest:
                self._newest = number
                reports.append(report)
        return reports
