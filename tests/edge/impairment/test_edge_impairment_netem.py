"""tc netem: the command for a link, what has no equivalent, the checks, and the undoing."""

import gzip
import os
import shutil
import subprocess
from collections.abc import Iterator
from math import inf, log
from pathlib import Path
from random import Random
from statistics import fmean

import pytest

from steadyhand.core.link import PROFILES, LinkProfile, LinkTrace, Outage
from steadyhand.core.link.jitter import jitter_sampler
from steadyhand.core.link.profile import JitterKind
from steadyhand.edge.impairment import netem as netem_module
from steadyhand.edge.impairment.netem import (
    NetemPlace,
    Outcome,
    netem,
    netem_commands,
    netem_options,
    no_equivalent,
    run_command,
)
from steadyhand.edge.impairment.netem_machine import check_machine, kernel_has_netem, may_configure
from steadyhand.edge.impairment.netem_tables import JITTER_SCALES, ONE_SIGMA, table, write_table
from steadyhand.ground.errors import InputError

PLACE = NetemPlace(namespace="bench", interface="veth0")
KINDS: tuple[JitterKind, ...] = ("exponential", "normal", "pareto")


def options(**fields: object) -> str:
    return " ".join(netem_options(LinkProfile(**fields)))  # type: ignore[arg-type]


def test_the_commands_act_inside_the_namespace_alone() -> None:
    begin, end = netem_commands(LinkProfile(delay_ms=40.0), PLACE)
    assert begin[:8] == ["tc", "-n", "bench", "qdisc", "add", "dev", "veth0", "root"]
    assert begin[8:] == ["netem", "limit", "100000", "delay", "40.000000ms"]
    assert end == ["tc", "-n", "bench", "qdisc", "del", "dev", "veth0", "root"]


def test_each_figure_has_its_option() -> None:
    assert options(loss=0.00001).endswith("delay 0.000000ms loss random 0.001000%")
    assert options(duplicate=0.5).endswith("duplicate 50.000000%")
    assert options(ge_enter_bad=0.0004, ge_leave_bad=0.25).endswith(
        "loss gemodel 0.040000% 25.000000% 100.000000% 0.000000%"
    )


def test_jitter_that_may_not_reorder_has_a_rate_and_jitter_that_may_has_none() -> None:
    ordered = options(delay_ms=5.0, jitter_ms=2.0)
    assert ordered.endswith("delay 5.000000ms 8.000000ms distribution exponential rate 10gbit")
    assert "rate" not in options(delay_ms=5.0, jitter_ms=2.0, reorder=True)
    assert "rate" not in options(delay_ms=5.0)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"trace": LinkTrace(t_ns=(0,), delay_ns=(1,), period_ns=2)}, "a trace"),
        ({"outages": (Outage(start_ms=0.0, duration_ms=inf),)}, "outages"),
        ({"outage_every_ms": 1000.0, "outage_ms": 50.0, "outage_burst": True}, "outages"),
        ({"rate_kbit_s": 1000.0}, "rate_kbit_s"),
        ({"queue_bytes": 1000}, "queue_bytes"),
        ({"jitter_ms": 1.0, "jitter_correlation": 0.5}, "jitter_correlation"),
        ({"jitter_ms": 300.0, "jitter": "pareto"}, "jitter_ms: netem's goes to 268"),
        ({"loss": 0.1, "ge_enter_bad": 0.1}, "two kinds of loss"),
    ],
)
def test_what_has_no_equivalent_is_refused_naming_it(fields: dict[str, object], words: str) -> None:
    with pytest.raises(InputError) as refused:
        netem_commands(LinkProfile(**fields), PLACE)  # type: ignore[arg-type]
    assert words in str(refused.value)
    assert "use the proxy" in str(refused.value)


def test_which_profiles_netem_can_do() -> None:
    able = [name for name, profile in PROFILES.items() if no_equivalent(profile) is None]
    assert able == ["clean", "lan", "wifi", "intercontinental"]


