"""A user's own `ping -D` log as rows of a trace.

    [1700000000.123456] 64 bytes from 192.0.2.1: icmp_seq=1 ttl=57 time=12.3 ms

The stamp is taken when the reply is printed, so a datagram was sent at stamp − time. A sequence
number without a reply is a loss at the time it must have been sent; a run of them is one row, that
holds until the next reply's sending. The 16-bit sequence wraps in eleven minutes at 100 Hz.
"""

import re
from io import StringIO
from math import isfinite
from typing import Final

import msgspec

from steadyhand.core.link import LOST
from steadyhand.edge.csv_table import at_line, shown
from steadyhand.ground.errors import InputError
from steadyhand.ground.stamps import ns_from_ms, ns_from_s

REPLY: Final = re.compile(
    r"(?:\[(?P<stamp_s>[0-9.]+)\] )?\d+ bytes from .*icmp_[sr]eq=(?P<seq>\d{1,9}) "
    r".*time[=<](?P<rtt_ms>\S+) ms"
)
NO_ANSWER: Final = re.compile(r"\[(?P<stamp_s>[0-9.]+)\] no answer yet for icmp_seq=(?P<seq>\d{1,9})")
NEW_RUN: Final = re.compile(r"PING ")
CHATTER: Final = re.compile(r"---|\d+ packets transmitted|rtt |round-trip|\^C|pipe ")

SEQ_MODULUS: Final = 1 << 16
MAX_RTT_MS: Final = 3_600_000.0
MAX_STAMP_S: Final = 1e11
MAX_LINE: Final = 500  # characters; ping's own lines are under 200
CLOCK_STEP_NS: Final = 1_000_000_000  # less is the order of printing, more is the clock set back


class PingRows(msgspec.Struct, frozen=True, kw_only=True):
    """Rows in sending order and what a user should know about them.

    Attributes:
        t_ns: sending times on the pinging host's wall clock, ns.
        one_way_ns: half the round trip, ns, or `LOST`.
        notes: one sentence each.
    """

    t_ns: list[int]
    one_way_ns: list[int]
    notes: tuple[str, ...]


class _Echo(msgspec.Struct, frozen=True):
    """One echo: when it was sent, half its round trip (or `LOST`), and the line that says so."""

    sent_ns: int
    one_way_ns: int
    line: int


class _Reading(msgspec.Struct):
    """What has been read so far: per run of ping, the echoes by unwrapped sequence number."""

    runs: list[dict[int, _Echo]] = msgspec.field(default_factory=lambda: [{}])
    unanswered: list[dict[int, _Echo]] = msgspec.field(default_factory=lambda: [{}])
    newest_seq: int | None = None
    duplicates: int = 0
    unknown: int = 0

    def unwrap(self, seq: int) -> int:
        """The sequence number that never wraps, nearest to the newest."""
        if self.newest_seq is None:
            self.newest_seq = seq
            return seq
        half = SEQ_MODULUS // 2
        unwrapped = self.newest_seq + (seq - self.newest_seq + half) % SEQ_MODULUS - half
        self.newest_seq = max(self.newest_seq, unwrapped)
        return unwrapped


def looks_like_ping(text: str) -> bool:
    """Whether a file is a ping's output rather than a table."""
    first = next((line.strip()[:MAX_LINE] for line in StringIO(text) if line.strip()), "")
    return bool(NEW_RUN.match(first) or REPLY.match(first) or NO_ANSWER.match(first))


def read_ping(text: str, name: str) -> PingRows:
    """The rows of a `ping -D` log; `name` is what errors call it.

    Duplicates ("DUP!") are ignored, and so are lines that are no replies; the notes count both.

    Raises:
        InputError: no reply at all, a reply without a stamp, a time that is not a number from 0 to
            an hour, or a clock that was set back by more than a second.
    """
    reading = _Reading()
    for line, raw in enumerate(StringIO(text), start=1):
        _read_line(raw.strip(), reading, at_line(name, line), line)
    echoes: list[_Echo] = []
    lost = 0
    for run, unanswered in zip(reading.runs, reading.unanswered, strict=True):
        lost += _append_run(echoes, run, unanswered, name)
    if not any(echo.one_way_ns != LOST for echo in echoes):
        raise InputError("has no ping reply in it", where=name, hint="write it with: ping -D HOST > FILE")
    return PingRows(
        t_ns=[echo.sent_ns for echo in echoes],
        one_way_ns=[echo.one_way_ns for echo in echoes],
        notes=_notes(lost, reading),
    )


