"""How much history a datagram carries, and the receiver's estimates that decide it (R4)."""

from steadyhand.core.redundancy.controller import (
    ADAPT_LADDER,
    BUNDLE_BUDGET_BYTES,
    RedundancyController,
    copies_that_fit,
)
from steadyhand.core.redundancy.datagram_loss import DatagramLossEstimator
from steadyhand.core.redundancy.report import ReceiverReport
from steadyhand.core.redundancy.tuning import RedundancyTuning

__all__ = [
    "ADAPT_LADDER",
    "BUNDLE_BUDGET_BYTES",
    "DatagramLossEstimator",
    "ReceiverReport",
    "RedundancyController",
    "RedundancyTuning",
    "copies_that_fit",
]
