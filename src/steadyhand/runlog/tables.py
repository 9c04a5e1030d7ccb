"""Files of rows: CSV, or Parquet where pyarrow is installed. Whole under their name, or not there."""

import csv
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from secrets import token_hex
from typing import Any, Final, Protocol

from steadyhand.ground.errors import InputError
from steadyhand.runlog.rows import Row, Scalar

Columns = dict[str, type]
"""Name to int, float, bool or str, in their order in the file."""

BATCH_ROWS: Final = 4096


def widen(columns: Columns, row: Row) -> None:
    """Take a row's columns in: new ones at the end, and a kind that holds all values seen."""
    for name, value in row.items():
        if value is None:
            columns.setdefault(name, type(None))
            continue
        kind, known = type(value), columns.get(name, type(None))
        if known is kind:
            continue
        if known is type(None):
            columns[name] = kind
        else:
            columns[name] = float if {known, kind} == {int, float} else str


class Table(Protocol):
    """One file that is being written."""

    def write(self, row: Row) -> None:
        """Add one row."""

    def keep(self) -> None:
        """All rows are written: let the file appear under its name."""

    def drop(self) -> None:
        """Leave nothing behind, unless it was kept."""


class CsvTable:
    """Comma-separated, one header line; a cell without a value is empty; floats as short as exact.

    Args:
        path: ends in .csv.
        columns: of every row.
    """

    def __init__(self, path: Path, columns: Columns) -> None:
        self._path = path
        self._names = list(columns)
        self._beside = beside(path)
        self._file = self._beside.open("w", encoding="utf-8", errors="backslashreplace", newline="")
        self._csv = csv.writer(self._file, lineterminator="\n")
        self._csv.writerow(self._names)

    def write(self, row: Row) -> None:
        """Add one row."""
        self._csv.writerow([_cell(row.get(name)) for name in self._names])

    def keep(self) -> None:
        """Let the file appear."""
        self._file.close()
        self._beside.replace(self._path)

    def drop(self) -> None:
        """Leave nothing behind."""
        self._file.close()
        self._beside.unlink(missing_ok=True)


class ParquetTable:
    """Apache Parquet with one column type each, written in batches.

    Args:
        path: ends in .parquet.
        columns: of every row.
        arrow: the modules, from `load_arrow`.
    """

    def __init__(self, path: Path, columns: Columns, arrow: tuple[Any, Any]) -> None:
        self._arrow, parquet = arrow
        types = {
            int: self._arrow.int64(),
            float: self._arrow.float64(),
            bool: self._arrow.bool_(),
            str: self._arrow.string(),
            type(None): self._arrow.null(),
        }
        self._columns = columns
        self._path = path
        self._beside = beside(path)
        self._schema = self._arrow.schema([(name, types[kind]) for name, kind in columns.items()])
        self._writer = parquet.ParquetWriter(str(self._beside), self._schema)
        self._rows: list[Row] = []

    def write(self, row: Row) -> None:
        """Add one row."""
        self._rows.append({name: _fitting(row.get(name), kind) for name, kind in self._columns.items()})
        if len(self._rows) >= BATCH_ROWS:
            self._flush()

    def keep(self) -> None:
        """Let the file appear."""
        self._flush()
        self._writer.close()
        self._beside.replace(self._path)

    def drop(self) -> None:
        """Leave nothing behind."""
        self._writer.close()
        self._beside.unlink(missing_ok=True)

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_table(self._arrow.Table.from_pylist(self._rows, schema=self._schema))
            self._rows = []


def load_arrow() -> tuple[Any, Any]:
    """The pyarrow modules.

    Raises:
        InputError: it is not installed; the hint says how.
    """
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise InputError(
            "Parquet needs pyarrow, which is not installed",
            where="--parquet",
            hint="pip install 'steadyhand[parquet]', or leave the option out for CSV",
        ) from None


def beside(path: Path) -> Path:
    """Where a file grows until it is whole."""
    return path.with_name(f".{path.name}.{token_hex(8)}.partial")


def drop_all(tables: Iterable[Table]) -> None:
    """Leave nothing of these behind that was not kept."""
    for table in tables:
        table.drop()


def _cell(value: Scalar) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    return str(value)


def _fitting(value: Scalar, kind: type) -> Scalar:
    """The value as its column has it: a column that saw text and numbers is text."""
    if value is None or type(value) is kind:
        return value
    return float(value) if kind is float else _cell(value)
