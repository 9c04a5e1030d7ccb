"""The lower half of a run's picture: one moment, one column a receiver, tick by tick."""

from typing import Final

import msgspec
import numpy as np
from matplotlib.axes import Axes

from steadyhand.view.plots import words
from steadyhand.view.plots.style import INK, PAPER, SENT, SHADE, STOP, Look, tick_color
from steadyhand.view.plots.traces import Floats, LaneTraces, RunTraces, Span, behind_ms, runs_of
from steadyhand.view.plots.whole_panels import SHORT_TEXT_PT, bare, shade_silences

JUMP_FACTOR: Final = 1.5
"""A speed this many times the leader's fastest is worth a remark."""


class Column(msgspec.Struct, frozen=True):
    """The panels of one receiver, from top to bottom."""

    pose: Axes
    speed: Axes
    depth: Axes
    mix: Axes


class Scales(msgspec.Struct, frozen=True):
    """Vertical ranges that the columns share, so that they can be compared."""

    pose_deg: Span
    speed_deg_s: Span
    depth: float


def scales_of(run: RunTraces) -> Scales:
    """Ranges that hold everything within the window."""
    lanes = [clip(lane, run.window) for lane in run.lanes]
    pose_low, pose_high = _range([clip_sent(run)[1], *(lane.joint_deg for lane in lanes)])
    room_deg = 0.08 * max(pose_high - pose_low, 1.0)
    asked = np.array([-run.asked_deg_s, run.asked_deg_s, -1.0, 1.0])
    slowest, fastest = _range([asked, *(lane.speed_deg_s for lane in lanes)])
    room_deg_s = 0.12 * (fastest - slowest)
    deepest = max(float(np.concatenate([lane.depth, lane.target, [1]]).max()) for lane in lanes)
    return Scales(
        (pose_low - 2.4 * room_deg, pose_high + room_deg),
        (slowest - room_deg_s, fastest + room_deg_s),
        1.25 * deepest,
    )


def _range(parts: list[Floats]) -> Span:
    """Least and largest number among all, (0, 0) where there is none."""
    values = np.concatenate(parts)
    values = values[np.isfinite(values)]
    return (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)


def clip(lane: LaneTraces, span: Span) -> LaneTraces:
    """The lane's ticks within `span` and one on either side, so that lines run to the edge."""
    first = max(0, int(np.searchsorted(lane.t_s, span[0])) - 1)
    kept = slice(first, int(np.searchsorted(lane.t_s, span[1])) + 1)
    arrays = {
        name: getattr(lane, name)[kept]
        for name in ("t_s", "pose_deg", "joint_deg", "speed_deg_s", "kind", "depth", "target", "age_ms")
    }
    return msgspec.structs.replace(lane, **arrays)


def clip_sent(run: RunTraces) -> tuple[Floats, Floats]:
    """Times and shown joint of what was sent within the window, and one on either side."""
    first = max(0, int(np.searchsorted(run.sent_t_s, run.window[0])) - 1)
    kept = slice(first, int(np.searchsorted(run.sent_t_s, run.window[1])) + 1)
    return run.sent_t_s[kept], run.sent_deg[kept]


def draw_column(column: Column, run: RunTraces, lane: LaneTraces, look: Look, scales: Scales) -> None:
    """Pose, speed, queue and released mix of one receiver within the window."""
    lane = clip(lane, run.window)
    for axes in (column.pose, column.speed, column.depth):
        shade_silences(axes, run, run.window, least_s=0.0)
        for stop in lane.stops:
            axes.axvline(stop.t_s, color=STOP, linewidth=1.1, zorder=4)
    _draw_pose(column.pose, run, lane, look, scales)
    _draw_speed(column.speed, run, lane, look, scales)
    _draw_depth(column.depth, lane, look, scales)
    for kind, begin_s, end_s in runs_of(lane.kind, lane.t_s, run.period_s):
        if end_s > run.window[0] and begin_s < run.window[1]:
            column.mix.axvspan(begin_s, end_s, color=tick_color(kind, look), linewidth=0)
    column.mix.set_facecolor(SHADE)
    bare(column.mix)
    column.mix.tick_params(axis="x", labelbottom=True)
    for axes in (column.pose, column.speed, column.depth):
        axes.tick_params(axis="x", length=0, labelbottom=False)
        axes.set_xlim(*run.window)
    column.mix.set_xlim(*run.window)


