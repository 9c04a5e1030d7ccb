"""Test map "Prefill & pacing" (document 000 §3 A, §5 step 3)."""

from collections.abc import Callable, Iterable

from steadyhand.core.playout import Offer, PlayoutBuffer
from steadyhand.ground.setpoint import Setpoint

MS = 1_000_000
Point = Callable[..., Setpoint]
Balance = Callable[[PlayoutBuffer], None]
Build = Callable[..., PlayoutBuffer]
Send = Callable[[PlayoutBuffer, Iterable[int], float], list[Offer]]
Lane = Callable[[PlayoutBuffer, float, int], str]
Play = Callable[..., list[str]]


def test_prefill_holds_pops_until_target_depth_then_releases_one_per_tick(
    new_buffer: Build, send: Send, lane: Lane
) -> None:
    buffer = new_buffer()
    for number in range(4):
        send(buffer, [number], 10.0 * number)
        assert lane(buffer, 10.0 * number + 5, 1) == "."
    assert buffer.depth == 4
    assert buffer.health(35_000_000).release_age_ms is None
    send(buffer, [4], 40.0)
    assert lane(buffer, 45.0, 1) == "0"
    assert buffer.live
    # Draining goes on below the target: prefill is asked for at the start and after emptiness only.
    assert lane(buffer, 55.0, 4) == "1 2 3 4"
    assert buffer.stats.hold_ticks == 0


def test_jittered_arrivals_equalize_to_one_release_per_tick_in_seq_order(
    new_buffer: Build, play: Play
) -> None:
    arrivals_ms = [0, 14, 15, 16, 40, 41, 88, 89, 90, 91, 100, 139, 140, 141, 142, 143, 160, 170, 215, 216]
    buffer = new_buffer()
    lane = play(buffer, [(at, seq) for seq, at in enumerate(arrivals_ms)], until_ms=245)
    assert lane[:4] == ["."] * 4
    assert lane[4:24] == [str(seq) for seq in range(20)]
    assert buffer.stats.released == 20
    assert buffer.stats.underrun_episodes == 0


def test_underrun_to_empty_pauses_pops_until_prefill_rebuilds(
    new_buffer: Build, send: Send, lane: Lane
) -> None:
    buffer = new_buffer()
    send(buffer, range(5), 0.0)
    assert lane(buffer, 0.0, 7) == "0 1 2 3 4 _ _"
    send(buffer, range(5, 9), 65.0)
    assert lane(buffer, 70.0, 2) == "_ _"
    assert buffer.depth == 4
    send(buffer, [9], 85.0)
    assert lane(buffer, 90.0, 6) == "5 6 7 8 9 _"
    assert buffer.stats.hold_ticks == 5
    assert buffer.stats.underrun_episodes == 2


def late_stream(
    buffer: PlayoutBuffer, point: Point, landing: Iterable[int], at_ms: float, late_ms: float
) -> None:
    for seq in landing:
        buffer.offer(seq, point(seq), round(at_ms * MS), lateness_ns=round(late_ms * MS))


def test_a_new_stream_whose_head_came_late_starts_at_the_target_exactly(
    new_buffer: Build, point: Point, lane: Lane, balance: Balance
) -> None:
    """The end of a burst: two above the target, and three more before the second tick.

    Started two above the target, the next tick would catch up by three and leap over them.
    """
    buffer = new_buffer()
    late_stream(buffer, point, range(7), 0.0, 21.0)
    assert buffer.depth == 7
    assert lane(buffer, 5.0, 1) == "2"
    assert buffer.stats.overflow_dropped == 2
    late_stream(buffer, point, range(7, 10), 10.0, 0.0)
    assert lane(buffer, 15.0, 3) == "3 4 5"
    assert (buffer.stats.interpolated, buffer.stats.lost_at_release) == (0, 0)
    assert buffer.stats.overflow_dropped == 2
    balance(buffer)


def test_what_came_in_time_is_kept_and_so_is_all_once_the_arm_has_moved(
    new_buffer: Build, point: Point, lane: Lane
) -> None:
    in_time = new_buffer()
    late_stream(in_time, point, range(7), 0.0, 20.0)
    assert lane(in_time, 5.0, 3) == "0 1 2"
    again = new_buffer()
    late_stream(again, point, range(5), 0.0, 0.0)
    assert lane(again, 0.0, 6) == "0 1 2 3 4 _"
    late_stream(again, point, range(5, 12), 60.0, 21.0)
    assert lane(again, 65.0, 3) == "5 6 7"
    assert (in_time.stats.overflow_dropped, again.stats.overflow_dropped) == (0, 0)


def test_depth_one_releases_what_has_just_arrived(new_buffer: Build, send: Send, lane: Lane) -> None:
    buffer = new_buffer(1)
    send(buffer, [0], 0.0)
    assert lane(buffer, 0.0, 2) == "0 _"
    send(buffer, [1], 15.0)
    assert lane(buffer, 20.0, 1) == "1"


def test_jitter_burst_after_a_stall_is_paid_out_and_does_not_deepen_the_queue(
    new_buffer: Build, play: Play
) -> None:
    """Figure D: four silent ticks, then everything at once; no beat is missed."""
    on_time = [(10.0 * seq, seq) for seq in range(10)]
    burst = [(139.0, seq) for seq in range(10, 14)]
    after = [(10.0 * seq, seq) for seq in range(14, 30)]
    buffer = new_buffer()
    lane = play(buffer, on_time + burst + after, until_ms=300)
    assert lane == ["."] * 4 + [str(seq) for seq in range(26)]
    assert buffer.depth == 4
