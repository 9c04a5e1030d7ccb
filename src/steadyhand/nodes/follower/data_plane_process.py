"""The data plane's process: opens everything, asks the machine, turns the loop, ends.

Started by the launcher (`python -m steadyhand.nodes.follower.data_plane_process JSON`). Ends with 0
after SIGTERM, with 2 for settings that cannot work, with 1 after a mistake of ours; in every case the
motion stream is ended first. SIGTERM is a soft stop, a second one is not; SIGUSR1 is an e-stop that
needs no other process (`steadyhand stop`).
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Final

from steadyhand.core.follower import FollowerCore, FollowerSettings
from steadyhand.core.follower.inputs import ProcessLost
from steadyhand.edge.clock import SYSTEM_CLOCK
from steadyhand.edge.heartbeat_board import HeartbeatBoard, HeartbeatLine
from steadyhand.edge.pacer import Pacer
from steadyhand.edge.realtime import RealtimeRequest, ask_for
from steadyhand.edge.ring import RingWriter
from steadyhand.edge.robots.contract import DataPort
from steadyhand.edge.robots.fairino.data_port import FairinoDataPort
from steadyhand.edge.segment import open_file, open_inherited
from steadyhand.ground.config import RobotConfig
from steadyhand.ground.errors import ConfigError, InputError, SteadyhandError
from steadyhand.ground.stamps import NS_PER_MS, NS_PER_S
from steadyhand.nodes.follower.carrier import Carrier
from steadyhand.nodes.follower.data_plane import DataPlane, Outside
from steadyhand.nodes.follower.neighbours import Neighbours
from steadyhand.nodes.follower.process_settings import (
    BOARD_PERIODS_NS,
    DataPlaneSettings,
    data_plane_settings_from,
)
from steadyhand.nodes.follower.records import ring_shape
from steadyhand.nodes.follower.telling import LineWriter, start_line, tick_totals

RECEIVE_BUFFER_BYTES: Final = 1 << 20
"""Two seconds of datagrams: what a stall of this process held up is judged by age, not lost unseen."""

BRAKING_AT_MOST_NS: Final = 3 * NS_PER_S
"""From v_max at a_max it is a quarter of a second."""

SLOWEST_PERIOD_NS: Final = 50 * NS_PER_MS
"""The heartbeat is beaten from the loop and is dead after 60 ms."""

COLLECT_EVERY_NS: Final = 10 * NS_PER_S

WITHOUT_REALTIME: Final = RealtimeRequest(priority=None, lock_memory=False, shallow_idle=False)
"""What costs nobody anything is asked for in any case."""


class Signals:
    """What was asked for by signal, and a descriptor that wakes the loop for it."""

    def __init__(self) -> None:
        self.ends = 0
        self.stops = 0
        reader, self._writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.wake_fd = reader
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGTERM, self._end)
        signal.signal(signal.SIGUSR1, self._stop)
        # The terminal's are the launcher's to answer.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def clear_wake(self) -> None:
        """Take the wake back."""
        with suppress(BlockingIOError):
            os.read(self.wake_fd, 4096)

    def _end(self, _number: int, _frame: FrameType | None) -> None:
        self.ends += 1

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self.stops += 1


class Collector:
    """Collects garbage while nothing moves, since the automatic one is off; bounded by its rhythm.

    Attributes:
        runs: how often.
        longest_ns: how long the longest took.
    """

    def __init__(self) -> None:
        self.runs = 0
        self.longest_ns = 0
        self._next_ns = 0

    def turn(self, now_ns: int, *, moving: bool) -> None:
        """Collect what came since the last time, and freeze what stays, unless the arm is driven."""
        if moving or now_ns < self._next_ns:
            return
        self._next_ns = now_ns + COLLECT_EVERY_NS
        began_ns = SYSTEM_CLOCK.now_ns()
        gc.collect()
        gc.freeze()
        self.runs += 1
        self.longest_ns = max(self.longest_ns, SYSTEM_CLOCK.now_ns() - began_ns)


class Loop:
    """The data plane's loop, from its first tick to its end."""

    def __init__(
        self,
        plane: DataPlane,
        action: socket.socket,
        local: socket.socket,
        signals: Signals,
        lifeline_fd: int,
    ) -> None:
        self.collector = Collector()
        self.pacer = Pacer(plane.grid)
        self._plane = plane
        self._signals = signals
        self._lifeline_fd = lifeline_fd
        self._watched = (action.fileno(), local.fileno(), lifeline_fd, signals.wake_fd)
        self._leave_by_ns: int | None = None
        self._stops = 0

    def run(self) -> None:
        """Turn until it is told to end and the arm rests, or the launcher is dead."""
        plane, port, pacer, now = self._plane, self._plane.carrier.port, self.pacer, SYSTEM_CLOCK.now_ns
        plane.begin(now())
        while not self._ended(now()):
            readable = pacer.wait((*self._watched, *port.read_fds()))
            if not readable:
                plane.tick(now())
                self.collector.turn(now(), moving=not plane.at_rest)
                continue
            if self._lifeline_fd in readable:
                self._launcher_died(now())
                return
            if self._signals.wake_fd in readable:
                # First to what was asked for; the datagrams are there at the next turn.
                self._signals.clear_wake()
                continue
            plane.wake(now())
        # The last record and the last lines: what leaving has changed.
        plane.tick(now())

    def _ended(self, now_ns: int) -> bool:
        signals, plane = self._signals, self._plane
        if signals.stops > self._stops:
            self._stops = signals.stops
            plane.emergency_stop("the console", now_ns)
        if not signals.ends:
            return False
        if self._leave_by_ns is None:
            self._leave_by_ns = now_ns + BRAKING_AT_MOST_NS
            plane.leave(now_ns)
        return signals.ends > 1 or plane.at_rest or now_ns >= self._leave_by_ns

    def _launcher_died(self, now_ns: int) -> None:
        """Nobody would start us again: stop the arm, leave the record of it, and end."""
        plane = self._plane
        lost = ProcessLost(name="launcher", detail="the launcher is dead")
        plane.carrier.carry(plane.core.control(lost, now_ns)[1], now_ns)
        plane.tick(SYSTEM_CLOCK.now_ns())


