"""`steadyhand impair` as its user types it: ready line, signals, refusals in one line."""

import os
import re
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import cyclopts
import pytest

from steadyhand.cli.impair import REALTIME, impair, ready_line, scheduling, summary_line
from steadyhand.core.link import LinkProfile
from steadyhand.edge.impairment import Forward, ImpairmentClient, ImpairmentProxy, ProxyConfig
from steadyhand.edge.realtime import Granted, RealtimeReport, Refused
from steadyhand.ground.errors import InputError

MakeSocket = Callable[[], socket.socket]
DEADLINE_S = 60.0
COMMAND = "from steadyhand.cli.main import main\nmain()"


@contextmanager
def process(
    *options: str, code: str = COMMAND, environment: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """The command in a process of its own; killed where the test leaves it running."""
    running = subprocess.Popen(
        [sys.executable, "-c", code, "impair", *options],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with running:
        try:
            yield running
        finally:
            running.kill()


def first_line(running: subprocess.Popen[str]) -> str:
    if running.stdout is None:
        raise RuntimeError("a pipe was asked for")
    if not select.select([running.stdout], [], [], DEADLINE_S)[0]:
        raise TimeoutError("it did not say that it is ready")
    return running.stdout.readline()


def port(line: str, name: str) -> int:
    found = re.search(rf"{name} 127\.0\.0\.1:(\d+)", line)
    if found is None:
        raise ValueError(line)
    return int(found[1])


def refusal(*options: str) -> str:
    """What the command refuses its options with, without a process."""
    app = cyclopts.App()
    app.default(impair)
    with pytest.raises(InputError) as refused:
        app(options, exit_on_error=False, print_error=False, result_action="return_value")
    return str(refused.value)


def test_it_says_it_is_ready_relays_and_ends_cleanly_on_a_signal(udp: MakeSocket) -> None:
    operator, follower = udp(), udp()
    target = follower.getsockname()[1]
    with process("--udp", f"0:{target}", "--link", "clean", "--seed", "3", "--admin", "0") as running:
        line = first_line(running)
        assert line.startswith("impair ready: udp 127.0.0.1:")
        assert "link clean, back clean; seed 3; " in line
        assert re.search(r"; (SCHED_FIFO \d+|no real time: )", line)
        operator.sendto(b"x", ("127.0.0.1", port(line, "udp")))
        assert follower.recv(10) == b"x"
        with ImpairmentClient(port(line, "admin")) as client:
            client.kill()
        running.send_signal(signal.SIGTERM)
        out, err = running.communicate(timeout=DEADLINE_S)
    assert running.returncode == 0
    assert out.startswith("impair ended: to_follower KILLED 1/1 | to_operator KILLED 0/0 | late ")
    assert err == ""


def test_a_scenario_begins_with_the_process(udp: MakeSocket) -> None:
    target = udp().getsockname()[1]
    scenario = "0 kill udp; 0 link both wifi; 3600 revive"
    with process("--udp", f"0:{target}", "--admin", "0", "--scenario", scenario) as running:
        with ImpairmentClient(port(first_line(running), "admin")) as client:
            status = client.status()
        assert (status.udp["to_follower"].alive, status.udp["to_follower"].link) == (False, "wifi")
        assert status.steps_left == 1


def test_a_trace_on_offer_can_be_changed_to_while_running(udp: MakeSocket, tmp_path: Path) -> None:
    trace = tmp_path / "site.csv"
    trace.write_text("t_ms,rtt_ms\n0,10\n10,12\n", encoding="utf-8")
    target = udp().getsockname()[1]
    with (
        process("--telemetry", f"0:{target}", "--admin", "0", "--offer", str(trace)) as running,
        ImpairmentClient(port(first_line(running), "admin")) as client,
    ):
        client.set_link(f"{trace}:loss=0.5", direction="to_operator")
        assert client.status().udp["to_operator"].link == f"{trace}:loss=0.5"


def test_a_port_in_use_is_one_line_and_exit_code_2(udp: MakeSocket) -> None:
    taken = udp().getsockname()[1]
    with process("--udp", f"{taken}:9001") as running:
        out, err = running.communicate(timeout=DEADLINE_S)
    assert running.returncode == 2
    assert out == ""
    assert err == f"steadyhand: --udp: 127.0.0.1:{taken} cannot be listened on: Address already in use\n"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "nothing to relay"),
        (("--udp", "9000"), "--udp: '9000' is not two addresses"),
        (("--control", "0.0.0.0:1:2"), "--control: 0.0.0.0 is not loopback"),
        (("--udp", "0:1", "--link", "nosuch"), "no link profile 'nosuch'"),
        (("--udp", "0:1", "--link-back", "loss=2"), "loss must be from 0 to 1"),
        (("--udp", "0:1", "--offer", "nosuch.csv"), "nosuch.csv"),
        (("--udp", "0:1", "--scenario", "kill both"), "does not begin with seconds"),
        (("--udp", "0:1", "--admin", "70000"), "--admin: 70000 is not a port"),
        (("--netem", "bench:lo", "--udp", "0:1"), "--netem: the kernel relays nothing"),
        (("--netem", "bench:lo", "--link", "lte"), "link lte: netem cannot do outages"),
        (("--netem", "bench"), "netem: '' is not an interface"),
    ],
)
def test_options_that_cannot_be_used_are_refused(options: tuple[str, ...], words: str) -> None:
    assert words in refusal(*options)


