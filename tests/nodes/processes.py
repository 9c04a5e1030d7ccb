"""Real processes for the tests of the nodes, and waiting with a deadline. The fixtures are in `conftest`.

from tests.nodes.processes import ControllerProcess, FollowerProcess, wait_until
"""

import itertools
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from steadyhand.nodes.follower.records import TickRecord
from steadyhand.nodes.follower.runtime_files import FollowerCard, RuntimeFiles, newest_record, read_card

ROBOT_FILE: Final = Path(__file__).resolve().parents[2] / "config" / "robots" / "fairino_fr3_remote_node.yaml"
ROBOT_ID: Final = "fr3"
START_WITHIN_S: Final = 60.0
"""Interpreters start slowly on a machine that tests keep busy."""

WITHIN_S: Final = 20.0
_addresses = itertools.count(1)


def wait_until(condition: Callable[[], Any], *, deadline_s: float = WITHIN_S, what: str = "") -> Any:
    """Look again and again until `condition` answers with something true, and answer with that.

    Raises:
        AssertionError: it did not within `deadline_s`; says `what` was waited for.
    """
    look = threading.Event()
    ends_s = time.monotonic() + deadline_s
    while True:
        answer = condition()
        if answer:
            return answer
        assert time.monotonic() < ends_s, f"not within {deadline_s:g} s: {what or condition}"
        look.wait(0.005)


def free_port(kind: socket.SocketKind, host: str = "127.0.0.1") -> int:
    """A port that the kernel says nobody has just now."""
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind((host, 0))
        name: tuple[str, int] = probe.getsockname()
        return name[1]


def own_address() -> str:
    """A loopback address that no other test of this machine uses, in this run or another."""
    number, pid = next(_addresses), os.getpid()
    return f"127.{10 + pid // 250 % 200}.{pid % 250 + 1}.{number % 250 + 1}"


class Process:
    """A process with a reader for what it prints; both outputs in one.

    Attributes:
        lines: what it printed, whole lines, growing.
    """

    def __init__(
        self, name: str, arguments: Sequence[str], environment: dict[str, str] | None = None
    ) -> None:
        self.name = name
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=os.environ | (environment or {}),
        )
        self._printed = threading.Condition()
        self._over = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self.process.pid

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._printed:
                self.lines.append(line.rstrip("\n"))
                self._printed.notify_all()
        with self._printed:
            self._over = True
            self._printed.notify_all()

    def wait_line(self, part: str, *, deadline_s: float = WITHIN_S, after: int = 0) -> str:
        """The first line from number `after` on that contains `part`, printed already or to come."""

        def found() -> str | None:
            return next((line for line in self.lines[after:] if part in line), None)

        with self._printed:
            self._printed.wait_for(lambda: found() is not None or self._over, deadline_s)
        line = found()
        assert line is not None, f"{self.name} did not print {part!r}:\n{self.told()}"
        return line

    def wait_end(self, deadline_s: float = WITHIN_S) -> int:
        """Its exit code, once it has ended by itself and everything it printed was read."""
        code = self.process.wait(deadline_s)
        self._reader.join(deadline_s)
        return code

    def kill(self) -> None:
        """SIGKILL: it gets no chance to do anything."""
        self.process.kill()

    def end(self, number: signal.Signals = signal.SIGTERM, deadline_s: float = WITHIN_S) -> int:
        """Ask it to end and wait; killed where it does not. Its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            self.process.wait(deadline_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(deadline_s)
        self._reader.join(deadline_s)
        return self.process.returncode

    def told(self) -> str:
        """Everything it printed, under its name."""
        return "\n".join([f"--- {self.name} (process {self.pid})", *self.lines])


class ControllerProcess(Process):
    """`steadyhand controller` at an address of its own.

    Attributes:
        address: where; its ports are the vendor's.
        console_at: host and port of its console.
    """

    def __init__(self, *options: str, address: str | None = None) -> None:
        self.address = own_address() if address is None else address
        super().__init__(
            "controller",
            ["-m", "steadyhand", "controller", "--address", self.address, "--realtime", *options],
        )
        self.console_at = ("", 0)

    def wait_ready(self) -> None:
        host, _, port = (
            self.wait_line("controller ready", deadline_s=START_WITHIN_S).split()[-1].partition(":")
        )
        self.console_at = (host, int(port))

    def console(self, command: str) -> dict[str, Any]:
        """Press a button: estop, release, power-cycle, status. The answer."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
            asking.settimeout(WITHIN_S)
            asking.sendto(command.encode(), self.console_at)
            reply: dict[str, Any] = json.loads(asking.recv(65536))
            return reply

    def arrived(self, name: str) -> int:
        """How often something arrived, by its name in the console's status (`stop_motion`, …)."""
        count: int = self.console("status")["arrived"].get(name, 0)
        return count


