"""Links from the command line: a profile's name, a list of figures, or a measured trace in a file.

A trace is CSV with columns `t_ms` (or `t_s`), when each message was sent, and `rtt_ms`, its round
trip, of which one way is half; or `one_way_ms` (or `delay_ms`) in its place. Further columns do not
matter. A `ping -D` log is a trace too.
"""

from pathlib import Path
from typing import Final, get_args

import msgspec

from steadyhand.core.link import PROFILES, GapPolicy, LinkProfile, LinkTrace, parse_link_spec
from steadyhand.edge.csv_table import Row, Table, at_line, path_exists, read_table, read_text, shown_path
from steadyhand.edge.ping_log import looks_like_ping, read_ping
from steadyhand.ground.errors import InputError
from steadyhand.ground.stamps import ns_from_ms

TIME_COLUMNS: Final = {"t_ms": 1.0, "t_s": 1000.0}  # to ms
DELAY_COLUMNS: Final = {"rtt_ms": 0.5, "one_way_ms": 1.0, "delay_ms": 1.0}  # to one way

MAX_DELAY_MS: Final = 3_600_000.0
MAX_TIME_MS: Final = 1e14  # Unix milliseconds fit, microseconds mistaken for them do not


def load_link(text: str, *, gaps: GapPolicy = "cut") -> LinkProfile:
    """The link `text` names.

    In this order: a profile's name; an existing file; a file with changes, `FILE:key=value,…`; a
    list of figures, `key=value,…`, or a profile with changes, `PROFILE:key=value,…`.

    Args:
        text: what the user typed.
        gaps: what to do about a recording's own pauses, `cut` or `outage`.

    Returns:
        The profile; its `notes` say what was done to a trace in reading it.

    Raises:
        InputError: nothing of that name, or the file or the figures cannot be used.
    """
    if gaps not in get_args(GapPolicy):
        raise InputError(f"unknown gaps {gaps!r}", where="gaps", hint="use cut or outage")
    if not text.strip():
        raise InputError("no link is named", where="link", hint=f"there are {', '.join(PROFILES)}")
    if text in PROFILES:
        return PROFILES[text]
    if path_exists(text):
        return _trace_link(text, gaps)
    file, colon, changes = text.rpartition(":")
    if colon and "=" in changes and file not in PROFILES and (path_exists(file) or _looks_like_file(file)):
        changed = parse_link_spec(changes, base=_trace_link(file, gaps))
        return msgspec.structs.replace(changed, name=text)
    if "=" not in text and _looks_like_file(text):
        return _trace_link(text, gaps)
    return parse_link_spec(text)


def load_trace(path: str | Path, *, gaps: GapPolicy = "cut") -> LinkTrace:
    """The trace in a CSV file or a `ping -D` log.

    Raises:
        InputError: the file cannot be read, lacks a column, holds no rows, or a row's figures are
            not finite, negative, or out of order; with the line.
    """
    name = shown_path(path)
    text = read_text(path)
    if looks_like_ping(text):
        ping = read_ping(text, name)
        return LinkTrace.from_rows(ping.t_ns, ping.one_way_ns, gaps=gaps, name=name, notes=ping.notes)
    table = read_table(text, name)
    time_column = _column(table, TIME_COLUMNS)
    delay_column = _column(table, DELAY_COLUMNS)
    to_ms = TIME_COLUMNS[table.columns[time_column]]
    to_one_way = DELAY_COLUMNS[table.columns[delay_column]]
    t_ns: list[int] = []
    delay_ns: list[int] = []
    for row in table.rows:
        sent_ms = _figure(table, row, time_column, MAX_TIME_MS / to_ms) * to_ms
        sent_ns = ns_from_ms(sent_ms)
        if t_ns and sent_ns < t_ns[-1]:
            before = f"{t_ns[-1] / 1e6:.12g}"
            raise InputError(
                f"{table.columns[time_column]} goes back, from {before} to {sent_ms:.12g} ms",
                where=at_line(name, row.line),
                hint="rows must be in sending order",
            )
        t_ns.append(sent_ns)
        delay_ns.append(ns_from_ms(_figure(table, row, delay_column, MAX_DELAY_MS) * to_one_way))
    if not t_ns:
        raise InputError("has a header but no rows", where=name)
    return LinkTrace.from_rows(t_ns, delay_ns, gaps=gaps, name=name)


def _trace_link(path: str, gaps: GapPolicy) -> LinkProfile:
    """A link that plays the trace of a file and does nothing else."""
    trace = load_trace(path, gaps=gaps)
    seconds = trace.period_ns / 1e9
    described = f"{len(trace.t_ns)} rows over {seconds:.1f} s, looping"
    return LinkProfile(name=trace.name, description=described, trace=trace)


def _column(table: Table, wanted: dict[str, float]) -> int:
    """Index of the first wanted column the table has."""
    for name in wanted:
        if name in table.columns:
            return table.columns.index(name)
    names = " or ".join(wanted)
    found = ", ".join(column[:40] for column in table.columns[:12])
    raise InputError(f"has no column {names}", where=table.name, hint=f"its columns are {found!r}")


def _figure(table: Table, row: Row, column: int, most: float) -> float:
    """A number from 0 to `most`."""
    value = table.number(row, column)
    if not 0.0 <= value <= most:
        fault = "is negative" if value < 0.0 else f"is over {most:g}"
        raise InputError(f"{table.columns[column]} {fault}: {value:g}", where=at_line(table.name, row.line))
    return value


def _looks_like_file(text: str) -> bool:
    """Whether a user who typed this meant a file."""
    return "/" in text or Path(text).suffix.lower() in {".csv", ".txt", ".log", ".tsv"}
