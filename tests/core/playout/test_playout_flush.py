"""Test map "Flush & seal": what discards queued motion, and what is sealed (document 000 §2, §8)."""

from collections.abc import Callable, Iterable

import pytest

from steadyhand.core.playout import Offer, PlayoutBuffer
from steadyhand.ground.setpoint import Setpoint

Build = Callable[..., PlayoutBuffer]
Point = Callable[..., Setpoint]
Send = Callable[[PlayoutBuffer, Iterable[int], float], list[Offer]]
Lane = Callable[[PlayoutBuffer, float, int], str]
Balance = Callable[[PlayoutBuffer], None]

MS = 1_000_000
LAST = (1 << 32) - 1


def test_estop_flush_with_in_space_seq_seals_past_the_estop(
    new_buffer: Build, send: Send, lane: Lane, balance: Balance
) -> None:
    buffer = new_buffer()
    send(buffer, range(6), 0.0)
    assert lane(buffer, 0.0, 1) == "0"
    buffer.flush_for_estop(9)
    assert (buffer.depth, buffer.stats.flushed, buffer.live) == (0, 5, False)
    # 6, 7 and 8 were under way when the e-stop overtook them.
    assert send(buffer, [5, 6, 7, 8, 9], 15.0) == [Offer.TOO_LATE] * 5
    assert send(buffer, range(10, 15), 20.0) == [Offer.QUEUED] * 5
    assert lane(buffer, 20.0, 5) == "10 11 12 13 14"
    balance(buffer)


def test_estop_flush_with_an_old_in_space_seq_seals_past_the_queue(new_buffer: Build, send: Send) -> None:
    buffer = new_buffer()
    send(buffer, range(6), 0.0)
    buffer.flush_for_estop(3)
    assert send(buffer, [4, 5], 5.0) == [Offer.TOO_LATE] * 2
    assert send(buffer, [6], 5.0) == [Offer.QUEUED]


def test_estop_flush_before_any_arrival_seals_past_the_estop(new_buffer: Build, send: Send) -> None:
    """The e-stop may be the very first thing that arrives; what it overtook is still older."""
    buffer = new_buffer()
    buffer.flush_for_estop(7)
    assert send(buffer, [5, 6, 7], 1.0) == [Offer.TOO_LATE] * 3
    assert send(buffer, [8], 2.0) == [Offer.QUEUED]


def test_estop_flush_without_in_space_seq_seals_at_newest_queued_only(
    new_buffer: Build, send: Send, lane: Lane
) -> None:
    buffer = new_buffer()
    send(buffer, [0, 1, 2, 5], 0.0)
    buffer.flush_for_estop(None)
    assert buffer.depth == 0
    assert send(buffer, [3, 4, 5], 5.0) == [Offer.TOO_LATE] * 3
    assert send(buffer, [6], 5.0) == [Offer.QUEUED]


def test_cross_space_estop_never_corrupts_a_wrapped_wire_floor(
    new_buffer: Build, point: Point, lane: Lane
) -> None:
    """The wire has wrapped to 2; an e-stop numbered by the other transport must not touch that."""
    buffer = new_buffer()
    wire = [LAST - 1, LAST, 0, 1, 2]
    for k, seq in enumerate(wire):
        buffer.offer(seq, point(seq, stamp_ms=10 * k), 0)
    assert lane(buffer, 0.0, 2) == f"{LAST - 1} {LAST}"
    for _ in range(3_000):
        buffer.next_synthetic_seq()
    buffer.flush_for_estop(None)
    assert buffer.offer(2, point(2, stamp_ms=40), 15 * MS) is Offer.TOO_LATE
    assert buffer.offer(LAST, point(LAST, stamp_ms=10), 15 * MS) is Offer.TOO_LATE
    verdicts = [buffer.offer(seq, point(seq, stamp_ms=10 * seq + 20), 20 * MS) for seq in range(3, 8)]
    assert verdicts == [Offer.QUEUED] * 5
    assert lane(buffer, 20.0, 5) == "3 4 5 6 7"


def test_in_space_estop_seals_across_the_wrap(new_buffer: Build, point: Point) -> None:
    buffer = new_buffer()
    for k, seq in enumerate([LAST - 2, LAST - 1]):
        buffer.offer(seq, point(seq, stamp_ms=10 * k), 0)
    buffer.flush_for_estop(1)
    for k, seq in enumerate([LAST, 0, 1]):
        assert buffer.offer(seq, point(seq, stamp_ms=20 + 10 * k), 0) is Offer.TOO_LATE
    assert buffer.offer(2, point(2, stamp_ms=50), 0) is Offer.QUEUED


