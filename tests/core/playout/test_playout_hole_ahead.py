"""Test map "Hole-ahead": a queue wider than three buffers of sender time (document 000 §3 G, §5)."""

from collections.abc import Callable, Iterable

import pytest

from steadyhand.core.playout import Offer, PlayoutBuffer, Stall, StallCause
from steadyhand.ground.setpoint import Setpoint

Build = Callable[..., PlayoutBuffer]
Point = Callable[..., Setpoint]
Send = Callable[[PlayoutBuffer, Iterable[int], float], list[Offer]]
Lane = Callable[[PlayoutBuffer, float, int], str]
Balance = Callable[[PlayoutBuffer], None]

MS = 1_000_000


def test_hole_ahead_blocks_release_and_stalls_with_the_policy_armed(
    new_buffer: Build, send: Send, lane: Lane, balance: Balance
) -> None:
    """Figure G: 7 to 21 are eaten whole; the arm stops before the jump, not after it."""
    buffer = new_buffer(window_ms=100.0)
    send(buffer, range(7), 0.0)
    assert lane(buffer, 0.0, 3) == "0 1 2"
    send(buffer, [22], 25.0)  # from 3 to 22: 190 ms of sender time, limit 150
    tick = buffer.drain_tick(30 * MS)
    assert isinstance(tick, Stall)
    assert tick.report.cause is StallCause.HOLE_AHEAD
    assert tick.report.depth == 5
    assert (buffer.depth, buffer.stats.flushed, buffer.stats.hole_aheads) == (0, 5, 1)
    assert (buffer.stats.stall_estops, buffer.stats.released) == (1, 3)
    # Sealed at the newest known number.
    assert send(buffer, [21, 22], 35.0) == [Offer.TOO_LATE] * 2
    assert send(buffer, [23], 35.0) == [Offer.QUEUED]
    balance(buffer)


@pytest.mark.parametrize(("newest", "expected"), [(14, "0"), (16, "X")])
def test_the_limit_is_three_buffers_of_sender_time(
    newest: int, expected: str, new_buffer: Build, send: Send, lane: Lane
) -> None:
    buffer = new_buffer(window_ms=100.0)
    send(buffer, [0, 1, 2, 3, newest], 0.0)
    assert lane(buffer, 0.0, 1) == expected


def test_it_is_time_that_counts_not_numbers(new_buffer: Build, point: Point, lane: Lane) -> None:
    """No number is missing here: the sender itself stood still for 400 ms."""
    buffer = new_buffer(window_ms=100.0)
    for seq in range(5):
        buffer.offer(seq, point(seq, stamp_ms=10.0 * seq + 400.0 * (seq == 4)), 0)
    assert lane(buffer, 0.0, 1) == "X"
    buffer = new_buffer(window_ms=100.0)
    for seq in range(5):
        buffer.offer(20 * seq, point(20 * seq, stamp_ms=10.0 * seq), 0)
    assert lane(buffer, 0.0, 1) == "0"


def test_hole_ahead_without_the_policy_releases_as_today_and_counts(
    new_buffer: Build, send: Send, lane: Lane
) -> None:
    buffer = new_buffer()
    send(buffer, [0, 1, 2, 3, 4, 22, 23], 0.0)
    assert lane(buffer, 0.0, 8) == "0 1 2 3 4 22 23 _"
    assert buffer.stats.stall_estops == 0
    assert buffer.stats.hole_aheads >= 1
    assert buffer.stats.lost_at_release == 17
    assert buffer.stats.interpolated == 0


def test_one_hole_without_the_policy_is_one_event(new_buffer: Build, send: Send, lane: Lane) -> None:
    """Counted once a hole, not once a tick: a number to judge a link by (jitter.md §1, one event)."""
    buffer = new_buffer()
    send(buffer, [0, 1, 2, 3, 4, 22, 23], 0.0)
    lane(buffer, 0.0, 7)
    assert buffer.stats.hole_aheads == 1
    send(buffer, [24, 25, 26, 60, 61], 75.0)
    lane(buffer, 80.0, 2)
    assert buffer.stats.hole_aheads == 2
    # A flush ends the hole; the next one is another, though no clean tick lay between.
    buffer.flush_lifecycle()
    send(buffer, [70, 71, 72, 73, 120], 105.0)
    lane(buffer, 110.0, 3)
    assert buffer.stats.hole_aheads == 3


def test_nothing_is_held_back_while_the_queue_is_still_prefilling(
    new_buffer: Build, send: Send, lane: Lane
) -> None:
    """The check stands before a release; a queue that releases nothing jumps nowhere."""
    buffer = new_buffer(window_ms=100.0)
    send(buffer, [0, 50], 0.0)
    assert lane(buffer, 0.0, 3) == ". . ."


def test_the_span_is_measured_across_what_is_in_the_queue(new_buffer: Build, send: Send, lane: Lane) -> None:
    """30 ran ahead and died of age: between 1 and 5 there is no hole, so there is nothing to stop."""
    buffer = new_buffer(window_ms=100.0)
    send(buffer, [0, 30], 0.0)
    send(buffer, [1, 2, 3, 4], 200.0)
    assert lane(buffer, 251.0, 1) == "."
    assert (buffer.depth, buffer.stats.aged_dropped) == (4, 2)
    send(buffer, [5], 252.0)
    assert buffer.health(253 * MS).span_ms == pytest.approx(40.0)
    assert lane(buffer, 261.0, 5) == "1 2 3 4 5"


def test_one_number_that_ran_ahead_does_not_blind_the_check(
    new_buffer: Build, point: Point, lane: Lane
) -> None:
    """A datagram numbered a thousand too high is believed (R3); a real hole after it still stops."""
    buffer = new_buffer(window_ms=100.0)
    for seq in range(40):
        buffer.offer(seq + 1_000 * (seq == 10), point(seq), 10 * MS * seq)
        lane(buffer, 10.0 * seq + 5, 1)
    assert buffer.stats.stall_estops == 0
    for seq in (70, 71):
        buffer.offer(seq, point(seq), 401 * MS)
    assert lane(buffer, 405.0, 1) == "X"


def test_two_repairs_of_two_clocks_are_not_compared(new_buffer: Build, point: Point, lane: Lane) -> None:
    """5 is stamped by the builder, 8 by the leader an hour ahead; both came behind the other's newest."""
    buffer = new_buffer(2, window_ms=100.0)
    hour_ms = 3_600_000.0
    old_ns = 1_000 * MS
    buffer.offer(20, point(20, leader_ms=hour_ms + 200.0), 0, lateness_ns=old_ns)
    buffer.offer(5, point(5), 1 * MS)
    buffer.offer(21, point(21), 2 * MS, lateness_ns=old_ns)
    buffer.offer(8, point(8, leader_ms=hour_ms + 80.0), 3 * MS)
    assert lane(buffer, 5.0, 1) == "5"
    assert buffer.stats.aged_dropped == 2
