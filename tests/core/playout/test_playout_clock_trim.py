"""R2: two clocks drift; the drain follows the sender, by half a percent at most."""

from collections.abc import Callable, Iterable

import numpy as np
import pytest

from steadyhand.core.playout import Offer, PlayoutBuffer, Release
from steadyhand.ground.setpoint import Setpoint

Build = Callable[..., PlayoutBuffer]
Point = Callable[..., Setpoint]
Send = Callable[[PlayoutBuffer, Iterable[int], float], list[Offer]]
Lane = Callable[[PlayoutBuffer, float, int], str]
Play = Callable[..., list[str]]
Balance = Callable[[PlayoutBuffer], None]

MS = 1_000_000
NOMINAL_NS = 10 * MS
FASTEST_NS = NOMINAL_NS / 1.005
SLOWEST_NS = NOMINAL_NS / 0.995


def stand_at(buffer: PlayoutBuffer, point: Point, depths: list[int], *, ticks: int) -> None:
    """Tick on the nominal grid with the queue filled up to `depths` by turns before each tick."""
    seq = buffer.stats.offered
    for tick in range(ticks):
        now_ns = tick * NOMINAL_NS
        while buffer.depth < depths[tick % len(depths)]:
            buffer.offer(seq, point(seq), now_ns)
            seq += 1
        buffer.drain_tick(now_ns)


def test_r2_at_the_set_point_the_period_is_nominal(new_buffer: Build, point: Point) -> None:
    buffer = new_buffer(trim=True)
    stand_at(buffer, point, [5], ticks=300)  # a release leaves target − 1
    assert buffer.drain_period_ns == NOMINAL_NS
    assert buffer.health(0).clock_trim_ppm == 0.0


def test_r2_half_a_percent_per_slot_of_error(new_buffer: Build, point: Point) -> None:
    buffer = new_buffer(trim=True)
    stand_at(buffer, point, [6, 5], ticks=300)  # leaves 5 and 4: half a slot too deep
    assert buffer.drain_period_ns == pytest.approx(NOMINAL_NS * (1 - 0.0025), rel=1e-4)
    assert buffer.health(0).clock_trim_ppm == pytest.approx(2500.0, abs=50.0)
    buffer = new_buffer(trim=True)
    stand_at(buffer, point, [5], ticks=10)
    stand_at(buffer, point, [5, 5, 5, 4], ticks=300)  # a quarter of a slot too shallow
    assert buffer.drain_period_ns == pytest.approx(NOMINAL_NS * (1 + 0.00125), rel=1e-4)
    assert buffer.health(0).clock_trim_ppm == pytest.approx(-1250.0, abs=50.0)


def test_r2_too_deep_drains_faster_too_shallow_slower_and_never_by_more_than_half_a_percent(
    new_buffer: Build, point: Point
) -> None:
    buffer = new_buffer(20, trim=True)
    stand_at(buffer, point, [22], ticks=300)
    assert buffer.drain_period_ns == pytest.approx(FASTEST_NS, abs=300)
    assert buffer.health(0).clock_trim_ppm == 5000.0
    buffer = new_buffer(20, trim=True)
    stand_at(buffer, point, [20], ticks=1)
    stand_at(buffer, point, [3], ticks=300)
    assert buffer.drain_period_ns == pytest.approx(SLOWEST_NS, abs=300)
    assert buffer.health(0).clock_trim_ppm == -5000.0


def test_r2_no_integrator_the_trim_ends_a_second_after_the_error(new_buffer: Build, point: Point) -> None:
    buffer = new_buffer(20, trim=True)
    stand_at(buffer, point, [22], ticks=2000)
    assert buffer.drain_period_ns < NOMINAL_NS
    seq = buffer.stats.offered
    for tick in range(2000, 2110):
        while buffer.depth < 20:
            buffer.offer(seq, point(seq), tick * NOMINAL_NS)
            seq += 1
        buffer.drain_tick(tick * NOMINAL_NS)
    assert buffer.drain_period_ns == NOMINAL_NS


def test_r2_idle_in_prefill_and_hold(new_buffer: Build, point: Point, send: Send, lane: Lane) -> None:
    buffer = new_buffer(20, trim=True)
    assert lane(buffer, 0.0, 1) == "."
    assert buffer.drain_period_ns == NOMINAL_NS
    stand_at(buffer, point, [22], ticks=300)
    assert buffer.drain_period_ns < NOMINAL_NS
    # The link dies: the queue pays out, and the first hold runs at the nominal period again.
    assert lane(buffer, 3000.0, 22).endswith("_")
    assert buffer.drain_period_ns == NOMINAL_NS
    assert buffer.health(0).clock_trim_ppm == 0.0
    # Nothing is owed from before: a fresh prefill begins at nominal.
    send(buffer, range(buffer.stats.offered, buffer.stats.offered + 20), 3300.0)
    lane(buffer, 3300.0, 1)
    assert buffer.drain_period_ns == NOMINAL_NS


