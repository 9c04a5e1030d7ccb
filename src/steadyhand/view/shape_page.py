"""A shaped stream as a page: the picture, what happened, and every figure."""

from html import escape
from typing import Any

from steadyhand.view.plots import words
from steadyhand.view.plots.page import document, inline_svg, table
from steadyhand.view.shape_table import ROWS, TITLES, bounds_line, headline, lanes_of, verdicts


def shape_page(report: dict[str, Any], svg: str) -> str:
    """The page of a run around its picture `svg`."""
    lanes = lanes_of(report)
    head = ["the stream on the wire, and the arm", *map(escape, (TITLES[name] for name in lanes))]
    rows = [
        [escape(label), *(escape(figure(lane)) for lane in lanes.values())] for label, figure in ROWS if label
    ]
    says = "Position, speed and acceleration, through the shaper and unshaped; figures as in the table."
    parts = [
        f"<h1>{escape(headline(report))}</h1>",
        f'<p class="quiet">{escape(words.printable(report["scenario"]["title"]))}<br>'
        f"{escape(bounds_line(report['scenario']))}</p>",
        *(f"<p>{escape(line)}</p>" for line in [*report["scenario"]["notes"], *verdicts(report)]),
        f'<div class="wide"><figure>{inline_svg(svg, says)}</figure></div>',
        "<h2>The figures</h2>",
        table(head, rows, classes=["", *["number"] * len(lanes)]),
    ]
    return document(words.printable(f"steadyhand: {report['scenario']['title']}"), "\n".join(parts))
