"""Delay, jitter and the line order of a link."""

import itertools
from math import exp, log, sqrt
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyhand.core.link import PROFILES, Link, LinkProfile, Outage

TICK_NS = 10_000_000
MS = 1_000_000


def delays_ms(profile: LinkProfile, *, count: int = 40_000, seed: int = 1) -> list[float]:
    """One-way delays of what arrives, sent every 10 ms."""
    link = Link(profile, Random(seed))
    sent = ((tick * TICK_NS, link.send(tick * TICK_NS)) for tick in range(count))
    return [(arrivals[0] - now_ns) / MS for now_ns, arrivals in sent if arrivals]


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def quantile(values: list[float], share: float) -> float:
    return sorted(values)[int(share * len(values))]


def correlation(values: list[float]) -> float:
    """Of each value with the next."""
    middle = mean(values)
    square = mean([(value - middle) ** 2 for value in values])
    return mean([(a - middle) * (b - middle) for a, b in itertools.pairwise(values)]) / square


def test_a_constant_delay_is_exact() -> None:
    link = Link(LinkProfile(delay_ms=12.5), Random(0))
    assert link.send(7) == (12_500_007,)
    assert link.send(7) == (12_500_007,)
    assert link.send(10 * MS) == (22_500_000,)


def test_an_ideal_link_delivers_at_once_and_draws_nothing() -> None:
    rng = Random(3)
    untouched = Random(3).random()
    link = Link(LinkProfile(), rng)
    assert [link.send(tick) for tick in range(3)] == [(0,), (1,), (2,)]
    assert rng.random() == untouched


def test_exponential_jitter_adds_its_mean_and_has_its_shape() -> None:
    values = delays_ms(LinkProfile(delay_ms=40.0, jitter_ms=8.0, reorder=True))
    assert min(values) >= 40.0
    assert mean(values) == pytest.approx(48.0, abs=0.15)
    assert quantile(values, 0.5) == pytest.approx(40.0 + 8.0 * log(2.0), abs=0.15)
    assert quantile(values, 0.99) == pytest.approx(40.0 + 8.0 * log(100.0), rel=0.03)


def test_pareto_jitter_adds_its_mean_and_a_heavy_tail() -> None:
    values = delays_ms(LinkProfile(delay_ms=40.0, jitter="pareto", jitter_ms=8.0, reorder=True))
    assert min(values) >= 40.0
    assert mean(values) == pytest.approx(48.0, abs=0.5)
    # Survival of Lomax with shape 3 and mean 8: (1 + x/16)^-3.
    assert quantile(values, 0.5) == pytest.approx(40.0 + 16.0 * (2.0 ** (1 / 3) - 1.0), abs=0.15)
    assert quantile(values, 0.999) == pytest.approx(40.0 + 16.0 * (1000.0 ** (1 / 3) - 1.0), rel=0.15)


def test_normal_jitter_is_centred_with_the_given_deviation() -> None:
    values = delays_ms(LinkProfile(delay_ms=40.0, jitter="normal", jitter_ms=5.0, reorder=True))
    middle = mean(values)
    assert middle == pytest.approx(40.0, abs=0.1)
    assert sqrt(mean([(value - middle) ** 2 for value in values])) == pytest.approx(5.0, abs=0.1)


def test_normal_jitter_never_arrives_before_it_was_sent() -> None:
    values = delays_ms(LinkProfile(delay_ms=1.0, jitter="normal", jitter_ms=20.0, reorder=True), count=2000)
    assert min(values) == 0.0


@pytest.mark.parametrize("wanted", [0.0, 0.5, 0.9])
def test_normal_jitter_correlates_as_asked(wanted: float) -> None:
    profile = LinkProfile(
        delay_ms=100.0, jitter="normal", jitter_ms=5.0, jitter_correlation=wanted, reorder=True
    )
    assert correlation(delays_ms(profile)) == pytest.approx(wanted, abs=0.03)


def test_correlation_leaves_the_distribution_as_it_is() -> None:
    values = delays_ms(LinkProfile(jitter="exponential", jitter_ms=8.0, jitter_correlation=0.6, reorder=True))
    assert correlation(values) > 0.5
    assert mean(values) == pytest.approx(8.0, abs=0.3)
    share_over_20_ms = mean([float(value > 20.0) for value in values])
    assert share_over_20_ms == pytest.approx(exp(-20.0 / 8.0), abs=0.01)


