"""`docs/rules/playout.md` says what the code does, and every rule has a test."""

import ast
import importlib
from functools import cache
from pathlib import Path

import pytest

from steadyhand.core import playout
from steadyhand.core.playout import DRAIN_LADDER, Offer, config
from steadyhand.view.rules import (
    ARRIVAL_TUNABLES,
    PAGE,
    PINNED_BY,
    RULE_TUNABLES,
    every_tunable,
    main,
    playout_page,
)
from steadyhand.view.rules_source import read_flush_paths, read_ladder, read_members, read_tunables

ROOT = Path(__file__).parents[2]
PLAYOUT = Path(playout.__path__[0])
RULES = [rule.__name__ for rule in DRAIN_LADDER]


def section(page: str, name: str) -> str:
    """What stands on the page under the heading `name`."""
    _, _, after = page.partition(f"\n### {name}\n")
    return after.partition("\n#")[0]


@cache
def buffer_tests() -> set[str]:
    """Names of all test functions under tests/core/playout."""
    names: set[str] = set()
    for path in sorted((ROOT / "tests/core/playout").glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                names.add(node.name)
    return names


def test_the_committed_page_matches_the_code() -> None:
    committed = (ROOT / "docs/rules" / PAGE).read_bytes()
    assert committed == playout_page().encode(), f"docs/rules/{PAGE} has drifted: run `make rules`"


@pytest.mark.parametrize("name", RULES)
def test_rule_page_and_test_make_a_triangle(name: str) -> None:
    on_page = section(playout_page(), name)
    assert on_page, f"{name} has no section"
    pinned = PINNED_BY[name]
    assert pinned, f"no test is named for {name}"
    assert set(pinned) <= buffer_tests()
    assert all(f"`{test}`" in on_page for test in pinned)


def test_the_ladder_stands_on_the_page_in_its_order() -> None:
    page = playout_page()
    places = [page.index(f"| {order} | [`{name}`](#{name}) |") for order, name in enumerate(RULES, start=1)]
    assert places == sorted(places)


def test_housekeeping_never_decides_a_gate_may_and_the_last_always_does() -> None:
    entries = read_ladder()
    for entry in entries:
        assert bool(entry.answers) == (entry.kind == "gate"), entry.name
    assert [entry.name for entry in entries if not entry.passes] == [RULES[-1]]


def test_verdicts_are_read_through_the_private_functions_a_rule_calls() -> None:
    answers = {entry.name: set(entry.answers) for entry in read_ladder()}
    assert answers["prefill_gate"] == {"hold (prefill)", "hold (underrun)", "stall (underrun)"}
    assert answers["conceal_hole"] == {"release (synthetic)"}
    assert answers["pop_head"] == {"release (received)"}


def test_every_rule_names_its_source() -> None:
    assert [entry.name for entry in read_ladder() if not entry.source] == []


def test_a_rule_is_shown_with_every_tunable_its_code_mentions() -> None:
    known = set(read_tunables())
    for rule in DRAIN_LADDER:
        mentioned = known & set(rule.__code__.co_names)
        assert mentioned <= set(RULE_TUNABLES.get(rule.__name__, ())), rule.__name__


def test_every_number_of_the_buffer_is_on_the_page_with_its_meaning() -> None:
    """Public constants of core/playout that are numbers; none may be known to the code alone."""
    modules = [importlib.import_module(f"{playout.__name__}.{path.stem}") for path in PLAYOUT.glob("*.py")]
    numbers = {
        name
        for module in modules
        for name, value in vars(module).items()
        if name.isupper() and not name.startswith("_") and isinstance(value, int | float)
    }
    told = every_tunable()
    borrowed = {"HALF_WINDOW", "NS_PER_MS", "NS_PER_S", "SEQ_MASK", "SEQ_MODULUS"}
    assert numbers - borrowed - {"UNKNOWN_CLOCK"} == set(told)
    assert {"SENDER_STALL_PERIODS", "JITTER_GAIN", "LOSS_GAIN", "MAX_TOMBSTONES"} <= set(told)
    assert [name for name, (_, meaning) in told.items() if not meaning] == []


def test_the_tables_name_only_what_there_is() -> None:
    known = set(every_tunable())
    assert set(PINNED_BY) == set(RULES)
    assert set(RULE_TUNABLES) <= set(RULES)
    assert {name for names in RULE_TUNABLES.values() for name in names} <= known
    assert set(ARRIVAL_TUNABLES) <= known


def test_tunables_carry_their_value_in_words_of_their_unit() -> None:
    known = read_tunables()
    assert known["AGE_CAP_MARGIN_FLOOR_NS"][0] == f"{config.AGE_CAP_MARGIN_FLOOR_NS / 1e6:g} ms"
    assert known["INTERP_MAX_GAP"][0] == str(config.INTERP_MAX_GAP)


def test_every_arrival_verdict_and_every_flush_path_is_explained() -> None:
    from steadyhand.core.playout import verdicts

    told = read_members(verdicts, "Offer")
    assert list(told) == [verdict.value for verdict in Offer]
    assert all(told.values())
    paths = read_flush_paths()
    assert {"flush_for_estop", "flush_lifecycle", "forget_numbering", "stall"} <= set(paths)
    assert all(paths.values())


def test_the_command_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "rules")]) == 0
    assert (tmp_path / "rules" / PAGE).read_text(encoding="utf-8") == playout_page()
    assert capsys.readouterr().out == f"{tmp_path / 'rules' / PAGE}\n"


@pytest.mark.parametrize("arguments", [[], ["one", "two"]])
def test_the_command_says_how_it_is_called(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err.startswith("usage: ")


def test_a_directory_that_cannot_be_made_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert main([str(tmp_path / "file")]) == 2
    error = capsys.readouterr().err
    assert "cannot write the rules" in error
    assert error.count("\n") == 1
