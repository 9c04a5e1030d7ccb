"""The frontier of a link as a picture: what each depth costs in delay, and in held ticks and stops.

The distance between the buffer's points and the line of what knowing the trace would allow is the
point of it: that much delay is the price of not knowing.
"""

from math import floor, isfinite, log10
from typing import Any, Final, Literal

import msgspec
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from steadyhand.simulation.frontier import Curve, CurveKind, Point, TuneResult
from steadyhand.view.plots import words
from steadyhand.view.plots.labels import SPOTS, Labels
from steadyhand.view.plots.style import ARM, INK, LATEST, ORDERED, PAPER, QUIET, RULE, SHADE, STOP, SYNTHETIC

WIDTH_IN: Final = 10.0
HEIGHT_IN: Final = 6.0
DESCRIBED_MS: Final = 200.0
"""The fixed depth of the deployed arm (document 000 §10)."""

BEYOND: Final = 1.5
"""The delay axis ends at so many times what is worth reading off; deeper buffers are only slower."""

NONE_BELOW: Final = 3.0
"""How far under the lowest decade "none" stands on the share's logarithmic axis, as a factor."""


class _Pen(msgspec.Struct, frozen=True):
    color: str
    marker: str
    dash: Literal["-", "--", ":"]


PENS: Final[dict[CurveKind, _Pen]] = {
    CurveKind.FIXED: _Pen(ARM, "o", "-"),
    CurveKind.ADAPTIVE: _Pen(SYNTHETIC, "s", ":"),
    CurveKind.BOUND: _Pen(INK, "", "-"),
    CurveKind.PEER: _Pen(LATEST, "D", "--"),
}
SECOND_PEER: Final = ORDERED


class _Scale(msgspec.Struct, frozen=True):
    """Where the axes end."""

    longest_ms: float
    lowest_decade: int
    highest_share: float

    @property
    def floor_share(self) -> float:
        """The height at which nothing at all is drawn: a logarithm has no zero."""
        return 10.0**self.lowest_decade / NONE_BELOW

    @property
    def lowest_shown(self) -> float:
        """The axis goes on below "none", to leave room for what is said there."""
        return self.floor_share / 9.0

    def height(self, share: float) -> float:
        """Where a share is drawn."""
        return max(share, self.floor_share)


def tune_figure(tune: TuneResult) -> Figure:
    """Draw a sweep."""
    figure = Figure(figsize=(WIDTH_IN, HEIGHT_IN))
    axes = figure.add_axes((0.085, 0.1, 0.895, 0.69))
    scale = _scale_of(tune)
    _draw_axes(axes, tune, scale)
    key: list[Line2D] = []
    peers = 0
    for curve in tune.curves:
        pen = PENS[curve.kind]
        if curve.kind is CurveKind.PEER:
            pen = pen if peers == 0 else msgspec.structs.replace(pen, color=SECOND_PEER)
            peers += 1
        if curve.kind is CurveKind.BOUND:
            _draw_bound(axes, curve, scale)
        else:
            key.append(_draw_curve(axes, curve, pen, scale))
    _draw_labels(axes, tune, scale)
    if any(point.stops for curve in tune.curves for point in curve.points):
        ring: dict[str, Any] = {"marker": "o", "color": STOP, "markerfacecolor": PAPER}
        key.append(
            Line2D([], [], linestyle="none", markersize=7, label="hollow: the arm was stopped", **ring)
        )
    axes.legend(handles=key, loc="lower right", bbox_to_anchor=(1.005, 1.0), ncols=len(key) or 1)
    figure.text(0.085, 0.93, "How much delay this link needs", fontsize=16, fontweight="bold", color=INK)
    figure.text(0.085, 0.888, words.printable(tune.title), fontsize=9.5, color=QUIET)
    return figure


