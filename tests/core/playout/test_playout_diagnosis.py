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
