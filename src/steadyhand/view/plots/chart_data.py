"""A run as compact JSON for the chart of the page: every tick where it matters, extremes elsewhere.

A received value is never altered (R7), so a tick needs no pose of its own: it names the row of the
sent setpoint it released. Numbers are whole multiples of a stated unit and stored as differences.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from steadyhand.simulation.lanes import Tick
from steadyhand.view.plots.style import PALETTE
from steadyhand.view.plots.traces import Floats, LaneTraces, RunTraces, Span, costly_moments

MOST_DETAILED_TICKS: Final = 9_000
"""Up to so many ticks a run goes into the page whole; a longer one in moments and an overview."""

MOMENT_S: Final = 4.0
NOTABLE_SHARE: Final = 0.15
"""What cost less than this share of the dearest moment is not worth a button."""

OVERVIEW_COLUMNS: Final = 900

TIME_UNIT_S: Final = 1e-4
DELAY_UNIT_MS: Final = 0.01
ANGLE_UNIT_DEG: Final = 0.001
SPEED_UNIT_DEG_S: Final = 0.1

UNITS: Final = {
    "t": TIME_UNIT_S,
    "delay": DELAY_UNIT_MS,
    "angle": ANGLE_UNIT_DEG,
    "speed": SPEED_UNIT_DEG_S,
}

Integers = NDArray[np.int64]


def chart_data(run: RunTraces, titles: dict[str, str]) -> dict[str, Any]:
    """The chart's data as JSON values; `titles` names the lanes for people."""
    spans = detailed_spans(run)
    lanes = [_LaneDetail(lane, run, spans) for lane in run.lanes]
    in_spans = np.flatnonzero(_inside(run.sent_t_s, spans))
    rows = np.unique(np.concatenate([in_spans, *(lane.source[lane.source >= 0] for lane in lanes)]))
    whole = len(spans) == 1 and spans[0] == (0.0, run.duration_s)
    return {
        "units": UNITS,
        "colors": list(PALETTE),
        "duration": run.duration_s,
        "period": run.period_s,
        "joint": run.joint,
        "joints": run.sent_pose_deg.shape[1],
        "spans": spans,
        "window": run.window,
        "moments": _moments(run),
        "stops": [round(stop.t_s, 4) for stop in run.lanes[0].stops],
        "silences": [_rounded_span(span) for span in run.silences if _touches(span, spans)],
        "sent": {
            "t": _differences(run.sent_t_s[rows] / TIME_UNIT_S),
            "delay": _differences(run.delay_ms[rows] / DELAY_UNIT_MS),
            "pose": [_differences(column[rows] / ANGLE_UNIT_DEG) for column in run.sent_pose_deg.T],
        },
        "lanes": [lane.as_json(rows, titles[lane.name]) for lane in lanes],
        "overview": None if whole else _overview(run),
    }


def detailed_spans(run: RunTraces) -> list[Span]:
    """The parts of the run that are told tick by tick: all of a short one, the moments of a long one.

    First come the enlarged window and the stops, then the moments the network cost most.
    """
    if max(len(lane.t_s) for lane in run.lanes) <= MOST_DETAILED_TICKS:
        return [(0.0, run.duration_s)]
    spans: list[Span] = []
    room_s = MOST_DETAILED_TICKS * run.period_s
    for begin_s, _ in _moments(run):
        span = (max(0.0, begin_s - 0.4 * MOMENT_S), min(run.duration_s, begin_s + 0.6 * MOMENT_S))
        if room_s < MOMENT_S:
            break
        room_s -= MOMENT_S
        spans.append(span)
    return _merged(spans)


def _moments(run: RunTraces) -> list[tuple[float, str]]:
    """What is worth looking at: (time, words), stops first."""
    stops = [(stop.t_s, f"stop: {stop.cause.replace('_', ' ')}") for stop in run.lanes[0].stops[:12]]
    costly = [
        (time_s, f"the leader got {cost_deg:.1f}° ahead")
        for time_s, cost_deg in costly_moments(run, apart_s=MOMENT_S)
        if cost_deg > NOTABLE_SHARE * run.cost_deg.max()
    ]
    return [(round(time_s, 3), says) for time_s, says in stops + costly]


def _merged(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for begin_s, end_s in sorted(spans):
        if merged and begin_s <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end_s, merged[-1][1]))
        else:
            merged.append((begin_s, end_s))
    return merged


def _inside(times_s: Floats, spans: list[Span]) -> NDArray[np.bool_]:
    inside = np.zeros(len(times_s), dtype=bool)
    for begin_s, end_s in spans:
        inside |= (times_s >= begin_s) & (times_s <= end_s)
    return inside


def _touches(span: Span, spans: list[Span]) -> bool:
    return any(span[1] > begin_s and span[0] < end_s for begin_s, end_s in spans)


def _rounded_span(span: Span) -> Span:
    return round(span[0], 4), round(span[1], 4)


