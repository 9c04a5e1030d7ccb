"""How late ticks are, in turns with `cyclictest` (Debian package rt-tests), under load.

Load: a second process keeps one core busy, and 20,000 garbage datagrams a second arrive. Four
contenders, one after the other, again and again:

* **ours**: a loop like the data plane's, with what it asks the machine for: the pacer on a watched
  socket (at most 32 datagrams a wake), each tick a ring record of 1200 bytes and a heartbeat;
* **ours, no spin**: the same, asleep until the tick itself: what the spin buys;
* **cyclictest**: the kernel's own yardstick, in C, asking for the same (SCHED_FIFO 80, locked memory,
  shallow idle). It reads no datagrams and does no work: it sleeps and looks at the clock;
* **plain**: the same ticks with `time.sleep` in a process that asked for nothing.

By default 6 s for each contender and rate, a minute in all. STEADYHAND_TICK_SECONDS=600 gives 60,000
samples at 100 Hz in an hour and a half. Virtual machines stall by themselves, so the figures are
reported and never judged.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.harness import Table
from steadyhand.edge.heartbeat_board import HeartbeatLine, board_bytes
from steadyhand.edge.pacer import SPIN_NS, Pacer, SnapGrid
from steadyhand.edge.realtime import RealtimeRequest, ask_for
from steadyhand.edge.ring import RingWriter
from steadyhand.edge.ring_layout import RingShape
from steadyhand.edge.segment import create_anonymous

RATES_HZ = (100, 500)
TURN_S = 3.0
PRIORITY = 80
GARBAGE_PER_S = 20_000
GARBAGE_BURST = 200
"""At most so many at once: a socket's buffer of the usual size holds some 280."""
BATCH = 32
RECORD_BYTES = 1200
HISTOGRAM_US = 200_000
DEADLINE_S = 60.0

Samples = dict[str, list[float]]


def run() -> Table:
    """One row a rate and contender: p50, p99, p99.9 and maximum in µs, samples, lost ticks."""
    seconds = float(os.environ.get("STEADYHAND_TICK_SECONDS", "6"))
    rows: list[list[str]] = []
    figures: dict[str, Any] = {"granted": [], "seconds": seconds}
    garbage_per_s: list[float] = []
    for rate_hz in RATES_HZ:
        samples: Samples = {}
        lost: dict[str, int] = {}
        notes: dict[str, str] = {}
        for turn_s in _turns(seconds):
            with loaded() as inbox:
                for name, spin_ns in (("ours", SPIN_NS), ("ours, no spin", 0)):
                    said = _answer(["ours", str(rate_hz), str(turn_s), str(spin_ns)], turn_s, inbox)
                    _keep(name, said, samples, lost)
                    figures["granted"] = said["granted"]
                    garbage_per_s.append(said["read"] / turn_s)
                _peer_turn(rate_hz, turn_s, samples, notes)
                _keep("plain", _answer(["plain", str(rate_hz), str(turn_s)], turn_s), samples, lost)
        for name, late_us in samples.items():
            rows.append(_row(f"{rate_hz} Hz, {name}", late_us, lost.get(name)))
            figures[f"{name.replace(', ', '_').replace(' ', '_')}_{rate_hz}_hz"] = _figures(
                late_us, lost.get(name)
            )
        rows += [[f"{rate_hz} Hz, {name}", note, "", "", "", "", ""] for name, note in notes.items()]
    figures["garbage_per_s"] = sum(garbage_per_s) / len(garbage_per_s)
    return Table(
        name="tick_lateness",
        title=f"µs late, one core kept busy, {figures['garbage_per_s']:,.0f} garbage datagrams a second read",
        columns=["contender", "p50", "p99", "p99.9", "max", "samples", "lost"],
        rows=rows,
        figures=figures,
    )


@contextmanager
def loaded() -> Iterator[socket.socket]:
    """Keep a core busy and send garbage; yields the socket the garbage goes to.

    While no contender reads that socket its buffer is full and the kernel drops: the same load.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as inbox:
        inbox.bind(("127.0.0.1", 0))
        inbox.setblocking(False)
        children = [_spawn(["busy"]), _spawn(["garbage", str(inbox.getsockname()[1])])]
        try:
            yield inbox
        finally:
            for child in children:
                child.kill()
                child.wait()


def _turns(seconds: float) -> list[float]:
    turns = max(1, round(seconds / TURN_S))
    return [seconds / turns] * turns


def _keep(name: str, said: dict[str, Any], samples: Samples, lost: dict[str, int]) -> None:
    samples.setdefault(name, []).extend(said["late_us"])
    lost[name] = lost.get(name, 0) + said["lost"]


def _peer_turn(rate_hz: int, turn_s: float, samples: Samples, notes: dict[str, str]) -> None:
    """cyclictest's histogram as samples of whole µs, or the reason why there are none."""
    program = shutil.which("cyclictest")
    if program is None:
        notes["cyclictest"] = "skipped: not installed (Debian: rt-tests)"
        return
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        options = ["-q", "-m", "-t1", f"-p{PRIORITY}", f"-i{1_000_000 // rate_hz}", f"-h{HISTOGRAM_US}"]
        command = [program, *options, f"-l{round(rate_hz * turn_s)}", f"--json={out}"]
        done = subprocess.run(command, capture_output=True, timeout=turn_s + DEADLINE_S, check=False)
        if done.returncode != 0 or not out.exists():
            words = done.stderr.decode(errors="replace").strip().splitlines()
            notes["cyclictest"] = f"skipped: {words[-1] if words else done.returncode}"
            return
        thread = json.loads(out.read_text(encoding="utf-8"))["thread"]["0"]
    late_us = [float(us) for us, count in thread["histogram"].items() for _ in range(count)]
    samples.setdefault("cyclictest", []).extend(late_us)


