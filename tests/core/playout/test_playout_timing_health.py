"""Test map "Timing health": differences of sender-local stamps only (document 000 §4, §7, §9)."""

import math
from collections.abc import Callable, Iterable

import pytest

from steadyhand.core.playout import Offer, PlayoutBuffer
from steadyhand.ground.setpoint import Setpoint

Build = Callable[..., PlayoutBuffer]
Point = Callable[..., Setpoint]
Send = Callable[[PlayoutBuffer, Iterable[int], float], list[Offer]]
Lane = Callable[[PlayoutBuffer, float, int], str]

MS = 1_000_000


def test_seq_gaps_count_holes_and_feed_the_loss_ewma(new_buffer: Build, point: Point) -> None:
    buffer = new_buffer()
    for seq in range(100):
        buffer.offer(seq, point(seq), 10 * MS * seq)
    assert (buffer.stats.seq_holes, buffer.health(0).loss_pct) == (0, 0.0)
    buffer.offer(104, point(104), 1040 * MS)
    assert buffer.stats.seq_holes == 4
    after_gap = buffer.health(0).loss_pct
    assert 0.0 < after_gap < 50.0
    buffer.offer(105, point(105), 1050 * MS)
    assert 0.0 < buffer.health(0).loss_pct < after_gap
    # Every other one missing is half of them missing.
    for seq in range(106, 2106, 2):
        buffer.offer(seq, point(seq), 10 * MS * seq)
    assert buffer.health(0).loss_pct == pytest.approx(50.0, abs=1.0)
    # What the network merely reordered is in seq_holes, and comes off again as repaired.
    assert buffer.offer(2103, point(2103), 21_050 * MS) is Offer.REPAIRED
    assert buffer.stats.repaired == 1


def test_a_repair_is_judged_by_the_hole_it_fills_not_against_the_tail(
    new_buffer: Build, point: Point
) -> None:
    buffer = new_buffer()
    for seq in (0, 1, 5):
        buffer.offer(seq, point(seq), 0)
    holes, jitter_ms = buffer.stats.seq_holes, buffer.health(0).jitter_ms
    buffer.offer(3, point(3), 900 * MS)
    assert (buffer.stats.seq_holes, buffer.health(0).jitter_ms) == (holes, jitter_ms)
    assert (buffer.stats.nonmonotonic_ts, buffer.stats.sender_stalls) == (0, 0)


def test_consecutive_seq_spacing_blowup_attributes_a_sender_stall(new_buffer: Build, point: Point) -> None:
    buffer = new_buffer()
    buffer.offer(0, point(0, stamp_ms=0.0), 0)
    buffer.offer(1, point(1, stamp_ms=29.0), 1)
    assert buffer.stats.sender_stalls == 0
    buffer.offer(2, point(2, stamp_ms=60.0), 2)
    assert buffer.stats.sender_stalls == 1
    # The same spacing with numbers missing in between is the network's doing.
    buffer.offer(6, point(6, stamp_ms=160.0), 3)
    assert buffer.stats.sender_stalls == 1
    # Late by the network alone: stamps one period apart, arrivals a second apart.
    buffer.offer(7, point(7, stamp_ms=170.0), 1000 * MS)
    assert buffer.stats.sender_stalls == 1


def test_nonmonotonic_sender_ts_is_counted_but_still_queued(
    new_buffer: Build, point: Point, lane: Lane
) -> None:
    buffer = new_buffer(3)
    assert buffer.offer(0, point(0, stamp_ms=100.0), 0) is Offer.QUEUED
    assert buffer.offer(1, point(1, stamp_ms=90.0), 0) is Offer.QUEUED
    assert buffer.offer(2, point(2, stamp_ms=110.0), 0) is Offer.QUEUED
    assert buffer.stats.nonmonotonic_ts == 1
    assert lane(buffer, 0.0, 3) == "0 1 2"


def test_clean_pacing_keeps_the_jitter_ewma_near_zero(new_buffer: Build, point: Point) -> None:
    buffer = new_buffer()
    for seq in range(500):
        buffer.offer(seq, point(seq), 10 * MS * seq + 37 * MS)
    assert buffer.health(0).jitter_ms < 0.001


