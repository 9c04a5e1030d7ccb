"""The redundancy controller's rules, one test each, named as they are."""

import itertools
import math
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyhand.core.redundancy import (
    ADAPT_LADDER,
    ReceiverReport,
    RedundancyController,
    RedundancyTuning,
    copies_that_fit,
)

MS = 1_000_000
S = 1_000_000_000
SMALL = [100] * 10
LARGE = [400] * 10


def controller(redundancy: Literal["auto"] | int = "auto") -> RedundancyController:
    return RedundancyController(redundancy)


def answer(subject: RedundancyController, now_ns: int, sizes: list[int] = SMALL) -> int:
    return subject.copies(current_bytes=sizes[0], previous_bytes=sizes, now_ns=now_ns)


def report(
    subject: RedundancyController,
    start_ns: int,
    seconds: float,
    *,
    loss_pct: float = 0.0,
    growth_ms: float = 0.0,
    sizes: list[int] = SMALL,
) -> int:
    """Report the same figures every 100 ms for a while, with a bundle sent each time."""
    now_ns = start_ns
    for _ in range(round(seconds * 10)):
        now_ns += 100 * MS
        subject.on_report(ReceiverReport(loss_pct=loss_pct, delay_growth_ms=growth_ms), now_ns)
        answer(subject, now_ns, sizes)
    return now_ns


def full(sizes: list[int] = SMALL) -> tuple[RedundancyController, int]:
    """A controller that loss has driven full, and the time."""
    subject = controller()
    answer(subject, 0, sizes)
    return subject, report(subject, 0, 10, loss_pct=5.0, sizes=sizes)


# What fits.


def test_as_many_as_fit_without_a_gap() -> None:
    assert copies_that_fit(400, [400] * 10, 1200) == 2
    assert copies_that_fit(400, [400, 401], 1200) == 1
    assert copies_that_fit(400, [900, 1], 1200) == 0, "an older copy never replaces a newer one"
    assert copies_that_fit(1201, [1], 1200) == 0
    assert copies_that_fit(1, [1] * 50, 1200) == 10
    assert copies_that_fit(1, [], 1200) == 0


@pytest.mark.parametrize(("fixed", "sent"), [(0, 0), (1, 1), (2, 2), (10, 2), (99, 2), (-3, 0)])
def test_a_fixed_number_ignores_reports_and_keeps_the_budget(fixed: int, sent: int) -> None:
    subject = controller(fixed)
    now_ns = report(subject, 0, 3, growth_ms=5_000.0, sizes=LARGE)
    assert answer(subject, now_ns, LARGE) == sent


# The ladder.


def test_one_copy_goes_along_while_nothing_is_wrong() -> None:
    subject = controller()
    assert answer(subject, 0) == 1
    now_ns = report(subject, 0, 60)
    assert answer(subject, now_ns) == 1


def test_loss_calls_for_all_that_fit() -> None:
    subject, now_ns = full()
    assert answer(subject, now_ns) == 10
    subject, now_ns = full(LARGE)
    assert answer(subject, now_ns, LARGE) == 2


def test_climb_doubles_once_a_second() -> None:
    subject = controller()
    seen = [answer(subject, 0)]
    for second in range(1, 8):
        report(subject, (second - 1) * S, 1, loss_pct=20.0)
        seen.append(answer(subject, second * S))
    climbing = [number for number in seen if number > 1]
    assert climbing[:4] == [2, 4, 8, 10]


def test_one_lost_datagram_calls_for_nothing() -> None:
    subject = controller()
    now_ns = report(subject, 0, 5)
    now_ns = report(subject, now_ns, 0.5, loss_pct=2.0)
    now_ns = report(subject, now_ns, 5)
    assert answer(subject, now_ns) == 1


def test_loss_between_the_thresholds_neither_calls_nor_ends_the_call() -> None:
    subject = controller()
    now_ns = report(subject, 0, 30, loss_pct=0.6)
    assert answer(subject, now_ns) == 1
    subject, now_ns = full()
    now_ns = report(subject, now_ns, 60, loss_pct=0.6)
    assert answer(subject, now_ns) == 10


def test_the_call_ends_after_ten_calm_seconds_and_falls_back_by_halves() -> None:
    subject, now_ns = full()
    now_ns = report(subject, now_ns, 15)
    assert answer(subject, now_ns) == 10
    seen = {answer(subject, now_ns := report(subject, now_ns, 1)) for _ in range(12)}
    assert seen >= {5, 2, 1}
    assert answer(subject, now_ns) == 1


