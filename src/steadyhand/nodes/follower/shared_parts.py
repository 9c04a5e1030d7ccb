"""What the follower's processes share, made by the launcher and handed down.

The launcher keeps every end, so that a process that was started again finds what its predecessor
left: the same ring, the same line of the board, the same end of the local socket.
"""

from __future__ import annotations

import os
import select
import time
from contextlib import suppress
from typing import Final

from steadyhand.edge.heartbeat_board import HeartbeatBoard, HeartbeatLine, board_bytes
from steadyhand.edge.ring import new_wake_fd
from steadyhand.edge.ring_layout import RingShape
from steadyhand.edge.segment import Segment, create_anonymous, create_file
from steadyhand.ground.errors import InputError
from steadyhand.nodes.follower import local_link
from steadyhand.nodes.follower.process_settings import BOARD_PERIODS_NS, LAUNCHER_LINE
from steadyhand.nodes.follower.runtime_files import RuntimeFiles, read_card

ORPHANS_END_WITHIN_S: Final = 3.0
"""The children of a launcher that was killed see its lifeline end, stop the arm and go."""


class SharedParts:
    """Ring, heartbeat board, local socket, wake and lifeline.

    Args:
        robot_id: of the arm; one follower for each on this host.
        files: where its files lie.
        shape: of the ring.

    Raises:
        InputError: a follower for this robot is running.
    """

    def __init__(self, robot_id: str, files: RuntimeFiles, shape: RingShape) -> None:
        self.ring = _own_ring(robot_id, files, shape)
        self.board = create_anonymous("steadyhand-heartbeats", board_bytes(len(BOARD_PERIODS_NS)))
        self.line = HeartbeatLine(self.board, LAUNCHER_LINE, os.getpid())
        self.judge = HeartbeatBoard(self.board, BOARD_PERIODS_NS)
        self.data_end, self.control_end = local_link.socket_pair()
        self.wake_fd = new_wake_fd()
        self.lifeline_fd, self._lifeline = os.pipe2(os.O_CLOEXEC)
        """The children read the first; nobody ever writes into the second."""

    def close(self) -> None:
        """Give everything back; the ring's file goes."""
        for end in (self.data_end, self.control_end):
            end.close()
        for descriptor in (self.wake_fd, self.lifeline_fd, self._lifeline):
            os.close(descriptor)
        self.ring.close()
        self.board.close()


def _own_ring(robot_id: str, files: RuntimeFiles, shape: RingShape) -> Segment:
    """The ring's file, which is also the right to be this robot's follower."""
    deadline_s = time.monotonic() + ORPHANS_END_WITHIN_S
    while True:
        try:
            return create_file(files.ring, shape.size_bytes)
        except InputError:
            card = read_card(files.card)
            if card is None or _lives(card.pid) or time.monotonic() >= deadline_s:
                by = "" if card is None else f" (process {card.pid})"
                raise InputError(
                    f"a follower for {robot_id} is running already{by}",
                    where=str(files.ring),
                    hint="`steadyhand status` tells of it",
                ) from None
        select.select([], [], [], 0.05)


def _lives(pid: int) -> bool:
    with suppress(OSError):
        os.close(os.pidfd_open(pid))
        return True
    return False
