"""What happened at a tick, in a sentence."""

from collections.abc import Sequence
from typing import Final

from steadyhand.core.playout import HoldReason, Offer
from steadyhand.view.figures.player import Arrived, TickRecord

ARRIVAL_WORDS: Final = {
    Offer.QUEUED: ("arrives", "arrive"),
    Offer.REPAIRED: ("arrives out of order and takes its slot", "arrive out of order and take their slots"),
    Offer.DUPLICATE: ("arrives again and is dropped", "arrive again and are dropped"),
    Offer.TOO_LATE: ("arrives after its moment and is refused", "arrive after their moment and are refused"),
    Offer.EPOCH_RESET: ("begins a new numbering", "begin a new numbering"),
    Offer.MALFORMED: ("has no usable time stamp and is refused", "have no usable time stamp and are refused"),
    Offer.ON_PROBATION: ("comes from a numbering not yet believed", "come from a numbering not yet believed"),
}

HOLD_WORDS: Final = {
    HoldReason.PREFILL: "the queue is still filling, {depth} of {target}",
    HoldReason.UNDERRUN: "the queue has run empty, and the driver sends the last setpoint again",
    HoldReason.DEEPENING: "the target has grown, and a held tick deepens the queue",
    HoldReason.AWAITING_PREPARE: "the numbering has changed, and the stream must be prepared anew",
}


def spell(seqs: Sequence[int]) -> str:
    """Numbers as people write them: 6 and 7; 12–19; 10–13 and 29."""
    runs: list[list[int]] = []
    for seq in seqs:
        if runs and seq == runs[-1][-1] + 1:
            runs[-1].append(seq)
        else:
            runs.append([seq])
    parts = [p for run in runs for p in ([f"{run[0]}–{run[-1]}"] if len(run) > 2 else map(str, run))]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def sentence(record: TickRecord) -> str:
    """Tell one tick in full, in the order in which it happened."""
    told = [f"Tick {record.tick}, {record.at_ms:g} ms.", *_arrivals(record.arrivals)]
    if record.overflow:
        told.append(
            f"{spell(record.overflow)} {_be(record.overflow)} dropped: the queue stood above its "
            "high-water mark and falls back to the target."
        )
    if record.aged:
        told.append(f"{spell(record.aged)} {_be(record.aged)} discarded unsent: over the age cap.")
    told.append(_drain(record))
    if record.flushed:
        told.append(f"{spell(record.flushed)} {_be(record.flushed)} flushed.")
    told.append(f"Queue {record.depth}, then {record.depth_left}; target {record.target}.")
    return " ".join(told)


def _arrivals(arrivals: Sequence[Arrived]) -> list[str]:
    if not arrivals:
        return ["Nothing arrives."]
    told = []
    for verdict, seqs in _by_verdict(arrivals):
        one, many = ARRIVAL_WORDS[verdict]
        told.append(f"{spell(seqs)} {one if len(seqs) == 1 else many}.")
    return told


def _by_verdict(arrivals: Sequence[Arrived]) -> list[tuple[Offer, list[int]]]:
    """Neighbours that met the same verdict, together; the order of arrival stays."""
    groups: list[tuple[Offer, list[int]]] = []
    for arrived in arrivals:
        if groups and groups[-1][0] is arrived.verdict:
            groups[-1][1].append(arrived.seq)
        else:
            groups.append((arrived.verdict, [arrived.seq]))
    return groups


def _drain(record: TickRecord) -> str:
    drained = record.drained
    match drained.kind:
        case "release":
            return f"{drained.seq} is released ({drained.joint_deg:.2f}°)."
        case "synthetic":
            return (
                f"{drained.seq} has not come: a synthetic stands in, on the straight line to the next "
                f"real one ({drained.joint_deg:.2f}°)."
            )
        case "stall":
            return f"STOP, {drained.why}. The node latches its emergency stop."
    if record.stopped:
        waiting = " What arrives now is thrown away when the stream is prepared anew."
        return f"The arm stands: the emergency stop is latched.{waiting if record.depth else ''}"
    reason = HOLD_WORDS[HoldReason(drained.reason or "")]
    return f"Nothing is released: {reason.format(depth=record.depth, target=record.target)}."


def _be(seqs: Sequence[int]) -> str:
    return "is" if len(seqs) == 1 else "are"
