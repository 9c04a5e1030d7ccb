"""One child process of the launcher: started, listened to, noticed when it dies, ended by its own id."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from steadyhand.nodes.follower.restarts import RestartRule

READ_BYTES: Final = 65_536


class Child:
    """A process that may be started again.

    Args:
        name: how it is called in words.
        pass_fds: descriptors it inherits, under the same numbers.

    Attributes:
        restarts: its deaths.
        last_line: the last it said; of one that could not start, why.
        started_ns: when it was last started.
    """

    def __init__(self, name: str, pass_fds: Sequence[int]) -> None:
        self.name = name
        self.restarts = RestartRule()
        self.last_line = ""
        self.started_ns = 0
        self._pass_fds = tuple(pass_fds)
        self._process: subprocess.Popen[bytes] | None = None
        self._pidfd = -1
        self._rest = b""

    @property
    def pid(self) -> int:
        """Its process id, 0 while there is none."""
        return 0 if self._process is None else self._process.pid

    @property
    def running(self) -> bool:
        """Whether it was started and its end has not been taken yet."""
        return self._process is not None

    def start(self, arguments: Sequence[str], now_ns: int) -> None:
        """Start it: our interpreter, a session of its own, both outputs into our pipe."""
        # A session of its own, so that the terminal's Ctrl-C is the launcher's alone to answer.
        self._process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=self._pass_fds,
            start_new_session=True,
        )
        self._pidfd = os.pidfd_open(self._process.pid)
        self.started_ns = now_ns
        self.last_line, self._rest = "", b""
        if self._process.stdout is not None:
            os.set_blocking(self._process.stdout.fileno(), False)

    def fds(self) -> tuple[int, ...]:
        """Readable when it said something or is dead; none while there is none."""
        if self._process is None or self._process.stdout is None:
            return ()
        return (self._process.stdout.fileno(), self._pidfd)

    def lines(self) -> list[str]:
        """What it said since, in whole lines."""
        if self._process is None or self._process.stdout is None:
            return []
        data = b""
        with suppress(BlockingIOError):
            while len(data) < READ_BYTES and (read := os.read(self._process.stdout.fileno(), READ_BYTES)):
                data += read
        *whole, self._rest = (self._rest + data).split(b"\n")
        told = [line.decode(errors="replace") for line in whole]
        if told:
            self.last_line = told[-1]
        return told

    def take_end(self) -> int | None:
        """Its exit code once, negative for a signal; None while it lives or where there is none."""
        if self._process is None:
            return None
        code = self._process.poll()
        if code is None:
            return None
        if self._process.stdout is not None:
            self._process.stdout.close()
        os.close(self._pidfd)
        self._process, self._pidfd = None, -1
        return code

    def send(self, number: signal.Signals) -> None:
        """Signal it, and nobody else: by the descriptor of this very process."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, number)


def end_in_words(code: int) -> str:
    """How a process ended: "was killed by SIGKILL", "ended with code 1"."""
    if code >= 0:
        return f"ended with code {code}"
    with suppress(ValueError):
        return f"was killed by {signal.Signals(-code).name}"
    return f"was killed by signal {-code}"
