"""Values of a snapshot as plain lists and back: every type kept, floats exact, one form for each value.

A scalar stands for itself. Anything else is a list that begins with a tag, so that a tuple stays a tuple
and an enum an enum. What is not named in the tables is refused rather than guessed at.
"""

from collections import deque
from collections.abc import Callable, Iterable
from enum import Enum
from itertools import accumulate, chain
from operator import sub
from typing import Any, Final

import msgspec

from steadyhand.ground.errors import InputError

(TUPLE, LIST, DEQUE, SET, FROZEN, MAP, STRUCT, ENUM, LARGE, SAME, AGAIN, COLUMNS) = range(12)

FEWEST_ROWS: Final = 8
"""Rows from which a list of equally long tuples of integers is written by columns of differences: the
releases of ten seconds are a thousand of them."""

_ROW_LIMIT: Final = 1 << 62
_SCALARS: Final = frozenset({type(None), bool, float, str, bytes})
_LOWEST: Final = -(1 << 63)
_HIGHEST: Final = 1 << 64


class SnapshotError(InputError):
    """A state that cannot be written, or bytes that are no state of this object."""


class ValueTypes(msgspec.Struct, frozen=True):
    """What may be written beside scalars and containers, by class name.

    Attributes:
        structs: msgspec structs, written field by field. Two references to one become two equal ones.
        same: structs of which it matters that two references are to one object.
        documents: like `same`, but written as plain data, whatever they consist of: configurations.
        enums: by their values.
    """

    structs: tuple[type, ...] = ()
    same: tuple[type, ...] = ()
    documents: tuple[type, ...] = ()
    enums: tuple[type[Enum], ...] = ()

    def by_name(self) -> dict[str, type]:
        """Every class under its name.

        Raises:
            ValueError: two have the same.
        """
        classes = (*self.structs, *self.same, *self.documents, *self.enums)
        named = {one.__name__: one for one in classes}
        if len(named) != len(classes):
            raise ValueError("two classes of a snapshot have one name")
        return named


class ValueWriter:
    """Writes the values of one snapshot; remembers which `same` objects it has written."""

    def __init__(self, types: ValueTypes) -> None:
        self._numbers: dict[int, int] = {}
        self._writers: dict[type, Callable[[Any], Any]] = {
            int: _large,
            tuple: self._tuple,
            list: self._list,
            deque: self._deque,
            set: self._set,
            frozenset: self._frozen,
            dict: self._map,
        }
        self._writers |= dict.fromkeys(types.structs, self._struct)
        self._writers |= dict.fromkeys((*types.same, *types.documents), self._same)
        self._writers |= dict.fromkeys(types.enums, _enum)
        self._documents = frozenset(types.documents)

    def write(self, value: Any) -> Any:
        """Plain data for a value.

        Raises:
            SnapshotError: it is, or holds, something of a class that is not named.
        """
        kind = type(value)
        if kind in _SCALARS or (kind is int and _LOWEST <= value < _HIGHEST):
            return value
        writer = self._writers.get(kind)
        if writer is None:
            raise SnapshotError(f"a {kind.__name__} is not among what a snapshot can hold")
        return writer(value)

    def _all(self, tag: int, values: Iterable[Any]) -> list[Any]:
        write, written = self.write, [tag]
        for value in values:
            kind = type(value)
            easy = kind in _SCALARS or (kind is int and _LOWEST <= value < _HIGHEST)
            written.append(value if easy else write(value))
        return written

    def _tuple(self, values: tuple[Any, ...]) -> list[Any]:
        return self._all(TUPLE, values)

    def _list(self, values: list[Any]) -> list[Any]:
        return _columns(LIST, None, values) or self._all(LIST, values)

    def _deque(self, values: deque[Any]) -> list[Any]:
        return _columns(DEQUE, values.maxlen, values) or [DEQUE, values.maxlen, *self._all(0, values)[1:]]

    def _set(self, values: set[Any]) -> list[Any]:
        return self._all(SET, sorted(values))

    def _frozen(self, values: frozenset[Any]) -> list[Any]:
        return self._all(FROZEN, sorted(values))

    def _map(self, pairs: dict[Any, Any]) -> list[Any]:
        """In the order of insertion: what forgets its oldest entry goes by it."""
        return self._all(MAP, chain.from_iterable(pairs.items()))

    def _struct(self, value: Any) -> list[Any]:
        written = self._all(STRUCT, msgspec.structs.astuple(value))
        written.insert(1, type(value).__name__)
        return written

    def _same(self, value: Any) -> list[Any]:
        number = self._numbers.get(id(value))
        if number is not None:
            return [AGAIN, number]
        self._numbers[id(value)] = len(self._numbers)
        kind = type(value)
        if kind in self._documents:
            return [SAME, kind.__name__, msgspec.to_builtins(value)]
        return [SAME, kind.__name__, self._struct(value)]


