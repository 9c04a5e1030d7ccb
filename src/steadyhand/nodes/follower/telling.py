"""What the data plane says: a line for each event, and what it counted when it ends (document 000 §9).

Lines go into a pipe that the launcher empties. Where it does not, lines are left out and counted: no
tick waits for a terminal. Wording that operators search for is the specification's.
"""

from __future__ import annotations

import os
from typing import Any, Final, assert_never

import msgspec

from steadyhand.core.follower import FollowerCore
from steadyhand.core.follower.outputs import (
    DepthChanged,
    FollowerEvent,
    Moved,
    ProgramFault,
    RequestRefused,
    ResetDone,
    SafetyNote,
    SessionOpened,
    Stopped,
)
from steadyhand.core.playout import PlayoutStats
from steadyhand.core.safety.latch import StopCause
from steadyhand.edge.lateness import LatenessHistogram
from steadyhand.ground.stamps import NS_PER_S

LINES_A_SECOND: Final = 20
"""Of what may come in floods. What changes the arm's state is always said."""


class LineWriter:
    """Writes whole lines into a pipe without ever waiting.

    Args:
        descriptor: of the pipe; it is made non-blocking, so nobody else may write into it.

    Attributes:
        left_out: lines that found no room, or were too many.
    """

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self.left_out = 0
        self._descriptor = descriptor
        self._window_ns = 0
        self._in_window = 0

    def say(self, line: str) -> None:
        """Write one line, or several, now or never."""
        try:
            os.write(self._descriptor, f"{line}\n".encode(errors="replace"))
        except OSError:
            # Full, or its reader is dead: the lifeline tells of that.
            self.left_out += 1

    def say_if_few(self, line: str, now_ns: int) -> None:
        """Write one line unless this second has had its share."""
        if now_ns - self._window_ns >= NS_PER_S:
            self._window_ns, self._in_window = now_ns, 0
        self._in_window += 1
        if self._in_window <= LINES_A_SECOND:
            self.say(line)
        else:
            self.left_out += 1


def start_line(core: FollowerCore) -> str:
    """What is logged on boot, to search for: the buffer, or that there is none."""
    playout = core.settings.playout
    return "Playout buffer off: passthrough" if playout is None else playout.describe()


def event_line(event: FollowerEvent, base_target: int) -> str:
    """One event in words; `base_target` is the buffer's depth without adaptation."""
    match event:
        case Stopped(cause=cause):
            return f"STOPPED: {cause_in_words(cause)}"
        case Moved(state=state, by=by):
            return f"stream: now {state} (by {by})"
        case ResetDone(operator=operator, reason=reason):
            return f"reset by {operator or 'nobody named'}: {reason or 'no reason given'}"
        case SessionOpened(session_id=session_id, operator=operator):
            return f"session {session_id:016x} opened for {operator or 'nobody named'}"
        case RequestRefused(request=request, reason=reason):
            return f"refused: {request}: {reason}"
        case DepthChanged(target=target, target_ms=target_ms):
            verb = "deepened target to" if target > base_target else "target is back at"
            return f"playout adaptive: {verb} {target} entries ({target_ms:.0f}ms)"
        case SafetyNote(kind=kind, fields=fields):
            return f"safety: {kind}{_fields(fields)}"
        case ProgramFault(where=where, traceback=told):
            return f"PROGRAM FAULT in {where}:\n{told.rstrip()}"
        case _:
            assert_never(event)


def is_urgent(event: FollowerEvent) -> bool:
    """Whether an event is said however many there are: it changes the arm's state."""
    return isinstance(event, Stopped | Moved | ResetDone | SessionOpened | ProgramFault)


def cause_in_words(cause: StopCause) -> str:
    """Kind, and the sentence a person reads."""
    return f"{cause.kind.value}: {cause.detail}" if cause.detail else cause.kind.value


def playout_totals(stats: PlayoutStats) -> str:
    """Where every packet went, one line; what stayed at zero is left out, the first two never."""
    counts = msgspec.structs.asdict(stats)
    always = ("offered", "released")
    told = [f"{name}={count}" for name, count in counts.items() if count or name in always]
    return "playout buffer totals: " + " ".join(told)


def ingress_totals(core: FollowerCore) -> str:
    """What reached the buffer not, and why."""
    counts = msgspec.structs.asdict(core.ingress.counts)
    rejected = {name: count for name, count in core.ingress.rejections.as_dict().items() if count}
    told = [f"{name}={count}" for name, count in counts.items() if count or name == "datagrams"]
    told += [f"rejected_{name}={count}" for name, count in rejected.items()]
    return "action datagrams: " + " ".join(told)


def tick_totals(ticks: int, lost_slots: int, lateness: LatenessHistogram) -> str:
    """How punctual it was."""
    late = lateness.summary()
    return (
        f"ticks: {ticks}, {lost_slots} lost, late by p50 {late.p50_us:.0f} µs, "
        f"p99.9 {late.p99_9_us:.0f} µs, at most {late.max_us:.0f} µs"
    )


def _fields(fields: dict[str, Any]) -> str:
    told = " ".join(f"{name}={_value(value)}" for name, value in fields.items())
    return f" {told}" if told else ""


def _value(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
