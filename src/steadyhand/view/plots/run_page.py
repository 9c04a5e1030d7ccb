"""A run as a page: its figures, a chart to look into, the picture, every stop and what was asked."""

from html import escape
from typing import Any, Final

from steadyhand.simulation.run import RunResult
from steadyhand.view.plots import words
from steadyhand.view.plots.chart_data import chart_data
from steadyhand.view.plots.demo_section import demo_section
from steadyhand.view.plots.page import asset, document, embedded_json, inline_svg, table
from steadyhand.view.plots.run_plot import headline, subtitle
from steadyhand.view.plots.style import look_of
from steadyhand.view.plots.traces import RunTraces
from steadyhand.view.simulate_table import ROWS, network_line

HUES: Final = {"buffer": "arm", "latest_wins": "latest", "ordered": "ordered"}
MOST_STOPS: Final = 200
MOST_BUTTONS: Final = 8


def run_page(result: RunResult, report: dict[str, Any], run: RunTraces, svg: str) -> str:
    """The page of a run around its picture `svg`."""
    titles = {lane.name: look_of(lane.name, passthrough=result.config is None).title for lane in run.lanes}
    data = chart_data(run, titles)
    parts = [
        f"<h1>{escape(headline(result))}</h1>",
        f'<p class="quiet">{escape(subtitle(result, report))}</p>',
        _figures(report, titles),
        f"<p>{escape(network_line(report))}.</p>",
        _chart(data, titles),
        _picture(svg),
        _stops(report),
        demo_section(report),
        _scenario(result, report),
        _counters(report),
    ]
    code = asset("chart_model.js") + asset("chart.js")
    script = embedded_json("run-data", data) + f"<script>\n{code}</script>\n"
    return document(f"steadyhand: {subtitle(result, report)}", "\n".join(parts), script=script)


def _figures(report: dict[str, Any], titles: dict[str, str]) -> str:
    lanes = [report, *(report["alternatives"][name] for name in list(titles)[1:])]
    head = ["p50 / p99 where two figures", *map(escape, titles.values())]
    rows = [[escape(label), *(escape(figure(lane)) for lane in lanes)] for label, figure in ROWS]
    classes = ["", *(f"number {HUES[name]}" for name in titles)]
    return "<h2>The figures</h2>" + table(head, rows, classes=classes)


def _chart(data: dict[str, Any], titles: dict[str, str]) -> str:
    """The chart's place in the page, its controls and the table it reads ticks into."""
    head = ["at the cursor", "joint", "speed", "this tick", "in line", "age"]
    rows = [
        [f'<span class="{HUES[name]}">{escape(title)}</span>', *[""] * 5] for name, title in titles.items()
    ]
    reading = table(head, rows).replace("<tbody>", '<tbody id="readout">')
    return (
        "<h2>Look into it</h2>"
        '<p class="help">Wheel or drag to zoom, shift-drag to move, double-click for the whole run. With the '
        "chart in focus: <kbd>+</kbd> <kbd>−</kbd> zoom, <kbd>←</kbd> <kbd>→</kbd> step the cursor (with "
        "<kbd>shift</kbd> farther), <kbd>0</kbd> shows the whole run. Blue shade: nothing arrives.</p>"
        f"{_controls(data, titles)}{_moments(data)}"
        '<div><canvas id="chart" tabindex="0" role="img" aria-label="Network delay, joint angle, speed, '
        'queue and released mix over time; press arrow keys to read single ticks."></canvas></div>'
        '<p id="readout-when"></p><div id="spoken" class="spoken" aria-live="polite"></div>'
        f'<div class="reading">{reading}</div>'
    )


