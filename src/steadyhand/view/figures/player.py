"""Run one script through the real playout buffer and write down every tick.

The buffer is asked only through its public face. Which setpoints a tick threw away is read off
the queue ladder before and after, and checked against the counters that claim them.
"""

from typing import Final, Literal, assert_never

import msgspec

from steadyhand.core.playout import DrainTick, Hold, Offer, PlayoutBuffer, PlayoutConfig, Release, Stall
from steadyhand.ground.setpoint import Setpoint
from steadyhand.ground.stamps import NS_PER_MS, NS_PER_S, s_from_ns
from steadyhand.view.figures.score import read_score
from steadyhand.view.figures.scripts import Script

PERIOD_NS: Final = 10 * NS_PER_MS
DEPTH: Final = 5
UNDERRUN_WINDOW_NS: Final = 20 * NS_PER_MS
"""As deployed on the arms of document 000 §11."""

FIRST_TICK_NS: Final = NS_PER_S
ANGLE_STEP_DEG: Final = 0.01
"""The scripted joint accelerates, angle = step × number², so that a straight line shows as one."""


class Arrived(msgspec.Struct, frozen=True):
    """One setpoint that came in before a tick, and the verdict it met."""

    seq: int
    verdict: Offer


class Drained(msgspec.Struct, frozen=True, kw_only=True):
    """What the drain answered at a tick.

    Attributes:
        kind: a received setpoint, a synthetic one, nothing, or the end of the stream.
        seq: number released; None otherwise.
        joint_deg: angle released, degrees; None otherwise.
        reason: why it held, or the cause of the stall.
        why: the stall's diagnosis in words.
    """

    kind: Literal["release", "synthetic", "hold", "stall"]
    seq: int | None = None
    joint_deg: float | None = None
    reason: str | None = None
    why: str | None = None


class TickRecord(msgspec.Struct, frozen=True, kw_only=True):
    """All that happened since the tick before, and at this one.

    Attributes:
        tick: its index, from 0.
        at_ms: time since tick 0.
        arrivals: what came in, in order, with verdicts.
        overflow: queued setpoints that catch-up dropped, oldest first.
        aged: queued setpoints that had waited too long.
        flushed: queued setpoints that a stall or a restarted sender discarded.
        drained: what the drain answered.
        depth: setpoints the drain found in the queue.
        depth_left: setpoints the drain left in it.
        target: target depth, slots.
        stopped: whether a stall came at an earlier tick, so that the arm stands already.
    """

    tick: int
    at_ms: float
    arrivals: tuple[Arrived, ...]
    overflow: tuple[int, ...]
    aged: tuple[int, ...]
    flushed: tuple[int, ...]
    drained: Drained
    depth: int
    depth_left: int
    target: int
    stopped: bool


class Trace(msgspec.Struct, frozen=True):
    """A script and what the buffer made of it."""

    script: Script
    ticks: tuple[TickRecord, ...]


class _Gone(msgspec.Struct, frozen=True):
    """Setpoints that left the queue without being released, by the counter that claims them."""

    overflow: tuple[int, ...] = ()
    aged: tuple[int, ...] = ()
    flushed: tuple[int, ...] = ()


def config() -> PlayoutConfig:
    """Five slots of 10 ms for legibility; the stall policy armed; the ladder open to read."""
    return PlayoutConfig(
        period_ns=PERIOD_NS,
        base_depth=DEPTH,
        max_depth=DEPTH,
        underrun_window_ns=UNDERRUN_WINDOW_NS,
        wire_debug=True,
    )


def setpoint(seq: int) -> Setpoint:
    """Setpoint `seq` of a sender that builds one a period."""
    return Setpoint(joints_deg=(ANGLE_STEP_DEG * seq * seq,), timestamp_s=s_from_ns(seq * PERIOD_NS))


def play(script: Script) -> Trace:
    """Offer and drain on a clock turned by hand.

    Raises:
        RuntimeError: the script plays on after its stall. The node latches there, and a picture
            of a stopped arm that moves would be a lie.
    """
    buffer = PlayoutBuffer(config())
    ticks: list[TickRecord] = []
    now_ns, stopped = FIRST_TICK_NS, False
    for index, seqs in enumerate(read_score(script.score)):
        record = _tick(buffer, index, seqs, now_ns, stopped=stopped)
        kind = record.drained.kind
        if stopped and kind != "hold":
            raise RuntimeError(f"figure {script.letter}: {kind} at tick {index}, after the stop")
        stopped = stopped or kind == "stall"
        ticks.append(record)
        now_ns += buffer.drain_period_ns
    return Trace(script, tuple(ticks))