def test_a_link_is_first_in_first_out_unless_told_otherwise() -> None:
    in_order = [arrivals[0] for arrivals in _arrivals(LinkProfile(jitter_ms=30.0))]
    assert in_order == sorted(in_order)
    free = [arrivals[0] for arrivals in _arrivals(LinkProfile(jitter_ms=30.0, reorder=True))]
    assert free != sorted(free)


def test_first_in_first_out_only_ever_delays() -> None:
    ordered = _arrivals(LinkProfile(jitter_ms=30.0))
    free = _arrivals(LinkProfile(jitter_ms=30.0, reorder=True))
    latest = 0
    for one, other in zip(ordered, free, strict=True):
        latest = max(latest, other[0])
        assert one[0] == latest


def _arrivals(profile: LinkProfile) -> list[tuple[int, ...]]:
    link = Link(profile, Random(5))
    return [link.send(tick * TICK_NS) for tick in range(500)]


def test_the_same_seed_gives_the_same_arrivals() -> None:
    for profile in PROFILES.values():
        runs = [
            [link.send(tick * TICK_NS, 400) for tick in range(3000)]
            for link in (Link(profile, Random(11)), Link(profile, Random(11)))
        ]
        assert runs[0] == runs[1]


def test_another_seed_gives_other_arrivals() -> None:
    assert delays_ms(PROFILES["wifi"], count=50, seed=1) != delays_ms(PROFILES["wifi"], count=50, seed=2)


class CountingDice(Random):
    """Dice on which every method but `random` is an error (R17)."""

    def getrandbits(self, k: int, /) -> int:
        raise AssertionError("only random() may be called")

    def gauss(self, mu: float = 0.0, sigma: float = 1.0) -> float:
        raise AssertionError("only random() may be called")


def test_only_random_is_asked_of_the_dice() -> None:
    for profile in PROFILES.values():
        link = Link(profile, CountingDice(1))
        assert sum(len(link.send(tick * TICK_NS, 400)) for tick in range(300)) > 200


def test_time_that_goes_back_is_the_callers_mistake() -> None:
    link = Link(LinkProfile(), Random(0))
    link.send(1000)
    with pytest.raises(ValueError, match="sent at 999 after 1000"):
        link.send(999)
    with pytest.raises(ValueError, match="-1 bytes"):
        link.send(1000, -1)


def test_the_link_starts_with_its_first_datagram_unless_told() -> None:
    outage = LinkProfile(outages=(Outage(start_ms=0.0, duration_ms=10.0),))
    assert Link(outage, Random(0)).send(500 * MS) == ()
    assert Link(outage, Random(0), start_ns=0).send(500 * MS) == (500 * MS,)


profiles = st.builds(
    LinkProfile,
    delay_ms=st.floats(0.0, 300.0),
    jitter=st.sampled_from(["exponential", "normal", "pareto"]),
    jitter_ms=st.floats(0.0, 100.0),
    jitter_correlation=st.floats(0.0, 0.99),
    loss=st.floats(0.0, 0.5),
    ge_enter_bad=st.floats(0.0, 0.2),
    ge_leave_bad=st.floats(0.0, 1.0),
    duplicate=st.floats(0.0, 1.0),
    rate_kbit_s=st.sampled_from([0.0, 300.0, 5000.0]),
    queue_ms=st.floats(0.0, 500.0),
    queue_bytes=st.sampled_from([0, 2000]),
    outages=st.lists(
        st.builds(Outage, start_ms=st.floats(0.0, 500.0), duration_ms=st.floats(1.0, 300.0)), max_size=3
    ).map(tuple),
    outage_every_ms=st.just(150.0),
    outage_ms=st.floats(1.0, 50.0),
    outage_max_ms=st.just(60.0),
    outage_random=st.booleans(),
    outage_burst=st.booleans(),
)
steps_ns = st.lists(st.integers(0, 40 * MS), min_size=1, max_size=60)


@settings(max_examples=150, deadline=None)
@given(profile=profiles, steps=steps_ns, seed=st.integers(0, 2**32), start_ns=st.integers(0, 10**18))
def test_whatever_the_profile_order_and_causality_hold(
    profile: LinkProfile, steps: list[int], seed: int, start_ns: int
) -> None:
    link = Link(profile, Random(seed))
    now_ns, latest_ns = start_ns, 0
    for step_ns in steps:
        now_ns += step_ns
        arrivals = link.send(now_ns, 400)
        assert len(arrivals) <= 2
        assert list(arrivals) == sorted(arrivals)
        for arrival_ns in arrivals:
            assert arrival_ns >= now_ns
            # First in, first out, duplicates included.
            assert arrival_ns >= latest_ns
            latest_ns = arrival_ns