def test_the_lines_name_every_path(opened: ExitStack, udp: MakeSocket) -> None:
    target = udp().getsockname()
    forward = Forward(listen=("127.0.0.1", 0), target=target)
    proxy = ImpairmentProxy(
        ProxyConfig(udp=forward, telemetry=forward, control=forward, link=LinkProfile(), admin_port=0)
    )
    opened.callback(proxy.close)
    line = ready_line(proxy, "SCHED_FIFO 60")
    for name in ("udp", "telemetry", "control", "admin"):
        assert port(line, name) > 0
    assert "link ideal, back ideal" in line
    summary = summary_line(proxy.status())
    assert summary == "to_follower ideal 0/0 | to_operator ideal 0/0 | control 0 open | late p99 0 µs"
    proxy.answer("kill control to_operator")
    proxy.answer("link udp to_follower delay_ms=40,jitter_ms=8,loss=0.01")
    assert summary_line(proxy.status()).startswith("to_follower delay_ms=40,jitter_ms=8… 0/0 | ")
    assert "| control KILLED |" in summary_line(proxy.status())
    assert "\n" not in line + summary


def test_what_was_granted_is_reported_never_assumed() -> None:
    granted = RealtimeReport((Refused("memory", "no"), Granted("scheduling", "SCHED_FIFO 60")))
    refused = RealtimeReport((Granted("memory", "all"), Refused("scheduling", "not permitted")))
    assert scheduling(granted) == "SCHED_FIFO 60"
    assert scheduling(refused) == "no real time: not permitted"
    assert scheduling(RealtimeReport(())) == "no real time"
    assert REALTIME.priority == 60


def test_netem_is_held_until_a_signal_and_then_undone(tmp_path: Path) -> None:
    log = tmp_path / "log"
    tc = tmp_path / "tc"
    tc.write_text(f'#!/bin/sh\necho "$*" >> {log}\n', encoding="utf-8")
    tc.chmod(0o755)
    able = "from steadyhand.edge.impairment import netem\nnetem.check_machine = lambda: None\n"
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    options = ("--netem", "bench:veth0", "--link", "delay_ms=5")
    with process(*options, code=able + COMMAND, environment=environment) as running:
        assert first_line(running) == "impair ready: netem on bench:veth0; link delay_ms=5\n"
        assert len(log.read_text(encoding="utf-8").splitlines()) == 1
        running.send_signal(signal.SIGTERM)
        out, err = running.communicate(timeout=DEADLINE_S)
    assert (running.returncode, err) == (0, "")
    assert out == "impair ended: netem on bench:veth0 is undone\n"
    assert [line.split()[3] for line in log.read_text(encoding="utf-8").splitlines()] == ["add", "del"]