def test_shed_half_when_delay_has_grown() -> None:
    subject, now_ns = full()
    now_ns = report(subject, now_ns, 0.1, loss_pct=5.0, growth_ms=30.0)
    assert (answer(subject, now_ns), subject.last_rule) == (5, "shed_half")


def test_shed_half_halves_what_really_fits() -> None:
    subject, now_ns = full(LARGE)
    now_ns = report(subject, now_ns, 0.1, loss_pct=5.0, growth_ms=30.0, sizes=LARGE)
    assert answer(subject, now_ns, LARGE) == 1


def test_a_history_that_an_e_stop_cleared_says_nothing_about_what_fits() -> None:
    subject, now_ns = full()
    now_ns = report(subject, now_ns, 0.3, loss_pct=5.0, sizes=[100])
    assert answer(subject, now_ns, [100]) == 1
    assert answer(subject, now_ns, SMALL) == 10


def test_shed_half_goes_on_to_none_while_delay_stays() -> None:
    subject, now_ns = full()
    now_ns = report(subject, now_ns, 0.1, loss_pct=5.0, growth_ms=40.0)
    seen = [answer(subject, now_ns)]
    for _ in range(3):
        now_ns = report(subject, now_ns, 1, loss_pct=5.0, growth_ms=40.0)
        seen.append(answer(subject, now_ns))
    assert seen == [5, 2, 1, 0]


def test_shed_half_does_not_wait_for_a_climb_to_settle() -> None:
    subject = controller()
    now_ns = 0
    while answer(subject, now_ns) < 2:
        now_ns = report(subject, now_ns, 0.1, loss_pct=20.0)
    now_ns = report(subject, now_ns, 0.1, loss_pct=20.0, growth_ms=30.0)
    assert answer(subject, now_ns) == 1


def test_shed_everything_at_once_when_delay_has_grown_much() -> None:
    subject, now_ns = full()
    now_ns = report(subject, now_ns, 0.1, loss_pct=5.0, growth_ms=150.0)
    assert (answer(subject, now_ns), subject.last_rule) == (0, "shed_everything")


def test_hold_while_delayed_adds_nothing_though_loss_calls() -> None:
    subject = controller()
    now_ns = report(subject, 0, 30, loss_pct=20.0, growth_ms=16.0)
    assert answer(subject, now_ns) == 1


def test_fall_back_does_not_wait_for_delay_to_go() -> None:
    subject, now_ns = full()
    now_ns = report(subject, now_ns, 60, growth_ms=16.0)
    assert answer(subject, now_ns) == 1


def test_what_failed_is_tried_again_after_a_pause_that_doubles() -> None:
    subject = controller()
    answer(subject, 0, LARGE)
    now_ns, growth_ms, tries, before = 0, 0.0, [], 1
    while now_ns < 400 * S:
        now_ns = report(subject, now_ns, 0.1, loss_pct=5.0, growth_ms=growth_ms, sizes=LARGE)
        now = answer(subject, now_ns, LARGE)
        if now == 2 and before < 2:
            tries.append(now_ns / S)
        # Two copies always congest this link, one never does.
        growth_ms = 40.0 if now == 2 else 0.0
        before = now
    pauses = [round(later - sooner) for sooner, later in itertools.pairwise(tries)]
    assert pauses[:6] == [2, 4, 8, 16, 32, 60]
    assert set(pauses[5:]) == {60}


def test_the_pause_starts_anew_after_two_minutes_without_failure() -> None:
    subject, now_ns = full(LARGE)
    for calm_s, pause_s in ((3.0, 2.0), (130.0, 4.0), (0.0, 2.0)):
        now_ns = report(subject, now_ns, 0.1, loss_pct=5.0, growth_ms=40.0, sizes=LARGE)
        now_ns = report(subject, now_ns, pause_s - 0.2, loss_pct=5.0, sizes=LARGE)
        assert answer(subject, now_ns, LARGE) == 1
        now_ns = report(subject, now_ns, 0.5, loss_pct=5.0, sizes=LARGE)
        assert answer(subject, now_ns, LARGE) == 2
        now_ns = report(subject, now_ns, calm_s, loss_pct=5.0, sizes=LARGE)


def test_what_did_not_fail_is_not_waited_for() -> None:
    subject, now_ns = full()
    now_ns = report(subject, now_ns, 1, loss_pct=5.0, growth_ms=150.0)
    now_ns = report(subject, now_ns, 0.1, loss_pct=5.0)
    assert answer(subject, now_ns) == 1
    now_ns = report(subject, now_ns, 1.0, loss_pct=5.0)
    assert answer(subject, now_ns) == 2