def _controls(data: dict[str, Any], titles: dict[str, str]) -> str:
    boxes = [("sent", "sent", "sent by the leader")]
    boxes += [(str(place), HUES[name], title) for place, (name, title) in enumerate(titles.items())]
    labels = "".join(
        f'<label><input type="checkbox" data-lane="{lane}" checked>'
        f'<span class="swatch {hue}"></span>{escape(title)}</label>'
        for lane, hue, title in boxes
    )
    options = "".join(
        f'<option value="{joint}"{" selected" if joint == data["joint"] else ""}>joint {joint + 1}</option>'
        for joint in range(data["joints"])
    )
    return (
        f'<div class="controls">{labels}<select id="joint" aria-label="joint to show">{options}</select>'
        '<span><button id="zoom-in" aria-label="zoom in">+</button> '
        '<button id="zoom-out" aria-label="zoom out">−</button> '
        '<button id="zoom-all">whole run</button></span></div>'
    )


def _moments(data: dict[str, Any]) -> str:
    """Buttons that go to the stops and to where the network cost most."""
    buttons = "".join(
        f'<button data-time="{time_s:g}">{time_s:.1f} s · {escape(says)}</button>'
        for time_s, says in data["moments"][:MOST_BUTTONS]
    )
    return f'<div class="controls"><span class="quiet">Worth a look:</span>{buttons}</div>'


def _picture(svg: str) -> str:
    says = "The whole run, and one moment of it enlarged for each way of receiving; figures as in the table."
    return (
        f'<h2>The picture</h2><div class="wide"><figure>{inline_svg(svg, says)}'
        "<figcaption>Enlarged: the first stop, or without one the moment the network cost most "
        "(lateness times speed). Blue is what the network did, orange is what the arm saw.</figcaption>"
        "</figure></div>"
    )


def _stops(report: dict[str, Any]) -> str:
    """Each stop with its diagnosis."""
    stops = report["stops"]
    if not stops:
        return "<h2>Stops</h2><p>None: the arm was never stopped.</p>"
    rows = [
        [
            f"{stop['t_s']:.2f} s",
            f'<span class="stop">{escape(stop["cause"].replace("_", " "))}</span>',
            "no: a false stop" if stop["false"] else "yes",
            escape(stop["why"]),
        ]
        for stop in stops[:MOST_STOPS]
    ]
    more = f"<p>… and {len(stops) - MOST_STOPS} more.</p>" if len(stops) > MOST_STOPS else ""
    head = ["when", "cause", "called for by the network", "diagnosis"]
    return f"<h2>Stops</h2>{table(head, rows)}{more}"


def _scenario(result: RunResult, report: dict[str, Any]) -> str:
    """What was played, so that it can be made again."""
    scenario = result.scenario
    title = "What was played" if "controller_faults" in report else "What was simulated"
    rows = [
        ("motion", f"{scenario.motion.name}, {scenario.motion.n_joints} joints, plays forth and back"),
        ("network", " – ".join(part for part in (scenario.link.name, scenario.link.description) if part)),
        ("buffer", result.config.describe() if result.config else "none: passthrough"),
        ("length and rate", f"{words.duration(scenario.duration_s)} at {1e9 / scenario.period_ns:g} Hz"),
        ("sender's clock", f"{scenario.drift_ppm:+g} ppm"),
        ("previous setpoints in each datagram", str(scenario.redundancy)),
        (
            "sender restarts",
            ", ".join(f"{r.at_s:g} s for {r.gap_s:g} s" for r in scenario.restarts) or "none",
        ),
        ("after a stop", _recovery(scenario.recover_s)),
        ("script", "" if scenario.script == "none" else scenario.script.replace("_", " ")),
        ("seed", str(scenario.seed)),
    ]
    rows += [("note", note) for note in report.get("scenario", {}).get("notes", scenario.link.notes)]
    return f"<h2>{title}</h2>" + table(
        ["setting", "value"],
        [[escape(label), escape(words.printable(value))] for label, value in rows if value],
    )


def _recovery(recover_s: float) -> str:
    if recover_s < 0:
        return "the arm stays stopped"
    return f"reset and engaged again {recover_s:g} s later"


def _counters(report: dict[str, Any]) -> str:
    """The buffer's account of every arrival (R6), where there was a buffer."""
    counters = report["counters"]
    if not counters:
        return ""
    rows = [[escape(name.replace("_", " ")), f"{value:,}"] for name, value in counters.items()]
    return "<h2>The buffer's account</h2>" + table(["counter", "setpoints"], rows, classes=["", "number"])
