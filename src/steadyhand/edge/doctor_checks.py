"""What this machine is like, as far as punctuality goes: one check a question, none of which fails.

Each check takes the kernel's files and the facts that are not in files, and answers with a finding:
what it found, how that stands, and what would make it better. Works without privileges and in a
container, where much is hidden: what cannot be read is `unknown`, never assumed.
"""

import resource
from collections.abc import Callable
from typing import Final, Literal

import msgspec

from steadyhand.edge.doctor_facts import Facts
from steadyhand.edge.machine_files import THIS_MACHINE, MachineFiles
from steadyhand.edge.realtime import DATA_PLANE_PRIORITY, in_mib, listed

Standing = Literal["good", "fair", "poor", "unknown"]

CAP_IPC_LOCK: Final = 14
CAP_SYS_NICE: Final = 23
CLOCKS_IN_USER_SPACE: Final = ("tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter")
TIME_DAEMONS: Final = {
    "chronyd": "chrony",
    "ptp4l": "PTP",
    "phc2sys": "PTP",
    "systemd-timesyn": "timesyncd",
    "ntpd": "ntpd",
}
"""A process's name as the kernel keeps it (15 characters), and what it is called here."""

PREEMPTION_OPTIONS: Final = {
    "CONFIG_PREEMPT_NONE": "none",
    "CONFIG_PREEMPT_VOLUNTARY": "voluntary",
    "CONFIG_PREEMPT_LAZY": "lazy",
    "CONFIG_PREEMPT": "full",
}

BURST_S: Final = 2.0
DATAGRAM_CHARGE_BYTES: Final = 2304
"""What the kernel charges a socket for a datagram of 1232 bytes: its buffer and its bookkeeping."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One answer.

    Attributes:
        name: the question, in a word or two.
        value: what was found.
        standing: how that stands for a loop that must be punctual.
        advice: what would make it better, if anything.
    """

    name: str
    value: str
    standing: Standing
    advice: str = ""


def examine(facts: Facts, files: MachineFiles = THIS_MACHINE) -> tuple[Finding, ...]:
    """Every check, in order."""
    return tuple(check(files, facts) for check in CHECKS)


def check_preemption(files: MachineFiles, facts: Facts) -> Finding:
    """How soon the kernel lets go of a core: PREEMPT_RT best, full preemption next."""
    if files.read("/sys/kernel/realtime") == "1" or "PREEMPT_RT" in facts.kernel:
        return Finding(name="preemption", value="PREEMPT_RT", standing="good")
    if "PREEMPT_DYNAMIC" in facts.kernel:
        mode = _dynamic_mode(files, facts)
        if mode == "full":
            return Finding(name="preemption", value="full", standing="good")
        value = mode or "chosen at boot, not readable here"
        return Finding(
            name="preemption", value=value, standing="fair", advice="boot with preempt=full, or PREEMPT_RT"
        )
    if "PREEMPT" in facts.kernel:
        return Finding(name="preemption", value="full", standing="good")
    advice = "a kernel with PREEMPT or PREEMPT_RT"
    return Finding(name="preemption", value="none or voluntary", standing="fair", advice=advice)


def check_limits(files: MachineFiles, facts: Facts) -> Finding:
    """What the process may ask for: a real-time priority, and memory that stays."""
    held = int(files.status_field("CapEff") or "0", 16)
    nice, lock = (bool(held >> bit & 1) for bit in (CAP_SYS_NICE, CAP_IPC_LOCK))
    priority = nice or facts.priority_limit >= DATA_PLANE_PRIORITY
    locked = lock or facts.locked_limit_bytes == resource.RLIM_INFINITY
    words = [f"priority {facts.priority_limit}", f"locked memory {in_mib(facts.locked_limit_bytes)}"]
    words += [name for name, has in (("CAP_SYS_NICE", nice), ("CAP_IPC_LOCK", lock)) if has]
    return Finding(
        name="limits",
        value=", ".join(words),
        standing="good" if priority and locked else "fair" if priority or locked else "poor",
        advice="" if priority and locked else "systemd: LimitRTPRIO=80 and LimitMEMLOCK=infinity",
    )


