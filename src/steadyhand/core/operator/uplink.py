"""The way out: number, bundle and seal what leaves for the arm (document 003, step 4; R3, R4, R11).

The sequence belongs to the process: it survives engagements and sessions and counts what is sent,
e-stops included, so that a later datagram is always newer. The history ring does not survive: what
rode along across an e-stop, an engagement or a session would be motion of another time.
"""

from collections import deque
from typing import Final

from steadyhand.core.operator.outputs import Datagram, DatagramKind, StreamedAction
from steadyhand.core.operator.settings import OperatorSettings
from steadyhand.core.redundancy import ReceiverReport, RedundancyController
from steadyhand.ground.seq import SEQ_MASK, advance
from steadyhand.ground.setpoint import Setpoint
from steadyhand.wire.action_frame import (
    bundle_budget_bytes,
    encode_bundle,
    encode_sealed,
    encode_single,
    sealed_bundle_budget_bytes,
)
from steadyhand.wire.action_payload import encode_action
from steadyhand.wire.bundle import (
    COUNT_BYTES,
    ENTRY_OVERHEAD_BYTES,
    Entry,
    bundle_entries_within_budget,
)
from steadyhand.wire.limits import BUNDLE_RING_DEPTH
from steadyhand.wire.sealing import Sealer

NO_SESSION: Final = 0


class Uplink:
    """Encodes for one arm.

    Args:
        settings: of this end.
        first_seq: the first wire number, u32.
    """

    def __init__(self, settings: OperatorSettings, first_seq: int) -> None:
        self.next_seq = first_seq & SEQ_MASK
        self.copies_in_use = 0
        self._settings = settings
        robot_id = settings.robot_id
        self._budget_bytes = (
            sealed_bundle_budget_bytes(robot_id) if settings.sealed else bundle_budget_bytes(robot_id)
        )
        self._redundancy = RedundancyController(
            settings.redundancy, budget_bytes=self._budget_bytes - COUNT_BYTES
        )
        self._ring: deque[Entry] = deque(maxlen=BUNDLE_RING_DEPTH)
        self._sealer: Sealer | None = None

    @property
    def session_id(self) -> int:
        """Of the sealed session; 0 where there is none."""
        return NO_SESSION if self._sealer is None else self._sealer.session_id

    @property
    def ready(self) -> bool:
        """Whether setpoints can be sent: without sealing always, else while a session is open."""
        return self._sealer is not None or not self._settings.sealed

    @property
    def redundancy_rule(self) -> str:
        """The rule that decided last on the number of copies."""
        return self._redundancy.last_rule

    def adopt(self, sealer: Sealer) -> None:
        """Seal with a new session's sealer from here on."""
        self._sealer = sealer
        self.forget_history()

    def close_session(self) -> None:
        """Nothing can be sealed any more."""
        self._sealer = None
        self.forget_history()

    def forget_history(self) -> None:
        """Nothing sent before this moment rides along any more."""
        self._ring.clear()
        self.copies_in_use = 0

    def on_report(self, report: ReceiverReport, now_ns: int) -> None:
        """What the receiver says of the link decides how many copies go out (R4)."""
        self._redundancy.on_report(report, now_ns)

    # ---- setpoints

    def setpoint(self, setpoint: Setpoint, now_ns: int) -> Datagram | StreamedAction:
        """Encode one setpoint, verbatim (R7), with as much history as the link calls for.

        Raises:
            InputError: it cannot be carried, or does not fit a datagram; no number is spent.
        """
        payload = encode_action(setpoint)
        if self._settings.transport == "grpc":
            return StreamedAction(payload)
        current = Entry(self.next_seq, payload)
        entries = self._bundle(current, now_ns)
        data = self._frame(entries)
        self._ring.appendleft(current)
        self.next_seq = advance(self.next_seq)
        self.copies_in_use = len(entries) - 1
        return Datagram(data, current.seq, DatagramKind.SETPOINT, payload, self.copies_in_use)

    def _bundle(self, current: Entry, now_ns: int) -> list[Entry]:
        """Previous setpoints that fit, no more than R4's controller allows."""
        copies = self._redundancy.copies(
            current_bytes=_size(current),
            previous_bytes=[_size(entry) for entry in self._ring],
            now_ns=now_ns,
        )
        return bundle_entries_within_budget(
            current, self._ring, budget_bytes=self._budget_bytes, copies_max=copies
        )

    def _frame(self, entries: list[Entry]) -> bytes:
        """Version 3 where sealed; else a bundle, or a single frame where nothing rides along."""
        robot_id = self._settings.robot_id
        if self._settings.sealed:
            if self._sealer is None:
                raise RuntimeError("no session to seal with; the engage gate should have held this")
            return encode_sealed(robot_id=robot_id, entries=entries, sealer=self._sealer)
        if len(entries) == 1:
            return encode_single(robot_id=robot_id, entry=entries[0])
        return encode_bundle(robot_id=robot_id, entries=entries)

    # ---- e-stops

    def estop(self, payload: bytes) -> Datagram:
        """One copy of an e-stop, alone in its datagram and under a number of its own.

        Sealed where a session is open. Without one it leaves as a version 1 frame, which a follower
        obeys where its file says `auth: none` or `estop_open` and counts elsewhere: it can only help.
        """
        entry = Entry(self.next_seq, payload)
        robot_id = self._settings.robot_id
        if self._sealer is not None and self._settings.sealed:
            data = encode_sealed(robot_id=robot_id, entries=(entry,), sealer=self._sealer)
        else:
            data = encode_single(robot_id=robot_id, entry=entry)
        self.next_seq = advance(self.next_seq)
        return Datagram(data, entry.seq, DatagramKind.ESTOP, payload)


def _size(entry: Entry) -> int:
    return ENTRY_OVERHEAD_BYTES + len(entry.payload)
