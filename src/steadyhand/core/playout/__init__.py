"""The queue between the network and the arm (document 000; rulings R1–R7, R21)."""

from steadyhand.core.playout.buffer import PlayoutBuffer
from steadyhand.core.playout.config import PlayoutConfig
from steadyhand.core.playout.drain import DRAIN_LADDER
from steadyhand.core.playout.report import PlayoutHealth, QueueWait
from steadyhand.core.playout.state import PlayoutStats
from steadyhand.core.playout.verdicts import (
    DrainTick,
    Hold,
    HoldReason,
    Offer,
    Release,
    Stall,
    StallCause,
    StallReport,
)

__all__ = [
    "DRAIN_LADDER",
    "DrainTick",
    "Hold",
    "HoldReason",
    "Offer",
    "PlayoutBuffer",
    "PlayoutConfig",
    "PlayoutHealth",
    "PlayoutStats",
    "QueueWait",
    "Release",
    "Stall",
    "StallCause",
    "StallReport",
]
