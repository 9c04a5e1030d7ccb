"""A sweep's frontier as a table on the terminal, and the recommendation as lines for the robot file."""

from rich.markup import escape
from rich.table import Table

from steadyhand.simulation.frontier import CurveKind, Point, TuneResult
from steadyhand.simulation.scenario import Scenario
from steadyhand.view.terminal import report_console


def print_tune(result: TuneResult, scenario: Scenario) -> None:
    """Print one row a configuration, the bound, and what to write into the robot file."""
    out = report_console()
    out.print(f"[bold]{escape(result.title)}[/], {scenario.duration_s:g} s")
    for note in scenario.link.notes:
        out.print(f"Note: {escape(note)}")
    out.print(frontier_table(result))
    out.print(recommendation(result, scenario))


def frontier_table(result: TuneResult) -> Table:
    """Curves one after the other, each point a row."""
    table = Table(show_edge=False, pad_edge=False)
    table.add_column("policy")
    table.add_column("setting")
    for title in ("mean delay, ms", "ticks held, %", "stops"):
        table.add_column(title, justify="right")
    for curve in result.curves:
        for point in curve.points:
            stops = "–" if curve.kind in (CurveKind.BOUND, CurveKind.PEER) else str(point.stops)
            style = "bold green" if point == result.recommended else None
            held = f"{100 * point.late_share:.3f}"
            table.add_row(curve.name, point.label, f"{point.delay_ms:.1f}", held, stops, style=style)
        table.add_section()
    return table


def recommendation(result: TuneResult, scenario: Scenario) -> str:
    """What to write into the robot file for the stated tolerance, or why nothing fits."""
    tolerated = f"at most {100 * result.tolerance_share:g} % of ticks held"
    best = result.recommended
    if best is None:
        return (
            f"No depth plays this link without a stop and with {tolerated}. "
            "Look at the stops of `steadyhand simulate` over it, or raise --tolerance."
        )
    lines = [
        f"Recommended for {tolerated} and no stop on this recording ({best.delay_ms:.0f} ms mean delay):",
        "communication:",
        f"  publish_rate_hz: {scenario.communication.publish_rate_hz:g}",
        f"  playout_buffer_ms: {best.buffer_ms:g}",
        f"  playout_adaptive_max_ms: {best.adaptive_max_ms:g}",
        f"  playout_underrun_estop_after_ms: {scenario.communication.playout_underrun_estop_after_ms:g}",
        _distance(result, best),
        "A recording is one day of a network: leave a margin, or let the depth adapt.",
    ]
    return "\n".join(line for line in lines if line)


def _distance(result: TuneResult, best: Point) -> str:
    """How far the recommendation is from what knowing the trace would allow."""
    for curve in result.curves:
        if curve.kind is CurveKind.BOUND and curve.points:
            reachable = [p for p in curve.points if p.late_share <= max(best.late_share, 1e-9)]
            bound = (reachable or list(curve.points))[-1]
            return (
                f"Knowing the trace in advance, {bound.delay_ms:.1f} ms would do "
                f"({bound.label}): {best.delay_ms - bound.delay_ms:.0f} ms are the price of not knowing."
            )
    return ""
