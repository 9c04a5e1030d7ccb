"""When a dead process is started again."""

import pytest

from steadyhand.nodes.follower.restarts import (
    DEATHS_TO_GIVE_UP,
    LONGEST_DELAY_NS,
    WINDOW_NS,
    GiveUp,
    Restart,
    RestartRule,
)

MS = 1_000_000
S = 1_000 * MS


def test_a_first_death_is_followed_by_a_start_at_once() -> None:
    assert RestartRule().note_death(7 * S) == Restart(7 * S)


def test_each_further_death_waits_twice_as_long_and_the_fifth_is_the_last() -> None:
    rule = RestartRule()
    decisions = [rule.note_death(at_ns) for at_ns in (1 * S, 2 * S, 3 * S, 4 * S, 5 * S)]
    assert decisions == [
        Restart(1 * S),
        Restart(2 * S + 250 * MS),
        Restart(3 * S + 500 * MS),
        Restart(4 * S + 1000 * MS),
        GiveUp(DEATHS_TO_GIVE_UP),
    ]
    assert rule.deaths == 5


def test_deaths_of_long_ago_are_forgotten() -> None:
    rule = RestartRule()
    for number in range(20):
        now_ns = number * WINDOW_NS
        assert rule.note_death(now_ns) == Restart(now_ns)
    assert rule.deaths == 20


@pytest.mark.parametrize(("before_ns", "gives_up"), [(1, True), (0, False)])
def test_the_windows_edge(before_ns: int, gives_up: bool) -> None:
    rule = RestartRule()
    for _ in range(DEATHS_TO_GIVE_UP - 1):
        rule.note_death(S)
    assert isinstance(rule.note_death(S + WINDOW_NS - before_ns), GiveUp) is gives_up


def test_no_delay_is_longer_than_the_longest() -> None:
    rule = RestartRule()
    for number in range(DEATHS_TO_GIVE_UP - 1):
        decision = rule.note_death(number)
        assert isinstance(decision, Restart)
        assert decision.at_ns - number <= LONGEST_DELAY_NS
