"""Rulings R1, R4, R5, R6 and R7. R2 and R3 have files of their own."""

from collections.abc import Callable, Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyhand.core.playout import Hold, Offer, PlayoutBuffer, Release
from steadyhand.ground.setpoint import Setpoint

Build = Callable[..., PlayoutBuffer]
Point = Callable[..., Setpoint]
Send = Callable[[PlayoutBuffer, Iterable[int], float], list[Offer]]
Lane = Callable[[PlayoutBuffer, float, int], str]
Play = Callable[..., list[str]]
Balance = Callable[[PlayoutBuffer], None]

MS = 1_000_000
FAR = 1 << 20
DELAYS_MS = st.lists(st.integers(0, 399).map(lambda tenths: tenths / 10), min_size=20, max_size=120)


def no_self_made_hole(buffer: PlayoutBuffer, lane: list[str]) -> None:
    """Nothing synthetic, nothing lost, and from the first release on a setpoint every tick."""
    assert buffer.stats.interpolated == 0
    assert buffer.stats.lost_at_release == 0
    started = next(at for at, tick in enumerate(lane) if tick != ".")
    assert [tick for tick in lane[started:] if not tick.isdigit() and tick != "d"] == []


@pytest.mark.parametrize(
    ("count", "trim", "in_order", "first_tick_ms"),
    [
        (61_000, False, True, 5.0),
        (61_000, True, True, 5.0),
        (6_000, False, False, 0.5),
        (6_000, True, False, 9.5),
        (6_000, False, True, 0.0),
    ],
)
def test_r1_a_delay_step_never_churns(
    *, count: int, trim: bool, in_order: bool, first_tick_ms: float, new_buffer: Build, play: Play
) -> None:
    """One-way delay from 60 to 30 ms on a quiet link: once 58,995 synthetics in a row."""
    buffer = new_buffer(20, window_ms=20.0, trim=trim)
    arrivals_ms = [10.0 * seq + (60.0 if seq < 500 else 30.0) for seq in range(count)]
    if in_order:
        arrivals_ms[497:500] = [5030.0] * 3
    arrivals = sorted((at_ms, seq) for seq, at_ms in enumerate(arrivals_ms))
    lane = play(buffer, arrivals, until_ms=10.0 * count, first_tick_ms=first_tick_ms)
    no_self_made_hole(buffer, lane)
    assert buffer.stats.overflow_dropped <= 3


@pytest.mark.parametrize(("count", "trim"), [(61_000, False), (61_000, True)])
def test_r1_a_stall_with_adapting_depth_never_churns(
    count: int, trim: bool, new_buffer: Build, play: Play
) -> None:
    """170 ms of silence, depth adapting in 20..40: grow, deepen, calm, shrink, and once for ever."""
    buffer = new_buffer(20, max_depth=40, window_ms=20.0, trim=trim)
    arrivals = [(10.0 * max(seq, 1017 if 1000 <= seq < 1017 else 0), seq) for seq in range(count)]
    lane = play(buffer, arrivals, until_ms=10.0 * count)
    assert lane.count("d") > 0
    no_self_made_hole(buffer, lane)


@given(delays_ms=DELAYS_MS, phase=st.integers(0, 99), trim=st.booleans(), ceiling=st.sampled_from([5, 12]))
@settings(deadline=None, derandomize=True, max_examples=60)
def test_r1_in_order_input_without_loss_is_never_concealed(
    *, new_buffer: Build, play: Play, delays_ms: list[float], phase: int, trim: bool, ceiling: int
) -> None:
    """However late and clumped: without a hole in the network there is nothing to conceal."""
    buffer = new_buffer(5, max_depth=ceiling, trim=trim)
    arrivals, newest_ms = [], 0.0
    for seq, delay_ms in enumerate(delays_ms):
        newest_ms = max(newest_ms, 10.0 * seq + 4 * delay_ms)
        arrivals.append((newest_ms, seq))
    play(buffer, arrivals, until_ms=newest_ms + 100, first_tick_ms=phase / 10)
    assert (buffer.stats.interpolated, buffer.stats.lost_at_release) == (0, 0)


