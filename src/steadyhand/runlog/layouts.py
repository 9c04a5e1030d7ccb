"""How a channel's payload is laid out, as a value: written into the schema record, and hashed.

A reader of another language finds in it what it needs; a reader of ours compares the hash and refuses by
name what was written with another layout (R16). Made from the types themselves, so it cannot drift.
"""

import hashlib
from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import inspect

Layout = dict[str, Any]

_SCALARS: Final[dict[type[inspect.Type], str]] = {
    inspect.AnyType: "any",
    inspect.NoneType: "null",
    inspect.BoolType: "bool",
    inspect.IntType: "int",
    inspect.FloatType: "f64",
    inspect.StrType: "text",
    inspect.BytesType: "bytes",
}


def layout_hash(layout: Layout) -> str:
    """SHA-256 of a layout's canonical JSON, 64 hexadecimal digits."""
    return hashlib.sha256(msgspec.json.encode(layout, order="deterministic")).hexdigest()


def packed_layout(kind: Any) -> Layout:
    """The layout of a value packed as MessagePack."""
    return {"encoding": "msgpack", "value": describe(inspect.type_info(kind))}


def json_layout(kind: Any) -> Layout:
    """The layout of a value written as JSON."""
    return {"encoding": "json", "value": describe(inspect.type_info(kind))}


def describe(info: inspect.Type) -> Any:
    """A type as JSON: scalars by name, everything else as an object with one telling key.

    Raises:
        TypeError: a kind of type that no message of ours has.
    """
    scalar = _SCALARS.get(type(info))
    if scalar is not None:
        return scalar
    for kind, tell in _TELLERS.items():
        if isinstance(info, kind):
            return tell(info)
    raise TypeError(f"no layout for {type(info).__name__}")


def _struct(info: Any) -> Any:
    fields = [
        {"name": field.encode_name, "type": describe(field.type), "required": field.required}
        for field in info.fields
    ]
    told: dict[str, Any] = {"struct": info.cls.__name__, "as": "list" if info.array_like else "map"}
    if info.tag is not None:
        told["tag"] = {info.tag_field: info.tag}
    return told | {"fields": fields}


def _items(info: Any) -> Any:
    return {"list of": describe(info.item_type)}


_TELLERS: Final[dict[type[inspect.Type], Callable[[Any], Any]]] = {
    inspect.StructType: _struct,
    inspect.VarTupleType: _items,
    inspect.ListType: _items,
    inspect.TupleType: lambda info: {"tuple": [describe(item) for item in info.item_types]},
    inspect.DictType: lambda info: {"map": [describe(info.key_type), describe(info.value_type)]},
    inspect.EnumType: lambda info: {"one of": [member.value for member in info.cls]},
    inspect.LiteralType: lambda info: {"one of": list(info.values)},
    inspect.UnionType: lambda info: {"any of": [describe(one) for one in info.types]},
}
