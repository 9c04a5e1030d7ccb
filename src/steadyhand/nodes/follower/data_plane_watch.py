"""The control plane's watch over the data plane, by its heartbeat; and its own beat (R14).

Where the data plane's beat ends, nobody is left to end the stream: the arm is stopped at the
controller. That is done once for each loss, from the loop that beats for this process itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from steadyhand.edge.heartbeat_board import (
    DATA_PLANE_PERIOD_NS,
    OTHERS_PERIOD_NS,
    Alive,
    HeartbeatBoard,
    HeartbeatLine,
    NeverBeat,
    StoodStill,
    in_words,
)
from steadyhand.nodes.follower.process_settings import DATA_PLANE_LINE

LOOK_EVERY_NS: Final = DATA_PLANE_PERIOD_NS


class DataPlaneWatch:
    """Judges one heartbeat and makes another.

    Args:
        line: this process's own, to be beaten.
        board: all lines, read-only.
        on_lost: the beat ended; told how, once for each loss.
        on_back: it beats, for the first time or again.

    Attributes:
        life: the data plane's, in words.
        alive: whether it beats.
    """

    def __init__(
        self,
        line: HeartbeatLine,
        board: HeartbeatBoard,
        *,
        on_lost: Callable[[str], None],
        on_back: Callable[[], None],
    ) -> None:
        self.life = in_words(NeverBeat())
        self.alive = False
        self._line = line
        self._board = board
        self._on_lost = on_lost
        self._on_back = on_back
        self._told_lost = False
        self._beaten_ns: int | None = None

    def look(self, now_ns: int) -> None:
        """Beat where it is time to, then judge. To be called every `LOOK_EVERY_NS`."""
        if self._beaten_ns is None or now_ns - self._beaten_ns >= OTHERS_PERIOD_NS:
            self._line.beat(now_ns)
            self._beaten_ns = now_ns
        life = self._board.judge(now_ns)[DATA_PLANE_LINE]
        self.life = in_words(life)
        alive = isinstance(life, Alive)
        if alive and not self.alive:
            self._told_lost = False
            self._on_back()
        self.alive = alive
        # A line that never beat belongs to a data plane that has moved nothing yet. One that stood
        # still from the first look on moved the arm before this process came up.
        if isinstance(life, StoodStill) and not self._told_lost:
            self._told_lost = True
            self._on_lost(f"the data plane {self.life}")
