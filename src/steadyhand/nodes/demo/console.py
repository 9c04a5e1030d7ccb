"""The simulated controller's console, asked by datagram: its fault count, and whether a stream is open."""

import json
import re
import socket
from contextlib import suppress
from typing import Any, Final

READY: Final = "controller ready:"
_CONSOLE: Final = re.compile(r"console (\d+\.\d+\.\d+\.\d+):(\d+)")
ANSWER_S: Final = 1.0
TRIES: Final = 3


class ControllerConsole:
    """One controller's console.

    Args:
        ready_line: what the controller said when it was ready.

    Raises:
        ValueError: the line names no console.
    """

    def __init__(self, ready_line: str) -> None:
        found = _CONSOLE.search(ready_line)
        if found is None:
            raise ValueError(f"{ready_line!r} is not the controller's line")
        self._address = (found.group(1), int(found.group(2)))
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.settimeout(ANSWER_S)
        # Connected: an answer to an earlier asking, or a stranger's, is told apart by its address only.
        self._socket.connect(self._address)

    def status(self) -> dict[str, Any] | None:
        """What the console shows; None where it does not answer."""
        for _ in range(TRIES):
            with suppress(OSError, ValueError):
                self._socket.send(b"status")
                answer = json.loads(self._socket.recv(65_536))
                if isinstance(answer, dict):
                    return answer
        return None

    def faults(self) -> int | None:
        """How often it faulted; None where it does not say."""
        status = self.status()
        return None if status is None else int(status["faults"])

    def close(self) -> None:
        """Hang up."""
        self._socket.close()
