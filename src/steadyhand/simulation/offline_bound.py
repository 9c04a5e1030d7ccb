"""How little delay would do, had one known the trace in advance.

The offline policy chooses one delay for each second of sending, knowing every setpoint's one-way
delay of that second. Whatever arrives after its chosen delay is late. This is the least mean delay at
a share of late setpoints among policies of that form, and no limit for others: one that knew the
future and changed its delay within the second would release everything on arrival.
"""

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Final

from steadyhand.ground.stamps import NS_PER_MS, NS_PER_S
from steadyhand.simulation.alternatives import Flight

LOST_MS: Final = float("inf")


def delays_by_second(flights: Sequence[Flight]) -> list[list[float]]:
    """One-way delays in milliseconds, grouped by the second of sending; infinite where lost."""
    seconds: dict[int, list[float]] = {}
    for flight in flights:
        arrivals_ns = flight.arrivals_ns
        delay_ms = (min(arrivals_ns) - flight.sent.sent_ns) / NS_PER_MS if arrivals_ns else LOST_MS
        seconds.setdefault(flight.sent.sent_ns // NS_PER_S, []).append(delay_ms)
    return [seconds[second] for second in sorted(seconds)]


def least_mean_delay_ms(seconds: Sequence[Sequence[float]], late_share: float) -> float:
    """Least mean of the chosen delay with at most `late_share` of all setpoints late.

    Giving up the k latest of a second lowers its delay to the next order statistic. The steps of
    each second's lower convex hull are taken steepest first until the allowance is used up, the
    last one in part: a lower bound on every choice of whole numbers, and tight to within one step.
    Lost setpoints are late under any delay and are not charged.

    Returns:
        Milliseconds; 0 where nothing was sent or nothing arrived.
    """
    kept = [sorted(delay for delay in second if delay < LOST_MS) for second in seconds]
    kept = [second for second in kept if second]
    total = sum(len(second) for second in kept)
    if not total:
        return 0.0
    cost_ms = float(sum(len(second) * second[-1] for second in kept))
    allowance = late_share * total
    steps = [_hull_steps(second) for second in kept]
    queue = [(-found[0][0], index, 0) for index, found in enumerate(steps) if found]
    heapify(queue)
    while queue and allowance > 0.0:
        _, index, position = heappop(queue)
        gain_ms, setpoints = steps[index][position]
        taken = min(float(setpoints), allowance)
        allowance -= taken
        cost_ms -= gain_ms * taken
        if position + 1 < len(steps[index]):
            heappush(queue, (-steps[index][position + 1][0], index, position + 1))
    return cost_ms / total


def _hull_steps(ascending_ms: list[float]) -> list[tuple[float, int]]:
    """Steps of the lower convex hull of cost against setpoints given up: (gain each, how many)."""
    count = len(ascending_ms)
    points = [(given_up, count * ascending_ms[count - 1 - given_up]) for given_up in range(count)]
    hull: list[tuple[int, float]] = []
    for point in points:
        while len(hull) > 1 and _slope(hull[-2], hull[-1]) >= _slope(hull[-2], point):
            hull.pop()
        hull.append(point)
    steps = [(-_slope(a, b), b[0] - a[0]) for a, b in pairwise(hull)]
    return [(gain, setpoints) for gain, setpoints in steps if gain > 0.0]


def _slope(a: tuple[int, float], b: tuple[int, float]) -> float:
    return (b[1] - a[1]) / (b[0] - a[0])
