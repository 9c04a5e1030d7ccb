"""Test map "Stall policy": an engaged stream that stops is a stall (document 000 §3 F, §5)."""

from collections.abc import Callable, Iterable

from steadyhand.core.playout import HoldReason, Offer, PlayoutBuffer, Stall, StallCause

Build = Callable[..., PlayoutBuffer]
Send = Callable[[PlayoutBuffer, Iterable[int], float], list[Offer]]
Lane = Callable[[PlayoutBuffer, float, int], str]
Balance = Callable[[PlayoutBuffer], None]

MS = 1_000_000


def test_prefill_empty_never_stalls_even_with_the_policy_armed(
    new_buffer: Build, send: Send, lane: Lane
) -> None:
    buffer = new_buffer(window_ms=0.0)
    assert lane(buffer, 0.0, 500) == " ".join(["."] * 500)
    send(buffer, range(4), 5000.0)
    assert lane(buffer, 5000.0, 500) == " ".join(["."] * 500)
    assert (buffer.stats.stall_estops, buffer.stats.underrun_episodes) == (0, 0)
    assert buffer.stats.hold_ticks == 0


def test_post_live_underrun_stalls_after_the_window_and_flushes(
    new_buffer: Build, send: Send, lane: Lane
) -> None:
    """Figure F: the queue pays its depth out, holds through the window, then stops the arm."""
    buffer = new_buffer(window_ms=100.0)
    send(buffer, range(5), 0.0)
    assert lane(buffer, 0.0, 5) == "0 1 2 3 4"
    assert lane(buffer, 50.0, 10) == " ".join(["_"] * 10)
    tick = buffer.drain_tick(150 * MS)
    assert isinstance(tick, Stall)
    assert tick.report.cause is StallCause.UNDERRUN
    assert buffer.last_stall == tick.report
    assert (buffer.stats.stall_estops, buffer.stats.underrun_episodes) == (1, 1)
    assert not buffer.live
    # One stall, not one a tick; nothing escalates again before something was released.
    assert lane(buffer, 160.0, 50) == " ".join(["."] * 50)
    assert buffer.stats.stall_estops == 1
    # What the dead stream still delivers is sealed off.
    assert send(buffer, [3, 4], 700.0) == [Offer.TOO_LATE] * 2


def test_zero_window_stalls_on_the_first_post_live_underrun_tick(
    new_buffer: Build, send: Send, lane: Lane
) -> None:
    buffer = new_buffer(window_ms=0.0)
    send(buffer, range(5), 0.0)
    assert lane(buffer, 0.0, 7) == "0 1 2 3 4 X ."


def test_recovery_within_the_window_resumes_without_a_stall(
    new_buffer: Build, send: Send, lane: Lane
) -> None:
    buffer = new_buffer(window_ms=100.0)
    send(buffer, range(5), 0.0)
    assert lane(buffer, 0.0, 8) == "0 1 2 3 4 _ _ _"
    send(buffer, range(5, 10), 75.0)
    assert lane(buffer, 80.0, 5) == "5 6 7 8 9"
    # The window starts afresh with the next emptiness.
    assert lane(buffer, 130.0, 11) == " ".join(["_"] * 10) + " X"
    assert (buffer.stats.underrun_episodes, buffer.stats.stall_estops) == (2, 1)


def test_stall_during_re_prefill_flushes_the_partial_queue_and_seals(
    new_buffer: Build, send: Send, lane: Lane, balance: Balance
) -> None:
    buffer = new_buffer(window_ms=50.0)
    send(buffer, range(5), 0.0)
    assert lane(buffer, 0.0, 6) == "0 1 2 3 4 _"
    send(buffer, [5, 7], 95.0)
    assert lane(buffer, 100.0, 1) == "X"
    assert (buffer.depth, buffer.stats.flushed) == (0, 2)
    assert send(buffer, [5, 6, 7], 105.0) == [Offer.TOO_LATE] * 3
    assert send(buffer, [8], 105.0) == [Offer.QUEUED]
    balance(buffer)


def test_policy_off_holds_forever_but_still_counts_underrun_episodes(
    new_buffer: Build, send: Send, lane: Lane
) -> None:
    buffer = new_buffer()
    send(buffer, range(5), 0.0)
    assert lane(buffer, 0.0, 5) == "0 1 2 3 4"
    assert lane(buffer, 50.0, 1000) == " ".join(["_"] * 1000)
    assert (buffer.stats.stall_estops, buffer.stats.underrun_episodes) == (0, 1)
    assert buffer.stats.hold_ticks == 1000
    assert buffer.health(20_000 * MS).holding
    send(buffer, range(5, 10), 10_050.0)
    assert lane(buffer, 10_050.0, 6) == "5 6 7 8 9 _"
    assert buffer.stats.underrun_episodes == 2


def test_a_tick_that_underruns_says_so(new_buffer: Build, send: Send) -> None:
    buffer = new_buffer(1)
    send(buffer, [0], 0.0)
    buffer.drain_tick(0)
    tick = buffer.drain_tick(10 * MS)
    assert getattr(tick, "reason", None) is HoldReason.UNDERRUN
