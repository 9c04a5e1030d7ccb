"""Which stops the network called for, judged afterwards by the packets themselves.

Only a simulation can: it knows true delays, and what was still under way when the arm stopped.
"""

from itertools import pairwise
from typing import Final

import msgspec

from steadyhand.core.playout import PlayoutConfig
from steadyhand.ground.stamps import NS_PER_S
from steadyhand.simulation.alternatives import Flight
from steadyhand.simulation.lanes import Stop

LOOK_BACK_NS: Final = NS_PER_S


def judged(stops: list[Stop], flights: list[Flight], config: PlayoutConfig) -> list[Stop]:
    """The stops, each marked false where nothing shortly before it exceeded what the buffer is paid for.

    That is the queue's own delay, less the period that is being played. Called for is a datagram
    later than that after the fastest of the run, or a time as long in which none that arrived was
    sent: lost, or the sender silent.
    """
    arrived = [(flight.sent.sent_ns, min(flight.arrivals_ns)) for flight in flights if flight.arrivals_ns]
    fastest_ns = min((arrival_ns - sent_ns for sent_ns, arrival_ns in arrived), default=0)
    budget_ns = (config.base_depth - 1) * config.period_ns
    return [
        msgspec.structs.replace(
            stop, false=not _called_for(round(stop.t_s * NS_PER_S), arrived, fastest_ns, budget_ns)
        )
        for stop in stops
    ]


def _called_for(stop_ns: int, arrived: list[tuple[int, int]], fastest_ns: int, budget_ns: int) -> bool:
    since_ns = stop_ns - LOOK_BACK_NS - budget_ns
    sent = [(sent_ns, arrival_ns) for sent_ns, arrival_ns in arrived if since_ns <= sent_ns <= stop_ns]
    if any(arrival_ns - sent_ns - fastest_ns >= budget_ns for sent_ns, arrival_ns in sent):
        return True
    times_ns = [since_ns, *(sent_ns for sent_ns, _ in sent), stop_ns - fastest_ns]
    return any(later_ns - earlier_ns >= budget_ns for earlier_ns, later_ns in pairwise(times_ns))