class FollowerProcess(Process):
    """`steadyhand follower` for `ROBOT_FILE`, with ports, key and runtime folder of its own.

    `settings` are PATH=VALUE for `--set`, `options` anything else of the command, `proof` what stands in
    the place of `--key`.

    Attributes:
        folder: its runtime folder; `environment` leads commands such as `status` there.
        grpc_port: TCP.
        udp_port: UDP.
        key_file: of the pre-shared key.
        overrides: its `--set` options, for an operator that must read the same configuration.
    """

    def __init__(
        self,
        controller_address: str,
        folder: Path,
        *options: str,
        settings: Sequence[str] = (),
        prefix: Sequence[str] = ("-m", "steadyhand"),
        proof: Sequence[str] | None = None,
    ) -> None:
        self.folder = folder
        self.environment = {"RUNTIME_DIRECTORY": str(folder)}
        self.grpc_port = free_port(socket.SOCK_STREAM)
        self.udp_port = free_port(socket.SOCK_DGRAM)
        self.key_file = folder / "test.key"
        if not self.key_file.exists():
            self.key_file.touch(0o600)
            self.key_file.write_text(secrets.token_hex(32) + "\n", encoding="ascii")
        self.overrides = [
            f"robot.address={controller_address}",
            f"remote_node.grpc_port={self.grpc_port}",
            f"remote_node.udp_port={self.udp_port}",
            *settings,
        ]
        proof = ["--key", str(self.key_file)] if proof is None else proof
        fixed = ["--listen", "127.0.0.1", *proof]
        overridden = [part for override in self.overrides for part in ("--set", override)]
        super().__init__(
            "follower",
            [*prefix, "follower", str(ROBOT_FILE), *overridden, *fixed, *options],
            self.environment,
        )
        self.files = RuntimeFiles.of(folder, ROBOT_ID)

    def wait_ready(self) -> None:
        self.wait_line("follower ready", deadline_s=START_WITHIN_S)

    def record(self) -> TickRecord | None:
        """The newest record of its ring."""
        return newest_record(self.files.ring)

    def wait_record(
        self, condition: Callable[[TickRecord], Any], *, deadline_s: float = WITHIN_S, what: str = ""
    ) -> TickRecord:
        """The first newest record that `condition` likes. In between some are skipped."""

        def found() -> TickRecord | None:
            record = self.record()
            return record if record is not None and condition(record) else None

        answer: TickRecord = wait_until(found, deadline_s=deadline_s, what=f"{what}\n{self.told()}")
        return answer

    def card(self) -> FollowerCard:
        """Who runs: process ids, ports, paths."""
        card: FollowerCard = wait_until(lambda: read_card(self.files.card), what="the follower's card")
        return card

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a `steadyhand` command of this follower's user: status, stop."""
        return subprocess.run(
            [sys.executable, "-m", "steadyhand", *arguments],
            env=os.environ | self.environment,
            capture_output=True,
            text=True,
            timeout=START_WITHIN_S,
            check=False,
        )
