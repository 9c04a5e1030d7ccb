"""The state feed's connection: made, watched and made again, without ever waiting for it.

`poll` does whatever is due: begins to connect, notices that it has, asks for the recipe, reads, gives
up on a peer that is silent. Each phase has a deadline, so a peer that vanished behind a switch is
noticed as surely as one that closed the connection.
"""

import contextlib
import errno
import os
import select
import socket
import struct
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

import msgspec

from steadyhand.edge.robots.fairino.cnde_client import ClientState, CndeClient
from steadyhand.edge.robots.fairino.cnde_fields import OUR_RECIPES, PERIOD_MS, Layout
from steadyhand.ground.stamps import NS_PER_MS

READ_BYTES: Final = 65536
READS_PER_POLL: Final = 4
"""At most 256 KiB a poll: 200 of the largest frames; what is left is there at the next."""

_ABORT: Final = struct.pack("ii", 1, 0)


class FeedTimes(msgspec.Struct, frozen=True, kw_only=True):
    """How long each phase may take.

    Attributes:
        connect_ns: from the first packet to a connection.
        handshake_ns: from there to the first data frame.
        silence_ns: between two data frames. Longer than the 100 ms at which the guard `state_feed`
            stops the arm (R9): that is the stop, this is only the attempt to get the feed back.
        retry_ns: from the loss of a connection to the next attempt.
        refused_ns: likewise where the controller refused: it has another client, or another firmware.
    """

    connect_ns: int = 1000 * NS_PER_MS
    handshake_ns: int = 1000 * NS_PER_MS
    silence_ns: int = 500 * NS_PER_MS
    retry_ns: int = 200 * NS_PER_MS
    refused_ns: int = 1000 * NS_PER_MS


class Phase(StrEnum):
    """Where the connection is."""

    CLOSED = "closed"
    WAITING = "waiting"
    """For the next attempt."""
    CONNECTING = "connecting"
    HANDSHAKE = "handshake"
    STREAMING = "streaming"


