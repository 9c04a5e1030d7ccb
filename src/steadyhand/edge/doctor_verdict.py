"""What a machine's ticks say about it, in words: a ladder, the first rule that speaks decides.

The yardstick is the period. A tick that is late by less than one is a frame that the controller
takes a little later; a slot that passes unused is a setpoint the arm never got.
"""

from collections.abc import Callable
from typing import Final, Literal

import msgspec

from steadyhand.edge.tick_probe import ProbeResult
from steadyhand.ground.stamps import NS_PER_S, NS_PER_US

LATE_SHARE: Final = 0.1
"""Of the period. At 100 Hz a millisecond: a fifteenth of the feed jitter that the divergence guard
has to allow for anyway (R9), and what a network on a cable adds."""

ENOUGH: Final = 1000
"""Ticks before one speaks of one in a thousand."""


class Verdict(msgspec.Struct, frozen=True):
    """`good`, `fair` or `poor`, and the sentence that says why."""

    standing: Literal["good", "fair", "poor"]
    sentence: str


def slots_were_lost(probe: ProbeResult) -> Verdict | None:
    """A loop that was behind by a whole period has not sent what it should."""
    period_us = probe.period_ns / NS_PER_US
    if probe.lost_slots == 0 and probe.lateness.max_us < period_us:
        return None
    worst = _time(probe.lateness.max_us)
    said = f"a tick came {worst} late, more than a period"
    if probe.lost_slots:
        said = f"{probe.lost_slots} of {probe.lost_slots + probe.lateness.count} ticks did not happen, "
        said += f"the worst came {worst} late"
    return Verdict("poor", f"Not fit for {_rate(probe)} as it stands: {said}.{_cause(probe)}")


def ticks_were_late(probe: ProbeResult) -> Verdict | None:
    """One tick in a thousand later than a tenth of the period is felt, not dangerous."""
    if probe.lateness.p99_9_us <= LATE_SHARE * probe.period_ns / NS_PER_US:
        return None
    return Verdict(
        "fair",
        f"Usable at {_rate(probe)}: no tick was lost, but {_tail(probe)}.{_cause(probe)}",
    )


def nothing_is_promised(probe: ProbeResult) -> Verdict | None:
    """Punctual without a real-time class is punctual until something else wants the core."""
    if probe.realtime.granted("scheduling"):
        return None
    return Verdict(
        "fair",
        f"Punctual at {_rate(probe)} while it was measured, but nothing holds it so: the real-time "
        "class was refused, and any busy process may delay a tick by milliseconds.",
    )


def memory_may_go(probe: ProbeResult) -> Verdict | None:
    """Memory that is not locked may have to be read back from disk in the middle of a tick."""
    if probe.realtime.granted("memory"):
        return None
    return Verdict("fair", f"Punctual at {_rate(probe)}, until memory runs short: locking it was refused.")


def all_is_well(probe: ProbeResult) -> Verdict:
    """Nothing to object to."""
    late = _time(probe.lateness.p99_9_us)
    most = "999 ticks in 1000" if probe.lateness.count >= ENOUGH else f"all {probe.lateness.count} ticks"
    return Verdict("good", f"Fit for {_rate(probe)}: {most} came within {late} of their time.")


VERDICT_LADDER: Final[tuple[Callable[[ProbeResult], Verdict | None], ...]] = (
    slots_were_lost,
    ticks_were_late,
    nothing_is_promised,
    memory_may_go,
)


def verdict(probe: ProbeResult) -> Verdict:
    """The first rule of the ladder that speaks, or that all is well. Pure."""
    for rule in VERDICT_LADDER:
        if (said := rule(probe)) is not None:
            return said
    return all_is_well(probe)


def _tail(probe: ProbeResult) -> str:
    late = _time(probe.lateness.p99_9_us)
    if probe.lateness.count < ENOUGH:
        return f"the worst of {probe.lateness.count} came {late} late"
    return f"one in a thousand came {late} late or later"


def _cause(probe: ProbeResult) -> str:
    """What is known of who took the time."""
    if probe.stolen_ms:
        return f" The hypervisor gave {probe.stolen_ms:.0f} ms to other guests meanwhile."
    if not probe.realtime.granted("scheduling"):
        return " The real-time class was refused: granting it is the first thing to try."
    return " It ran in the real-time class: look at the rows above that are not good."


def _rate(probe: ProbeResult) -> str:
    return f"{NS_PER_S / probe.period_ns:g} Hz"


def _time(us: float) -> str:
    return f"{us / 1000:.1f} ms" if us >= 1000 else f"{us:.0f} µs"
