"""Mutation testing of core/safety: break the code in every small way and see a test go red.

mutmut (3.x) works in a copy outside the work tree, one copy per mutated file, against the tests that
matter for that file. What survives is compared with docs/decisions/mutants.toml, the list of mutants
that change nothing or nothing that matters; a survivor that is not in it fails the run, and so does
an entry that no longer survives.

What mutmut 3 leaves alone: code outside functions (tables, constants) and decorated functions, that
is properties. Tables are held by tests that walk them whole.

    python -m bench.mutate               # every file, smallest first
    python -m bench.mutate latch suite   # these
    python -m bench.mutate --fresh latch # forget what earlier runs found

A run that was stopped goes on where it was. Killed mutants are not tried again while the function they
are in is the same; survivors are, since a test may have been written for them.
"""

import argparse
import ast
import difflib
import json
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import msgspec

ROOT = Path(__file__).parents[1]
PACKAGE = "src/steadyhand/core/safety"
TESTS = "tests/core/safety"
EXPLAINED = ROOT / "docs/decisions/mutants.toml"
COPIES = Path(tempfile.gettempdir()) / "steadyhand-mutate"

_ENVELOPE = ("envelope", "operator", "guards", "mutants_envelope")
_SHAPER = ("shaper", "feed_forward", "braking", "tcp_bound", "jerk", "mutants")
_POLICY = ("policy", "config", "operator", "envelope")
_DRIVER = ("driver_rules",)
TARGETS: dict[str, tuple[str, ...]] = {
    "latch": ("latch", "mutants_envelope"),
    "episodes": ("latch", "mutants_envelope"),
    "reset_conditions": ("latch", "mutants_envelope"),
    "ladder": _ENVELOPE,
    "guards": _ENVELOPE,
    "suite": _ENVELOPE,
    "envelope": _ENVELOPE,
    "shaper": _SHAPER,
    "laws": _SHAPER,
    "braking": _SHAPER,
    "feed_forward": _SHAPER,
    "divergence": ("divergence", "mutants"),
    "reach": ("reach", "tcp_bound", "workarea"),
    "tool_speed": ("reach", "envelope", "mutants_envelope"),
    "tcp_bound": ("tcp_bound", "reach", "mutants"),
    "workarea": ("workarea", "guards", "mutants_envelope"),
    "walls": ("workarea", "mutants"),
    "policy": _POLICY,
    "requirements": _POLICY,
    "jerk": ("jerk", "shaper", "mutants"),
    "mailbox": _DRIVER,
    "writes": _DRIVER,
    "send_gates": _DRIVER,
    "unshaped": ("unshaped",),
}
"""Mutated file → its tests, smallest first. The shock streams are left out: they take minutes, and a
mutant they alone would find is one that lacks a test which says what is wrong."""
_CAMPAIGN = ("healthy_arm", "noticed_as_fast", "lets_an_arm_run_ahead")
"""Tests of a whole campaign, left out for the same reason."""

KILLED = (1, 3)
TIMED_OUT = (36, 24, -24, 152, 255)
"""mutmut's exit codes. A mutant that never ends is found too: the test run does not end green."""

# Failing examples are not made smaller: that a test fails is all that is asked.
_CONFTEST = """
from hypothesis import Phase
settings.register_profile("mutate", settings.get_profile("house"), phases=(Phase.explicit, Phase.generate))
settings.load_profile("mutate")
"""


class Mutant(msgspec.Struct, frozen=True, kw_only=True):
    """One change: where, and the statement before and after it."""

    file: str
    function: str
    mutation: str


class Outcome(msgspec.Struct, kw_only=True):
    """What a file's mutants came to; `survivors` by mutmut's name for them."""

    total: int = 0
    killed: int = 0
    timed_out: int = 0
    unchecked: int = 0
    survivors: dict[str, Mutant] = {}


