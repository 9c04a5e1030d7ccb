"""The door of a link: outages and the queue of a bottleneck."""

from math import inf
from random import Random

import pytest

from steadyhand.core.link import Link, LinkProfile, Outage

MS = 1_000_000
TICK_NS = 10 * MS


def arrivals_ms(
    profile: LinkProfile, *, count: int, size_bytes: int = 0, seed: int = 1
) -> list[float | None]:
    """Arrival of each datagram sent every 10 ms, None where lost."""
    link = Link(profile, Random(seed))
    answers = [link.send(tick * TICK_NS, size_bytes) for tick in range(count)]
    return [answer[0] / MS if answer else None for answer in answers]


def test_what_is_sent_during_an_outage_is_lost() -> None:
    profile = LinkProfile(delay_ms=5.0, outages=(Outage(start_ms=20.0, duration_ms=20.0),))
    assert arrivals_ms(profile, count=6) == [5.0, 15.0, None, None, 45.0, 55.0]


def test_what_entered_before_an_outage_still_arrives() -> None:
    profile = LinkProfile(delay_ms=100.0, outages=(Outage(start_ms=20.0, duration_ms=20.0),))
    assert arrivals_ms(profile, count=2) == [100.0, 110.0]


def test_an_outage_with_burst_holds_and_delivers_all_at_its_end() -> None:
    profile = LinkProfile(delay_ms=5.0, outages=(Outage(start_ms=20.0, duration_ms=25.0),), outage_burst=True)
    assert arrivals_ms(profile, count=6) == [5.0, 15.0, 50.0, 50.0, 50.0, 55.0]


def test_the_burst_keeps_its_order_on_a_link_that_reorders_by_nothing() -> None:
    profile = LinkProfile(outages=(Outage(start_ms=0.0, duration_ms=25.0),), outage_burst=True, reorder=True)
    assert arrivals_ms(profile, count=4) == [25.0, 25.0, 25.0, 30.0]


def test_overlapping_and_touching_outages_are_one() -> None:
    windows = (
        Outage(start_ms=60.0, duration_ms=10.0),
        Outage(start_ms=10.0, duration_ms=30.0),
        Outage(start_ms=30.0, duration_ms=30.0),
        Outage(start_ms=15.0, duration_ms=5.0),
    )
    held = arrivals_ms(LinkProfile(outages=windows, outage_burst=True), count=9)
    assert held == [0.0, 70.0, 70.0, 70.0, 70.0, 70.0, 70.0, 70.0, 80.0]
    lost = arrivals_ms(LinkProfile(outages=windows), count=9)
    assert lost == [0.0, None, None, None, None, None, None, 70.0, 80.0]


def test_a_gap_between_two_outages_is_open() -> None:
    windows = (Outage(start_ms=10.0, duration_ms=5.0), Outage(start_ms=25.0, duration_ms=10.0))
    held = arrivals_ms(LinkProfile(outages=windows, outage_burst=True), count=5)
    assert held == [0.0, 15.0, 20.0, 35.0, 40.0]


def test_an_endless_outage_loses_everything_burst_or_not() -> None:
    for burst in (False, True):
        profile = LinkProfile(outages=(Outage(start_ms=20.0, duration_ms=inf),), outage_burst=burst)
        assert arrivals_ms(profile, count=5) == [0.0, 10.0, None, None, None]


def test_an_endless_outage_does_not_reopen_one_that_leads_into_it() -> None:
    # 40 to 70 planned, 65 to 80 recurring, from 75 planned without end: one outage from 40 on.
    profile = LinkProfile(
        outages=(Outage(start_ms=40.0, duration_ms=30.0), Outage(start_ms=75.0, duration_ms=inf)),
        outage_every_ms=65.0,
        outage_ms=15.0,
        outage_burst=True,
    )
    assert arrivals_ms(profile, count=9) == [0.0, 10.0, 20.0, 30.0, None, None, None, None, None]


