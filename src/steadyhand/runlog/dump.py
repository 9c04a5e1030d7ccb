"""A log as tables: one per channel, and commands beside what the arm did about them.

Two passes: the first finds the columns, the second writes, so that a log of any length is dumped in the
memory of one segment.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from steadyhand.ground.errors import InputError
from steadyhand.runlog.channels import REFERENCE_CHANNEL, SCHEMA_CHANNEL
from steadyhand.runlog.faults import LogFault
from steadyhand.runlog.feedback import FEEDBACK, Feedback
from steadyhand.runlog.integrity import Integrity, Trust
from steadyhand.runlog.reader import RunLog
from steadyhand.runlog.rows import REFERENCE_COLUMNS, Row, rows_of
from steadyhand.runlog.scan import Record
from steadyhand.runlog.tables import Columns, CsvTable, ParquetTable, Table, drop_all, load_arrow, widen

FAULTS_KEPT: Final = 20


class DumpReport(msgspec.Struct, kw_only=True):
    """What a dump came to.

    Attributes:
        rows: by file name, in the order of the channels.
        integrity: of the log.
        left_out: records that nothing vouches for, and that were not asked for.
        unreadable: records whose payload is no value of their channel.
        faults: why, of the first ones.
    """

    rows: dict[str, int] = msgspec.field(default_factory=dict)
    integrity: Integrity
    left_out: int = 0
    unreadable: int = 0
    faults: list[str] = msgspec.field(default_factory=list)


def dump(log: RunLog, folder: Path, *, parquet: bool = False, unverified: bool = False) -> DumpReport:
    """Write a log's tables into a folder.

    Args:
        log: open.
        folder: made if it is not there; older tables of the same names are replaced.
        parquet: Parquet instead of CSV.
        unverified: with the records that no checkpoint vouches for.

    Raises:
        InputError: the folder or a file cannot be written, or pyarrow is missing.
        LogFault: the log cannot be read.
    """
    table_of = _parquet_tables() if parquet else _csv_table
    columns, report = _columns(log, unverified=unverified)
    tables: dict[str, Table] = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, kinds in columns.items():
            tables[name] = table_of(folder, name, kinds)
            report.rows[name] = 0
        for name, row in _rows(log, DumpReport(integrity=report.integrity), unverified=unverified):
            tables[name].write(row)
            report.rows[name] += 1
        for table in tables.values():
            table.keep()
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", where=str(folder)) from error
    finally:
        drop_all(tables.values())
    suffix = "parquet" if parquet else "csv"
    report.rows = {f"{name}.{suffix}": count for name, count in report.rows.items()}
    return report


def _columns(log: RunLog, *, unverified: bool) -> tuple[dict[str, Columns], DumpReport]:
    """The first pass: every table's columns, and what the log is like."""
    found: dict[str, Columns] = {}
    report = DumpReport(integrity=Integrity(size_bytes=log.size_bytes))
    schema = log.schema
    if schema is not None and schema.stack == "flight" and schema.entry(REFERENCE_CHANNEL) is not None:
        # A planner that never aimed at anything has a table of its own all the same.
        found["reference"] = dict(REFERENCE_COLUMNS)
    for name, row in _rows(log, report, unverified=unverified):
        widen(found.setdefault(name, {}), row)
    order = {} if schema is None else {row.name: row.number for row in schema.channels}
    names = sorted(found, key=lambda name: order.get(name, 1 << 16))
    return {name: found[name] for name in names}, report


def _rows(log: RunLog, report: DumpReport, *, unverified: bool) -> Iterator[tuple[str, Row]]:
    """Table and row, of every record in the order of the file; what has none is counted."""
    feedback = Feedback() if log.schema is not None and log.schema.stack == "arm" else None
    for record, value in _values(log, report, unverified=unverified):
        name = log.channel(record.channel).name
        for row in rows_of(record, value):
            yield name, row
        if feedback is not None:
            for row in feedback.take(record, value):
                yield FEEDBACK, row
    if feedback is not None:
        for row in feedback.rest():
            yield FEEDBACK, row


def _values(log: RunLog, report: DumpReport, *, unverified: bool) -> Iterator[tuple[Record, Any]]:
    scan = log.scan()
    for record in scan:
        if record.channel == SCHEMA_CHANNEL:
            continue
        if record.trust is Trust.UNVERIFIED and not unverified:
            report.left_out += 1
            continue
        try:
            value = log.decode(record)
        except LogFault as fault:
            report.unreadable += 1
            if len(report.faults) < FAULTS_KEPT:
                report.faults.append(f"byte {record.offset}, channel {record.channel}: {fault.what}")
            continue
        yield record, value
    report.integrity = scan.integrity


def _csv_table(folder: Path, name: str, columns: Columns) -> Table:
    return CsvTable(folder / f"{name}.csv", columns)


def _parquet_tables() -> Callable[[Path, str, Columns], Table]:
    arrow = load_arrow()

    def table(folder: Path, name: str, columns: Columns) -> Table:
        return ParquetTable(folder / f"{name}.parquet", columns, arrow)

    return table
