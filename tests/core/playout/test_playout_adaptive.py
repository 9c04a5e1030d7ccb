"""Test map "Adaptive depth": pay latency only when the network demands it (document 000 §6)."""

from collections.abc import Callable, Iterable
from itertools import pairwise

import pytest

from steadyhand.core.playout import Offer, PlayoutBuffer
from steadyhand.ground.setpoint import Setpoint

Build = Callable[..., PlayoutBuffer]
Point = Callable[..., Setpoint]
Send = Callable[[PlayoutBuffer, Iterable[int], float], list[Offer]]
Lane = Callable[[PlayoutBuffer, float, int], str]
Play = Callable[..., list[str]]

MS = 1_000_000


def stalled(count: int, begin: int, silent: int) -> list[tuple[float, int]]:
    """`count` arrivals at 100 Hz; `silent` of them, from `begin` on, come with the one after them."""
    return [
        (10.0 * (begin + silent) if begin <= seq < begin + silent else 10.0 * seq, seq)
        for seq in range(count)
    ]


def test_adaptive_target_grows_on_graze_deepens_by_slew_and_shrinks_when_calm(
    new_buffer: Build, play: Play
) -> None:
    buffer = new_buffer(20, max_depth=40, trim=True)
    targets: list[tuple[int, int]] = [(0, 20)]

    def watch(now_ns: int) -> None:
        if buffer.target_depth != targets[-1][1]:
            targets.append((now_ns, buffer.target_depth))

    lane = play(buffer, stalled(6000, 500, 17), until_ms=60_000, watch=watch)
    # Grow fast: at the first roll-over after the graze, by a quarter.
    grown_ns, grown = targets[1]
    assert grown == 25
    assert 5170 * MS < grown_ns <= 6200 * MS
    # Realised without a pause: one tick in four held, until two slots short of the target.
    first = lane.index("d")
    assert [at for at, tick in enumerate(lane) if tick == "d"] == [first, first + 4, first + 8]
    assert "_" not in lane
    # Shrink slow: ten calm windows change nothing, then at most one slot a window, down to the base.
    shrinks = targets[2:]
    assert [target for _, target in shrinks] == [24, 23, 22, 21, 20]
    assert 11_000 * MS <= shrinks[0][0] - grown_ns <= 12_000 * MS
    times_ns = [at_ns for at_ns, _ in shrinks]
    assert all(b - a >= 1000 * MS for a, b in pairwise(times_ns))
    stats = buffer.stats
    assert (stats.overflow_dropped, stats.aged_dropped, stats.interpolated) == (0, 0, 0)
    assert (stats.lost_at_release, stats.underrun_episodes) == (0, 0)


def test_r2_behind_a_fast_sender_a_grown_target_is_still_given_back(new_buffer: Build, play: Play) -> None:
    """3000 ppm: the queue stands a good half slot over its set point for good, and may not wait for less."""
    buffer = new_buffer(20, max_depth=40, trim=True)
    arrivals = [(at_ms * 0.997, seq) for at_ms, seq in stalled(5_000, 500, 18)]
    play(buffer, arrivals, until_ms=45_000)
    assert buffer.stats.deepening_holds > 0
    assert buffer.target_depth == 20
    assert (buffer.stats.overflow_dropped, buffer.stats.underrun_episodes) == (0, 0)


@pytest.mark.parametrize(
    ("base", "ceiling", "grown"),
    [(20, 40, [25, 31, 38, 40, 40]), (5, 12, [7, 9, 11, 12, 12]), (8, 100, [10, 12, 15, 18, 22])],
)
def test_growth_is_a_quarter_at_least_two_slots_up_to_the_ceiling(
    *, base: int, ceiling: int, grown: list[int], new_buffer: Build, send: Send, lane: Lane
) -> None:
    """Every window here sees a depth of one."""
    buffer = new_buffer(base, max_depth=ceiling)
    send(buffer, range(base), 0.0)
    lane(buffer, 0.0, base - 1)
    targets = []
    for window in range(5):
        begin_ms = 1000.0 * window + 10.0 * base
        for tick in range(100):
            # One in, one out; a tick that deepens leaves two and is paid back by silence.
            if buffer.depth < 2:
                send(buffer, [buffer.stats.offered], begin_ms + 10 * tick)
            lane(buffer, begin_ms + 10 * tick, 1)
        targets.append(buffer.target_depth)
    assert targets == grown


