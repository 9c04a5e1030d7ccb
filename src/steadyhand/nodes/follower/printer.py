"""Prints lines from a thread of its own: a terminal that is held up holds up no heartbeat."""

import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

LINES_KEPT: Final = 4096


class Printer:
    """Lines in order, never waited for; more than fit are left out and counted.

    Args:
        write: prints one line, and may take its time.

    Attributes:
        left_out: lines that were not printed.
    """

    def __init__(self, write: Callable[[str], None]) -> None:
        self.left_out = 0
        self._write = write
        self._lines: queue.Queue[str | None] = queue.Queue(LINES_KEPT)
        self._thread = threading.Thread(target=self._run, name="printer", daemon=True)
        self._thread.start()

    def say(self, line: str) -> None:
        """Print one line as it is."""
        try:
            self._lines.put_nowait(line)
        except queue.Full:
            self.left_out += 1

    def log(self, who: str, line: str) -> None:
        """Print one line with the time of day and whose it is."""
        wall_s = time.time()
        clock = time.strftime("%H:%M:%S", time.localtime(wall_s))
        self.say(f"{clock}.{int(wall_s % 1.0 * 1000):03d} {who}: {line}")

    def close(self, timeout_s: float) -> None:
        """Print what is left, for at most so long."""
        with suppress(queue.Full):
            self._lines.put(None, timeout=timeout_s)
            self._thread.join(timeout_s)

    def _run(self) -> None:
        while (line := self._lines.get()) is not None:
            try:
                self._write(line)
            except OSError:
                # The reader of a pipe is gone; the follower runs on.
                self.left_out += 1
