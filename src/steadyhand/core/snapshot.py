"""What an object remembers, as canonical bytes, and put back into one that was built anew (R17).

An object of the core is made of *parts*, and each part has attributes. What construction gives a part
(configuration, functions, keys) is never written: a snapshot is put into a fresh object that was built
from the same settings, and fills in what the first one had learned since. Every attribute is written
unless a table says otherwise, so that a new one cannot be forgotten; a class that no table names is an
error, and a test meets it before a user does.

Same state, same bytes: parts come in the order of their first reference, attributes by name, sets sorted.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from steadyhand.core.snapshot_values import UNREADABLE, SnapshotError, ValueReader, ValueTypes, ValueWriter

PART: Final = 12
"""Tag of a reference to a part, beside the tags of values."""

_NONE: Final[frozenset[str]] = frozenset()
_Held = list[tuple[str, Any]]
"""Names and values of the attributes that are written of a part."""


class SnapshotPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Which classes a snapshot knows, and what is not simply written.

    Attributes:
        parts: classes with a state of their own, filled in place.
        values: what their attributes may hold.
        fixed: parts that only lead to others; nothing of their own is written.
        built: classes that only construction makes; an attribute that holds one is not written.
        left_out: attributes that construction alone gives, or that must not be written (keys).
        refers: attributes that name one of a part's neighbours, or None; the neighbour is owned elsewhere.
        afterwards: to be called on a part once all are filled.
    """

    parts: tuple[type, ...]
    values: ValueTypes
    fixed: tuple[type, ...] = ()
    built: tuple[type, ...] = ()
    left_out: dict[type, frozenset[str]] = {}
    refers: dict[type, frozenset[str]] = {}
    afterwards: dict[type, Callable[[Any], None]] = {}


class Snapshots:
    """Takes and puts back the state of objects that are made of a plan's parts."""

    def __init__(self, plan: SnapshotPlan) -> None:
        plan.values.by_name()
        self._plan = plan
        self._parts = frozenset((*plan.parts, *plan.fixed))
        self._built = frozenset(plan.built)
        self._names: dict[type, tuple[int, tuple[str, ...]]] = {}

    def take(self, root: object) -> list[Any]:
        """Every part with its attributes, as plain data for MessagePack.

        Raises:
            SnapshotError: something of a class that the plan does not name.
        """
        layout = self._layout(root)
        numbers = {id(part): number for number, (part, _) in enumerate(layout)}
        writer = ValueWriter(self._plan.values)
        return [[type(part).__name__, self._taken(part, held, numbers, writer)] for part, held in layout]

    def put(self, root: object, taken: list[Any]) -> None:
        """Fill a freshly built object with what `take` wrote of one that was built alike.

        Raises:
            SnapshotError: it was taken of an object that was made otherwise, or is no snapshot.
        """
        layout = self._layout(root)
        spine = [part for part, _ in layout]
        reader = ValueReader(self._plan.values)
        try:
            if [raw[0] for raw in taken] != [type(part).__name__ for part in spine]:
                raise SnapshotError("the snapshot is of an object with other parts")
            for (part, held), (_, attributes) in zip(layout, taken, strict=True):
                _refuse_others(part, held, attributes)
                for name, raw in attributes.items():
                    is_part = type(raw) is list and raw[0] == PART
                    setattr(part, name, spine[raw[1]] if is_part else reader.read(raw))
        except UNREADABLE as error:
            raise SnapshotError(f"unreadable: {error!r}") from error
        for part in spine:
            finish = self._plan.afterwards.get(type(part))
            if finish is not None:
                finish(part)

    def _layout(self, root: object) -> list[tuple[object, _Held]]:
        """Every part, in the order of first reference, with what is written of it, by name."""
        layout: list[tuple[object, _Held]] = []
        seen: set[int] = set()

        def visit(part: object) -> None:
            if id(part) in seen:
                return
            seen.add(id(part))
            children: list[object] = []
            held = self._split(part, children)
            layout.append((part, held))
            for child in children:
                visit(child)

        visit(root)
        return layout

    def _split(self, part: object, children: list[object]) -> _Held:
        """What is written of a part; the parts that it owns are added to `children`."""
        built, parts, held = self._built, self._parts, []
        refers = self._plan.refers.get(type(part), _NONE)
        for name in self._attributes(part):
            value = getattr(part, name)
            kind = type(value)
            if name in refers:
                held.append((name, value))
            elif kind in parts:
                children.append(value)
            elif kind is dict and value and type(next(iter(value.values()))) in parts:
                children += value.values()
            elif kind not in built:
                held.append((name, value))
        return [] if type(part) in self._plan.fixed else held

    def _taken(
        self, part: object, held: _Held, numbers: dict[int, int], writer: ValueWriter
    ) -> dict[str, Any]:
        taken: dict[str, Any] = {}
        refers, name = self._plan.refers.get(type(part), _NONE), ""
        try:
            for name, value in held:
                if name in refers and value is not None:
                    taken[name] = [PART, numbers[id(value)]]
                else:
                    taken[name] = writer.write(value)
        except KeyError:
            raise SnapshotError("nobody owns this part", where=f"{type(part).__name__}.{name}") from None
        except SnapshotError as error:
            raise SnapshotError(error.what, where=f"{type(part).__name__}.{name}") from None
        return taken

    def _attributes(self, part: object) -> tuple[str, ...]:
        """Names of a part's attributes, sorted, without those left out."""
        kind = type(part)
        held = getattr(part, "__dict__", ())
        known = self._names.get(kind)
        if known is None or known[0] != len(held):
            names = {*held, *getattr(kind, "__struct_fields__", ())}
            for one in kind.__mro__:
                names.update(one.__dict__.get("__slots__", ()))
            names -= self._plan.left_out.get(kind, _NONE)
            known = self._names[kind] = (len(held), tuple(sorted(names)))
        return known[1]


def _refuse_others(part: object, held: _Held, attributes: dict[str, Any]) -> None:
    """A version that remembers something else has other attributes."""
    expected = [name for name, _ in held]
    if list(attributes) != expected:
        odd = ", ".join(sorted(set(attributes) ^ set(expected)))
        raise SnapshotError(f"written and read by other versions: {odd}", where=type(part).__name__)