def _row(label: str, late_us: list[float], lost: int | None) -> list[str]:
    found = _figures(late_us, lost)
    shown = [f"{found[name]:,.1f}" for name in ("p50", "p99", "p99_9", "max")]
    return [label, *shown, str(found["samples"]), "" if lost is None else str(lost)]


def _figures(late_us: list[float], lost: int | None) -> dict[str, Any]:
    import numpy as np  # here, so that the contenders' processes stay lean

    p50, p99, p99_9, most = np.quantile(late_us, [0.5, 0.99, 0.999, 1.0], method="higher").tolist()
    return {"p50": p50, "p99": p99, "p99_9": p99_9, "max": most, "samples": len(late_us), "lost": lost}


def _spawn(arguments: list[str], inbox: socket.socket | None = None) -> subprocess.Popen[bytes]:
    handed_down = () if inbox is None else (inbox.fileno(),)
    command = [sys.executable, "-m", "bench.tick_lateness", *arguments, *map(str, handed_down)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, pass_fds=handed_down)


def _answer(arguments: list[str], turn_s: float, inbox: socket.socket | None = None) -> dict[str, Any]:
    """Run one contender in a process of its own and return what it says."""
    child = _spawn(arguments, inbox)
    try:
        said, _ = child.communicate(timeout=turn_s + DEADLINE_S)
    finally:
        child.kill()
        child.wait()
    answer: dict[str, Any] = json.loads(said)
    return answer


def tick_like_the_data_plane(rate_hz: int, seconds: float, spin_ns: int, inbox_fd: int) -> dict[str, Any]:
    """Our contender, in its own process."""
    inbox = socket.socket(fileno=inbox_fd)
    shape = RingShape.lasting(rate_hz=rate_hz, slot_bytes=8192)
    ring = RingWriter(create_anonymous("ring", shape.size_bytes), shape)
    heart = HeartbeatLine(create_anonymous("board", board_bytes(1)), 0, os.getpid())
    granted = ask_for(RealtimeRequest(priority=PRIORITY)).lines()
    period_ns = 1_000_000_000 // rate_hz
    late_ns = [0] * round(rate_hz * seconds)
    buffer, record, watched, read = bytearray(2048), bytes(RECORD_BYTES), [inbox], 0
    grid = SnapGrid(period_ns=period_ns, first_ns=time.monotonic_ns() + period_ns)
    pacer = Pacer(grid, spin_ns=spin_ns)
    for tick in range(len(late_ns)):
        while pacer.wait(watched):
            read += _read_batch(inbox, buffer)
        now_ns = time.monotonic_ns()
        late_ns[tick] = now_ns - grid.due_ns
        ring.publish(record)
        heart.beat(now_ns)
        grid.advance(time.monotonic_ns())
    late_us = [ns / 1000.0 for ns in late_ns]
    return {"late_us": late_us, "lost": grid.lost_slots, "read": read, "granted": granted}


def tick_plainly(rate_hz: int, seconds: float) -> dict[str, Any]:
    """The loop one writes first: an absolute grid and `time.sleep`, nothing asked for."""
    period_ns = 1_000_000_000 // rate_hz
    ticks = round(rate_hz * seconds)
    late_us = [0.0] * ticks
    grid = SnapGrid(period_ns=period_ns, first_ns=time.monotonic_ns() + period_ns)
    for tick in range(ticks):
        time.sleep(max(0, grid.due_ns - time.monotonic_ns()) / 1e9)
        now_ns = time.monotonic_ns()
        late_us[tick] = (now_ns - grid.due_ns) / 1000.0
        grid.advance(now_ns)
    return {"late_us": late_us, "lost": grid.lost_slots}


def _read_batch(inbox: socket.socket, buffer: bytearray) -> int:
    for count in range(BATCH):
        try:
            inbox.recv_into(buffer)
        except BlockingIOError:
            return count
    return BATCH


def send_garbage(port: int) -> None:
    """20,000 datagrams a second, as long as the bench lives; after a stall of its own it catches up.

    In the lowest real-time priority where that is granted, or the busy process would silence it.
    """
    ask_for(RealtimeRequest(priority=1))
    outbox = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    garbage = os.urandom(400)
    bench = os.getppid()
    started_ns, sent = time.monotonic_ns(), 0
    while os.getppid() == bench:
        time.sleep(0.001)
        owed = (time.monotonic_ns() - started_ns) * GARBAGE_PER_S // 1_000_000_000 - sent
        for _ in range(min(owed, GARBAGE_BURST)):
            outbox.sendto(garbage, ("127.0.0.1", port))
        sent += owed


def keep_busy() -> None:
    """Compute, as long as the bench lives."""
    bench = os.getppid()
    while os.getppid() == bench:
        for _ in range(10_000):
            pass


def main(role: str, *arguments: str) -> None:
    """One process of the bench."""
    match role, arguments:
        case "busy", ():
            keep_busy()
        case "garbage", (port,):
            send_garbage(int(port))
        case "ours", (rate_hz, seconds, spin_ns, inbox):
            said = tick_like_the_data_plane(int(rate_hz), float(seconds), int(spin_ns), int(inbox))
            print(json.dumps(said))
        case "plain", (rate_hz, seconds):
            print(json.dumps(tick_plainly(int(rate_hz), float(seconds))))
        case _:
            raise SystemExit(f"no role {role!r} with {len(arguments)} arguments")


if __name__ == "__main__":
    main(*sys.argv[1:])
