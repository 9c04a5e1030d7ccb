"""What the receiver can know of the way through the network, without believing anybody's clock.

For each datagram, arrival on our clock minus stamp on the sender's is the true transit plus one
unknown constant. The constant cancels between two of them. The smallest of the last 20 s is the path
without queues and stalls; against it stand two questions:

* how *late* is this setpoint? So the tail of a stall is known to be old the moment it arrives
  (decision 0003);
* how much has the path *grown*? A minimum over a short window leaves jitter behind and keeps what
  every datagram had to wait: the queue. LEDBAT (RFC 6817) and SCReAM (RFC 8298) take a current against
  a base minimum likewise; GStreamer's jitter buffer takes its skew from a 2 s minimum.
"""

from typing import Final

from steadyhand.core.timing.windowed_minimum import WindowedMinimum
from steadyhand.ground.setpoint import StampSource
from steadyhand.ground.stamps import NS_PER_MS, NS_PER_S, ms_from_ns

BASELINE_WINDOW_NS: Final = 20 * NS_PER_S
"""How long a fast datagram is remembered. Longer mistakes clock drift for a queue: 100 ppm add 2 ms in
20 s, 3000 ppm 60 ms, still well inside the age cap's margin."""

CURRENT_WINDOW_NS: Final = 250 * NS_PER_MS
"""What counts as now. A rising queue is seen this much late, since a minimum remembers the best moment
of its window: on a 0.83 Mbit/s uplink 2 s let 410 ms of queue grow, 250 ms let 100. The 25 datagrams
it holds at 100 Hz are enough for their minimum to shed jitter."""

SILENCE_NS: Final = 500 * NS_PER_MS
"""Silence from which it counts as growth itself; a handover's hold is shorter (some 130 ms)."""

FLOOR_RISE: Final = 0.005
"""Share of the time that datagrams flow by which the fastest transit may be forgotten: R2's bound on
drift. The tail of a stall is judged against the path from before it, however long it stood."""

FLOW_GAP_NS: Final = 500 * NS_PER_MS
"""Silence counts as this much flow at most: it teaches nothing about the path."""

WITNESSES: Final = 3
WITNESS_NS: Final = 50 * NS_PER_MS
"""A datagram faster than the floor by more than this is believed with the third in a row: one bad
sender stamp must not make everything after it late."""

MAX_STAMP_S: Final = 1e12
"""Stamps beyond it (and what is not finite) are nobody's clock and teach nothing."""


class TransitEstimator:
    """Lateness of setpoints and growth of the path, for one stream.

    A change of the stamp's source is a change of clock and starts the baseline anew; so must a new
    session (`reset`). A sender that stamps every setpoint the same cannot be judged, and is not.
    """

    __slots__ = (
        "_arrival_ns",
        "_baseline",
        "_current",
        "_floor_ns",
        "_newest_stamp_s",
        "_source",
        "_witness_ns",
        "_witnesses",
    )

    def __init__(self) -> None:
        """Start without a baseline: nothing is late, nothing has grown."""
        self._baseline = WindowedMinimum(BASELINE_WINDOW_NS)
        self._current = WindowedMinimum(CURRENT_WINDOW_NS)
        self.reset()

    def reset(self) -> None:
        """Forget everything: the next stamp is from another clock."""
        self._baseline.clear()
        self._current.clear()
        self._source: StampSource | None = None
        self._newest_stamp_s: float | None = None
        self._arrival_ns: int | None = None
        self._floor_ns = 0
        self._witnesses = 0
        self._witness_ns = 0

    def observe(
        self, *, arrival_ns: int, sender_stamp_s: float, source: StampSource = StampSource.BUILD
    ) -> int:
        """Take in a datagram by its own setpoint's stamp; return how late it is, ns, at least 0.

        Args:
            arrival_ns: the receiver's monotonic clock.
            sender_stamp_s: `Setpoint.sender_stamp_s` of the datagram's own setpoint, not of the
                copies it carries.
            source: `Setpoint.stamp_source`.
        """
        if not -MAX_STAMP_S < sender_stamp_s < MAX_STAMP_S or sender_stamp_s == self._newest_stamp_s:
            return 0
        if source is not self._source:
            self.reset()
            self._source = source
        self._newest_stamp_s = sender_stamp_s
        transit_ns = arrival_ns - round(sender_stamp_s * NS_PER_S)
        newest_ns = self._arrival_ns
        if newest_ns is None:
            self._arrival_ns, self._floor_ns = arrival_ns, transit_ns
        else:
            flowed_ns = min(max(0, arrival_ns - newest_ns), FLOW_GAP_NS)
            self._arrival_ns = max(arrival_ns, newest_ns)
            self._move_floor(transit_ns, round(flowed_ns * FLOOR_RISE))
        self._current.add(arrival_ns, transit_ns)
        self._baseline.add(arrival_ns, transit_ns)
        return max(0, transit_ns - self._floor_ns)

    def _move_floor(self, transit_ns: int, rise_ns: int) -> None:
        """Let the floor rise with the flow, and fall to what is faster once that is believed."""
        floor_ns = self._floor_ns + rise_ns
        if transit_ns < floor_ns - WITNESS_NS:
            slowest_ns = transit_ns if self._witnesses == 0 else max(transit_ns, self._witness_ns)
            self._witnesses, self._witness_ns = self._witnesses + 1, slowest_ns
            if self._witnesses >= WITNESSES:
                floor_ns, self._witnesses = slowest_ns, 0
        else:
            self._witnesses = 0
            floor_ns = min(floor_ns, transit_ns)
        self._floor_ns = floor_ns

    def lateness_ns(
        self, *, arrival_ns: int, sender_stamp_s: float, source: StampSource = StampSource.BUILD
    ) -> int:
        """Lateness of a copy that rode along in a later datagram, ns, at least 0; it teaches nothing."""
        if self._arrival_ns is None or source is not self._source:
            return 0
        if not -MAX_STAMP_S < sender_stamp_s < MAX_STAMP_S:
            return 0
        return max(0, arrival_ns - round(sender_stamp_s * NS_PER_S) - self._floor_ns)

    def growth_ms(self, now_ns: int) -> float:
        """Milliseconds by which the fastest recent datagram was slower than the baseline, at least 0.

        As of the last arrival; after `SILENCE_NS` without one it is the silence itself, since
        whatever is under way has by now been waiting that long. 0 before the first arrival.
        """
        if self._arrival_ns is None:
            return 0.0
        silence_ns = now_ns - self._arrival_ns
        if silence_ns >= SILENCE_NS:
            return ms_from_ns(silence_ns)
        return ms_from_ns(self._current.smallest - self._baseline.smallest)
