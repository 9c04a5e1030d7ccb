"""µs per setpoint through the playout buffer, beside aiortc's jitter buffer on the same arrivals.

aiortc's buffer orders packets and hands out frames; it has no clock, no ageing, no statistics, no
concealment and no stall policy. It is the floor for ordering alone, not a substitute.
"""

from collections.abc import Callable
from random import Random
from statistics import median

from aiortc.jitterbuffer import JitterBuffer
from aiortc.rtp import RtpPacket

from bench.harness import Table, interleaved, median_ratio, spread
from steadyhand.core.playout import PlayoutBuffer, PlayoutConfig
from steadyhand.ground.setpoint import Setpoint

PERIOD_NS = 10_000_000
SETPOINTS = 5_000
REPETITIONS = 25
AIORTC_CAPACITY = 256
PREFETCHES = (20, 4)
"""aiortc at our depth, and at the depth it uses for audio itself."""

Arrivals = list[tuple[int, int]]


def steady(count: int) -> Arrivals:
    """One arrival a period, in order: (arrival_ns, number)."""
    return [(number * PERIOD_NS, number) for number in range(count)]


def reordered(count: int) -> Arrivals:
    """Exponential delays of 8 ms on average, each datagram its own: about a third arrive out of order."""
    dice = Random(8)
    return sorted((number * PERIOD_NS + round(dice.expovariate(1 / 8e6)), number) for number in range(count))


def ours(arrivals: Arrivals, depth: int) -> Callable[[], int]:
    """Offer every arrival and drain once a period, as the follower's loop does."""
    stamps_s = [number * PERIOD_NS / 1e9 for number in range(len(arrivals))]
    setpoints = [Setpoint(joints_deg=(0.0,) * 6, timestamp_s=stamp_s) for stamp_s in stamps_s]
    config = PlayoutConfig(
        period_ns=PERIOD_NS, base_depth=depth, max_depth=depth, underrun_window_ns=2 * PERIOD_NS
    )

    def work() -> int:
        buffer = PlayoutBuffer(config)
        offer, drain = buffer.offer, buffer.drain_tick
        tick_ns = PERIOD_NS // 2
        for arrival_ns, number in arrivals:
            while tick_ns < arrival_ns:
                drain(tick_ns)
                tick_ns += buffer.drain_period_ns
            offer(number, setpoints[number], arrival_ns)
        if buffer.stats.stall_estops or buffer.stats.released < len(arrivals) - depth - 5:
            raise RuntimeError("the bench's stream did not play")
        return len(arrivals)

    return work


def theirs(arrivals: Arrivals, depth: int) -> Callable[[], int]:
    """Add every arrival; aiortc hands a frame out as soon as `depth` later ones are there."""
    packets = [_packet(number) for number in range(len(arrivals))]

    def work() -> int:
        buffer = JitterBuffer(capacity=AIORTC_CAPACITY, prefetch=depth)
        add = buffer.add
        frames = 0
        for _, number in arrivals:
            frames += add(packets[number])[1] is not None
        if frames < len(arrivals) // 2:
            raise RuntimeError("the peer's stream did not play")
        return len(arrivals)

    return work


def _packet(number: int) -> RtpPacket:
    packet = RtpPacket(payload_type=96, sequence_number=number & 0xFFFF, timestamp=number * 900)
    # Set by aiortc's depayloader, which this bench does not time.
    vars(packet)["_data"] = b""
    return packet


def run() -> Table:
    """Steady and reordered at depth 20, then steady at depths 1, 20 and 200."""
    rows: list[list[str]] = []
    figures: dict[str, float] = {}
    for name, arrivals in (("steady", steady(SETPOINTS)), ("reordered", reordered(SETPOINTS))):
        contenders = {"ours": ours(arrivals, 20)}
        contenders |= {f"prefetch_{prefetch}": theirs(arrivals, prefetch) for prefetch in PREFETCHES}
        costs = interleaved(contenders, REPETITIONS)
        figures[f"{name}_us"] = median(costs["ours"])
        for prefetch in PREFETCHES:
            peer = costs[f"prefetch_{prefetch}"]
            ratio = median_ratio(costs["ours"], peer)
            label = f"{name}, depth 20, aiortc at {prefetch}"
            rows.append([label, spread(costs["ours"]), spread(peer), f"{ratio:.2f}"])
            figures[f"{name}_aiortc_{prefetch}_us"] = median(peer)
            figures[f"{name}_ratio_to_aiortc_{prefetch}"] = ratio
    depths = {f"depth {depth}": ours(steady(SETPOINTS), depth) for depth in (1, 20, 200)}
    costs = interleaved(depths, REPETITIONS)
    for name, values in costs.items():
        rows.append([f"steady, {name}", spread(values), "", ""])
        figures[f"steady_{name.replace(' ', '_')}_us"] = median(values)
    return Table(
        name="playout_cost",
        title="µs per setpoint through offer and drain: median (least to most)",
        columns=["arrivals", "steadyhand", "aiortc", "ratio"],
        rows=rows,
        figures=figures,
    )
