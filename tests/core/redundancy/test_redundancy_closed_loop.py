"""Sender, a rate-limited first-in-first-out uplink, receiver, and the report back (R4).

400-byte states at 100 Hz, so up to three in a datagram of 1228 bytes with its UDP and IP headers:
0.34, 0.66 or 0.98 Mbit/s with none, one or two copies. Reports ten times a second. The sender's
stamps are an hour off the receiver's clock.
"""

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from random import Random
from typing import Literal

import msgspec
import pytest

from steadyhand.core.redundancy import (
    DatagramLossEstimator,
    ReceiverReport,
    RedundancyController,
)
from steadyhand.core.timing import TransitEstimator

MS = 1_000_000
S = 1_000_000_000
PERIOD_NS = 10 * MS
ONE_WAY_NS = 20 * MS
REPORT_EVERY = 10
STATE_BYTES = 400
HEADER_BYTES = 28
CLOCK_OFFSET_S = -3600.0

UPLINK_BPS = 830_000.0
FAST_BPS = 10e6


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """What one run showed."""

    queue_ms: list[float]
    copies: list[int]
    unrepaired: int


class Uplink:
    """A bottleneck with an endless first-in-first-out queue, then constant delay and random loss."""

    def __init__(self, rate_bps: Callable[[float], float], loss: float, rng: Random) -> None:
        self._rate_bps = rate_bps
        self._loss = loss
        self._rng = rng
        self._free_ns = 0

    def send(self, now_ns: int, size_bytes: int) -> tuple[int, int | None]:
        """Return how long this datagram waits and is served, and when it arrives, if it does."""
        served_ns = round(size_bytes * 8 * S / self._rate_bps(now_ns / S))
        self._free_ns = max(self._free_ns, now_ns) + served_ns
        lost = self._rng.random() < self._loss
        return self._free_ns - now_ns, None if lost else self._free_ns + ONE_WAY_NS


def run(
    redundancy: Literal["auto"] | int,
    rate_bps: float | Callable[[float], float],
    *,
    loss: float = 0.0,
    seconds: int = 60,
    jitter_ms: float = 0.0,
    drift: float = 0.0,
    seed: int = 1,
) -> Run:
    rng = Random(seed)
    uplink = Uplink(rate_bps if callable(rate_bps) else lambda _: float(rate_bps), loss, rng)
    controller = RedundancyController(redundancy)
    growth, lost = TransitEstimator(), DatagramLossEstimator()
    flying: list[tuple[int, int, float, int]] = []
    reports: deque[tuple[int, ReceiverReport]] = deque()
    queue_ms: list[float] = []
    copies_sent: list[int] = []
    seen: set[int] = set()
    for seq in range(seconds * 100):
        now_ns = seq * PERIOD_NS
        while reports and reports[0][0] <= now_ns:
            controller.on_report(reports.popleft()[1], now_ns)
        history = [STATE_BYTES] * min(seq, 10)
        copies = controller.copies(current_bytes=STATE_BYTES, previous_bytes=history, now_ns=now_ns)
        waits_ns, arrival_ns = uplink.send(now_ns, HEADER_BYTES + STATE_BYTES * (1 + copies))
        queue_ms.append(waits_ns / MS)
        copies_sent.append(copies)
        if arrival_ns is not None:
            arrival_ns += round(jitter_ms * rng.random() * 2 * MS)
            heappush(flying, (arrival_ns, seq, now_ns / S * (1 + drift) + CLOCK_OFFSET_S, copies))
        while flying and flying[0][0] <= now_ns:
            arrival_ns, arrived, stamp_s, with_copies = heappop(flying)
            growth.observe(arrival_ns=arrival_ns, sender_stamp_s=stamp_s)
            lost.observe(arrived)
            seen.update(range(arrived - with_copies, arrived + 1))
        if seq % REPORT_EVERY == 0:
            said = ReceiverReport(loss_pct=lost.loss_pct, delay_growth_ms=growth.growth_ms(now_ns))
            reports.append((now_ns + ONE_WAY_NS, said))
    known = max(seen) - 50
    return Run(queue_ms=queue_ms, copies=copies_sent, unrepaired=sum(seq not in seen for seq in range(known)))


