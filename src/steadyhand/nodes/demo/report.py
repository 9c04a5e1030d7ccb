"""The report of a run over sockets: the figures of `simulate`, and those that only real processes have."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from steadyhand.core.playout import PlayoutConfig
from steadyhand.ground.errors import SteadyhandError
from steadyhand.ground.stamps import NS_PER_MS, NS_PER_US, s_from_ns
from steadyhand.nodes.demo.course import Course, counters_of, flights_of, lane_of, lateness_ns, one_release
from steadyhand.simulation.alternatives import latest_wins, ordered
from steadyhand.simulation.hindsight import judged
from steadyhand.simulation.lanes import Stop
from steadyhand.simulation.metrics import DIGITS, summarize
from steadyhand.simulation.run import RunResult
from steadyhand.simulation.scenario import Scenario


class EstopTaken(msgspec.Struct, frozen=True, kw_only=True):
    """One e-stop, measured; None where it was not seen to happen.

    Attributes:
        path: the path that lived; the other one was killed.
        pressed_ns: when it was handed to the sockets, this host's monotonic clock.
        follower_ms: from handing it to the sockets to the follower's stop.
        controller_ms: … to the first answer of the controller's console that its stream has ended.
        one_way_ms: what the bad network kept its datagram; None over the control service.
        cause: the follower's word for what stopped it.
    """

    path: str
    pressed_ns: int
    follower_ms: float | None
    controller_ms: float | None = None
    one_way_ms: float | None = None
    cause: str = ""


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """What a run came to, beside its course.

    Attributes:
        controller_faults: how often the controller faulted, as its console counts; None: it did not say.
        estops: the measured e-stops.
        granted: what the machine granted the follower's processes, one line each.
        log: the file of tick records.
        reengagements: how often the operator reset the arm and engaged again.
        lost_periods: periods in which the operator's machine was too busy to lead.
        cut_short: why the run ended before its time, "" where it did not.
    """

    controller_faults: int | None
    estops: Sequence[EstopTaken] = ()
    granted: Sequence[str] = ()
    log: Path
    reengagements: int = 0
    lost_periods: int = 0
    cut_short: str = ""


class NothingPlayedError(SteadyhandError):
    """The run ended before there was anything to report."""


def run_result(scenario: Scenario, course: Course, findings: Findings) -> RunResult:
    """The run as `simulate` would have it, for its report and its picture.

    Raises:
        NothingPlayedError: it ended before anything was sent.
    """
    flights = flights_of(course)
    lane = lane_of(course)
    if not flights or not lane.tick_ns:
        why = f": {findings.cut_short}" if findings.cut_short else ""
        raise NothingPlayedError(f"the run ended before a setpoint was sent{why}")
    config = PlayoutConfig.from_communication(scenario.communication)
    if config is not None:
        lane.stops = judged(lane.stops, flights, config)
    grid_ns = list(range(lane.tick_ns[0], lane.tick_ns[-1] + 1, scenario.period_ns))
    played_s = s_from_ns(course.end_ns - course.begin_ns)
    return RunResult(
        scenario=msgspec.structs.replace(scenario, duration_s=played_s),
        config=config,
        buffer=lane,
        alternatives=(latest_wins(flights, grid_ns), ordered(flights, grid_ns)),
        flights=flights,
        counters=counters_of(course),
        reengagements=findings.reengagements,
        copies_sent=sum(led.copies for led in course.led if led.at_ns < course.end_ns),
    )


def report_of(result: RunResult, course: Course, findings: Findings) -> dict[str, Any]:
    """The report as JSON values; key names are a contract, see `docs/demo.md`."""
    released, periods = one_release(course)
    report = summarize(result)
    report["controller_faults"] = findings.controller_faults
    report["one_release_share"] = round(released / periods, DIGITS) if periods else None
    report["periods"] = periods
    report["tick_lateness_us"] = lateness_us(course)
    report["estop_ms"] = {taken.path: _rounded(taken.follower_ms) for taken in findings.estops}
    report["estops"] = [_estop_report(taken, course) for taken in findings.estops]
    report["records"] = {"read": len(course.records), "missed": course.records_missed}
    report["packets_missed"] = course.packets_missed
    report["operator_lost_periods"] = findings.lost_periods
    report["granted"] = list(findings.granted)
    report["cut_short"] = findings.cut_short
    report["log"] = str(findings.log)
    return report


def lateness_us(course: Course) -> dict[str, float | None]:
    """Quantiles of how late the data plane's ticks ran in the run, exact, µs."""
    late_ns = lateness_ns(course.within())
    if not late_ns:
        return {"p50": None, "p99_9": None, "max": None}
    p50, p99_9 = np.percentile(late_ns, [50, 99.9], method="inverted_cdf")
    return {
        "p50": round(float(p50) / NS_PER_US, 1),
        "p99_9": round(float(p99_9) / NS_PER_US, 1),
        "max": round(max(late_ns) / NS_PER_US, 1),
    }


