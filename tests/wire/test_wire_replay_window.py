"""Each counter once: the window against a naive model that remembers everything."""

import itertools
import random

import pytest

from steadyhand.wire import replay_window
from steadyhand.wire.replay_window import REPLAY_WINDOW, Freshness, ReplayWindow


class NaiveWindow:
    """A set of all that was accepted: obviously right, and grows for ever."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.accepted: set[int] = set()

    def judge(self, counter: int) -> Freshness:
        if self.accepted and max(self.accepted) - counter >= self.size:
            return Freshness.STALE
        return Freshness.REPLAYED if counter in self.accepted else Freshness.FRESH

    def accept(self, counter: int) -> None:
        self.accepted.add(counter)


def _agree(window: ReplayWindow, model: NaiveWindow, counter: int) -> None:
    verdict = window.judge(counter)
    assert verdict is model.judge(counter), counter
    if verdict is Freshness.FRESH:
        window.accept(counter)
        model.accept(counter)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_every_walk_of_six_counters_agrees_with_the_naive_model(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay_window, "REPLAY_WINDOW", size)
    monkeypatch.setattr(replay_window, "_MASK", (1 << size) - 1)
    for walk in itertools.product(range(6), repeat=6):
        window, model = ReplayWindow(), NaiveWindow(size)
        for counter in walk:
            _agree(window, model, counter)


@pytest.mark.parametrize("spread", [3, 40, 1100, 5000])
def test_long_random_walks_agree_with_the_naive_model(spread: int) -> None:
    dice = random.Random(spread)
    window, model = ReplayWindow(), NaiveWindow(REPLAY_WINDOW)
    centre = 0
    for _ in range(1500):
        centre += dice.randrange(3)
        _agree(window, model, max(0, centre + dice.randrange(-spread, spread)))


def test_the_window_begins_with_everything_fresh() -> None:
    window = ReplayWindow()
    assert window.judge(0) is Freshness.FRESH
    assert window.judge((1 << 64) - 1) is Freshness.FRESH


def test_the_edge_of_the_window_is_exact() -> None:
    window = ReplayWindow()
    window.accept(5000)
    assert window.judge(5000 - REPLAY_WINDOW + 1) is Freshness.FRESH
    assert window.judge(5000 - REPLAY_WINDOW) is Freshness.STALE
    window.accept(5000 - REPLAY_WINDOW + 1)
    assert window.judge(5000 - REPLAY_WINDOW + 1) is Freshness.REPLAYED


def test_a_leap_to_the_end_of_the_counter_costs_nothing() -> None:
    window = ReplayWindow()
    window.accept(0)
    window.accept((1 << 64) - 1)
    assert window.judge(0) is Freshness.STALE
    assert window.judge((1 << 64) - 1) is Freshness.REPLAYED


def test_judging_alone_changes_nothing() -> None:
    window = ReplayWindow()
    window.accept(10)
    assert window.judge(1_000_000) is Freshness.FRESH
    assert window.judge(9) is Freshness.FRESH
    assert window.judge(10) is Freshness.REPLAYED