class ValueReader:
    """Reads the values of one snapshot, in the order in which they were written.

    What it makes of bytes that no writer wrote is any of the exceptions of `UNREADABLE`.
    """

    def __init__(self, types: ValueTypes) -> None:
        self._named = types.by_name()
        self._documents = frozenset(types.documents)
        self._kept: list[Any] = []
        self._readers: dict[int, Callable[[list[Any]], Any]] = {
            TUPLE: lambda raw: tuple(self._all(raw, 1)),
            LIST: lambda raw: self._all(raw, 1),
            DEQUE: lambda raw: deque(self._all(raw, 2), maxlen=raw[1]),
            SET: lambda raw: set(self._all(raw, 1)),
            FROZEN: lambda raw: frozenset(self._all(raw, 1)),
            MAP: self._map,
            STRUCT: self._struct,
            ENUM: lambda raw: self._named[raw[1]](raw[2]),
            LARGE: lambda raw: int.from_bytes(raw[1], "big", signed=True),
            SAME: self._same,
            AGAIN: lambda raw: self._kept[raw[1]],
            COLUMNS: _rows,
        }

    def read(self, raw: Any) -> Any:
        """The value of what `ValueWriter.write` wrote."""
        return self._readers[raw[0]](raw) if type(raw) is list else raw

    def _all(self, raw: list[Any], start: int) -> list[Any]:
        read = self.read
        return [read(one) if type(one) is list else one for one in raw[start:]]

    def _map(self, raw: list[Any]) -> dict[Any, Any]:
        flat = self._all(raw, 1)
        return dict(zip(flat[::2], flat[1::2], strict=True))

    def _struct(self, raw: list[Any]) -> Any:
        kind = self._named[raw[1]]
        fields = kind.__struct_fields__  # type: ignore[attr-defined]  # a struct, by the table
        return kind(**dict(zip(fields, self._all(raw, 2), strict=True)))

    def _same(self, raw: list[Any]) -> Any:
        kind, place = self._named[raw[1]], len(self._kept)
        self._kept.append(None)
        document = kind in self._documents
        self._kept[place] = msgspec.convert(raw[2], kind) if document else self.read(raw[2])
        return self._kept[place]


UNREADABLE: Final = (
    AttributeError,
    IndexError,
    KeyError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
    msgspec.MsgspecError,
)


def _large(value: int) -> list[Any]:
    """MessagePack has 64 bits; a bit mask may have a thousand."""
    return [LARGE, value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)]


def _enum(value: Enum) -> list[Any]:
    return [ENUM, type(value).__name__, value.value]


def _columns(tag: int, maxlen: int | None, rows: list[Any] | deque[Any]) -> list[Any] | None:
    """Columns of differences; None where these are no rows of integers."""
    if len(rows) < FEWEST_ROWS or set(map(type, rows)) != {tuple}:
        return None
    width = len(rows[0])
    flat = list(chain.from_iterable(rows))
    if width == 0 or set(map(len, rows)) != {width} or set(map(type, flat)) != {int}:
        return None
    if min(flat) <= -_ROW_LIMIT or max(flat) >= _ROW_LIMIT:
        return None
    columns = [flat[index::width] for index in range(width)]
    return [COLUMNS, tag, maxlen, *([column[0], *map(sub, column[1:], column)] for column in columns)]


def _rows(raw: list[Any]) -> list[Any] | deque[Any]:
    rows = zip(*(accumulate(column) for column in raw[3:]), strict=True)
    return list(rows) if raw[1] == LIST else deque(rows, maxlen=raw[2])
