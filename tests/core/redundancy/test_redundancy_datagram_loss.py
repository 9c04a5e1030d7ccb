"""The datagram loss estimator: what never came, not what came late or twice."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from steadyhand.core.redundancy import DatagramLossEstimator


def after(counters: list[int]) -> float:
    estimator = DatagramLossEstimator()
    for counter in counters:
        estimator.observe(counter)
    return estimator.loss_pct


def test_nothing_lost_is_no_loss() -> None:
    assert after(list(range(1000))) == 0.0


def test_five_percent_reads_as_five_percent() -> None:
    rng = Random(1)
    estimator = DatagramLossEstimator()
    readings = []
    for counter in range(20_000):
        if rng.random() >= 0.05:
            estimator.observe(counter)
        readings.append(estimator.loss_pct)
    assert 4.5 < sum(readings[1000:]) / len(readings[1000:]) < 5.5


def test_one_lost_datagram_reads_as_its_weight_once_it_is_overdue() -> None:
    counters = [counter for counter in range(132) if counter != 50]
    assert after(counters[:80]) == 0.0
    assert 0.0 < after(counters[:82]) <= 2.0


@given(st.lists(st.integers(0, 30), min_size=80, max_size=120), st.integers(0, 2**40))
@settings(max_examples=60)
def test_reordering_within_the_window_is_no_loss(lateness: list[int], first: int) -> None:
    order = sorted(range(len(lateness)), key=lambda index: (index + lateness[index], index))
    settled = [first + len(lateness) + index for index in range(40)]
    # The first to come is where counting starts.
    assert after([first - 1, *(first + index for index in order), *settled]) == 0.0


@given(st.lists(st.integers(0, 200), max_size=300))
@settings(max_examples=60)
def test_duplicates_change_nothing(counters: list[int]) -> None:
    doubled = [counter for counter in counters for _ in range(2)]
    assert after(doubled) == after(counters)


@given(st.lists(st.integers(-(2**40), 2**40), max_size=60))
@settings(max_examples=60)
def test_any_numbers_give_a_percentage(counters: list[int]) -> None:
    assert 0.0 <= after(counters) <= 100.0


def test_a_new_numbering_is_not_loss() -> None:
    assert after([*range(100), *range(2**31, 2**31 + 100)]) == 0.0
    assert after([*range(10_000, 10_100), *range(100)]) == 0.0


def test_an_outage_of_five_seconds_is_loss() -> None:
    assert after([*range(100), *range(600, 640)]) > 50.0
