"""One child of the launcher, and the thread that prints."""

import select
import signal
import threading
import time
from collections.abc import Iterator

import pytest

from steadyhand.nodes.follower.children import Child, end_in_words
from steadyhand.nodes.follower.printer import LINES_KEPT, Printer


@pytest.fixture
def child() -> Iterator[Child]:
    one = Child("test child", ())
    yield one
    one.send(signal.SIGKILL)
    wait_end(one)


def wait_end(child: Child) -> int | None:
    while child.running:
        select.select(child.fds(), [], [], 5.0)
        child.lines()
        code = child.take_end()
        if code is not None:
            return code
    return None


def test_a_childs_lines_are_whole_and_both_outputs_are_one(child: Child) -> None:
    program = "import sys; print('one'); print('tw', end='', flush=True); print('o', file=sys.stderr)"
    child.start(["-u", "-c", program], 5)
    told: list[str] = []
    while len(told) < 2:
        assert select.select(child.fds(), [], [], 10.0)[0]
        told += child.lines()
    assert told == ["one", "two"]
    assert child.last_line == "two"
    assert wait_end(child) == 0
    assert (child.pid, child.fds(), child.lines(), child.take_end()) == (0, (), [], None)


def test_it_can_be_started_again(child: Child) -> None:
    for code in (3, 4):
        child.start(["-c", f"raise SystemExit({code})"], 5)
        assert child.pid != 0
        assert wait_end(child) == code


def test_a_signal_reaches_it_and_no_other(child: Child) -> None:
    child.send(signal.SIGKILL)
    child.start(["-c", "import time; time.sleep(60)"], 5)
    child.send(signal.SIGKILL)
    assert wait_end(child) == -signal.SIGKILL
    child.send(signal.SIGKILL)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (0, "ended with code 0"),
        (1, "ended with code 1"),
        (-9, "was killed by SIGKILL"),
        (-60, "was killed by signal 60"),
    ],
)
def test_an_end_is_put_in_words(code: int, words: str) -> None:
    assert end_in_words(code) == words


def test_a_terminal_that_is_held_up_holds_nobody_up_and_what_is_left_out_is_counted() -> None:
    release, printed = threading.Event(), list[str]()

    def held_up(line: str) -> None:
        release.wait(10.0)
        printed.append(line)

    printer = Printer(held_up)
    began_s = time.monotonic()
    for number in range(LINES_KEPT + 50):
        printer.say(str(number))
    assert time.monotonic() - began_s < 5.0
    assert 48 <= printer.left_out <= 50
    release.set()
    printer.close(10.0)
    assert printed[:3] == ["0", "1", "2"]
    assert len(printed) + printer.left_out == LINES_KEPT + 50


def test_a_reader_that_is_gone_does_not_end_the_printer() -> None:
    def gone(_line: str) -> None:
        raise BrokenPipeError

    printer = Printer(gone)
    printer.say("one")
    printer.log("who", "two")
    printer.close(10.0)
    assert printer.left_out == 2
