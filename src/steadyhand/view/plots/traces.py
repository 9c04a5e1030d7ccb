"""What a run's picture is drawn from: arrays over time, the joint to show and the moment to enlarge.

No drawing here, so that the choices can be tested as numbers.
"""

from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from steadyhand.ground.stamps import NS_PER_MS, NS_PER_S
from steadyhand.simulation.lanes import Lane, Stop, Tick
from steadyhand.simulation.metrics import kinds, wire_deg
from steadyhand.simulation.run import RunResult

Floats = NDArray[np.float64]
Span = tuple[float, float]

SILENT_PERIODS: Final = 4
"""Nothing arriving for so many periods is an event; less is jitter."""

SHORTEST_WINDOW_S: Final = 2.0
LONGEST_WINDOW_S: Final = 4.0
WINDOW_PER_LATENESS: Final = 10.0
"""A stall fills about a tenth of the enlarged part, so that its before and after are seen."""

BEFORE_EVENT_SHARE: Final = 0.45
BEFORE_STOP_S: Final = 0.8


class LaneTraces(msgspec.Struct, frozen=True, kw_only=True):
    """One receiver over time; every array has shape (n_ticks,).

    Attributes:
        name: the lane's.
        t_s: when each tick ran, seconds.
        pose_deg: pose on the wire, all joints, shape (n_ticks, n_joints); NaN where there is none.
        joint_deg: the shown joint's column of it.
        speed_deg_s: its difference to the tick before over the nominal period, NaN at the first.
        kind: a `Tick` each.
        depth: setpoints in line after the tick.
        target: depth steered for.
        age_ms: release minus sending, NaN where nothing received was released.
        stops: when the arm was stopped, and why.
    """

    name: str
    t_s: Floats
    pose_deg: Floats
    joint_deg: Floats
    speed_deg_s: Floats
    kind: NDArray[np.int8]
    depth: NDArray[np.int32]
    target: NDArray[np.int32]
    age_ms: Floats
    stops: tuple[Stop, ...]


class RunTraces(msgspec.Struct, frozen=True, kw_only=True):
    """A run over time.

    Attributes:
        sent_t_s: when each datagram was sent, seconds, shape (n_sent,).
        sent_pose_deg: the leader's pose in it, shape (n_sent, n_joints).
        delay_ms: its one-way delay; NaN where it was lost, shape (n_sent,).
        cost_deg: how far the leader has moved, in the shown joint, when something at least as new
            as each datagram arrives, shape (n_sent,).
        silences: spans in which nothing arrived, seconds.
        joint: index of the shown joint, from 0.
        asked_deg_s: largest speed the leader asked of the shown joint, °/s.
        lanes: the receivers, ours first.
        window: the enlarged part, seconds.
        duration_s: length of the run.
        period_s: nominal period.
    """

    sent_t_s: Floats
    sent_pose_deg: Floats
    delay_ms: Floats
    cost_deg: Floats
    silences: tuple[Span, ...]
    joint: int
    asked_deg_s: float
    lanes: tuple[LaneTraces, ...]
    window: Span
    duration_s: float
    period_s: float

    @property
    def sent_deg(self) -> Floats:
        """The shown joint as the leader sent it."""
        column: Floats = self.sent_pose_deg[:, self.joint]
        return column


def traces_of(result: RunResult) -> RunTraces:
    """Unroll a run into arrays and choose what to show of it."""
    scenario = result.scenario
    period_s = scenario.period_ns / NS_PER_S
    sent_ns = np.array([flight.sent.sent_ns for flight in result.flights], dtype=np.int64)
    pose_deg = np.array([flight.sent.joints_deg for flight in result.flights], dtype=float)
    first_ns = np.array([min(flight.arrivals_ns, default=-1) for flight in result.flights], dtype=np.int64)
    joint = busiest_joint(pose_deg)
    lanes = tuple(_lane(lane, joint, period_s) for lane in (result.buffer, *result.alternatives))
    sent_s = sent_ns / NS_PER_S
    known_s = next_news_s(np.where(first_ns < 0, np.nan, first_ns / NS_PER_S), scenario.duration_s)
    cost_deg = _cost_deg(sent_s, known_s, pose_deg[:, joint])
    return RunTraces(
        sent_t_s=sent_s,
        sent_pose_deg=pose_deg,
        delay_ms=np.where(first_ns < 0, np.nan, (first_ns - sent_ns) / NS_PER_MS),
        cost_deg=cost_deg,
        silences=_silences(result, SILENT_PERIODS * period_s),
        joint=joint,
        asked_deg_s=_asked_deg_s(sent_s, pose_deg[:, joint], period_s),
        lanes=lanes,
        window=choose_window(
            sent_s=sent_s,
            known_s=known_s,
            cost_deg=cost_deg,
            stops=lanes[0].stops,
            duration_s=scenario.duration_s,
        ),
        duration_s=scenario.duration_s,
        period_s=period_s,
    )


def busiest_joint(pose_deg: Floats) -> int:
    """The joint that travels farthest over the run; the first of equals."""
    return int(np.argmax(np.abs(np.diff(pose_deg, axis=0)).sum(axis=0)))


