"""Telemetry out: S7N1 frames to whoever holds the session, on a grid that is kept for ever (R14).

The data plane writes a state at about the same rate, on a grid of its own. A slot takes the newest
state that was not sent before; where there is none yet, the slot is owed and the next state pays it
at once. So no state waits a whole period because two grids beat, none is sent twice, and a data
plane that has died falls silent instead of looking alive.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from steadyhand.edge.pacer import KeptGrid
from steadyhand.wire.limits import FrameTooLarge
from steadyhand.wire.sealing import Sealer
from steadyhand.wire.telemetry_frame import encode_telemetry

Address = tuple[str, int]
SendDatagram = Callable[[bytes, Address], bool]

_SEQ_MASK: Final = (1 << 32) - 1


class TelemetryCounts(msgspec.Struct):
    """Where states went.

    Attributes:
        sent: frames that left.
        replaced: states that a newer one replaced before a slot came.
        refused: frames the socket did not take.
        too_large: states that no datagram holds.
    """

    sent: int = 0
    replaced: int = 0
    refused: int = 0
    too_large: int = 0


class TelemetryPublisher:
    """Sends states; reads no clock and owns no socket.

    Args:
        robot_id: the arm that speaks.
        period_ns: of the grid.
        first_ns: its first slot.
        send: takes a datagram and an address, and says whether it left.
    """

    def __init__(self, robot_id: str, *, period_ns: int, first_ns: int, send: SendDatagram) -> None:
        self.counts = TelemetryCounts()
        self.grid = KeptGrid(period_ns=period_ns, first_ns=first_ns)
        self._robot_id = robot_id
        self._send = send
        self._to: Address | None = None
        self._sealer: Sealer | None = None
        self._seq = 0
        self._state = b""
        self._owed = False

    def open(self, to: Address, sealer: Sealer | None) -> None:
        """A session began: frames go there, sealed where a sealer is given. What waits is dropped."""
        self._to, self._sealer = to, sealer
        self._state, self._owed = b"", False

    def close(self) -> None:
        """The session is over: nothing is sent any more."""
        self._to = self._sealer = None
        self._state, self._owed = b"", False

    def note_state(self, state_json: bytes) -> None:
        """The newest state; it pays a slot that is owed, or waits for the next."""
        if self._to is None:
            return
        if self._owed:
            self._owed = False
            self._publish(state_json, self._to)
            return
        self.counts.replaced += bool(self._state)
        self._state = state_json

    def slot(self, now_ns: int) -> None:
        """A slot is due: use it, and go on to the next that is still to come."""
        self.grid.advance(now_ns)
        if self._to is None:
            return
        if not self._state:
            self._owed = True
            return
        state, self._state = self._state, b""
        self._publish(state, self._to)

    def _publish(self, state_json: bytes, to: Address) -> None:
        try:
            frame = encode_telemetry(state_json, robot_id=self._robot_id, seq=self._seq, sealer=self._sealer)
        except FrameTooLarge:
            self.counts.too_large += 1
            return
        self._seq = self._seq + 1 & _SEQ_MASK
        if self._send(frame, to):
            self.counts.sent += 1
        else:
            self.counts.refused += 1
