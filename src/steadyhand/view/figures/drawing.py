"""Draw a trace: arrivals, releases, queue depth, one column a tick."""

from html import escape
from typing import Final

from steadyhand.core.playout.config import HIGH_WATER_SLACK
from steadyhand.view.figures.layout import (
    LEFT,
    LEGEND_ROW,
    RELEASE_HEIGHT,
    STACK_STEP,
    WIDTH,
    Layout,
    lay_out,
)
from steadyhand.view.figures.marks import SAMPLES, arrival_kind, arrival_mark, release_mark
from steadyhand.view.figures.player import TickRecord, Trace
from steadyhand.view.figures.svg import element, number, text
from steadyhand.view.figures.words import sentence

MARGIN: Final = 12
HEADING_FLOOR: Final = 52
LABEL_EVERY: Final = 5
LONG_SILENCE: Final = 4
"""Ticks without an arrival from which on the gap is named in the picture."""


def draw(trace: Trace, *, style: str | None) -> str:
    """Return the figure as SVG.

    With `style` it stands alone: heading and style sheet inside, and each tick's sentence as a
    title that viewers show on hover. Without, it is meant for a page that brings heading and style
    and tells the ticks itself; columns then carry the sentence as their accessible name.
    """
    layout = lay_out(trace)
    legend, floor = _legend(trace, layout.axis_floor + 8)
    top = 0 if style else HEADING_FLOOR
    height = floor + 8 - top
    script = trace.script
    identity = f"figure-{script.letter.lower()}"
    described = f"{script.danger} {script.answer}"
    parts = [
        element("title", escape(f"{script.letter} · {script.title}"), id=f"{identity}-title"),
        element("desc", escape(described), id=f"{identity}-desc"),
        element("style", style) if style else "",
        element("rect", x=0, y=top, width=WIDTH, height=height, class_="ground"),
        text(f"{script.letter} · {script.title}", x=MARGIN, y=27, class_="heading") if style else "",
        text(script.point, x=MARGIN, y=47, class_="point") if style else "",
        *_frame(layout, trace.ticks),
        *_notes(layout),
        *_arrivals(layout, trace.ticks),
        *_releases(layout, trace.ticks),
        *_depth(layout, trace.ticks),
        *legend,
        *_columns(layout, trace.ticks, titled=style is not None),
    ]
    return element(
        "svg",
        "\n".join(part for part in parts if part),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 {top} {WIDTH} {number(height)}",
        width=WIDTH,
        height=height,
        class_="fig",
        role="img" if style else "group",
        aria_labelledby=f"{identity}-title {identity}-desc",
    )


def _frame(layout: Layout, ticks: tuple[TickRecord, ...]) -> list[str]:
    """Lane names, lines at every fifth tick, the axis, and the time after a stop."""
    parts = []
    stopped = [record.tick for record in ticks if record.stopped]
    if stopped:
        left = layout.left_of(stopped[0])
        parts.append(
            element(
                "rect",
                x=left,
                y=layout.arrivals_top,
                width=layout.right - left,
                height=layout.depth_floor - layout.arrivals_top,
                class_="after-stop",
            )
        )
    for tick in range(0, layout.ticks, LABEL_EVERY):
        x = layout.middle_of(tick)
        parts.append(
            element("line", x1=x, y1=layout.arrivals_top, x2=x, y2=layout.depth_floor, class_="grid")
        )
        parts.append(text(str(tick), x=x, y=layout.axis_floor - 3, class_="small", anchor="middle"))
    parts.append(text("tick, 10 ms each", x=MARGIN, y=layout.axis_floor - 3, class_="small"))
    for name, below, y in (
        ("arrivals", "from the network", layout.arrivals_floor - 20),
        ("releases", "to the arm", layout.releases_middle - 2),
        ("queue depth", "found at the tick", layout.depth_top + 12),
    ):
        parts.append(text(name, x=MARGIN, y=y, class_="lane"))
        parts.append(text(below, x=MARGIN, y=y + 13, class_="small"))
    return parts


def _notes(layout: Layout) -> list[str]:
    """Words over a tick, and the line that leads from them down through the lanes."""
    parts = []
    for note in layout.notes:
        x, baseline = layout.middle_of(note.tick), layout.note_baseline(note.row)
        parts.append(element("line", x1=x, y1=baseline - 10, x2=x, y2=layout.depth_floor, class_="leader"))
        parts.append(text(note.words, x=x + 5, y=baseline, class_="note"))
    return parts


