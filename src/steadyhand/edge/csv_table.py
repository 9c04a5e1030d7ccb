"""Text tables a person hands us: read whole, checked cell by cell, each fault told with its line.

Tolerated, since tools write them: a byte-order mark, CRLF, quotes, blank lines, `#` comments,
semicolons or tabs for commas, capitals in column names, columns we do not need. Everything else
that is not a table of finite numbers is one `InputError`.
"""

import csv
from collections.abc import Iterator
from io import StringIO
from math import isfinite
from pathlib import Path
from typing import Final

import msgspec

from steadyhand.ground.errors import InputError

MAX_BYTES: Final = 256 * 1024 * 1024
MAX_SHOWN: Final = 40
UTF16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")


class Row(msgspec.Struct, frozen=True):
    """One line of a table.

    Attributes:
        line: its number in the file, from 1.
        cells: the texts of its cells, as many as the table has columns.
    """

    line: int
    cells: list[str]


class Table(msgspec.Struct, frozen=True):
    """A header and rows, the rows read as they are asked for.

    Attributes:
        name: the file, as errors name it.
        columns: names in the header, lower case.
        rows: the lines below it.
    """

    name: str
    columns: list[str]
    rows: Iterator[Row]

    def number(self, row: Row, column: int) -> float:
        """The finite number in a cell.

        Raises:
            InputError: the cell is empty, not a number, NaN or infinite.
        """
        cell = row.cells[column].strip()
        where = at_line(self.name, row.line)
        try:
            value = float(cell)
        except ValueError:
            raise InputError(f"{self.columns[column]} is {shown(cell)}, not a number", where=where) from None
        if not isfinite(value):
            raise InputError(f"{self.columns[column]} is {shown(cell)}, not a finite number", where=where)
        return value


def read_text(path: str | Path) -> str:
    """The text of a file, without a byte-order mark.

    Raises:
        InputError: it cannot be read, is empty, is over 256 MiB, or is not UTF-8 text.
    """
    name = shown_path(path)
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "not a usable path"
        raise InputError(f"cannot be read: {reason.lower()}", where=name) from error
    if len(data) > MAX_BYTES:
        raise InputError(f"is over {MAX_BYTES >> 20} MiB", where=name)
    if data.startswith(UTF16_MARKS):
        raise InputError("is UTF-16 text", where=name, hint="save it as UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError("is not text", where=at_line(name, line), hint="UTF-8 is expected") from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError("is not text, but binary data", where=at_line(name, line))
    if not text.strip():
        raise InputError("is empty", where=name)
    return text


def read_table(text: str, name: str) -> Table:
    """The table in `text`; `name` is what errors call it.

    Raises:
        InputError: no header, a column named twice; from the rows, as they are read, a line with
            more or fewer cells than the header or with a quote that never closes.
    """
    lines = _records(text, name)
    header = next(lines, None)
    if header is None:
        raise InputError("has no header line", where=name)
    columns = [cell.strip().lower() for cell in header.cells]
    doubled = next((column for column in columns if column and columns.count(column) > 1), None)
    if doubled is not None:
        raise InputError(f"column {shown(doubled)} is there twice", where=at_line(name, header.line))
    return Table(name, columns, _full_rows(lines, len(columns), name))


def _records(text: str, name: str) -> Iterator[Row]:
    """Every line that is neither blank nor a comment."""
    reader = csv.reader(
        StringIO(text, newline=""), delimiter=_delimiter(text), strict=True, skipinitialspace=True
    )
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells) and not cells[0].lstrip().startswith("#"):
                yield Row(reader.line_num, cells)
    except csv.Error as error:
        raise InputError(f"is not CSV: {error}", where=at_line(name, reader.line_num)) from error


def _full_rows(lines: Iterator[Row], width: int, name: str) -> Iterator[Row]:
    """The rows, each as wide as the header. A trailing separator is forgiven."""
    for row in lines:
        cells = row.cells[:width] if not any(cell.strip() for cell in row.cells[width:]) else row.cells
        if len(cells) != width:
            raise InputError(f"has {len(cells)} cells for {width} columns", where=at_line(name, row.line))
        yield Row(row.line, cells)


def _delimiter(text: str) -> str:
    """What separates the cells of the header: the first line that says something."""
    first = next((line for line in StringIO(text) if line.strip() and not line.lstrip().startswith("#")), "")
    return max(",;\t", key=first.count)


def at_line(name: str, line: int) -> str:
    """Where in a file."""
    return f"{name}, line {line}"


def shown(text: str) -> str:
    """User text in an error: quoted, on one line, never long."""
    return repr(text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…")


def shown_path(path: str | Path) -> str:
    """A path in an error: as typed, unless that would break the line."""
    text = str(path)
    return text if text.isprintable() else repr(text)


def path_exists(text: str) -> bool:
    """Whether there is something at this path."""
    try:
        return Path(text).exists()
    except (OSError, ValueError):
        return False
