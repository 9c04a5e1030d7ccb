"""A whole operator's end against a whole follower: what must be seen over bad links, in virtual time."""

from typing import Any

import pytest

from steadyhand.core.link import PROFILES, LinkProfile
from steadyhand.core.operator.notices import (
    DeadmanBlocked,
    DeadmanReleased,
    Disengaged,
    FollowerStopped,
    LinkBack,
    LinkLost,
)
from steadyhand.core.safety.latch import StopKind

MS = 1_000_000
PERIOD_NS = 10 * MS
FIVE_PERCENT = LinkProfile(name="lossy", description="20 ms, one in twenty lost.", delay_ms=20.0, loss=0.05)
STEADY = LinkProfile(name="steady", description="A constant 20 ms.", delay_ms=20.0)


# ---- streaming


@pytest.mark.parametrize(("name", "seconds", "gap_ms"), [("clean", 2, 10), ("wifi_burst", 12, 100)])
def test_a_sealed_stream_over_a_usable_link_never_stops(
    name: str, seconds: int, gap_ms: int, make_loop: Any
) -> None:
    loop = make_loop(PROFILES[name], PROFILES[name], PROFILES[name])
    loop.engage()
    loop.run(1_000 * seconds)
    assert loop.stops == []
    assert loop.longest_gap_ns >= gap_ms * MS
    buffer = loop.follower.stream.buffer
    assert buffer is not None
    assert buffer.stats.released >= 100 * seconds
    report = loop.operator.report(loop.here_ns)
    assert (report.engaged, report.follower, report.link_lost) == (True, "streaming", False)
    assert report.lead["sent"] >= 100 * seconds
    loop.check()


def test_five_percent_loss_calls_for_copies_that_repair_it(make_loop: Any) -> None:
    loop = make_loop(FIVE_PERCENT, STEADY)
    loop.engage()
    loop.run(10_000)
    buffer = loop.follower.stream.buffer
    assert buffer is not None
    assert loop.stops == []
    assert buffer.stats.seq_holes > 30
    assert buffer.stats.lost_at_release + buffer.stats.interpolated <= 5
    assert loop.operator.report(loop.here_ns).copies >= 3
    loop.check()


# ---- e-stops


def test_an_estop_over_control_alone_stops_within_its_one_way_delay(make_loop: Any) -> None:
    loop = make_loop()
    loop.engage()
    loop.run(1_000)
    loop.cut = {"commands", "telemetry"}
    pressed_ns = loop.press()
    loop.run(2_000)
    ((stopped_ns, cause),) = loop.stops
    assert (cause.kind, cause.name) == (StopKind.ESTOP, "control service")
    assert stopped_ns - pressed_ns <= PERIOD_NS + 20 * MS
    report = loop.operator.report(loop.here_ns).estop
    assert report is not None
    assert (report.control_ms, report.datagram_ms) == (40.0, None)
    loop.check()


@pytest.mark.parametrize("lost_copies", [0, 1])
def test_an_estop_by_datagram_alone_stops_within_a_period_and_the_one_way_delay(
    lost_copies: int, make_loop: Any
) -> None:
    loop = make_loop()
    loop.engage()
    loop.run(1_000)
    loop.cut = {"control", "commands"} if lost_copies else {"control"}
    pressed_ns = loop.press()
    loop.run(5)
    loop.cut = {"control"}
    loop.run(500)
    ((stopped_ns, cause),) = loop.stops
    assert (cause.kind, cause.name) == (StopKind.ESTOP, "datagram")
    assert stopped_ns - pressed_ns == 20 * MS + lost_copies * PERIOD_NS
    report = loop.operator.report(loop.here_ns).estop
    assert report is not None
    assert report.control_ms is None
    assert report.datagram_ms is not None
    assert report.datagram_ms <= 40.0 + 10.0 + 10.0 * lost_copies
    assert report.datagrams <= 7
    loop.check()


def test_an_estop_into_a_black_hole_arrives_as_soon_as_either_path_is_back(make_loop: Any) -> None:
    loop = make_loop()
    loop.engage()
    loop.run(1_000)
    loop.cut = {"commands", "telemetry", "control"}
    loop.press()
    loop.run(3_000)
    # The follower has stopped by itself meanwhile; it learns of the e-stop all the same.
    assert [cause.kind for _, cause in loop.stops] == [StopKind.STALL]
    assert loop.confirmed() is None
    loop.cut = {"telemetry", "control"}
    loop.run(PERIOD_NS / MS + 20)
    assert loop.confirmed() == (7, 41)
    loop.check()


def test_after_the_reset_the_stream_goes_on_and_late_copies_stop_nothing(make_loop: Any) -> None:
    slow = LinkProfile(name="slow", description="A constant 120 ms.", delay_ms=120.0)
    loop = make_loop(slow, STEADY, STEADY)
    loop.engage()
    loop.run(500)
    loop.press()
    loop.run(45)
    # Confirmed over control; the datagrams are still under way.
    assert len(loop.stops) == 1
    loop.run(60)
    loop.do(loop.operator.reset_emergency("looked at it", loop.here_ns))
    loop.run(20)
    assert loop.state() == "idle"
    seen = loop.follower.ingress.counts.datagrams
    loop.run(200)
    assert loop.follower.ingress.counts.datagrams == seen + 3
    assert loop.state() == "idle"
    loop.engage()
    loop.run(1_000)
    assert len(loop.stops) == 1
    assert loop.state() == "streaming"
    loop.check()


# ---- silence


def test_telemetry_lost_for_three_seconds_holds_back_tells_and_ends_the_engagement(make_loop: Any) -> None:
    loop = make_loop()
    loop.engage()
    loop.run(1_000)
    loop.cut = {"telemetry"}
    loop.run(900)
    assert loop.stops == []
    loop.run(2_100)
    ((_, cause),) = loop.stops
    assert cause.kind is StopKind.STALL
    (blocked,), (lost,) = loop.told(DeadmanBlocked), loop.told(LinkLost)
    assert 1000.0 <= blocked.silent_ms <= 1000.1
    assert lost.silent_ms == 2000.0
    loop.cut = set()
    loop.run(1_000)
    (released,), (back,) = loop.told(DeadmanReleased), loop.told(LinkBack)
    assert 2_990.0 <= back.silent_ms <= 3_040.0
    assert released.silent_ms == back.silent_ms
    assert loop.told(FollowerStopped)[0].kind == "stall"
    assert "stopped" in loop.told(Disengaged)[0].by
    assert not loop.operator.report(loop.here_ns).engaged
    loop.check()


def test_a_udp_black_hole_is_a_named_stop_and_recovery_needs_reset_and_prepare(make_loop: Any) -> None:
    loop = make_loop()
    loop.engage()
    loop.run(1_000)
    loop.cut = {"commands", "telemetry"}
    loop.run(3_000)
    loop.cut = set()
    loop.run(1_000)
    assert [cause.kind for _, cause in loop.stops] == [StopKind.STALL]
    assert loop.operator.report(loop.here_ns).stopped_by == "stall underrun"
    assert loop.state() == "stopped"
    loop.do(loop.operator.reset_emergency("the link is back", loop.here_ns))
    loop.run(200)
    assert loop.state() == "idle"
    loop.engage()
    loop.run(1_000)
    assert len(loop.stops) == 1
    loop.check()
