"""Measured delays, played back: the delay of a datagram sent at t is that of the newest row at or before t.

The rows hold from one to the next (a step, not a ramp): a trace coarser than the stream it impairs
must delay every datagram sent inside a spike, as the network did. One way is half the round trip.
At its end a trace begins again.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, Literal, get_args

import msgspec

from steadyhand.ground.errors import InputError
from steadyhand.ground.stamps import NS_PER_S, NS_PER_US, s_from_ns

GapPolicy = Literal["cut", "outage"]

LOST: Final = -1  # in place of a delay or an arrival: the datagram never arrives
PAUSED: Final = -2  # a row in a recording's gap, played as an outage

GAP_NS: Final = NS_PER_S
GAP_STEPS: Final = 3  # a log of one ping in two seconds is not made of gaps


class LinkTrace(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of a recording. Made with `from_rows`.

    Attributes:
        t_ns: when each row begins, ns from 0, not decreasing, shape (n_rows,).
        delay_ns: one-way delay of what is sent in it, ns; `LOST` or `PAUSED` where nothing passes.
        period_ns: after this the trace begins again.
        name: where it came from.
        notes: what was done to it in reading, one sentence each.

    Raises:
        InputError: no rows, columns of unequal length, stamps that do not begin at 0 or go back,
            or a period that ends before the last row begins.
    """

    t_ns: tuple[int, ...]
    delay_ns: tuple[int, ...]
    period_ns: int
    name: str = "trace"
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.t_ns:
            raise InputError("the trace is empty", where=self.name)
        if len(self.t_ns) != len(self.delay_ns):
            raise InputError(f"{len(self.t_ns)} stamps for {len(self.delay_ns)} delays", where=self.name)
        if self.t_ns[0] != 0 or any(b < a for a, b in pairwise(self.t_ns)):
            raise InputError("the stamps must begin at 0 and never go back", where=self.name)
        if self.period_ns <= self.t_ns[-1]:
            raise InputError("the period ends before the last row begins", where=self.name)
        if min(self.delay_ns) < PAUSED or self.delay_ns[0] == PAUSED:
            raise InputError("a delay is negative, or the trace begins with a pause", where=self.name)

    @classmethod
    def from_rows(
        cls,
        t_ns: Sequence[int],
        delay_ns: Sequence[int],
        *,
        gaps: GapPolicy = "cut",
        name: str = "trace",
        notes: tuple[str, ...] = (),
    ) -> "LinkTrace":
        """A trace from rows in sending order, its stamps moved to begin at 0.

        A gap is a step over one second (and over three usual steps) behind a row that was
        delivered: the recorder paused, not the network. `cut` closes it up to one usual step;
        `outage` plays it as an outage. Either way a note says so.

        Raises:
            InputError: no rows, stamps that go back, or an unknown `gaps`.
        """
        if gaps not in get_args(GapPolicy):
            known = " or ".join(get_args(GapPolicy))
            raise InputError(f"unknown gaps {gaps!r}", where="gaps", hint=f"use {known}")
        if not t_ns:
            raise InputError("the trace is empty", where=name)
        steps_ns = [later - earlier for earlier, later in pairwise(t_ns)]
        if steps_ns and min(steps_ns) < 0:
            raise InputError("the trace's stamps go back", where=name)
        usual_ns = max(sorted(steps_ns)[len(steps_ns) // 2], NS_PER_US) if steps_ns else NS_PER_S
        rows, pauses_ns = _with_gaps(t_ns, delay_ns, usual_ns=usual_ns, gaps=gaps)
        if pauses_ns:
            notes = (*notes, _gap_note(pauses_ns, gaps))
        return cls(
            t_ns=tuple(row_ns for row_ns, _ in rows),
            delay_ns=tuple(delay for _, delay in rows),
            period_ns=rows[-1][0] + usual_ns,
            name=name,
            notes=notes,
        )


class TraceCursor:
    """Looks up a trace at times since the link's start; cheap where they come in order."""

    __slots__ = ("_begin_ns", "_delay_ns", "_end_ns", "_paused", "_trace")

    def __init__(self, trace: LinkTrace) -> None:
        self._trace = trace
        self._begin_ns = 0
        self._end_ns = 0
        self._delay_ns = LOST
        self._paused = False

    def delay_at(self, t_ns: int) -> int:
        """One-way delay, ns, of what is under way at `t_ns`, or `LOST`.

        A pause stops what has not yet entered (`reopens_ns`); what has keeps the delay of the
        row before it.
        """
        if not self._begin_ns <= t_ns < self._end_ns:
            self._seek(t_ns)
        return self._delay_ns

    def reopens_ns(self, t_ns: int) -> int:
        """`t_ns` itself, or the end of the pause it falls in."""
        if not self._begin_ns <= t_ns < self._end_ns:
            self._seek(t_ns)
        return self._end_ns if self._paused else t_ns

    def _seek(self, t_ns: int) -> None:
        """Find the row `t_ns` falls in, in the right lap."""
        times_ns, period_ns = self._trace.t_ns, self._trace.period_ns
        within_ns = t_ns % period_ns
        lap_ns = t_ns - within_ns
        row = bisect_right(times_ns, within_ns) - 1
        self._begin_ns = lap_ns + times_ns[row]
        self._end_ns = lap_ns + (times_ns[row + 1] if row + 1 < len(times_ns) else period_ns)
        self._delay_ns = self._trace.delay_ns[row]
        self._paused = self._delay_ns == PAUSED
        if self._paused:
            self._delay_ns = self._trace.delay_ns[row - 1]


def _with_gaps(
    t_ns: Sequence[int], delay_ns: Sequence[int], *, usual_ns: int, gaps: GapPolicy
) -> tuple[list[tuple[int, int]], list[int]]:
    """The rows from time 0 with each gap cut or marked, and the gaps' lengths."""
    rows: list[tuple[int, int]] = []
    pauses_ns: list[int] = []
    shift_ns = -t_ns[0]
    previous: tuple[int, int] | None = None
    for row_ns, delay in zip(t_ns, delay_ns, strict=True):
        if previous is not None and previous[1] != LOST:
            step_ns = row_ns - previous[0]
            if step_ns > GAP_NS and step_ns > GAP_STEPS * usual_ns:
                pauses_ns.append(step_ns)
                if gaps == "cut":
                    shift_ns -= step_ns - usual_ns
                else:
                    rows.append((previous[0] + usual_ns + shift_ns, PAUSED))
        rows.append((row_ns + shift_ns, delay))
        previous = (row_ns, delay)
    return rows, pauses_ns


def _gap_note(pauses_ns: list[int], gaps: GapPolicy) -> str:
    """The sentence that owns up to the gaps."""
    total_ns = 0
    for pause_ns in pauses_ns:
        total_ns += pause_ns
    count = f"{len(pauses_ns)} recording gap{'s' if len(pauses_ns) > 1 else ''} over 1 s"
    extent = f"{s_from_ns(total_ns):.1f} s in all, the longest {s_from_ns(max(pauses_ns)):.1f} s"
    done = "cut (gaps=outage plays them)" if gaps == "cut" else "played as outages"
    return f"{count} ({extent}) {done}"
