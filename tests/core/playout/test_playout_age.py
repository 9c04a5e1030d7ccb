"""Test map "Staleness & age cap" (document 000 §3 D and E, §4, §5 step 1)."""

from collections.abc import Callable, Iterable

from steadyhand.core.playout import Hold, HoldReason, Offer, PlayoutBuffer, Release
from steadyhand.ground.setpoint import Setpoint

Build = Callable[..., PlayoutBuffer]
Point = Callable[..., Setpoint]
Send = Callable[[PlayoutBuffer, Iterable[int], float], list[Offer]]
Lane = Callable[[PlayoutBuffer, float, int], str]
Play = Callable[..., list[str]]
Balance = Callable[[PlayoutBuffer], None]

MS = 1_000_000


def test_over_age_entry_is_discarded_never_released(
    new_buffer: Build, send: Send, lane: Lane, balance: Balance
) -> None:
    """Figure E: two setpoints, then the link dies in mid-prefill; the next stream is clean."""
    buffer = new_buffer()
    send(buffer, [0, 1], 0.0)
    # 50 ms of buffer and 200 ms of margin: at 250 ms exactly they still live, after it they do not.
    assert lane(buffer, 250.0, 1) == "."
    assert buffer.depth == 2
    send(buffer, [2, 3, 4], 250.0)
    assert lane(buffer, 250.000001, 1) == "."
    assert (buffer.depth, buffer.stats.aged_dropped) == (3, 2)
    send(buffer, [5, 6], 255.0)
    assert lane(buffer, 260.0, 5) == "2 3 4 5 6"
    balance(buffer)


def test_only_what_is_over_age_goes_wherever_it_stands_in_the_queue(
    new_buffer: Build, point: Point, lane: Lane
) -> None:
    """Age is waiting time, not position: the old one here stands behind a fresh repair."""
    buffer = new_buffer()
    buffer.offer(5, point(5), 0)
    buffer.offer(3, point(3), 200 * MS)
    buffer.offer(4, point(4), 200 * MS)
    buffer.offer(6, point(6), 200 * MS)
    assert lane(buffer, 251.0, 1) == "."
    assert (buffer.depth, buffer.stats.aged_dropped) == (3, 1)


def test_age_counts_from_when_it_should_have_arrived(new_buffer: Build, point: Point, lane: Lane) -> None:
    """Decision 0003: what stood still inside the network is old on arrival, be it ever so young here."""
    buffer = new_buffer(2)  # 20 ms of buffer and 200 ms of margin
    for seq, lateness_ms in enumerate((220, 215, 0, 0)):
        buffer.offer(seq, point(seq), 1000 * MS, lateness_ns=lateness_ms * MS)
    assert buffer.drain_tick(1000 * MS + 1) == Hold(HoldReason.PREFILL)  # 1 is young, and its burst may land
    assert buffer.stats.aged_dropped == 1
    assert lane(buffer, 1010.0, 2) == "2 3"
    assert buffer.stats.aged_dropped == 2


def test_a_late_repair_behind_fresh_ones_ages_out_by_its_own_clock(
    new_buffer: Build, point: Point, lane: Lane
) -> None:
    buffer = new_buffer(3)
    for seq in (1, 2):
        buffer.offer(seq, point(seq), 1000 * MS)
    buffer.offer(0, point(0), 1005 * MS, lateness_ns=3_000 * MS)
    assert lane(buffer, 1005.0, 1) == "."
    assert (buffer.depth, buffer.stats.aged_dropped) == (2, 1)


def test_an_age_purge_that_empties_a_live_queue_is_an_underrun(
    new_buffer: Build, send: Send, lane: Lane
) -> None:
    buffer = new_buffer()
    send(buffer, range(6), 0.0)
    assert lane(buffer, 0.0, 1) == "0"
    assert lane(buffer, 251.0, 1) == "_"
    assert (buffer.depth, buffer.stats.aged_dropped, buffer.stats.released) == (0, 5, 1)


def test_overflow_above_high_water_drops_oldest_down_to_target(
    new_buffer: Build, send: Send, lane: Lane
) -> None:
    """Figure D: a burst leaves the freshest N; the queue never turns into a standing lag."""
    buffer = new_buffer()
    send(buffer, range(7), 0.0)
    assert (buffer.depth, buffer.stats.overflow_dropped) == (7, 0)
    assert send(buffer, [7], 0.0) == [Offer.QUEUED]
    assert (buffer.depth, buffer.stats.overflow_dropped) == (5, 3)
    assert lane(buffer, 0.0, 5) == "3 4 5 6 7"


def test_a_huge_burst_leaves_the_freshest_of_it(new_buffer: Build, send: Send, lane: Lane) -> None:
    buffer = new_buffer()
    send(buffer, range(1000), 0.0)
    released = [int(seq) for seq in lane(buffer, 0.0, buffer.depth).split()]
    assert released == list(range(released[0], 1000))
    assert 5 <= len(released) <= 7


def test_overflow_drops_down_to_the_runtime_target(new_buffer: Build, send: Send, play: Play) -> None:
    """The mark moves with an adapted target, or a deepened queue would be cut back at once."""
    buffer = new_buffer(5, max_depth=20)
    # Four slots of silence every second graze the bottom: 5 → 7 → 9.
    arrivals = [(10.0 * seq if seq % 100 < 95 else 10.0 * (seq // 100 * 100 + 99), seq) for seq in range(300)]
    play(buffer, arrivals, until_ms=3000)
    target = buffer.target_depth
    assert target > 5
    dropped = buffer.stats.overflow_dropped
    send(buffer, range(300, 300 + target + 2 - buffer.depth), 3000.0)
    assert (buffer.depth, buffer.stats.overflow_dropped) == (target + 2, dropped)
    send(buffer, [400], 3000.0)
    assert (buffer.depth, buffer.stats.overflow_dropped) == (target, dropped + 3)


def test_healthy_head_survives_held_ticks_and_wobble_without_aging_out(
    new_buffer: Build, point: Point
) -> None:
    """The all-yellow churn: a cap of depth + 40 ms purged heads that waited for healthy reasons.

    Two near-empty stalls deepen 20 → 25 → 31 slots by held ticks while arrivals wobble by two
    slots; heads then wait far over 240 ms, and nothing is purged or concealed.
    """
    buffer = new_buffer(20, max_depth=40)
    longest_wait_ns = 0
    seq = 0
    for tick in range(1200):
        now_ns = (10 * tick + 5) * MS
        stalled = 300 <= tick < 318 or 600 <= tick < 627
        wobbling = not stalled and tick % 7 in (2, 3)
        while not stalled and not wobbling and seq <= tick:
            buffer.offer(seq, point(seq), now_ns - 1)
            seq += 1
        verdict = buffer.drain_tick(now_ns)
        if isinstance(verdict, Release):
            longest_wait_ns = max(longest_wait_ns, verdict.wait_ns)
    assert buffer.target_depth == 31
    assert buffer.stats.deepening_holds >= 3
    assert longest_wait_ns > 240 * MS
    assert buffer.stats.aged_dropped == 0
    assert buffer.stats.interpolated == 0
