"""A shaped stream as a picture: document 001's, with the same stream unshaped beside it.

Two columns, through the shaper and unshaped; three rows, position, speed and acceleration, of the
joint that is asked to move most. In each: what was asked, what was sent, what the arm did.
"""

from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from steadyhand.core.controller.constants import PRESETS
from steadyhand.simulation.shaping import ShapeLane, ShapeResult
from steadyhand.simulation.shaping_figures import Floats
from steadyhand.view.plots import words
from steadyhand.view.plots.decimate import keep_extremes
from steadyhand.view.plots.save import check_plot_path, png_bytes, svg_text, write_bytes
from steadyhand.view.plots.style import ARM, INK, QUIET, SENT, SHADE, STOP, house_style
from steadyhand.view.shape_lines import Line, busiest_joint, lines_of, peer_line
from steadyhand.view.shape_table import bounds_line, headline, verdict

WIDTH_IN: Final = 12.0
HEIGHT_IN: Final = 9.4
LEFTS_IN: Final = (0.85, 6.75)
COLUMN_IN: Final = 4.95
ROW_TOPS_IN: Final = (1.72, 4.6, 6.6)
ROW_HEIGHTS_IN: Final = (2.65, 1.75, 1.75)
FOOT_IN: Final = 8.88
COLUMNS_PX: Final = 1500
SMALL_PT: Final = 7.5
MUCH_WIDER: Final = 1.5
"""Where the right column needs so many times the left one's range it gets a scale of its own."""

QUANTITIES: Final = ("joint {}, °", "speed, °/s", "acceleration, °/s²")


def draw_shape(result: ShapeResult, report: dict[str, Any], path: Path) -> None:
    """Draw a run; the same run gives the same bytes.

    Args:
        result: the run.
        report: what `shaping_figures.summarize` said of it, with the key `scenario`.
        path: ends in .png, .svg or .html.

    Raises:
        InputError: another suffix, or a place that cannot be written to.
    """
    suffix = check_plot_path(path)
    with house_style():
        figure = shape_figure(result, report)
        if suffix == ".png":
            write_bytes(path, png_bytes(figure))
            return
        svg = svg_text(figure)
    if suffix == ".html":
        from steadyhand.view.shape_page import shape_page

        svg = shape_page(report, svg)
    write_bytes(path, svg.encode())


def shape_figure(result: ShapeResult, report: dict[str, Any]) -> Figure:
    """The picture."""
    figure = Figure(figsize=(WIDTH_IN, HEIGHT_IN))
    _text(figure, LEFTS_IN[0], 0.42, headline(report), fontsize=16, fontweight="bold", color=INK)
    title = Path(report["scenario"]["title"]).name
    subtitle = f"{title}  ·  {bounds_line(report['scenario'])}"
    _text(figure, LEFTS_IN[0], 0.7, words.printable(subtitle), fontsize=9.5, color=QUIET)
    joint = busiest_joint(result)
    shaped, unshaped, *peers = result.lanes
    columns = (
        [
            *lines_of(shaped, result, joint, sent=("sent by the shaper", ARM)),
            *(peer_line(lane, result, joint) for lane in peers),
        ],
        lines_of(unshaped, result, joint, sent=("sent as asked", SENT)),
    )
    heads = (("Through the shaper", ARM, report), ("The same stream, unshaped", QUIET, report["unshaped"]))
    grid = [[_axes(figure, place, row) for row in range(3)] for place in range(2)]
    for place, (head, color, lane) in enumerate(heads):
        _text(figure, LEFTS_IN[place], 1.14, head, fontsize=11.5, fontweight="bold", color=color)
        says, quiet = verdict(lane), lane["first_fault"] is None
        style = {"fontsize": 8.5, "color": QUIET if quiet else STOP}
        _text(figure, LEFTS_IN[place], 1.36, says[0].upper() + says[1:], **style)
        _draw_column(grid[place], columns[place], result, joint)
    _set_scales(grid, columns)
    _draw_bounds(grid, result)
    for place, lane in enumerate((shaped, unshaped)):
        _mark_fault(grid[place], lane)
        grid[place][0].legend(loc="best")
    _text(figure, LEFTS_IN[0], FOOT_IN, foot(report), fontsize=9, color=INK, va="top")
    return figure


def foot(report: dict[str, Any]) -> str:
    """The shaped figures in a line."""
    parts = []
    if report["settle_s"] is not None:
        parts.append(f"settles within 0.001° in {report['settle_s']:g} s")
    if report["scenario"]["optimal_s"] is not None:
        parts.append(f"optimum {report['scenario']['optimal_s']:.3f} s")
    if report["trail_deg"] is not None:
        parts.append(f"trails a steady target by {report['trail_deg']:.2f}°")
    parts += [
        f"never farther than {report['distance_max_deg']:.2f}° from what was asked",
        f"overshoot {report['overshoot_deg']:.3f}°",
        f"arm at most {report['arm_behind_max_deg']:.2f}° behind its frame",
    ]
    return "Shaped: " + "  ·  ".join(parts)