def _draw_pose(axes: Axes, run: RunTraces, lane: LaneTraces, look: Look, scales: Scales) -> None:
    axes.plot(*clip_sent(run), color=SENT, linewidth=1.2)
    axes.plot(lane.t_s, lane.joint_deg, color=look.color, linewidth=1.9, drawstyle="steps-post")
    axes.set_ylim(*scales.pose_deg)
    _note(axes, _lag_words(lane, run.window), 0.02, 0.03, "left")
    for stop in lane.stops:
        if run.window[0] <= stop.t_s < run.window[1]:
            after = stop.t_s < run.window[0] + 0.6 * (run.window[1] - run.window[0])
            _note_at(axes, stop.t_s, f"stopped: {stop.cause.replace('_', ' ')}", right=after)


def _lag_words(lane: LaneTraces, window: Span) -> str:
    """How far behind the leader the receiver is before and after the event."""
    fifth_s = (window[1] - window[0]) / 5.0
    before = behind_ms(lane, (window[0], window[0] + fifth_s))
    after = behind_ms(lane, (window[1] - fifth_s, window[1]))
    if before is None and after is None:
        return "nothing to play"
    if after is None:
        return f"{words.milliseconds(before)} behind the leader, then nothing to play"
    if before is None:
        return f"{words.milliseconds(after)} behind the leader in the end"
    if abs(after - before) < 0.1 * max(before, 20.0):
        return f"{words.milliseconds(after)} behind the leader, before and after"
    return f"{words.milliseconds(before)} behind the leader before, {words.milliseconds(after)} after"


def _draw_speed(axes: Axes, run: RunTraces, lane: LaneTraces, look: Look, scales: Scales) -> None:
    axes.axhspan(-run.asked_deg_s, run.asked_deg_s, color=SHADE, linewidth=0, zorder=0)
    axes.plot(lane.t_s, lane.speed_deg_s, color=look.color, linewidth=1.3, drawstyle="steps-pre")
    axes.set_ylim(*scales.speed_deg_s)
    inside = (lane.t_s >= run.window[0]) & (lane.t_s <= run.window[1])
    speeds = np.where(inside & np.isfinite(lane.speed_deg_s), lane.speed_deg_s, 0.0)
    worst = int(np.argmax(np.abs(speeds)))
    peak_deg_s = abs(float(speeds[worst]))
    if peak_deg_s <= JUMP_FACTOR * run.asked_deg_s:
        _note(axes, f"{peak_deg_s:,.0f} °/s at most", 0.02, 0.97, "left")
        return
    middle_s = (run.window[0] + run.window[1]) / 2.0
    left = float(lane.t_s[worst]) > middle_s
    axes.annotate(
        f"{peak_deg_s:,.0f} °/s: {peak_deg_s * run.period_s:.1f}° in one tick",
        (float(lane.t_s[worst]), float(speeds[worst])),
        xytext=(-6 if left else 6, -1),
        textcoords="offset points",
        ha="right" if left else "left",
        va="top" if speeds[worst] > 0 else "bottom",
        fontsize=SHORT_TEXT_PT + 0.5,
        fontweight="bold",
        color=look.color,
        bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.6},
    )


def _draw_depth(axes: Axes, lane: LaneTraces, look: Look, scales: Scales) -> None:
    axes.set_ylim(0.0, scales.depth)
    if not lane.depth.any() and not lane.target.any():
        _note(axes, "no queue", 0.02, 0.9, "left")
        return
    axes.fill_between(lane.t_s, lane.depth, step="post", color=look.tint, linewidth=0)
    axes.plot(lane.t_s, lane.depth, color=look.color, linewidth=1.2, drawstyle="steps-post")
    if lane.target.any():
        axes.plot(lane.t_s, lane.target, color=INK, linewidth=0.8, linestyle=(0, (2, 2)))


def _note(axes: Axes, text: str, x: float, y: float, ha: str) -> None:
    axes.text(
        x,
        y,
        text,
        transform=axes.transAxes,
        ha=ha,
        va="top" if y > 0.5 else "bottom",
        fontsize=SHORT_TEXT_PT + 0.5,
        color=INK,
    )


def _note_at(axes: Axes, time_s: float, text: str, *, right: bool) -> None:
    axes.annotate(
        text,
        (time_s, 1.0),
        xycoords=axes.get_xaxis_transform(),
        xytext=(4 if right else -4, -3),
        textcoords="offset points",
        ha="left" if right else "right",
        va="top",
        fontsize=SHORT_TEXT_PT + 0.5,
        fontweight="bold",
        color=STOP,
        bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.6},
        zorder=5,
    )
