"""A run's figures as a table on the terminal: ours beside what one would do without the buffer."""

from collections.abc import Callable
from typing import Any, Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from steadyhand.view.terminal import report_console

LANES: Final = (("buffer", "playout buffer"), ("latest_wins", "latest wins"), ("ordered", "ordered stream"))

MOST_STOPS_SHOWN: Final = 5


def print_report(report: dict[str, Any], console: Console | None = None) -> None:
    """Print the scenario, the figures of the three lanes, and each stop with its cause."""
    out = console or report_console()
    scenario = report["scenario"]
    out.print(
        f"[bold]{escape(scenario['motion'])}[/] over [bold]{escape(scenario['link'])}[/], "
        f"{scenario['duration_s']:g} s, seed {scenario['seed']}, drift {scenario['drift_ppm']:g} ppm"
    )
    out.print(escape(scenario["buffer"] or "No playout buffer: passthrough"))
    for note in scenario["notes"]:
        out.print(f"Note: {escape(note)}")
    out.print(figures_table(report))
    out.print(network_line(report))
    print_stops(report, out)


def figures_table(report: dict[str, Any]) -> Table:
    """One row a figure, one column a way of receiving."""
    lanes = [report, *(report["alternatives"].get(name) for name, _ in LANES[1:])]
    table = Table(show_edge=False, pad_edge=False)
    table.add_column("p50 / p99 where two figures")
    for (_, title), lane in zip(LANES, lanes, strict=True):
        if lane is not None:
            table.add_column(title, justify="right")
    for label, row in ROWS:
        table.add_row(label, *(row(lane) for lane in lanes if lane is not None))
    return table


def network_line(report: dict[str, Any]) -> str:
    """What the network did to the datagrams, in a sentence."""
    sent = report["datagrams"]
    return (
        f"Network: {sent['sent']} datagrams sent, {sent['lost']} lost, {sent['doubled']} doubled; "
        f"{sent['copies_carried']} copies of earlier setpoints rode along"
    )


def print_stops(report: dict[str, Any], out: Console) -> None:
    """Each stop with its time, cause and diagnosis; a long list is cut and says so."""
    stops = report["stops"]
    for stop in stops[:MOST_STOPS_SHOWN]:
        false = ", [red]not called for by the network[/]" if stop["false"] else ""
        out.print(f"[bold]Stop[/] at {stop['t_s']:.2f} s{false}: {escape(stop['why'])}")
    if len(stops) > MOST_STOPS_SHOWN:
        out.print(f"… and {len(stops) - MOST_STOPS_SHOWN} more stops; --json has them all")


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _row(label: str, figure: Callable[[dict[str, Any]], str]) -> tuple[str, Callable[[dict[str, Any]], str]]:
    return label, figure


def _pair(values: dict[str, float | None]) -> str:
    return f"{_ms(values['p50'])} / {_ms(values['p99'])}"


ROWS: Final = (
    _row("sent to released, ms", lambda lane: _pair(lane["added_delay_ms"])),
    _row("waited in the queue, ms", lambda lane: _pair(lane["queue_wait_ms"])),
    _row("oldest released, ms", lambda lane: _ms(lane["oldest_released_ms"])),
    _row("ticks held", lambda lane: f"{lane['held_ticks']} ({100 * lane['held_ticks_share']:.2f} %)"),
    _row("synthetic", lambda lane: str(lane["synthetics"])),
    _row("lost for good", lambda lane: str(lane["lost_at_release"])),
    _row("peak joint speed, °/s", lambda lane: f"{lane['peak_speed_deg_s']:.0f}"),
    _row("peak acceleration, °/s²", lambda lane: f"{lane['peak_accel_deg_s2']:.0f}"),
    _row("ticks stopped", lambda lane: str(lane["stopped_ticks"])),
    _row("stops (false ones)", lambda lane: f"{len(lane['stops'])} ({lane['false_stops']})"),
)
