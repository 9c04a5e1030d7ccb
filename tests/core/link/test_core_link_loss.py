"""Loss, bursts of loss, duplication."""

from random import Random

import pytest

from steadyhand.core.link import Link, LinkProfile
from steadyhand.core.link.loss import gilbert_elliott_loss

TICK_NS = 10_000_000


def fates(profile: LinkProfile, *, count: int = 60_000, seed: int = 1) -> list[int]:
    """How many copies of each datagram arrived."""
    link = Link(profile, Random(seed))
    return [len(link.send(tick * TICK_NS)) for tick in range(count)]


def spells(copies: list[int]) -> list[int]:
    """Lengths of the runs of consecutive losses."""
    lengths: list[int] = []
    run = 0
    for arrived in copies:
        if arrived == 0:
            run += 1
        elif run:
            lengths.append(run)
            run = 0
    return lengths


def test_independent_loss_has_its_share() -> None:
    assert fates(LinkProfile(loss=0.05)).count(0) / 60_000 == pytest.approx(0.05, abs=0.004)


def test_independent_loss_comes_alone() -> None:
    runs = spells(fates(LinkProfile(loss=0.05)))
    assert sum(runs) / len(runs) == pytest.approx(1 / 0.95, abs=0.03)


def test_gilbert_elliott_loses_its_stationary_share() -> None:
    profile = LinkProfile(ge_enter_bad=0.02, ge_leave_bad=0.2, ge_loss_bad=0.8, ge_loss_good=0.01)
    expected = (0.02 * 0.8 + 0.2 * 0.01) / 0.22
    assert gilbert_elliott_loss(profile) == pytest.approx(expected)
    assert fates(profile).count(0) / 60_000 == pytest.approx(expected, abs=0.006)


def test_gilbert_elliott_loses_in_bursts_of_mean_one_over_leave() -> None:
    runs = spells(fates(LinkProfile(ge_enter_bad=0.02, ge_leave_bad=0.25)))
    assert sum(runs) / len(runs) == pytest.approx(4.0, abs=0.35)
    assert max(runs) > 10


def test_a_chain_that_never_leaves_bad_ends_the_link() -> None:
    copies = fates(LinkProfile(ge_enter_bad=0.5, ge_leave_bad=0.0), count=200)
    first_lost = copies.index(0)
    assert not any(copies[first_lost:])


def test_a_chain_that_never_turns_loses_its_good_share() -> None:
    profile = LinkProfile(ge_enter_bad=0.0, ge_leave_bad=0.0, ge_loss_good=0.1)
    assert gilbert_elliott_loss(profile) == 0.1
    assert fates(profile).count(0) / 60_000 == pytest.approx(0.1, abs=0.005)


def test_a_datagram_must_survive_both_kinds_of_loss() -> None:
    profile = LinkProfile(loss=0.1, ge_enter_bad=0.05, ge_leave_bad=0.45)
    assert fates(profile).count(0) / 60_000 == pytest.approx(1.0 - 0.9 * 0.9, abs=0.01)


def test_everything_lost_is_possible() -> None:
    assert not any(fates(LinkProfile(loss=1.0), count=1000))


def test_a_share_of_what_arrives_arrives_twice() -> None:
    copies = fates(LinkProfile(duplicate=0.1, loss=0.2))
    arrived = [count for count in copies if count]
    assert arrived.count(2) / len(arrived) == pytest.approx(0.1, abs=0.006)


def test_a_copy_has_its_own_jitter_and_the_pair_is_told_in_order() -> None:
    link = Link(LinkProfile(jitter_ms=5.0, duplicate=1.0, reorder=True), Random(2))
    pairs = [link.send(tick * TICK_NS) for tick in range(200)]
    assert all(first <= second for first, second in pairs)
    assert all(first != second for first, second in pairs)


def test_a_first_in_first_out_link_keeps_the_next_behind_the_copy() -> None:
    link = Link(LinkProfile(jitter_ms=50.0, duplicate=1.0), Random(2))
    flat = [arrival for tick in range(200) for arrival in link.send(tick * TICK_NS)]
    assert flat == sorted(flat)
