"""The load that punctuality is measured under: one busy core, and a flood of garbage datagrams.

Both are processes of their own, on loopback, and bounded: in time, the flood also in number. They end
with the bench, however it ends.
"""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from steadyhand.edge.realtime import RealtimeRequest, ask_for
from steadyhand.ground.stamps import NS_PER_S

GARBAGE_PER_S = 20_000
GARBAGE_BYTES = 400
GARBAGE_BURST = 200
"""At most so many at once: a socket's buffer of the usual size holds some 280."""

LONGEST_S = 300.0
"""Nobody may ask for more in one go."""

ABOVE_THE_BUSY = RealtimeRequest(
    priority=1, lock_memory=False, keep_heap=False, shallow_idle=False, quiet_collector=False
)
"""For the flood: as an ordinary process, however nice, it gets half of itself through beside the busy one. It
counts towards the 95 % of a core that the kernel allows the real-time class (sched_rt_runtime_us)."""


@contextmanager
def loaded(port: int, seconds: float) -> Iterator[None]:
    """Keep a core busy and send garbage to `port` of 127.0.0.1, for `seconds` at most."""
    children = [_spawn("busy", f"{seconds}"), _spawn("garbage", f"{port}", f"{seconds}")]
    try:
        yield
    finally:
        for child in children:
            child.kill()
            child.wait()


def owed(passed_ns: int, sent: int, limit: int) -> tuple[int, int]:
    """(how many to send now, how many of them are skipped for good) at GARBAGE_PER_S.

    After a stall it catches up by a burst at most; what was beyond that is not sent.
    """
    due = min(passed_ns * GARBAGE_PER_S // NS_PER_S, limit) - sent
    now = min(due, GARBAGE_BURST)
    return now, due - now


def send_garbage(port: int, seconds: float) -> int:
    """20,000 datagrams a second for so long, or as long as the bench lives; how many went out.

    In the lowest real-time priority where that is granted, or the busy process would silence it.
    """
    ask_for(ABOVE_THE_BUSY)
    garbage, bench, limit = os.urandom(GARBAGE_BYTES), os.getppid(), round(seconds * GARBAGE_PER_S)
    began_ns, done, sent = time.monotonic_ns(), 0, 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as outbox:
        while done < limit and os.getppid() == bench:
            time.sleep(0.001)
            now, skipped = owed(time.monotonic_ns() - began_ns, done, limit)
            for _ in range(now):
                outbox.sendto(garbage, ("127.0.0.1", port))
            done, sent = done + now + skipped, sent + now
    return sent


def keep_busy(seconds: float) -> None:
    """Compute for so long, or as long as the bench lives."""
    bench, ends_s = os.getppid(), time.monotonic() + seconds
    while time.monotonic() < ends_s and os.getppid() == bench:
        for _ in range(10_000):
            pass


def _spawn(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "bench.load", *arguments])


def main(role: str, *arguments: str) -> None:
    """One process of the load."""
    seconds = float(arguments[-1])
    if not 0.0 < seconds <= LONGEST_S:
        raise SystemExit(f"{seconds:g} s of load; at most {LONGEST_S:g}")
    match role, arguments:
        case "busy", (_,):
            keep_busy(seconds)
        case "garbage", (port, _):
            send_garbage(int(port), seconds)
        case _:
            raise SystemExit(f"no role {role!r} with {len(arguments)} arguments")


if __name__ == "__main__":
    main(*sys.argv[1:])
