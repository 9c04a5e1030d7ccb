"""Measured delays, played back."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyhand.core.link import LOST, PAUSED, Link, LinkProfile, LinkTrace
from steadyhand.ground.errors import InputError

MS = 1_000_000
S = 1_000_000_000


def make_trace(rows_ms: list[tuple[int, float]], *, gaps: str = "cut") -> LinkTrace:
    return LinkTrace.from_rows(
        [t_ms * MS for t_ms, _ in rows_ms],
        [LOST if delay_ms < 0 else round(delay_ms * MS) for _, delay_ms in rows_ms],
        gaps=gaps,  # type: ignore[arg-type]  # the test of a wrong one needs it
    )


def delays_ms(profile: LinkProfile, sent_ms: list[int]) -> list[float | None]:
    link = Link(profile, Random(0), start_ns=0)
    answers = [(t_ms, link.send(t_ms * MS)) for t_ms in sent_ms]
    return [answer[0] / MS - t_ms if answer else None for t_ms, answer in answers]


def test_the_delay_is_that_of_the_newest_row_at_or_before_sending() -> None:
    profile = LinkProfile(trace=make_trace([(0, 10), (50, 30), (100, 12)]), reorder=True)
    assert delays_ms(profile, [0, 10, 49, 50, 90, 99, 100, 149]) == [10, 10, 10, 30, 30, 30, 12, 12]


def test_a_spike_covers_every_datagram_sent_inside_it() -> None:
    profile = LinkProfile(trace=make_trace([(0, 10), (55, 130), (110, 10)]), reorder=True)
    assert delays_ms(profile, list(range(0, 120, 10))).count(130) == 5


def test_a_trace_loops_after_its_last_rows_usual_step() -> None:
    trace = make_trace([(0, 10), (50, 30), (100, 12)])
    assert trace.period_ns == 150 * MS
    profile = LinkProfile(trace=trace, reorder=True)
    assert delays_ms(profile, [149, 150, 200, 250, 300, 3_000_055]) == [12, 10, 30, 12, 10, 30]


def test_a_trace_is_first_in_first_out_across_the_end_of_a_spike() -> None:
    profile = LinkProfile(trace=make_trace([(0, 10), (50, 100), (100, 10)]))
    assert delays_ms(profile, [50, 90, 100, 140]) == [100, 100, 90, 50]


def test_a_trace_adds_to_the_fixed_delay() -> None:
    assert delays_ms(LinkProfile(delay_ms=3.0, trace=make_trace([(0, 10)])), [0, 5]) == [13, 13]


def test_stamps_are_moved_to_begin_at_zero() -> None:
    trace = make_trace([(1000, 1), (1020, 2)])
    assert trace.t_ns == (0, 20 * MS)


def test_of_rows_with_one_stamp_the_newest_counts() -> None:
    profile = LinkProfile(trace=make_trace([(0, 1), (0, 2), (10, 3)]), reorder=True)
    assert delays_ms(profile, [0, 9, 10]) == [2, 2, 3]


GAPPED = [(0, 1.0), (20, 2.0), (40, 3.0), (3040, 4.0), (3060, 5.0), (3080, 6.0)]


def test_a_recording_gap_is_cut_by_default_and_said_so() -> None:
    trace = make_trace(GAPPED)
    assert trace.t_ns == tuple(step * 20 * MS for step in range(6))
    assert trace.notes == (
        "1 recording gap over 1 s (3.0 s in all, the longest 3.0 s) cut (gaps=outage plays them)",
    )


def test_gaps_outage_plays_them_and_says_so() -> None:
    trace = make_trace(GAPPED, gaps="outage")
    assert trace.delay_ns[3] == PAUSED
    assert trace.period_ns == 3100 * MS
    assert "played as outages" in trace.notes[0]
    assert delays_ms(LinkProfile(trace=trace), [59, 60, 1000, 3039, 3040]) == [3, None, None, None, 4]


def test_a_gap_with_burst_holds_until_its_end() -> None:
    profile = LinkProfile(trace=make_trace(GAPPED, gaps="outage"), outage_burst=True)
    assert delays_ms(profile, [59, 60, 3000, 3040]) == [3, 2984, 44, 4]


def test_what_is_being_served_when_a_gap_begins_still_arrives() -> None:
    profile = LinkProfile(trace=make_trace(GAPPED, gaps="outage"), rate_kbit_s=8.0)
    link = Link(profile, Random(0))
    link.send(0)
    # 20 bytes at 1 byte/ms from 50 ms on are served at 70 ms, inside the gap.
    assert link.send(50 * MS, 20) == (73 * MS,)


def test_a_step_of_exactly_one_second_is_no_gap() -> None:
    assert make_trace([(0, 1), (20, 1), (40, 1), (1040, 1)]).notes == ()
    assert make_trace([(0, 1), (20, 1), (40, 1), (1041, 1)]).notes != ()


def test_a_log_of_one_row_in_two_seconds_is_not_made_of_gaps() -> None:
    trace = make_trace([(0, 1), (2000, 2), (4001, 3), (6002, 4)])
    assert trace.notes == ()
    assert trace.t_ns[-1] == 6002 * MS


def test_a_delay_beyond_a_second_is_real() -> None:
    assert delays_ms(LinkProfile(trace=make_trace([(0, 34_000)])), [0]) == [34_000]


def test_a_lost_row_loses_what_is_sent_in_it_burst_or_not() -> None:
    for burst in (False, True):
        profile = LinkProfile(trace=make_trace([(0, 10), (20, -1), (40, 12)]), outage_burst=burst)
        assert delays_ms(profile, [0, 20, 39, 40]) == [10, None, None, 12]


def test_time_behind_a_lost_row_is_loss_not_a_recording_gap() -> None:
    trace = make_trace([(0, 10), (20, 10), (40, 10), (60, -1), (5060, 10)])
    assert trace.notes == ()
    assert trace.t_ns[-1] == 5060 * MS


def test_one_row_is_a_constant_delay() -> None:
    assert delays_ms(LinkProfile(trace=make_trace([(500, 7)])), [0, 999, 1000, 12_345]) == [7, 7, 7, 7]


@pytest.mark.parametrize(
    ("rows", "gaps", "says"),
    [
        ([], "cut", "trace is empty"),
        ([(10, 1.0), (0, 1.0)], "cut", "go back"),
        ([(0, 1.0)], "bridge", "unknown gaps 'bridge'"),
    ],
)
def test_an_unusable_trace_is_refused(rows: list[tuple[int, float]], gaps: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        make_trace(rows, gaps=gaps)


@pytest.mark.parametrize(
    ("t_ns", "delay_ns", "period_ns"),
    [
        ((), (), 1),
        ((0, 1), (1,), 2),
        ((1, 2), (1, 1), 3),
        ((0, 2, 1), (1, 1, 1), 3),
        ((0, 5), (1, 1), 5),
        ((0,), (-3,), 5),
        ((0,), (PAUSED,), 5),
    ],
)
def test_a_trace_made_by_hand_is_checked(
    t_ns: tuple[int, ...], delay_ns: tuple[int, ...], period_ns: int
) -> None:
    with pytest.raises(InputError):
        LinkTrace(t_ns=t_ns, delay_ns=delay_ns, period_ns=period_ns)


@settings(max_examples=150, deadline=None)
@given(
    steps=st.lists(st.integers(0, 3 * S), min_size=1, max_size=30),
    sent=st.lists(st.integers(0, 100 * S), min_size=1, max_size=30),
)
def test_the_cursor_agrees_with_a_search_from_the_start(steps: list[int], sent: list[int]) -> None:
    t_ns = [0]
    for step_ns in steps:
        t_ns.append(t_ns[-1] + step_ns)
    trace = LinkTrace.from_rows(t_ns, list(range(len(t_ns))))
    link = Link(LinkProfile(trace=trace, reorder=True), Random(0), start_ns=0)
    for now_ns in sorted(sent):
        within_ns = now_ns % trace.period_ns
        naive = max(row for row, begin_ns in enumerate(trace.t_ns) if begin_ns <= within_ns)
        assert link.send(now_ns) == (now_ns + trace.delay_ns[naive],)
