"""The client's side of the state feed's conversation: configure, start, read. No socket, no clock.

Bytes in, payloads out, and bytes to send. Built anew for every connection.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from steadyhand.edge.robots.fairino import cnde
from steadyhand.edge.robots.fairino.cnde import Frame, FrameType, MessageKind
from steadyhand.edge.robots.fairino.cnde_fields import Layout, parse_type

MAX_REASON_CHARACTERS: Final = 200


class ClientState(StrEnum):
    """Where the conversation is."""

    CONFIGURING = "configuring"
    STARTING = "starting"
    STREAMING = "streaming"
    REFUSED = "refused"


class CndeClient:
    """Asks for a recipe, takes a smaller one where a name is unknown, starts the output, reads it.

    Args:
        recipes: lists of names, the fullest first. The next is tried where one is refused for a name
            the firmware does not know.
        period_ms: distance of the data frames.
    """

    def __init__(self, recipes: Sequence[Sequence[str]], period_ms: int) -> None:
        self.state = ClientState.CONFIGURING
        self.reason = ""
        """Why the controller refused; "" unless it did."""
        self.layout: Layout | None = None
        self.malformed = 0
        """Frames that were frames, but not what the conversation called for."""
        self._parser = cnde.FrameParser()
        self._recipes = list(recipes)
        self._period_ms = period_ms
        self._count = 0
        self._out = b""
        self._ask()

    @property
    def garbage_bytes(self) -> int:
        """Bytes that belonged to no frame."""
        return self._parser.garbage_bytes

    def outgoing(self) -> bytes:
        """What is to be sent now; each byte is handed out once."""
        out, self._out = self._out, b""
        return out

    def stop(self) -> None:
        """Ask for the end of the output, before hanging up."""
        self._send(FrameType.OUTPUT_STOP)

    def receive(self, data: bytes) -> list[bytes]:
        """Take bytes off the connection; answer the payloads of the data frames among them."""
        payloads: list[bytes] = []
        for frame in self._parser.feed(data):
            if frame.type is FrameType.OUTPUT_DATA:
                self._data(frame, payloads)
            elif frame.type is FrameType.MESSAGE:
                self._message(frame)
            else:
                self.malformed += 1
        return payloads

    def _ask(self) -> None:
        self._names = self._recipes.pop(0)
        period = self._period_ms.to_bytes(2, "little")
        self._send(FrameType.OUTPUT_CONFIG, period + ",".join(self._names).encode("ascii"))

    def _send(self, frame_type: FrameType, data: bytes = b"") -> None:
        self._out += cnde.encode(self._count, frame_type, data)
        self._count = (self._count + 1) % 256

    def _data(self, frame: Frame, payloads: list[bytes]) -> None:
        # The controller has been seen to answer a start with data rather than with a message.
        if self.state is ClientState.STARTING:
            self.state = ClientState.STREAMING
        fits = self.layout is not None and len(frame.data) == self.layout.size_bytes
        if self.state is ClientState.STREAMING and fits:
            payloads.append(frame.data)
        else:
            self.malformed += 1

    def _message(self, frame: Frame) -> None:
        success = frame.data[:1] == bytes([MessageKind.SUCCESS])
        text = frame.data[1:].decode("ascii", "replace")
        if self.state is ClientState.CONFIGURING:
            self._configured(success=success, text=text)
        elif self.state is ClientState.STARTING:
            if success:
                self.state = ClientState.STREAMING
            else:
                self._refuse(f"the output was not started: {text}")

    def _configured(self, *, success: bool, text: str) -> None:
        if not success:
            if "NOT_FOUND" in text.upper() and self._recipes:
                self._ask()
            else:
                self._refuse(text or "the configuration was refused without a reason")
            return
        types = [parse_type(part) for part in text.rstrip("\0, ").split(",")]
        known = [wire_type for wire_type in types if wire_type is not None]
        if len(known) != len(types) or len(known) != len(self._names):
            self._refuse(f"{len(self._names)} fields were answered with the types {text!r}")
            return
        self.layout = Layout(self._names, known)
        self.state = ClientState.STARTING
        self._send(FrameType.OUTPUT_START)

    def _refuse(self, reason: str) -> None:
        self.state = ClientState.REFUSED
        printable = "".join(character if character.isprintable() else "?" for character in reason)
        self.reason = printable[:MAX_REASON_CHARACTERS]
