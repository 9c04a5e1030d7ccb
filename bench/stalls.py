"""Witnesses of a machine that stalls: a process for each core, above all of ours, that looks at the clock.

A virtual machine's host takes a core away for milliseconds, whatever runs on it. A witness that was kept
from its core as well says that a late tick was not our doing. Bounded in time; ends with its parent.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import pairwise

from bench.led_follower import Tick
from steadyhand.edge.realtime import DATA_PLANE_PRIORITY, RealtimeRequest, ask_for
from steadyhand.ground.stamps import NS_PER_MS

LOOK_EVERY_S = 0.001
STALL_NS = 2 * NS_PER_MS
"""Between two looks, a millisecond apart."""

LONGEST_S = 60.0

Stall = tuple[int, int]


class Witnesses:
    """One for each core that we may run on. Begins at once; `stalls` ends it."""

    def __init__(self) -> None:
        self._children = [
            subprocess.Popen([sys.executable, "-m", "bench.stalls", str(cpu)], stdout=subprocess.PIPE)
            for cpu in sorted(os.sched_getaffinity(0))
        ]
        for child in self._children:
            if child.stdout is not None:
                child.stdout.readline()

    def stalls(self) -> list[Stall]:
        """(from, to) of every stall, by the monotonic clock."""
        seen: list[Stall] = []
        for child in self._children:
            child.send_signal(signal.SIGTERM)
        for child in self._children:
            told, _ = child.communicate(timeout=LONGEST_S)
            seen += [(began_ns, ended_ns) for began_ns, ended_ns in json.loads(told)]
        return seen


def unexplained_losses(ticks: Sequence[Tick], period_ns: int, stalls: Sequence[Stall]) -> list[Tick]:
    """The late ticks behind which slots were lost although no core stalled around them."""
    found = []
    for tick, after in pairwise(ticks):
        lost = (after.due_ns - tick.due_ns) // period_ns > 1
        from_ns, to_ns = tick.due_ns - period_ns, tick.at_ns
        if lost and not any(began_ns < to_ns and ended_ns > from_ns for began_ns, ended_ns in stalls):
            found.append(tick)
    return found


def witness(cpu: int) -> list[Stall]:
    """Look at the clock on one core until SIGTERM; what it was kept from."""
    ended = False

    def end(_number: int, _frame: object) -> None:
        nonlocal ended
        ended = True

    signal.signal(signal.SIGTERM, end)
    above = DATA_PLANE_PRIORITY + 10
    ask_for(RealtimeRequest(priority=above, onto_cpus=frozenset({cpu}), shallow_idle=False))
    print("watching", flush=True)
    parent, seen = os.getppid(), list[Stall]()
    began_ns = last_ns = time.monotonic_ns()
    while not ended and os.getppid() == parent and last_ns - began_ns < LONGEST_S * 1e9:
        time.sleep(LOOK_EVERY_S)
        now_ns = time.monotonic_ns()
        if now_ns - last_ns > STALL_NS:
            seen.append((last_ns, now_ns))
        last_ns = now_ns
    return seen


if __name__ == "__main__":
    print(json.dumps(witness(int(sys.argv[1]))))