def _estop_report(taken: EstopTaken, course: Course) -> dict[str, Any]:
    """One e-stop; the moment in seconds of the run."""
    told: dict[str, Any] = msgspec.to_builtins(taken)
    pressed_ns = told.pop("pressed_ns")
    told["at_s"] = round(s_from_ns(pressed_ns - course.begin_ns), 3)
    return {key: round(value, 3) if isinstance(value, float) else value for key, value in told.items()}


def with_one_way(taken: EstopTaken, course: Course) -> EstopTaken:
    """The same, with what the bad network kept its first datagram; nothing is known where that was lost."""
    if taken.path != "datagram":
        return taken
    packet = next((packet for packet in course.packets if packet.sent_ns >= taken.pressed_ns), None)
    if packet is None or packet.arrival_ns is None:
        return taken
    one_way_ms = (packet.arrival_ns - packet.sent_ns) / NS_PER_MS
    return msgspec.structs.replace(taken, one_way_ms=one_way_ms)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def shortcoming(result: RunResult, course: Course, findings: Findings) -> str | None:
    """Why the run did not do what its script says, in a sentence; None where it did.

    The script's kill has to stop the arm and the arm has to play again afterwards. Beyond that a stop is
    no shortcoming where the network called for it; one that nobody called for is. The controller never
    faults, and every e-stop arrives.
    """
    if findings.cut_short:
        return findings.cut_short
    if findings.controller_faults:
        return f"the controller faulted {findings.controller_faults} times"
    if findings.controller_faults is None:
        return "the controller did not say how often it faulted"
    stops = result.buffer.stops
    for unmet in (
        _kill_unmet(result, course, stops),
        _uncalled(course, stops, findings),
        _estop_unmet(findings),
    ):
        if unmet is not None:
            return unmet
    return None


def _kill_unmet(result: RunResult, course: Course, stops: list[Stop]) -> str | None:
    """The script's kill stops the arm, and it plays again afterwards."""
    if result.scenario.script != "kill_link":
        return None
    if course.killed_ns is None:
        return "the link was not killed before the run ended"
    begin_ns, recovered_ns = course.killed_ns
    if not any(begin_ns <= stop_ns < recovered_ns for stop_ns in _at_ns(course, stops)):
        return "the arm was not stopped when the link was killed"
    after = [record for record in course.within() if record.at_ns >= recovered_ns]
    if not any(record.released is not None for record in after):
        return "the arm did not play again after the link had been killed"
    return None


def _uncalled(course: Course, stops: list[Stop], findings: Findings) -> str | None:
    """No stop but the script's that the network had not called for."""
    for stop, stop_ns in zip(stops, _at_ns(course, stops), strict=True):
        by_script = course.killed_ns is not None and course.killed_ns[0] <= stop_ns < course.killed_ns[1]
        if stop.false and not by_script:
            lost = findings.lost_periods
            busy = f" (this machine was too busy to send {lost} setpoints)" if lost else ""
            return f"the arm was stopped at {stop.t_s:.2f} s though nothing called for it{busy}: {stop.why}"
    return None


def _at_ns(course: Course, stops: list[Stop]) -> list[int]:
    return [course.begin_ns + round(stop.t_s * 1e9) for stop in stops]


def _estop_unmet(findings: Findings) -> str | None:
    """Every e-stop stops the follower."""
    for taken in findings.estops:
        if taken.follower_ms is None:
            return f"the e-stop over {taken.path} alone did not stop the arm"
    return None