def bound_ms(copies: int, rate_bps: float) -> float:
    """What the queue may reach before too many copies are shed: 30 ms that must be seen, and what
    flows in beyond the rate while window, report and way back pass; plus the datagram's own time."""
    size_bytes = HEADER_BYTES + STATE_BYTES * (1 + copies)
    overload = size_bytes * 8 * 100 / rate_bps - 1
    reaction_ms = 250 + 12.5 + PERIOD_NS / MS * (1 + REPORT_EVERY) + 2 * ONE_WAY_NS / MS
    return 30 + overload * reaction_ms + size_bytes * 8 / rate_bps * 1e3


def test_a_fixed_full_bundle_builds_a_queue_of_seconds() -> None:
    fixed = run(10, UPLINK_BPS)
    assert set(fixed.copies[10:]) == {2}
    assert fixed.queue_ms[-1] > 10_000.0
    assert fixed.queue_ms[-1] > fixed.queue_ms[-1000] > fixed.queue_ms[-2000], "and it never stops growing"


def test_auto_leaves_a_clean_narrow_uplink_without_a_queue() -> None:
    auto = run("auto", UPLINK_BPS)
    assert max(auto.queue_ms) < 10.0, "one datagram's own time on the wire"
    assert set(auto.copies[10:]) == {1}


@pytest.mark.parametrize("seed", range(1, 6))
def test_auto_keeps_the_queue_bounded_though_loss_calls_for_more(seed: int) -> None:
    auto = run("auto", UPLINK_BPS, loss=0.05, seconds=120, seed=seed)
    assert max(auto.queue_ms) < bound_ms(2, UPLINK_BPS) < 120.0
    assert sorted(auto.queue_ms)[len(auto.queue_ms) // 2] < 10.0
    assert max(auto.copies) == 2, "it tried"
    assert sum(auto.copies[-6000:]) / 6000 > 0.9, "and kept the one copy that fits"


def test_auto_gives_up_the_last_copy_where_one_is_too_many() -> None:
    auto = run("auto", 500_000.0, loss=0.05, seconds=120)
    assert max(auto.queue_ms) < bound_ms(1, 500_000.0) < 180.0
    assert sum(auto.copies[-6000:]) / 6000 < 0.1


@pytest.mark.parametrize("seed", range(1, 6))
def test_five_percent_random_loss_without_congestion_goes_full(seed: int) -> None:
    auto = run("auto", FAST_BPS, loss=0.05, seed=seed)
    none = run(0, FAST_BPS, loss=0.05, seed=seed)
    full_after = auto.copies.index(2) / 100
    assert full_after < 3.0
    assert set(auto.copies[300:]) == {2}, "and stays full"
    assert auto.unrepaired * 20 < none.unrepaired


def test_reordering_without_loss_calls_for_nothing() -> None:
    auto = run("auto", FAST_BPS, jitter_ms=16.0)
    assert set(auto.copies[10:]) == {1}


def test_on_an_uplink_that_swings_auto_adds_under_a_second_to_what_no_copies_would_wait() -> None:
    """0.83 Mbit/s in the mean, 0.2 to 1.46 for two seconds each: at times too little for any state."""
    rng = Random(5)
    steps_bps = [200_000.0 + 1_260_000.0 * rng.random() for _ in range(61)]

    def rate_bps(t_s: float) -> float:
        return steps_bps[int(t_s / 2)]

    auto, none, fixed = (run(mode, rate_bps, loss=0.05, seconds=120) for mode in ("auto", 0, 10))
    assert max(fixed.queue_ms) > 10_000.0
    assert max(auto.queue_ms) < max(none.queue_ms) + 1_000.0


@pytest.mark.parametrize("drift", [-1e-3, -1e-4, 1e-4, 1e-3])
def test_a_thousand_ppm_of_drift_costs_no_copies(drift: float) -> None:
    auto = run("auto", FAST_BPS, loss=0.05, seconds=40, drift=drift)
    assert set(auto.copies[300:]) == {2}