def _draw_labels(axes: Axes, tune: TuneResult, scale: _Scale) -> None:
    """What matters most gets its place first; settings follow where there is room."""
    labels = Labels(axes)
    for curve in tune.curves:
        points = [point for point in curve.points if isfinite(point.delay_ms)]
        delays_ms = [point.delay_ms for point in points]
        heights = [scale.height(point.late_share) for point in points]
        labels.keep_line_clear(delays_ms, heights)
        if curve.kind is not CurveKind.BOUND:
            for delay_ms, height in zip(delays_ms, heights, strict=True):
                labels.keep_clear(delay_ms, height, radius_pt=4.5)
    if tune.tolerance_share > 0.0:
        labels.keep_line_clear([0.0, scale.longest_ms], [tune.tolerance_share] * 2)
    _draw_distance(axes, labels, tune, scale)
    _draw_recommended(axes, labels, tune, scale)
    order = {CurveKind.FIXED: 0, CurveKind.PEER: 1, CurveKind.ADAPTIVE: 2, CurveKind.BOUND: 3}
    for curve in sorted(tune.curves, key=lambda curve: order[curve.kind]):
        if curve.kind is not CurveKind.BOUND:
            _label_points(labels, curve, tune.recommended, scale)


def _points(tune: TuneResult) -> list[Point]:
    return [point for curve in tune.curves for point in curve.points if isfinite(point.delay_ms)]


def described_point(tune: TuneResult) -> Point | None:
    """The fixed 200 ms among the swept configurations, if it is there."""
    for curve in tune.curves:
        for point in curve.points:
            if curve.kind is CurveKind.FIXED and point.buffer_ms == DESCRIBED_MS and isfinite(point.delay_ms):
                return point
    return None


def _scale_of(tune: TuneResult) -> _Scale:
    points = _points(tune)
    worth_ms = [point.delay_ms for point in (described_point(tune), tune.recommended) if point is not None]
    deepest_ms = max((point.delay_ms for point in points), default=100.0)
    shares = [point.late_share for point in points if point.late_share > 0.0]
    least = min([*shares, tune.tolerance_share or 1e-3, 1e-3])
    return _Scale(
        longest_ms=min(BEYOND * max(worth_ms), 1.06 * deepest_ms) if worth_ms else 1.06 * deepest_ms,
        lowest_decade=max(floor(log10(least)), -7),
        highest_share=min(3.0 * max([*shares, tune.tolerance_share, 1e-3]), 2.0),
    )


