"""Snapshots of any object: every type kept, one form for a state, references as they were."""

from collections import deque
from enum import StrEnum
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadyhand.core.snapshot import SnapshotPlan, Snapshots
from steadyhand.core.snapshot_values import SnapshotError, ValueReader, ValueTypes, ValueWriter


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Point(msgspec.Struct, frozen=True, kw_only=True):
    x: float
    tags: tuple[str, ...] = ()


class Slot(msgspec.Struct, frozen=True):
    value: int


class Config(msgspec.Struct, frozen=True):
    limits: tuple[tuple[float, float], ...] = ()


TYPES = ValueTypes(structs=(Point,), same=(Slot,), documents=(Config,), enums=(Colour,))


def there_and_back(value: Any) -> Any:
    written = msgspec.msgpack.encode(ValueWriter(TYPES).write(value))
    read = ValueReader(TYPES).read(msgspec.msgpack.decode(written))
    assert msgspec.msgpack.encode(ValueWriter(TYPES).write(read)) == written
    return read


def kinds(value: Any) -> Any:
    """Types all the way down: 1, 1.0 and True are equal and not the same."""
    if isinstance(value, dict):
        return [dict, [(kinds(key), kinds(held)) for key, held in value.items()]]
    if isinstance(value, (tuple, list, deque)):
        return [type(value), getattr(value, "maxlen", None), list(map(kinds, value))]
    return type(value)


scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(1 << 70), 1 << 70)
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
    | st.binary(max_size=5)
    | st.sampled_from(Colour)
)
values = st.recursive(
    scalars | st.builds(Point, x=st.floats(allow_nan=False), tags=st.tuples(st.text(max_size=3))),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.lists(inner, max_size=4).map(lambda some: deque(some, maxlen=9)),
        st.dictionaries(st.integers() | st.tuples(st.integers(), st.integers()), inner, max_size=3),
    ),
    max_leaves=12,
)


@given(values)
def test_every_value_comes_back_as_it_was(value: Any) -> None:
    read = there_and_back(value)
    assert read == value
    assert kinds(read) == kinds(value)


@given(
    st.lists(st.tuples(st.integers(-(1 << 63), 1 << 64), st.integers(0, 300)), max_size=30),
    st.sampled_from([list, deque]),
)
def test_rows_of_integers_come_back_whatever_their_size(rows: list[Any], kind: Any) -> None:
    assert there_and_back(kind(rows)) == kind(rows)


@pytest.mark.parametrize(
    "rows",
    [
        [()] * 9,
        [(1, 2)] * 8 + [(1,)],
        [(1, True)] * 9,
        [(1, 2.0)] * 9,
        [(1, 2)] * 8 + [[1, 2]],
        [((1,), 2)] * 9,
    ],
)
def test_what_only_looks_like_rows_of_integers_keeps_its_types(rows: list[Any]) -> None:
    assert kinds(there_and_back(rows)) == kinds(rows)


def test_a_thousand_rows_cost_few_bytes_each() -> None:
    rows = deque([(10**15 + number * 10_000_000, 200 + number % 3) for number in range(1_000)])
    assert len(msgspec.msgpack.encode(ValueWriter(TYPES).write(rows))) < 7_000


def test_a_deque_keeps_its_bound_and_a_map_its_order() -> None:
    assert there_and_back(deque([1], maxlen=4)).maxlen == 4
    assert list(there_and_back({2: "b", 1: "a"})) == [2, 1]


def test_a_set_has_one_form_whatever_its_history() -> None:
    write = ValueWriter(TYPES).write
    assert write({1, 9, 1 << 40}) == write({1 << 40, 9, 1})
    assert there_and_back({3, 4}) == {3, 4}
    assert type(there_and_back(frozenset({Colour.RED}))) is frozenset


def test_floats_are_exact_and_a_nan_is_one() -> None:
    bits = (0.1, -0.0, 5e-324, float("inf"), float("nan"))
    assert list(map(repr, there_and_back(bits))) == list(map(repr, bits))


def test_what_is_told_by_identity_stays_one_object() -> None:
    slot, config = Slot(5), Config(limits=((1.0, 2.0),))
    one, again, other, first, second = there_and_back((slot, slot, Slot(5), config, config))
    assert one is again
    assert one is not other
    assert first is second
    assert (one, first) == (slot, config)


def test_a_value_of_a_class_that_is_not_named_is_refused() -> None:
    for value in (complex(1), object(), [object()], {1: bytearray()}):
        with pytest.raises(SnapshotError, match="not among what a snapshot can hold"):
            ValueWriter(TYPES).write(value)


# ---- parts


class Wall:
    __slots__ = ("hits",)

    def __init__(self) -> None:
        self.hits = 0


class Room:
    def __init__(self, wall: Wall) -> None:
        self.near: Wall | None = wall
        self.steps: deque[int] = deque()
        self.key = object()


class House:
    def __init__(self) -> None:
        self.walls = {"north": Wall(), "south": Wall()}
        self.room = Room(self.walls["north"])
        self.say = print


PLAN = SnapshotPlan(
    parts=(House, Room, Wall),
    values=TYPES,
    built=(type(print),),
    left_out={Room: frozenset({"key"})},
    refers={Room: frozenset({"near"})},
)


def test_a_part_comes_back_in_its_place_and_names_the_same_neighbour() -> None:
    house, snapshots = House(), Snapshots(PLAN)
    house.room.near = house.walls["south"]
    house.walls["south"].hits = 3
    house.room.steps.append(7)
    taken = snapshots.take(house)
    fresh = House()
    kept = fresh.walls["south"]
    snapshots.put(fresh, taken)
    assert fresh.room.near is kept
    assert (kept.hits, fresh.walls["north"].hits, fresh.room.steps) == (3, 0, deque([7]))
    assert snapshots.take(fresh) == taken


def test_a_neighbour_may_be_nobody_and_come_back_so() -> None:
    house, fresh, snapshots = House(), House(), Snapshots(PLAN)
    house.room.near = None
    snapshots.put(fresh, snapshots.take(house))
    assert fresh.room.near is None


def test_a_neighbour_that_nobody_owns_is_refused() -> None:
    house = House()
    house.room.near = Wall()
    with pytest.raises(SnapshotError, match=r"Room\.near: nobody owns this part"):
        Snapshots(PLAN).take(house)


def test_an_attribute_that_came_later_is_written_too() -> None:
    house, snapshots = House(), Snapshots(PLAN)
    snapshots.take(house)
    vars(house.room)["late"] = 1
    assert dict(snapshots.take(house))["Room"]["late"] == 1
    with pytest.raises(SnapshotError, match="Room: written and read by other versions: late"):
        snapshots.put(House(), snapshots.take(house))


def test_what_has_to_follow_a_restore_follows_when_all_is_filled() -> None:
    seen: list[int] = []
    plan = msgspec.structs.replace(PLAN, afterwards={Room: lambda room: seen.append(room.near.hits)})
    house = House()
    house.walls["north"].hits = 9
    Snapshots(plan).put(House(), Snapshots(plan).take(house))
    assert seen == [9]
