"""Controller, follower, bad network and a tap in front of it: what every fault happens to.

    operator ── tap ── bad network ── follower ── controller
                                         │
                                       ticks (reads the follower's ring)

The bad network is a process of its own; the tap keeps every action datagram as it was on the wire, and
when. Telemetry and control take the bad network too.
"""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from steadyhand.core.playout import PlayoutConfig
from steadyhand.edge.impairment import ImpairmentClient
from steadyhand.edge.ring_reader import RingReader
from steadyhand.edge.robot_yaml import apply_overrides, load_robot
from steadyhand.edge.segment import open_file
from steadyhand.ground.config import RobotConfig
from steadyhand.nodes.demo.network import READY, places_in
from steadyhand.nodes.follower.records import TickRecord, decode_record
from steadyhand.nodes.operator.addresses import OperatorAddresses
from steadyhand.wire.head import ACTION_MAGIC, Head, read_head
from tests.nodes.processes import (
    ROBOT_FILE,
    START_WITHIN_S,
    WITHIN_S,
    ControllerProcess,
    FollowerProcess,
    Process,
    free_port,
    wait_until,
)

PATIENT: Final = (
    "communication.playout_buffer_ms=300",
    "communication.playout_adaptive_max_ms=500",
    "communication.playout_underrun_estop_after_ms=300",
)
"""Deeper than deployed: a busy test machine holds the operator up, and that is no fault to be tested."""


class Tap:
    """Relays datagrams to `target` and keeps them, with the time they came."""

    def __init__(self, target: tuple[str, int]) -> None:
        self.taken: list[tuple[int, bytes]] = []
        """(when, datagram), oldest first; only ever appended to."""
        self.sent_ns: dict[int, int] = {}
        """When the newest datagram of a wire number came."""
        self._target = target
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.settimeout(0.2)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._relay, name="tap", daemon=True)
        self._thread.start()

    @property
    def address(self) -> tuple[str, int]:
        host, port = self._socket.getsockname()
        return str(host), int(port)

    def close(self) -> None:
        self._over.set()
        self._thread.join(WITHIN_S)
        self._socket.close()

    def _relay(self) -> None:
        while not self._over.is_set():
            try:
                data = self._socket.recv(2048)
            except TimeoutError:
                continue
            now_ns = time.monotonic_ns()
            head = read_head(data, ACTION_MAGIC)
            if isinstance(head, Head):
                self.sent_ns[head.seq] = now_ns
            self.taken.append((now_ns, data))
            with contextlib.suppress(OSError):
                self._socket.sendto(data, self._target)


class Ticks:
    """Every tick record of a follower, read by a thread; none is missed."""

    def __init__(self, ring: Path) -> None:
        self.records: list[TickRecord] = []
        """Oldest first; only ever appended to."""
        self._segment = open_file(ring)
        self._reader = RingReader(self._segment, start="first")
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="ticks", daemon=True)
        self._thread.start()

    @property
    def missed(self) -> int:
        return self._reader.missed

    def wait(
        self,
        condition: Callable[[TickRecord], Any],
        *,
        since: int = 0,
        deadline_s: float = WITHIN_S,
        what: str = "",
    ) -> TickRecord:
        """The first record from number `since` on that `condition` likes, recorded already or to come."""
        looked = since

        def found() -> TickRecord | None:
            nonlocal looked
            while looked < len(self.records):
                looked += 1
                if condition(self.records[looked - 1]):
                    return self.records[looked - 1]
            return None

        try:
            record: TickRecord = wait_until(found, deadline_s=deadline_s, what=what)
        except AssertionError as error:
            raise AssertionError(f"{error}; newest: {self.records[-1:]}") from None
        return record

    def close(self) -> None:
        self._over.set()
        self._thread.join(WITHIN_S)
        self._reader.close()
        self._segment.close()

    def _follow(self) -> None:
        while not self._over.wait(0.01):
            while (found := self._reader.next_record()) is not None:
                self.records.append(decode_record(found.payload))


