"""What the arrivals say about the sender and the network (document 000 §7 and §9).

Only differences are taken, and only between stamps of one source: the sender's offset cancels,
and two hosts' clocks never meet.
"""

from typing import Final

from steadyhand.ground.setpoint import StampSource
from steadyhand.ground.stamps import NS_PER_S

JITTER_GAIN: Final = 1 / 16
"""RFC 3550 §6.4.1: J += (|D| − J) / 16."""

LOSS_GAIN: Final = 0.02
"""Weight of one arrival in the loss average: half of a change is seen within 35 setpoints."""

SENDER_STALL_PERIODS: Final = 3
"""Consecutive numbers stamped further apart than this: the sender itself stood still."""

STAMP_LEAP_S: Final = 1e9
"""Stamps that differ by more than thirty years say nothing about the network; nothing reports more."""


class ArrivalHealth:
    """Jitter, loss and the timing reference of the newest accepted arrival."""

    __slots__ = (
        "clock",
        "jitter_s",
        "last_accepted_ns",
        "late_ns",
        "loss_fraction",
        "newest_arrival_ns",
        "newest_source",
        "newest_stamp_s",
        "period_s",
        "reference_valid",
        "stamped",
    )

    def __init__(self, period_ns: int) -> None:
        """`period_ns`: nominal spacing of setpoints."""
        self.period_s = period_ns / NS_PER_S
        self.jitter_s = 0.0
        self.loss_fraction = 0.0
        self.clock = 0
        self.last_accepted_ns: int | None = None
        self.late_ns = 0
        """How late the newest number came, against the fastest recent datagram (`core.timing`)."""
        self.stamped = False
        """Whether anything was accepted in this numbering, so that the newest stamp means something."""
        self.newest_stamp_s = 0.0
        self.newest_source = StampSource.BUILD
        self.newest_arrival_ns = 0
        self.reference_valid = False
        """Whether the newest stamp may serve as the baseline of the next spacing."""

    def drop_reference(self) -> None:
        """After a flush the next arrival is nobody's successor: judge no spacing against it."""
        self.reference_valid = False

    def forget(self) -> None:
        """Another numbering, maybe another sender: no stamp and no silence carries over."""
        self.stamped = False
        self.reference_valid = False
        self.last_accepted_ns = None
        self.late_ns = 0

    def is_newer_stamp(self, stamp_s: float, source: StampSource) -> bool | None:
        """Tell whether a stamp is newer than the newest accepted; None where clocks differ."""
        if not self.stamped or source is not self.newest_source:
            return None
        return stamp_s > self.newest_stamp_s

    def note_gap(self, missing: int) -> None:
        """Fold one arrival and the holes before it into the loss average."""
        self.loss_fraction += LOSS_GAIN * (missing / (missing + 1) - self.loss_fraction)

    def note_arrival(self, stamp_s: float, source: StampSource, now_ns: int) -> float | None:
        """Take the newest arrival; return its spacing in sender time, or None without a baseline.

        A change of the stamp's source restarts the reference: the leader's host and the building
        host are two clocks.
        """
        spacing_s: float | None = None
        if source is not self.newest_source or not self.stamped:
            self.clock += 1
            self.stamped = True
        elif self.reference_valid:
            spacing_s = stamp_s - self.newest_stamp_s
            transit_change_s = (now_ns - self.newest_arrival_ns) / NS_PER_S - spacing_s
            # Two finite stamps can be further apart than any jitter, or than a float holds.
            if abs(transit_change_s) < STAMP_LEAP_S:
                self.jitter_s += JITTER_GAIN * (abs(transit_change_s) - self.jitter_s)
        self.newest_stamp_s = stamp_s
        self.newest_source = source
        self.newest_arrival_ns = now_ns
        self.reference_valid = True
        return spacing_s