@pytest.mark.parametrize(
    ("namespace", "interface"),
    [
        ("", "lo"),
        ("bench", ""),
        ("-n", "lo"),
        ("../proc", "lo"),
        ("a b", "lo"),
        ("bench", "x" * 16),
        ("a", "-d"),
    ],
)
def test_what_is_not_a_name_is_refused(namespace: str, interface: str) -> None:
    with pytest.raises(InputError):
        NetemPlace(namespace=namespace, interface=interface)


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_is_the_distribution_of_core_link(kind: JitterKind) -> None:
    rows = table(kind)
    assert len(rows) == 4096
    assert all(-32_768 <= row <= 32_767 for row in rows)
    sampler = jitter_sampler(LinkProfile(jitter=kind, jitter_ms=1.0), Random(1))
    if sampler is None:
        raise RuntimeError("there is jitter")
    drawn = sorted(sampler() / 1e6 for _ in range(40_000))
    told = [row * JITTER_SCALES[kind] / ONE_SIGMA for row in rows]
    for share in (0.05, 0.5, 0.9, 0.99):
        assert told[int(share * 4096)] == pytest.approx(drawn[int(share * 40_000)], rel=0.06, abs=0.02)
    assert fmean(told) == pytest.approx(0.0 if kind == "normal" else 1.0, abs=0.01)


def test_an_exponential_table_is_the_closed_form() -> None:
    told = [row * JITTER_SCALES["exponential"] / ONE_SIGMA for row in table("exponential")]
    assert told[2048] == pytest.approx(log(2.0), abs=0.001)


class Recorder:
    """Runs nothing; answers as it is told and remembers what was asked, and the table that was there."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self.commands: list[list[str]] = []
        self.tables: list[str] = []

    def __call__(self, command: list[str], environment: dict[str, str]) -> Outcome:
        self.commands.append(command)
        if "TC_LIB_DIR" in environment:
            self.tables += [path.name for path in Path(environment["TC_LIB_DIR"]).iterdir()]
        return self.outcome if "add" in command else Outcome(0, "")


@pytest.fixture
def able_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(netem_module, "check_machine", lambda: None)


@pytest.mark.usefixtures("able_machine")
def test_it_is_undone_however_the_block_ends() -> None:
    run = Recorder(Outcome(0, ""))
    with pytest.raises(ZeroDivisionError), netem(PROFILES["wifi"], PLACE, run=run):
        raise ZeroDivisionError
    assert [command[4] for command in run.commands] == ["add", "del"]
    assert run.tables == ["exponential.dist"]


@pytest.mark.usefixtures("able_machine")
@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("Error: Specified qdisc kind is unknown.", "this kernel has no netem"),
        ('Cannot open network namespace "bench": No such file or directory', "no such network namespace"),
        ('Cannot find device "veth0"', "no such interface"),
        ("Error: Exclusivity flag on, cannot modify.", "somebody else is there already"),
        ("RTNETLINK answers: File exists", "somebody else is there already"),
        ("RTNETLINK answers: Operation not permitted", "not permitted"),
        ("something\nelse", "something else"),
        ("", "said nothing"),
    ],
)
def test_where_it_cannot_begin_it_says_why_and_undoes_nothing(said: str, words: str) -> None:
    run = Recorder(Outcome(2, said))
    with pytest.raises(InputError) as refused, netem(PROFILES["clean"], PLACE, run=run):
        pytest.fail("it did not begin")
    assert words in str(refused.value)
    assert "bench:veth0" in str(refused.value)
    assert [command[4] for command in run.commands] == ["add"]


def machine(root: Path, *, capabilities: int, config: str | None = None, modules: str | None = None) -> Path:
    """A machine as the checks see it."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/status").write_text(f"Name:\tx\nCapEff:\t{capabilities:016x}\n", encoding="ascii")
    if config is not None:
        (root / "proc/config.gz").write_bytes(gzip.compress(config.encode()))
    if modules is not None:
        folder = root / "lib/modules" / os.uname().release
        folder.mkdir(parents=True)
        (folder / "modules.dep").write_text(modules, encoding="ascii")
    return root


def test_both_capabilities_are_needed(tmp_path: Path) -> None:
    assert may_configure(machine(tmp_path / "both", capabilities=1 << 12 | 1 << 21))
    assert not may_configure(machine(tmp_path / "net", capabilities=1 << 12))
    assert not may_configure(machine(tmp_path / "sys", capabilities=1 << 21))
    assert not may_configure(tmp_path / "nothing")