@given(DELAYS_MS, st.integers(0, 99))
@settings(deadline=None, derandomize=True, max_examples=150)
def test_r1_input_before_its_slot_is_never_concealed(
    new_buffer: Build, play: Play, delays_ms: list[float], phase: int
) -> None:
    """Reordered at will, but each packet within the buffer's delay: four periods for five slots.

    A slot that is never earlier than four periods after the packet was sent; catch-up included.
    """
    buffer = new_buffer(5)
    arrivals = sorted((10.0 * seq + delay_ms, seq) for seq, delay_ms in enumerate(delays_ms))
    play(buffer, arrivals, until_ms=10.0 * len(delays_ms), first_tick_ms=phase / 10)
    assert (buffer.stats.interpolated, buffer.stats.lost_at_release) == (0, 0)


def test_r1_what_overflow_drops_is_stepped_over(new_buffer: Build, send: Send, lane: Lane) -> None:
    buffer = new_buffer()
    send(buffer, range(5), 0.0)
    assert lane(buffer, 0.0, 1) == "0"
    send(buffer, range(5, 9), 5.0)
    assert lane(buffer, 10.0, 6) == "4 5 6 7 8 _"
    stats = buffer.stats
    assert (stats.overflow_dropped, stats.interpolated, stats.lost_at_release) == (3, 0, 0)
    assert stats.concealment_events == 0


def test_r1_what_age_drops_is_stepped_over_in_mid_queue_too(
    new_buffer: Build, send: Send, lane: Lane
) -> None:
    buffer = new_buffer(3)
    send(buffer, [0, 1, 4], 0.0)
    assert lane(buffer, 0.0, 1) == "0"
    send(buffer, [2, 3, 5], 200.0)
    assert lane(buffer, 231.0, 4) == "2 3 5 _"
    stats = buffer.stats
    assert (stats.aged_dropped, stats.interpolated, stats.lost_at_release) == (2, 0, 0)


def test_r1_fractions_count_only_what_is_truly_missing(new_buffer: Build, send: Send) -> None:
    """1 and 3 died of age, 2 never came: one synthetic, half way from 0 to 4, numbered 2."""
    buffer = new_buffer(3)
    send(buffer, [0, 1, 3], 0.0)
    buffer.drain_tick(0)
    send(buffer, [4, 5], 200.0)
    synthetic = buffer.drain_tick(231 * MS)
    assert isinstance(synthetic, Release)
    assert (synthetic.seq, synthetic.synthetic) == (2, True)
    assert synthetic.setpoint.joints_deg == pytest.approx((2.0, -2.0))
    real = buffer.drain_tick(241 * MS)
    assert isinstance(real, Release)
    assert (real.seq, real.synthetic) == (4, False)
    assert (buffer.stats.aged_dropped, buffer.stats.interpolated) == (2, 1)


@pytest.mark.parametrize(("missing", "expected", "lost"), [(3, "0 ~2 ~3 ~4 6", 0), (4, "0 7 8", 4)])
def test_r1_only_what_is_truly_missing_makes_a_hole_big(
    *, missing: int, expected: str, lost: int, new_buffer: Build, send: Send, lane: Lane
) -> None:
    """Two more numbers of the gap were dropped by age; they neither count nor hide a loss."""
    buffer = new_buffer(3)
    send(buffer, [0, 1, 2 + missing], 0.0)
    assert lane(buffer, 0.0, 1) == "0"
    send(buffer, [3 + missing, 4 + missing], 200.0)
    ticks = expected.split()
    assert lane(buffer, 231.0, len(ticks) - 1) == " ".join(ticks[1:])
    assert (buffer.stats.lost_at_release, buffer.stats.aged_dropped) == (lost, 2)


