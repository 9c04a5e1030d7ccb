"""From a value to rows of a table: flat, with a name for every number.

One record is one row, but for the reference: one row per sample, and none for a tick without one
(document 002 §4). Joints become numbered columns, free-form parts become JSON in one.
"""

from enum import Enum
from typing import Any, Final

import msgspec

from steadyhand.core.follower.outputs import Released, SendJoints
from steadyhand.ground.stamps import s_from_ns
from steadyhand.runlog.planner_reference import Reference
from steadyhand.runlog.scan import Record

Scalar = int | float | str | bool | None
Row = dict[str, Scalar]

LONGEST_SPREAD: Final = 16
"""Numbers in a row that get columns of their own; more than an arm has joints are one JSON cell."""

_AXES: Final = ("x", "y", "z")

REFERENCE_COLUMNS: Final[dict[str, type]] = {
    "t_ns": int, "t_s": float, "count": int, "index": int, "sample_t_ns": int,
    **{f"{letter}_{axis}": float for letter in "pva" for axis in _AXES},
    "yaw": float, "progress": float,
}  # fmt: skip
"""Of `reference.csv` in a flight log, as document 002 has them."""


def rows_of(record: Record, value: Any) -> list[Row]:
    """The rows of one record.

    Args:
        record: for its time.
        value: what its payload says; None is a tick that had none.
    """
    stamp: Row = {"t_ns": record.time_ns, "t_s": s_from_ns(record.time_ns)}
    match value:
        case None:
            return []
        case Reference(samples=samples):
            return [
                stamp | {"count": len(samples), "index": index} | _sample(one)
                for index, one in enumerate(samples)
            ]
        case Released():
            sample: Row = {"count": 1, "index": 0, "sample_t_ns": value.released_ns, "seq": value.seq}
            rest: Row = {"kind": value.kind.value, "arrived_ns": value.arrived_ns}
            return [stamp | sample | rest | spread("target_deg", value.target_deg)]
        case SendJoints():
            frame: Row = {"seq": value.seq, "kind": value.kind.value}
            return [stamp | frame | spread("joints_deg", value.joints_deg)]
        case _:
            row: Row = {}
            _flatten("", value, row)
            return [stamp | row]


def spread(name: str, values: tuple[float, ...]) -> Row:
    """Numbered columns, from 1 as joints are counted."""
    return {f"{name}_{index}": value for index, value in enumerate(values, start=1)}


def _sample(sample: Any) -> Row:
    vectors = zip("pva", (sample.position_m, sample.velocity_m_s, sample.acceleration_m_s2), strict=True)
    row: Row = {"sample_t_ns": sample.t_ns}
    for letter, vector in vectors:
        row |= {f"{letter}_{axis}": value for axis, value in zip(_AXES, vector, strict=True)}
    return row | {"yaw": sample.yaw_rad, "progress": sample.progress}


def _flatten(name: str, value: Any, row: Row) -> None:
    """Lay `value` into `row`; a part of a struct is named by its way there."""
    match value:
        case msgspec.Struct():
            if value.__struct_config__.tag is not None:
                row[_under(name, "type")] = str(value.__struct_config__.tag)
            for field in value.__struct_fields__:
                _flatten(_under(name, field), getattr(value, field), row)
        case bytes():
            row[name or "bytes"] = value.hex()
        case Enum():
            row[name] = value.value
        case tuple() if 0 < len(value) <= LONGEST_SPREAD and all(type(one) is float for one in value):
            row |= spread(name, value)
        case int() | float() | str() | None:
            row[name] = value
        case _:
            row[name or "json"] = msgspec.json.encode(value).decode()


def _under(name: str, field: str) -> str:
    return f"{name}_{field}" if name else field