def _tick(
    buffer: PlayoutBuffer, index: int, seqs: tuple[int, ...], now_ns: int, *, stopped: bool
) -> TickRecord:
    arrivals: list[Arrived] = []
    gone: list[_Gone] = []
    for position, seq in enumerate(seqs, start=1):
        # Spread over the period that ends with this tick, so that the order is one of time too.
        at_ns = now_ns - PERIOD_NS + position * PERIOD_NS // (len(seqs) + 1)
        verdict, dropped = _offer(buffer, seq, at_ns)
        arrivals.append(Arrived(seq, verdict))
        gone.append(dropped)
    depth = buffer.depth
    drained, dropped = _drain(buffer, now_ns)
    gone.append(dropped)
    return TickRecord(
        tick=index,
        at_ms=(now_ns - FIRST_TICK_NS) / NS_PER_MS,
        arrivals=tuple(arrivals),
        overflow=tuple(seq for each in gone for seq in each.overflow),
        aged=tuple(seq for each in gone for seq in each.aged),
        flushed=tuple(seq for each in gone for seq in each.flushed),
        drained=drained,
        depth=depth,
        depth_left=buffer.depth,
        target=buffer.target_depth,
        stopped=stopped,
    )


def _offer(buffer: PlayoutBuffer, seq: int, at_ns: int) -> tuple[Offer, _Gone]:
    """Offer one setpoint; return its verdict and what had to leave the queue for it."""
    before, counted = _ladder(buffer, at_ns), _counted(buffer)
    verdict = buffer.offer(seq, setpoint(seq), at_ns)
    if verdict in (Offer.QUEUED, Offer.REPAIRED, Offer.EPOCH_RESET):
        before = before | {seq}
    return verdict, _claimed(before - _ladder(buffer, at_ns), counted, _counted(buffer))


def _drain(buffer: PlayoutBuffer, now_ns: int) -> tuple[Drained, _Gone]:
    """Take one tick; return its answer and what left the queue unreleased."""
    before, counted = _ladder(buffer, now_ns), _counted(buffer)
    answer = buffer.drain_tick(now_ns)
    drained = _described(answer)
    gone = before - _ladder(buffer, now_ns) - {drained.seq}
    return drained, _claimed(gone, counted, _counted(buffer))


def _described(answer: DrainTick) -> Drained:
    match answer:
        case Release(setpoint=released, seq=seq, synthetic=synthetic):
            kind: Literal["release", "synthetic"] = "synthetic" if synthetic else "release"
            return Drained(kind=kind, seq=seq, joint_deg=released.joints_deg[0])
        case Hold(reason=reason):
            return Drained(kind="hold", reason=reason.value)
        case Stall(report=report):
            return Drained(kind="stall", reason=report.cause.value, why=report.why())
        case _:
            assert_never(answer)


def _ladder(buffer: PlayoutBuffer, now_ns: int) -> set[int | None]:
    return {seq for seq, _, _ in buffer.health(now_ns).entries or ()}


def _counted(buffer: PlayoutBuffer) -> tuple[int, int, int]:
    stats = buffer.stats
    return stats.overflow_dropped, stats.aged_dropped, stats.flushed


def _claimed(gone: set[int | None], before: tuple[int, int, int], after: tuple[int, int, int]) -> _Gone:
    """Attribute what is gone to the one counter that moved by as many; anything else is a bug."""
    seqs = tuple(sorted(seq for seq in gone if seq is not None))
    moved = tuple(b - a for a, b in zip(before, after, strict=True))
    for index, count in enumerate(moved):
        if count and moved == tuple(len(seqs) if i == index else 0 for i in range(3)):
            return _Gone(*(seqs if i == index else () for i in range(3)))
    if seqs or any(moved):
        raise RuntimeError(f"{seqs} left the queue, and overflow, aged, flushed moved by {moved}")
    return _Gone()
