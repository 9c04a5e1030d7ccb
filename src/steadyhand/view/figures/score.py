"""The notation of a script: who arrives when, one token a tick.

7       setpoint 7 arrives before this tick
9,8     9, then 8, both before this tick
12-19   twelve to nineteen, all before this tick
.       nothing arrives
.*4     nothing arrives for four ticks
7..12   one a tick, from 7 to 12
"""

import re
from typing import Final

from steadyhand.ground.errors import InputError

SILENCE: Final = re.compile(r"\.(?:\*(?P<ticks>\d+))?")
RUN: Final = re.compile(r"(?P<first>\d+)\.\.(?P<last>\d+)")
GROUP: Final = re.compile(r"\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*")


def read_score(score: str) -> tuple[tuple[int, ...], ...]:
    """Return, for each tick, the sequence numbers that arrive before it, in order of arrival.

    Raises:
        InputError: a token is none of the notation, or a range runs backwards.
    """
    ticks: list[tuple[int, ...]] = []
    for token in score.split():
        if silence := SILENCE.fullmatch(token):
            ticks.extend([()] * int(silence["ticks"] or 1))
        elif run := RUN.fullmatch(token):
            ticks.extend((seq,) for seq in _ascending(int(run["first"]), int(run["last"]), token))
        elif GROUP.fullmatch(token):
            ticks.append(_group(token))
        else:
            raise InputError(
                f"{token!r} is no token of a score", where="score", hint="see view.figures.score"
            )
    return tuple(ticks)


def _group(token: str) -> tuple[int, ...]:
    """Numbers and ranges between commas, in the order written: that is the order of arrival."""
    seqs: list[int] = []
    for part in token.split(","):
        first, _, last = part.partition("-")
        seqs.extend(_ascending(int(first), int(last or first), token))
    return tuple(seqs)


def _ascending(first: int, last: int, token: str) -> range:
    if last < first:
        raise InputError(f"{token!r} runs backwards", where="score")
    return range(first, last + 1)
