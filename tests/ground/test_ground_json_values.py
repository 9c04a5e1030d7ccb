"""Bounds on free-form JSON."""

import math
from typing import Any

import pytest

from steadyhand.ground.json_values import MAX_JSON_DEPTH, MAX_JSON_VALUES, JsonFault, refuse_unsendable


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def test_depth_is_bounded() -> None:
    assert refuse_unsendable(_nested(MAX_JSON_DEPTH), "x") is None
    refusal = refuse_unsendable(_nested(MAX_JSON_DEPTH + 1), "x")
    assert refusal is not None
    assert refusal.fault is JsonFault.TOO_DEEP
    assert str(refusal) == "too_deep at x" + "[0]" * MAX_JSON_DEPTH


def test_depth_counts_what_the_value_stands_in() -> None:
    assert refuse_unsendable(_nested(MAX_JSON_DEPTH - 1), "x", depth=1) is None
    assert refuse_unsendable(_nested(MAX_JSON_DEPTH), "x", depth=1) is not None


def test_a_hundred_thousand_levels_are_refused_without_recursion() -> None:
    refusal = refuse_unsendable(_nested(100_000), "x")
    assert refusal is not None
    assert refusal.fault is JsonFault.TOO_DEEP


def test_a_value_inside_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert refuse_unsendable(loop, "x") is not None
    wide: list[Any] = []
    wide.extend([wide] * 100)
    assert refuse_unsendable(wide, "x") is not None


def test_the_number_of_values_is_bounded() -> None:
    assert refuse_unsendable([0] * (MAX_JSON_VALUES - 1), "x") is None
    refusal = refuse_unsendable([0] * MAX_JSON_VALUES, "x")
    assert refusal is not None
    assert refusal.fault is JsonFault.TOO_MANY_VALUES


@pytest.mark.parametrize(
    ("value", "fault", "path"),
    [
        ({"a": [1, math.nan]}, JsonFault.NON_FINITE, "x.a[1]"),
        ({"a": {"b": 1 << 64}}, JsonFault.INT_TOO_LARGE, "x.a.b"),
        ([-(1 << 63) - 1], JsonFault.INT_TOO_LARGE, "x[0]"),
        ({"a": "\udfff"}, JsonFault.BAD_TEXT, "x.a"),
        ({"\udfff": 1}, JsonFault.BAD_TEXT, "x"),
        ({1: 1}, JsonFault.NOT_JSON, "x"),
        ({"a": {1, 2}}, JsonFault.NOT_JSON, "x.a"),
        ([b"x"], JsonFault.NOT_JSON, "x[0]"),
    ],
)
def test_what_json_cannot_carry_is_refused_with_its_place(value: Any, fault: JsonFault, path: str) -> None:
    refusal = refuse_unsendable(value, "x")
    assert refusal is not None
    assert (refusal.fault, refusal.path) == (fault, path)


@pytest.mark.parametrize("value", [-(1 << 63), (1 << 64) - 1, "größe", "\x00", 1.5, True, None, {}, []])
def test_what_json_carries_is_not_refused(value: Any) -> None:
    assert refuse_unsendable(value, "x") is None