def test_whether_the_kernel_has_netem_is_asked_of_its_configuration_and_its_modules(tmp_path: Path) -> None:
    unset = "# CONFIG_NET_SCH_NETEM is not set\n"
    module = "kernel/net/sched/sch_netem.ko.xz:\n"

    def asked(name: str, *, config: str | None = None, modules: str | None = None) -> bool | None:
        return kernel_has_netem(machine(tmp_path / name, capabilities=0, config=config, modules=modules))

    assert asked("built in", config="CONFIG_NET_SCH_NETEM=y\n") is True
    assert asked("unset", config=unset, modules=module) is False
    assert asked("module", config="CONFIG_NET_SCH_NETEM=m\n", modules=module) is True
    assert asked("module not installed", config="CONFIG_NET_SCH_NETEM=m\n", modules="other.ko:\n") is False
    assert asked("listed", modules=module) is True
    assert asked("not listed", modules="other.ko:\n") is False
    assert asked("silent") is None
    loaded = machine(tmp_path / "loaded", capabilities=0, config=unset)
    (loaded / "sys/module/sch_netem").mkdir(parents=True)
    assert kernel_has_netem(loaded) is True


def test_each_check_has_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = machine(tmp_path / "bare", capabilities=0)
    with pytest.raises(InputError, match="CAP_NET_ADMIN"):
        check_machine(bare)
    old = machine(tmp_path / "old", capabilities=(1 << 41) - 1, config="# CONFIG_NET_SCH_NETEM is not set\n")
    with pytest.raises(InputError, match=r"no netem \(CONFIG_NET_SCH_NETEM\) \(use the proxy\)"):
        check_machine(old)
    check_machine(machine(tmp_path / "able", capabilities=(1 << 41) - 1))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="no tc"):
        check_machine(old)


@pytest.fixture
def namespace() -> Iterator[str]:
    """A network namespace of this test's own, taken away after it."""
    if shutil.which("ip") is None or shutil.which("tc") is None:
        pytest.skip("iproute2 is not installed")
    name = f"steadyhand-test-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"network namespaces are not permitted: {made.stderr.strip()}")
    try:
        subprocess.run(["ip", "-n", name, "link", "set", "lo", "up"], check=True)
        yield name
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True)


@pytest.mark.parametrize("name", ["clean", "lan", "wifi", "intercontinental"])
def test_tc_itself_understands_every_command(name: str, namespace: str, tmp_path: Path) -> None:
    profile = PROFILES[name]
    begin, end = netem_commands(profile, NetemPlace(namespace=namespace, interface="lo"))
    if profile.jitter_ms:
        write_table(profile.jitter, tmp_path)
    outcome = run_command(begin, {"TC_LIB_DIR": str(tmp_path)})
    if outcome.code:
        # Only the kernel may refuse; a command that tc does not parse never reaches it.
        assert "qdisc kind is unknown" in outcome.said
        assert kernel_has_netem() is not True
    else:
        assert run_command(end, {}).code == 0


def test_on_a_kernel_with_netem_a_ping_takes_the_round_trip_and_without_one_it_is_refused(
    namespace: str,
) -> None:
    place = NetemPlace(namespace=namespace, interface="lo")
    if kernel_has_netem() is False:
        with pytest.raises(InputError, match="this kernel has no netem"), netem(PROFILES["clean"], place):
            pytest.fail("it did not begin")
        return
    if shutil.which("ping") is None:
        pytest.skip("ping is not installed")
    ping = ["ip", "netns", "exec", namespace, "ping", "-c", "1", "-W", "5", "127.0.0.1"]
    with netem(LinkProfile(delay_ms=50.0), place):
        said = subprocess.run(ping, capture_output=True, text=True, check=True).stdout
    assert float(said.split("time=")[1].split()[0]) >= 100.0
    shown = subprocess.run(
        ["tc", "-n", namespace, "qdisc"], capture_output=True, text=True, check=True
    ).stdout
    assert "netem" not in shown
