"""R3: a sender whose clock is set back behind its own restart gets in again, stragglers do not.

A numbering that replaced another is guarded by its first stamp. A clock that NTP sets back right after
a restart would leave the sender outside that guard for good.
"""

from collections.abc import Callable, Iterable, Iterator
from random import Random

import pytest

from steadyhand.core.playout import Offer, PlayoutBuffer
from steadyhand.ground.seq import SEQ_MODULUS
from steadyhand.ground.setpoint import Setpoint

Build = Callable[..., PlayoutBuffer]
Point = Callable[..., Setpoint]
Send = Callable[[PlayoutBuffer, Iterable[int], float], list[Offer]]
Lane = Callable[[PlayoutBuffer, float, int], str]
Balance = Callable[[PlayoutBuffer], None]

MS = 1_000_000
RESTART_MS = 10_000.0
"""When the second life begins, numbered from zero; its stamps show the same."""


def restarted(new_buffer: Build, point: Point, last: int = 99, **options: object) -> PlayoutBuffer:
    """A buffer whose sender has restarted and then sent 0 … `last` at 100 Hz."""
    buffer = new_buffer(**options)
    for seq in range(1_000, 1_003):
        buffer.offer(seq, point(seq, stamp_ms=5_000.0), 5_000 * MS)
    buffer.flush_lifecycle()
    for seq in range(last + 1):
        at_ms = RESTART_MS + 10 * seq
        buffer.offer(seq, point(seq, stamp_ms=at_ms), round(at_ms * MS))
    assert buffer.stats.epoch_resets == 1
    return buffer


def go_on(
    buffer: PlayoutBuffer, point: Point, seqs: Iterable[int], back_ms: float, jitter: Random | None = None
) -> Iterator[Offer]:
    """The second life's later datagrams, under a clock that shows `back_ms` less."""
    for seq in seqs:
        sent_ms = RESTART_MS + 10 * seq
        delay_ms = 0.0 if jitter is None else 9.0 * jitter.random()
        stamped = point(seq, stamp_ms=sent_ms - back_ms)
        late_ns = round(back_ms * MS)
        yield buffer.offer(seq % SEQ_MODULUS, stamped, round((sent_ms + delay_ms) * MS), lateness_ns=late_ns)


@pytest.mark.parametrize("back_ms", [5_000.0, 3_600_000.0])
@pytest.mark.parametrize("jitter", [None, Random(4)], ids=["even", "jittered"])
def test_r3_a_clock_set_back_behind_the_restart_is_believed_after_the_silence(
    back_ms: float, jitter: Random | None, new_buffer: Build, point: Point, balance: Balance
) -> None:
    buffer = restarted(new_buffer, point)
    verdicts = list(go_on(buffer, point, range(100, 400), back_ms, jitter))
    began = verdicts.index(Offer.EPOCH_RESET)
    assert set(verdicts[:began]) == {Offer.TOO_LATE}
    assert 198 <= began <= 206
    assert set(verdicts[began + 1 :]) <= {Offer.QUEUED, Offer.REPAIRED}
    assert (buffer.stats.clock_steps, buffer.stats.epoch_resets) == (1, 2)
    balance(buffer)


def test_r3_what_a_stepped_clock_brings_plays_and_its_age_counts_anew(
    new_buffer: Build, point: Point, lane: Lane
) -> None:
    buffer = restarted(new_buffer, point)
    verdicts = go_on(buffer, point, range(100, 400), 5_000.0)
    seq = 99
    for verdict in verdicts:
        seq += 1
        if verdict is Offer.EPOCH_RESET:
            break
    assert buffer.depth == 1
    assert lane(buffer, RESTART_MS + 10 * seq, 1) == "."
    assert buffer.stats.aged_dropped == 0  # though offered as 5 s late, by the clock that is no more
    assert not buffer.awaiting_prepare


def test_r3_a_live_stream_whose_clock_stepped_needs_a_new_prepare_stream(
    new_buffer: Build, point: Point, lane: Lane
) -> None:
    buffer = restarted(new_buffer, point)
    assert lane(buffer, RESTART_MS + 991, 1) != "."
    assert buffer.live
    assert Offer.EPOCH_RESET in set(go_on(buffer, point, range(100, 400), 5_000.0))
    assert buffer.awaiting_prepare


def test_r3_a_clock_that_stepped_while_the_arm_stood_is_believed_as_soon(
    new_buffer: Build, point: Point
) -> None:
    """Ten minutes without an offer: the numbers are more than two to the fifteenth ahead."""
    buffer = restarted(new_buffer, point)
    verdicts = list(go_on(buffer, point, range(60_000, 60_400), 3_600_000.0))
    began = verdicts.index(Offer.EPOCH_RESET)
    assert set(verdicts[:began]) == {Offer.ON_PROBATION}
    assert 198 <= began <= 206


@pytest.mark.parametrize("first", [100, 250, 300, 5_000])
def test_r3_a_relays_burst_of_old_datagrams_is_never_believed(
    first: int, new_buffer: Build, point: Point, balance: Balance
) -> None:
    """R3's two hundred, and more, of the dead numbering, even where its numbers happen to fit."""
    buffer = restarted(new_buffer, point)
    for at_ms in (RESTART_MS + 3_000, RESTART_MS + 5_500):
        for k in range(300):
            old = point(0, stamp_ms=2_000.0 + 10 * k)
            verdict = buffer.offer(first + k, old, round((at_ms + 0.01 * k) * MS))
            assert verdict is Offer.TOO_LATE
    assert buffer.stats.epoch_resets == 1
    balance(buffer)


@pytest.mark.parametrize("what", ["numbers of its own", "half its pace", "stamps that stand", "copies"])
def test_r3_what_does_not_go_on_from_where_the_sender_was_is_never_believed(
    what: str, new_buffer: Build, point: Point
) -> None:
    buffer = restarted(new_buffer, point)
    for k in range(700):
        at_ms = RESTART_MS + 1_000 + 10 * k
        seq = {"numbers of its own": 700 + k, "half its pace": 100 + k // 2}.get(what, 100 + k)
        stamp_ms = 2_000.0 if what == "stamps that stand" else 2_000.0 + 10 * k
        old = point(0, stamp_ms=stamp_ms)
        verdict = buffer.offer(seq, old, round(at_ms * MS), is_copy=what == "copies")
        assert verdict is Offer.TOO_LATE
    assert buffer.stats.epoch_resets == 1


def test_r3_while_anything_is_accepted_old_stamps_prove_nothing(new_buffer: Build, point: Point) -> None:
    """Both at their pace, side by side for seven seconds: the live sender is the one that is believed."""
    buffer = restarted(new_buffer, point)
    for k in range(700):
        at_ns = round((RESTART_MS + 1_000 + 10 * k) * MS)
        live = point(0, stamp_ms=RESTART_MS + 1_000 + 10 * k)
        assert buffer.offer(100 + k, live, at_ns) is Offer.QUEUED
        assert buffer.offer(101 + k, point(0, stamp_ms=2_000.0 + 10 * k), at_ns) is Offer.TOO_LATE
    assert buffer.stats.epoch_resets == 1


def test_r3_a_new_session_forgets_a_run_on_a_stepped_clock(new_buffer: Build, point: Point) -> None:
    buffer = restarted(new_buffer, point)
    assert set(go_on(buffer, point, range(100, 290), 5_000.0)) == {Offer.TOO_LATE}
    buffer.forget_numbering()
    assert set(go_on(buffer, point, range(290, 310), 5_000.0)) == {Offer.QUEUED}
    assert buffer.stats.clock_steps == 0