def test_r2_idle_while_deepening(new_buffer: Build, play: Play) -> None:
    buffer = new_buffer(20, max_depth=40, trim=True)
    periods_ns: list[tuple[int, int]] = []

    def watch(_now_ns: int) -> None:
        periods_ns.append((buffer.depth, buffer.drain_period_ns))

    arrivals = [(10.0 * max(seq, 517 if 500 <= seq < 517 else 0), seq) for seq in range(700)]
    lane = play(buffer, arrivals, until_ms=7000, watch=watch)
    first, last = lane.index("d"), len(lane) - 1 - lane[::-1].index("d")
    assert buffer.target_depth == 25
    assert [period for _, period in periods_ns[first - 3 : last + 1]] == [NOMINAL_NS] * (last + 4 - first)


@pytest.mark.parametrize("flush", ["lifecycle", "estop", "session"])
def test_r2_a_flush_ends_the_trim(flush: str, new_buffer: Build, point: Point) -> None:
    buffer = new_buffer(20, trim=True)
    stand_at(buffer, point, [22], ticks=300)
    assert buffer.drain_period_ns != NOMINAL_NS
    if flush == "lifecycle":
        buffer.flush_lifecycle()
    elif flush == "estop":
        buffer.flush_for_estop(None)
    else:
        buffer.forget_numbering()
    assert buffer.drain_period_ns == NOMINAL_NS


def test_r2_off_restores_the_fixed_period(new_buffer: Build, point: Point) -> None:
    buffer = new_buffer(20, trim=False)
    for depth in (22, 5, 20):
        stand_at(buffer, point, [depth], ticks=300)
        assert buffer.drain_period_ns == NOMINAL_NS
        assert buffer.health(0).clock_trim_ppm == 0.0


@pytest.mark.parametrize(("before_ms", "after_ms"), [(60.0, 40.0), (40.0, 100.0)])
def test_r2_a_delay_step_is_worked_off_within_the_clamp(
    before_ms: float, after_ms: float, new_buffer: Build, play: Play
) -> None:
    """The depth is back at its set point after some seconds, and no tick was off by more."""
    buffer = new_buffer(20, trim=True)
    left: list[tuple[int, int]] = []

    def watch(now_ns: int) -> None:
        left.append((now_ns, buffer.depth))
        if buffer.live:
            assert FASTEST_NS - 1 <= buffer.drain_period_ns <= SLOWEST_NS + 1

    arrivals, newest_ms = [], 0.0
    for seq in range(4000):
        newest_ms = max(newest_ms, 10.0 * seq + (before_ms if seq < 1000 else after_ms))
        arrivals.append((newest_ms, seq))
    lane = play(buffer, arrivals, until_ms=40_000, watch=watch)
    late = [depth for now_ns, depth in left if now_ns > 30_000 * MS]
    assert sum(late) / len(late) == pytest.approx(19.0, abs=0.3)
    assert lane[25:] == [str(seq) for seq in range(int(lane[25]), int(lane[25]) + len(lane) - 25)]


def test_r2_adaptive_shrinking_waits_for_the_queue(new_buffer: Build, play: Play) -> None:
    """Without the trim nothing brings the queue down: the target must not run into it."""
    buffer = new_buffer(20, max_depth=40)
    arrivals = [(10.0 * max(seq, 517 if 500 <= seq < 517 else 0), seq) for seq in range(8000)]
    play(buffer, arrivals, until_ms=80_000)
    assert buffer.stats.overflow_dropped == 0
    assert 20 < buffer.target_depth < 25
    assert buffer.depth <= buffer.target_depth + 1