def test_r1_a_copy_of_what_catch_up_dropped_does_not_undo_it(
    new_buffer: Build, send: Send, lane: Lane, balance: Balance
) -> None:
    buffer = new_buffer()
    send(buffer, range(8), 0.0)
    assert send(buffer, [0, 1, 2], 0.0) == [Offer.DUPLICATE] * 3
    assert (buffer.depth, buffer.stats.overflow_dropped) == (5, 3)
    assert lane(buffer, 0.0, 1) == "3"
    assert send(buffer, [2], 0.0) == [Offer.TOO_LATE]
    balance(buffer)


def test_r4_screen_drops_copies_by_number_alone(new_buffer: Build, send: Send, lane: Lane) -> None:
    buffer = new_buffer()
    assert buffer.screen(3, 0) is None  # nothing known yet
    send(buffer, [0, 1, 2, 4, 5], 0.0)
    assert lane(buffer, 0.0, 2) == "0 1"
    offered = buffer.stats.offered
    assert buffer.screen(1, 15 * MS) is Offer.DUPLICATE  # already released: seen, not late
    assert buffer.screen(2, 15 * MS) is Offer.DUPLICATE
    assert (buffer.stats.late_dropped, buffer.stats.duplicate_dropped) == (0, 2)
    assert buffer.stats.offered == offered + 2
    # A hole it could fill, a newer number, a number from nowhere: parse it. Nothing is counted yet.
    for seq in (3, 6, 5 + FAR):
        assert buffer.screen(seq, 15 * MS) is None
    assert buffer.stats.offered == offered + 2
    assert buffer.offer(3, Setpoint(joints_deg=(3.0, -3.0), timestamp_s=0.03), 15 * MS, is_copy=True) is (
        Offer.REPAIRED
    )
    # After two seconds of silence a low number may be a restarted sender's: parse it.
    assert buffer.screen(0, 2015 * MS - 1) is Offer.DUPLICATE
    assert buffer.screen(0, 2015 * MS) is None


def test_r4_only_a_copy_of_what_never_came_is_late(
    new_buffer: Build, send: Send, lane: Lane, balance: Balance
) -> None:
    """Released, flushed or dropped: it was seen. Bridged by a synthetic: it was missed."""
    buffer = new_buffer()
    send(buffer, [0, 1, 2, 4, 5, 6], 0.0)
    assert lane(buffer, 0.0, 5) == "0 1 2 ~3 4"
    assert [buffer.screen(seq, 50 * MS) for seq in range(5)] == [
        *[Offer.DUPLICATE] * 3,
        Offer.TOO_LATE,
        Offer.DUPLICATE,
    ]
    buffer.flush_lifecycle()
    assert [buffer.screen(seq, 50 * MS) for seq in (3, 5, 6)] == [
        Offer.TOO_LATE,
        *[Offer.DUPLICATE] * 2,
    ]
    # The datagram's own setpoint at or below the floor is too late whatever came before (document 000 §4).
    assert send(buffer, [5], 50.0) == [Offer.TOO_LATE]
    # Out of memory's reach nobody knows.
    send(buffer, range(7, 300), 60.0)
    buffer.flush_lifecycle()
    assert buffer.screen(300 - 1 - 255, 60 * MS) is Offer.DUPLICATE
    assert buffer.screen(300 - 1 - 256, 60 * MS) is Offer.TOO_LATE
    balance(buffer)


@pytest.mark.parametrize("copies", [1, 3, 10])
def test_r4_a_healthy_redundant_stream_counts_no_late_arrival(
    copies: int, new_buffer: Build, send: Send, lane: Lane, balance: Balance
) -> None:
    """At a depth of five most copies of a full bundle have been released: all are duplicates."""
    buffer = new_buffer()
    for seq in range(200):
        send(buffer, [seq], 10.0 * seq)
        for back in range(1, min(copies, seq) + 1):
            assert buffer.screen(seq - back, 10 * seq * MS) is Offer.DUPLICATE
        lane(buffer, 10.0 * seq + 5, 1)
    assert buffer.stats.late_dropped == 0
    assert buffer.stats.duplicate_dropped == buffer.stats.offered - 200
    balance(buffer)


