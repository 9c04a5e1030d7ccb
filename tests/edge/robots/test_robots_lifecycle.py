"""Both lifecycles, over the whole product of states and events."""

import itertools
from pathlib import Path

import pytest

from steadyhand.edge.robots.contract import (
    CONTROL_TABLE,
    DATA_TABLE,
    Lifecycle,
    LifecycleError,
    PortEvent,
    PortState,
)
from steadyhand.edge.robots.lifecycle import Table

S, E = PortState, PortEvent
TABLES = pytest.mark.parametrize("table", [DATA_TABLE, CONTROL_TABLE], ids=["data", "control"])


def at(table: Table, state: PortState) -> Lifecycle:
    """A lifecycle that was walked to `state`."""
    way = {
        S.UNCONFIGURED: (),
        S.INACTIVE: (E.CONFIGURE,),
        S.SETTLING: (E.CONFIGURE, E.START),
        S.ACTIVE: (E.CONFIGURE, E.START, E.ACCEPTED) if table is DATA_TABLE else (E.CONFIGURE, E.START),
        S.ERROR: (E.FAIL,),
    }
    lifecycle = Lifecycle(table)
    for event in way[state]:
        lifecycle.take(event)
    assert lifecycle.state is state
    return lifecycle


PAIRS = [
    (table, state, event)
    for table, states in ((DATA_TABLE, tuple(S)), (CONTROL_TABLE, tuple(s for s in S if s is not S.SETTLING)))
    for state, event in itertools.product(states, E)
]


@pytest.mark.parametrize(("table", "state", "event"), PAIRS)
def test_every_pair_is_a_move_of_the_table_or_raises_and_changes_nothing(
    table: Table, state: PortState, event: PortEvent
) -> None:
    lifecycle = at(table, state)
    if (state, event) in table:
        assert lifecycle.require(event) is table[state, event]
        assert lifecycle.state is state
        assert lifecycle.take(event) is table[state, event]
    else:
        with pytest.raises(LifecycleError, match=f"{event.value} is not allowed while {state.value}"):
            lifecycle.take(event)
        assert lifecycle.state is state


@TABLES
def test_from_anywhere_into_the_error_state_and_by_recover_or_close_alone_out_of_it(table: Table) -> None:
    assert {table[state, E.FAIL] for state in S if (state, E.FAIL) in table} == {S.ERROR}
    out = {event for event in E if table.get((S.ERROR, event), S.ERROR) is not S.ERROR}
    assert out == {E.RECOVER, E.CLOSE}


@TABLES
def test_stopping_is_allowed_wherever_something_is_open(table: Table) -> None:
    states = tuple(S) if table is DATA_TABLE else (S.INACTIVE, S.ACTIVE, S.ERROR)
    assert all((state, E.END) in table for state in states)


def test_motion_is_reached_through_the_probe_alone() -> None:
    into_active = {pair for pair, state in DATA_TABLE.items() if state is S.ACTIVE}
    assert into_active == {(S.SETTLING, E.ACCEPTED), (S.ACTIVE, E.START)}


def test_the_control_port_knows_no_settling() -> None:
    assert S.SETTLING not in {state for state, _ in CONTROL_TABLE}
    assert S.SETTLING not in CONTROL_TABLE.values()


DOCUMENT = Path(__file__).parents[3] / "docs" / "robots.md"
DATA_COLUMNS = (E.CONFIGURE, E.START, E.ACCEPTED, E.GAVE_UP, E.END, E.FAIL, E.RECOVER, E.CLOSE)
CONTROL_COLUMNS = (E.CONFIGURE, E.START, E.END, E.FAIL, E.RECOVER, E.CLOSE)


@pytest.mark.parametrize(
    ("title", "table", "columns"),
    [("data port", DATA_TABLE, DATA_COLUMNS), ("control port", CONTROL_TABLE, CONTROL_COLUMNS)],
)
def test_the_documents_tables_are_the_codes(title: str, table: Table, columns: tuple[PortEvent, ...]) -> None:
    rows = DOCUMENT.read_text(encoding="utf-8").split(f"\n| {title} |")[1].split("\n\n")[0].splitlines()[2:]
    written: dict[tuple[PortState, PortEvent], PortState] = {}
    for row in rows:
        state, *cells = (cell.strip() for cell in row.strip("|").split("|"))
        pairs = zip(columns, cells, strict=True)
        written |= {(S(state), event): S(cell) for event, cell in pairs if cell != "–"}
    assert written == dict(table)