def test_recurring_outages_keep_their_quiet_time() -> None:
    profile = LinkProfile(outage_every_ms=30.0, outage_ms=20.0)
    lost = [answer is None for answer in arrivals_ms(profile, count=10)]
    assert lost == [False, False, False, True, True, False, False, False, True, True]


def test_random_outages_have_their_mean_quiet_time_and_lengths_between_the_two() -> None:
    profile = LinkProfile(
        outage_every_ms=500.0, outage_random=True, outage_ms=60.0, outage_max_ms=150.0, outage_burst=True
    )
    link = Link(profile, Random(4))
    stalls_ms: list[float] = []
    end_ns = 0
    for tick in range(300_000):
        (arrival_ns,) = link.send(tick * MS)
        if arrival_ns > max(end_ns, tick * MS):
            end_ns = arrival_ns
            stalls_ms.append(arrival_ns / MS - tick)
    assert len(stalls_ms) == pytest.approx(300_000 / 605.0, rel=0.12)
    assert sum(stalls_ms) / len(stalls_ms) == pytest.approx(105.0, abs=4.0)
    assert min(stalls_ms) > 58.0
    assert max(stalls_ms) <= 150.0


def test_the_bottleneck_serves_in_turn_at_its_rate() -> None:
    # 1000 bytes at 400 kbit/s take 20 ms, sent every 10 ms: each waits 10 ms longer.
    profile = LinkProfile(delay_ms=5.0, rate_kbit_s=400.0)
    assert arrivals_ms(profile, count=5, size_bytes=1000) == [25.0, 45.0, 65.0, 85.0, 105.0]


def test_a_bottleneck_with_room_adds_only_the_serving_time() -> None:
    profile = LinkProfile(rate_kbit_s=1000.0)
    assert arrivals_ms(profile, count=3, size_bytes=500) == [4.0, 14.0, 24.0]


def test_a_full_queue_drops_the_newest() -> None:
    # 40 ms at 400 kbit/s are 2000 bytes: the one in service and one behind it.
    profile = LinkProfile(rate_kbit_s=400.0, queue_ms=40.0)
    assert arrivals_ms(profile, count=8, size_bytes=1000) == [20.0, 40.0, 60.0, None, 80.0, None, 100.0, None]


def test_the_queueing_delay_is_bounded_by_the_queue() -> None:
    profile = LinkProfile(rate_kbit_s=100.0, queue_ms=500.0)
    waits = [
        answer - 10.0 * tick
        for tick, answer in enumerate(arrivals_ms(profile, count=2000, size_bytes=400))
        if answer is not None
    ]
    assert max(waits) <= 500.0
    assert max(waits) > 460.0
    # 320 kbit/s offered, 100 served.
    assert len(waits) / 2000 == pytest.approx(100 / 320, abs=0.02)


def test_a_queue_given_in_bytes_overrides_its_time() -> None:
    profile = LinkProfile(rate_kbit_s=400.0, queue_ms=1000.0, queue_bytes=2000)
    answers = arrivals_ms(profile, count=8, size_bytes=1000)
    assert answers == [20.0, 40.0, 60.0, None, 80.0, None, 100.0, None]


def test_an_empty_queue_takes_any_datagram() -> None:
    profile = LinkProfile(rate_kbit_s=400.0, queue_ms=0.0)
    assert arrivals_ms(profile, count=4, size_bytes=1000) == [20.0, None, 40.0, None]


def test_a_queue_in_bytes_bounds_what_an_outage_holds() -> None:
    profile = LinkProfile(
        queue_bytes=1000, outages=(Outage(start_ms=0.0, duration_ms=45.0),), outage_burst=True
    )
    assert arrivals_ms(profile, count=6, size_bytes=400) == [45.0, 45.0, None, None, None, 50.0]


def test_a_held_burst_leaves_a_bottleneck_at_its_rate() -> None:
    profile = LinkProfile(
        rate_kbit_s=400.0, outages=(Outage(start_ms=0.0, duration_ms=35.0),), outage_burst=True
    )
    assert arrivals_ms(profile, count=5, size_bytes=100) == [37.0, 39.0, 41.0, 43.0, 45.0]
