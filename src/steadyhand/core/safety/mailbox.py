"""The depth-one mailbox of passthrough, and what its age makes of it (document 003, steps 7 to 10).

The latest setpoint wins, and reading leaves it in place: a slot read again inside the stale window
is a fresh re-send of the same setpoint, not a hold. Nothing may ever queue in front of it. It belongs
to passthrough alone (R12); in front of the playout buffer it would defeat the buffer's repair.
"""

from typing import Final

import msgspec

from steadyhand.ground.setpoint import Setpoint
from steadyhand.ground.stamps import NS_PER_S

DEFAULT_STARVED_AFTER_NS: Final = NS_PER_S
"""A producer silent for this long is gone; a hold that never ends is nobody's intention."""


class Slot(msgspec.Struct, frozen=True, gc=False):
    """What lies in the mailbox.

    Attributes:
        setpoint: the latest setpoint.
        arrived_ns: local monotonic time it was put there.
    """

    setpoint: Setpoint
    arrived_ns: int


class Mailbox:
    """One slot. Producers overwrite it, the tick reads it, only `clear` empties it."""

    __slots__ = ("_slot",)

    def __init__(self) -> None:
        self._slot: Slot | None = None

    def put(self, setpoint: Setpoint, now_ns: int) -> None:
        """Overwrite whatever lies there."""
        self._slot = Slot(setpoint, now_ns)

    def read(self) -> Slot | None:
        """The latest slot, left in place; None while nothing was put since the last `clear`."""
        return self._slot

    def clear(self) -> None:
        """Empty it: stream exit, stop, engage."""
        self._slot = None


class FreshFrame(msgspec.Struct, frozen=True, gc=False):
    """Send this setpoint. `is_new` is false where it was sent before: a re-send, not a hold."""

    setpoint: Setpoint
    age_ns: int
    is_new: bool


class HoldFrame(msgspec.Struct, frozen=True, gc=False):
    """The setpoint is stale: send the last one again, as a hold."""

    setpoint: Setpoint
    age_ns: int


class StarvedFrame(msgspec.Struct, frozen=True, gc=False):
    """The producer is gone, or never was: hold the last pose and stop softly.

    `age_ns` is None where nothing was ever put.
    """

    age_ns: int | None


FrameKind = FreshFrame | HoldFrame | StarvedFrame


class FrameSource:
    """Tells each tick what the mailbox is worth, by age alone.

    Args:
        mailbox: the slot.
        period_ns: cmdT.
        stale_factor: periods after which a setpoint is held instead of sent (`servoj_stale_factor`).
        starved_after_ns: age at which the producer counts as gone.
    """

    def __init__(
        self,
        mailbox: Mailbox,
        *,
        period_ns: int,
        stale_factor: float = 2.0,
        starved_after_ns: int = DEFAULT_STARVED_AFTER_NS,
    ) -> None:
        self._mailbox = mailbox
        self._stale_after_ns = round(period_ns * stale_factor)
        self._starved_after_ns = starved_after_ns
        self._sent: Slot | None = None

    def next_frame(self, now_ns: int) -> FrameKind:
        """Judge the slot at this tick: fresh up to the stale window, then a hold, then starved."""
        slot = self._mailbox.read()
        if slot is None:
            return StarvedFrame(None)
        age_ns = now_ns - slot.arrived_ns
        if age_ns > self._starved_after_ns:
            return StarvedFrame(age_ns)
        if age_ns > self._stale_after_ns:
            return HoldFrame(slot.setpoint, age_ns)
        # By identity: the same setpoint put again is a new one.
        is_new = slot is not self._sent
        self._sent = slot
        return FreshFrame(slot.setpoint, age_ns, is_new)
