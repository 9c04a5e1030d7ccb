"""The receiver report: what the robot node tells the sender about the link."""

import math

import msgspec


class ReceiverReport(msgspec.Struct, frozen=True, kw_only=True):
    """One report, shipped with playout health.

    Attributes:
        loss_pct: share of datagrams that never came, percent: `DatagramLossEstimator.loss_pct`.
            Health's own `loss_pct` will do, but it counts reordering as loss and half of what is
            lost at random, so it asks for copies where none help.
        delay_growth_ms: `core.timing.TransitEstimator.growth_ms`.
        jitter_ms: interarrival jitter (RFC 3550). Shown to the operator; decisions rest on
            minima, which leave jitter behind.
        seq_holes: gaps seen on arrival since start, loss and reordering together.
        repaired: of these, filled later by a copy or a straggler.
    """

    loss_pct: float
    delay_growth_ms: float
    jitter_ms: float = 0.0
    seq_holes: int = 0
    repaired: int = 0

    @property
    def credible(self) -> bool:
        """Whether the figures can be decided upon; they come off a network."""
        return 0.0 <= self.loss_pct <= 100.0 and 0.0 <= self.delay_growth_ms < math.inf

    @property
    def unrepaired(self) -> int:
        """Setpoints that no copy brought back so far: the true loss."""
        return self.seq_holes - self.repaired
