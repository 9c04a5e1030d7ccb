"""What a link does to datagrams, as one value: `LinkProfile`.

All figures are one-way, per datagram, in the units their names end in. What is left at its default
does nothing and draws nothing from the dice.
"""

from math import inf, isnan
from typing import Final, Literal, get_args

import msgspec

from steadyhand.core.link.trace import LinkTrace
from steadyhand.ground.errors import InputError

JitterKind = Literal["exponential", "normal", "pareto"]

MAX_MS: Final = 3_600_000.0  # an hour: beyond it a figure is a unit mistaken
MIN_QUIET_MS: Final = 10.0  # outages packed closer than this are a loss rate, not outages

RANGES: Final[dict[str, tuple[float, float]]] = {
    "delay_ms": (0.0, MAX_MS),
    "jitter_ms": (0.0, MAX_MS),
    "jitter_correlation": (0.0, 0.999999),
    "loss": (0.0, 1.0),
    "ge_enter_bad": (0.0, 1.0),
    "ge_leave_bad": (0.0, 1.0),
    "ge_loss_bad": (0.0, 1.0),
    "ge_loss_good": (0.0, 1.0),
    "duplicate": (0.0, 1.0),
    "rate_kbit_s": (0.0, 1e9),
    "queue_ms": (0.0, MAX_MS),
    "queue_bytes": (0, 1e12),
    "outage_every_ms": (0.0, MAX_MS),
    "outage_ms": (0.0, MAX_MS),
    "outage_max_ms": (0.0, MAX_MS),
}


class Outage(msgspec.Struct, frozen=True, kw_only=True):
    """One planned outage: nothing enters the link for `duration_ms` from `start_ms` after its start.

    `duration_ms` may be infinite: the link never comes back, and what was sent is lost.
    """

    start_ms: float
    duration_ms: float


class LinkProfile(msgspec.Struct, frozen=True, kw_only=True):
    """A bad network in numbers. `Link` plays it.

    Attributes:
        name: profile name, empty for one made on the spot.
        description: what it stands for, for people.
        delay_ms: fixed part of the one-way delay, added to the trace's where there is one.
        jitter: distribution of the varying part. `exponential` and `pareto` (Lomax, shape 3 as in
            Linux's netem, a heavy tail) are added to the delay, never negative, with mean
            `jitter_ms`; `normal` has mean 0 and standard deviation `jitter_ms`, the whole delay
            floored at 0.
        jitter_ms: see `jitter`; 0 turns it off.
        jitter_correlation: 0 to below 1, of one datagram's jitter with the next one's. The values
            are a Gaussian AR(1) process mapped onto the distribution, so correlation leaves the
            distribution itself unchanged (netem's own filter does not).
        loss: share of datagrams lost, each on its own.
        ge_enter_bad: Gilbert–Elliott, chance per datagram that a good link turns bad (netem's p).
        ge_leave_bad: chance per datagram that a bad link turns good (r); 1/r is the mean length of
            a bad spell.
        ge_loss_bad: share lost while bad (1 − h).
        ge_loss_good: share lost while good (1 − k).
        duplicate: share of delivered datagrams that arrive twice, each copy with its own jitter.
        reorder: false is first-in-first-out: no arrival before an earlier one. True lets each
            datagram keep its own delay, so that jitter reorders.
        rate_kbit_s: bottleneck rate, kilobits a second, 0 for none. Served in turn, before the
            delay. `size_bytes` of `send` is what occupies it: headers are the caller's to add.
        queue_ms: bound of the bottleneck's queue in time at its rate; what does not fit is dropped
            (tail drop). A datagram that finds the queue empty always fits.
        queue_bytes: the same bound in bytes, in place of `queue_ms` where above 0; it also bounds
            what an outage may hold on a link without a rate.
        outages: planned outages.
        outage_every_ms: recurring outages: quiet time from the end of one to the start of the next
            (and before the first), 0 for none.
        outage_ms: how long a recurring outage lasts.
        outage_max_ms: where above `outage_ms`, each lasts a uniformly drawn time between the two.
        outage_random: false: the quiet time is exact; true: it is the mean of an exponential.
        outage_burst: false: what is sent during an outage is lost; true: it is held and delivered
            in a burst when the outage ends, or, on a link with a rate, as fast as that allows.
        trace: measured delays to play, looping.
    """

    name: str = ""
    description: str = ""
    delay_ms: float = 0.0
    jitter: JitterKind = "exponential"
    jitter_ms: float = 0.0
    jitter_correlation: float = 0.0
    loss: float = 0.0
    ge_enter_bad: float = 0.0
    ge_leave_bad: float = 1.0
    ge_loss_bad: float = 1.0
    ge_loss_good: float = 0.0
    duplicate: float = 0.0
    reorder: bool = False
    rate_kbit_s: float = 0.0
    queue_ms: float = 1000.0
    queue_bytes: int = 0
    outages: tuple[Outage, ...] = ()
    outage_every_ms: float = 0.0
    outage_ms: float = 0.0
    outage_max_ms: float = 0.0
    outage_random: bool = False
    outage_burst: bool = False
    trace: LinkTrace | None = None

    def __post_init__(self) -> None:
        """Refuse figures out of range and contradictions.

        Raises:
            InputError: naming the field and its range.
        """
        for field, (low, high) in RANGES.items():
            value = getattr(self, field)
            # Written so that a NaN fails it.
            if not low <= value <= high:
                raise InputError(
                    f"{field} must be {_range_text(low, high)}, not {value:g}", where=self._where
                )
        if self.jitter not in get_args(JitterKind):
            known = ", ".join(get_args(JitterKind))
            raise InputError(f"unknown jitter {self.jitter!r}", where=self._where, hint=f"one of {known}")
        self._check_outages()

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know about how the trace was read, one sentence each."""
        return () if self.trace is None else self.trace.notes

    @property
    def _where(self) -> str:
        """What an error names."""
        return f"link {self.name}" if self.name else "link"

    def _check_outages(self) -> None:
        """Recurring outages need both their figures; planned ones a start and a length."""
        if (self.outage_every_ms > 0.0) != (self.outage_ms > 0.0):
            missing = "outage_ms" if self.outage_every_ms > 0.0 else "outage_every_ms"
            raise InputError(f"recurring outages need {missing} above 0 too", where=self._where)
        if 0.0 < self.outage_every_ms < MIN_QUIET_MS:
            raise InputError(f"outage_every_ms must be at least {MIN_QUIET_MS:g}", where=self._where)
        if 0.0 < self.outage_max_ms < self.outage_ms:
            raise InputError("outage_max_ms is below outage_ms", where=self._where)
        for outage in self.outages:
            if not 0.0 <= outage.start_ms < inf:
                raise InputError(f"an outage cannot start at {outage.start_ms:g} ms", where=self._where)
            if isnan(outage.duration_ms) or outage.duration_ms <= 0.0:
                raise InputError(f"an outage cannot last {outage.duration_ms:g} ms", where=self._where)


def _range_text(low: float, high: float) -> str:
    """A range as a person says it."""
    return f"from {low:g} to {high:g}"
