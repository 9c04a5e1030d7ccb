"""The upper half of a run's picture: the network and the arm over the whole run."""

from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from steadyhand.simulation.lanes import Stop, Tick
from steadyhand.view.plots.decimate import keep_extremes
from steadyhand.view.plots.style import (
    HELD,
    INK,
    NETWORK,
    PAPER,
    QUIET,
    SENT,
    SHADE,
    SILENCE,
    STOP,
    SYNTHETIC,
    Look,
)
from steadyhand.view.plots.traces import Floats, LaneTraces, RunTraces, Span

COLUMNS: Final = 1100
"""Pixel columns of a panel as wide as the picture."""

BUDGET_IN_SIGHT: Final = 0.2
"""The buffer's delay is drawn into the network's panel where the worst delay is this share of it."""

LONG_RUN_S: Final = 150.0
LABELLED_STOPS: Final = 6
SHORT_TEXT_PT: Final = 8.0
ABOVE_RIGHT: Final[dict[str, Any]] = {
    "loc": "lower right",
    "bbox_to_anchor": (1.005, 0.98),
    "ncols": 4,
    "borderaxespad": 0.0,
    "handlelength": 2.4,
}


def draw_network(axes: Axes, run: RunTraces, budget_ms: float | None) -> None:
    """One-way delay of each datagram over its time of sending; losses above, silences shaded.

    `budget_ms` is the depth the buffer aims for: what comes later than that after the fastest
    datagram finds its slot gone.
    """
    lost = np.isnan(run.delay_ms)
    times_s, delays_ms = run.sent_t_s[~lost], run.delay_ms[~lost]
    kept = keep_extremes(times_s, delays_ms, COLUMNS // 2) if len(times_s) else np.array([], dtype=int)
    axes.plot(times_s[kept], delays_ms[kept], ".", color=NETWORK, markersize=2.6, markeredgewidth=0)
    worst_ms = float(delays_ms.max()) if len(delays_ms) else 0.0
    limit_ms = None if budget_ms is None or not len(delays_ms) else float(delays_ms.min()) + budget_ms
    shown_ms = max(worst_ms, 1.0)
    if limit_ms is not None and worst_ms >= BUDGET_IN_SIGHT * limit_ms:
        shown_ms = max(shown_ms, limit_ms)
        _draw_budget(axes, limit_ms, budget_ms or 0.0, shown_ms)
    axes.set_ylim(0.0, 1.22 * shown_ms)
    _draw_losses(axes, run, lost)
    shade_silences(axes, run, (0.0, run.duration_s), least_s=run.duration_s / COLUMNS * 2.0)
    axes.set_ylabel("ms")
    key: list[Line2D | Patch] = [_dot("one datagram", "."), Patch(color=SILENCE, label="nothing arrives")]
    if lost.any():
        key.insert(1, _dot(f"{int(lost.sum()):,} lost", "|"))
    axes.legend(handles=key, **ABOVE_RIGHT)


def _dot(label: str, marker: str) -> Line2D:
    return Line2D([], [], color=NETWORK, linestyle="none", marker=marker, markersize=7, label=label)


def _draw_budget(axes: Axes, limit_ms: float, budget_ms: float, shown_ms: float) -> None:
    axes.axhline(limit_ms, color=INK, linewidth=0.8, linestyle=(0, (2, 2)))
    above = limit_ms < 0.5 * shown_ms
    axes.annotate(
        f"what comes later than this has missed its slot in a buffer of {budget_ms:.0f} ms",
        (1.0, limit_ms),
        xycoords=("axes fraction", "data"),
        xytext=(-4, 2.5 if above else -3.5),
        textcoords="offset points",
        ha="right",
        va="bottom" if above else "top",
        fontsize=SHORT_TEXT_PT,
        color=QUIET,
    )


def _draw_losses(axes: Axes, run: RunTraces, lost: NDArray[np.bool_]) -> None:
    """A tick along the upper edge for each lost datagram, one a column at most."""
    if not lost.any():
        return
    times_s = run.sent_t_s[lost]
    column = (times_s / max(run.duration_s, 1e-9) * COLUMNS).astype(int)
    shown_s = times_s[np.flatnonzero(np.diff(column, prepend=-1))]
    axes.vlines(
        shown_s, 0.9, 1.0, transform=axes.get_xaxis_transform(), color=NETWORK, linewidth=0.9, zorder=3
    )


def shade_silences(axes: Axes, run: RunTraces, span: Span, *, least_s: float) -> None:
    """Shade, in the network's colour, when nothing arrived for at least `least_s` within `span`."""
    for begin_s, end_s in run.silences:
        if end_s - begin_s >= least_s and end_s > span[0] and begin_s < span[1]:
            axes.axvspan(begin_s, end_s, color=SILENCE, linewidth=0, zorder=0.4)


def draw_told(axes: Axes, run: RunTraces, looks: dict[str, Look]) -> str:
    """What each receiver told the arm over the whole run, ours on top; returns the panel's title.

    The shown joint beside what was sent; in a run so long that its strokes close up into a block
    of ink, how old the setpoints were instead.
    """
    if run.duration_s > LONG_RUN_S:
        title = "What the arm was told: how old each setpoint was"
        key = _draw_lanes(axes, run, looks, [(lane.t_s, lane.age_ms) for lane in run.lanes], dashed=False)
        axes.set_ylim(0.0, None)
        axes.set_ylabel("ms")
    else:
        title = "What the arm was told: the joint that moves most"
        sent = axes.plot(*_line(run.sent_t_s, run.sent_deg), color=SENT, linewidth=1.0)[0]
        sent.set_label("sent by the leader")
        poses = [(lane.t_s, lane.joint_deg) for lane in run.lanes]
        key = [sent, *_draw_lanes(axes, run, looks, poses, dashed=True)]
        axes.margins(y=0.08)
        axes.set_ylabel(f"joint {run.joint + 1}, °")
    if run.lanes[0].stops:
        low, high = axes.get_ylim()
        axes.set_ylim(low, high + 0.2 * (high - low))
        mark_stops(axes, run.lanes[0].stops, run.duration_s)
    axes.legend(handles=key, **ABOVE_RIGHT)
    return title


def _draw_lanes(
    axes: Axes, run: RunTraces, looks: dict[str, Look], lines: list[tuple[Floats, Floats]], *, dashed: bool
) -> list[Line2D]:
    """One line a receiver, the first on top; returns them in the receivers' order."""
    drawn: list[Line2D] = []
    for place, (lane, line) in enumerate(zip(run.lanes, lines, strict=True)):
        look = looks[lane.name]
        style: dict[str, Any] = {
            "color": look.color,
            "linewidth": 0.75 * look.width_pt,
            "zorder": 3.0 - 0.1 * place,
        }
        drawn += axes.plot(*_line(*line), linestyle=look.dash if dashed else "solid", **style)
        drawn[-1].set_label(look.short)
    return drawn


def _line(times_s: Floats, values: Floats) -> tuple[Floats, Floats]:
    kept = keep_extremes(times_s, values, COLUMNS)
    return times_s[kept], values[kept]


def mark_stops(axes: Axes, stops: tuple[Stop, ...], duration_s: float) -> None:
    """A line at each stop, its cause beside the first few."""
    times_s = np.array([stop.t_s for stop in stops])
    column = (times_s / duration_s * COLUMNS).astype(int)
    for time_s in times_s[np.flatnonzero(np.diff(column, prepend=-1))]:
        axes.axvline(float(time_s), color=STOP, linewidth=1.1, zorder=4)
    room_until_s = -1.0
    labelled = 0
    for stop in stops:
        if stop.t_s < room_until_s or labelled == LABELLED_STOPS:
            continue
        right = stop.t_s > 0.88 * duration_s
        axes.annotate(
            f"stop: {stop.cause.replace('_', ' ')}",
            (stop.t_s, 1.0),
            xycoords=axes.get_xaxis_transform(),
            xytext=(-3 if right else 3, -2),
            textcoords="offset points",
            ha="right" if right else "left",
            va="top",
            fontsize=SHORT_TEXT_PT,
            color=STOP,
            bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.6},
            zorder=5,
        )
        room_until_s = stop.t_s + 0.13 * duration_s
        labelled += 1


