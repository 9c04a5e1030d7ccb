"""TCP port 20005: the state feed, for one client at a time.

A second client is refused with an error message and hung up on; that the controller takes one is
document 001's, how it refuses the next is assumed. Frames leave on a grid of their own, one to a
segment, since the vendor's client drops what arrives coalesced.
"""

import asyncio
import socket
from typing import Final

from steadyhand.edge.robots.fairino import cnde
from steadyhand.edge.robots.fairino.cnde import Frame, FrameType, MessageKind
from steadyhand.ground.stamps import NS_PER_MS, NS_PER_S
from steadyhand.nodes.controller.box import ControlBox
from steadyhand.nodes.controller.feed_values import Recipe, Refused, grant, take_snapshot

PERIOD_MS_RANGE: Final = range(1, 1001)
"""The documentation allows 1 to 200 ms, the SDK 8 to 1000."""
MAX_UNSENT_BYTES: Final = 65536
SETUP_S: Final = 3.0
"""A client that has not started by then loses its place."""
VANISHED_MS: Final = 2000
"""A client that acknowledges nothing for so long is gone."""
MAX_REFUSED: Final = 8
VERSION: Final = "steadyhand simulated controller, FR-CNDE-V0001"


class StateServer:
    """Hands out the one place.

    Args:
        box: whose state it is.
    """

    def __init__(self, box: ControlBox) -> None:
        self.box = box
        self.client: StateConnection | None = None
        self.refused: set[StateConnection] = set()
        box.at_power_off(self.hang_up)

    def connection(self) -> "StateConnection":
        """For `loop.create_server`."""
        return StateConnection(self)

    def hang_up(self) -> None:
        """Drop everybody at once."""
        for connection in (self.client, *self.refused):
            if connection is not None:
                connection.abort()


class StateConnection(asyncio.Protocol):
    """One client of the feed, or one that is told there is another.

    Args:
        server: where the place is.
    """

    def __init__(self, server: StateServer) -> None:
        self._server = server
        self._box = server.box
        self._parser = cnde.FrameParser()
        self._transport: asyncio.Transport | None = None
        self._count = 0
        self._recipe: Recipe | None = None
        self._period_ns = 0
        self._due_ns = 0
        self._timer: asyncio.TimerHandle | None = None

    # The connection.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the place, or be refused at the first word."""
        if not isinstance(transport, asyncio.Transport):
            raise TypeError("the state feed is a stream")
        self._transport = transport
        _tune(transport.get_extra_info("socket"))
        if self._server.client is None:
            self._server.client = self
        elif len(self._server.refused) < MAX_REFUSED:
            self._server.refused.add(self)
        else:
            self.abort()
            return
        self._timer = asyncio.get_running_loop().call_later(SETUP_S, self.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the place back."""
        self._cancel_timer()
        self._transport = None
        self._server.refused.discard(self)
        if self._server.client is self:
            self._server.client = None

    def abort(self) -> None:
        """Hang up without a word."""
        if self._transport is not None:
            self._transport.abort()

    # What the client says.

    def data_received(self, data: bytes) -> None:
        """Any bytes at all; what is no frame is skipped."""
        garbage = self._parser.garbage_bytes
        for frame in self._parser.feed(data):
            self._frame(frame)
        self._box.answers["state_garbage_bytes"] += self._parser.garbage_bytes - garbage
        if self in self._server.refused and self._transport is not None:
            self._message(MessageKind.ERROR, "another client is connected")
            self._transport.close()

    def _frame(self, frame: Frame) -> None:
        if self in self._server.refused:
            return
        match frame.type:
            case FrameType.OUTPUT_CONFIG:
                self._configure(frame.data)
            case FrameType.OUTPUT_START:
                self._start()
            case FrameType.OUTPUT_STOP:
                self._cancel_timer()
                self._message(MessageKind.SUCCESS)
            case FrameType.GET_VERSION:
                self._message(MessageKind.SUCCESS, VERSION)
            case _:
                self._message(MessageKind.ERROR, "not supported here")

    def _configure(self, data: bytes) -> None:
        period_ms = int.from_bytes(data[:2], "little")
        if period_ms not in PERIOD_MS_RANGE:
            self._message(MessageKind.ERROR, f"a period of {period_ms} ms is out of range")
            return
        granted = grant(data[2:].decode("ascii", "replace").split(","))
        if isinstance(granted, Refused):
            self._message(MessageKind.ERROR, granted.reason)
            return
        self._recipe, self._period_ns = granted, period_ms * NS_PER_MS
        self._message(MessageKind.SUCCESS, granted.type_names)

    def _start(self) -> None:
        if self._recipe is None:
            self._message(MessageKind.ERROR, "configure the output first")
            return
        self._message(MessageKind.SUCCESS)
        self._cancel_timer()
        self._due_ns = self._box.now_ns() + self._period_ns
        self._schedule()

    # What it is told.

    def _message(self, kind: MessageKind, text: str = "") -> None:
        self._write(FrameType.MESSAGE, bytes([kind]) + text.encode("ascii", "replace"))

    def _write(self, frame_type: FrameType, data: bytes) -> None:
        if self._transport is None:
            return
        self._transport.write(cnde.encode(self._count, frame_type, data))
        self._count = (self._count + 1) % 256
        if self._transport.get_write_buffer_size() > MAX_UNSENT_BYTES:
            self._box.answers["state_clients_too_slow"] += 1
            self.abort()

    def _schedule(self) -> None:
        delay_s = max(self._due_ns - self._box.now_ns(), 0) / NS_PER_S
        self._timer = asyncio.get_running_loop().call_later(delay_s, self._tick)

    def _tick(self) -> None:
        """Send the frame of this slot; slots that are past are skipped, never caught up with."""
        if self._recipe is None or self._transport is None:
            return
        self._write(FrameType.OUTPUT_DATA, self._recipe.pack(take_snapshot(self._box)))
        late_slots = max(self._box.now_ns() - self._due_ns, 0) // self._period_ns
        self._due_ns += (late_slots + 1) * self._period_ns
        self._schedule()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _tune(connection: socket.socket) -> None:
    """One frame to a segment, and a vanished client noticed."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, VANISHED_MS)
