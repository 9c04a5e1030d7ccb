"""CPU per setpoint across the data plane, beside a minimal latest-wins receiver over ZeroMQ.

A real follower is led at 100 Hz (sealed datagram → receive → tick → write → record). What counts is the
CPU time that the kernel books on the data plane's process, over the setpoints it wrote: sleeping,
waking, the spin before each tick, the state feed and the telemetry's state included. At the same time
the same motion goes at the same rate to a process that takes the newest message off a ZeroMQ PULL
socket (CONFLATE), unpacks six floats and checks nothing; booked likewise, with ZeroMQ's own thread.

A second run has its data plane timed by part. Timing costs, so the parts are told as they are and the
total is taken from the first run. At 100 Hz caches are cold between ticks: the same code costs a
fraction of it in a tight loop (`playout_cost`, `shaper_cost`).
"""

import os
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import msgspec

from bench.harness import Table
from bench.led_follower import LedFollower, led_follower
from steadyhand.ground.builtin_motions import builtin_motion
from steadyhand.ground.stamps import NS_PER_US

RATE_HZ = 100
SECONDS = 20.0
POSE = struct.Struct("<6d")
DEADLINE_S = 60.0
ME = ("-m", "bench.setpoint_cost")
SAYS = "parts: "
REST = "heartbeats, requests, the loop itself"

#: class to wrap, its method, and the part it is booked on; the innermost part that is running counts
PARTS = (
    ("steadyhand.edge.pacer", "Pacer", "wait", "sleep, wake and spin"),
    ("steadyhand.nodes.follower.data_plane", "DataPlane", "_read_datagrams", "receive"),
    ("steadyhand.edge.robots.fairino.data_port", "FairinoDataPort", "poll", "state feed"),
    ("steadyhand.core.follower.core", "FollowerCore", "observe", "state feed"),
    ("steadyhand.core.follower.core", "FollowerCore", "tick", "tick"),
    ("steadyhand.edge.robots.fairino.data_port", "FairinoDataPort", "send_joints", "write"),
    ("steadyhand.nodes.follower.data_plane", "DataPlane", "_record", "record"),
    ("steadyhand.nodes.follower.data_plane", "DataPlane", "_publish", "record"),
    ("steadyhand.nodes.follower.data_plane", "DataPlane", "_state_json", "telemetry's state"),
    ("steadyhand.nodes.follower.data_plane", "DataPlane", "tick", REST),
    ("steadyhand.nodes.follower.data_plane", "DataPlane", "wake", REST),
)


class Measured(msgspec.Struct, kw_only=True):
    """One run: CPU time booked, and what was done for it."""

    data_plane_us: float
    written: int
    zeromq_us: float
    received: int


def run() -> Table:
    """Total and ratio, then the parts."""
    plain = measured(("-m", "steadyhand"), SECONDS)
    with led_follower(RATE_HZ, (*ME, "follower")) as running:
        running.lead()
        running.watch(SECONDS)
        running.follower.end()
        parts = parts_of(running.follower.lines)
    ours, theirs = plain.data_plane_us / plain.written, plain.zeromq_us / plain.received
    whole = sum(parts.values())
    rows = [
        ["data plane, whole", f"{ours:.0f}", str(plain.written), f"{ours / theirs:.1f}"],
        ["latest wins over ZeroMQ", f"{theirs:.0f}", str(plain.received), "1"],
    ]
    rows += [[f"  {name}", f"{us:.0f}", "", f"{100.0 * us / whole:.0f} %"] for name, us in parts.items()]
    return Table(
        name="setpoint_cost",
        title=f"µs of CPU per setpoint at {RATE_HZ} Hz, as the kernel books it; then the parts, timed",
        columns=["", "µs", "setpoints", "ratio"],
        rows=rows,
        figures={
            "data_plane_us": ours,
            "zeromq_us": theirs,
            "ratio": ours / theirs,
            "setpoints": plain.written,
            "parts_us": parts,
        },
    )


def measured(prefix: tuple[str, ...], seconds: float) -> Measured:
    """Lead a follower and feed the peer, at the same time."""
    with led_follower(RATE_HZ, prefix) as running, zeromq_peer() as (peer, feed):
        running.lead()
        feed(1.0)
        feeder = threading.Thread(target=feed, args=(seconds,))
        before = cpu_ns(running.data_plane_pid)
        peer_before = cpu_ns(peer.pid)
        feeder.start()
        ticks = running.watch(seconds)
        booked = cpu_ns(running.data_plane_pid) - before
        feeder.join()
        peer_booked = cpu_ns(peer.pid) - peer_before
        require_led(running, written := sum(1 for tick in ticks if tick.sent is not None), seconds)
    return Measured(
        data_plane_us=booked / NS_PER_US,
        written=written,
        zeromq_us=peer_booked / NS_PER_US,
        received=round(seconds * RATE_HZ),
    )


def require_led(running: LedFollower, written: int, seconds: float) -> None:
    """A cost per setpoint of an arm that was not led is none."""
    if written < 0.9 * seconds * RATE_HZ:
        raise RuntimeError(f"{written} setpoints in {seconds:g} s\n{running.follower.told()}")


def cpu_ns(pid: int) -> int:
    """CPU time of another process, all its threads (clock_getcpuclockid(3): its pid inverted, and 2)."""
    return time.clock_gettime_ns((~pid << 3) | 2)


# ---- the peer


