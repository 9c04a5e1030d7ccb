"""A real follower for the benches: simulated controller, follower, and an operator that leads it.

All of it is what `steadyhand` runs, in processes of their own on loopback. What happened is read off
the follower's ring and its heartbeat board, which costs the follower nothing.
"""

import os
import socket
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path

import msgspec

from steadyhand.core.follower.outputs import SendJoints
from steadyhand.core.safety.latch import StopCause, StopKind
from steadyhand.edge.heartbeat_board import Alive, HeartbeatBoard, Life, NeverBeat, StoodStill
from steadyhand.edge.ring_reader import RingReader
from steadyhand.edge.segment import Segment, open_file
from steadyhand.nodes.follower.process_settings import BOARD_PERIODS_NS, PROCESS_NAMES
from tests.nodes.processes import ROBOT_FILE, ControllerProcess, FollowerProcess, Process, free_port

LOOK_EVERY_S = 0.01
"""The ring holds two seconds, and a heart is dead after 60 ms at the earliest."""

BOARD_NAME = "steadyhand-heartbeats"
PATIENT = "communication.playout_underrun_estop_after_ms=-1"
"""An operator that the load holds up must not end the measurement: the arm waits for it."""


class Tick(msgspec.Struct, kw_only=True, gc=False):
    """What the benches need of a tick record."""

    tick: int
    pid: int
    at_ns: int
    due_ns: int
    engage: str
    stopped_by: StopCause | None = None
    sent: SendJoints | None = None
    arrived: int = 0


_decode = msgspec.msgpack.Decoder(Tick).decode


class HeartWatch:
    """Judges the processes by the judges' own rule, and counts.

    Attributes:
        judgements: of each process, by its line.
        deaths: how often it was found dead after it had been alive.
        longest_ns: the oldest that its newest beat ever was.
    """

    def __init__(self) -> None:
        self.judgements = [0] * len(PROCESS_NAMES)
        self.deaths = [0] * len(PROCESS_NAMES)
        self.longest_ns = [0] * len(PROCESS_NAMES)
        self._alive = [False] * len(PROCESS_NAMES)

    def note(self, lives: Sequence[Life]) -> None:
        """Count one look at the whole board."""
        for line, life in enumerate(lives):
            match life:
                case NeverBeat():
                    continue
                case Alive(age_ns):
                    self._alive[line] = True
                case StoodStill(age_ns):
                    self.deaths[line] += self._alive[line]
                    self._alive[line] = False
            self.judgements[line] += 1
            self.longest_ns[line] = max(self.longest_ns[line], age_ns)

    def forget_state(self) -> None:
        """Another follower: nobody of it has been seen yet; the counts go on."""
        self._alive = [False] * len(PROCESS_NAMES)


def lateness_ns(ticks: Sequence[Tick]) -> list[int]:
    """By how much each tick ran late."""
    return [max(0, tick.at_ns - tick.due_ns) for tick in ticks]


def lost_slots(ticks: Sequence[Tick], period_ns: int) -> int:
    """Slots of the grid in which no tick ran: the core snaps its grid to now, late by more than a period."""
    gaps_ns = [after.due_ns - before.due_ns for before, after in pairwise(ticks)]
    return sum(max(0, gap_ns // period_ns - 1) for gap_ns in gaps_ns)


def missing_records(ticks: Sequence[Tick]) -> int:
    """Ticks that ran and whose record was not read: the ring had moved on."""
    return ticks[-1].tick - ticks[0].tick + 1 - len(ticks) if ticks else 0


def process_losses(ticks: Sequence[Tick]) -> int:
    """How often the follower's own judges stopped the arm because they took a process for dead."""
    stops = 0
    for before, after in pairwise(ticks):
        cause = after.stopped_by
        stopped = cause is not None and cause.kind is StopKind.PROCESS_LOST
        stops += stopped and before.stopped_by is None
    return stops


class LedFollower:
    """One running set.

    Attributes:
        follower: its process, with ports and key.
        data_plane_pid: of the process that ticks.
    """

    def __init__(self, rate_hz: int, stack: ExitStack, prefix: Sequence[str] = ("-m", "steadyhand")) -> None:
        controller = ControllerProcess()
        stack.callback(_end, controller)
        controller.wait_ready()
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sh-")))
        settings = (f"communication.publish_rate_hz={rate_hz}", PATIENT)
        self.follower = FollowerProcess(controller.address, folder, settings=settings, prefix=prefix)
        stack.callback(_end, self.follower)
        self.follower.wait_ready()
        self.data_plane_pid = self.follower.card().data_plane_pid
        segment = open_file(self.follower.files.ring)
        stack.callback(segment.close)
        self._reader = RingReader(segment)
        stack.callback(self._reader.close)
        self._board = HeartbeatBoard(_board_of(self.follower.pid, stack), BOARD_PERIODS_NS)
        self._stack = stack

    def lead(self) -> None:
        """Have an operator lead a sine until the end; returns once the arm plays it."""
        settings = [*self.follower.overrides, f"remote_node.telemetry_port={free_port(socket.SOCK_DGRAM)}"]
        options = [part for setting in settings for part in ("--set", setting)]
        leading = ["--leader", "sine", "--duration", "600", "--key", str(self.follower.key_file)]
        operator = Process("operator", ["-m", "steadyhand", "operator", str(ROBOT_FILE), *options, *leading])
        self._stack.callback(_end, operator)
        self.follower.wait_record(
            lambda record: record.released is not None, deadline_s=60.0, what="an arm that plays"
        )

    def watch(self, seconds: float, hearts: HeartWatch | None = None) -> list[Tick]:
        """Every tick of the next `seconds`, and meanwhile a look at the heartbeats."""
        while self._reader.latest_record() is not None:
            pass
        ticks: list[Tick] = []
        ends_s = time.monotonic() + seconds
        while time.monotonic() < ends_s:
            time.sleep(LOOK_EVERY_S)
            if hearts is not None:
                hearts.note(self._board.judge(time.monotonic_ns()))
            while (found := self._reader.next_record()) is not None:
                ticks.append(_decode(found.payload))
        return ticks


@contextmanager
def led_follower(rate_hz: int, prefix: Sequence[str] = ("-m", "steadyhand")) -> Iterator[LedFollower]:
    """A follower that serves; everything of it is ended with the block, last started first."""
    with ExitStack() as stack:
        yield LedFollower(rate_hz, stack, prefix)


def _end(process: Process) -> None:
    process.end()
    if process.process.stdout is not None:
        process.process.stdout.close()


def _board_of(launcher_pid: int, stack: ExitStack) -> Segment:
    """The heartbeat board, which has no path, by way of the launcher's own descriptor; read-only."""
    for entry in Path(f"/proc/{launcher_pid}/fd").iterdir():
        if BOARD_NAME in os.readlink(entry):
            segment = Segment(os.open(entry, os.O_RDONLY | os.O_CLOEXEC), "heartbeat board")
            stack.callback(segment.close)
            return segment
    raise RuntimeError("the follower has no heartbeat board")
