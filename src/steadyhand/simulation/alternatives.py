"""What a team would do without the buffer, on the same packets.

*Latest wins*: a socket that keeps the newest datagram to arrive; each tick applies it, or holds.
*Ordered*: a reliable byte stream; what is lost is sent again, what comes early waits, and the
loop applies one setpoint a tick, since its servo call blocks for a period. Neither ever stops.
"""

from bisect import bisect_left
from itertools import pairwise
from typing import Final

import msgspec

from steadyhand.ground.stamps import NS_PER_MS
from steadyhand.simulation.lanes import Lane, Tick
from steadyhand.simulation.sender import Sent

RETRANSMIT_TIMEOUT_NS: Final = 200 * NS_PER_MS
"""Linux's least retransmission time-out (TCP_RTO_MIN)."""

FAST_RETRANSMIT_AFTER: Final = 3
"""Later segments that must arrive before a loss is believed (RFC 5681 §3.2)."""

MAX_TRIES: Final = 15
"""Linux gives a connection up after as many (tcp_retries2)."""


class Flight(msgspec.Struct, frozen=True, gc=False):
    """One datagram's fate: when its copies arrived, empty where it was lost."""

    sent: Sent
    arrivals_ns: tuple[int, ...]


def latest_wins(flights: list[Flight], tick_ns: list[int]) -> Lane:
    """Apply on arrival, newest arrival wins, whatever its number; hold while nothing comes."""
    arrivals = sorted((ns, flight.sent.index) for flight in flights for ns in flight.arrivals_ns)
    lane = Lane("latest_wins")
    cursor, slot = 0, -1
    applied: Sent | None = None
    for now_ns in tick_ns:
        fresh = False
        while cursor < len(arrivals) and arrivals[cursor][0] <= now_ns:
            slot = arrivals[cursor][1]
            cursor += 1
            fresh = True
        if fresh:
            applied = flights[slot].sent
            lane.note(
                now_ns,
                Tick.REAL,
                applied.joints_deg,
                age_ns=now_ns - applied.sent_ns,
                wait_ns=now_ns - arrivals[cursor - 1][0],
            )
        elif applied is None:
            lane.note(now_ns, Tick.WAITING, None)
        else:
            lane.note(now_ns, Tick.HELD, applied.joints_deg)
    lane.lost_at_release = len([flight for flight in flights if not flight.arrivals_ns])
    lane.episodes = _runs_of_holds(lane)
    return lane


def ordered(flights: list[Flight], tick_ns: list[int]) -> Lane:
    """Everything arrives, in order, and is applied one a tick, however old it has become."""
    delivered_ns = in_order_delivery(flights)
    lane = Lane("ordered")
    cursor, ready = 0, 0
    applied: Sent | None = None
    for now_ns in tick_ns:
        while ready < len(delivered_ns) and delivered_ns[ready] <= now_ns:
            ready += 1
        if cursor < ready:
            applied = flights[cursor].sent
            lane.note(
                now_ns,
                Tick.REAL,
                applied.joints_deg,
                age_ns=now_ns - applied.sent_ns,
                wait_ns=now_ns - delivered_ns[cursor],
                depth=ready - cursor - 1,
            )
            cursor += 1
        elif applied is None:
            lane.note(now_ns, Tick.WAITING, None)
        else:
            lane.note(now_ns, Tick.HELD, applied.joints_deg)
    lane.episodes = _runs_of_holds(lane)
    return lane


def _runs_of_holds(lane: Lane) -> int:
    """How often nothing new was there: runs of held ticks, the counterpart of underrun episodes."""
    return len([1 for before, kind in pairwise(lane.kind) if kind == Tick.HELD != before])


def in_order_delivery(flights: list[Flight]) -> list[int]:
    """When a reliable ordered stream over the same packets would deliver each setpoint.

    A loss is repaired by fast retransmit once three later segments have arrived and told the
    sender, else by the time-out, doubled at each try. A retransmission meets the fate of the
    datagram that was sent at that moment. Ends at the first setpoint that never gets through.
    """
    sent_ns = [flight.sent.sent_ns for flight in flights]
    delivered: list[int] = []
    newest_ns = 0
    for position, flight in enumerate(flights):
        arrival_ns = min(flight.arrivals_ns) if flight.arrivals_ns else _repaired(flights, sent_ns, position)
        if arrival_ns is None:
            break
        newest_ns = max(newest_ns, arrival_ns)
        delivered.append(newest_ns)
    return delivered


def _repaired(flights: list[Flight], sent_ns: list[int], position: int) -> int | None:
    """Arrival of the first retransmission that gets through, or None within the recording."""
    timeout_ns = RETRANSMIT_TIMEOUT_NS
    retry_ns = _noticed(flights, position, sent_ns[position] + timeout_ns)
    for _ in range(MAX_TRIES):
        fate = bisect_left(sent_ns, retry_ns)
        if fate >= len(flights):
            return None
        if flights[fate].arrivals_ns:
            return retry_ns + min(flights[fate].arrivals_ns) - sent_ns[fate]
        timeout_ns *= 2
        retry_ns += timeout_ns
    return None


def _noticed(flights: list[Flight], position: int, timeout_at_ns: int) -> int:
    """When the sender learns of a loss: three later arrivals plus the way back, or the time-out."""
    later: list[int] = []
    for flight in flights[position + 1 : position + 64]:
        if flight.sent.sent_ns >= timeout_at_ns or len(later) == FAST_RETRANSMIT_AFTER:
            break
        if flight.arrivals_ns:
            arrival_ns = min(flight.arrivals_ns)
            later.append(2 * arrival_ns - flight.sent.sent_ns)
    return min(timeout_at_ns, max(later)) if len(later) == FAST_RETRANSMIT_AFTER else timeout_at_ns
