"""The house itself: what is written down about the project holds."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

import steadyhand

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src" / "steadyhand"
PURE = [path for room in ("ground", "wire", "core") for path in (SOURCES / room).rglob("*.py")]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def requirement_names(extra: str | None = None) -> set[str]:
    wanted = PROJECT["dependencies"] if extra is None else PROJECT["optional-dependencies"][extra]
    names = {re.split(r"[\[<>=~!; ]", requirement)[0].lower() for requirement in wanted}
    return names - {"steadyhand"}


def test_the_version_is_said_once() -> None:
    assert PROJECT["version"] == steadyhand.__version__


@pytest.mark.parametrize("extra", [None, "peers", "dev"])
def test_every_requirement_is_pinned_to_a_tested_version(extra: str | None) -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = {line.partition("==")[0].lower() for line in lines if "==" in line}
    assert requirement_names(extra) <= pinned


def test_every_runtime_requirement_has_both_bounds() -> None:
    assert all(">=" in requirement and "<" in requirement for requirement in PROJECT["dependencies"])


def test_every_requirement_is_explained() -> None:
    told = (ROOT / "docs" / "decisions" / "0002-dependencies.md").read_text(encoding="utf-8").lower()
    assert [name for name in requirement_names() if f"| {name} |" not in told] == []


def calls_in(path: Path) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]


def test_chance_below_edge_is_handed_in_and_only_drawn() -> None:
    """R17: no dice but a handed-in `random.Random`, of which only `.random()` is called."""
    for path in PURE:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                assert all(alias.name != "random" for alias in node.names), path
            if isinstance(node, ast.ImportFrom) and node.module == "random":
                assert {alias.name for alias in node.names} == {"Random"}, path
        assert "Random" not in calls_in(path), path


def test_no_assert_bears_a_load() -> None:
    """`assert` vanishes under -O."""
    for path in SOURCES.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert not [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Assert)], path


def test_links_between_the_pages_lead_somewhere() -> None:
    pages = [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} -> {target}"