def _read_line(text: str, reading: _Reading, where: str, line: int) -> None:
    """One line of the log into `reading`."""
    if len(text) > MAX_LINE:
        reading.unknown += 1
    elif NEW_RUN.match(text):
        reading.runs.append({})
        reading.unanswered.append({})
    elif reply := REPLY.match(text):
        echo = _echo(reply, where, line)
        seq = reading.unwrap(int(reply["seq"]) % SEQ_MODULUS)
        if seq in reading.runs[-1]:
            reading.duplicates += 1
        else:
            reading.runs[-1][seq] = echo
    elif silence := NO_ANSWER.match(text):
        seq = reading.unwrap(int(silence["seq"]) % SEQ_MODULUS)
        stamp_ns = ns_from_s(_number(silence["stamp_s"], "stamp", MAX_STAMP_S, where))
        reading.unanswered[-1].setdefault(seq, _Echo(stamp_ns, LOST, line))
    elif text and not CHATTER.match(text):
        reading.unknown += 1


def _echo(reply: re.Match[str], where: str, line: int) -> _Echo:
    """The echo a reply line tells of."""
    if reply["stamp_s"] is None:
        raise InputError("the reply has no time stamp", where=where, hint="write the log with ping -D")
    stamp_s = _number(reply["stamp_s"], "stamp", MAX_STAMP_S, where)
    rtt_ns = ns_from_ms(_number(reply["rtt_ms"], "time", MAX_RTT_MS, where))
    return _Echo(ns_from_s(stamp_s) - rtt_ns, rtt_ns // 2, line)


def _number(text: str, what: str, most: float, where: str) -> float:
    """A finite number from 0 to `most`."""
    try:
        value = float(text)
    except ValueError:
        raise InputError(f"the {what} is {shown(text)}, not a number", where=where) from None
    if not isfinite(value) or not 0.0 <= value <= most:
        raise InputError(f"the {what} is {shown(text)}, not from 0 to {most:g}", where=where)
    return value


def _append_run(echoes: list[_Echo], run: dict[int, _Echo], unanswered: dict[int, _Echo], name: str) -> int:
    """Append one run of ping in order, its losses filled in; answers how many were lost."""
    lost = 0
    previous: tuple[int, _Echo] | None = None
    for seq, echo in sorted(run.items()):
        if previous is not None and seq - previous[0] > 1:
            missing = seq - previous[0] - 1
            lost += missing
            step_ns = (echo.sent_ns - previous[1].sent_ns) // (missing + 1)
            _append(echoes, _Echo(previous[1].sent_ns + step_ns, LOST, echo.line), name)
        _append(echoes, echo, name)
        previous = (seq, echo)
    if previous is None:
        return 0
    last_seq, last = previous
    for seq, silence in sorted(unanswered.items()):
        if seq > last_seq:
            # ping says «no answer yet» for one when it sends the next.
            lost += 1
            share_ns = (silence.sent_ns - last.sent_ns) * (seq - last_seq) // (seq + 1 - last_seq)
            _append(echoes, _Echo(last.sent_ns + share_ns, LOST, silence.line), name)
    return lost


def _append(echoes: list[_Echo], echo: _Echo, name: str) -> None:
    """Append in time order; a few µs backwards are the order of printing, a second is a clock set back."""
    if echoes and echo.sent_ns < echoes[-1].sent_ns:
        if echoes[-1].sent_ns - echo.sent_ns > CLOCK_STEP_NS:
            raise InputError("the stamps go back: the clock was set", where=at_line(name, echo.line))
        echo = _Echo(echoes[-1].sent_ns, echo.one_way_ns, echo.line)
    echoes.append(echo)


def _notes(lost: int, reading: _Reading) -> tuple[str, ...]:
    """What was done in reading."""
    replies = 0
    for run in reading.runs:
        replies += len(run)
    notes = [f"{lost} of {lost + replies} pings lost"]
    if reading.duplicates:
        notes.append(f"{reading.duplicates} duplicate replies ignored")
    if reading.unknown:
        notes.append(f"{reading.unknown} lines that are no ping replies ignored")
    return tuple(notes)