@contextmanager
def zeromq_peer() -> Iterator[tuple[subprocess.Popen[str], Callable[[float], None]]]:
    """The receiver's process, and what feeds it the motion for so many seconds."""
    import zmq

    peer = subprocess.Popen(
        [sys.executable, *ME, "receive", str(os.getpid())], stdout=subprocess.PIPE, text=True
    )
    try:
        said = "" if peer.stdout is None else peer.stdout.readline()
        poses = builtin_motion("sine", Random(0)).resample(float(RATE_HZ), SECONDS)
        with zmq.Context() as context, context.socket(zmq.PUSH) as outbox:
            outbox.connect(f"tcp://127.0.0.1:{int(said)}")

            def feed(seconds: float) -> None:
                began_s = time.monotonic()
                for number in range(round(seconds * RATE_HZ)):
                    time.sleep(max(0.0, began_s + number / RATE_HZ - time.monotonic()))
                    outbox.send(POSE.pack(*poses[number % len(poses)]))

            yield peer, feed
    finally:
        peer.kill()
        peer.wait()


def receive_latest(bench_pid: int) -> None:
    """Latest wins: take what is there, unpack it, keep it. No age, no order, no key, no limit."""
    import zmq

    with zmq.Context() as context, context.socket(zmq.PULL) as inbox:
        inbox.setsockopt(zmq.CONFLATE, 1)
        inbox.setsockopt(zmq.RCVTIMEO, 1000)
        print(inbox.bind_to_random_port("tcp://127.0.0.1"), flush=True)
        target: tuple[float, ...] = ()
        while os.getppid() == bench_pid:
            try:
                target = POSE.unpack(inbox.recv())
            except zmq.Again:
                continue
    del target


# ---- the data plane, timed by part


class PartTimer:
    """Books CPU time on the innermost part that is running.

    Args:
        cpu: CPU time of this thread, in ns.

    Attributes:
        booked_ns: by part.
    """

    def __init__(self, cpu: Callable[[], int] = time.thread_time_ns) -> None:
        self.booked_ns: dict[str, int] = {}
        self.cpu = cpu
        self._within_ns: list[int] = []

    def wrap(self, function: Callable[..., Any], part: str) -> Callable[..., Any]:
        """The same function, its own time booked on `part`, that of parts within it not."""
        cpu, within_ns, booked_ns = self.cpu, self._within_ns, self.booked_ns
        booked_ns.setdefault(part, 0)

        def timed(*arguments: Any, **named: Any) -> Any:
            began_ns = cpu()
            within_ns.append(0)
            try:
                return function(*arguments, **named)
            finally:
                took_ns = cpu() - began_ns
                booked_ns[part] += took_ns - within_ns.pop()
                if within_ns:
                    within_ns[-1] += took_ns

        return timed


class Account:
    """The parts from the first streaming tick to the newest one; what was booked on none is the rest's."""

    def __init__(self, timer: PartTimer) -> None:
        self.ticks = -1
        self._timer = timer
        self._first = self._newest = (0, timer.booked_ns)

    def note(self) -> None:
        """A streaming tick begins."""
        self.ticks += 1
        self._newest = (self._timer.cpu(), dict(self._timer.booked_ns))
        if self.ticks == 0:
            self._first = self._newest

    def parts_us(self) -> dict[str, float]:
        """µs a tick, by part."""
        whole_ns = self._newest[0] - self._first[0]
        parts_ns = {part: ns - self._first[1][part] for part, ns in self._newest[1].items()}
        parts_ns[REST] += whole_ns - sum(parts_ns.values())
        return {part: ns / NS_PER_US / max(1, self.ticks) for part, ns in parts_ns.items()}


def parts_of(lines: list[str]) -> dict[str, float]:
    """µs a setpoint by part, from what the timed data plane said."""
    said = next((line for line in reversed(lines) if SAYS in line), None)
    if said is None:
        raise RuntimeError("\n".join(["the timed data plane did not say its parts", *lines]))
    parts: dict[str, float] = msgspec.json.decode(said.partition(SAYS)[2])
    return parts


def run_timed_data_plane(argument: str) -> int:
    """The data plane's process with its parts timed while the arm is led."""
    from importlib import import_module

    from steadyhand.core.safety.latch import EngageState
    from steadyhand.nodes.follower import data_plane, data_plane_process

    timer = PartTimer()
    for module, kind, method, part in PARTS:
        owner = getattr(import_module(module), kind)
        setattr(owner, method, timer.wrap(getattr(owner, method), part))
    account, tick = Account(timer), data_plane.DataPlane.tick

    def counted(plane: data_plane.DataPlane, now_ns: int) -> None:
        if plane.core.state is EngageState.STREAMING:
            account.note()
        tick(plane, now_ns)

    plane_class: Any = data_plane.DataPlane
    plane_class.tick = counted
    code = data_plane_process.main(argument)
    print(f"{SAYS}{msgspec.json.encode(account.parts_us()).decode()}", flush=True)
    return code


def run_follower(arguments: list[str]) -> None:
    """`steadyhand follower` whose data plane is the timed one."""
    from steadyhand.cli.main import main as steadyhand
    from steadyhand.nodes.follower import launch_settings

    vars(launch_settings)["DATA_PLANE"] = (*ME, "data_plane")
    steadyhand(arguments)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["receive", bench_pid]:
            receive_latest(int(bench_pid))
        case ["data_plane", argument]:
            sys.exit(run_timed_data_plane(argument))
        case ["follower", *arguments]:
            run_follower(arguments)
        case other:
            raise SystemExit(f"no role {other}")
