"""A shaped stream's figures as a table on the terminal, and its ticks as a table in a file."""

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from steadyhand.simulation.shaping import ShapeResult
from steadyhand.simulation.shaping_figures import wire_speeds
from steadyhand.view.terminal import report_console

TITLES: Final[dict[str, str]] = {
    "shaped": "shaped",
    "unshaped": "unshaped",
    "ruckig_2": "Ruckig, 2nd order",
    "ruckig_3": "Ruckig, 3rd order",
}


def print_shape(report: dict[str, Any], console: Console | None = None) -> None:
    """Print what was sent, the figures of the lanes side by side, and what each fault did."""
    out = console or report_console()
    out.print(f"[bold]{escape(report['scenario']['title'])}[/]")
    out.print(escape(bounds_line(report["scenario"])))
    for note in report["scenario"]["notes"]:
        out.print(f"Note: {escape(note)}")
    out.print(figures_table(report))
    for line in verdicts(report):
        out.print(escape(line))


def headline(report: dict[str, Any]) -> str:
    """What the picture says, in a line."""
    if report["controller_faults"]:
        return "Shaped, and still a fault"
    if report["unshaped"]["sweep_deg"] > 0.0:
        return "The same stream: shaped it arrives, unshaped the arm runs away"
    if report["unshaped"]["controller_faults"]:
        return "The same stream: shaped it is executed, unshaped it is a fault"
    return "A stream through the shaper"


def bounds_line(scenario: dict[str, Any]) -> str:
    """Bounds and controller in a line."""
    together = ", synchronised" if scenario["synchronised"] else ""
    return (
        f"{scenario['mode']}{together}, at most {scenario['v_max_deg_s']:g} °/s and "
        f"{scenario['a_max_deg_s2']:g} °/s², a frame every {scenario['period_ms']:g} ms; "
        f"controller {scenario['model']}, trigger {scenario['trigger']}, seed {scenario['seed']}"
    )


def lanes_of(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The figures by lane; the shaped ones are the report's own."""
    return {"shaped": report} | {name: report[name] for name in TITLES if name in report}


def figures_table(report: dict[str, Any]) -> Table:
    """One row a figure, one column a way of sending."""
    lanes = lanes_of(report)
    table = Table(show_edge=False, pad_edge=False)
    table.add_column("the stream on the wire")
    for name in lanes:
        table.add_column(TITLES[name], justify="right")
    for label, figure in ROWS:
        if not label:
            table.add_section()
            continue
        table.add_row(label, *map(figure, lanes.values()))
    return table


def verdicts(report: dict[str, Any]) -> list[str]:
    """What happened, lane by lane, in sentences; and how far from the optimum the shaper was."""
    lines = [f"{TITLES[name].capitalize()}: {verdict(lane)}" for name, lane in lanes_of(report).items()]
    optimal_s = report["scenario"]["optimal_s"]
    if optimal_s is not None and report["settle_s"] is not None:
        lines.append(
            f"Optimum: under these bounds no stream arrives before {optimal_s:.3f} s; the shaper needed "
            f"{report['settle_s']:g} s."
        )
    return lines


def verdict(lane: dict[str, Any]) -> str:
    """What the controller did about a lane's stream."""
    fault = lane["first_fault"]
    if fault is None:
        out_of_range = lane["rejected_frames"]
        return (
            f"no fault, {out_of_range} frames out of range."
            if out_of_range
            else "no fault, every frame taken."
        )
    if lane["sweep_deg"] > 0.0:
        fastest_deg_s = lane["arm_peak_speed_deg_s"]
        did = f"the arm swept {lane['sweep_deg']:.1f}° by itself, at up to {fastest_deg_s:.0f} °/s"
    elif 23 <= fault["sub_code"] <= 28:
        did = f"axis {fault['sub_code'] - 22} commanded too fast, refused, not executed"
    else:
        did = "no sweep within this run"
    return f"fault {fault['main_code']}/{fault['sub_code']} at {fault['t_s']:g} s: {did}."


def csv_lines(result: ShapeResult) -> Iterator[str]:
    """Yield header and ticks of the shaped lane, newline at the end of each.

    Numbers are whole (shortest text that reads back the same), so that the bounds can be checked. The
    shaped pose has the columns of a recording: the file can be played again as a motion.
    """
    lane, raw, period_ns = result.lanes[0], result.scenario.raw_deg, result.scenario.period_ns
    joints = range(1, len(raw[0]) + 1)
    groups = ("raw_j{}_deg", "j{}_deg", "velocity_j{}_deg_s", "arm_j{}_deg")
    columns = [group.format(joint) for group in groups for joint in joints]
    yield ",".join(["tick", "t_s", *columns]) + "\n"
    speeds = wire_speeds(np.array(lane.sent_deg), result.scenario.period_s).tolist()
    for tick, poses in enumerate(zip(raw, lane.sent_deg, speeds, lane.arm_deg, strict=True)):
        values = [repr(float(value)) for pose in poses for value in pose]
        yield ",".join([str(tick), repr(tick * period_ns / 1e9), *values]) + "\n"


Row = tuple[str, Callable[[dict[str, Any]], str]]


def _row(label: str, figure: Callable[[dict[str, Any]], str]) -> Row:
    return label, figure


def _number(value: float | None, places: int) -> str:
    return "–" if value is None else f"{value:,.{places}f}"


ROWS: Final[tuple[Row, ...]] = (
    _row("settles within 0.001°, s", lambda lane: _number(lane["settle_s"], 3)),
    _row("beyond a target at rest, °", lambda lane: _number(lane["overshoot_deg"], 3)),
    _row("behind a steady target, °", lambda lane: _number(lane["trail_deg"], 2)),
    _row("farthest from the raw target, °", lambda lane: _number(lane["distance_max_deg"], 2)),
    _row("peak speed, °/s", lambda lane: _number(lane["peak_speed_deg_s"], 0)),
    _row("peak acceleration, °/s²", lambda lane: _number(lane["peak_accel_deg_s2"], 0)),
    _row("", str),
    _row("controller faults", lambda lane: str(lane["controller_faults"])),
    _row("frames refused", lambda lane: str(lane["rejected_frames"])),
    _row("arm swept by itself, °", lambda lane: _number(lane["sweep_deg"], 1)),
    _row("arm's fastest joint, °/s", lambda lane: _number(lane["arm_peak_speed_deg_s"], 0)),
    _row("arm farthest from its frame, °", lambda lane: _number(lane["arm_behind_max_deg"], 2)),
)
