"""How much later a setpoint arrived than the fastest recent datagram would have brought it.

For each datagram, arrival on our clock minus stamp on the sender's is the true transit plus one
unknown constant. The constant cancels between two of them, and the smallest of the last seconds is
the path without queues and stalls. So the tail of a stall is known to be old the moment it arrives
(decision 0003), and no host's clock was believed.
"""

import math
from typing import Final

from steadyhand.core.timing.windowed_minimum import WindowedMinimum
from steadyhand.ground.setpoint import Setpoint, StampSource
from steadyhand.ground.stamps import NS_PER_S

BASELINE_WINDOW_NS: Final = 20 * NS_PER_S
"""How long a fast datagram is remembered. 3000 ppm of drift are 60 ms in it, well inside the age
cap's margin; a path that has become longer for good plays again after it."""


class LatenessEstimator:
    """Lateness against the fastest transit of the last 20 s, per stamp source.

    A change of the stamp's source is a change of clock and starts the baseline anew. A sender that
    stamps every setpoint the same cannot be judged, and is not.
    """

    __slots__ = ("_baseline", "_newest_stamp_s", "_source")

    def __init__(self) -> None:
        """Start without a baseline: nothing is late."""
        self._baseline = WindowedMinimum(BASELINE_WINDOW_NS)
        self._source: StampSource | None = None
        self._newest_stamp_s = math.nan

    def observe(self, setpoint: Setpoint, arrival_ns: int) -> int:
        """Take in a datagram's own setpoint and return its lateness, nanoseconds, at least 0.

        `arrival_ns` is the receiver's monotonic clock. A stamp that is not finite, or equal to
        the newest, teaches nothing and is not late.
        """
        sender_stamp_s = setpoint.sender_stamp_s
        if not math.isfinite(sender_stamp_s) or sender_stamp_s == self._newest_stamp_s:
            return 0
        source = setpoint.stamp_source
        if source is not self._source:
            self.reset()
            self._source = source
        self._newest_stamp_s = sender_stamp_s
        transit_s = arrival_ns / NS_PER_S - sender_stamp_s
        self._baseline.add(arrival_ns, transit_s)
        return self._beyond_baseline_ns(transit_s)

    def lateness_ns(self, setpoint: Setpoint, arrival_ns: int) -> int:
        """Lateness of a copy that rode along in a later datagram; it teaches nothing."""
        sender_stamp_s = setpoint.sender_stamp_s
        if not math.isfinite(sender_stamp_s) or setpoint.stamp_source is not self._source:
            return 0
        return self._beyond_baseline_ns(arrival_ns / NS_PER_S - sender_stamp_s)

    def reset(self) -> None:
        """Forget the baseline: another session, another clock."""
        self._baseline.clear()
        self._source = None
        self._newest_stamp_s = math.nan

    def _beyond_baseline_ns(self, transit_s: float) -> int:
        baseline_s = self._baseline.minimum
        if baseline_s is None:
            return 0
        late_s = transit_s - baseline_s
        # Two finite stamps may be further apart than a float holds: nothing is as late as that.
        return max(0, round(late_s * NS_PER_S)) if late_s < MAX_LATENESS_S else MAX_LATENESS_S * NS_PER_S


MAX_LATENESS_S: Final = 86_400