def test_r4_screen_drops_copies_of_what_catch_up_dropped(new_buffer: Build, send: Send) -> None:
    buffer = new_buffer()
    send(buffer, range(8), 0.0)
    assert [buffer.screen(seq, 0) for seq in range(8)] == [Offer.DUPLICATE] * 8


@given(st.lists(st.tuples(st.integers(-6, 4), st.integers(0, 12), st.booleans()), max_size=150))
@settings(deadline=None, derandomize=True, max_examples=60)
def test_r4_screening_first_changes_no_verdict_and_no_count(
    new_buffer: Build, point: Point, steps: list[tuple[int, int, bool]]
) -> None:
    screened, parsed = new_buffer(), new_buffer()
    now_ns, newest = 0, 100
    for ahead, wait_ms, tick in steps:
        now_ns += wait_ms * MS
        seq = newest + ahead
        newest = max(newest, seq)
        verdict = screened.screen(seq, now_ns)
        if verdict is None:
            verdict = screened.offer(seq, point(seq), now_ns, is_copy=True)
        assert verdict is parsed.offer(seq, point(seq), now_ns, is_copy=True)
        if tick:
            assert screened.drain_tick(now_ns) == parsed.drain_tick(now_ns)
    assert screened.stats == parsed.stats


def test_r5_waiting_time_is_release_minus_arrival_whatever_the_depth(
    new_buffer: Build, send: Send, lane: Lane
) -> None:
    buffer = new_buffer(2)
    assert buffer.health(0).queue_wait_ms is None
    send(buffer, [0, 2], 3.0)
    waits_ms = []
    for at_ms in (103, 113, 133):  # the drain stood still for 100 ms: depth × period says 20
        tick = buffer.drain_tick(at_ms * MS)
        assert isinstance(tick, Release)
        waits_ms.append((tick.seq, tick.synthetic, tick.wait_ns / MS))
    assert [waits_ms[0], waits_ms[2]] == [(0, False, 100.0), (2, False, 130.0)]
    assert waits_ms[1][:2] == (1, True)
    wait = buffer.health(133 * MS).queue_wait_ms
    assert wait is not None
    # A synthetic never stood in line: only 100 and 130 are in there.
    assert 100.0 <= wait.p50 <= 130.0
    assert 100.0 < wait.p99 <= 130.0


def test_r5_health_reports_the_median_and_the_worst_hundredth_of_ten_seconds(
    new_buffer: Build, point: Point
) -> None:
    buffer = new_buffer(1)

    def waits_of(slow_every: int, count: int, slow_ms: int) -> tuple[float, float]:
        first = buffer.stats.offered
        for seq in range(first, first + count):
            at_ns = seq * 10 * MS
            buffer.offer(seq, point(seq), at_ns)
            buffer.drain_tick(at_ns + (slow_ms if seq % slow_every == 0 else 1) * MS)
        wait = buffer.health((first + count) * 10 * MS).queue_wait_ms
        assert wait is not None
        return wait.p50, wait.p99

    assert waits_of(50, 1000, 9) == (1.0, 9.0)  # 2 % of them are slow: p99 sees it
    assert waits_of(200, 1001, 7) == (1.0, 1.0)  # half a percent: it does not; the nines are gone
    assert waits_of(1, 1001, 4) == (4.0, 4.0)


def test_r5_what_was_released_more_than_ten_seconds_ago_is_not_reported(
    new_buffer: Build, send: Send, lane: Lane
) -> None:
    """The stream has stopped; a figure "over the last ten seconds" must not show the last minute."""
    buffer = new_buffer()
    send(buffer, range(5), 0.0)
    lane(buffer, 0.0, 5)
    assert buffer.health(10_000 * MS).queue_wait_ms is not None
    assert buffer.health(60_000 * MS).queue_wait_ms is None


