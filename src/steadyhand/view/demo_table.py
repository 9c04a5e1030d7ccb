"""A demo's figures on the terminal: the table of `simulate`, and what only real processes have."""

from typing import Any

from rich.console import Console
from rich.markup import escape

from steadyhand.view.simulate_table import figures_table, network_line, print_stops
from steadyhand.view.terminal import report_console


def print_demo(report: dict[str, Any], console: Console | None = None) -> None:
    """Print the scenario, the three lanes, the processes' figures, and each stop with its cause."""
    out = console or report_console()
    scenario = report["scenario"]
    out.print(
        f"[bold]{escape(scenario['motion'])}[/] over [bold]{escape(scenario['link'])}[/], "
        f"{scenario['duration_s']:g} s, seed {scenario['seed']}, script {scenario['script']}"
    )
    out.print(escape(scenario["buffer"] or "No playout buffer: passthrough"))
    for note in scenario["notes"]:
        out.print(f"Note: {escape(note)}")
    out.print(figures_table(report))
    out.print(network_line(report))
    print_stops(report, out)
    for label, value in process_figures(report):
        out.print(f"[bold]{escape(label)}[/]: {escape(value)}")


def process_figures(report: dict[str, Any]) -> list[tuple[str, str]]:
    """What is not of the stream but of those who carry it: (label, value)."""
    late = report["tick_lateness_us"]
    share = report["one_release_share"]
    faults = report["controller_faults"]
    figures = [
        ("controller faults", "not told" if faults is None else str(faults)),
        (
            "periods with one release",
            "–" if share is None else f"{100 * share:.2f} % of {report['periods']:,}",
        ),
        (
            "ticks late by",
            f"p50 {_us(late['p50'])}, p99.9 {_us(late['p99_9'])}, at most {_us(late['max'])}",
        ),
    ]
    figures += [(f"e-stop over {taken['path']} alone", _estop(taken)) for taken in report["estops"]]
    missed = report["records"]["missed"]
    read = f"{report['records']['read']:,} ticks" + (f", {missed:,} missed" if missed else "")
    figures.append(("log", f"{report['log']}, {read}"))
    return figures


def _estop(taken: dict[str, Any]) -> str:
    if taken["follower_ms"] is None:
        return "did not stop the arm"
    parts = [f"stopped after {taken['follower_ms']:.1f} ms"]
    if taken["one_way_ms"] is not None:
        parts.append(f"{taken['one_way_ms']:.1f} ms of it on the way")
    if taken["controller_ms"] is not None:
        parts.append(f"its controller said so after {taken['controller_ms']:.1f} ms")
    return ", ".join(parts)


def _us(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f} µs"