def test_a_margin_of_four_slots_is_no_graze_and_three_are(new_buffer: Build, send: Send, lane: Lane) -> None:
    for margin, target in ((4, 20), (3, 25)):
        buffer = new_buffer(20, max_depth=40)
        send(buffer, range(20), 0.0)
        lane(buffer, 0.0, 20 - margin + 1)  # its last tick sees `margin` in the queue
        for tick in range(20 - margin + 1, 130):
            send(buffer, range(buffer.stats.offered, buffer.stats.offered + 1), 10.0 * tick)
            lane(buffer, 10.0 * tick, 1)
            if tick == 99:
                assert buffer.target_depth == 20
        assert buffer.target_depth == target


def test_idle_and_prefill_ticks_never_adapt(new_buffer: Build, send: Send, lane: Lane) -> None:
    buffer = new_buffer(20, max_depth=40)
    lane(buffer, 0.0, 500)
    send(buffer, [0, 1], 5000.0)
    lane(buffer, 5000.0, 500)
    assert buffer.target_depth == 20


def test_an_underrun_is_one_graze_however_long_it_is_held(new_buffer: Build, play: Play) -> None:
    """The ticks of the hold feed nothing, or a dead link would deepen the target once a second."""
    buffer = new_buffer(20, max_depth=40)
    before = [(10.0 * seq, seq) for seq in range(340)]
    after = [(10.0 * seq, seq) for seq in range(1400, 1900)]
    targets: set[tuple[bool, int]] = set()

    def watch(now_ns: int) -> None:
        targets.add((now_ns > 15_500 * MS, buffer.target_depth))

    lane = play(buffer, before + after, until_ms=19_000, watch=watch)
    assert lane.count("_") > 1000
    assert targets == {(False, 20), (False, 25), (True, 25)}


