"""The bench of CPU per setpoint: its arithmetic, and that it wraps what exists."""

import os
import time
from importlib import import_module

import pytest

from bench.setpoint_cost import PARTS, REST, Account, PartTimer, cpu_ns, parts_of


class Cpu:
    """CPU time by hand."""

    def __init__(self) -> None:
        self.now_ns = 0

    def __call__(self) -> int:
        return self.now_ns


def test_time_is_booked_on_the_innermost_part() -> None:
    cpu = Cpu()
    timer = PartTimer(cpu)

    def write() -> None:
        cpu.now_ns += 3_000

    timed_write = timer.wrap(write, "write")

    def tick() -> str:
        cpu.now_ns += 1_000
        timed_write()
        timed_write()
        cpu.now_ns += 500
        return "done"

    assert timer.wrap(tick, "tick")() == "done"
    assert timer.booked_ns == {"write": 6_000, "tick": 1_500}


def test_a_part_that_raises_is_booked_all_the_same() -> None:
    cpu = Cpu()
    timer = PartTimer(cpu)

    def fails() -> None:
        cpu.now_ns += 700
        raise ValueError

    timed = timer.wrap(timer.wrap(fails, "inner"), "outer")
    with pytest.raises(ValueError):  # noqa: PT011 - its own
        timed()
    assert timer.booked_ns == {"inner": 700, "outer": 0}


def test_the_account_runs_from_the_first_streaming_tick_and_what_is_booked_nowhere_is_the_rest() -> None:
    cpu = Cpu()
    timer = PartTimer(cpu)

    def tick() -> None:
        cpu.now_ns += 4_000

    timed, account = timer.wrap(tick, "tick"), Account(timer)
    timer.booked_ns[REST] = 0
    timed()  # before streaming
    for _ in range(3):
        account.note()
        timed()
        cpu.now_ns += 1_000
    timed()  # after
    assert account.ticks == 2
    assert account.parts_us() == {"tick": 4.0, REST: 1.0}


def test_the_parts_are_read_from_what_the_launcher_prints() -> None:
    lines = ["ready", '12:00:00.000 data plane: parts: {"tick":1.5}', "follower ended"]
    assert parts_of(lines) == {"tick": 1.5}
    with pytest.raises(RuntimeError, match="did not say its parts"):
        parts_of(["follower ended"])


@pytest.mark.parametrize(("module", "kind", "method", "part"), PARTS)
def test_every_part_is_there_to_be_wrapped(module: str, kind: str, method: str, part: str) -> None:
    assert callable(getattr(getattr(import_module(module), kind), method))
    assert part


def test_cpu_time_of_a_process_is_read_by_its_number() -> None:
    mine = time.process_time_ns()
    theirs = cpu_ns(os.getpid())
    assert mine <= theirs <= time.process_time_ns()
