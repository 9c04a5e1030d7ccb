"""Anything may arrive at any time: no exception, the counters balance, the report stays JSON.

Here are the setpoints that no decoder would let by, into buffers of every kind; the datagrams come
through the whole follower in its storm (tests/core/follower).
"""

import itertools
import json
import math
from collections.abc import Callable
from random import Random
from typing import TypeVar

import msgspec
import pytest

from steadyhand.core.playout import PlayoutBuffer, Release
from steadyhand.ground.setpoint import Setpoint

Build = Callable[..., PlayoutBuffer]
Balance = Callable[[PlayoutBuffer], None]
T = TypeVar("T")

MS = 1_000_000
MASK = (1 << 32) - 1
CONFIGS = tuple(
    itertools.product(((1, 1), (5, 5), (5, 40), (20, 40), (200, 200)), (None, 0.0, 20.0), (False, True))
)
JUMPS: tuple[int, ...] = (
    1,
    1,
    1,
    1,
    1,
    1,
    1,
    2,
    3,
    4,
    5,
    20,
    0,
    -1,
    -2,
    -5,
    -30,
    1 << 15,
    (1 << 15) + 1,
    -(1 << 15),
)
JUMPS += (1 << 30, -(1 << 30), (1 << 31) - 1, 1 << 31, (1 << 31) + 1)
STAMPS_S = (math.nan, math.inf, -math.inf, 1e308, -1e308, -0.0, 5e-324, 1e9, 1.7e9)
STEPS_NS = (0, 0, 1, MS, 5 * MS, 10 * MS, 10 * MS, 10 * MS, 10 * MS + 7, 50 * MS, 200 * MS)
LONG_NS = (1_900 * MS, 2_000 * MS, 2_500 * MS, 3_600_000 * MS, 86_400_000 * MS)
JOINTS = ((), (0.0,), (1.0, -2.0, 3.0, 4.0, 5.0, 6.0), (1e308,) * 6, (-1e308,) * 6, (math.pi,) * 32)


def pick(rng: Random, choices: tuple[T, ...]) -> T:
    return choices[int(rng.random() * len(choices))]


def abuse(buffer: PlayoutBuffer, rng: Random, offers: int, balance: Balance) -> None:
    """Mostly a stream, with everything wrong that a stream can have."""
    now_ns, seq, sent_s = int(rng.random() * 1e15), int(rng.random() * MASK), 1_000.0
    released: tuple[int, int] | None = None
    for _ in range(offers):
        jump = pick(rng, JUMPS) if rng.random() < 0.15 else 1
        seq = int(rng.random() * MASK) if rng.random() < 0.002 else (seq + jump) & MASK
        sent_s += 0.01
        odd = rng.random()
        setpoint = Setpoint(
            joints_deg=pick(rng, JOINTS) if odd < 0.1 else (odd, 2.0),
            timestamp_s=pick(rng, STAMPS_S) if 0.1 < odd < 0.12 else sent_s,
            leader_timestamp_s=pick(rng, (*STAMPS_S, sent_s)) if 0.12 < odd < 0.16 else None,
            joint_velocities_deg_s=(math.nan,) if odd < 0.01 else (),
        )
        wire_seq = (seq + pick(rng, JUMPS)) & MASK if odd > 0.97 else seq
        if rng.random() < 0.1:
            buffer.screen(wire_seq, now_ns)
        late_ns = pick(rng, (*STEPS_NS, *LONG_NS)) if rng.random() < 0.1 else 0
        buffer.offer(wire_seq, setpoint, now_ns, is_copy=odd > 0.9, lateness_ns=late_ns)
        step_ns = pick(rng, LONG_NS) if rng.random() < 0.003 else pick(rng, STEPS_NS)
        now_ns += step_ns
        if rng.random() < 0.7:
            verdict = buffer.drain_tick(now_ns)
            if isinstance(verdict, Release):
                assert 0 <= verdict.seq <= MASK
                assert verdict.wait_ns >= 0
                resets = buffer.stats.epoch_resets
                if released is not None and released[0] == resets:
                    # Not "newer by less than half a circle": before the first release of a numbering
                    # a number from anywhere behind is in order, and the next one is then far ahead.
                    assert (released[1] - verdict.seq) & MASK > 1 << 20
                released = (resets, verdict.seq)
        if rng.random() < 0.02:
            released = meddle(
                buffer=buffer, rng=rng, seq=seq, now_ns=now_ns, balance=balance, released=released
            )
    balance(buffer)


def meddle(
    *,
    buffer: PlayoutBuffer,
    rng: Random,
    seq: int,
    now_ns: int,
    balance: Balance,
    released: tuple[int, int] | None,
) -> tuple[int, int] | None:
    """What the node around the buffer does to it; returns the newest release that still binds."""
    what = int(rng.random() * 6)
    if what == 0:
        buffer.flush_lifecycle()
    elif what == 1:
        buffer.flush_for_estop(None)
    elif what == 2:
        buffer.flush_for_estop((seq + pick(rng, JUMPS)) & MASK)
    elif what == 3 and rng.random() < 0.2:
        buffer.forget_numbering()
        buffer.count_retired_session()
        released = None
    elif what >= 4:
        balance(buffer)
        health = buffer.health(now_ns)
        assert len(health.entries or []) <= 64
        assert len(health.releases or []) <= 64
        report = health.to_dict()
        json.dumps(report, allow_nan=False)
        assert msgspec.json.decode(msgspec.json.encode(report)).keys() == report.keys()
        assert 9_900_000 < buffer.drain_period_ns < 10_100_000
    return released


@pytest.mark.slow
def test_fifty_thousand_random_offers_raise_nothing(new_buffer: Build, balance: Balance) -> None:
    share = 50_000 // len(CONFIGS) + 1
    for number, ((depth, ceiling), window_ms, trim) in enumerate(CONFIGS):
        buffer = new_buffer(depth, max_depth=ceiling, window_ms=window_ms, trim=trim, wire_debug=True)
        abuse(buffer, Random(number), share, balance)
        assert buffer.stats.offered >= share


@pytest.mark.soak
@pytest.mark.parametrize("round_number", range(10))
def test_two_million_random_offers_raise_nothing(
    round_number: int, new_buffer: Build, balance: Balance
) -> None:
    share = 200_000 // len(CONFIGS) + 1
    for number, ((depth, ceiling), window_ms, trim) in enumerate(CONFIGS):
        buffer = new_buffer(depth, max_depth=ceiling, window_ms=window_ms, trim=trim, wire_debug=True)
        abuse(buffer, Random(1_000 * (round_number + 1) + number), share, balance)