def _draw_column(column: list[Axes], lines: list[Line], result: ShapeResult, joint: int) -> None:
    period_s = result.scenario.period_s
    times_s: Floats = np.arange(len(result.scenario.raw_deg), dtype=np.float64) * period_s
    for row, axes in enumerate(column):
        for place, line in enumerate(lines):
            values = line.values[row]
            if np.isnan(values).all():
                continue
            kept = keep_extremes(times_s, values, COLUMNS_PX)
            axes.plot(
                times_s[kept],
                values[kept],
                color=line.color,
                linewidth=line.width_pt,
                linestyle=line.dash,
                # A frame holds until the next one; the arm moves on between two samples.
                drawstyle="steps-post" if line.wire else "default",
                label=line.label,
                zorder=3.0 + 0.1 * place,
            )
        axes.set_ylabel(QUANTITIES[row].format(joint + 1))
        axes.set_xlim(0.0, float(times_s[-1]))
        axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g} s"))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:,.10g}"))
        axes.tick_params(axis="x", length=0, labelbottom=row == 2)


def _set_scales(grid: list[list[Axes]], columns: tuple[list[Line], list[Line]]) -> None:
    """One scale for both columns where they are alike; else a band on the right shows the left one's."""
    for row in range(3):
        left, right = (_range(lines, row) for lines in columns)
        both = (min(left[0], right[0]), max(left[1], right[1]))
        if both[1] - both[0] <= MUCH_WIDER * (left[1] - left[0]):
            for place in range(2):
                grid[place][row].set_ylim(*both)
            continue
        grid[0][row].set_ylim(*left)
        grid[1][row].set_ylim(*both)
        grid[1][row].axhspan(*left, color=SHADE, linewidth=0, zorder=0)
        if row == 1:
            top = abs(both[1]) >= abs(both[0])
            _note(grid[1][row], "grey bands: the left panels' whole scale", top=top)


def _range(lines: list[Line], row: int) -> tuple[float, float]:
    """Least and largest of all lines, with some room."""
    values = np.concatenate([line.values[row] for line in lines])
    values = values[np.isfinite(values)]
    low, high = float(values.min()), float(values.max())
    room = 0.08 * max(high - low, 1e-3)
    return low - room, high + room


def _note(axes: Axes, text: str, *, top: bool) -> None:
    """A quiet remark in a corner on the right."""
    height, va = (0.96, "top") if top else (0.04, "bottom")
    axes.text(
        0.985, height, text, transform=axes.transAxes, ha="right", va=va, fontsize=SMALL_PT, color=QUIET
    )


def _draw_bounds(grid: list[list[Axes]], result: ShapeResult) -> None:
    """The shaper's bounds where they are near; the trigger's onset where there is one."""
    scenario = result.scenario
    v_max, a_max = scenario.shaper.v_max_deg_s, scenario.shaper.a_max_deg_s2
    _draw_bound(grid[0][1], v_max, f"the shaper's bound, {v_max:g} °/s", QUIET, below=True)
    _draw_bound(grid[0][2], a_max, f"the shaper's bound, {a_max:g} °/s²", QUIET, below=True)
    constants = PRESETS[scenario.model]
    if scenario.trigger == "velocity_step" and constants.runs_away:
        onset = constants.trip_onset_deg_s / scenario.period_s
        _draw_bound(grid[1][2], onset, f"from {onset:,.0f} °/s² on a fault may come", STOP, below=False)


def _draw_bound(axes: Axes, bound: float, says: str, color: str, *, below: bool) -> None:
    """A dashed line at ±bound, where the panel reaches so far, and what it is."""
    low, high = axes.get_ylim()
    for value in (-bound, bound):
        if low <= value <= high:
            axes.axhline(value, color=color, linewidth=0.8, linestyle=(0, (2, 2)), zorder=2)
    if low <= bound <= high:
        axes.annotate(
            says,
            (1.0, bound),
            xycoords=("axes fraction", "data"),
            xytext=(-4, -3 if below else 3),
            textcoords="offset points",
            ha="right",
            va="top" if below else "bottom",
            fontsize=SMALL_PT,
            color=color,
        )


def _mark_fault(column: list[Axes], lane: ShapeLane) -> None:
    """A line where the controller latched its first fault."""
    if lane.first_fault is None:
        return
    for axes in column:
        axes.axvline(lane.first_fault.t_s, color=STOP, linewidth=1.1, zorder=2.5)
    early = lane.first_fault.t_s < 0.6 * column[0].get_xlim()[1]
    column[0].annotate(
        f"fault {lane.first_fault.main_code}/{lane.first_fault.sub_code}",
        (lane.first_fault.t_s, 1.0),
        xycoords=column[0].get_xaxis_transform(),
        xytext=(4 if early else -4, -3),
        textcoords="offset points",
        ha="left" if early else "right",
        va="top",
        fontsize=8.5,
        fontweight="bold",
        color=STOP,
        zorder=5,
    )


def _axes(figure: Figure, place: int, row: int) -> Axes:
    top, height = ROW_TOPS_IN[row], ROW_HEIGHTS_IN[row]
    box = (
        LEFTS_IN[place] / WIDTH_IN,
        1.0 - (top + height) / HEIGHT_IN,
        COLUMN_IN / WIDTH_IN,
        height / HEIGHT_IN,
    )
    return figure.add_axes(box)


def _text(figure: Figure, left_in: float, top_in: float, text: str, **style: Any) -> None:
    figure.text(left_in / WIDTH_IN, 1.0 - top_in / HEIGHT_IN, text, **style)
