"""The delay growth estimator: a queue is seen, a clock offset and jitter are not."""

import math
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from steadyhand.core.timing import TransitEstimator

MS = 1_000_000
S = 1_000_000_000


def feed(
    estimator: TransitEstimator, delays_ms: list[float], *, start_ns: int = 0, offset_s: float = 0.0
) -> int:
    """One datagram each 10 ms of sender time with the given delays; return the last arrival."""
    arrival_ns = start_ns
    for index, delay_ms in enumerate(delays_ms):
        sent_ns = start_ns + index * 10 * MS
        arrival_ns = sent_ns + round(delay_ms * MS)
        estimator.observe(arrival_ns=arrival_ns, sender_stamp_s=sent_ns / S + offset_s)
    return arrival_ns


def test_no_arrival_is_no_growth() -> None:
    assert TransitEstimator().growth_ms(5 * S) == 0.0


def test_a_constant_delay_is_no_growth_however_long_it_is() -> None:
    estimator = TransitEstimator()
    now_ns = feed(estimator, [300.0] * 500)
    assert estimator.growth_ms(now_ns) == 0.0


def test_a_queue_reads_as_the_delay_it_adds() -> None:
    estimator = TransitEstimator()
    feed(estimator, [20.0] * 300)
    now_ns = feed(estimator, [95.0] * 50, start_ns=3 * S)
    assert round(estimator.growth_ms(now_ns), 3) == 75.0


def test_a_growing_queue_is_seen_a_quarter_of_a_second_late() -> None:
    estimator = TransitEstimator()
    feed(estimator, [20.0] * 300)
    # 182 ms of queue a second: 1228 bytes at 100 Hz into 0.83 Mbit/s.
    now_ns = feed(estimator, [20.0 + 1.82 * step for step in range(100)], start_ns=3 * S)
    true_ms = 1.82 * 99
    # They come 11.82 ms apart: 154 ms of queue a second of the receiver's time.
    assert true_ms - 0.27 * 154 < estimator.growth_ms(now_ns) < true_ms - 0.22 * 154


@given(st.floats(-2e9, 2e9), st.lists(st.floats(0.0, 400.0), min_size=1, max_size=60))
@settings(max_examples=60)
def test_the_hosts_clock_offset_cancels(offset_s: float, delays_ms: list[float]) -> None:
    plain, shifted = TransitEstimator(), TransitEstimator()
    now_ns = feed(plain, delays_ms)
    feed(shifted, delays_ms, offset_s=offset_s)
    # A float of two billion seconds holds a stamp to half a microsecond.
    assert math.isclose(plain.growth_ms(now_ns), shifted.growth_ms(now_ns), abs_tol=0.001)


@given(st.lists(st.floats(0.0, 400.0), min_size=1, max_size=200), st.integers(0, 2 * S))
@settings(max_examples=60)
def test_growth_is_never_negative(delays_ms: list[float], later_ns: int) -> None:
    estimator = TransitEstimator()
    now_ns = feed(estimator, delays_ms)
    assert estimator.growth_ms(now_ns + later_ns) >= 0.0


def test_jitter_is_not_growth() -> None:
    rng = Random(3)
    estimator = TransitEstimator()
    delays_ms = [20.0 - 8.0 * math.log(1.0 - rng.random()) for _ in range(3000)]
    now_ns, worst_ms = 0, 0.0
    for index, delay_ms in enumerate(delays_ms):
        now_ns = max(now_ns, index * 10 * MS + round(delay_ms * MS))
        estimator.observe(arrival_ns=now_ns, sender_stamp_s=now_ns / S - delay_ms / 1e3)
        worst_ms = max(worst_ms, estimator.growth_ms(now_ns))
    assert worst_ms < 5.0


def test_a_longer_path_is_the_baseline_after_twenty_seconds() -> None:
    estimator = TransitEstimator()
    feed(estimator, [20.0] * 100)
    now_ns = feed(estimator, [60.0] * 1800, start_ns=S)
    assert round(estimator.growth_ms(now_ns)) == 40
    now_ns = feed(estimator, [60.0] * 300, start_ns=19 * S)
    assert estimator.growth_ms(now_ns) == 0.0


def test_a_shorter_path_is_the_baseline_at_once() -> None:
    estimator = TransitEstimator()
    feed(estimator, [60.0] * 100)
    now_ns = feed(estimator, [20.0], start_ns=S)
    assert estimator.growth_ms(now_ns) == 0.0


def test_one_part_in_ten_thousand_of_drift_reads_as_two_milliseconds() -> None:
    estimator = TransitEstimator()
    now_ns = feed(estimator, [20.0 + 0.001 * step for step in range(6000)])
    assert 1.8 < estimator.growth_ms(now_ns) < 2.1


def test_silence_counts_as_growth_from_half_a_second() -> None:
    estimator = TransitEstimator()
    now_ns = feed(estimator, [20.0] * 100)
    assert estimator.growth_ms(now_ns + 499 * MS) == 0.0
    assert estimator.growth_ms(now_ns + 500 * MS) == 500.0
    assert estimator.growth_ms(now_ns + 30 * S) == 30_000.0


def test_after_a_silence_the_first_arrival_speaks() -> None:
    estimator = TransitEstimator()
    now_ns = feed(estimator, [20.0] * 100)
    estimator.growth_ms(now_ns + 5 * S)
    now_ns = feed(estimator, [25.0], start_ns=now_ns + 5 * S)
    assert round(estimator.growth_ms(now_ns), 3) == 5.0


def test_a_stamp_that_is_not_finite_is_ignored() -> None:
    estimator = TransitEstimator()
    for stamp_s in (math.nan, math.inf, -math.inf):
        estimator.observe(arrival_ns=S, sender_stamp_s=stamp_s)
    assert estimator.growth_ms(2 * S) == 0.0


def test_a_reset_forgets_the_other_clock() -> None:
    estimator = TransitEstimator()
    feed(estimator, [20.0] * 100, offset_s=1000.0)
    estimator.reset()
    now_ns = feed(estimator, [20.0] * 100, start_ns=S, offset_s=-1000.0)
    assert estimator.growth_ms(now_ns) == 0.0
