"""The way back: authenticate, keep only what is newer, notice silence (document 003, return step 4).

A sealed frame is judged by its counter, which never starts again within a session: a restarted
follower cannot speak under the old keys, so there is no epoch to reset and no moment in which an
older pose could pass for the newest (R3, applied to the way back). A plain frame is judged by its
wrap-aware sequence number, whose epoch ends with two seconds of silence or with the link.
"""

from typing import Final

from steadyhand.core.operator.outputs import TelemetryVerdict
from steadyhand.core.operator.settings import OperatorSettings
from steadyhand.ground.robot_state import RobotState
from steadyhand.ground.seq import is_newer
from steadyhand.ground.stamps import NS_PER_S
from steadyhand.wire.head import TELEMETRY_MAGIC, read_head
from steadyhand.wire.rejections import Rejection, RejectionCounts
from steadyhand.wire.sealing import Unsealer
from steadyhand.wire.telemetry_frame import (
    TelemetryFrame,
    decode_plain_telemetry,
    decode_sealed_telemetry,
    decode_state,
)

EPOCH_RESET_NS: Final = 2 * NS_PER_S
"""Silence after which the link counts as lost, and an older-looking number as a restarted follower."""


class Downlink:
    """Receives one arm's telemetry."""

    def __init__(self, settings: OperatorSettings) -> None:
        self.rejections = RejectionCounts()
        self.counts: dict[TelemetryVerdict, int] = dict.fromkeys(TelemetryVerdict, 0)
        self.last_ns: int | None = None
        """Arrival of the newest accepted frame of this session."""
        self.lost = False
        self.state: RobotState | None = None
        self._settings = settings
        self._name = settings.robot_id.encode()
        self._unsealer = Unsealer()
        self._newest: int | None = None

    def open_session(self, session_id: int, telemetry_key: bytes) -> None:
        """Believe a new session alone; whatever was heard before was another's.

        Raises:
            SealError: this session was used before.
            ValueError: the key is not 32 bytes.
        """
        self._unsealer.open_session(session_id=session_id, key=telemetry_key)
        self._forget()

    def close_session(self) -> None:
        """Believe nobody until the next session."""
        self._unsealer.retire_session()
        self._forget()

    def _forget(self) -> None:
        self._newest = self.last_ns = self.state = None
        self.lost = False

    # ---- datagrams

    def receive(self, datagram: bytes, now_ns: int) -> tuple[TelemetryVerdict, bytes, RobotState | None]:
        """Take one datagram: what became of it, its JSON and the state in it where it is the newest."""
        verdict, frame, state = self._judge(datagram, now_ns)
        self.counts[verdict] += 1
        if frame is None or state is None:
            return verdict, b"", None
        self._newest = self._number(frame)
        self.last_ns = now_ns
        self.state = state
        return verdict, frame.payload, state

    def _judge(
        self, datagram: bytes, now_ns: int
    ) -> tuple[TelemetryVerdict, TelemetryFrame | None, RobotState | None]:
        """In the order that costs least: magic, name, seal, order, and only then the JSON."""
        head = read_head(datagram, TELEMETRY_MAGIC)
        if isinstance(head, Rejection):
            return self._rejected(head)
        if head.name != self._name:
            return TelemetryVerdict.FOREIGN, None, None
        sealed = self._settings.sealed
        frame = decode_sealed_telemetry(head, self._unsealer) if sealed else decode_plain_telemetry(head)
        if isinstance(frame, Rejection):
            return self._rejected(frame)
        if not self._is_newest(frame, now_ns):
            return TelemetryVerdict.OUT_OF_ORDER, None, None
        state = decode_state(frame)
        if isinstance(state, Rejection):
            return self._rejected(state)
        return TelemetryVerdict.ACCEPTED, frame, state

    def _rejected(self, rejection: Rejection) -> tuple[TelemetryVerdict, None, None]:
        self.rejections.count(rejection)
        return TelemetryVerdict.REJECTED, None, None

    def _is_newest(self, frame: TelemetryFrame, now_ns: int) -> bool:
        """Latest wins; on a plain link silence or loss ends the numbering."""
        if self._newest is None:
            return True
        if self._settings.sealed:
            return frame.counter > self._newest
        return self.lost or self._silent(now_ns) or is_newer(frame.seq, self._newest)

    def _number(self, frame: TelemetryFrame) -> int:
        return frame.counter if self._settings.sealed else frame.seq

    # ---- silence

    def silent_ns(self, now_ns: int) -> int | None:
        """Since the newest accepted frame; None where there was none in this session."""
        return None if self.last_ns is None else now_ns - self.last_ns

    def newly_lost(self, now_ns: int) -> bool:
        """Whether the silence has just become a lost link."""
        if self.lost or not self._silent(now_ns):
            return False
        self.lost = True
        return True

    @property
    def loss_due_ns(self) -> int | None:
        """When silence will count as a lost link; None where it does or nothing was heard."""
        return None if self.lost or self.last_ns is None else self.last_ns + EPOCH_RESET_NS

    def _silent(self, now_ns: int) -> bool:
        return self.last_ns is not None and now_ns - self.last_ns >= EPOCH_RESET_NS
