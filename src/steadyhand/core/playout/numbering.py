"""Whose numbers these are, and since when they are believed (R3, R4).

What is kept here are small memories of one numbering: where it began, which of its numbers came in,
what has not yet proved itself. They judge and never touch the queue.
"""

from typing import Final

import msgspec

from steadyhand.core.playout.arrival_health import SENDER_STALL_PERIODS
from steadyhand.core.playout.config import (
    ACCEPTED_MEMORY,
    ACTION_EPOCH_RESET_NS,
    CLOCK_STEP_PACE_NS,
    MAX_TARGET_DEPTH,
    NUMBERING_JUMP,
    PROBATION_DATAGRAMS,
)
from steadyhand.ground.seq import signed_distance
from steadyhand.ground.setpoint import Setpoint, StampSource
from steadyhand.ground.stamps import NS_PER_S

_MEMORY_MASK: Final = (1 << ACCEPTED_MEMORY) - 1


class Arrival(msgspec.Struct, frozen=True, gc=False):
    """One offered setpoint with its sender stamp taken out, on its way through the questions."""

    seq: int
    setpoint: Setpoint
    stamp_s: float
    source: StampSource
    now_ns: int
    due_ns: int
    is_copy: bool


class NumberingStart(msgspec.Struct, frozen=True, gc=False):
    """First accepted entry of a numbering that replaced another (R3)."""

    number: int
    stamp_s: float
    source: StampSource

    def comes_after(self, number: int, arrived: Arrival, period_s: float) -> bool:
        """Whether this is a straggler of the numbering before, told by its stamp.

        Entries sent just before the first accepted one may still be reordered behind it, so each
        number earlier may be stamped a period and a half earlier, after a sender's stall at most; and
        no queue is so deep that a number further back could still play.
        """
        numbers_earlier = max(0, self.number - number)
        if numbers_earlier > MAX_TARGET_DEPTH:
            return True
        if self.source is not arrived.source:
            return False
        periods_earlier = SENDER_STALL_PERIODS + 1.5 * numbers_earlier if numbers_earlier else 0.0
        return arrived.stamp_s < self.stamp_s - periods_earlier * period_s


class AcceptedNumbers:
    """Which of the newest numbers were accepted, so that a copy seen before is told from a late one."""

    __slots__ = ("_bits", "_newest")

    def __init__(self) -> None:
        """Start with none."""
        self.clear()

    def clear(self) -> None:
        """Forget the numbering."""
        self._bits = 0
        self._newest = 0

    def add(self, number: int) -> None:
        """Note an accepted number; far ahead of the others it is the only one."""
        ahead = number - self._newest
        if ahead == 1:
            self._bits = (self._bits << 1 | 1) & _MEMORY_MASK
            self._newest = number
        elif ahead > 0:
            self._bits = ((self._bits << ahead) & _MEMORY_MASK if ahead < ACCEPTED_MEMORY else 0) | 1
            self._newest = number
        elif ahead > -ACCEPTED_MEMORY:
            self._bits |= 1 << -ahead

    def __contains__(self, number: int) -> bool:
        """Whether it was accepted, as far as is remembered."""
        behind = self._newest - number
        return 0 <= behind < ACCEPTED_MEMORY and bool(self._bits >> behind & 1)


class Probation:
    """A numbering far ahead that has not yet proved itself (R3)."""

    __slots__ = ("candidate_seq", "datagrams", "stamp_s")

    def __init__(self) -> None:
        """Start with no candidate."""
        self.clear()

    def clear(self) -> None:
        """Drop the candidate: something of the known numbering was accepted."""
        self.candidate_seq: int | None = None
        self.datagrams = 0
        self.stamp_s = 0.0

    def proven_by(self, arrived: Arrival) -> bool:
        """Whether this is the fifth datagram in a row that follows, each stamped newer."""
        candidate = self.candidate_seq
        follows = (
            candidate is not None
            and 0 < signed_distance(arrived.seq, candidate) <= NUMBERING_JUMP
            and arrived.stamp_s > self.stamp_s
        )
        self.datagrams = self.datagrams + 1 if follows else 1
        self.candidate_seq = arrived.seq
        self.stamp_s = arrived.stamp_s
        return self.datagrams >= PROBATION_DATAGRAMS


class SteppedClock:
    """A run of datagrams that follow the known numbering under stamps from before its beginning.

    Either a dead numbering's stragglers or a sender whose clock was set back. Stragglers come as a
    burst, with numbers of their own; the sender goes on at its pace, from where it was.
    """

    __slots__ = ("began_ns", "datagrams", "number", "source", "stamp_s")

    def __init__(self) -> None:
        """Start with no run."""
        self.clear()

    def clear(self) -> None:
        """End the run: something was accepted."""
        self.datagrams = 0
        self.number = 0
        self.stamp_s = 0.0
        self.source = StampSource.BUILD
        self.began_ns = 0

    def believed_with(
        self, number: int, arrived: Arrival, *, newest: int, last_accepted_ns: int | None, period_ns: int
    ) -> bool:
        """Whether the run has kept its pace for as long as an epoch takes to die (R3).

        Its numbers may have left the newest accepted one behind by no more than the silence since
        explains; `arrived` restarts a run that it does not fit.
        """
        if last_accepted_ns is None:
            return False
        silence_ns = arrived.now_ns - last_accepted_ns
        if not 0 < (number - newest) * period_ns <= silence_ns + CLOCK_STEP_PACE_NS:
            return False
        run_ns = arrived.now_ns - self.began_ns
        if self.datagrams == 0 or not self._in_pace(number, arrived, run_ns, period_ns):
            self.datagrams, self.number, self.began_ns = 1, number, arrived.now_ns
            self.stamp_s, self.source = arrived.stamp_s, arrived.source
            return False
        self.datagrams += 1
        return self.datagrams >= PROBATION_DATAGRAMS and run_ns >= ACTION_EPOCH_RESET_NS

    def _in_pace(self, number: int, arrived: Arrival, run_ns: int, period_ns: int) -> bool:
        """Whether number and stamp have gone on by as much time as has passed."""
        if arrived.source is not self.source:
            return False
        behind_s = arrived.stamp_s - self.stamp_s - run_ns / NS_PER_S
        behind_ns = (number - self.number) * period_ns - run_ns
        return abs(behind_s) * NS_PER_S <= CLOCK_STEP_PACE_NS and abs(behind_ns) <= CLOCK_STEP_PACE_NS
