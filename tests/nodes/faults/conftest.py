"""The stack of a module, calm at the beginning of each test, and its processes' words where one fails."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.nodes.faults.stack import Stack


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    outcome: Any = yield
    report = outcome.get_result()
    stacks: list[Stack] = getattr(item, "_stacks", [])
    if report.failed:
        for process in [process for stack in stacks for process in stack.processes]:
            report.sections.append((f"{process.name} {process.pid}", process.told()))


@pytest.fixture(scope="module")
def module_folder() -> Iterator[Path]:
    """A runtime folder; its path is short, for a unix socket's may have 107 characters."""
    folder = Path(tempfile.mkdtemp(prefix="sh-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def module_stack(module_folder: Path) -> Iterator[Stack]:
    stack = Stack(module_folder)
    yield stack
    stack.close()


@pytest.fixture
def stack(module_stack: Stack, request: pytest.FixtureRequest) -> Iterator[Stack]:
    """The module's stack, calm before and after."""
    vars(request.node)["_stacks"] = [module_stack]
    module_stack.calm()
    yield module_stack
    module_stack.calm()


@pytest.fixture
def make_stack(runtime_folder: Path, request: pytest.FixtureRequest) -> Iterator[Callable[..., Stack]]:
    """A stack of the test's own."""
    made: list[Stack] = []
    vars(request.node)["_stacks"] = made

    def make(*options: str, **arguments: Any) -> Stack:
        made.append(Stack(runtime_folder, *options, **arguments))
        return made[-1]

    yield make
    for one in made:
        one.close()