def main() -> int:
    """Run the files named, compare, and answer the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.mutate", description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", metavar="FILE", help=f"of {', '.join(TARGETS)}; all without")
    parser.add_argument("--fresh", action="store_true", help="forget what earlier runs found")
    parser.add_argument("--report-only", action="store_true", help="run nothing; read earlier runs")
    asked = parser.parse_args()
    unknown = [name for name in asked.files if name not in TARGETS]
    if unknown:
        parser.error(f"unknown file {unknown[0]!r}; there are {', '.join(TARGETS)}")
    explained = _explained()
    bad = 0
    for name in asked.files or TARGETS:
        copy = COPIES / name
        if asked.fresh:
            shutil.rmtree(copy, ignore_errors=True)
        if not asked.report_only:
            _run(name, copy)
        bad += _report(name, _outcome(name, copy), explained)
    return 1 if bad else 0


def _run(name: str, copy: Path) -> None:
    """Bring the copy up to date, try what was not tried, then what survived before."""
    _update_copy(name, copy)
    survived_before = list(_outcome(name, copy).survivors)
    _mutmut(copy, [])
    again = [key for key in survived_before if key in _outcome(name, copy).survivors]
    if again:
        _mutmut(copy, again)


def _mutmut(copy: Path, mutants: list[str]) -> None:
    """One mutant at a time, so that a test's own timing does not depend on the others."""
    command = [str(Path(sys.executable).with_name("mutmut")), "run", "--max-children", "1", *mutants]
    log = copy / "mutmut.log"
    with log.open("w", encoding="utf-8") as out:
        done = subprocess.run(command, cwd=copy, stdout=out, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        tail = log.read_text(encoding="utf-8", errors="replace")[-3000:]
        raise SystemExit(f"mutmut ended with {done.returncode} in {copy}:\n{tail}")


def _update_copy(name: str, copy: Path) -> None:
    """Source, the tests that matter, and mutmut's own settings; unchanged files keep their times."""
    tests = [f"{TESTS}/test_safety_{stem}.py" for stem in TARGETS[name]]
    tests = [test for test in tests if (ROOT / test).exists()]
    wanted = {path.relative_to(ROOT).as_posix() for path in (ROOT / "src").rglob("*.py")}
    wanted |= {path.relative_to(ROOT).as_posix() for path in (ROOT / "bench").glob("*.py")}
    wanted |= {path.relative_to(ROOT).as_posix() for path in (ROOT / "config").rglob("*.yaml")}
    wanted |= {*tests, f"{TESTS}/conftest.py"}
    for old in (*copy.glob("src/**/*.py"), *copy.glob("tests/**/*.py"), *copy.glob("mutants/tests/**/*.py")):
        if old.relative_to(copy).as_posix().removeprefix("mutants/") not in wanted:
            old.unlink()
    for path in wanted:
        _put(copy / path, (ROOT / path).read_text(encoding="utf-8"))
    _put(copy / "tests/conftest.py", (ROOT / "tests/conftest.py").read_text(encoding="utf-8") + _CONFTEST)
    settings = {
        "source_paths": ["src"],
        "only_mutate": [f"{PACKAGE}/{name}.py"],
        "also_copy": ["bench", "config"],
        "pytest_add_cli_args_test_selection": tests,
        "pytest_add_cli_args": ["-k", " and ".join(f"not {name}" for name in _CAMPAIGN)],
        "use_git_change_detection": False,
    }
    section = "".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items())
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    _put(copy / "pyproject.toml", f"{project}\n[tool.mutmut]\n{section}")


def _put(path: Path, text: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _outcome(name: str, copy: Path) -> Outcome:
    """Read mutmut's own record of the copy; without one nothing has been run."""
    outcome = Outcome()
    mutated = copy / "mutants" / PACKAGE / f"{name}.py"
    record = mutated.with_suffix(".py.meta")
    if not record.exists():
        return outcome
    codes: dict[str, int | None] = json.loads(record.read_text(encoding="utf-8"))["exit_code_by_key"]
    functions = _functions(mutated)
    for key, code in codes.items():
        outcome.total += 1
        if code in KILLED:
            outcome.killed += 1
        elif code in TIMED_OUT:
            outcome.timed_out += 1
        elif code is None:
            outcome.unchecked += 1
        else:
            outcome.survivors[key] = _described(name, key.rpartition(".")[2], functions)
    return outcome


def _functions(mutated: Path) -> dict[str, ast.FunctionDef]:
    """Every function of the mutated file, the original ones and their mutants, by mutmut's name."""
    tree = ast.parse(mutated.read_text(encoding="utf-8"))
    return {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def _described(name: str, mangled: str, functions: dict[str, ast.FunctionDef]) -> Mutant:
    """The mutant in words that outlive mutmut's numbering: the statement before and after."""
    stem = mangled.rpartition("__mutmut_")[0]
    before = _lines(functions[f"{stem}__mutmut_orig"])
    after = _lines(functions[mangled])
    changes = list(difflib.ndiff(before, after))
    was = " ".join(line[2:].strip() for line in changes if line.startswith("- "))
    now = " ".join(line[2:].strip() for line in changes if line.startswith("+ "))
    function = stem.removeprefix("xǁ").replace("ǁ", ".") if "ǁ" in stem else stem.removeprefix("x_")
    return Mutant(file=f"{name}.py", function=function, mutation=f"{was} → {now}")


def _lines(function: ast.FunctionDef) -> list[str]:
    function.name = "f"
    function.decorator_list = []
    return ast.unparse(function).splitlines()


def _explained() -> dict[Mutant, str]:
    """The list; an entry without a reason explains nothing."""
    entries = tomllib.loads(EXPLAINED.read_text(encoding="utf-8")).get("mutant", [])
    explained = {
        Mutant(file=entry["file"], function=entry["function"], mutation=entry["mutation"]): str(entry["why"])
        for entry in entries
    }
    unreasoned = [mutant for mutant, why in explained.items() if not why.strip()]
    if unreasoned:
        raise SystemExit(f"{EXPLAINED.name}: no reason given for {unreasoned[0]}")
    return explained


def _report(name: str, outcome: Outcome, explained: dict[Mutant, str]) -> int:
    """Print the file's line, and what is wrong; how much is."""
    survivors = set(outcome.survivors.values())
    unexplained = {key: mutant for key, mutant in outcome.survivors.items() if mutant not in explained}
    print(
        f"{name}: {outcome.total} mutants, {outcome.killed} killed, {outcome.timed_out} timed out, "
        f"{len(outcome.survivors) - len(unexplained)} explained, {len(unexplained)} unexplained, "
        f"{outcome.unchecked} not run"
    )
    for key, mutant in unexplained.items():
        print(f"  survives: {mutant.function}: {mutant.mutation}   [{key.rpartition('__')[2]}]")
    wrong = len(unexplained)
    if not outcome.total or outcome.unchecked:
        print("  not run to its end")
        return wrong + 1
    for mutant in explained:
        if mutant.file == f"{name}.py" and mutant not in survivors:
            print(f"  explained, but does not survive any more: {mutant.function}: {mutant.mutation}")
            wrong += 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