class _LaneDetail:
    """One lane's ticks within the spans, and which sent setpoint each of them put on the wire."""

    def __init__(self, lane: LaneTraces, run: RunTraces, spans: list[Span]) -> None:
        self.name = lane.name
        ticks = np.flatnonzero(_inside(lane.t_s, spans))
        self._lane = lane
        self._ticks = ticks
        self.source = _sources(lane, run)[ticks]

    def as_json(self, rows: Integers, title: str) -> dict[str, Any]:
        """Arrays of one entry a tick; `row` points into the page's rows, −1 where no pose is known."""
        lane, ticks = self._lane, self._ticks
        row = np.where(self.source < 0, -1, np.searchsorted(rows, np.maximum(self.source, 0)))
        made = np.flatnonzero((self.source < 0) & ~np.isnan(lane.pose_deg[ticks, 0]))
        return {
            "name": self.name,
            "title": title,
            "t": _differences(lane.t_s[ticks] / TIME_UNIT_S),
            "row": _differences(row.astype(float)),
            "kind": _run_lengths(lane.kind[ticks].astype(np.int64)),
            "depth": _differences(lane.depth[ticks].astype(float)),
            "target": _run_lengths(lane.target[ticks].astype(np.int64)),
            "made": {int(tick): np.round(lane.pose_deg[ticks[tick]], 3).tolist() for tick in made},
        }


def _sources(lane: LaneTraces, run: RunTraces) -> Integers:
    """Index of the sent setpoint whose pose each tick put on the wire; −1 for none and for synthetics."""
    released = ~np.isnan(lane.age_ms)
    sent_s = lane.t_s - np.where(released, lane.age_ms, 0.0) / 1000.0
    after = np.searchsorted(run.sent_t_s, sent_s).clip(1, max(1, len(run.sent_t_s) - 1))
    before = after - 1
    last = len(run.sent_t_s) - 1
    nearer_after = np.abs(run.sent_t_s[np.minimum(after, last)] - sent_s) < np.abs(
        run.sent_t_s[before] - sent_s
    )
    source = np.where(released, np.where(nearer_after, np.minimum(after, last), before), -1)
    # A held tick repeats the tick before it: carry the newest release forward over held ticks.
    own = np.where(lane.kind == Tick.HELD, -1, np.arange(len(source)))
    carried = np.maximum.accumulate(own)
    return np.where(carried < 0, -1, source[np.maximum(carried, 0)])


def _differences(values: Floats) -> list[int | None]:
    """Whole numbers as first value and differences between those that are there; None where NaN."""
    known = ~np.isnan(values)
    whole = np.rint(values[known]).astype(np.int64)
    steps = iter(np.diff(whole, prepend=0).tolist())
    return [next(steps) if there else None for there in known.tolist()]


def _run_lengths(values: Integers) -> list[int]:
    """Value, count, value, count …"""
    if not len(values):
        return []
    starts = np.flatnonzero(np.diff(values, prepend=values[0] - 1))
    counts = np.diff(np.append(starts, len(values)))
    return [int(part) for pair in zip(values[starts], counts, strict=True) for part in pair]


def _overview(run: RunTraces) -> dict[str, Any]:
    """Least and largest value per column of the whole run."""
    return {
        "columns": OVERVIEW_COLUMNS,
        "delay": _extremes(run, run.sent_t_s, run.delay_ms, DELAY_UNIT_MS),
        "lost": _column_counts(run, run.sent_t_s, np.isnan(run.delay_ms)),
        "sent": [_extremes(run, run.sent_t_s, pose, ANGLE_UNIT_DEG) for pose in run.sent_pose_deg.T],
        "lanes": [_lane_overview(run, lane) for lane in run.lanes],
    }


def _lane_overview(run: RunTraces, lane: LaneTraces) -> dict[str, Any]:
    poses = lane.pose_deg.T
    speeds = np.diff(poses, axis=1, prepend=np.nan) / run.period_s
    depth = lane.depth.astype(float)
    return {
        "pose": [_extremes(run, lane.t_s, pose, ANGLE_UNIT_DEG) for pose in poses],
        "speed": [_extremes(run, lane.t_s, speed, SPEED_UNIT_DEG_S) for speed in speeds],
        "depth": _extremes(run, lane.t_s, depth, 1.0),
        "kinds": {int(kind): _column_counts(run, lane.t_s, lane.kind == kind) for kind in Tick},
    }


def _columns(run: RunTraces, times_s: Floats) -> Integers:
    column = (times_s / run.duration_s * OVERVIEW_COLUMNS).astype(np.int64)
    return np.minimum(column, OVERVIEW_COLUMNS - 1)


def _extremes(run: RunTraces, times_s: Floats, values: Floats, unit: float) -> list[list[int | None]]:
    """Least and largest value of each column, differences coded; None where the column is empty."""
    there = ~np.isnan(values)
    column = _columns(run, times_s[there])
    low = np.full(OVERVIEW_COLUMNS, np.inf)
    high = np.full(OVERVIEW_COLUMNS, -np.inf)
    np.minimum.at(low, column, values[there])
    np.maximum.at(high, column, values[there])
    empty = ~np.isfinite(low)
    low[empty] = np.nan
    high[empty] = np.nan
    return [_differences(low / unit), _differences(high / unit)]


def _column_counts(run: RunTraces, times_s: Floats, mask: NDArray[np.bool_]) -> list[int]:
    return _run_lengths(np.bincount(_columns(run, times_s[mask]), minlength=OVERVIEW_COLUMNS))
