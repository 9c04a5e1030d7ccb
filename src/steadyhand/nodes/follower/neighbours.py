"""The data plane's heart, and its watch over the two processes it depends on (R14).

A beat every 20 ms from the work loop itself, and with it a look at the others. Whoever stood still
for three of its periods is dead and the arm is stopped. A data plane that was itself away for longer
than three periods has been taken for dead by now, and the controller was told to stop: it must not
go on streaming as if nothing had been.
"""

from __future__ import annotations

from typing import Final

import msgspec

from steadyhand.core.follower.inputs import ProcessLost
from steadyhand.edge.heartbeat_board import (
    DATA_PLANE_PERIOD_NS,
    PERIODS_TO_DEATH,
    Alive,
    HeartbeatBoard,
    HeartbeatLine,
    StoodStill,
    in_words,
)
from steadyhand.ground.stamps import ms_from_ns
from steadyhand.nodes.follower.process_settings import CONTROL_PLANE_LINE, LAUNCHER_LINE, PROCESS_NAMES

TAKEN_FOR_DEAD_NS: Final = PERIODS_TO_DEATH * DATA_PLANE_PERIOD_NS


class Noticed(msgspec.Struct, frozen=True):
    """What one look showed.

    Attributes:
        lost: processes that are dead, each time anew while they are.
        away: this process's own absence, if it was taken for dead meanwhile.
        new_control_plane: another control plane than before beats; it knows nothing yet.
    """

    lost: tuple[ProcessLost, ...] = ()
    away: ProcessLost | None = None
    new_control_plane: bool = False


NOTHING: Final = Noticed()


class Neighbours:
    """Beats one line of the board and judges the others.

    Args:
        line: the data plane's own.
        board: all lines, read-only.

    Attributes:
        unwell: why nobody may engage: the first process that does not beat, "" where all do.
        absences: how often this process was away for too long.
    """

    def __init__(self, line: HeartbeatLine, board: HeartbeatBoard) -> None:
        self.unwell = ""
        self.absences = 0
        self._line = line
        self._board = board
        self._last_ns: int | None = None
        self._control_pid = 0

    def beat(self, now_ns: int) -> Noticed:
        """Beat and look around, where it is time to; call it on every wake."""
        last_ns = self._last_ns
        if last_ns is not None and now_ns - last_ns < DATA_PLANE_PERIOD_NS:
            return NOTHING
        self._line.beat(now_ns)
        self._last_ns = now_ns
        lost, before = self._judged(now_ns), self._control_pid
        new_control_plane = self._new_control_plane()
        if new_control_plane and before and not lost:
            # Dead for less than three periods: its sessions are lost all the same.
            lost = (ProcessLost(name="control plane", detail="the control plane was restarted"),)
        return Noticed(lost, self._own_absence(last_ns, now_ns), new_control_plane)

    def _judged(self, now_ns: int) -> tuple[ProcessLost, ...]:
        lives = self._board.judge(now_ns)
        lost, self.unwell = [], ""
        for line in (CONTROL_PLANE_LINE, LAUNCHER_LINE):
            life = lives[line]
            if isinstance(life, Alive):
                continue
            detail = f"the {PROCESS_NAMES[line]} {in_words(life)}"
            self.unwell = self.unwell or detail
            # One that never beat has let nobody engage, so there is nothing to stop.
            if isinstance(life, StoodStill):
                lost.append(ProcessLost(name=PROCESS_NAMES[line], detail=detail))
        return tuple(lost)

    def _own_absence(self, last_ns: int | None, now_ns: int) -> ProcessLost | None:
        if last_ns is None or now_ns - last_ns <= TAKEN_FOR_DEAD_NS:
            return None
        self.absences += 1
        detail = f"the data plane was away for {ms_from_ns(now_ns - last_ns):.0f} ms and taken for dead"
        return ProcessLost(name="data plane", detail=detail)

    def _new_control_plane(self) -> bool:
        beat = self._board.read(CONTROL_PLANE_LINE)
        if beat is None or beat.pid == self._control_pid:
            return False
        self._control_pid = beat.pid
        return True
