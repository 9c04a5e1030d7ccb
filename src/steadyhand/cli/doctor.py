"""`steadyhand doctor`: what this machine can promise a loop that must be punctual."""

from pathlib import Path
from typing import Annotated, Any, Final

from cyclopts import Parameter
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from steadyhand import __version__
from steadyhand.cli.options import check_output, write_json
from steadyhand.cli.progress import bar
from steadyhand.ground.errors import InputError
from steadyhand.view.terminal import report_console

LONGEST_S: Final = 86_400.0
FASTEST_HZ: Final = 1000.0

MARKS: Final = {
    "granted": "[green]✓[/]",
    "good": "[green]✓[/]",
    "fair": "[yellow]![/]",
    "unknown": "[dim]?[/]",
    "refused": "[red]✗[/]",
    "poor": "[red]✗[/]",
}


def doctor(
    *,
    seconds: float = 10.0,
    rate_hz: float = 100.0,
    json: Annotated[Path | None, Parameter(allow_leading_hyphen=True)] = None,
) -> None:
    """Say what this machine can promise a robot, and measure how punctual its ticks are.

    Asks for what the data plane asks for (real-time class, locked memory, ...) in a process of its
    own, says what was granted, looks at what else decides about punctuality, and ticks for a while.
    Needs no privileges; with those of the deployed node it measures what the node will have.

    Parameters
    ----------
    seconds
        How long to measure; an hour under the site's real load says more than ten seconds.
    rate_hz
        Ticks a second, 1 to 1000.
    json
        Write the report there; - is standard output, and then nothing else is printed.
    """
    _check_range(seconds, 0.0, LONGEST_S, "--seconds", "s")
    _check_range(rate_hz, 1.0, FASTEST_HZ, "--rate-hz", "Hz")
    if seconds * rate_hz < 1.0:
        raise InputError(f"not one tick fits into {seconds:g} s", where="--seconds")
    check_output(json, "--json")
    report = examine_machine(seconds, rate_hz)
    if json is None or str(json) != "-":
        print_doctor(report)
    if json is not None:
        write_json(json, report)


def examine_machine(seconds: float, rate_hz: float) -> dict[str, Any]:
    """Everything the command says, as plain values."""
    from msgspec import to_builtins

    from steadyhand.edge.doctor_checks import examine
    from steadyhand.edge.doctor_facts import gather_facts
    from steadyhand.edge.doctor_verdict import verdict
    from steadyhand.edge.tick_probe import ProbeRequest, measure_in_child

    facts = gather_facts(rate_hz)
    found = examine(facts)
    with bar(f"ticking at {rate_hz:g} Hz") as progress:
        probe = measure_in_child(ProbeRequest(seconds=seconds, rate_hz=rate_hz), progress)
    ticks = to_builtins(probe)
    asked = ticks.pop("realtime")["answers"]
    return {
        "steadyhand": __version__,
        "kernel": facts.kernel,
        "rate_hz": rate_hz,
        "seconds": seconds,
        "asked": asked,
        "found": to_builtins(found),
        "ticks": ticks,
        "verdict": to_builtins(verdict(probe)),
    }


def print_doctor(report: dict[str, Any], console: Console | None = None) -> None:
    """What was asked, what was found, what was measured, and the verdict."""
    out = console or report_console()
    out.print(f"[bold]This machine[/] at {report['rate_hz']:g} Hz, kernel {escape(report['kernel'])}")
    out.print()
    out.print(_table("asked of it", [_asked_row(answer) for answer in report["asked"]]))
    out.print()
    out.print(_table("found", [_found_row(finding) for finding in report["found"]]))
    out.print()
    out.print(_ticks_table(report["ticks"]))
    out.print(escape(_circumstances(report["ticks"])))
    out.print()
    verdict = report["verdict"]
    out.print(f"{MARKS[verdict['standing']]} [bold]{escape(verdict['sentence'])}[/]")


def _table(title: str, rows: list[tuple[str, str, str, str]]) -> Table:
    table = Table(box=None, pad_edge=False, show_edge=False, header_style="dim")
    table.add_column("", no_wrap=True)
    table.add_column(title, no_wrap=True)
    table.add_column("")
    if any(advice for *_, advice in rows):
        table.add_column("would help")
    for mark, name, value, advice in rows:
        cells = (MARKS[mark], escape(name), escape(value), escape(advice))
        table.add_row(*cells[: len(table.columns)])
    return table


def _asked_row(answer: dict[str, str]) -> tuple[str, str, str, str]:
    said = answer.get("detail") or answer.get("reason", "")
    return answer["answer"], answer["what"], said, answer.get("hint", "")


def _found_row(finding: dict[str, str]) -> tuple[str, str, str, str]:
    return finding["standing"], finding["name"], finding["value"], finding["advice"]


def _ticks_table(ticks: dict[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, show_edge=False, header_style="dim")
    table.add_column("late by, µs")
    for title in ("p50", "p99", "p99.9", "max"):
        table.add_column(title, justify="right")
    for label, key in (("ticks", "lateness"), ("a sleep without the spin", "overshoot")):
        figures = (ticks[key][name] for name in ("p50_us", "p99_us", "p99_9_us", "max_us"))
        table.add_row(label, *(f"{figure:,.1f}" for figure in figures))
    return table


def _circumstances(ticks: dict[str, Any]) -> str:
    """How many ticks, how many lost, and what the machine did meanwhile, in a sentence."""
    stolen = ticks["stolen_ms"]
    return (
        f"{ticks['lateness']['count']} ticks, {ticks['lost_slots']} lost, "
        f"{ticks['preempted']} times pushed off the core, {ticks['page_faults']} page faults, "
        f"{'unknown' if stolen is None else f'{stolen:.0f} ms'} stolen by the hypervisor"
    )


def _check_range(value: float, least: float, most: float, option: str, unit: str) -> None:
    """Refuse what is not a number in (least, most] (or its lower end, where that is not zero)."""
    if not (least <= value <= most) or value == 0.0:
        raise InputError(f"{value:g} {unit} is not between {least:g} and {most:g}", where=option)
