"""Child processes of a run: started, heard, and ended by their own id, whatever happens.

What a child prints is kept, its newest lines at hand for the report of its death.
"""

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

from steadyhand.ground.errors import SteadyhandError

READY_S: Final = 20.0
END_S: Final = 8.0
"""What a child is given to end after SIGTERM: a follower brakes its arm to rest first."""

KILLED_S: Final = 2.0
LINES_KEPT: Final = 400
LINES_TOLD: Final = 8


class ChildError(SteadyhandError):
    """A process of the run died, or never became ready; its last lines say why."""

    exit_code = 1

    def __init__(self, name: str, what: str, lines: Sequence[str]) -> None:
        """Say which process, what happened, and what it said last."""
        told = "".join(f"\n    {line}" for line in lines)
        super().__init__(f"{name} {what}{':' if told else ''}{told}")


class Child:
    """One child process: `python -m steadyhand …`, its lines read by a thread.

    Args:
        name: what people call it.
        arguments: of the command.
        environment: added to this process's own.

    Attributes:
        name: as given.
        pid: its process id.
    """

    def __init__(
        self, name: str, arguments: Sequence[str], environment: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        self._lines: deque[str] = deque(maxlen=LINES_KEPT)
        self._heard: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "steadyhand.nodes.demo.leash", str(os.getpid()), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            # Ctrl-C in the terminal is for the run, which ends its children in order.
            start_new_session=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **(environment or {})},
        )
        self.pid = self._process.pid
        self._reader = threading.Thread(target=self._listen, name=f"{name} lines", daemon=True)
        self._reader.start()

    @property
    def lines(self) -> tuple[str, ...]:
        """What it has said, the newest last."""
        return tuple(self._lines)

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None

    def wait_for(self, beginning: str, within_s: float = READY_S) -> str:
        """The first line that begins so and has not been waited for yet.

        Raises:
            ChildError: it ended first, or said nothing of the kind in time.
        """
        deadline_s = time.monotonic() + within_s
        while (left_s := deadline_s - time.monotonic()) > 0.0:
            try:
                line = self._heard.get(timeout=left_s)
            except queue.Empty:
                break
            if line is None:
                self.check()
                break
            if line.startswith(beginning):
                return line
        raise ChildError(self.name, f"did not say «{beginning}» within {within_s:g} s", self._last())

    def check(self) -> None:
        """Raise ChildError where it has ended."""
        code = self._process.poll()
        if code is None:
            with suppress(subprocess.TimeoutExpired):
                code = self._process.wait(0.2) if not self._reader.is_alive() else None
        if code is not None:
            self._reader.join(1.0)
            raise ChildError(self.name, f"ended early ({_ending(code)})", self._last())

    def end(self, within_s: float = END_S) -> int:
        """Ask it to end (SIGTERM), insist if it does not, and return its code. Again: only the code."""
        if self.alive:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(within_s)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(KILLED_S)
        self._reader.join(KILLED_S)
        if self._process.stdout is not None and not self._reader.is_alive():
            self._process.stdout.close()
        return self._process.returncode

    def _listen(self) -> None:
        if self._process.stdout is not None:
            for line in self._process.stdout:
                self._lines.append(line.rstrip())
                self._heard.put(line.rstrip())
        self._heard.put(None)

    def _last(self) -> list[str]:
        return list(self._lines)[-LINES_TOLD:]


def _ending(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {-code}"
