"""Test map "Stall diagnosis": not just the event, its reason (document 000 §9, `last_stall`)."""

import re
from collections.abc import Callable, Iterable

from steadyhand.core.playout import Offer, PlayoutBuffer, StallReport
from steadyhand.ground.setpoint import Setpoint

Build = Callable[..., PlayoutBuffer]
Point = Callable[..., Setpoint]
Send = Callable[[PlayoutBuffer, Iterable[int], float], list[Offer]]
Lane = Callable[[PlayoutBuffer, float, int], str]

MS = 1_000_000


def last_stall(buffer: PlayoutBuffer) -> StallReport:
    report = buffer.last_stall
    assert report is not None
    return report


def test_stall_diagnosis_attributes_a_dead_upstream(new_buffer: Build, send: Send, lane: Lane) -> None:
    buffer = new_buffer(window_ms=100.0)
    send(buffer, range(5), 0.0)
    assert lane(buffer, 0.0, 16).endswith("_ X")
    why = last_stall(buffer).why()
    assert re.search(r"nothing has arrived for 150 ?ms", why)
    assert "still arriving" not in why
    # Sticky: readable after the fact, through whatever follows, and on the wire.
    buffer.flush_lifecycle()
    send(buffer, range(10, 15), 1000.0)
    lane(buffer, 1000.0, 5)
    assert buffer.health(1100 * MS).last_stall == why


def test_stall_diagnosis_attributes_arriving_but_unusable_debris(
    new_buffer: Build, send: Send, lane: Lane
) -> None:
    """A trickle that never fills the queue again: accepted ten milliseconds ago, and yet a stall."""
    buffer = new_buffer(window_ms=30.0)
    send(buffer, range(5), 0.0)
    assert lane(buffer, 0.0, 6) == "0 1 2 3 4 _"
    for seq in range(5, 8):
        send(buffer, [seq], 10.0 * seq + 5)
    send(buffer, [0, 1, 2], 75.0)
    assert lane(buffer, 80.0, 1) == "X"
    why = last_stall(buffer).why()
    assert "still arriving" in why
    assert "unusable" in why
    assert "nothing has arrived" not in why


def test_stall_diagnosis_tells_how_late_the_stream_has_become(
    new_buffer: Build, point: Point, lane: Lane
) -> None:
    """The path grew by 300 ms under a buffer of 50: they arrive, one a period, and none can be played."""
    buffer = new_buffer(window_ms=30.0)
    for seq in range(5):
        buffer.offer(seq, point(seq), 0)
    assert lane(buffer, 0.0, 6) == "0 1 2 3 4 _"
    for seq in range(5, 8):
        buffer.offer(seq, point(seq), (10 * seq + 5) * MS, lateness_ns=300 * MS)
    assert lane(buffer, 80.0, 1) == "X"
    report = last_stall(buffer)
    assert (report.late_by_ms, report.late_limit_ms) == (300.0, 50.0)
    assert "still arriving (last accepted 5 ms ago)" in report.why()
    assert "300 ms late where the buffer is 50 ms deep" in report.why()
    assert "queued in time" not in report.why()


def test_a_lateness_that_the_buffer_covers_is_not_the_diagnosis(
    new_buffer: Build, point: Point, lane: Lane
) -> None:
    buffer = new_buffer(window_ms=30.0)
    for seq in range(5):
        buffer.offer(seq, point(seq), 0)
    lane(buffer, 0.0, 6)
    for seq in range(5, 8):
        buffer.offer(seq, point(seq), (10 * seq + 5) * MS, lateness_ns=50 * MS)
    assert lane(buffer, 80.0, 1) == "X"
    assert "only 3 of the 5 that playing takes were queued in time" in last_stall(buffer).why()


def test_health_says_why_nothing_plays_while_setpoints_arrive_late(
    new_buffer: Build, point: Point, lane: Lane
) -> None:
    """The dead time of decision 0003: after engaging on a path that has become longer."""
    buffer = new_buffer()
    told: list[str | None] = []
    for seq in range(40):
        late_ns = 850 * MS if seq < 20 else 0
        buffer.offer(seq, point(seq), 10 * seq * MS, lateness_ns=late_ns)
        lane(buffer, 10.0 * seq + 5, 1)
        told.append(buffer.health((10 * seq + 6) * MS).held_back)
    assert told[:20] == ["setpoints arrive 850 ms late; none is played until they come in time"] * 20
    assert told[20:] == [None] * 20
    assert buffer.stats.released > 10
    assert "held_back" not in buffer.health(400 * MS).to_dict()
    assert "held_back" in report_while_late(buffer, point)


def report_while_late(buffer: PlayoutBuffer, point: Point) -> dict[str, object]:
    buffer.flush_lifecycle()
    for seq in range(40, 46):
        buffer.offer(seq, point(seq), 460 * MS, lateness_ns=100 * MS)
    return buffer.health(460 * MS).to_dict()


def test_health_holds_nothing_back_while_filling_silent_or_playing(
    new_buffer: Build, point: Point, lane: Lane
) -> None:
    buffer = new_buffer()
    for seq in range(4):
        buffer.offer(seq, point(seq), 10 * seq * MS, lateness_ns=100 * MS)
    assert buffer.health(31 * MS).held_back is None  # four of five: it is filling
    buffer.offer(4, point(4), 40 * MS, lateness_ns=100 * MS)
    assert buffer.health(90 * MS).held_back is not None
    assert buffer.health(91 * MS).held_back is None  # nothing arrives any more
    playing = new_buffer()
    for seq in range(5):
        playing.offer(seq, point(seq), 0)
    lane(playing, 0.0, 1)
    for seq in range(5, 9):
        playing.offer(seq, point(seq), 5 * MS, lateness_ns=100 * MS)
    assert playing.health(6 * MS).held_back is None


def test_hole_ahead_diagnosis_names_the_jump(new_buffer: Build, send: Send, lane: Lane) -> None:
    buffer = new_buffer(window_ms=100.0)
    send(buffer, [0, 1, 2, 40, 41], 0.0)
    assert lane(buffer, 0.0, 1) == "X"
    why = last_stall(buffer).why()
    assert "hole ahead" in why
    assert "jump" in why
    assert "410" in why  # ms of sender time across the queue
    assert "150" in why  # against three buffers


def test_the_figures_ride_along_in_brackets(new_buffer: Build, send: Send, lane: Lane) -> None:
    buffer = new_buffer(window_ms=20.0)
    send(buffer, range(5), 0.0)
    assert lane(buffer, 0.0, 2) == "0 1"
    send(buffer, [0, 1], 15.0)  # late
    send(buffer, [7, 8], 15.0)  # two holes, one of which heals
    send(buffer, [6], 15.0)
    assert lane(buffer, 20.0, 10) == "2 3 4 ~5 6 7 8 _ _ X"
    report = last_stall(buffer)
    assert (report.late_dropped, report.unrepaired_holes, report.depth) == (2, 1, 0)
    assert report.loss_pct > 0.0
    bracket = re.search(r"\[(.*)\]$", report.why())
    assert bracket is not None
    for word in ("loss", "holes", "jitter", "late 2", "aged 0", "overflow 0"):
        assert word in bracket.group(1)
