"""Ask the machine for what a punctual process needs, and say honestly what it granted.

Every request is answered with a value, `Granted` or `Refused` with the reason; nothing here raises,
since an arm that could be driven on an ordinary machine must not stay down for a nicety. The report
prints one line an answer, and whoever promises punctuality looks into it first.

Order: where to run, then what must not be given back (memory), then how to wake (slack, idle
states, class), and the collector last, when the heap it freezes is complete.
"""

import errno
import gc
import mmap
import os
import resource
import struct
from collections.abc import Callable
from typing import Final

import msgspec

from steadyhand.edge.libc import call
from steadyhand.edge.machine_files import THIS_MACHINE

DATA_PLANE_PRIORITY: Final = 80
CONTROLLER_PRIORITY: Final = 70
PROXY_PRIORITY: Final = 60
"""architecture.md, "Processes at the robot": who of ours precedes whom on one machine."""

MCL_CURRENT: Final = 1
MCL_FUTURE: Final = 2
PR_SET_TIMERSLACK: Final = 29
PR_GET_TIMERSLACK: Final = 30
M_TRIM_THRESHOLD: Final = -1
M_MMAP_MAX: Final = -4
"""Of <sys/mman.h>, <linux/prctl.h> and <malloc.h>; the same on every architecture of Linux."""

IDLE_DEVICE: Final = "/dev/cpu_dma_latency"
LARGEST_MAPPING: Final = 1 << 46
MIB: Final = 1 << 20


class RealtimeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to ask for.

    Attributes:
        priority: SCHED_FIFO priority, 1 to 99; None keeps the ordinary class.
        lock_memory: no page of the process may be taken away.
        keep_heap: freed memory stays with the process, so that the next tick does not fault it in.
        timer_slack_ns: how late the kernel may end a sleep in order to save wakes; None leaves it.
        shallow_idle: keep the cores out of deep sleep, from which waking takes 100 µs and more.
        quiet_collector: freeze the heap and switch the garbage collector off; cycles then leak.
        onto_cpus: the only cores to run on; None leaves them.
        off_cpus: cores to keep away from.
    """

    priority: int | None = DATA_PLANE_PRIORITY
    lock_memory: bool = True
    keep_heap: bool = True
    timer_slack_ns: int | None = 1
    shallow_idle: bool = True
    quiet_collector: bool = True
    onto_cpus: frozenset[int] | None = None
    off_cpus: frozenset[int] = frozenset()


class Granted(msgspec.Struct, frozen=True, tag_field="answer", tag="granted"):
    """The machine did what was asked; `detail` says how far."""

    what: str
    detail: str


class Refused(msgspec.Struct, frozen=True, tag_field="answer", tag="refused"):
    """The machine did not; `reason` in its words, `hint` what would change its mind."""

    what: str
    reason: str
    hint: str = ""


Answer = Granted | Refused


class RealtimeReport(msgspec.Struct, frozen=True):
    """The answers, in the order of asking; what was not asked for has none."""

    answers: tuple[Answer, ...]

    def granted(self, what: str) -> bool:
        """Whether this was asked for and granted."""
        return any(isinstance(answer, Granted) and answer.what == what for answer in self.answers)

    def lines(self) -> tuple[str, ...]:
        """One line an answer, for a log or a terminal."""
        return tuple(_line(answer) for answer in self.answers)


def ask_for(request: RealtimeRequest) -> RealtimeReport:
    """Ask for everything in `request`, for the calling thread or its process. Never raises."""
    answers = (_answered(what, ask, request) for what, ask in ASKS)
    return RealtimeReport(tuple(answer for answer in answers if answer is not None))


def ask_for_cores(request: RealtimeRequest) -> Answer | None:
    """Run only on the cores asked for, and never on those to keep away from."""
    if request.onto_cpus is None and not request.off_cpus:
        return None
    wanted = (request.onto_cpus or frozenset(os.sched_getaffinity(0))) - request.off_cpus
    if not wanted:
        return Refused("cores", "no core would be left to run on")
    os.sched_setaffinity(0, wanted)
    return Granted("cores", f"runs on {listed(os.sched_getaffinity(0))}")


def ask_to_keep_heap(request: RealtimeRequest) -> Answer | None:
    """The C library gives no memory back: a heap that breathes faults pages in on some tick."""
    if not request.keep_heap:
        return None
    if not (call("mallopt", M_TRIM_THRESHOLD, -1) and call("mallopt", M_MMAP_MAX, 0)):
        return Refused("heap", "the C library would not")
    return Granted("heap", "freed memory is kept")


def ask_to_lock_memory(request: RealtimeRequest) -> Answer | None:
    """Lock what is mapped, and what will be only where no limit can make a later allocation fail."""
    if not request.lock_memory:
        return None
    limit_bytes, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    try:
        call("mlockall", MCL_CURRENT | MCL_FUTURE)
    except OSError as error:
        if error.errno not in (errno.ENOMEM, errno.EPERM):
            raise
        reason = f"the limit of locked memory is {in_mib(limit_bytes)}"
        return Refused("memory", reason, LIMIT_HINTS["memory"])
    if _may_lock_beyond(limit_bytes):
        return Granted("memory", f"{_locked()} locked, and all that comes later")
    # With MCL_FUTURE an allocation past the limit fails: MemoryError in the middle of a tick.
    call("mlockall", MCL_CURRENT)
    return Granted("memory", f"{_locked()} locked, not what comes later: the limit is {in_mib(limit_bytes)}")


def ask_for_timer_slack(request: RealtimeRequest) -> Answer | None:
    """Sleeps end when they should, not up to 50 µs later together with others."""
    if request.timer_slack_ns is None:
        return None
    call("prctl", PR_SET_TIMERSLACK, request.timer_slack_ns, 0, 0, 0)
    return Granted("timer slack", f"{call('prctl', PR_GET_TIMERSLACK, 0, 0, 0, 0)} ns")


def ask_for_shallow_idle(request: RealtimeRequest) -> Answer | None:
    """The kernel keeps idle cores in a state they wake from at once, while the file stays open."""
    if not request.shallow_idle:
        return None
    try:
        # Never closed on purpose: closing takes the request back, and so does the process's end.
        device = os.open(IDLE_DEVICE, os.O_WRONLY | os.O_CLOEXEC)
    except OSError as error:
        return Refused("idle states", f"{IDLE_DEVICE}: {error.strerror}", LIMIT_HINTS["idle states"])
    os.write(device, struct.pack("=i", 0))
    return Granted("idle states", "cores stay out of deep sleep")


def ask_for_fifo(request: RealtimeRequest) -> Answer | None:
    """SCHED_FIFO at the priority asked for, or at the highest the limit allows; children lose it."""
    if request.priority is None:
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_RTPRIO)
    try:
        _set_fifo(request.priority)
    except PermissionError:
        if not 0 < limit < request.priority:
            reason = f"SCHED_FIFO {request.priority} is not permitted, the limit of priority is {limit}"
            return Refused("scheduling", reason, LIMIT_HINTS["scheduling"])
        _set_fifo(limit)
        return Granted("scheduling", f"SCHED_FIFO {limit}, the limit; {request.priority} was asked for")
    return Granted("scheduling", f"SCHED_FIFO {os.sched_getparam(0).sched_priority}")


def ask_for_quiet_collector(request: RealtimeRequest) -> Answer | None:
    """Collect once, exempt what is left for good, and collect no more."""
    if not request.quiet_collector:
        return None
    gc.collect()
    gc.freeze()
    gc.disable()
    return Granted("garbage collector", f"off, {gc.get_freeze_count()} objects frozen")


ASKS: Final[tuple[tuple[str, Callable[[RealtimeRequest], Answer | None]], ...]] = (
    ("cores", ask_for_cores),
    ("heap", ask_to_keep_heap),
    ("memory", ask_to_lock_memory),
    ("timer slack", ask_for_timer_slack),
    ("idle states", ask_for_shallow_idle),
    ("scheduling", ask_for_fifo),
    ("garbage collector", ask_for_quiet_collector),
)

LIMIT_HINTS: Final = {
    "memory": "CAP_IPC_LOCK, or a limit of infinity: systemd LimitMEMLOCK, docker --ulimit memlock=-1",
    "scheduling": "CAP_SYS_NICE, or a limit of 80: systemd LimitRTPRIO, docker --ulimit rtprio=80",
    "idle states": "write access to that device, by a udev rule or as root",
}


def listed(cpus: set[int] | frozenset[int]) -> str:
    """Cores in the kernel's own notation: 0-3,7."""
    parts: list[list[int]] = []
    for cpu in sorted(cpus):
        if parts and cpu == parts[-1][-1] + 1:
            parts[-1].append(cpu)
        else:
            parts.append([cpu])
    return ",".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)