@pytest.mark.parametrize(("ppm", "silent"), [(-1000, 18), (0, 18), (1000, 18)])
def test_r2_adaptive_shrinking_under_drift_drops_nothing(
    ppm: int, silent: int, new_buffer: Build, play: Play
) -> None:
    """A stall deepens 20 → 25; on the way back the target never outruns the trimmed drain.

    4 ms of mean jitter: the slots shrunk away must be empty ones, not setpoints.
    """
    buffer = new_buffer(20, max_depth=40, trim=True)
    rng = np.random.default_rng(0)
    spacing_ms = 10.0 / (1.0 + ppm * 1e-6)
    arrivals_ms = np.arange(12_000) * spacing_ms + rng.exponential(4.0, 12_000)
    arrivals_ms[1000 : 1000 + silent] = arrivals_ms[1000 + silent]
    arrivals = list(zip(np.maximum.accumulate(arrivals_ms).tolist(), range(12_000), strict=True))
    seen: list[tuple[int, int, int]] = []

    def watch(now_ns: int) -> None:
        seen.append((now_ns, buffer.target_depth, buffer.stats.overflow_dropped))

    play(buffer, arrivals, until_ms=119_000, watch=watch)
    assert max(target for _, target, _ in seen) == 25
    assert buffer.target_depth == 20
    settled = [dropped for now_ns, _, dropped in seen if now_ns > 12_000 * MS]
    assert settled[-1] == settled[0]
    assert (buffer.stats.interpolated, buffer.stats.lost_at_release) == (0, 0)
    assert buffer.stats.underrun_episodes == 0


@pytest.mark.parametrize("ppm", [-3000, -500, 500, 3000])
def test_r2_the_trim_settles_at_the_drift_of_the_clocks(ppm: int, new_buffer: Build, play: Play) -> None:
    buffer = new_buffer(20, trim=True)
    seen: list[float] = []

    def watch(now_ns: int) -> None:
        if now_ns > 60_000 * MS:
            seen.append(buffer.health(now_ns).clock_trim_ppm)

    spacing_ms = 10.0 / (1.0 + ppm * 1e-6)
    play(buffer, [(spacing_ms * seq, seq) for seq in range(12_000)], until_ms=115_000, watch=watch)
    assert sum(seen) / len(seen) == pytest.approx(ppm, rel=0.1)
    assert buffer.stats.underrun_episodes == 0


def an_hour(buffer: PlayoutBuffer, *, ppm: int, reordering: bool, seed: int) -> int:
    """One hour at 100 Hz, 8 ms mean exponential jitter, in virtual time; returns the releases."""
    count = 360_000
    spacing_ns = NOMINAL_NS / (1.0 + ppm * 1e-6)
    rng = np.random.default_rng(seed)
    arrivals_ns = np.arange(count) * spacing_ns + 20.0 * MS + rng.exponential(8.0 * MS, count)
    if not reordering:
        arrivals_ns = np.maximum.accumulate(arrivals_ns)
    order = np.argsort(arrivals_ns, kind="stable")
    joints = (0.0,) * 6
    offer, tick, next_ns = buffer.offer, buffer.drain_tick, 3 * MS
    newest, released = -1, 0
    for seq, at_ns in zip(order.tolist(), arrivals_ns[order].astype(int).tolist(), strict=True):
        while next_ns < at_ns:
            verdict = tick(next_ns)
            next_ns += buffer.drain_period_ns
            if isinstance(verdict, Release):
                assert verdict.seq > newest
                newest = verdict.seq
                released += 1
        offer(seq, Setpoint(joints_deg=joints, timestamp_s=seq * 0.01), at_ns)
    return released


def check_hour(buffer: PlayoutBuffer, released: int) -> None:
    stats = buffer.stats
    assert (stats.underrun_episodes, stats.stall_estops, stats.hold_ticks) == (0, 0, 0)
    assert (stats.overflow_dropped, stats.aged_dropped, stats.late_dropped) == (0, 0, 0)
    assert (stats.interpolated, stats.lost_at_release) == (0, 0)
    assert released == stats.released > 359_000


@pytest.mark.slow
@pytest.mark.parametrize(("ppm", "reordering"), [(-3000, False), (3000, True)])
def test_r2_one_hour_of_drift_without_underrun_overflow_or_synthetic(
    ppm: int, reordering: bool, new_buffer: Build, balance: Balance
) -> None:
    buffer = new_buffer(20, window_ms=20.0, trim=True)
    check_hour(buffer, an_hour(buffer, ppm=ppm, reordering=reordering, seed=7))
    balance(buffer)


@pytest.mark.soak
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("reordering", [False, True])
@pytest.mark.parametrize("ppm", [0, 100, -100, 1000, -1000, 3000, -3000])
def test_r2_one_hour_of_drift_soak(
    ppm: int, reordering: bool, seed: int, new_buffer: Build, balance: Balance
) -> None:
    buffer = new_buffer(20, window_ms=20.0, trim=True)
    check_hour(buffer, an_hour(buffer, ppm=ppm, reordering=reordering, seed=seed))
    balance(buffer)
