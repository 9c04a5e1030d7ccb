"""`Link`: give it a datagram's sending time, it answers when copies of it arrive.

The journey of a datagram, in order: the door (queue of the bottleneck, outages), loss, delay and
jitter, the line order of a first-in-first-out link, duplication. Deterministic: the same profile,
seed and sendings give the same arrivals; the only dice are the `random.Random` handed in, of which
only `.random()` is called (R17).
"""

from random import Random

from steadyhand.core.link.entrance import Entrance, needs_entrance
from steadyhand.core.link.jitter import jitter_sampler
from steadyhand.core.link.loss import loss_sampler
from steadyhand.core.link.profile import LinkProfile
from steadyhand.core.link.trace import LOST, TraceCursor
from steadyhand.ground.stamps import ns_from_ms


class Link:
    """One direction of a bad network.

    Outages, recurring or planned, and traces count from the link's start: `start_ns`, or the first
    datagram where that is not given.
    """

    __slots__ = (
        "_delay_ns",
        "_draw",
        "_duplicate",
        "_entrance",
        "_in_order",
        "_jitter",
        "_last_arrival_ns",
        "_lose",
        "_now_ns",
        "_start_ns",
        "_trace",
        "profile",
    )

    def __init__(self, profile: LinkProfile, rng: Random, *, start_ns: int | None = None) -> None:
        self.profile = profile
        self._draw = rng.random
        self._trace = TraceCursor(profile.trace) if profile.trace is not None else None
        self._entrance = Entrance(profile, rng, self._trace) if needs_entrance(profile) else None
        self._lose = loss_sampler(profile, rng)
        self._delay_ns = ns_from_ms(profile.delay_ms)
        self._jitter = jitter_sampler(profile, rng)
        self._in_order = not profile.reorder
        self._duplicate = profile.duplicate
        self._start_ns = start_ns
        self._now_ns = start_ns
        self._last_arrival_ns = 0

    def send(self, now_ns: int, size_bytes: int = 0) -> tuple[int, ...]:
        """Arrival times, in order, of a datagram sent at `now_ns`: none where lost, two where doubled.

        Args:
            now_ns: sending time; never before that of the datagram before.
            size_bytes: what it occupies of a bottleneck, headers included.

        Raises:
            ValueError: `now_ns` went back, or `size_bytes` is negative.
        """
        if self._now_ns is None or self._start_ns is None:
            self._start_ns = self._now_ns = now_ns
        if now_ns < self._now_ns or size_bytes < 0:
            raise ValueError(f"sent at {now_ns} after {self._now_ns} ns, {size_bytes} bytes")
        self._now_ns = now_ns
        entered_ns = now_ns - self._start_ns
        if self._entrance is not None:
            entered_ns = self._entrance.admit(entered_ns, size_bytes)
            if entered_ns == LOST:
                return ()
        if self._lose is not None and self._lose():
            return ()
        arrival_ns = self._arrive(entered_ns)
        if arrival_ns == LOST:
            return ()
        arrival_ns += self._start_ns
        if self._duplicate and self._draw() < self._duplicate:
            copy_ns = self._arrive(entered_ns) + self._start_ns
            return (arrival_ns, copy_ns) if copy_ns >= arrival_ns else (copy_ns, arrival_ns)
        return (arrival_ns,)

    def _arrive(self, entered_ns: int) -> int:
        """Arrival, since the start, of one copy that entered at `entered_ns`, or `LOST`.

        On a first-in-first-out link nobody overtakes: an arrival is never before the one before.
        """
        delay_ns = self._delay_ns
        if self._trace is not None:
            traced_ns = self._trace.delay_at(entered_ns)
            if traced_ns < 0:
                return LOST
            delay_ns += traced_ns
        if self._jitter is not None:
            delay_ns += self._jitter()
            delay_ns = max(delay_ns, 0)
        arrival_ns = entered_ns + delay_ns
        if self._in_order:
            if arrival_ns < self._last_arrival_ns:
                return self._last_arrival_ns
            self._last_arrival_ns = arrival_ns
        return arrival_ns