def _draw_axes(axes: Axes, tune: TuneResult, scale: _Scale) -> None:
    axes.set_yscale("log")
    axes.set_ylim(scale.lowest_shown, scale.highest_share)
    axes.set_xlim(0.0, scale.longest_ms)
    decades = [10.0**power for power in range(scale.lowest_decade, 1) if 10.0**power <= scale.highest_share]
    axes.yaxis.set_major_locator(FixedLocator([scale.floor_share, *decades]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(
        FuncFormatter(lambda y, _: "none" if y <= scale.floor_share * 1.01 else f"{100.0 * y:g} %")
    )
    axes.set_ylabel("ticks held")
    axes.set_xlabel("mean delay from sending to release, ms")
    if tune.tolerance_share > 0.0:
        axes.axhspan(tune.tolerance_share, scale.highest_share, color=SHADE, linewidth=0, zorder=0)
        axes.axhline(tune.tolerance_share, color=QUIET, linewidth=0.8, linestyle=(0, (2, 2)))
        _say(axes, f"tolerated: {words.share(tune.tolerance_share)}", (1.0, tune.tolerance_share), (-4, 3))


def _say(axes: Axes, text: str, at: tuple[float, float], offset: tuple[float, float]) -> None:
    """A quiet remark at the right edge, at a height of the data."""
    axes.annotate(
        text,
        at,
        xycoords=("axes fraction", "data"),
        xytext=offset,
        textcoords="offset points",
        ha="right",
        fontsize=8.5,
        color=QUIET,
    )


def _draw_bound(axes: Axes, curve: Curve, scale: _Scale) -> None:
    """The bound as an edge: left of it nothing can play this link."""
    points = sorted(curve.points, key=lambda point: point.late_share, reverse=True)
    if not points:
        return
    delays_ms = [points[0].delay_ms, *(point.delay_ms for point in points), points[-1].delay_ms]
    heights = [
        scale.highest_share,
        *(scale.height(point.late_share) for point in points),
        scale.lowest_shown,
    ]
    axes.fill_betweenx(heights, 0.0, delays_ms, color=RULE, linewidth=0, zorder=1)
    axes.plot(delays_ms, heights, color=INK, linewidth=1.6, zorder=2)
    axes.annotate(
        "the least delay, without a stop, that knowing the trace in advance allows",
        (delays_ms[0], scale.highest_share),
        xytext=(5, -4),
        textcoords="offset points",
        va="top",
        fontsize=8.5,
        color=INK,
    )


def _draw_curve(axes: Axes, curve: Curve, pen: _Pen, scale: _Scale) -> Line2D:
    """A policy's points, hollow and numbered where the arm was stopped; returns its key."""
    points = [point for point in curve.points if isfinite(point.delay_ms)]
    delays_ms = [point.delay_ms for point in points]
    heights = [scale.height(point.late_share) for point in points]
    axes.plot(delays_ms, heights, color=pen.color, linestyle=pen.dash, linewidth=1.3, zorder=3)
    for point, delay_ms, height in zip(points, delays_ms, heights, strict=True):
        hollow = point.stops > 0
        axes.plot(
            [delay_ms],
            [height],
            color=pen.color,
            marker=pen.marker,
            markersize=7,
            markerfacecolor=PAPER if hollow else pen.color,
            markeredgecolor=STOP if hollow else pen.color,
            markeredgewidth=1.6,
            zorder=4,
            clip_on=delay_ms > scale.longest_ms,
        )
    return Line2D(
        [],
        [],
        color=pen.color,
        marker=pen.marker,
        linestyle=pen.dash,
        markersize=6,
        label=words.printable(curve.name),
    )


def _label_points(labels: Labels, curve: Curve, named: Point | None, scale: _Scale) -> None:
    """A point's setting and its stops; `named` has its name already."""
    for point in curve.points:
        if not isfinite(point.delay_ms) or point.delay_ms > scale.longest_ms or point == named:
            continue
        stops = f"\n{point.stops} stop{'s' if point.stops > 1 else ''}" if point.stops else ""
        labels.place(
            point.delay_ms,
            scale.height(point.late_share),
            point.label + stops,
            size_pt=7.5,
            spots=("above", "below", "right", "upper right"),
            color=STOP if point.stops else QUIET,
        )


def _draw_distance(axes: Axes, labels: Labels, tune: TuneResult, scale: _Scale) -> None:
    """From the bound to the described depth at the same share: the price of not knowing."""
    described = described_point(tune) or tune.recommended
    bound = next((curve for curve in tune.curves if curve.kind is CurveKind.BOUND and curve.points), None)
    if described is None or bound is None:
        return
    reachable = [point.delay_ms for point in bound.points if point.late_share <= described.late_share]
    least_ms = min(reachable) if reachable else max(point.delay_ms for point in bound.points)
    height = scale.height(described.late_share) / 1.8
    axes.annotate(
        "",
        (least_ms, height),
        (described.delay_ms, height),
        arrowprops={"arrowstyle": "<->", "color": INK, "linewidth": 1.1, "shrinkA": 0, "shrinkB": 0},
    )
    labels.keep_line_clear([least_ms, described.delay_ms], [height, height])
    says = f"{described.delay_ms - least_ms:.0f} ms: the price of\nnot knowing, at {described.label}"
    middle_ms = (least_ms + described.delay_ms) / 2.0
    labels.place(
        middle_ms, height, says, size_pt=9.0, spots=("below", "above", "right"), fontweight="bold", color=INK
    )


def _draw_recommended(axes: Axes, labels: Labels, tune: TuneResult, scale: _Scale) -> None:
    """A ring around what to configure, and its name."""
    best = tune.recommended
    if best is None or not isfinite(best.delay_ms):
        _say(
            axes,
            "nothing swept here plays this link within the tolerance and without a stop",
            (1.0, scale.highest_share),
            (-4, -26),
        )
        return
    height = scale.height(best.late_share)
    axes.plot(best.delay_ms, height, "o", color=INK, markersize=15, markerfacecolor="none", zorder=5)
    says = f"recommended: {best.label}"
    labels.place(
        best.delay_ms, height, says, size_pt=9.5, spots=tuple(SPOTS)[::-1], fontweight="bold", color=INK
    )