@pytest.mark.parametrize(("silent", "shrinks"), [(12, False), (2, True)])
def test_only_windows_above_three_fifths_of_the_target_are_calm(
    silent: int, shrinks: bool, new_buffer: Build, play: Play
) -> None:
    """Every second the queue goes down to some ten slots of 25, or to twenty: no graze, either way.

    Ten slots keep the target for ever; twenty are calm, and after ten calm windows it shrinks. A queue
    that stands a little short of the target, where deepening begins and ends, is no reason to wait.
    """
    buffer = new_buffer(20, max_depth=40, trim=True)
    arrivals = []
    for seq in range(4000):
        pause = 17 if seq < 600 else silent
        in_pause = seq >= 500 and seq % 100 < pause
        arrivals.append((10.0 * (seq // 100 * 100 + pause if in_pause else seq), seq))
    play(buffer, arrivals, until_ms=6_500)
    assert buffer.target_depth == 25
    buffer = new_buffer(20, max_depth=40, trim=True)
    play(buffer, arrivals, until_ms=40_000)
    assert (buffer.target_depth < 25) == shrinks


def test_stall_flush_discards_the_adapt_windows_graze_evidence(
    new_buffer: Build, send: Send, lane: Lane, play: Play
) -> None:
    """A stall's own drain-down once made the next engagement announce an unstable connection."""
    buffer = new_buffer(20, max_depth=40, window_ms=20.0)
    # Stop in the middle of a window, so that the samples down to zero are in the one in flight.
    lane_before = play(buffer, [(10.0 * seq, seq) for seq in range(340)], until_ms=3400)
    assert "X" not in lane_before
    drained = lane(buffer, 3405.0, 30)
    assert "_ _ X" in drained
    assert buffer.target_depth == 20
    buffer.flush_lifecycle()
    again = [(10.0 * seq, seq) for seq in range(500, 1000)]
    play(buffer, again, until_ms=10_000, first_tick_ms=5005)
    assert buffer.target_depth == 20


@pytest.mark.parametrize("flush", ["lifecycle", "estop", "session"])
def test_the_learned_target_survives_every_flush(
    flush: str, new_buffer: Build, play: Play, send: Send, lane: Lane
) -> None:
    """It is knowledge about the link, not about the stream."""
    buffer = new_buffer(20, max_depth=40)
    play(buffer, stalled(700, 500, 17), until_ms=7000)
    assert buffer.target_depth == 25
    if flush == "lifecycle":
        buffer.flush_lifecycle()
    elif flush == "estop":
        buffer.flush_for_estop(None)
    else:
        buffer.forget_numbering()
        buffer.flush_lifecycle()  # R3: it was live, so the new session is prepared anew
    assert buffer.target_depth == 25
    # Prefill asks for the learned depth.
    send(buffer, range(1000, 1024), 7100.0)
    assert lane(buffer, 7100.0, 1) == "."
    send(buffer, [1024], 7110.0)
    assert lane(buffer, 7110.0, 2) == "1000 1001"
    assert buffer.target_depth == 25


def test_health_shows_the_range_and_where_in_it_the_target_is(new_buffer: Build, play: Play) -> None:
    """The operator's "connection unstable" is exactly target_ms > min_ms."""
    buffer = new_buffer(20, max_depth=40)
    play(buffer, stalled(700, 500, 17), until_ms=7000)
    health = buffer.health(7000 * MS)
    assert (health.target_ms, health.min_ms, health.max_ms) == (250.0, 200.0, 400.0)
    fixed = new_buffer(20).health(0)
    assert (fixed.target_ms, fixed.min_ms, fixed.max_ms) == (200.0, 200.0, 200.0)


def first_deepening_hold(play: Play, buffer: PlayoutBuffer, arrivals: list[tuple[float, int]]) -> int:
    """The place in the lane of the first tick that is held to deepen."""
    return play(buffer, arrivals, until_ms=6_000).index("d")


def test_a_tick_due_to_deepen_is_held_before_a_hole_is_concealed(new_buffer: Build, play: Play) -> None:
    """The ladder's order (document 000 §5): the hold gives the missing one a period more to arrive."""
    arrivals = stalled(700, 500, 17)
    held = first_deepening_hold(play, new_buffer(20, max_depth=40), arrivals)
    lane = play(new_buffer(20, max_depth=40), arrivals, until_ms=6_000)
    missing = int(lane[held + 1])
    with_hole = [(at_ms, seq) for at_ms, seq in arrivals if seq != missing]
    lane = play(new_buffer(20, max_depth=40), with_hole, until_ms=6_000)
    assert lane[held - 1 : held + 3] == [str(missing - 1), "d", f"~{missing}", str(missing + 1)]


def test_a_hole_ahead_stops_a_tick_that_was_due_to_deepen(new_buffer: Build, play: Play) -> None:
    """The ladder's order (document 000 §5): what calls for a stop is asked before what holds."""
    arrivals = stalled(700, 500, 17)
    held = first_deepening_hold(play, new_buffer(20, max_depth=40, window_ms=100.0), arrivals)
    at_ms = 5.0 + 10.0 * held
    leaping = [(ms, seq) for ms, seq in arrivals if ms < at_ms - 5] + [(at_ms - 1, 690)]
    lane = play(new_buffer(20, max_depth=40, window_ms=100.0), leaping, until_ms=at_ms + 1)
    assert lane[held - 1].isdigit()
    assert lane[held] == "X"
