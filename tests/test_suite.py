"""The suite itself: under -O it is the product that loses its asserts, and not the tests."""

import ast
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
HELPERS = [
    path
    for folder in ("tests", "bench")
    for path in (ROOT / folder).rglob("*.py")
    if not path.name.startswith("test_") and path.name != "conftest.py"
]

PROBE = """
def test_the_interpreter_is_optimised():
    assert not __debug__

def test_one_is_two():
    assert 1 == 2
"""


def run_pytest(*arguments: str, optimize: str, interpreter: tuple[str, ...] = ()) -> tuple[int, str]:
    """Exit code and everything said by a pytest of its own."""
    environment = {name: text for name, text in os.environ.items() if not name.startswith(("PYTEST", "COV"))}
    done = subprocess.run(
        [sys.executable, *interpreter, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        env=environment | {"PYTHONOPTIMIZE": optimize},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=ROOT,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
def test_a_failing_assert_fails_under_optimisation_too(tmp_path: Path) -> None:
    probe = tmp_path / "test_probe.py"
    probe.write_text(PROBE, encoding="utf-8")
    here = ("-n", "1", f"--rootdir={tmp_path}", "-c", os.devnull, str(probe))
    code, said = run_pytest(*here, optimize="1")
    assert code == pytest.ExitCode.TESTS_FAILED, said
    assert "1 failed, 1 passed" in said
    assert "test_one_is_two" in said
    assert "assert 1 == 2" in said


@pytest.mark.slow
def test_workers_that_are_not_optimised_are_refused() -> None:
    """-O on the command line stays with the controller: the suite would pass without having run under it."""
    one = "tests/test_suite.py::test_programs_that_tests_start_hold_no_assert"
    code, said = run_pytest("-n", "1", one, optimize="", interpreter=("-O",))
    assert code != 0
    assert "the workers do not run under -O; set PYTHONOPTIMIZE=1 instead" in said


def test_the_asserts_of_helpers_are_written_out_too() -> None:
    """tests/conftest.py has pytest rewrite the modules that tests share."""
    module = import_module("tests.edge.ring_process")
    assert type(module.__loader__).__name__ == "AssertionRewritingHook"


def test_helpers_that_run_as_programs_hold_no_assert() -> None:
    """Nobody rewrites a program that is started by its path, nor the benches: theirs vanish under -O."""
    assert HELPERS
    for path in HELPERS:
        text = path.read_text(encoding="utf-8")
        if path.is_relative_to(ROOT / "bench") or "__main__" in text:
            asserts = [node.lineno for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Assert)]
            assert not asserts, path


def test_programs_that_tests_start_hold_no_assert() -> None:
    """Their text is a string, which nobody writes out; they run under -O as well."""
    for path in (ROOT / "tests").rglob("*.py"):
        if path.name == Path(__file__).name:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert not re.search(r"(?m)^\s*assert \S", node.value), f"{path}:{node.lineno}"
