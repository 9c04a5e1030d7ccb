"""The one place where stamps of two hosts meet, and then only as differences.

Every name says whose clock it holds: `arrival_ns` and `now_ns` are the receiver's monotonic clock,
`sender_stamp_s` is the sender's.
"""

from steadyhand.core.timing.transit import TransitEstimator
from steadyhand.core.timing.wall import wall_latency_ms

__all__ = ["TransitEstimator", "wall_latency_ms"]
