"""The box's buttons: typed on its standard input, or pressed by a datagram on loopback."""

import asyncio
import contextlib
import ipaddress
import json
import os
from collections.abc import Callable
from typing import Any, Final, cast

from steadyhand.nodes.controller.box import ControlBox

MAX_COMMAND_BYTES: Final = 256


def _status(box: ControlBox) -> dict[str, Any]:
    return box.status()


def _estop(box: ControlBox) -> dict[str, Any]:
    box.press_estop()
    return {"done": "the e-stop button is pressed"}


def _release(box: ControlBox) -> dict[str, Any]:
    box.release_estop()
    return {"done": "the e-stop button is released; only a power cycle ends the e-stop"}


def _power_cycle(box: ControlBox) -> dict[str, Any]:
    box.power_cycle()
    return {"done": "the control box was switched off and on"}


COMMANDS: Final[dict[str, Callable[[ControlBox], dict[str, Any]]]] = {
    "estop": _estop,
    "release": _release,
    "power-cycle": _power_cycle,
    "status": _status,
}


def carry_out(box: ControlBox, text: str) -> dict[str, Any]:
    """Press one button by its name; anything else is answered with the names."""
    command = COMMANDS.get(text.strip().lower())
    if command is None:
        return {"error": "not a command", "commands": list(COMMANDS)}
    return command(box)


class AdminServer(asyncio.DatagramProtocol):
    """One command a datagram, one JSON object back. Callers that are not on this machine get nothing.

    Args:
        box: whose buttons they are.
    """

    def __init__(self, box: ControlBox) -> None:
        self._box = box
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep what answers are sent by."""
        # Not isinstance: the loop's datagram transport is none by class.
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str | Any, int]) -> None:
        """Any bytes at all get an answer."""
        if self._transport is None or not ipaddress.ip_address(addr[0]).is_loopback:
            return
        reply = carry_out(self._box, data[:MAX_COMMAND_BYTES].decode("ascii", "replace"))
        self._transport.sendto(json.dumps(reply).encode(), addr)


class Console:
    """Reads commands from a descriptor, a line each, and says what came of them.

    Args:
        box: whose buttons they are.
        say: where the answers go, a line each.
        descriptor: usually standard input.
    """

    def __init__(self, box: ControlBox, say: Callable[[str], None], descriptor: int) -> None:
        self._box = box
        self._say = say
        self._descriptor = descriptor
        self._line = b""

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to read; a descriptor that cannot be waited for is left alone."""
        with contextlib.suppress(OSError, ValueError):
            os.fstat(self._descriptor)
            loop.add_reader(self._descriptor, self._read, loop)

    def detach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Stop reading."""
        loop.remove_reader(self._descriptor)

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            data = os.read(self._descriptor, 4096)
        except OSError:
            # A process in the background may not read its terminal.
            data = b""
        if not data:
            self.detach(loop)
            return
        *lines, self._line = (self._line + data).split(b"\n")
        self._line = self._line[-MAX_COMMAND_BYTES:]
        for line in lines:
            if line.strip():
                self._say(json.dumps(carry_out(self._box, line.decode("ascii", "replace"))))