def choose_window(
    *, sent_s: Floats, known_s: Floats, cost_deg: Floats, stops: tuple[Stop, ...], duration_s: float
) -> Span:
    """Enlarge the first stop; without one, the moment at which the network cost the arm most.

    That moment is where a receiver that knows the newest datagram is farthest from the leader:
    lateness times speed, in degrees. A link that does nothing wrong thus shows the busiest moment.

    Args:
        sent_s: sending times, shape (n_sent,).
        known_s: `next_news_s` of them, shape (n_sent,).
        cost_deg: the leader's way from the one to the other, shape (n_sent,).
        stops: of our lane.
        duration_s: length of the run; the window stays within it.
    """
    if stops:
        return _within(stops[0].t_s - BEFORE_STOP_S, LONGEST_WINDOW_S, duration_s)
    worst = int(np.argmax(cost_deg))
    lateness_s = float(known_s[worst] - sent_s[worst])
    length_s = min(max(WINDOW_PER_LATENESS * lateness_s, SHORTEST_WINDOW_S), LONGEST_WINDOW_S)
    return _within(float(sent_s[worst]) - BEFORE_EVENT_SHARE * length_s, length_s, duration_s)


def _within(begin_s: float, length_s: float, duration_s: float) -> Span:
    length_s = min(length_s, duration_s)
    begin_s = min(max(begin_s, 0.0), duration_s - length_s)
    return begin_s, begin_s + length_s


def next_news_s(arrival_s: Floats, duration_s: float) -> Floats:
    """When something at least as new as each datagram has arrived; the run's end where never.

    Loss, outage and delay become one quantity: how long the receiver did not know.
    """
    ends = np.where(np.isnan(arrival_s), duration_s, np.minimum(arrival_s, duration_s))
    news: Floats = np.minimum.accumulate(ends[::-1])[::-1]
    return news


def _cost_deg(sent_s: Floats, known_s: Floats, sent_deg: Floats) -> Floats:
    """The leader's way in the shown joint from each sending to its news."""
    leader_now = np.minimum(np.searchsorted(sent_s, known_s), len(sent_s) - 1)
    cost: Floats = np.abs(sent_deg[leader_now] - sent_deg)
    return cost


def costly_moments(run: RunTraces, *, apart_s: float, most: int = 12) -> list[tuple[float, float]]:
    """The moments the network cost most, dearest first: (time, degrees), no two within `apart_s`."""
    moments: list[tuple[float, float]] = []
    for index in np.argsort(-run.cost_deg, kind="stable").tolist():
        time_s = float(run.sent_t_s[index])
        if all(abs(time_s - taken_s) >= apart_s for taken_s, _ in moments):
            moments.append((time_s, float(run.cost_deg[index])))
            if len(moments) == most:
                break
    return moments


def _silences(result: RunResult, least_s: float) -> tuple[Span, ...]:
    """Spans between successive arrivals longer than `least_s`, and after the last arrival."""
    arrivals_ns = sorted(ns for flight in result.flights for ns in flight.arrivals_ns)
    end_ns = result.scenario.duration_ns
    times_s = np.array([*(ns for ns in arrivals_ns if ns < end_ns), end_ns], dtype=float) / NS_PER_S
    if not arrivals_ns:
        times_s = np.array([0.0, end_ns / NS_PER_S])
    long = np.flatnonzero(np.diff(times_s) > least_s)
    return tuple((float(times_s[gap]), float(times_s[gap + 1])) for gap in long)


def _asked_deg_s(sent_s: Floats, sent_deg: Floats, period_s: float) -> float:
    """Largest speed between successive setpoints; across a pause of the sender there is none."""
    steps_s, steps_deg = np.diff(sent_s), np.abs(np.diff(sent_deg))
    next_to = steps_s < 1.5 * period_s
    return float((steps_deg[next_to] / period_s).max()) if next_to.any() else 0.0


def _lane(lane: Lane, joint: int, period_s: float) -> LaneTraces:
    t_s = np.frombuffer(lane.tick_ns, dtype=np.int64) / NS_PER_S
    pose_deg = wire_deg(lane).reshape(len(t_s), -1)
    joint_deg = pose_deg[:, min(joint, pose_deg.shape[1] - 1)]
    age_ns = np.frombuffer(lane.age_ns, dtype=np.int64)
    return LaneTraces(
        name=lane.name,
        t_s=t_s,
        pose_deg=pose_deg,
        joint_deg=joint_deg,
        speed_deg_s=np.diff(joint_deg, prepend=np.nan) / period_s,
        kind=kinds(lane),
        depth=np.frombuffer(lane.depth, dtype=np.int32),
        target=np.frombuffer(lane.target, dtype=np.int32),
        age_ms=np.where(age_ns < 0, np.nan, age_ns / NS_PER_MS),
        stops=tuple(lane.stops),
    )


def behind_ms(lane: LaneTraces, span: Span) -> float | None:
    """Median age of what was released within `span`, ms; None where nothing was."""
    ages_ms = lane.age_ms[(lane.t_s >= span[0]) & (lane.t_s < span[1])]
    ages_ms = ages_ms[~np.isnan(ages_ms)]
    return float(np.median(ages_ms)) if ages_ms.size else None


def runs_of(kind: NDArray[np.int8], t_s: Floats, period_s: float) -> list[tuple[Tick, float, float]]:
    """Stretches of equal ticks: (kind, begin, end), seconds, end of the last one period on."""
    if not len(kind):
        return []
    starts = np.flatnonzero(np.diff(kind, prepend=-1))
    edges_s = np.append(t_s[starts], t_s[-1] + period_s)
    return [
        (Tick(int(kind[start])), float(edges_s[place]), float(edges_s[place + 1]))
        for place, start in enumerate(starts)
    ]
