"""One run as one picture: the same motion over the same network, received in three ways.

Above, the whole run: what the network did, what the arm was told, and of what the told was made.
Below, the moment that matters, one column a receiver on shared scales, their figures at the foot.
"""

from pathlib import Path
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import FuncFormatter, MaxNLocator, MultipleLocator

from steadyhand.simulation.run import RunResult
from steadyhand.view.plots import words
from steadyhand.view.plots.style import (
    INK,
    QUIET,
    RULE,
    TICK_WORDS,
    Look,
    look_of,
    tick_color,
)
from steadyhand.view.plots.traces import RunTraces
from steadyhand.view.plots.whole_panels import draw_mix, draw_network, draw_told
from steadyhand.view.plots.zoom_panels import Column, draw_column, scales_of

WIDTH_IN: Final = 12.0
HEIGHT_IN: Final = 11.5
LEFT_IN: Final = 0.78
RIGHT_IN: Final = 0.32
BETWEEN_IN: Final = 0.22

NETWORK_TOP_IN: Final = 1.12
JOINT_TOP_IN: Final = 2.78
MIX_TOP_IN: Final = 4.06
ZOOM_TOP_IN: Final = 5.62
CARD_TOP_IN: Final = 10.06


class _Sheet:
    """A figure measured in inches from its upper left corner."""

    def __init__(self) -> None:
        self.figure = Figure(figsize=(WIDTH_IN, HEIGHT_IN))

    def axes(self, left: float, top: float, width: float, height: float) -> Axes:
        """Panel with its data area at these inches."""
        box = (
            left / WIDTH_IN,
            1.0 - (top + height) / HEIGHT_IN,
            width / WIDTH_IN,
            height / HEIGHT_IN,
        )
        return self.figure.add_axes(box)

    def text(self, left: float, top: float, text: str, **style: Any) -> None:
        """Text whose baseline is at these inches."""
        self.figure.text(left / WIDTH_IN, 1.0 - top / HEIGHT_IN, text, **style)

    def frame(self, left: float, top: float, width: float, height: float) -> None:
        """An outline."""
        corner = (left / WIDTH_IN, 1.0 - (top + height) / HEIGHT_IN)
        box = Rectangle(
            corner, width / WIDTH_IN, height / HEIGHT_IN, fill=False, edgecolor=QUIET, linewidth=0.9
        )
        self.figure.add_artist(box)

    def line(self, from_in: tuple[float, float], to_in: tuple[float, float]) -> None:
        """A quiet rule between two points."""
        xs = [from_in[0] / WIDTH_IN, to_in[0] / WIDTH_IN]
        ys = [1.0 - from_in[1] / HEIGHT_IN, 1.0 - to_in[1] / HEIGHT_IN]
        self.figure.add_artist(Line2D(xs, ys, color=RULE, linewidth=0.9))


def run_figure(result: RunResult, report: dict[str, Any], run: RunTraces) -> Figure:
    """Draw a run; `run` is `traces_of(result)`, `report` what `summarize` said of it."""
    sheet = _Sheet()
    passthrough = result.config is None
    looks = {lane.name: look_of(lane.name, passthrough=passthrough) for lane in run.lanes}
    _draw_title(sheet, result, report)
    _draw_whole(sheet, result, run, looks)
    _draw_zoom(sheet, run, looks)
    _draw_cards(sheet, report, run, looks)
    _draw_key(sheet, run, looks[run.lanes[0].name])
    return sheet.figure


def _draw_title(sheet: _Sheet, result: RunResult, report: dict[str, Any]) -> None:
    sheet.text(LEFT_IN, 0.36, headline(result), fontsize=16, fontweight="bold", color=INK)
    sheet.text(LEFT_IN, 0.63, subtitle(result, report), fontsize=9.5, color=QUIET)


def headline(result: RunResult) -> str:
    """What the picture compares."""
    ways = ("one way", "two ways", "three ways")[min(len(result.alternatives), 2)]
    return f"One motion, one network, received {ways}"


def subtitle(result: RunResult, report: dict[str, Any]) -> str:
    """What was simulated, in a line."""
    scenario = result.scenario
    sent = report["datagrams"]
    lost = "none lost" if not sent["lost"] else f"{sent['lost']:,} lost"
    rate_hz = 1e9 / scenario.period_ns
    parts = [
        f"motion {Path(scenario.motion.name).name}",
        f"network {Path(scenario.link.name or 'as given').name}",
        f"{words.duration(scenario.duration_s)} at {rate_hz:g} Hz",
        f"{sent['sent']:,} datagrams, {lost}",
        f"seed {scenario.seed}",
    ]
    if scenario.drift_ppm:
        parts.insert(3, f"sender's clock off by {scenario.drift_ppm:+g} ppm")
    return words.printable("  ·  ".join(parts))