class Stack:
    """Everything but the operator, running.

    Args:
        folder: the follower's runtime folder.
        settings: PATH=VALUE, for both ends.
        options: of the follower's command.
        prefix: what runs the follower.

    Attributes:
        config: the robot file of both ends.
        began: number of the first record of the test that runs.
    """

    def __init__(
        self,
        folder: Path,
        *options: str,
        settings: Sequence[str] = PATIENT,
        prefix: Sequence[str] = ("-m", "steadyhand"),
        proof: Sequence[str] | None = None,
    ) -> None:
        self.processes: list[Process] = []
        self._closing = contextlib.ExitStack()
        self.telemetry_port = free_port(socket.SOCK_DGRAM)
        self.controller: ControllerProcess = self.add(ControllerProcess())
        self.follower: FollowerProcess = self.add(
            FollowerProcess(
                self.controller.address,
                folder,
                *options,
                settings=[*settings, f"remote_node.telemetry_port={self.telemetry_port}"],
                prefix=prefix,
                proof=proof,
            )
        )
        overrides = dict(text.split("=", 1) for text in self.follower.overrides)
        self.config: RobotConfig = apply_overrides(load_robot(ROBOT_FILE), overrides)
        self._impair = self.add(Process("network", ["-m", "steadyhand", "impair", *self._forwards()]))
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        self.controller.wait_ready()
        self.follower.wait_ready()
        self.places = places_in(self._impair.wait_line(READY, deadline_s=START_WITHIN_S))
        self.network = ImpairmentClient(self.places.admin[1], host=self.places.admin[0])
        self._closing.callback(self.network.close)
        self.tap = Tap(self.places.udp)
        self._closing.callback(self.tap.close)
        self.ticks = Ticks(self.follower.files.ring)
        self._closing.callback(self.ticks.close)
        self.began = 0
        self.ticks.wait(lambda record: record.measured is not None, what="a measured frame")

    def _forwards(self) -> list[str]:
        remote = self.config.remote_node
        targets = (
            ("--udp", remote.udp_port),
            ("--telemetry", remote.telemetry_port),
            ("--control", remote.grpc_port),
        )
        return [*(word for name, port in targets for word in (name, f"0:{port}")), "--admin", "0"]

    def add(self, process: Any) -> Any:
        """A process that ends with this; last one first."""
        self.processes.append(process)
        self._closing.callback(process.end)
        return process

    def close(self) -> None:
        self._closing.close()

    @property
    def playout(self) -> PlayoutConfig:
        playout = PlayoutConfig.from_communication(self.config.communication)
        assert playout is not None
        return playout

    @property
    def addresses(self) -> OperatorAddresses:
        """Of an operator: actions through the tap, everything through the bad network."""
        return OperatorAddresses(
            actions=self.tap.address,
            control=self.places.control,
            telemetry_listen=("127.0.0.1", self.telemetry_port),
            telemetry_host=self.places.telemetry[0],
            telemetry_port=self.places.telemetry[1],
        )

    def operator_process(self, *options: str, script: Sequence[str] = ("-m", "steadyhand")) -> Process:
        """`steadyhand operator`, by the same ways."""
        where = self.addresses
        ways = {
            "--actions": where.actions,
            "--control": where.control,
            "--telemetry": where.telemetry_listen,
            "--announce": (where.telemetry_host, where.telemetry_port),
        }
        placed = [word for name, (host, port) in ways.items() for word in (name, f"{host}:{port}")]
        settings = [word for text in self.follower.overrides for word in ("--set", text)]
        key = ["--key", str(self.follower.key_file)]
        process = Process(
            "operator", [*script, "operator", str(ROBOT_FILE), *settings, *key, *placed, *options]
        )
        self.add(process)
        return process

    # ---- between two tests

    def calm(self) -> None:
        """A good network again, and another test's records from here on."""
        self.network.revive("both")
        self.network.set_link("clean")
        self.began = len(self.ticks.records)
        self.tap.sent_ns.clear()

    @property
    def records(self) -> list[TickRecord]:
        """Of the test that runs, so far."""
        return self.ticks.records[self.began :]

    def wait(
        self,
        condition: Callable[[TickRecord], Any],
        what: str,
        *,
        since: int | None = None,
        deadline_s: float = WITHIN_S,
    ) -> TickRecord:
        """The first record of this test that `condition` likes."""
        since = self.began if since is None else since
        return self.ticks.wait(condition, since=since, deadline_s=deadline_s, what=what)

    def wait_stopped(self, *, since: int | None = None, deadline_s: float = WITHIN_S) -> TickRecord:
        """The record of the stop."""
        since = self.began if since is None else since
        return self.ticks.wait(
            lambda record: record.engage == "stopped",
            since=since,
            deadline_s=deadline_s,
            what="a stopped arm",
        )

    # ---- at the controller

    def status(self) -> dict[str, Any]:
        told: dict[str, Any] = self.controller.console("status")
        return told

    def setpoints_arrived(self) -> int:
        """ServoJ frames that reached the controller, whatever it answered."""
        return sum(count for name, count in self.status()["arrived"].items() if name.startswith("servo_j_"))

    def wait_at_rest(self) -> tuple[float, ...]:
        """Where the arm stands, once it does."""
        wait_until(lambda: not any(self.status()["speeds_deg_s"]), what="an arm at rest")
        return tuple(self.status()["joints_deg"])