def in_mib(size_bytes: int) -> str:
    """A limit or a size in MiB; the kernel's infinity by name."""
    return "infinity" if size_bytes == resource.RLIM_INFINITY else f"{size_bytes / MIB:.0f} MiB"


def _line(answer: Answer) -> str:
    if isinstance(answer, Granted):
        return f"{answer.what}: granted, {answer.detail}"
    hint = f" (needs {answer.hint})" if answer.hint else ""
    return f"{answer.what}: refused, {answer.reason}{hint}"


def _answered(
    what: str, ask: Callable[[RealtimeRequest], Answer | None], request: RealtimeRequest
) -> Answer | None:
    try:
        return ask(request)
    except OSError as error:
        return Refused(what, error.strerror or str(error), LIMIT_HINTS.get(what, ""))
    except Exception as error:
        # Whatever it is, a nicety that cannot even be asked for must not keep the arm down.
        return Refused(what, f"{type(error).__name__}: {error}")


def _set_fifo(priority: int) -> None:
    os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(priority))


def _may_lock_beyond(limit_bytes: int) -> bool:
    """Whether the limit does not bind: asked of the kernel, since capabilities in a user namespace
    look real and are not. The mapping is without access, so nothing of it is populated."""
    if limit_bytes == resource.RLIM_INFINITY or limit_bytes > LARGEST_MAPPING:
        return True
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    try:
        mmap.mmap(-1, max(limit_bytes, mmap.PAGESIZE), flags=flags, prot=0).close()
    except OSError:
        return False
    return True


def _locked() -> str:
    kib = THIS_MACHINE.status_field("VmLck") or "0"
    return f"{int(kib.split()[0]) / 1024:.0f} MiB"
