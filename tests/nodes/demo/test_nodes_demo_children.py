"""Child processes: heard, told of when they die, and ended with their parent."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from steadyhand.nodes.demo.children import Child, ChildError
from steadyhand.nodes.demo.place import draw_place

WITHIN_S = 30.0
PARENT = """
import sys, time
from steadyhand.nodes.demo.children import Child
child = Child("controller", ["controller", "--address", sys.argv[1]])
child.wait_for("controller ready", 30.0)
print(child.pid, flush=True)
time.sleep(60.0)
"""


def is_alive(pid: int) -> bool:
    """Running, and not only waiting to be asked for its code."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.fixture
def controller() -> Iterator[Child]:
    child = Child("controller", ["controller", "--address", draw_place().controller])
    yield child
    child.end()


def test_a_child_is_heard_and_ended_by_its_own_id(controller: Child) -> None:
    line = controller.wait_for("controller ready", WITHIN_S)
    assert line in controller.lines
    assert controller.alive
    assert controller.end() == 0
    assert controller.end() == 0
    assert not controller.alive


def test_a_child_that_dies_early_is_told_with_its_last_lines() -> None:
    child = Child("controller", ["controller", "--address", "not-an-address"])
    with pytest.raises(ChildError, match=r"(?s)controller ended early \(exit code 2\):.*not-an-address"):
        child.wait_for("controller ready", WITHIN_S)
    assert child.end() == 2


def test_a_child_that_never_says_it_is_given_up(controller: Child) -> None:
    with pytest.raises(ChildError, match=r"controller did not say «never» within 0\.05 s"):
        controller.wait_for("never", 0.05)


def test_one_that_was_killed_is_told_by_its_signal(controller: Child) -> None:
    controller.wait_for("controller ready", WITHIN_S)
    os.kill(controller.pid, signal.SIGKILL)
    with pytest.raises(ChildError, match="signal 9"):
        controller.wait_for("never", WITHIN_S)


@pytest.mark.slow
def test_a_child_ends_when_its_parent_was_killed() -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, draw_place().controller], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    child_pid = int(parent.stdout.readline())
    assert is_alive(child_pid)
    parent.kill()
    parent.wait(WITHIN_S)
    parent.stdout.close()
    deadline_s = time.monotonic() + WITHIN_S
    while is_alive(child_pid) and time.monotonic() < deadline_s:
        time.sleep(0.01)
    assert not is_alive(child_pid)
