"""Test map "Prefill & pacing" (document 000 §3 A, §5 step 3)."""

from collections.abc import Callable, Iterable

from steadyhand.core.playout import Offer, PlayoutBuffer

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
