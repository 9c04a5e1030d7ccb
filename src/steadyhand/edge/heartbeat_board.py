"""Who is alive: one line of shared memory for each process, beaten from its work loop (R14).

A process that only promises to be alive from a side thread says nothing about its work; so the beat
is a store made by the loop itself. Each line holds a sequence number, the monotonic nanoseconds of
the beat, and the sequence again, written in the order of the ring's slots; only its own process
writes it. (Where the processor reorders stores, a stamp may be read that is one beat older; that is
within what the judge allows anyway.)

Judging is a pure function of what was seen and when. Dead are: a process that never beat, one whose
sequence stands still for three periods of the judge's clock, and one whose newest beat is older than
that (which shows at once, when the judge itself was frozen meanwhile). The clock is the host's
monotonic one for all; beats never cross hosts.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from steadyhand.edge.segment import Segment
from steadyhand.ground.errors import InputError
from steadyhand.ground.stamps import NS_PER_MS, ms_from_ns

DATA_PLANE_PERIOD_NS: Final = 20 * NS_PER_MS
OTHERS_PERIOD_NS: Final = 100 * NS_PER_MS
PERIODS_TO_DEATH: Final = 3
"""R14."""

WORD: Final = 8
LINE_BYTES: Final = 64
LINE_WORDS: Final = LINE_BYTES // WORD
BEFORE, STAMP, PID, AFTER = 0, 1, 2, 3
ATTEMPTS: Final = 16


class Beat(msgspec.Struct, frozen=True):
    """One beat as it stands on the board.

    Attributes:
        sequence: counts the beats of this line, over restarts of its process; 0 is none yet.
        stamp_ns: monotonic clock of this host when it was made.
        pid: of the process that made it.
    """

    sequence: int
    stamp_ns: int
    pid: int


NO_BEAT: Final = Beat(0, 0, 0)


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """What a judge remembers of one process.

    Attributes:
        period_ns: how often it should beat.
        beat: the newest one seen.
        changed_ns: the judge's clock when that one was first seen.
    """

    period_ns: int
    beat: Beat = NO_BEAT
    changed_ns: int = 0


class Alive(msgspec.Struct, frozen=True):
    """The process beats; the newest beat is `age_ns` old."""

    age_ns: int


class NeverBeat(msgspec.Struct, frozen=True):
    """No beat has ever been seen: dead from the start, not merely late."""


class StoodStill(msgspec.Struct, frozen=True):
    """No new beat for `age_ns`, more than three periods."""

    age_ns: int


Life = Alive | NeverBeat | StoodStill


def see(watched: Watched, beat: Beat, now_ns: int) -> Watched:
    """Remember `beat`, if it is a new one. Pure."""
    if beat.sequence <= watched.beat.sequence:
        return watched
    return Watched(period_ns=watched.period_ns, beat=beat, changed_ns=now_ns)


def judge(watched: Watched, now_ns: int) -> Life:
    """Alive, or dead and of what. Pure; the boundary of three periods itself is still alive."""
    if watched.beat.sequence == 0:
        return NeverBeat()
    age_ns = max(now_ns - watched.changed_ns, now_ns - watched.beat.stamp_ns)
    return StoodStill(age_ns) if age_ns > PERIODS_TO_DEATH * watched.period_ns else Alive(age_ns)


def in_words(life: Life) -> str:
    """For an event or a log: «alive», or how it is dead."""
    match life:
        case Alive():
            return "alive"
        case NeverBeat():
            return "has never sent a heartbeat"
        case StoodStill(age_ns):
            return f"has sent no heartbeat for {ms_from_ns(age_ns):.0f} ms"


def board_bytes(lines: int) -> int:
    """The size of the segment for a board of so many processes. Raises ValueError for none."""
    if lines < 1:
        raise ValueError(f"a board for {lines} processes cannot be")
    return lines * LINE_BYTES


class HeartbeatLine:
    """The line of one process, to be beaten by it alone.

    Args:
        segment: of `board_bytes`, zeroed or used before.
        line: which, counted from 0.
        pid: of this process.

    Raises:
        InputError: another process has the line, or the board has no such line.
    """

    def __init__(self, segment: Segment, line: int, pid: int) -> None:
        if not 0 <= line < segment.size_bytes // LINE_BYTES:
            raise InputError(f"has no line {line}", where=segment.name)
        segment.claim(1 + line, f"process with heartbeat {line}")
        self._words = memoryview(segment.map(writable=True)).cast("Q")
        self._first = line * LINE_WORDS
        self._pid = pid
        self.sequence: int = self._words[self._first + AFTER]

    def beat(self, now_ns: int) -> None:
        """Say that the work loop came by at `now_ns`."""
        words, first = self._words, self._first
        self.sequence += 1
        words[first + BEFORE] = self.sequence
        words[first + STAMP] = now_ns
        words[first + PID] = self._pid
        words[first + AFTER] = self.sequence


class HeartbeatBoard:
    """A judge's view of the board, read-only.

    Args:
        segment: of the board.
        periods_ns: how often each process should beat, in the order of the lines.

    Raises:
        InputError: the board has fewer lines.
    """

    def __init__(self, segment: Segment, periods_ns: Sequence[int]) -> None:
        if segment.size_bytes < board_bytes(len(periods_ns)):
            raise InputError(f"has no {len(periods_ns)} heartbeat lines", where=segment.name)
        self._words = memoryview(segment.map(writable=False)).cast("Q")
        self._watched = [Watched(period_ns=period_ns) for period_ns in periods_ns]

    def judge(self, now_ns: int) -> list[Life]:
        """Look at every line and judge each process, in the order of the lines."""
        for line, watched in enumerate(self._watched):
            self._watched[line] = see(watched, self.read(line) or watched.beat, now_ns)
        return [judge(watched, now_ns) for watched in self._watched]

    def read(self, line: int) -> Beat | None:
        """The beat on one line; None when its process was caught in the middle of each attempt."""
        words, first = self._words, line * LINE_WORDS
        for _ in range(ATTEMPTS):
            sequence = words[first + AFTER]
            beat = Beat(sequence, words[first + STAMP], words[first + PID])
            if words[first + BEFORE] == sequence:
                return beat
        return None
