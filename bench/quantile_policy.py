"""A playout delay that follows the quantile of arrival delay, after WebRTC's NetEq: a peer.

NetEq's idea (webrtc `audio_coding/neteq/delay_manager`, `relative_arrival_delay_tracker`): how much
later than the fastest packet of the last two seconds did each arrive; keep a forgetting histogram of
that; play at its quantile. Here in 1 ms buckets instead of 20 ms, and idealised: a new target holds
at once, where audio would be stretched. So this is the best such a policy could do, not a product.
"""

from collections import deque
from collections.abc import Sequence

from steadyhand.ground.stamps import NS_PER_MS, NS_PER_S
from steadyhand.simulation.alternatives import Flight
from steadyhand.simulation.frontier import Curve, CurveKind, Point

WINDOW_NS = 2 * NS_PER_S
FEED_EVERY_NS = 500 * NS_PER_MS
FORGET = 0.983
BUCKETS = 2_000
QUANTILES = (0.5, 0.7, 0.8, 0.9, 0.95, 0.97, 0.99, 0.999)
BISECTIONS = 8
"""Halvings of the step in which the wanted share is passed: of 0.02 they leave 0.0001."""


def quantile_curve(flights: Sequence[Flight], near_share: float) -> Curve:
    """Mean delay and late share over the policy's quantile, on the packets of one run.

    The grid is refined where the late share passes `near_share`, since one step of it can double
    the delay there.
    """
    played = {quantile: play(flights, quantile) for quantile in QUANTILES}
    low = max((q for q, point in played.items() if point.late_share > near_share), default=None)
    if low is not None and low < QUANTILES[-1]:
        high = min(quantile for quantile in QUANTILES if quantile > low)
        for _ in range(BISECTIONS):
            middle = (low + high) / 2.0
            played[middle] = play(flights, middle)
            low, high = (middle, high) if played[middle].late_share > near_share else (low, middle)
    points = tuple(played[quantile] for quantile in sorted(played))
    return Curve(name="NetEq-like quantile", kind=CurveKind.PEER, points=points)


def play(flights: Sequence[Flight], quantile: float) -> Point:
    """Play every setpoint at the delay the policy had chosen when it was sent."""
    arrivals = sorted((min(f.arrivals_ns), f.sent.sent_ns) for f in flights if f.arrivals_ns)
    policy = QuantileDelay(quantile)
    cursor, late, total_ns, played = 0, 0, 0, 0
    for flight in flights:
        sent_ns = flight.sent.sent_ns
        while cursor < len(arrivals) and arrivals[cursor][0] <= sent_ns:
            policy.observe(*arrivals[cursor])
            cursor += 1
        if policy.delay_ns is None or not flight.arrivals_ns:
            continue
        played += 1
        total_ns += policy.delay_ns
        late += min(flight.arrivals_ns) - sent_ns > policy.delay_ns
    label = f"quantile {quantile:.4g}"
    return Point(delay_ms=total_ns / played / NS_PER_MS, late_share=late / played, label=label)


class QuantileDelay:
    """Target delay from relative arrival delays."""

    def __init__(self, quantile: float) -> None:
        self.delay_ns: int | None = None
        self._quantile = quantile
        self._fastest: deque[tuple[int, int]] = deque()
        self._weights = [0.0] * BUCKETS
        self._feed_ns: int | None = None
        self._worst_ns = 0

    def observe(self, arrival_ns: int, sent_ns: int) -> None:
        """Take one arrival; every half second the worst of them enters the histogram."""
        transit_ns = arrival_ns - sent_ns
        fastest = self._fastest
        while fastest and fastest[-1][1] >= transit_ns:
            fastest.pop()
        fastest.append((arrival_ns, transit_ns))
        while arrival_ns - fastest[0][0] > WINDOW_NS:
            fastest.popleft()
        base_ns = fastest[0][1]
        self._worst_ns = max(self._worst_ns, transit_ns - base_ns)
        if self._feed_ns is None:
            self._feed_ns = arrival_ns
        if arrival_ns - self._feed_ns >= FEED_EVERY_NS:
            self._feed(self._worst_ns)
            self._feed_ns, self._worst_ns = arrival_ns, 0
        self.delay_ns = base_ns + self._target_ns()

    def _feed(self, relative_ns: int) -> None:
        bucket = min(BUCKETS - 1, relative_ns // NS_PER_MS)
        self._weights = [weight * FORGET for weight in self._weights]
        self._weights[bucket] += 1.0 - FORGET
        total, wanted = 0.0, self._quantile * sum(self._weights)
        for bucket, weight in enumerate(self._weights):
            total += weight
            if total >= wanted:
                self._target = (bucket + 1) * NS_PER_MS
                return

    _target = 80 * NS_PER_MS
    """NetEq's start value."""

    def _target_ns(self) -> int:
        return self._target