def run(settings: DataPlaneSettings) -> int:
    """Open everything, turn the loop, close everything."""
    signals = Signals()
    say = LineWriter(sys.stdout.fileno())
    config = settings.robot()
    core = FollowerCore(
        FollowerSettings.from_config(config, settings.policy()), stopped_by=settings.stopped_by
    )
    port = open_port(config)
    carrier = Carrier(core, port, read_clock=SYSTEM_CLOCK.now_ns)
    ring = RingWriter(
        open_file(Path(settings.ring_path), writable=True),
        ring_shape(config.communication.period_ns),
        wake_fds=(settings.wake_fd,),
    )
    board = open_inherited(settings.board_fd, "heartbeat board")
    neighbours = Neighbours(
        HeartbeatLine(board, settings.line, os.getpid()), HeartbeatBoard(board, BOARD_PERIODS_NS)
    )
    local = socket.socket(fileno=settings.local_fd)
    local.setblocking(False)
    outside = Outside(
        action=open_action_socket(settings.listen, config.remote_node.udp_port),
        local=local,
        ring=ring,
        neighbours=neighbours,
        say=say,
        clock=SYSTEM_CLOCK,
        wall_s=time.time,
        pid=os.getpid(),
    )
    _say_start(say, core)
    # Last, when the heap that it freezes is complete.
    report = ask_for(RealtimeRequest() if settings.realtime else WITHOUT_REALTIME)
    granted = report.lines() if settings.realtime else ("real time: not asked for", *report.lines())
    for line in granted:
        say.say(line)
    port.configure(SYSTEM_CLOCK.now_ns())
    plane = DataPlane(carrier, outside, granted)
    return _turn(Loop(plane, outside.action, local, signals, settings.lifeline_fd), plane, say)


def _turn(loop: Loop, plane: DataPlane, say: LineWriter) -> int:
    """Run to the end; whatever the end is, the motion stream is ended and the account given."""
    failed: str | None = None
    try:
        loop.run()
    except Exception:
        failed = traceback.format_exc().rstrip()
    plane.carrier.port.close(SYSTEM_CLOCK.now_ns())
    if failed is not None:
        say.say(f"PROGRAM FAULT in the data plane's loop; the stream is ended:\n{failed}")
    for line in plane.totals():
        say.say(line)
    say.say(tick_totals(plane.ticks, plane.lost_slots, loop.pacer.lateness))
    collector = loop.collector
    say.say(f"collected {collector.runs} times at rest, {collector.longest_ns / NS_PER_MS:.1f} ms at most")
    return 0 if failed is None else 1


def _say_start(say: LineWriter, core: FollowerCore) -> None:
    say.say(start_line(core))
    playout = core.settings.playout
    for warning in () if playout is None else playout.warnings:
        say.say(f"warning: {warning}")
    if not core.settings.sealed:
        say.say("warning: auth none: whoever reaches the action port commands this arm (R11)")
    if core.settings.estop_open:
        say.say("estop_open: an e-stop datagram is obeyed from anyone")


def open_port(config: RobotConfig) -> DataPort:
    """The driver's data port for a robot file.

    Raises:
        ConfigError: there is none that runs in a process of its own, or the period is too slow.
    """
    robot, period_ns = config.robot, config.communication.period_ns
    if robot.type != "fairino":
        raise ConfigError(
            f"a {robot.type} robot has no controller to connect to",
            where="robot.type",
            hint="`steadyhand controller` and type fairino; `steadyhand simulate` for virtual time",
        )
    if period_ns > SLOWEST_PERIOD_NS:
        raise ConfigError(
            f"{NS_PER_S / period_ns:g} Hz is too slow for the data plane's heartbeat",
            where="communication.publish_rate_hz",
            hint=f"at least {NS_PER_S // SLOWEST_PERIOD_NS} Hz",
        )
    return FairinoDataPort(
        robot.address, period_ns=period_ns, n_joints=robot.n_joints, vacuum_bits=robot.vacuum_bits
    )


def open_action_socket(host: str, udp_port: int) -> socket.socket:
    """Where setpoints arrive. Raises InputError where it cannot listen."""
    action = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        action.setblocking(False)
        action.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
        action.bind((host, udp_port))
    except OSError as error:
        action.close()
        raise InputError(
            f"cannot listen on {host}:{udp_port}: {(error.strerror or str(error)).lower()}",
            where="remote_node.udp_port",
        ) from None
    return action


def main(argument: str, run_it: Callable[[DataPlaneSettings], int] = run) -> int:
    """Read the settings and run; one line and exit code 2 for settings that cannot work."""
    try:
        return run_it(data_plane_settings_from(argument))
    except SteadyhandError as error:
        print(f"data plane: {error}", file=sys.stderr)  # noqa: T201 - the launcher reads it
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