def check_throttling(files: MachineFiles, facts: Facts) -> Finding:
    """What share of a period the kernel leaves to real-time processes."""
    name = "real-time share"
    period_us = _number(files.read("/proc/sys/kernel/sched_rt_period_us"))
    runtime_us = _number(files.read("/proc/sys/kernel/sched_rt_runtime_us"))
    if runtime_us is None or not period_us:
        return Finding(name=name, value="not readable here", standing="unknown")
    if runtime_us < 0:
        return Finding(name=name, value="unbounded", standing="good")
    if runtime_us == 0:
        return Finding(
            name=name, value="0 %", standing="poor", advice="sysctl kernel.sched_rt_runtime_us=950000"
        )
    return Finding(name=name, value=f"{100 * runtime_us / period_us:.0f} %", standing="good")


def check_clock_source(files: MachineFiles, facts: Facts) -> Finding:
    """Whether reading the clock is a few nanoseconds, or a call into the kernel."""
    source = files.read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    if source is None:
        return Finding(name="clock source", value="not readable here", standing="unknown")
    if source in CLOCKS_IN_USER_SPACE:
        return Finding(name="clock source", value=source, standing="good")
    advice = "see why the kernel gave up tsc: it is slow, and a spin reads it all the time"
    return Finding(name="clock source", value=source, standing="poor", advice=advice)


def check_timer_slack(files: MachineFiles, facts: Facts) -> Finding:
    """How late an ordinary sleep may end; the data plane asks for 1 ns instead."""
    slack_ns = _number(files.read("/proc/self/timerslack_ns"))
    if slack_ns is None:
        return Finding(name="timer slack", value="not readable here", standing="unknown")
    value = f"{slack_ns / 1000:g} µs until asked for less"
    return Finding(name="timer slack", value=value, standing="good")


def check_governor(files: MachineFiles, facts: Facts) -> Finding:
    """Whether the cores run at full speed, or first have to be convinced."""
    paths = files.matching("/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor")
    governors = {governor for path in paths if (governor := files.read(path))}
    if not governors:
        return Finding(name="governor", value="not controlled from here", standing="unknown")
    value = ", ".join(sorted(governors))
    if governors == {"performance"}:
        return Finding(name="governor", value=value, standing="good")
    return Finding(
        name="governor", value=value, standing="fair", advice="cpupower frequency-set -g performance"
    )


def check_cores(files: MachineFiles, facts: Facts) -> Finding:
    """Cores allowed, and whether a quota may freeze the process for the rest of 100 ms."""
    value = f"{listed(facts.allowed_cpus)} of {facts.cpus}"
    quota = _cpu_quota(files)
    if quota is not None:
        advice = "no CPU quota for this container: it freezes all of it until its next period"
        return Finding(name="cores", value=f"{value}, quota {quota:g}", standing="poor", advice=advice)
    if len(facts.allowed_cpus) < 2:
        advice = "two cores: one for the data plane, one for the rest"
        return Finding(name="cores", value=value, standing="fair", advice=advice)
    return Finding(name="cores", value=value, standing="good")


def check_isolated(files: MachineFiles, facts: Facts) -> Finding:
    """Cores that the scheduler leaves to those who ask for them."""
    isolated = files.read("/sys/devices/system/cpu/isolated")
    if isolated is None:
        return Finding(name="isolated cores", value="not readable here", standing="unknown")
    if isolated:
        return Finding(name="isolated cores", value=isolated, standing="good")
    advice = "boot with isolcpus=N for a core of the data plane's own"
    return Finding(name="isolated cores", value="none", standing="fair", advice=advice)


def check_virtual(files: MachineFiles, facts: Facts) -> Finding:
    """Whether someone beneath can take the core away, which nothing in here can prevent."""
    guest = files.read("/sys/hypervisor/type")
    flags = (files.read("/proc/cpuinfo") or "").split()
    if guest or "hypervisor" in flags:
        advice = "an arm's computer is better not shared: the host may stall it for milliseconds"
        return Finding(name="machine", value="virtual", standing="fair", advice=advice)
    return Finding(name="machine", value="no hypervisor seen", standing="good")