MIX: Final = (Tick.STOPPED, Tick.HELD, Tick.SYNTHETIC)
"""Stacked from below: the worse, the lower."""


def draw_mix(axes: Axes, lane: LaneTraces, look: Look, duration_s: float) -> None:
    """The released mix of a lane: per pixel column, the share of its ticks of each kind.

    A kind that occurs in a column gets at least a fifth of its height, so that one held tick
    among thousands is still seen.
    """
    columns = min(COLUMNS // 2, max(1, len(lane.kind)))
    column = np.minimum((lane.t_s / duration_s * columns).astype(int), columns - 1)
    edges_s = np.linspace(0.0, duration_s, columns + 1)
    ticks = np.maximum(np.bincount(column, minlength=columns), 1)
    started = np.bincount(column, lane.kind != Tick.WAITING, minlength=columns) / ticks
    axes.stairs(started, edges_s, fill=True, color=look.tint, linewidth=0)
    base = np.zeros(columns)
    for kind, color in zip(MIX, (STOP, HELD, SYNTHETIC), strict=True):
        count = np.bincount(column, lane.kind == kind, minlength=columns)
        if not count.any():
            continue
        height = np.where(count > 0, np.maximum(count / ticks, 0.2), 0.0)
        axes.stairs(base + height, edges_s, baseline=base, fill=True, color=color, linewidth=0)
        base = base + height
    axes.set_ylim(0.0, 1.0)
    axes.set_facecolor(SHADE)
    bare(axes)


def bare(axes: Axes) -> None:
    """No frame, no ticks, no grid."""
    axes.set_yticks([])
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(axis="x", length=0, labelbottom=False)
