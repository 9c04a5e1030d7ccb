"""Measure how punctual an idle data-plane loop is, in a process of its own.

Of its own, because what is asked for (scheduling class, locked memory, frozen heap) cannot be handed
back, and because the loop to be measured is a lean process, not the one that draws the table. The
child reads one JSON line on standard input and answers with one on standard output:

    python -m steadyhand.edge.tick_probe
"""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Final

import msgspec

from steadyhand.edge.clock import SYSTEM_CLOCK
from steadyhand.edge.lateness import LatenessSummary
from steadyhand.edge.machine_files import THIS_MACHINE, MachineFiles
from steadyhand.edge.pacer import SPIN_NS, Pacer, SnapGrid
from steadyhand.edge.realtime import RealtimeReport, RealtimeRequest, ask_for
from steadyhand.ground.errors import SteadyhandError
from steadyhand.ground.stamps import NS_PER_S, ns_from_s

MODULE: Final = "steadyhand.edge.tick_probe"
SETTLE_TICKS: Final = 20
"""The first ticks after start pay for caches and page tables; they are no promise of the machine."""

GRACE_S: Final = 20.0
"""How long beyond its own time the child may take before it is given up."""

PROGRESS_EVERY_S: Final = 0.1
STEAL_COLUMN: Final = 8  # of the line «cpu» in /proc/stat: proc_stat(5)


class ProbeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to measure: how long, how often, and what to ask the machine for first."""

    seconds: float
    rate_hz: float
    spin_ns: int = SPIN_NS
    realtime: RealtimeRequest = RealtimeRequest()


class ProbeResult(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured, and under what.

    Attributes:
        realtime: what the machine granted.
        period_ns: of the loop.
        lateness: of the ticks.
        overshoot: of the sleeps before the spin; what the lateness would be without one.
        snaps: how often the loop was behind by more than a period.
        lost_slots: ticks that did not happen because of that.
        stolen_ms: time that the hypervisor gave to other guests meanwhile, over all cores; None
            where the kernel does not say.
        preempted: how often another process took the core away from a loop that wanted it.
        page_faults: pages that had to be brought in during the measurement.
    """

    realtime: RealtimeReport
    period_ns: int
    lateness: LatenessSummary
    overshoot: LatenessSummary
    snaps: int
    lost_slots: int
    stolen_ms: float | None
    preempted: int
    page_faults: int


class ProbeError(SteadyhandError):
    """The measuring process did not answer."""


def measure(request: ProbeRequest) -> ProbeResult:
    """Ask the machine for what `request` wants, then tick; in this process, which stays changed."""
    report = ask_for(request.realtime)
    period_ns = round(NS_PER_S / request.rate_hz)
    _tick(period_ns, request.spin_ns, SETTLE_TICKS * period_ns)
    before_ms = stolen_ms(THIS_MACHINE)
    before = resource.getrusage(resource.RUSAGE_SELF)
    pacer, grid = _tick(period_ns, request.spin_ns, ns_from_s(request.seconds))
    after = resource.getrusage(resource.RUSAGE_SELF)
    after_ms = stolen_ms(THIS_MACHINE)
    return ProbeResult(
        realtime=report,
        period_ns=period_ns,
        lateness=pacer.lateness.summary(),
        overshoot=pacer.overshoot.summary(),
        snaps=grid.snaps,
        lost_slots=grid.lost_slots,
        stolen_ms=None if before_ms is None or after_ms is None else after_ms - before_ms,
        preempted=after.ru_nivcsw - before.ru_nivcsw,
        page_faults=after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt,
    )


def measure_in_child(request: ProbeRequest, progress: Callable[[float], None]) -> ProbeResult:
    """Measure in a fresh interpreter, reporting the share of the time that has passed.

    Raises:
        ProbeError: the child died, said something else, or did not end in time.
    """
    pipe = subprocess.PIPE
    # In a session of its own: an interrupt at the terminal is for the parent, which ends the child.
    with subprocess.Popen(
        [sys.executable, "-m", MODULE], stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
    ) as child:
        try:
            answer, errors = _converse(child, request, progress)
        finally:
            child.kill()
    try:
        return msgspec.json.decode(answer, type=ProbeResult)
    except msgspec.DecodeError:
        said = errors.decode(errors="replace").strip().splitlines()
        raise ProbeError(f"the measuring process ended: {said[-1] if said else 'without a word'}") from None


def stolen_ms(files: MachineFiles) -> float | None:
    """Time that a hypervisor withheld from this machine since its start, over all cores."""
    for line in (files.read("/proc/stat") or "").splitlines():
        parts = line.split()
        if len(parts) > STEAL_COLUMN and parts[0] == "cpu" and parts[STEAL_COLUMN].isdigit():
            return int(parts[STEAL_COLUMN]) * 1000.0 / os.sysconf("SC_CLK_TCK")
    return None


def _tick(period_ns: int, spin_ns: int, duration_ns: int) -> tuple[Pacer, SnapGrid]:
    now_ns = SYSTEM_CLOCK.now_ns
    started_ns = now_ns()
    grid = SnapGrid(period_ns=period_ns, first_ns=started_ns + period_ns)
    pacer = Pacer(grid, spin_ns=spin_ns)
    while grid.due_ns - started_ns <= duration_ns:
        pacer.wait(())
        grid.advance(now_ns())
    return pacer, grid


def _converse(
    child: subprocess.Popen[bytes], request: ProbeRequest, progress: Callable[[float], None]
) -> tuple[bytes, bytes]:
    """Hand the request to the child and wait for its answer, until the deadline."""
    started_s = time.monotonic()
    question: bytes | None = msgspec.json.encode(request)
    while (passed_s := time.monotonic() - started_s) < request.seconds + GRACE_S:
        progress(min(1.0, passed_s / request.seconds))
        try:
            return child.communicate(question, timeout=PROGRESS_EVERY_S)
        except subprocess.TimeoutExpired:
            question = None  # what was handed over once is not to be handed over again
    raise ProbeError(f"the measuring process did not end within {request.seconds + GRACE_S:.0f} s")


def main() -> None:
    """The child's side."""
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=ProbeRequest)
    sys.stdout.buffer.write(msgspec.json.encode(measure(request)))


if __name__ == "__main__":
    main()
