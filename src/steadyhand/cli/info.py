"""`steadyhand info`: what is in a run log, and how much of it is verified."""

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from steadyhand.cli.options import FilePath

if TYPE_CHECKING:
    from rich.table import Table

    from steadyhand.runlog.overview import Overview


def info(
    log: FilePath,
    /,
    *,
    json: Annotated[bool, Parameter(negative=())] = False,
    config: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Tell what is in a run log: channels, counts, gaps, duration, configuration, the verified part.

    Reads the file to its end and checks every checksum in it. Exit code 0 for any log that can be read,
    damaged or not.

    Parameters
    ----------
    log
        The run log.
    json
        Everything, as one JSON object.
    config
        The configuration of the run, as a robot file, and nothing else.
    """
    from msgspec.json import encode, format

    from steadyhand.runlog.overview import overview
    from steadyhand.runlog.reader import open_log
    from steadyhand.view.terminal import report_console

    with open_log(log) as opened:
        told = overview(opened)
    if json:
        print(format(encode(told.to_json())).decode())
    elif config:
        print(told.configuration, end="")
    else:
        console = report_console()
        for line in _lines(told):
            console.print(line, markup=False)
        console.print(_table(told))


def _lines(told: "Overview") -> list[str]:
    lines = [
        f"{told.log}: {told.stack or 'unknown'} run, {told.records} records over {told.duration_s:.3f} s",
        told.integrity.in_words(),
    ]
    if told.configuration:
        lines.append(f"configuration {told.configuration_hash[:12]} (--config prints it)")
    if told.versions:
        lines.append(", ".join(f"{name} {version}" for name, version in told.versions.items()))
    if told.provenance is not None:
        one = told.provenance
        lines.append(f"recorded on {one.host}, process {one.pid}, revision {one.revision or 'unknown'}")
    lines += [f"gap: {gap.missed} records missed at the {gap.source}" for gap in told.gaps]
    if told.gaps_unlisted:
        lines.append(f"and {told.gaps_unlisted} gaps more")
    return lines + [f"{note.kind.value}: {note.detail}" for note in told.notes]


def _table(told: "Overview") -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for heading in ("channel", "name"):
        table.add_column(heading)
    for heading in ("records", "bytes", "Hz", "longest pause ms"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for one in told.channels:
        if not one.records and one.number > 1:
            continue
        span_s = 0.0 if one.first_ns is None or one.last_ns is None else (one.last_ns - one.first_ns) / 1e9
        table.add_row(
            str(one.number),
            Text(one.name or "?"),
            str(one.records),
            str(one.size_bytes),
            f"{(one.records - 1) / span_s:.1f}" if span_s > 0 else "",
            f"{one.longest_pause_ns / 1e6:.1f}" if one.records > 1 else "",
            Text(one.readable),
        )
    return table
