"""The data plane with a mistake in its loop, made at SIGUSR2: outside the core, which catches its own."""

import signal
import sys
from types import FrameType
from unittest.mock import patch

from steadyhand.nodes.follower.data_plane import DataPlane
from steadyhand.nodes.follower.data_plane_process import main

_made: list[int] = []


def _make(number: int, _frame: FrameType | None) -> None:
    _made.append(number)


def _wake(plane: DataPlane, now_ns: int) -> None:
    if _made:
        raise ZeroDivisionError("made by a test")
    _right_wake(plane, now_ns)


_right_wake = DataPlane.wake

if __name__ == "__main__":
    signal.signal(signal.SIGUSR2, _make)
    with patch.object(DataPlane, "wake", _wake):
        sys.exit(main(sys.argv[1]))