def test_jitter_ewma_settles_at_the_mean_change_of_transit(new_buffer: Build, point: Point) -> None:
    """RFC 3550 §6.4.1 on transit times of 0 and 4 ms by turns: every change is 4 ms."""
    buffer = new_buffer()
    for seq in range(500):
        buffer.offer(seq, point(seq), (10 * seq + 4 * (seq % 2)) * MS)
    assert buffer.health(0).jitter_ms == pytest.approx(4.0, abs=0.01)
    # One step of the same average: J += (|D| − J) / 16.
    buffer.offer(500, point(500), (5000 + 4 + 16) * MS)
    assert buffer.health(0).jitter_ms == pytest.approx(4.0 + (16.0 - 4.0) / 16.0, abs=0.01)


@pytest.mark.parametrize("bad_s", [math.nan, math.inf, -math.inf])
def test_non_finite_sender_ts_is_rejected_never_queued(
    bad_s: float, new_buffer: Build, point: Point, lane: Lane
) -> None:
    buffer = new_buffer(2)
    assert buffer.offer(0, point(0, stamp_ms=bad_s), 0) is Offer.MALFORMED
    # Stamped by the leader: that stamp is the sender's clock, however good the other one is.
    assert buffer.offer(0, point(0, leader_ms=bad_s), 0) is Offer.MALFORMED
    assert (buffer.depth, buffer.stats.malformed_ts) == (0, 2)
    assert buffer.offer(0, point(0), 0) is Offer.QUEUED
    assert buffer.offer(1, point(1, stamp_ms=bad_s), 0) is Offer.MALFORMED
    assert buffer.offer(1, point(1), 0) is Offer.QUEUED
    health = buffer.health(0)
    assert math.isfinite(health.jitter_ms)
    assert math.isfinite(health.span_ms)
    assert lane(buffer, 0.0, 2) == "0 1"


@pytest.mark.parametrize("flush", ["lifecycle", "estop", "stall"])
def test_first_arrival_after_a_flush_is_not_spacing_judged(
    flush: str, new_buffer: Build, point: Point, send: Send, lane: Lane
) -> None:
    """Every re-engage once warned of a sender stall of 21,622 ms."""
    buffer = new_buffer(window_ms=20.0)
    send(buffer, range(5), 0.0)
    if flush == "stall":
        assert lane(buffer, 0.0, 8) == "0 1 2 3 4 _ _ X"
    elif flush == "estop":
        buffer.flush_for_estop(None)
    else:
        buffer.flush_lifecycle()
    jitter_ms = buffer.health(0).jitter_ms
    buffer.offer(5, point(5, stamp_ms=21_662.0), 15_000 * MS)
    assert buffer.stats.sender_stalls == 0
    assert buffer.health(0).jitter_ms == jitter_ms
    # The one after it is judged again.
    buffer.offer(6, point(6, stamp_ms=21_762.0), 15_010 * MS)
    assert buffer.stats.sender_stalls == 1


def test_a_new_stamp_source_restarts_the_timing_reference(new_buffer: Build, point: Point) -> None:
    """The leader's host and the building host are two clocks, here an hour apart."""
    buffer = new_buffer(3, window_ms=20.0)
    hour_ms = 3_600_000.0
    verdicts = []
    for seq in range(40):
        leader_ms = hour_ms + 10.0 * seq if seq // 10 % 2 else None
        verdicts.append(buffer.offer(seq, point(seq, leader_ms=leader_ms), 10 * MS * seq))
        buffer.drain_tick(10 * MS * seq + 1)
    assert verdicts == [Offer.QUEUED] * 40
    assert buffer.stats.stamp_source_changes == 3
    assert (buffer.stats.sender_stalls, buffer.stats.nonmonotonic_ts) == (0, 0)
    assert (buffer.stats.hole_aheads, buffer.stats.stall_estops) == (0, 0)
    assert buffer.health(0).jitter_ms < 0.001
    assert 0.0 <= buffer.health(0).span_ms <= 30.0
    assert buffer.stats.released == 38
