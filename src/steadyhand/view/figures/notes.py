"""What deserves a word in the picture itself: the few ticks at which a rule shows."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final

from steadyhand.core.playout import HoldReason, Offer
from steadyhand.view.figures.player import TickRecord
from steadyhand.view.figures.words import spell

Notice = Callable[[TickRecord, TickRecord], str | None]


def _first_release(record: TickRecord, before: TickRecord) -> str | None:
    filled = before.drained.reason == HoldReason.PREFILL and record.drained.kind == "release"
    return f"{record.depth} queued: playing starts" if filled else None


def _repaired(record: TickRecord, before: TickRecord) -> str | None:
    seqs = [each.seq for each in record.arrivals if each.verdict is Offer.REPAIRED]
    return f"{spell(seqs)} put in order" if seqs else None


def _refused(record: TickRecord, before: TickRecord) -> str | None:
    seqs = [each.seq for each in record.arrivals if each.verdict is Offer.TOO_LATE]
    return f"{spell(seqs)} refused: too late" if seqs else None


def _dropped(record: TickRecord, before: TickRecord) -> str | None:
    return f"{spell(record.overflow)} dropped: over high water" if record.overflow else None


def _aged(record: TickRecord, before: TickRecord) -> str | None:
    return f"{spell(record.aged)} discarded: over age" if record.aged else None


def _bridged(record: TickRecord, before: TickRecord) -> str | None:
    began = record.drained.kind == "synthetic" and before.drained.kind != "synthetic"
    return "hole bridged" if began else None


def _ran_empty(record: TickRecord, before: TickRecord) -> str | None:
    began = record.drained.reason == HoldReason.UNDERRUN and before.drained.kind != "hold"
    return "empty: hold" if began else None


def _stalled(record: TickRecord, before: TickRecord) -> str | None:
    if record.drained.kind != "stall":
        return None
    return f"STOP: {(record.drained.reason or '').replace('_', ' ')}"


NOTICES: Final[tuple[Notice, ...]] = (
    _first_release,
    _repaired,
    _refused,
    _dropped,
    _aged,
    _bridged,
    _ran_empty,
    _stalled,
)


def notes(ticks: Sequence[TickRecord]) -> list[tuple[int, str]]:
    """Return (tick, words) in order of time; the first tick is never worth a note."""
    found: list[tuple[int, str]] = []
    for before, record in pairwise(ticks):
        said = [words for notice in NOTICES if (words := notice(record, before))]
        if said:
            found.append((record.tick, "; ".join(said)))
    return found
