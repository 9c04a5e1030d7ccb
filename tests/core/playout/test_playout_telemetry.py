"""Test map "Telemetry surface": the health snapshot and wire debug (document 000 §9)."""

import json
from collections.abc import Callable, Iterable

import pytest

from steadyhand.core.playout import Offer, PlayoutBuffer
from steadyhand.ground.setpoint import Setpoint

Build = Callable[..., PlayoutBuffer]
Point = Callable[..., Setpoint]
Send = Callable[[PlayoutBuffer, Iterable[int], float], list[Offer]]
Lane = Callable[[PlayoutBuffer, float, int], str]

MS = 1_000_000
DOCUMENTED = (
    "depth target_depth target_ms min_ms max_ms prefilling holding jitter_ms loss_pct span_ms "
    "release_age_ms last_stall hold_ticks lost_at_release interpolated released "
    "late_dropped duplicate_dropped overflow_dropped aged_dropped flushed malformed_ts repaired "
    "seq_holes sender_stalls nonmonotonic_ts epoch_resets underrun_episodes stall_estops hole_aheads "
    "queue_wait_ms clock_trim_ppm on_probation retired_session"
)


def test_wire_debug_ships_the_queue_ladder_with_span_and_release_age(
    new_buffer: Build, send: Send, lane: Lane
) -> None:
    buffer = new_buffer(wire_debug=True)
    send(buffer, [0, 1, 2, 6, 5], 0.0)
    assert lane(buffer, 0.0, 4) == "0 1 2 ~3"
    health = buffer.health(75 * MS)
    assert health.entries is not None
    # Oldest first: number, milliseconds behind the newest, arrived as a repair. 4 is missing.
    assert [(seq, repaired) for seq, _, repaired in health.entries] == [(5, True), (6, False)]
    assert [behind_ms for _, behind_ms, _ in health.entries] == pytest.approx([10.0, 0.0])
    assert health.releases == [(0, False), (1, False), (2, False), (3, True)]
    assert health.span_ms == pytest.approx(10.0)
    assert health.release_age_ms == pytest.approx(45.0)


def test_wire_debug_is_capped_at_64_entries(new_buffer: Build, send: Send, lane: Lane) -> None:
    buffer = new_buffer(100, wire_debug=True)
    for seq in range(100):
        send(buffer, [seq], 0.0)
    health = buffer.health(0)
    assert health.entries is not None
    assert [seq for seq, _, _ in health.entries] == list(range(64))
    lane(buffer, 0.0, 100)
    health = buffer.health(0)
    assert health.releases is not None
    assert [seq for seq, _ in health.releases] == list(range(36, 100))


def test_without_wire_debug_neither_list_is_shipped(new_buffer: Build, send: Send, lane: Lane) -> None:
    buffer = new_buffer()
    send(buffer, range(5), 0.0)
    lane(buffer, 0.0, 2)
    report = buffer.health(30 * MS).to_dict()
    assert "entries" not in report
    assert "releases" not in report


def test_the_report_carries_every_documented_name_flat(new_buffer: Build, send: Send, lane: Lane) -> None:
    buffer = new_buffer(max_depth=20, window_ms=20.0, wire_debug=True)
    assert set(DOCUMENTED.split()) <= set(buffer.health(0).to_dict())
    send(buffer, range(5), 0.0)
    lane(buffer, 0.0, 8)
    report = buffer.health(80 * MS).to_dict()
    assert set(DOCUMENTED.split()) <= set(report)
    assert (report["target_depth"], report["target_ms"]) == (5, 50.0)
    assert (report["min_ms"], report["max_ms"]) == (50.0, 200.0)
    assert (report["released"], report["stall_estops"]) == (5, 1)
    assert isinstance(report["last_stall"], str)
    json.dumps(report, allow_nan=False)


def test_asking_changes_nothing(new_buffer: Build, send: Send, lane: Lane) -> None:
    asked, unasked = new_buffer(trim=True, wire_debug=True), new_buffer(trim=True, wire_debug=True)
    for step in range(300):
        for buffer in (asked, unasked):
            if step % 50 not in (10, 11, 12, 30):
                send(buffer, [step], 10.0 * step)
            lane(buffer, 10.0 * step + 5, 1)
        asked.health((10 * step + 7) * MS)
        asked.health((10 * step + 20_000) * MS)
    assert asked.health(3000 * MS) == unasked.health(3000 * MS)


def test_prefilling_and_holding_tell_the_two_kinds_of_silence_apart(
    new_buffer: Build, send: Send, lane: Lane
) -> None:
    buffer = new_buffer()
    health = buffer.health(0)
    assert (health.prefilling, health.holding, health.release_age_ms) == (True, False, None)
    send(buffer, range(5), 0.0)
    lane(buffer, 0.0, 1)
    health = buffer.health(5 * MS)
    assert (health.prefilling, health.holding, health.depth) == (False, False, 4)
    lane(buffer, 10.0, 5)
    health = buffer.health(55 * MS)
    assert (health.prefilling, health.holding) == (True, True)
    send(buffer, range(5, 10), 60.0)
    lane(buffer, 60.0, 1)
    assert not buffer.health(65 * MS).holding
    lane(buffer, 70.0, 6)
    assert buffer.health(125 * MS).holding
    buffer.flush_lifecycle()
    health = buffer.health(130 * MS)
    assert (health.prefilling, health.holding) == (True, False)


@pytest.mark.parametrize(
    "stamps_s", [(0.0, 1e308), (1e308, -1e308), (-1e308, 1e308), (0.0, 1e306), (1e308, 0.0), (-0.0, 1.7e9)]
)
def test_absurd_but_finite_stamps_leave_the_report_finite(
    stamps_s: tuple[float, float], new_buffer: Build, lane: Lane
) -> None:
    """A finite stamp is not malformed; the report must still be JSON that every parser takes."""
    buffer = new_buffer(2, window_ms=20.0, wire_debug=True)
    for seq, stamp_s in enumerate(stamps_s):
        buffer.offer(seq, Setpoint(joints_deg=(0.0,), timestamp_s=stamp_s), 10 * MS * seq)
    json.dumps(buffer.health(20 * MS).to_dict(), allow_nan=False)
    lane(buffer, 20.0, 4)
    json.dumps(buffer.health(60 * MS).to_dict(), allow_nan=False)
