"""Bounds on free-form JSON: what may ride along in `extras`, `safety` and `rest_json`.

A value is *sendable* where every JSON reader of every language gives it back unchanged: finite
numbers, integers of 64 bits, Unicode that UTF-8 can carry, string keys. It is *bounded* in depth
and in the number of its values, so that neither a walk nor a writer of it can be made to recurse
or to run for long by whoever sent it.
"""

import math
from enum import StrEnum
from typing import Any, Final, TypeAlias

import msgspec

#: Arrays and objects inside each other. The deepest value described is the wire debug of
#: document 000 §9, `extras.playout.entries[i][j]`: four levels below the state.
MAX_JSON_DEPTH: Final = 8
#: Values in one piece of free-form JSON, each key and each element counted once. Two capped
#: wire-debug strips (64 triples, 64 pairs) are 450 values.
MAX_JSON_VALUES: Final = 2048

_INT_MIN: Final = -(1 << 63)
_INT_MAX: Final = (1 << 64) - 1

#: A value's place in its document: its parent's place, and its key or index there.
_Place: TypeAlias = "tuple[_Place | None, str | int]"


class JsonFault(StrEnum):
    """Why a value is not sendable, bounded JSON."""

    NOT_JSON = "not_json"
    NON_FINITE = "non_finite"
    INT_TOO_LARGE = "int_too_large"
    BAD_TEXT = "bad_text"
    TOO_DEEP = "too_deep"
    TOO_MANY_VALUES = "too_many_values"


class JsonRefusal(msgspec.Struct, frozen=True):
    """The first fault found in a value, and where: `path` reads like `extras.playout.entries[3]`."""

    fault: JsonFault
    path: str

    def __str__(self) -> str:
        return f"{self.fault} at {self.path}"


def refuse_unsendable(value: Any, path: str, *, depth: int = 0) -> JsonRefusal | None:
    """Return the first reason why `value` is not sendable, bounded JSON, or None where it is.

    Walks with a stack of its own, so that depth costs no recursion, and stops at the first fault.

    Args:
        value: anything at all.
        path: the name of `value` in its document, the head of the path in the answer.
        depth: how many arrays and objects `value` stands in already.
    """
    left = MAX_JSON_VALUES - 1
    pending: list[tuple[Any, _Place, int]] = [(value, (None, path), depth)]
    while pending:
        item, place, level = pending.pop()
        kind = type(item)
        if kind is not dict and kind is not list and kind is not tuple:
            fault = _fault_of_scalar(item, kind)
            if fault is not None:
                return JsonRefusal(fault, _path(place))
            continue
        if level >= MAX_JSON_DEPTH:
            return JsonRefusal(JsonFault.TOO_DEEP, _path(place))
        left -= len(item)
        if left < 0:
            return JsonRefusal(JsonFault.TOO_MANY_VALUES, _path(place))
        level += 1
        if kind is not dict:
            pending.extend([(child, (place, i), level) for i, child in enumerate(item)])
            continue
        for key, child in item.items():
            if type(key) is not str:
                return JsonRefusal(JsonFault.NOT_JSON, _path(place))
            if not is_utf8(key):
                return JsonRefusal(JsonFault.BAD_TEXT, _path(place))
            pending.append((child, (place, key), level))
    return None


def _path(place: _Place) -> str:
    """Spell out where a value stands; only ever done for the one that is refused."""
    parent, step = place
    if parent is None:
        return str(step)
    return f"{_path(parent)}[{step}]" if isinstance(step, int) else f"{_path(parent)}.{step}"


def _fault_of_scalar(item: Any, kind: type) -> JsonFault | None:
    """Judge a number, text, true, false or null; anything else is NOT_JSON by itself."""
    if kind is float:
        return None if math.isfinite(item) else JsonFault.NON_FINITE
    if kind is int:
        return None if _INT_MIN <= item <= _INT_MAX else JsonFault.INT_TOO_LARGE
    if kind is str:
        return None if is_utf8(item) else JsonFault.BAD_TEXT
    return None if item is None or kind is bool else JsonFault.NOT_JSON


def is_utf8(text: str) -> bool:
    """Tell whether UTF-8 can carry `text`: a lone surrogate, legal in a Python str, is not text."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
