"""A small rig for the playout tests: buffers of five slots at 10 ms, literal times in milliseconds.

A run of the drain is written as one line, the *lane*, with a token a tick: `7` a received
setpoint, `~7` a synthetic one, `.` a hold in prefill, `_` a hold in underrun, `d` a hold that
deepens, `a` a hold that waits to be prepared, `X` a stall.
"""

from collections.abc import Callable, Iterable
from typing import assert_never

import pytest

from steadyhand.core.playout import (
    DrainTick,
    Hold,
    HoldReason,
    Offer,
    PlayoutBuffer,
    PlayoutConfig,
    Release,
    Stall,
)
from steadyhand.ground.setpoint import Setpoint

MS = 1_000_000
HOLD_TOKENS = {
    HoldReason.PREFILL: ".",
    HoldReason.UNDERRUN: "_",
    HoldReason.DEEPENING: "d",
    HoldReason.AWAITING_PREPARE: "a",
}
LIMBO = (
    "late_dropped",
    "duplicate_dropped",
    "overflow_dropped",
    "aged_dropped",
    "flushed",
    "malformed_ts",
    "on_probation",
    "retired_session",
)


def build(
    depth: int = 5,
    *,
    max_depth: int | None = None,
    window_ms: float | None = None,
    trim: bool = False,
    wire_debug: bool = False,
) -> PlayoutBuffer:
    """A buffer at 10 ms; fixed depth, no stall policy and no trim unless said otherwise."""
    return PlayoutBuffer(
        PlayoutConfig(
            period_ns=10 * MS,
            base_depth=depth,
            max_depth=depth if max_depth is None else max_depth,
            underrun_window_ns=None if window_ms is None else round(window_ms * MS),
            clock_trim=trim,
            wire_debug=wire_debug,
        )
    )


def make_point(
    number: int,
    *,
    stamp_ms: float | None = None,
    leader_ms: float | None = None,
    joints: tuple[float, ...] | None = None,
) -> Setpoint:
    """Setpoint `number` of a sender that builds one every 10 ms; joint 1 tells which it is."""
    return Setpoint(
        joints_deg=(float(number), -float(number)) if joints is None else joints,
        timestamp_s=(10.0 * number if stamp_ms is None else stamp_ms) / 1e3,
        leader_timestamp_s=None if leader_ms is None else leader_ms / 1e3,
        joint_velocities_deg_s=(100.0, -100.0),
        robot_id="arm",
        extras={"gripper": 0.5},
    )


def offer_all(buffer: PlayoutBuffer, seqs: Iterable[int], at_ms: float) -> list[Offer]:
    """Offer setpoints that arrive together, each stamped 10 ms after the one before."""
    return [buffer.offer(seq, make_point(seq), round(at_ms * MS)) for seq in seqs]


def token(tick: DrainTick) -> str:
    """One tick in lane notation."""
    match tick:
        case Release(seq=seq, synthetic=synthetic):
            return f"~{seq}" if synthetic else str(seq)
        case Hold(reason=reason):
            return HOLD_TOKENS[reason]
        case Stall():
            return "X"
        case _:
            assert_never(tick)


def drain(buffer: PlayoutBuffer, at_ms: float, ticks: int) -> str:
    """`ticks` ticks at the nominal period, the first at `at_ms`, as a lane."""
    return " ".join([token(buffer.drain_tick(round((at_ms + 10 * k) * MS))) for k in range(ticks)])


def play_out(
    buffer: PlayoutBuffer,
    arrivals: Iterable[tuple[float, int]],
    *,
    until_ms: float,
    first_tick_ms: float = 5.0,
    watch: Callable[[int], None] = lambda _now_ns: None,
) -> list[str]:
    """Offer `(at_ms, seq)` in order of time and tick in between, at the buffer's own period.

    `watch(now_ns)` is called after every tick.
    """
    next_ns, until_ns = round(first_tick_ms * MS), round(until_ms * MS)
    lane: list[str] = []

    def tick_until(end_ns: int) -> None:
        nonlocal next_ns
        while next_ns < end_ns:
            lane.append(token(buffer.drain_tick(next_ns)))
            watch(next_ns)
            next_ns += buffer.drain_period_ns

    for at_ms, seq in arrivals:
        at_ns = round(at_ms * MS)
        if at_ns >= until_ns:
            break
        tick_until(at_ns)
        buffer.offer(seq, make_point(seq), at_ns)
    tick_until(until_ns)
    return lane


def check_balance(buffer: PlayoutBuffer) -> None:
    """R6, added up here and not by the code under test."""
    stats = buffer.stats
    ended = stats.released
    for name in LIMBO:
        ended += getattr(stats, name)
    assert stats.offered == ended + buffer.depth


@pytest.fixture(scope="session")
def new_buffer() -> Callable[..., PlayoutBuffer]:
    """`new_buffer(depth=5, *, max_depth, window_ms, trim, wire_debug)`."""
    return build


@pytest.fixture(scope="session")
def point() -> Callable[..., Setpoint]:
    """`point(number, *, stamp_ms, leader_ms, joints)`."""
    return make_point


@pytest.fixture(scope="session")
def send() -> Callable[[PlayoutBuffer, Iterable[int], float], list[Offer]]:
    """`send(buffer, seqs, at_ms)`."""
    return offer_all


@pytest.fixture(scope="session")
def lane() -> Callable[[PlayoutBuffer, float, int], str]:
    """`lane(buffer, at_ms, ticks)`."""
    return drain


@pytest.fixture(scope="session")
def play() -> Callable[..., list[str]]:
    """`play(buffer, arrivals, *, until_ms, first_tick_ms)`."""
    return play_out


@pytest.fixture(scope="session")
def balance() -> Callable[[PlayoutBuffer], None]:
    """`balance(buffer)` asserts R6."""
    return check_balance
