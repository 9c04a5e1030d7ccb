"""A client of the control port, for tests, the demo and scripts."""

import socket
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Literal, Self

import msgspec

from steadyhand.edge.impairment.addresses import LOOPBACK
from steadyhand.edge.impairment.lane import Direction, PathName
from steadyhand.edge.impairment.memory import Packets
from steadyhand.edge.impairment.status import ProxyStatus
from steadyhand.ground.errors import InputError

TIMEOUT_S: Final = 5.0
READ_BYTES: Final = 65_536

Paths = PathName | Literal["both"]
Directions = Direction | Literal["both"]


class ImpairmentClient:
    """Talks to a running proxy; every call waits for the answer, so what it asked for has been done.

    Use as a context manager, or `close` it.
    """

    def __init__(self, port: int, *, host: str = LOOPBACK, timeout_s: float = TIMEOUT_S) -> None:
        """Connect.

        Raises:
            InputError: nothing answers there.
        """
        self._where = f"{host}:{port}"
        try:
            self._socket = socket.create_connection((host, port), timeout=timeout_s)
        except OSError as error:
            raise self._silent(error) from None
        self._incoming = bytearray()

    def status(self) -> ProxyStatus:
        """How the proxy stands."""
        return msgspec.convert(self.ask("status")["status"], ProxyStatus)

    def set_link(self, spec: str, *, direction: Directions = "both", path: Paths = "both") -> None:
        """Obey another link from now on; without a path, datagrams and control alike."""
        self.ask(f"link {'' if path == 'both' else path} {direction} {spec}")

    def kill(self, path: Paths = "both", direction: Directions = "both") -> None:
        """Let nothing more enter."""
        self.ask(f"kill {path} {direction}")

    def revive(self, path: Paths = "both", direction: Directions = "both") -> None:
        """Let enter again."""
        self.ask(f"revive {path} {direction}")

    def reset(self) -> None:
        """Cut every control connection with a TCP reset."""
        self.ask("reset")

    def begin(self) -> None:
        """Begin every link anew, with its first dice: a run's time zero is now."""
        self.ask("begin")

    def play(self, steps: Sequence[tuple[float, str]]) -> None:
        """Begin a scenario: seconds from now and a command, in order of time; none ends what plays."""
        text = "; ".join(f"{at_s} {command}" for at_s, command in steps)
        self.ask(f"scenario {text or 'off'}")

    def packets(self, direction: Direction, cursor: int = 0) -> Packets:
        """Up to 500 datagrams from `cursor` on; read on from the answer's `next`."""
        return msgspec.convert(self.ask(f"packets {direction} {cursor}")["packets"], Packets)

    def ask(self, line: str) -> dict[str, Any]:
        """Send one line and return its answer.

        Raises:
            InputError: the proxy refused it, with its words; or it does not answer.
        """
        if "\n" in line:
            raise InputError("a command is one line", where=self._where)
        try:
            self._socket.sendall(line.encode() + b"\n")
            while b"\n" not in self._incoming:
                data = self._socket.recv(READ_BYTES)
                if not data:
                    raise ConnectionAbortedError("it closed the connection")
                self._incoming += data
        except OSError as error:
            raise self._silent(error) from None
        answer, _, rest = bytes(self._incoming).partition(b"\n")
        self._incoming = bytearray(rest)
        reply: dict[str, Any] = msgspec.json.decode(answer, type=dict[str, Any])
        if not reply.get("ok"):
            raise InputError(str(reply.get("error", "refused")), where=self._where)
        return reply

    def close(self) -> None:
        """Hang up."""
        with suppress(OSError):
            self._socket.close()

    def __enter__(self) -> Self:
        """The client itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Hang up."""
        self.close()

    def _silent(self, error: OSError) -> InputError:
        """Nothing answers."""
        why = error.strerror or str(error)
        return InputError(
            f"no impairment proxy answers: {why}", where=self._where, hint="is `steadyhand impair` running?"
        )
