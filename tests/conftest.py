"""What all tests share: hypothesis without wall-clock deadlines, and the same examples every time.

`make test` runs the suite twice, the second time with PYTHONOPTIMIZE=1. pytest writes the `assert`s of
tests out as `if` and `raise` before it compiles them, so they judge there too, while the product runs
as -O leaves it. What differs is the interpreter and not the input: fewer examples do.
"""

import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]
MOST_EXAMPLES_OPTIMISED = 15

# Helper modules judge too: pytest leaves alone what is not called test_*.py or conftest.py, unless told.
pytest.register_assert_rewrite(
    *(
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if not path.name.startswith("test_") and path.name != "conftest.py"
    )
)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell's background job ignores Ctrl-C, and so would every process that a test starts and interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("house", deadline=None, derandomize=True)
settings.load_profile("house")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell each xdist worker how its controller runs: -O on the command line does not reach them."""
    node.workerinput["optimize"] = sys.flags.optimize


def pytest_configure(config: pytest.Config) -> None:
    worker: dict[str, Any] = getattr(config, "workerinput", {})
    if worker.get("optimize", sys.flags.optimize) != sys.flags.optimize:
        raise pytest.UsageError("the workers do not run under -O; set PYTHONOPTIMIZE=1 instead")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not sys.flags.optimize:
        return
    for item in items:
        test = getattr(item, "obj", None)
        # hypothesis keeps a test's own settings here and has no public way to lower them from outside.
        own: settings | None = getattr(test, "_hypothesis_internal_use_settings", None)
        if own is not None and own.max_examples > MOST_EXAMPLES_OPTIMISED:
            vars(test)["_hypothesis_internal_use_settings"] = settings(
                own, max_examples=MOST_EXAMPLES_OPTIMISED
            )