def test_lifecycle_flush_clears_and_restarts_prefill_keeping_the_epoch(
    new_buffer: Build, send: Send, lane: Lane, balance: Balance
) -> None:
    buffer = new_buffer()
    send(buffer, range(6), 0.0)
    assert lane(buffer, 0.0, 2) == "0 1"
    buffer.flush_lifecycle()
    assert (buffer.depth, buffer.stats.flushed, buffer.live) == (0, 4, False)
    assert buffer.health(20 * MS).prefilling
    assert send(buffer, [4, 5], 20.0) == [Offer.TOO_LATE] * 2
    assert send(buffer, range(6, 10), 20.0) == [Offer.QUEUED] * 4
    assert lane(buffer, 20.0, 2) == ". ."
    send(buffer, [10], 35.0)
    assert lane(buffer, 40.0, 5) == "6 7 8 9 10"
    assert buffer.stats.epoch_resets == 0
    balance(buffer)


@pytest.mark.parametrize("flush", ["lifecycle", "estop in space", "estop", "stall", "hole", "session"])
def test_flushes_reset_the_liveness_gate(flush: str, new_buffer: Build, send: Send, lane: Lane) -> None:
    """After a flush the window must earn its first release before emptiness can be a stall."""
    buffer = new_buffer(window_ms=0.0)
    send(buffer, range(5), 0.0)
    assert lane(buffer, 0.0, 1) == "0"
    if flush == "lifecycle":
        buffer.flush_lifecycle()
    elif flush == "estop in space":
        buffer.flush_for_estop(5)
    elif flush == "estop":
        buffer.flush_for_estop(None)
    elif flush == "session":
        buffer.forget_numbering()
        buffer.flush_lifecycle()  # R3: it was live, so the new session is prepared anew
    elif flush == "stall":
        assert lane(buffer, 10.0, 5) == "1 2 3 4 X"
    else:
        send(buffer, [60], 5.0)
        assert lane(buffer, 10.0, 1) == "X"
    assert not buffer.live
    stalls = buffer.stats.stall_estops
    assert lane(buffer, 60.0, 20) == " ".join(["."] * 20)
    assert (buffer.stats.stall_estops, buffer.stats.hold_ticks) == (stalls, stalls * (flush == "stall"))
    # And once it is earned, the policy bites again.
    send(buffer, range(100, 105), 300.0)
    assert lane(buffer, 300.0, 6) == "100 101 102 103 104 X"


def test_epoch_age_out_accepts_a_restarted_senders_low_seq_and_flushes(
    new_buffer: Build, point: Point, send: Send, balance: Balance
) -> None:
    buffer = new_buffer()
    send(buffer, range(1000, 1004), 0.0)
    assert buffer.depth == 4
    # 2 s of silence, not less; the sender's clock has gone on.
    assert buffer.offer(0, point(0, stamp_ms=12_000), 2000 * MS - 1) is not Offer.EPOCH_RESET
    buffer = new_buffer()
    send(buffer, range(1000, 1004), 0.0)
    assert buffer.offer(0, point(0, stamp_ms=12_040), 2000 * MS) is Offer.EPOCH_RESET
    assert (buffer.depth, buffer.stats.flushed, buffer.stats.epoch_resets) == (1, 4, 1)
    # A new epoch has a new timing reference: no spacing is judged across the restart.
    assert buffer.stats.sender_stalls == 0
    assert buffer.offer(1, point(1, stamp_ms=12_050), 2010 * MS) is Offer.QUEUED
    # And no floor of the old one; but in the new one order is order.
    for seq in range(2, 5):
        assert buffer.offer(seq, point(seq, stamp_ms=12_040 + 10 * seq), 2040 * MS) is Offer.QUEUED
    ticks = [buffer.drain_tick((2040 + 10 * k) * MS) for k in range(5)]
    assert [getattr(tick, "seq", None) for tick in ticks] == [0, 1, 2, 3, 4]
    assert buffer.offer(4, point(4, stamp_ms=12_080), 2090 * MS) is Offer.TOO_LATE
    balance(buffer)


def test_a_newer_seq_after_silence_is_the_same_epoch(new_buffer: Build, send: Send) -> None:
    buffer = new_buffer()
    send(buffer, range(5), 0.0)
    assert send(buffer, [5], 10_000.0) == [Offer.QUEUED]
    assert buffer.stats.epoch_resets == 0
