"""`steadyhand dump`: a run log as tables."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from steadyhand.cli.options import FilePath


def dump(
    log: FilePath,
    /,
    *,
    out: FilePath | None = None,
    parquet: Annotated[bool, Parameter(negative=())] = False,
    unverified: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Write a run log as one CSV file per channel, for a spreadsheet, pandas or PlotJuggler.

    `reference.csv` has one row per sample of the reference; `setpoint_feedback.csv` has what was asked
    for, what was sent and where the arm was, paired by stamp. Older tables of the same names in the
    folder are replaced.

    Parameters
    ----------
    log
        The run log.
    out
        The folder to write into; made if it is not there. Without it, one beside the log, named after
        it: `run.shlog` goes to `run-tables`.
    parquet
        Apache Parquet instead of CSV; needs pyarrow (`pip install 'steadyhand[parquet]'`).
    unverified
        With the records that no checkpoint vouches for: the last second of a run that was killed, or
        what lies in a damaged stretch.
    """
    from steadyhand.runlog import dump as tables
    from steadyhand.runlog.reader import open_log

    folder = out or log.with_name(f"{log.stem}-tables")
    with open_log(log) as opened:
        report = tables.dump(opened, folder, parquet=parquet, unverified=unverified)
    for name, rows in report.rows.items():
        print(f"{Path(folder, name)}: {rows} rows")
    print(report.integrity.in_words())
    if report.left_out:
        print(f"{report.left_out} unverified records left out (--unverified takes them in)")
    if report.unreadable:
        print(f"{report.unreadable} records could not be read; the first: {report.faults[0]}")