def _draw_whole(sheet: _Sheet, result: RunResult, run: RunTraces, looks: dict[str, Look]) -> None:
    width = WIDTH_IN - LEFT_IN - RIGHT_IN
    network = sheet.axes(LEFT_IN, NETWORK_TOP_IN, width, 1.2)
    joint = sheet.axes(LEFT_IN, JOINT_TOP_IN, width, 1.2)
    config = result.config
    draw_network(network, run, None if config is None else config.base_depth * config.period_ns / 1e6)
    told = draw_told(joint, run, looks)
    panels = [network, joint]
    for place, lane in enumerate(run.lanes):
        top = MIX_TOP_IN + 0.17 * place
        mix = sheet.axes(LEFT_IN, top, width, 0.13)
        look = looks[lane.name]
        draw_mix(mix, lane, look, run.duration_s)
        sheet.text(LEFT_IN - 0.06, top + 0.1, look.short, fontsize=7.5, color=look.color, ha="right")
        panels.append(mix)
    for axes in panels:
        axes.set_xlim(0.0, run.duration_s)
        axes.tick_params(axis="x", length=0, labelbottom=False)
        label_times(axes, run.duration_s)
    panels[-1].tick_params(axis="x", labelbottom=True)
    head = {"fontsize": 10, "fontweight": "bold", "color": INK}
    sheet.text(LEFT_IN, NETWORK_TOP_IN - 0.09, "What the network did: one-way delay of each datagram", **head)
    sheet.text(LEFT_IN, JOINT_TOP_IN - 0.09, told, **head)
    _join_window(sheet, run, MIX_TOP_IN + 0.17 * len(run.lanes), width)


def _join_window(sheet: _Sheet, run: RunTraces, bottom: float, width: float) -> None:
    """Lead the eye from the window in the whole run to its enlargement."""
    per_s = width / run.duration_s
    left, framed = LEFT_IN + run.window[0] * per_s, (run.window[1] - run.window[0]) * per_s
    for top, height in ((NETWORK_TOP_IN, 1.2), (JOINT_TOP_IN, 1.2), (MIX_TOP_IN, bottom - MIX_TOP_IN)):
        sheet.frame(left, top - 0.02, framed, height + 0.02)
    ends = (LEFT_IN + run.window[0] * per_s, LEFT_IN + run.window[1] * per_s)
    low = ZOOM_TOP_IN - 0.56
    sheet.line((ends[0], bottom + 0.22), (LEFT_IN, low))
    sheet.line((ends[1], bottom + 0.22), (WIDTH_IN - RIGHT_IN, low))


def _columns(count: int) -> list[tuple[float, float]]:
    """Left edge and width of each receiver's column, inches."""
    width = (WIDTH_IN - LEFT_IN - RIGHT_IN - BETWEEN_IN * (count - 1)) / count
    return [(LEFT_IN + place * (width + BETWEEN_IN), width) for place in range(count)]


def _draw_zoom(sheet: _Sheet, run: RunTraces, looks: dict[str, Look]) -> None:
    scales = scales_of(run)
    for place, (left, width) in enumerate(_columns(len(run.lanes))):
        lane = run.lanes[place]
        look = looks[lane.name]
        sheet.text(left, ZOOM_TOP_IN - 0.3, look.title, fontsize=11.5, fontweight="bold", color=look.color)
        sheet.text(left, ZOOM_TOP_IN - 0.11, look.says, fontsize=8.5, color=QUIET)
        column = Column(
            pose=sheet.axes(left, ZOOM_TOP_IN, width, 1.65),
            speed=sheet.axes(left, ZOOM_TOP_IN + 1.75, width, 1.3),
            depth=sheet.axes(left, ZOOM_TOP_IN + 3.15, width, 0.62),
            mix=sheet.axes(left, ZOOM_TOP_IN + 3.84, width, 0.13),
        )
        draw_column(column, run, lane, look, scales)
        column.mix.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
        column.mix.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g} s"))
        if place == 0:
            column.speed.annotate("grey: what the leader asked for", (0.02, 0.03), xycoords="axes fraction")
            column.pose.set_ylabel(f"joint {run.joint + 1}, °")
            column.speed.set_ylabel("speed on the wire, °/s")
            column.depth.set_ylabel("in line")
        else:
            for axes in (column.pose, column.speed, column.depth):
                axes.tick_params(axis="y", labelleft=False, length=0)


def _draw_cards(sheet: _Sheet, report: dict[str, Any], run: RunTraces, looks: dict[str, Look]) -> None:
    reports = {run.lanes[0].name: report, **report["alternatives"]}
    for (left, width), lane in zip(_columns(len(run.lanes)), run.lanes, strict=True):
        sheet.line((left, CARD_TOP_IN - 0.17), (left + width, CARD_TOP_IN - 0.17))
        for row, (label, value) in enumerate(words.card(reports[lane.name])):
            top = CARD_TOP_IN + 0.03 + 0.168 * row
            sheet.text(left, top, label, fontsize=8.5, color=QUIET)
            color = looks[lane.name].color if row == 0 else INK
            weight = "bold" if row == 0 else "normal"
            sheet.text(left + 1.35, top, value, fontsize=9, fontweight=weight, color=color)


def _draw_key(sheet: _Sheet, run: RunTraces, look: Look) -> None:
    """What the colours of the strips mean, for the kinds that occur, at the foot."""
    kinds = [kind for kind in TICK_WORDS if any((lane.kind == kind).any() for lane in run.lanes)]
    handles = [Patch(color=tick_color(kind, look), label=TICK_WORDS[kind]) for kind in kinds]
    sheet.figure.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=((LEFT_IN - 0.06) / WIDTH_IN, 0.006),
        ncols=len(handles),
        columnspacing=1.4,
        handlelength=1.2,
    )


def label_times(axes: Axes, duration_s: float) -> None:
    """Label the time axis with its unit: seconds, or minutes for what lasts over five of them."""
    if duration_s > 300.0:
        steps = next((step for step in (60.0, 300.0, 600.0, 1800.0) if duration_s / step < 13.0), 7200.0)
        axes.xaxis.set_major_locator(MultipleLocator(steps))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x / 60.0:g} min"))
    else:
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g} s"))