class StateFeed:
    """One connection to one controller's state port.

    Args:
        address: IPv4 literal.
        port: TCP.
        period_ms: of the data frames.
        recipes: see `CndeClient`.
        times: the deadlines.
    """

    def __init__(
        self,
        address: str,
        port: int,
        *,
        period_ms: int = PERIOD_MS,
        recipes: Sequence[Sequence[str]] = OUR_RECIPES,
        times: FeedTimes | None = None,
    ) -> None:
        self.phase = Phase.CLOSED
        self.detail = "not connected"
        self.period_ms = period_ms
        self.connections = 0
        """How often it got as far as data."""
        self.garbage_bytes = 0
        self.malformed = 0
        self._peer = (address, port)
        self._recipes = recipes
        self._times = times or FeedTimes()
        self._socket: socket.socket | None = None
        self._client: CndeClient | None = None
        self._unsent = b""
        self._due_ns = 0
        self._loss: str | None = None

    # What it is told.

    def open(self, now_ns: int) -> None:
        """Begin to connect at the next poll."""
        self.phase, self._due_ns, self.detail = Phase.WAITING, now_ns, "connecting"

    def close(self) -> None:
        """Hang up for good, politely: the next client is let in at once."""
        if self._client is not None and self._socket is not None and self.phase is Phase.STREAMING:
            self._client.stop()
            self._unsent += self._client.outgoing()
            with contextlib.suppress(OSError):
                self._flush()
        self._hang_up(abort=False)
        self.phase, self.detail, self._loss = Phase.CLOSED, "not connected", None

    # What it tells.

    @property
    def is_open(self) -> bool:
        """Whether it is connected or trying to be."""
        return self.phase is not Phase.CLOSED

    @property
    def layout(self) -> Layout | None:
        """What was granted, while streaming."""
        return self._client.layout if self._client is not None else None

    @property
    def wanted(self) -> tuple[str, ...]:
        """The fullest recipe."""
        return tuple(self._recipes[0])

    def read_fds(self) -> tuple[int, ...]:
        """The connection, once there is one."""
        reading = self._socket is not None and self.phase in (Phase.HANDSHAKE, Phase.STREAMING)
        return (self._socket.fileno(),) if reading and self._socket is not None else ()

    def write_fds(self) -> tuple[int, ...]:
        """The connection, while it is being made or has something left to send."""
        writing = self._socket is not None and (self.phase is Phase.CONNECTING or bool(self._unsent))
        return (self._socket.fileno(),) if writing and self._socket is not None else ()

    def take_loss(self) -> str | None:
        """Why a feed that streamed was lost since this was last asked."""
        loss, self._loss = self._loss, None
        return loss

    # What it does.

    def poll(self, now_ns: int) -> list[bytes]:
        """Do what is due; the payloads of the data frames that arrived, oldest first."""
        if self.phase is Phase.WAITING and now_ns >= self._due_ns:
            self._connect(now_ns)
        if self.phase is Phase.CONNECTING:
            self._see_whether_connected(now_ns)
        payloads: list[bytes] = []
        if self.phase in (Phase.HANDSHAKE, Phase.STREAMING):
            payloads = self._read(now_ns)
        if self.phase not in (Phase.CLOSED, Phase.WAITING) and now_ns >= self._due_ns:
            self._fail(f"no {_AWAITED[self.phase]} in time", now_ns, abort=True)
        return payloads

    def _connect(self, now_ns: int) -> None:
        self.phase, self._due_ns = Phase.CONNECTING, now_ns + self._times.connect_ns
        try:
            self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            self._socket.setblocking(False)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            error = self._socket.connect_ex(self._peer)
        except OSError as failure:
            error = failure.errno or errno.EIO
        if error not in (0, errno.EINPROGRESS):
            self._fail(_error_in_words(error), now_ns)

    def _see_whether_connected(self, now_ns: int) -> None:
        if self._socket is None:
            return
        _, writable, _ = select.select([], [self._socket], [], 0.0)
        if not writable:
            return
        error = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            self._fail(_error_in_words(error), now_ns)
            return
        self.phase, self._due_ns = Phase.HANDSHAKE, now_ns + self._times.handshake_ns
        self._client = CndeClient(self._recipes, self.period_ms)

    def _read(self, now_ns: int) -> list[bytes]:
        client, connection = self._client, self._socket
        payloads: list[bytes] = []
        if client is None or connection is None:
            return payloads
        garbage, malformed = client.garbage_bytes, client.malformed
        try:
            self._unsent += client.outgoing()
            self._flush()
            for _ in range(READS_PER_POLL):
                data = connection.recv(READ_BYTES)
                if not data:
                    self._fail("the controller closed the connection", now_ns)
                    break
                payloads += client.receive(data)
                if client.state is ClientState.REFUSED:
                    # Its reason counts, not that it hangs up afterwards.
                    break
                if len(data) < READ_BYTES:
                    # That was all there is; to ask again would only be told so.
                    break
        except BlockingIOError:
            pass
        except OSError as error:
            self._fail(_error_in_words(error.errno), now_ns)
        self.garbage_bytes += client.garbage_bytes - garbage
        self.malformed += client.malformed - malformed
        self._note_progress(client, now_ns, streaming=bool(payloads))
        return payloads

    def _note_progress(self, client: CndeClient, now_ns: int, *, streaming: bool) -> None:
        if self._socket is None:
            return
        if client.state is ClientState.REFUSED:
            self._fail(f"refused: {client.reason}", now_ns, retry_ns=self._times.refused_ns)
        elif streaming:
            if self.phase is Phase.HANDSHAKE:
                self.connections += 1
            self.phase, self.detail = Phase.STREAMING, "streaming"
            self._due_ns = now_ns + self._times.silence_ns
        # The answer to the recipe may have called for the start.
        self._unsent += client.outgoing()
        self._flush_or_fail(now_ns)

    def _flush_or_fail(self, now_ns: int) -> None:
        try:
            self._flush()
        except BlockingIOError:
            pass
        except OSError as error:
            self._fail(_error_in_words(error.errno), now_ns)

    def _flush(self) -> None:
        if self._unsent and self._socket is not None:
            self._unsent = self._unsent[self._socket.send(self._unsent) :]

    def refuse(self, reason: str, now_ns: int) -> None:
        """The owner cannot use what was granted: hang up, and try again later."""
        self._fail(f"refused: {reason}", now_ns, retry_ns=self._times.refused_ns)

    def _fail(self, reason: str, now_ns: int, *, retry_ns: int | None = None, abort: bool = False) -> None:
        if self.phase is Phase.STREAMING:
            self._loss = reason
        self.detail = reason
        self._hang_up(abort=abort)
        self.phase = Phase.WAITING
        self._due_ns = now_ns + (self._times.retry_ns if retry_ns is None else retry_ns)

    def _hang_up(self, *, abort: bool) -> None:
        if self._socket is not None:
            if abort:
                # The controller takes one client at a time: one that is silent for us may still hold
                # our place. A reset frees it, where a close would wait to be acknowledged.
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _ABORT)
            self._socket.close()
        self._socket, self._client, self._unsent = None, None, b""


_AWAITED: Final = {
    Phase.CONNECTING: "connection",
    Phase.HANDSHAKE: "state frame after connecting",
    Phase.STREAMING: "state frame",
}


def _error_in_words(error: int | None) -> str:
    return "the connection broke" if error is None else os.strerror(error).lower()
