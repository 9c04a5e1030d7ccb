"""The launcher: owns the follower's two processes, starts them again, ends them.

It stays in the foreground and does nothing that could wait: heartbeat, children's lines, signals. A
data plane that died comes up again latched, a control plane that died has latched the arm; either
that dies five times in half a minute is left dead, and with it the follower.

SIGTERM, SIGINT and SIGHUP end it softly: the arm brakes to rest, the stream ends, then the processes.
A second one does not wait for the rest.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from types import FrameType
from typing import Final

import msgspec

from steadyhand.core.follower import FollowerSettings
from steadyhand.core.safety.latch import StopCause, StopKind
from steadyhand.edge.clock import SYSTEM_CLOCK
from steadyhand.edge.heartbeat_board import OTHERS_PERIOD_NS, Alive, StoodStill
from steadyhand.edge.realtime import ask_for
from steadyhand.edge.ring_reader import RingReader
from steadyhand.edge.segment import runtime_folder
from steadyhand.ground.config import RobotConfig
from steadyhand.ground.errors import InputError, SteadyhandError
from steadyhand.ground.stamps import NS_PER_S
from steadyhand.nodes.follower import local_link
from steadyhand.nodes.follower.children import Child, end_in_words
from steadyhand.nodes.follower.data_plane_process import open_port
from steadyhand.nodes.follower.launch_settings import LauncherSettings
from steadyhand.nodes.follower.local_link import StopWanted
from steadyhand.nodes.follower.printer import Printer
from steadyhand.nodes.follower.process_settings import (
    CONTROL_PLANE_LINE,
    DATA_PLANE_LINE,
    KEPT_ALIVE,
    read_policy,
)
from steadyhand.nodes.follower.records import ring_shape
from steadyhand.nodes.follower.restarts import GiveUp
from steadyhand.nodes.follower.runtime_files import RuntimeFiles
from steadyhand.nodes.follower.shared_parts import SharedParts

HUNG_NS: Final = 2 * NS_PER_S
"""A heart that stands still for so long is not a hiccup; the arm has been stopped long since."""

FIRST_BEAT_WITHIN_NS: Final = 30 * NS_PER_S
END_WITHIN_NS: Final = 5 * NS_PER_S
"""For each process; then it is killed."""

STOP_MOTION_TIME_NS: Final = NS_PER_S
"""For the control plane to stop an arm whose data plane did not end by itself."""

CANNOT_START: Final = 2
"""Exit code of a process whose settings cannot work: starting it again would not help."""


class FollowerFailed(SteadyhandError):  # noqa: N818 - it is named as what happened
    """The follower could not go on; the arm was stopped. Exit code 1."""


class Phase(Enum):
    """Where the launcher is."""

    RUNNING = "running"
    ENDING_DATA = "ending the data plane"
    ENDING_CONTROL = "ending the control plane"
    ENDED = "ended"


def serve(settings: LauncherSettings, write: Callable[[str], None]) -> None:
    """Run a follower until it is told to end.

    Args:
        settings: what it was told.
        write: prints one line.

    Raises:
        InputError: it cannot start: files, ports, a follower that runs already.
        FollowerFailed: a process died too often.
    """
    config = settings.robot()
    open_port(config)
    FollowerSettings.from_config(config, read_policy(settings.policy_file))
    printer = Printer(write)
    try:
        launcher = Launcher(settings, config, printer)
        try:
            launcher.run()
        finally:
            launcher.close()
    finally:
        printer.close(timeout_s=2.0)


class Launcher:
    """One follower's launcher, in the main thread of its process."""

    def __init__(self, settings: LauncherSettings, config: RobotConfig, printer: Printer) -> None:
        self.phase = Phase.RUNNING
        self._settings = settings
        self._config = config
        self._printer = printer
        self._files = RuntimeFiles.of(runtime_folder(), config.robot.id)
        self._parts = parts = SharedParts(
            config.robot.id, self._files, ring_shape(config.communication.period_ns)
        )
        self._files.socket.unlink(missing_ok=True)
        shared = (parts.board.fileno(), parts.wake_fd, parts.lifeline_fd)
        self._data = Child("data plane", (*shared, parts.data_end.fileno()))
        self._control = Child("control plane", (*shared, parts.control_end.fileno()))
        self._lines = {self._data: DATA_PLANE_LINE, self._control: CONTROL_PLANE_LINE}
        self._due_ns: dict[Child, int] = {self._data: 0, self._control: 0}
        self._stopped_by: StopCause | None = None
        self._failure: SteadyhandError | None = None
        self._card = msgspec.structs.replace(settings.card(config, self._files), started_wall_s=time.time())
        self._ready = False
        self._beat_ns = 0
        self._deadline_ns = 0
        self._control_may_end_ns = 0
        self._signals = 0
        self._signals_seen = 0
        self._wake_fd, self._wake_writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    # ---- the loop

    def run(self) -> None:
        """Start both, keep both, end both. Raises what made it end, if that was not a signal."""
        signal.set_wakeup_fd(self._wake_writer, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                # Under nohup the terminal's end is nothing to us.
                signal.signal(number, self._on_signal)
        if self._settings.realtime:
            # Its children and threads are not given this: the kernel takes it back at a fork.
            for line in ask_for(KEPT_ALIVE).lines():
                self._printer.log("launcher", line)
        while self.phase is not Phase.ENDED:
            now_ns = SYSTEM_CLOCK.now_ns()
            self._beat(now_ns)
            self._start_due(now_ns)
            self._see_signals(now_ns)
            self._see_deadlines(now_ns)
            self._listen(SYSTEM_CLOCK.now_ns())
        deaths = (self._data.restarts.deaths, self._control.restarts.deaths)
        self._printer.say(
            f"follower ended: {self._config.robot.id}: data plane died {deaths[0]} times, "
            f"control plane {deaths[1]} times, {self._printer.left_out} log lines left out"
        )
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """Take everything back. A child that is left sees the lifeline's end."""
        signal.set_wakeup_fd(-1)
        self._files.remove()
        self._parts.close()
        for descriptor in (self._wake_fd, self._wake_writer):
            os.close(descriptor)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._signals += 1

    def _listen(self, now_ns: int) -> None:
        """Sleep until a child says something or dies, a signal comes, or a heartbeat is due."""
        children = (self._data, self._control)
        watched = [self._wake_fd, *self._data.fds(), *self._control.fds()]
        due_ns = min([self._beat_ns + OTHERS_PERIOD_NS, *self._starts_due()])
        select.select(watched, [], [], max(0, due_ns - now_ns) / NS_PER_S)
        with suppress(BlockingIOError):
            os.read(self._wake_fd, 4096)
        for child in children:
            for line in child.lines():
                self._printer.log(child.name, line.removeprefix(f"{child.name}: "))
            code = child.take_end()
            if code is not None:
                self._note_end(child, code, SYSTEM_CLOCK.now_ns())

    # ---- heartbeats

    def _beat(self, now_ns: int) -> None:
        if now_ns - self._beat_ns < OTHERS_PERIOD_NS:
            return
        self._parts.line.beat(now_ns)
        self._beat_ns = now_ns
        if self.phase is Phase.RUNNING:
            self._judge(now_ns)

    def _judge(self, now_ns: int) -> None:
        """Kill a child whose heart stands still: it is dead, and does not know it."""
        lives = self._parts.judge.judge(now_ns)
        for child, line in self._lines.items():
            if not child.running:
                continue
            life, beat = lives[line], self._parts.judge.read(line)
            own_beat = beat is not None and beat.pid == child.pid
            hung = own_beat and isinstance(life, StoodStill) and life.age_ns > HUNG_NS
            if hung or (not own_beat and now_ns - child.started_ns > FIRST_BEAT_WITHIN_NS):
                self._printer.log("launcher", f"the {child.name} has no heartbeat; it is killed")
                child.send(signal.SIGKILL)
        if not self._ready and all(isinstance(lives[line], Alive) for line in self._lines.values()):
            self._say_ready()

    def _say_ready(self) -> None:
        reader = RingReader(self._parts.ring, start="first")
        self._ready = reader.newest > 0
        reader.close()
        if not self._ready:
            return
        remote = self._config.remote_node
        self._printer.say(
            f"follower ready: {self._config.robot.id} at {self._settings.listen}: "
            f"control {remote.grpc_port}, actions {remote.udp_port}, "
            f"controller {self._config.robot.address}, process {os.getpid()}"
        )

    # ---- starting

    def _starts_due(self) -> list[int]:
        if self.phase is not Phase.RUNNING:
            return []
        return [due_ns for child, due_ns in self._due_ns.items() if not child.running]

    def _start_due(self, now_ns: int) -> None:
        if self.phase is not Phase.RUNNING:
            return
        for child, due_ns in self._due_ns.items():
            if not child.running and now_ns >= due_ns:
                child.start(self._arguments(child), now_ns)
                self._write_card()

    def _arguments(self, child: Child) -> tuple[str, ...]:
        if child is self._data:
            return self._settings.data_plane_arguments(self._parts, self._files, self._stopped_by)
        return self._settings.control_plane_arguments(self._parts, self._files)

    def _write_card(self) -> None:
        card = msgspec.structs.replace(
            self._card,
            data_plane_pid=self._data.pid,
            control_plane_pid=self._control.pid,
            deaths=(self._data.restarts.deaths, self._control.restarts.deaths),
        )
        self._files.write_card(card)

    # ---- a child's end

    def _note_end(self, child: Child, code: int, now_ns: int) -> None:
        if self.phase is Phase.RUNNING:
            self._note_death(child, code, now_ns)
        elif child is self._data:
            # One that ended by itself has ended its stream; else the control plane stops the arm.
            grace_ns = 0 if code == 0 else STOP_MOTION_TIME_NS
            if code != 0:
                self._want_stop(f"the data plane {end_in_words(code)}", now_ns)
            self._control_may_end_ns = now_ns + grace_ns
        if self.phase is not Phase.RUNNING:
            self._go_on_ending(now_ns)

    def _note_death(self, child: Child, code: int, now_ns: int) -> None:
        """A child died: the arm is stopped, and it is started again, unless that is no use."""
        how = end_in_words(code)
        if not self._ready and code == CANNOT_START:
            self._fail(InputError(child.last_line or f"the {child.name} {how}"), now_ns)
            return
        decision = child.restarts.note_death(now_ns)
        if child is self._data:
            detail = f"the data plane {how}"
            self._stopped_by = StopCause(kind=StopKind.PROCESS_LOST, detail=detail, name=child.name)
            self._want_stop(detail, now_ns)
        match decision:
            case GiveUp(deaths=deaths):
                what = f"the {child.name} died {deaths} times in a short time ({how}); the arm is stopped"
                self._fail(FollowerFailed(what), now_ns)
            case again:
                wait_s = (again.at_ns - now_ns) / NS_PER_S
                self._printer.log("launcher", f"the {child.name} {how}; started again in {wait_s:.2g} s")
                self._due_ns[child] = again.at_ns

    def _want_stop(self, reason: str, now_ns: int) -> None:
        """Ask the control plane for StopMotion at once, in the dead data plane's place."""
        local_link.send(self._parts.data_end, StopWanted(at_ns=now_ns, reason=reason))

    # ---- ending

    def _see_signals(self, now_ns: int) -> None:
        if self._signals == self._signals_seen:
            return
        self._signals_seen = self._signals
        if self.phase is Phase.RUNNING:
            self._printer.log("launcher", "ending: the arm brakes to rest, then the stream ends")
            self._begin_end(now_ns)
        else:
            for child in (self._data, self._control):
                child.send(signal.SIGTERM)

    def _fail(self, failure: SteadyhandError, now_ns: int) -> None:
        self._failure = failure
        self._begin_end(now_ns)

    def _begin_end(self, now_ns: int) -> None:
        self.phase = Phase.ENDING_DATA
        self._deadline_ns = now_ns + END_WITHIN_NS
        self._control_may_end_ns = now_ns + (STOP_MOTION_TIME_NS if self._stopped_by is not None else 0)
        self._data.send(signal.SIGTERM)
        self._go_on_ending(now_ns)

    def _go_on_ending(self, now_ns: int) -> None:
        """Data plane first, while the control plane can still stop the arm; then that one."""
        if self.phase is Phase.ENDING_DATA and not self._data.running and now_ns >= self._control_may_end_ns:
            self.phase = Phase.ENDING_CONTROL
            self._deadline_ns = now_ns + END_WITHIN_NS
            self._control.send(signal.SIGTERM)
        if self.phase is Phase.ENDING_CONTROL and not self._control.running:
            self.phase = Phase.ENDED

    def _see_deadlines(self, now_ns: int) -> None:
        if self.phase is Phase.RUNNING:
            return
        self._go_on_ending(now_ns)
        if now_ns < self._deadline_ns:
            return
        for child in (self._data, self._control):
            if child.running and (child is self._data or self.phase is Phase.ENDING_CONTROL):
                self._printer.log("launcher", f"the {child.name} does not end; it is killed")
                child.send(signal.SIGKILL)
        self._deadline_ns = now_ns + END_WITHIN_NS
