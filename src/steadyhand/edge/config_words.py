"""The words of configuration errors: what was expected, what was found, what is probably meant."""

import difflib
import math
from collections.abc import Iterator
from types import UnionType
from typing import Any, Final, Union, get_args, get_origin

import msgspec
from msgspec import inspect

from steadyhand.edge.strict_yaml import number_text

_SHOWN_LENGTH: Final = 40
_LARGEST_EXACT: Final = 1e15


def fields_of(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """Key to annotation, in the struct's order."""
    return {field.name: field.type for field in msgspec.structs.fields(struct)}


def structs_in(expected: Any) -> tuple[type[msgspec.Struct], ...]:
    """The structs an annotation allows: one, several told apart by a tag, none for a plain value."""
    candidates = get_args(expected) if get_origin(expected) in (Union, UnionType) else (expected,)
    return tuple(kind for kind in candidates if isinstance(kind, type) and issubclass(kind, msgspec.Struct))


def nearest_key(root: type[msgspec.Struct], known: list[str], key: str) -> str:
    """Hint for an unknown `key` among the `known` ones of its block.

    A key that exists in another block of `root` was put in the wrong one, which no spelling
    cures; so that is looked for first. Nothing known means that the value above is no block.
    """
    if not known:
        return "the value above it has no keys"
    elsewhere = next((path for path in _paths(root) if path.endswith(f".{key}")), None)
    if elsewhere is not None:
        return f"did you mean {elsewhere}?"
    near = difflib.get_close_matches(key, known, n=1)
    return f"did you mean {near[0]}?" if near else f"known keys: {', '.join(known)}"


def _paths(struct: type[msgspec.Struct], prefix: str = "") -> Iterator[str]:
    for name, annotation in fields_of(struct).items():
        yield prefix + name
        for inner in structs_in(annotation):
            yield from _paths(inner, f"{prefix}{name}.")


def describe(expected: Any) -> str:
    """An annotation in the words of somebody who writes YAML."""
    return _describe_type(inspect.type_info(expected))


def _describe_type(expected: inspect.Type) -> str:
    match expected:
        case inspect.FloatType(gt=above, ge=lowest, lt=below, le=highest):
            return "a number" + _bounds(above, lowest, below, highest)
        case inspect.IntType(gt=above, ge=lowest, lt=below, le=highest):
            return "a whole number" + _bounds(above, lowest, below, highest)
        case inspect.BoolType():
            return "true or false"
        case inspect.StrType(max_length=longest):
            return "text" if longest is None else f"text of 1 to {longest} characters"
        case inspect.LiteralType(values=values):
            return " or ".join(map(str, values))
        case inspect.UnionType(types=types):
            return " or ".join(dict.fromkeys(map(_describe_type, types)))
        case inspect.VarTupleType(item_type=item, min_length=fewest, max_length=most):
            counted = f" of {fewest or 0} to {most}" if most is not None else ""
            return f"a list{counted}, each entry {_describe_type(item)}"
        case inspect.TupleType(item_types=items):
            return f"a list of {len(items)}, each entry {_describe_type(items[0])}"
        case inspect.NoneType():
            return "null"
        case _:
            return "a block of keys"


def _bounds(above: float | None, lowest: float | None, below: float | None, highest: float | None) -> str:
    words = [
        f" {word} {bound:g}"
        for word, bound in (("above", above), ("from", lowest), ("below", below), ("to", highest))
        if bound is not None
    ]
    return "".join(words)


def found(value: Any) -> str:
    """A parsed YAML value in a few words, however long or strange it is."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case int() if value.bit_length() > 64:
            return "a very large number"
        case int() | float():
            return f"the number {value}"
        case str():
            text = value if len(value) <= _SHOWN_LENGTH else value[:_SHOWN_LENGTH] + "…"
            return f"the text {text!r}"
        case list() | tuple():
            return "an empty list" if not value else "a list"
        case _:
            return "a block of keys"


def remedy(expected: Any, value: Any) -> str:
    """What to write instead, where the mistake is one that YAML or a slip of the hand invites."""
    info = inspect.type_info(expected)
    kinds = info.types if isinstance(info, inspect.UnionType) else (info,)
    if isinstance(value, bool):
        wants_text = any(isinstance(kind, inspect.StrType | inspect.LiteralType) for kind in kinds)
        return "YAML reads yes, no, on and off as true or false; put text in quotes" if wants_text else ""
    if isinstance(value, int | float):
        return "put text in quotes" if any(isinstance(kind, inspect.StrType) for kind in kinds) else ""
    if not isinstance(value, str):
        return ""
    if any(isinstance(kind, inspect.FloatType | inspect.IntType) for kind in kinds):
        number = _number_in(value)
        if number is not None:
            return f"YAML takes this for text; write {number}, without quotes"
    choices = [
        str(option) for kind in kinds if isinstance(kind, inspect.LiteralType) for option in kind.values
    ]
    near = difflib.get_close_matches(value, choices, n=1)
    return f"did you mean {near[0]}?" if near else ""


def _number_in(text: str) -> str | None:
    """The number that `text` spells, as YAML 1.1 would read it as one; None where it spells none."""
    try:
        number = float(text)
    except ValueError:
        return None
    whole = math.isfinite(number) and number.is_integer() and abs(number) < _LARGEST_EXACT
    return str(int(number)) if whole else number_text(number)