def test_the_rest_of_a_queue_does_not_lower_the_ceiling_again() -> None:
    subject, now_ns = full(LARGE)
    for growth_ms in (40.0, 160.0, 160.0, 60.0):
        now_ns = report(subject, now_ns, 0.1, loss_pct=5.0, growth_ms=growth_ms, sizes=LARGE)
    now_ns = report(subject, now_ns, 1.2, loss_pct=5.0, sizes=LARGE)
    assert answer(subject, now_ns, LARGE) == 1, "two failed, one did not"


def test_delay_without_copies_on_the_wire_teaches_nothing() -> None:
    subject = controller(0)
    assert answer(subject, 0) == 0
    subject = controller()
    now_ns = report(subject, 0, 1, growth_ms=200.0)
    now_ns = report(subject, now_ns, 300, growth_ms=200.0)
    now_ns = report(subject, now_ns, 2.5)
    assert answer(subject, now_ns) == 1, "the pause is still the first one"


def test_an_old_report_allows_the_quiet_number_at_most() -> None:
    subject, now_ns = full()
    assert answer(subject, now_ns + S) == 10
    assert answer(subject, now_ns + S + 1) == 1
    now_ns = report(subject, now_ns, 0.1, growth_ms=150.0)
    assert answer(subject, now_ns + 5 * S) == 0, "and never more than the last report did"


@pytest.mark.parametrize("loss_pct", [math.nan, -1.0, 100.1, math.inf])
def test_a_report_with_impossible_loss_is_counted_and_ignored(loss_pct: float) -> None:
    subject = controller()
    subject.on_report(ReceiverReport(loss_pct=loss_pct, delay_growth_ms=0.0), S)
    assert (subject.reports_refused, subject.last_rule) == (1, "")


@pytest.mark.parametrize("growth_ms", [math.nan, -1.0, math.inf])
def test_a_report_with_impossible_delay_is_counted_and_ignored(growth_ms: float) -> None:
    subject = controller()
    subject.on_report(ReceiverReport(loss_pct=0.0, delay_growth_ms=growth_ms), S)
    assert subject.reports_refused == 1
    assert answer(subject, S) == 1


def test_true_loss_is_what_no_copy_brought_back() -> None:
    assert ReceiverReport(loss_pct=5.0, delay_growth_ms=0.0, seq_holes=50, repaired=48).unrepaired == 2


def test_every_rule_of_the_ladder_states_itself() -> None:
    assert [rule.__name__ for rule in ADAPT_LADDER] == [
        "shed_everything",
        "shed_half",
        "hold_until_settled",
        "fall_back",
        "hold_while_delayed",
        "climb",
    ]
    assert all(rule.__doc__ for rule in ADAPT_LADDER)


# Whatever is reported.

reports = st.lists(
    st.tuples(
        st.integers(1, 3 * S),
        st.floats(allow_nan=True) | st.floats(0.0, 30.0),
        st.floats(allow_nan=True) | st.floats(0.0, 300.0),
        st.lists(st.integers(1, 700), min_size=1, max_size=10),
    ),
    max_size=60,
)


@given(reports)
@settings(max_examples=100)
def test_the_answer_always_fits_and_is_the_same_again(
    steps: list[tuple[int, float, float, list[int]]],
) -> None:
    first, second, now_ns = controller(), controller(), 0
    for elapsed_ns, loss_pct, growth_ms, sizes in steps:
        now_ns += elapsed_ns
        said = ReceiverReport(loss_pct=loss_pct, delay_growth_ms=growth_ms)
        first.on_report(said, now_ns)
        second.on_report(said, now_ns)
        copies = answer(first, now_ns, sizes)
        assert 0 <= copies <= min(10, len(sizes))
        assert copies == 0 or sizes[0] + sum(sizes[:copies]) <= 1200
        assert answer(second, now_ns, sizes) == copies


@given(reports)
@settings(max_examples=100)
def test_no_copy_is_added_while_delay_is_grown(steps: list[tuple[int, float, float, list[int]]]) -> None:
    subject, now_ns, tuning = controller(), 0, RedundancyTuning()
    for elapsed_ns, loss_pct, growth_ms, _ in steps:
        now_ns += elapsed_ns
        before = min(answer(subject, now_ns), 10)
        subject.on_report(ReceiverReport(loss_pct=loss_pct, delay_growth_ms=growth_ms), now_ns)
        # A fresh report may only lift what its age had held back.
        if tuning.calm_ms < growth_ms and elapsed_ns < tuning.report_valid_ns:
            assert answer(subject, now_ns) <= before
        if growth_ms >= tuning.shed_all_ms and not math.isinf(growth_ms) and 0.0 <= loss_pct <= 100.0:
            assert answer(subject, now_ns) == 0