def test_r6_concealment_counts_holes_and_samples(new_buffer: Build, send: Send, lane: Lane) -> None:
    buffer = new_buffer()
    send(buffer, [0, 3, 5, 6, 10], 0.0)
    assert lane(buffer, 0.0, 11) == "0 ~1 ~2 3 ~4 5 6 ~7 ~8 ~9 10"
    assert (buffer.stats.concealment_events, buffer.stats.interpolated) == (3, 6)


def test_r6_a_frame_of_a_retired_session_is_one_arrival_and_one_end(
    new_buffer: Build, balance: Balance
) -> None:
    buffer = new_buffer()
    for _ in range(3):
        buffer.count_retired_session()
    assert (buffer.stats.offered, buffer.stats.retired_session) == (3, 3)
    balance(buffer)


ARRIVAL = st.tuples(
    st.integers(-4, 3) | st.sampled_from([-FAR, FAR, FAR + 1]),
    st.sampled_from([0, 1, 5, 10, 40, 300, 2500]),
    st.sampled_from(["tick", "tick", "offer", "copy", "nan", "estop", "own estop", "idle", "session"]),
)


@given(
    steps=st.lists(ARRIVAL, max_size=120),
    depth=st.sampled_from([1, 5]),
    window_ms=st.sampled_from([None, 20.0]),
)
@settings(deadline=None, derandomize=True, max_examples=60)
def test_r6_every_arrival_ends_in_exactly_one_counter(
    *,
    new_buffer: Build,
    point: Point,
    balance: Balance,
    steps: list[tuple[int, int, str]],
    depth: int,
    window_ms: float | None,
) -> None:
    buffer = new_buffer(depth, max_depth=8, window_ms=window_ms, trim=True)
    now_ns, newest = 0, 1 << 21
    for ahead, wait_ms, what in steps:
        now_ns += wait_ms * MS
        seq = newest + ahead
        newest = seq if 0 < ahead <= 3 else newest
        stamp_ms = float("nan") if what == "nan" else now_ns / MS
        buffer.offer(seq, point(seq, stamp_ms=stamp_ms), now_ns, is_copy=what == "copy")
        balance(buffer)
        if what == "tick":
            buffer.drain_tick(now_ns)
        elif what == "estop":
            buffer.flush_for_estop(None)
        elif what == "own estop":
            buffer.flush_for_estop(newest + 1)
        elif what == "idle":
            buffer.flush_lifecycle()
        elif what == "session":
            buffer.forget_numbering()
            buffer.count_retired_session()
        balance(buffer)


@given(DELAYS_MS, st.sets(st.integers(0, 119), max_size=30))
@settings(deadline=None, derandomize=True, max_examples=60)
def test_r7_a_received_value_is_released_as_the_very_object(
    new_buffer: Build, point: Point, delays_ms: list[float], lost: set[int]
) -> None:
    """Through reordering, loss and catch-up; and a synthetic only stands in for what is not there."""
    buffer = new_buffer(5, max_depth=12, trim=True)
    sent = {seq: point(seq) for seq in range(len(delays_ms)) if seq not in lost}
    arrivals = sorted((10.0 * seq + 3 * delays_ms[seq], seq) for seq in sent)
    arrived: set[int] = set()
    for tick in range(2 * len(delays_ms)):
        while arrivals and arrivals[0][0] <= 10.0 * tick:
            _, seq = arrivals.pop(0)
            buffer.offer(seq, sent[seq], round(10 * MS * tick))
            arrived.add(seq)
        verdict = buffer.drain_tick(10 * MS * tick)
        match verdict:
            case Release(synthetic=False, seq=seq, setpoint=setpoint):
                assert setpoint is sent[seq]
            case Release(seq=seq, setpoint=setpoint):
                assert seq not in arrived
                assert setpoint.extras["playout_interpolated"] is True
            case _:
                assert isinstance(verdict, Hold)
    assert all("playout_interpolated" not in setpoint.extras for setpoint in sent.values())
