"""What became of each write: an input like any other ("Writes can fail").

A frame the socket did not take is dropped and counted, and the shaper stays where the controller
last saw it. Three in a row stop the arm, and so does an error that will not pass by itself.
"""

from enum import StrEnum
from typing import Final

from steadyhand.core.safety.latch import StopCause, StopKind

FAILURES_TO_STOP: Final = 3


class WriteOutcome(StrEnum):
    """How a write ended."""

    TAKEN = "taken"
    """The socket, or the controller's answer, took the frame: commit it."""
    TRANSIENT = "transient"
    """This frame is lost; the next may pass."""
    FATAL = "fatal"
    """The channel is gone."""


class WriteLedger:
    """Counts outcomes; answers the stop that follows from them."""

    def __init__(self) -> None:
        self.taken = 0
        self.dropped = 0
        self._failures_in_a_row = 0

    def note(self, outcome: WriteOutcome, detail: str = "") -> StopCause | None:
        """Record one outcome; the cause to stop the arm for, or None.

        Args:
            outcome: how it ended.
            detail: what the driver said.
        """
        if outcome is WriteOutcome.TAKEN:
            self.taken += 1
            self._failures_in_a_row = 0
            return None
        self.dropped += 1
        self._failures_in_a_row += 1
        said = f": {detail}" if detail else ""
        if outcome is WriteOutcome.FATAL:
            return StopCause(kind=StopKind.DRIVER_ERROR, detail=f"the channel is gone{said}")
        if self._failures_in_a_row < FAILURES_TO_STOP:
            return None
        return StopCause(
            kind=StopKind.WRITE_FAILURES, detail=f"{self._failures_in_a_row} writes in a row failed{said}"
        )

    def clear(self) -> None:
        """Start counting failures anew: the operator's reset, or a new stream. Totals stay."""
        self._failures_in_a_row = 0
