"""A moment of a run, summed up from its newest ticks."""

from collections.abc import Callable

from steadyhand.core.follower.outputs import FrameKind, Stopped
from steadyhand.core.safety.latch import StopCause, StopKind
from steadyhand.nodes.demo.course import Led
from steadyhand.nodes.demo.glimpse import Glimpse, Glimpses
from steadyhand.nodes.follower.records import TickRecord

MS = 1_000_000
BEGIN_NS = 1_000 * MS
SAID = Glimpse(phase="streaming", elapsed_s=1.0, duration_s=30.0)

MakeTick = Callable[..., TickRecord]


def glimpses(told: list[Stopped] | None = None) -> Glimpses:
    def led_of(seq: int) -> Led | None:
        return Led(seq, BEGIN_NS - 100 * MS, (0.0,)) if seq < 100 else None

    return Glimpses(led_of, (told if told is not None else []).append)


def test_before_the_first_tick_there_is_what_was_said() -> None:
    assert glimpses().sum_up(SAID) == SAID


def test_the_mix_is_of_the_playing_ticks_of_the_last_two_seconds(tick: MakeTick) -> None:
    seen = glimpses()
    seen.take(tick(0.0, released_deg=9.0))
    for record in (
        tick(3_000.0, released_deg=1.0, arrived_ms=2_900.0),
        tick(3_010.0, released_deg=2.0, arrived_ms=2_950.0),
        tick(3_020.0, released_deg=3.0, kind=FrameKind.SYNTHETIC),
        tick(3_030.0, sent_deg=3.0),
        tick(3_040.0, engage="stopped"),
    ):
        seen.take(record)
    summed = seen.sum_up(SAID)
    assert (summed.fresh, summed.synthetic, summed.held) == (0.5, 0.25, 0.25)
    assert summed.wait_ms == 80.0
    assert summed.latency_ms == 3_105.0
    assert (summed.engage, summed.depth, summed.target) == ("stopped", 3, 4)


def test_a_setpoint_that_nobody_led_has_no_latency(tick: MakeTick) -> None:
    seen = glimpses()
    seen.take(tick(10.0, released_deg=1.0, arrived_ms=5.0, seq=500))
    assert seen.sum_up(SAID).latency_ms is None


def test_a_stop_is_told_once_and_kept(tick: MakeTick) -> None:
    told: list[Stopped] = []
    seen = glimpses(told)
    cause = StopCause(kind=StopKind.STALL, detail="nothing came", name="underrun")
    stop = Stopped(at_ns=BEGIN_NS, cause=cause)
    seen.take(tick(10.0, engage="stopped", events=(stop,)))
    seen.take(tick(20.0, engage="stopped"))
    assert told == [stop]
    assert seen.last_stop is stop
    assert seen.sum_up(SAID).last_stop == "stall: nothing came"
