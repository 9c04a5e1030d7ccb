"""What doctor finds on machines laid out as files, what it says of ticks, and the command itself."""

import gzip
import json
import resource
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from steadyhand.cli.doctor import doctor, examine_machine, print_doctor
from steadyhand.edge import doctor_checks, tick_probe
from steadyhand.edge.doctor_checks import CHECKS, Finding, examine
from steadyhand.edge.doctor_facts import Facts, gather_facts
from steadyhand.edge.doctor_verdict import verdict
from steadyhand.edge.lateness import LatenessSummary
from steadyhand.edge.machine_files import MachineFiles
from steadyhand.edge.realtime import Granted, RealtimeReport, RealtimeRequest, Refused
from steadyhand.edge.tick_probe import ProbeError, ProbeRequest, ProbeResult, measure_in_child, stolen_ms
from steadyhand.ground.errors import InputError

FACTS = Facts(
    rate_hz=100.0,
    kernel="6.1.0 #1 SMP PREEMPT_DYNAMIC",
    priority_limit=0,
    locked_limit_bytes=8 << 20,
    allowed_cpus=frozenset({0, 1}),
    cpus=4,
    synchronised=False,
    clock_error_us=0,
    shared_memory=True,
)

Machine = Callable[[dict[str, str]], MachineFiles]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine whose /proc and /sys hold just these files."""

    def laid_out(files: dict[str, str]) -> MachineFiles:
        for path, content in files.items():
            file = tmp_path / path.lstrip("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, encoding="utf-8")
        return MachineFiles(tmp_path)

    return laid_out


def found(name: str, files: MachineFiles, facts: Facts = FACTS) -> Finding:
    return next(finding for finding in examine(facts, files) if finding.name == name)


def test_a_machine_that_shows_nothing_is_unknown_and_never_assumed_good(machine: Machine) -> None:
    blind = msgspec.structs.replace(FACTS, synchronised=None)
    findings = {finding.name: finding.standing for finding in examine(blind, machine({}))}
    assert len(findings) == len(CHECKS)
    for hidden in (
        "clock source",
        "timer slack",
        "governor",
        "isolated cores",
        "clock sync",
        "receive buffer",
    ):
        assert findings[hidden] == "unknown"


@pytest.mark.parametrize(
    ("kernel", "files", "value", "standing"),
    [
        ("6.12 #1 SMP PREEMPT_RT", {}, "PREEMPT_RT", "good"),
        ("6.12 #1 SMP", {"/sys/kernel/realtime": "1\n"}, "PREEMPT_RT", "good"),
        ("6.12 #1 SMP PREEMPT", {}, "full", "good"),
        ("6.12 #1 SMP PREEMPT_DYNAMIC", {}, "chosen at boot, not readable here", "fair"),
        ("6.12 #1 SMP PREEMPT_DYNAMIC", {"/sys/kernel/debug/sched/preempt": "none voluntary (full)"}, "full",
         "good"),
        ("6.12 #1 SMP PREEMPT_DYNAMIC", {"/proc/cmdline": "quiet preempt=voluntary"}, "voluntary", "fair"),
        ("6.12 #1 SMP PREEMPT_DYNAMIC", {"/boot/config-6.12": "CONFIG_X=y\nCONFIG_PREEMPT=y"}, "full",
         "good"),
        ("6.12 #1 SMP", {}, "none or voluntary", "fair"),
    ],
)  # fmt: skip
def test_the_preemption_model(
    kernel: str, files: dict[str, str], value: str, standing: str, machine: Machine
) -> None:
    finding = found("preemption", machine(files), msgspec.structs.replace(FACTS, kernel=kernel))
    assert (finding.value, finding.standing) == (value, standing)


def test_a_packed_kernel_configuration_is_read_too(machine: Machine, tmp_path: Path) -> None:
    files = machine({"/proc/config.gz": ""})
    (tmp_path / "proc" / "config.gz").write_bytes(gzip.compress(b"CONFIG_PREEMPT_LAZY=y\n"))
    assert found("preemption", files).value == "lazy"
    (tmp_path / "proc" / "config.gz").write_bytes(b"\x1f\x8bbroken")
    assert found("preemption", files).value == "chosen at boot, not readable here"


@pytest.mark.parametrize(
    ("capabilities", "priority_limit", "locked_limit_bytes", "standing"),
    [
        ("0", 0, 8 << 20, "poor"),
        ("0", 99, 8 << 20, "fair"),
        ("0", 99, resource.RLIM_INFINITY, "good"),
        ("0", 10, resource.RLIM_INFINITY, "fair"),
        ("0000000000804000", 0, 8 << 20, "good"),
        ("0000000000800000", 0, 8 << 20, "fair"),
    ],
)
def test_limits_and_capabilities(
    capabilities: str, priority_limit: int, locked_limit_bytes: int, standing: str, machine: Machine
) -> None:
    files = machine({"/proc/self/status": f"Name:\tx\nCapEff:\t{capabilities}\n"})
    facts = msgspec.structs.replace(
        FACTS, priority_limit=priority_limit, locked_limit_bytes=locked_limit_bytes
    )
    finding = found("limits", files, facts)
    assert finding.standing == standing
    assert bool(finding.advice) == (standing != "good")


SHARE = {"/proc/sys/kernel/sched_rt_period_us": "1000000"}


@pytest.mark.parametrize(
    ("name", "files", "value", "standing"),
    [
        ("real-time share", SHARE | {"/proc/sys/kernel/sched_rt_runtime_us": "950000"}, "95 %", "good"),
        ("real-time share", SHARE | {"/proc/sys/kernel/sched_rt_runtime_us": "-1"}, "unbounded", "good"),
        ("real-time share", SHARE | {"/proc/sys/kernel/sched_rt_runtime_us": "0"}, "0 %", "poor"),
        ("clock source", {"/sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc"}, "tsc",
         "good"),
        ("clock source", {"/sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet"}, "hpet",
         "poor"),
        ("timer slack", {"/proc/self/timerslack_ns": "50000"}, "50 µs until asked for less", "good"),
        ("governor", {"/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance"}, "performance",
         "good"),
        ("governor", {"/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance",
                      "/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "powersave"},
         "performance, powersave", "fair"),
        ("isolated cores", {"/sys/devices/system/cpu/isolated": "2-3\n"}, "2-3", "good"),
        ("isolated cores", {"/sys/devices/system/cpu/isolated": "\n"}, "none", "fair"),
        ("cores", {}, "0-1 of 4", "good"),
        ("cores", {"/sys/fs/cgroup/cpu.max": "max 100000"}, "0-1 of 4", "good"),
        ("cores", {"/sys/fs/cgroup/cpu.max": "150000 100000"}, "0-1 of 4, quota 1.5", "poor"),
        ("cores", {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "50000",
                   "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"}, "0-1 of 4, quota 0.5", "poor"),
        ("cores", {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1",
                   "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"}, "0-1 of 4", "good"),
        ("machine", {"/proc/cpuinfo": "flags\t: fpu hypervisor sse"}, "virtual", "fair"),
        ("machine", {"/proc/cpuinfo": "flags\t: fpu sse"}, "no hypervisor seen", "good"),
        ("receive buffer", {"/proc/sys/net/core/rmem_max": "4194304"}, "up to 4096 KiB", "good"),
        ("receive buffer", {"/proc/sys/net/core/rmem_max": "212992"}, "up to 208 KiB", "fair"),
    ],
)  # fmt: skip
def test_what_the_kernels_files_say(
    name: str, files: dict[str, str], value: str, standing: str, machine: Machine
) -> None:
    finding = found(name, machine(files))
    assert (finding.value, finding.standing) == (value, standing)
    assert bool(finding.advice) == (standing != "good")


def test_one_core_for_everything_is_only_fair(machine: Machine) -> None:
    assert (
        found("cores", machine({}), msgspec.structs.replace(FACTS, allowed_cpus=frozenset({3}))).standing
        == "fair"
    )


@pytest.mark.parametrize(
    ("comm", "synchronised", "value", "standing"),
    [
        ("chronyd", True, "synchronised by chrony, within 2.5 ms", "good"),
        ("systemd-timesyn", True, "synchronised by timesyncd, within 2.5 ms", "good"),
        ("bash", True, "synchronised, within 2.5 ms", "good"),
        ("ptp4l", False, "not synchronised by PTP", "fair"),
        ("bash", False, "not synchronised", "fair"),
    ],
)
def test_clock_synchronisation_is_the_kernels_word_and_the_daemons_name(
    comm: str, synchronised: bool, value: str, standing: str, machine: Machine
) -> None:
    facts = msgspec.structs.replace(FACTS, synchronised=synchronised, clock_error_us=2500)
    finding = found("clock sync", machine({"/proc/812/comm": f"{comm}\n"}), facts)
    assert (finding.value, finding.standing) == (value, standing)


def test_a_hardware_clock_is_mentioned(machine: Machine) -> None:
    assert found("clock sync", machine({"/dev/ptp0": ""})).value.endswith("a PTP hardware clock is here")


def test_a_node_cannot_run_without_shared_memory(machine: Machine) -> None:
    refused = msgspec.structs.replace(FACTS, shared_memory=False)
    assert found("shared memory", machine({}), refused).standing == "poor"


def test_this_machine_can_be_examined_whatever_it_is() -> None:
    facts = gather_facts(100.0)
    assert facts.shared_memory
    assert [check.__name__ for check in doctor_checks.CHECKS] == [
        name for name in vars(doctor_checks) if name.startswith("check_")
    ]
    assert all(finding.value for finding in examine(facts))


def test_stolen_time_is_read_where_the_kernel_tells(machine: Machine) -> None:
    assert stolen_ms(machine({"/proc/stat": "cpu  1 2 3 4 5 6 7 200 0 0\ncpu0 1\n"})) == pytest.approx(2000.0)
    assert stolen_ms(MachineFiles(Path("/nowhere"))) is None


FIFO = Granted("scheduling", "SCHED_FIFO 80")
MEMORY = Granted("memory", "all")


def probe(
    *,
    p99_9_us: float = 20.0,
    max_us: float = 40.0,
    lost_slots: int = 0,
    stolen: float | None = 0.0,
    count: int = 1000,
    answers: tuple[Granted | Refused, ...] = (FIFO, MEMORY),
) -> ProbeResult:
    lateness = LatenessSummary(count=count, p50_us=1.0, p99_us=5.0, p99_9_us=p99_9_us, max_us=max_us)
    return ProbeResult(
        realtime=RealtimeReport(answers),
        period_ns=10_000_000,
        lateness=lateness,
        overshoot=lateness,
        snaps=lost_slots,
        lost_slots=lost_slots,
        stolen_ms=stolen,
        preempted=0,
        page_faults=0,
    )


def test_slots_were_lost() -> None:
    said = verdict(probe(lost_slots=3, max_us=41_000.0, p99_9_us=30_000.0))
    assert said.standing == "poor"
    assert "3 of 1003 ticks did not happen, the worst came 41.0 ms late" in said.sentence
    late = verdict(probe(max_us=10_000.0))
    assert late.standing == "poor"
    assert "a tick came 10.0 ms late, more than a period" in late.sentence


def test_ticks_were_late() -> None:
    said = verdict(probe(p99_9_us=1001.0, max_us=9_000.0, stolen=30.0))
    assert said.standing == "fair"
    assert "one in a thousand came 1.0 ms late or later" in said.sentence
    assert "The hypervisor gave 30 ms to other guests" in said.sentence
    assert verdict(probe(p99_9_us=1000.0, max_us=1000.0)).standing == "good"
    assert "the worst of 50 came 2.0 ms late" in verdict(probe(p99_9_us=2000.0, count=50)).sentence


def test_nothing_is_promised() -> None:
    said = verdict(probe(answers=(Refused("scheduling", "not permitted"), MEMORY)))
    assert said.standing == "fair"
    assert "nothing holds it so" in said.sentence


def test_memory_may_go() -> None:
    said = verdict(probe(answers=(FIFO, Refused("memory", "limit"))))
    assert said.standing == "fair"
    assert "until memory runs short" in said.sentence


def test_all_is_well() -> None:
    said = verdict(probe())
    assert said.standing == "good"
    assert said.sentence == "Fit for 100 Hz: 999 ticks in 1000 came within 20 µs of their time."


NOTHING_ASKED = RealtimeRequest(
    priority=None, lock_memory=False, keep_heap=False, timer_slack_ns=None, shallow_idle=False
)


def test_ticks_are_measured_in_a_process_of_their_own() -> None:
    shares: list[float] = []
    request = ProbeRequest(seconds=0.3, rate_hz=200.0, realtime=NOTHING_ASKED)
    result = measure_in_child(request, shares.append)
    assert result.period_ns == 5_000_000
    assert 1 <= result.lateness.count <= 60
    assert [answer.what for answer in result.realtime.answers] == ["garbage collector"]
    assert shares == sorted(shares)
    assert shares[0] < 0.5


def test_a_measuring_process_that_dies_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tick_probe, "MODULE", "steadyhand.edge.no_such_module")
    with pytest.raises(ProbeError, match=r"the measuring process ended: .*no_such_module") as caught:
        measure_in_child(ProbeRequest(seconds=0.1, rate_hz=100.0), lambda share: None)
    assert "\n" not in str(caught.value)


def test_a_measuring_process_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tick_probe, "GRACE_S", -59.8)
    with pytest.raises(ProbeError, match="did not end"):
        measure_in_child(ProbeRequest(seconds=60.0, rate_hz=100.0), lambda share: None)


def test_the_json_has_what_was_asked_found_measured_and_judged(tmp_path: Path) -> None:
    out = tmp_path / "doctor.json"
    doctor(seconds=0.2, rate_hz=100.0, json=out)
    report = json.loads(out.read_text(encoding="utf-8"))
    assert {"kernel", "rate_hz", "seconds", "asked", "found", "ticks", "verdict"} <= set(report)
    assert {answer["answer"] for answer in report["asked"]} <= {"granted", "refused"}
    assert {"p50_us", "p99_us", "p99_9_us", "max_us", "count"} == set(report["ticks"]["lateness"])
    assert report["verdict"]["standing"] in ("good", "fair", "poor")
    assert len(report["found"]) == len(CHECKS)


def test_json_to_standard_output_is_only_json(capsys: pytest.CaptureFixture[str]) -> None:
    doctor(seconds=0.1, json=Path("-"))
    assert json.loads(capsys.readouterr().out)["rate_hz"] == 100.0


@pytest.mark.parametrize("width", [60, 80, 240])
def test_the_terminal_shows_every_question_the_figures_and_the_verdict(width: int) -> None:
    report = examine_machine(0.1, 100.0)
    page = StringIO()
    print_doctor(report, Console(file=page, width=width, highlight=False))
    printed = page.getvalue()
    for finding in report["found"]:
        assert finding["name"] in printed
    for answer in report["asked"]:
        assert answer["what"] in printed
    assert "p99.9" in printed
    assert report["verdict"]["sentence"][:20] in printed
    assert max(map(len, printed.splitlines())) <= width


@pytest.mark.parametrize(
    ("options", "where"),
    [
        ({"seconds": float("nan")}, "--seconds"),
        ({"seconds": float("inf")}, "--seconds"),
        ({"seconds": 0.0}, "--seconds"),
        ({"seconds": -1.0}, "--seconds"),
        ({"seconds": 0.001}, "--seconds"),
        ({"rate_hz": 0.0}, "--rate-hz"),
        ({"rate_hz": 1e9}, "--rate-hz"),
        ({"rate_hz": float("nan")}, "--rate-hz"),
    ],
)
def test_an_option_that_cannot_be_is_one_line(options: dict[str, float], where: str) -> None:
    with pytest.raises(InputError) as caught:
        doctor(seconds=options.get("seconds", 1.0), rate_hz=options.get("rate_hz", 100.0))
    assert str(caught.value).startswith(f"{where}: ")
    assert "\n" not in str(caught.value)


def test_an_output_that_cannot_be_written_is_refused_before_measuring(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no folder"):
        doctor(seconds=3600.0, json=tmp_path / "none" / "x.json")
