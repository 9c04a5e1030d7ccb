"""Test map "Ordering & dedup" (document 000 §3 B and C, §4)."""

from collections.abc import Callable, Iterable
from itertools import pairwise

import pytest

from steadyhand.core.playout import Offer, PlayoutBuffer, Release
from steadyhand.ground.seq import advance, is_newer, signed_distance, unwrap
from steadyhand.ground.setpoint import Setpoint

Build = Callable[..., PlayoutBuffer]
Point = Callable[..., Setpoint]
Send = Callable[[PlayoutBuffer, Iterable[int], float], list[Offer]]
Lane = Callable[[PlayoutBuffer, float, int], str]

LAST = (1 << 32) - 1


def test_reorder_within_window_is_repaired_into_seq_order(new_buffer: Build, send: Send, lane: Lane) -> None:
    buffer = new_buffer()
    assert send(buffer, [0, 2, 1, 4, 3], 0.0) == [
        Offer.QUEUED,
        Offer.QUEUED,
        Offer.REPAIRED,
        Offer.QUEUED,
        Offer.REPAIRED,
    ]
    assert lane(buffer, 0.0, 6) == "0 1 2 3 4 _"
    assert (buffer.stats.repaired, buffer.stats.seq_holes) == (2, 2)
    assert buffer.stats.lost_at_release == 0


def test_a_deep_reorder_lands_at_the_very_front(new_buffer: Build, send: Send, lane: Lane) -> None:
    buffer = new_buffer()
    assert send(buffer, [1, 2, 3, 4, 0], 0.0)[-1] is Offer.REPAIRED
    assert lane(buffer, 0.0, 5) == "0 1 2 3 4"


def test_too_late_seq_is_dropped_and_counted(new_buffer: Build, send: Send, lane: Lane) -> None:
    """Figure C: 4 turns up after 6 has been released; the arm never steps back."""
    buffer = new_buffer(3)
    send(buffer, [3, 5, 6], 0.0)
    assert lane(buffer, 0.0, 4) == "3 ~4 5 6"
    assert send(buffer, [4, 6, 3], 35.0) == [Offer.TOO_LATE] * 3
    assert buffer.stats.late_dropped == 3
    assert buffer.depth == 0


def test_duplicate_queued_seq_is_dropped_and_counted(new_buffer: Build, point: Point, lane: Lane) -> None:
    buffer = new_buffer(2)
    first, second = point(0), point(0, joints=(77.0, 77.0))
    assert buffer.offer(0, first, 0) is Offer.QUEUED
    assert buffer.offer(0, second, 1) is Offer.DUPLICATE
    assert buffer.offer(1, point(1), 2) is Offer.QUEUED
    assert buffer.offer(0, second, 3) is Offer.DUPLICATE
    assert (buffer.depth, buffer.stats.duplicate_dropped) == (2, 2)
    tick = buffer.drain_tick(10)
    assert isinstance(tick, Release)
    assert tick.setpoint is first


def test_seq_wrap_is_newer_and_synthetic_seqs_increase(new_buffer: Build, point: Point, lane: Lane) -> None:
    # The rule itself: 0 < seq − base < 2**31 in u32 arithmetic.
    assert is_newer(0, LAST)
    assert is_newer(5, LAST - 5)
    assert not is_newer(LAST, 0)
    assert not is_newer(7, 7)
    assert is_newer((1 << 31) - 1, 0)
    assert not is_newer(1 << 31, 0)
    assert not is_newer((1 << 31) + 1, 0)
    assert (signed_distance(2, LAST), signed_distance(LAST, 2)) == (3, -3)
    assert advance(LAST) == 0
    assert unwrap(3, (1 << 33) + LAST) == (1 << 33) + LAST + 4
    # The queue across the wrap, one of them out of order.
    buffer = new_buffer()
    seqs = [LAST - 1, LAST, 1, 0, 2]
    stamps_ms = {LAST - 1: 0, LAST: 10, 0: 20, 1: 30, 2: 40}
    verdicts = [buffer.offer(seq, point(seq, stamp_ms=stamps_ms[seq]), 0) for seq in seqs]
    assert verdicts == [Offer.QUEUED] * 3 + [Offer.REPAIRED, Offer.QUEUED]
    assert lane(buffer, 0.0, 5) == f"{LAST - 1} {LAST} 0 1 2"
    assert buffer.offer(LAST, point(LAST, stamp_ms=10), 50) is Offer.TOO_LATE
    # The ordered transport has no numbers; its own increase by one.
    numbers = [buffer.next_synthetic_seq() for _ in range(1000)]
    assert all(is_newer(b, a) for a, b in pairwise(numbers))
    assert numbers == list(range(numbers[0], numbers[0] + 1000))


@pytest.mark.parametrize("first", [0, 1, 5, 1 << 31, LAST - 7, LAST])
def test_a_stream_may_begin_at_any_number(first: int, new_buffer: Build, point: Point, lane: Lane) -> None:
    buffer = new_buffer()
    seqs = [advance(first, steps) for steps in range(5)]
    verdicts = [buffer.offer(seq, point(k, stamp_ms=10 * k), 0) for k, seq in enumerate(seqs)]
    assert verdicts == [Offer.QUEUED] * 5
    assert lane(buffer, 0.0, 5) == " ".join([str(seq) for seq in seqs])