def _arrivals(layout: Layout, ticks: tuple[TickRecord, ...]) -> list[str]:
    """What came in before each tick, the first at the bottom; a long silence is named."""
    wasted = {seq for record in ticks for seq in (*record.overflow, *record.aged, *record.flushed)}
    floor = layout.arrivals_floor
    parts = [element("line", x1=LEFT, y1=floor, x2=layout.right, y2=floor, class_="base")]
    for record in ticks:
        for position, arrived in enumerate(record.arrivals):
            parts.append(
                arrival_mark(
                    arrival_kind(arrived.verdict, wasted=arrived.seq in wasted),
                    str(arrived.seq),
                    x=layout.middle_of(record.tick),
                    y=floor - 2 - STACK_STEP * (position + 0.5),
                    width=layout.mark_width,
                )
            )
    for first in _silences(ticks):
        x = layout.left_of(first + LONG_SILENCE / 2)
        parts.append(text("silence", x=x, y=floor - 6, class_="silence", anchor="middle"))
    return parts


def _silences(ticks: tuple[TickRecord, ...]) -> list[int]:
    """First tick of each long run without an arrival."""
    found, quiet = [], 0
    for record in ticks:
        quiet = 0 if record.arrivals else quiet + 1
        if quiet == LONG_SILENCE:
            found.append(record.tick - LONG_SILENCE + 1)
    return found


def _releases(layout: Layout, ticks: tuple[TickRecord, ...]) -> list[str]:
    floor = layout.releases_top + RELEASE_HEIGHT
    parts = [element("line", x1=LEFT, y1=floor, x2=layout.right, y2=floor, class_="base")]
    parts.extend(
        release_mark(
            record.drained,
            x=layout.middle_of(record.tick),
            y=layout.releases_middle,
            width=layout.mark_width,
            stopped=record.stopped,
        )
        for record in ticks
    )
    return parts


def _depth(layout: Layout, ticks: tuple[TickRecord, ...]) -> list[str]:
    """The queue as each tick found it, its target, and the mark above which catch-up drops."""
    target = ticks[-1].target
    high_water = target + HIGH_WATER_SLACK
    steps = "".join(
        f"V{number(layout.depth_y(record.depth))}H{number(layout.left_of(record.tick + 1))}"
        for record in ticks
    )
    start = f"M{number(LEFT)} {number(layout.depth_floor)}"
    parts = [
        element("path", d=f"{start}{steps}V{number(layout.depth_floor)}Z", class_="depth-area"),
        element("path", d=f"{start}{steps}", class_="depth"),
        element(
            "line", x1=LEFT, y1=layout.depth_floor, x2=layout.right, y2=layout.depth_floor, class_="base"
        ),
    ]
    for depth, name, class_ in (
        (high_water, f"high water {high_water}", "high-water"),
        (target, f"target {target}", "target"),
        (0, "empty", ""),
    ):
        y = layout.depth_y(depth)
        if class_:
            parts.append(element("line", x1=LEFT, y1=y, x2=layout.right, y2=y, class_=class_))
        parts.append(text(name, x=layout.right + 6, y=y + 3.5, class_="small"))
    return parts


def _legend(trace: Trace, top: float) -> tuple[list[str], float]:
    """Samples of the marks this figure uses; returns them and the y below."""
    wasted = {seq for record in trace.ticks for seq in (*record.overflow, *record.aged, *record.flushed)}
    used = {
        arrival_kind(arrived.verdict, wasted=arrived.seq in wasted)
        for record in trace.ticks
        for arrived in record.arrivals
    } | {"stopped" if record.stopped else record.drained.kind for record in trace.ticks}
    parts = []
    x, y = float(LEFT), top + LEGEND_ROW / 2
    for name, (words, sample) in SAMPLES.items():
        if name not in used:
            continue
        width = 34 + 6.4 * len(words)
        if x + width > WIDTH:
            x, y = float(LEFT), y + LEGEND_ROW
        parts.append(sample(x + 10, y))
        parts.append(text(words, x=x + 26, y=y + 3.5, class_="small"))
        x += width
    return parts, y + LEGEND_ROW / 2


def _columns(layout: Layout, ticks: tuple[TickRecord, ...], *, titled: bool) -> list[str]:
    """An invisible column over each tick that tells what happened there."""
    parts = []
    for record in ticks:
        told = sentence(record)
        where: dict[str, str | float] = {
            "x": layout.left_of(record.tick),
            "y": layout.arrivals_top,
            "width": layout.column,
            "height": layout.axis_floor - layout.arrivals_top,
            "class_": "column",
        }
        if titled:
            parts.append(element("rect", element("title", escape(told, quote=False)), **where))
            continue
        focus: dict[str, str | float] = {
            "tabindex": -1 if record.tick else 0,
            "role": "img",
            "aria_label": told,
        }
        parts.append(element("rect", **where, **focus))
    return parts
