"""What the buffer answers: one verdict per arrival, one per drain tick, one report per stall."""

from enum import StrEnum

import msgspec

from steadyhand.ground.setpoint import Setpoint


class Offer(StrEnum):
    """What became of an arrival (document 000 §4, plus R3's probation)."""

    QUEUED = "queued"
    """Appended: the newest number so far."""
    REPAIRED = "repaired"
    """Landed in its slot behind a newer one; the network had reordered it."""
    DUPLICATE = "duplicate"
    """Already queued, or already dropped by overflow or age."""
    TOO_LATE = "too_late"
    """At or below the newest number already released or sealed."""
    EPOCH_RESET = "epoch_reset"
    """The sender restarted its numbering; this is the first entry of the new one."""
    MALFORMED = "malformed"
    """Its sender stamp is not a finite number."""
    ON_PROBATION = "on_probation"
    """Far ahead of everything known; believed only once a few in a row agree (R3)."""


class HoldReason(StrEnum):
    """Why a tick released nothing."""

    PREFILL = "prefill"
    UNDERRUN = "underrun"
    DEEPENING = "deepening"
    AWAITING_PREPARE = "awaiting_prepare"


class Release(msgspec.Struct, frozen=True, gc=False):
    """Send this setpoint now.

    Attributes:
        setpoint: a received value verbatim (R7), or a tagged synthetic.
        seq: its u32 wire number.
        synthetic: whether the buffer made it to bridge a hole.
        wait_ns: how long it stood in line; 0 for a synthetic (R5).
    """

    setpoint: Setpoint
    seq: int
    synthetic: bool
    wait_ns: int


class Hold(msgspec.Struct, frozen=True, gc=False):
    """Release nothing; the driver sends the last setpoint again."""

    reason: HoldReason


class StallCause(StrEnum):
    """Why the buffer gave the stream up."""

    UNDERRUN = "underrun"
    HOLE_AHEAD = "hole_ahead"


class StallReport(msgspec.Struct, frozen=True, kw_only=True):
    """The arrival side as it stood at the tick of the stall (document 000 §9).

    Times are nanoseconds of the local monotonic clock; `span_ms` is sender time across the queue,
    `late_by_ms` how late the newest setpoint came, against the fastest recent one; later than the
    queue is deep (`late_limit_ms`) nothing can be played in time.
    """

    cause: StallCause
    at_ns: int
    since_last_arrival_ns: int | None
    empty_for_ns: int
    span_ms: float
    span_limit_ms: float
    depth: int
    target: int
    loss_pct: float
    unrepaired_holes: int
    jitter_ms: float
    late_by_ms: float
    late_limit_ms: float
    late_dropped: int
    aged_dropped: int
    overflow_dropped: int
    on_probation: int
    arriving_within_ns: int

    def why(self) -> str:
        """The diagnosis in one line, for a person who stands beside a stopped arm."""
        if self.cause is StallCause.HOLE_AHEAD:
            diagnosis = (
                f"hole ahead: the queue spans {self.span_ms:.0f} ms of sender time, limit "
                f"{self.span_limit_ms:.0f} ms; releasing its head would jump the arm across the gap"
            )
        else:
            diagnosis = f"underrun for {self.empty_for_ns / 1e6:.0f} ms: {self._upstream()}"
        return (
            f"{diagnosis} [loss {self.loss_pct:.1f} %, {self.unrepaired_holes} holes unrepaired, "
            f"jitter {self.jitter_ms:.1f} ms, late {self.late_dropped}, aged {self.aged_dropped}, "
            f"overflow {self.overflow_dropped}, on probation {self.on_probation}]"
        )

    @property
    def upstream_dead(self) -> bool:
        """Whether nothing usable came in for longer than a healthy stream could explain."""
        gap_ns = self.since_last_arrival_ns
        return gap_ns is None or gap_ns > self.arriving_within_ns

    def _upstream(self) -> str:
        if self.since_last_arrival_ns is None:
            return "nothing has arrived at all"
        gap_ms = self.since_last_arrival_ns / 1e6
        if self.upstream_dead:
            return (
                f"nothing has arrived for {gap_ms:.0f} ms, so the upstream stopped "
                "(network stall, frozen leader, or the operator's deadman cut the stream)"
            )
        arriving = f"datagrams still arriving (last accepted {gap_ms:.0f} ms ago)"
        if self.late_by_ms > self.late_limit_ms:
            return (
                f"{arriving} but unusable: {self.late_by_ms:.0f} ms late where the buffer is "
                f"{self.late_limit_ms:.0f} ms deep, a stalled network's tail or a path that has become longer"
            )
        if self.depth:
            return (
                f"{arriving} but unusable: only {self.depth} of the {self.target} that playing takes "
                "were queued in time"
            )
        return f"{arriving} but unusable: late or over-age debris of a stalled network"


class Stall(msgspec.Struct, frozen=True):
    """The queue is flushed and sealed; the node must latch its emergency stop."""

    report: StallReport


DrainTick = Release | Hold | Stall

HOLDS = {reason: Hold(reason) for reason in HoldReason}
"""One instance a reason, so that a holding tick allocates nothing."""