def check_clock_sync(files: MachineFiles, facts: Facts) -> Finding:
    """Whether the wall clock agrees with the operator's: only delays between hosts depend on it."""
    comms = (files.read(path) for path in files.matching("/proc/[0-9]*/comm"))
    daemons = sorted({TIME_DAEMONS[comm] for comm in comms if comm in TIME_DAEMONS})
    by = f" by {' and '.join(daemons)}" if daemons else ""
    hardware = "; a PTP hardware clock is here" if files.matching("/dev/ptp[0-9]*") else ""
    if facts.synchronised is None:
        return Finding(name="clock sync", value=f"unknown{by}{hardware}", standing="unknown")
    if facts.synchronised:
        value = f"synchronised{by}, within {facts.clock_error_us / 1000:g} ms{hardware}"
        return Finding(name="clock sync", value=value, standing="good")
    advice = "chrony or PTP on both hosts: without, one-way delays are only estimated"
    return Finding(name="clock sync", value=f"not synchronised{by}{hardware}", standing="fair", advice=advice)


def check_network(files: MachineFiles, facts: Facts) -> Finding:
    """Whether a socket may hold what arrives at once after a stall of two seconds."""
    largest = _number(files.read("/proc/sys/net/core/rmem_max"))
    if largest is None:
        return Finding(name="receive buffer", value="not readable here", standing="unknown")
    needed = round(BURST_S * facts.rate_hz * DATAGRAM_CHARGE_BYTES / 2)  # the kernel doubles what is set
    value = f"up to {largest / 1024:.0f} KiB"
    if largest >= needed:
        return Finding(name="receive buffer", value=value, standing="good")
    advice = f"sysctl net.core.rmem_max={needed}: a burst after a stall of {BURST_S:g} s is lost in part"
    return Finding(name="receive buffer", value=value, standing="fair", advice=advice)


def check_shared_memory(files: MachineFiles, facts: Facts) -> Finding:
    """Whether the processes of a node can share memory without a file."""
    if facts.shared_memory:
        return Finding(name="shared memory", value="memfd", standing="good")
    advice = "allow memfd_create: the node cannot run without"
    return Finding(name="shared memory", value="refused", standing="poor", advice=advice)


CHECKS: Final[tuple[Callable[[MachineFiles, Facts], Finding], ...]] = (
    check_preemption,
    check_limits,
    check_throttling,
    check_clock_source,
    check_timer_slack,
    check_governor,
    check_cores,
    check_isolated,
    check_virtual,
    check_clock_sync,
    check_network,
    check_shared_memory,
)


def _dynamic_mode(files: MachineFiles, facts: Facts) -> str:
    """The preemption mode of a dynamic kernel, by what it says, was told, or was built for."""
    for word in (files.read("/sys/kernel/debug/sched/preempt") or "").split():
        if word.startswith("("):
            return word.strip("()")
    for word in (files.read("/proc/cmdline") or "").split():
        if word.startswith("preempt="):
            return word.removeprefix("preempt=")
    release = facts.kernel.partition(" ")[0]
    built = files.read("/proc/config.gz") or files.read(f"/boot/config-{release}") or ""
    lines = built.splitlines()
    return next((mode for option, mode in PREEMPTION_OPTIONS.items() if f"{option}=y" in lines), "")


def _cpu_quota(files: MachineFiles) -> float | None:
    """Cores' worth of time a control group allows each period; None: as much as there is."""
    quota, _, period = (files.read("/sys/fs/cgroup/cpu.max") or "").partition(" ")
    if not quota:
        quota = files.read("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") or ""
        period = files.read("/sys/fs/cgroup/cpu/cpu.cfs_period_us") or ""
    allowed, per = _number(quota), _number(period)
    return allowed / per if allowed and allowed > 0 and per else None


def _number(text: str | None) -> int | None:
    try:
        return int(text or "")
    except ValueError:
        return None
