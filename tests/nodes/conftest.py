"""Real processes for the tests of the nodes: controllers, followers, ports, and waiting with a deadline.

Every process is ended by its own id when its test ends. Followers and controllers ask for real time,
as deployed ones do: what a busy machine lets a test wait for must not stop an arm. Each test has a
runtime folder of its own, so that followers of two tests never meet; each controller has a loopback
address of its own, since the vendor's ports are fixed. What processes printed is shown when a test
fails.

    def test_it(controller_process, follower_process):
        controller = controller_process()                 # ControllerProcess, ready
        follower = follower_process(controller)           # FollowerProcess, ready
        follower.wait_record(lambda record: record.engage == "idle")
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.nodes.processes import ControllerProcess, FollowerProcess, Process


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Show what the test's processes printed, where it failed."""
    outcome: Any = yield
    report = outcome.get_result()
    if report.failed:
        for process in getattr(item, "_processes", []):
            report.sections.append((f"{process.name} {process.pid}", process.told()))


@pytest.fixture
def processes(request: pytest.FixtureRequest) -> Iterator[list[Process]]:
    """Every process of this test: ended at its end, last one first. Add those you start yourself."""
    started: list[Process] = []
    request.node._processes = started
    yield started
    for process in reversed(started):
        process.end()


@pytest.fixture
def runtime_folder() -> Iterator[Path]:
    """A private folder with a short path: a unix socket's may have 107 characters."""
    folder = Path(tempfile.mkdtemp(prefix="sh-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def controller_process(processes: list[Process]) -> Callable[..., ControllerProcess]:
    """Start a simulated controller and wait until it serves; options are those of the command."""

    def start(*options: str, address: str | None = None) -> ControllerProcess:
        controller = ControllerProcess(*options, address=address)
        processes.append(controller)
        controller.wait_ready()
        return controller

    return start


@pytest.fixture
def follower_process(processes: list[Process], runtime_folder: Path) -> Callable[..., FollowerProcess]:
    """Start a follower and wait until it is ready; further options are those of the command.

    `settings` are PATH=VALUE of `--set`, which `overrides` then holds for the operator's end too;
    `ready=False` does not wait; `prefix` runs something else than `-m steadyhand`.
    """

    def start(
        controller: ControllerProcess | str,
        *options: str,
        settings: Sequence[str] = (),
        ready: bool = True,
        prefix: Sequence[str] = ("-m", "steadyhand"),
    ) -> FollowerProcess:
        address = controller if isinstance(controller, str) else controller.address
        follower = FollowerProcess(address, runtime_folder, *options, settings=settings, prefix=prefix)
        processes.append(follower)
        if ready:
            follower.wait_ready()
        return follower

    return start
