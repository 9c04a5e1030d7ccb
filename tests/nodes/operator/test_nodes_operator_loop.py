"""The operator's loop against a whole follower, turned by hand: sessions, streaming, e-stops, silence."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from steadyhand.core.follower.inputs import EnterIdle
from steadyhand.core.operator.outputs import RequestEstop
from steadyhand.core.safety.latch import StopKind

MS = 1_000_000


def test_a_session_opens_and_telemetry_comes_before_anything_moves(bench: Any) -> None:
    bench.run(100)
    assert bench.view.open
    assert bench.view.state.joint_positions == (0.0, -90.0, 90.0, -90.0, -90.0, 0.0)
    assert bench.follower.where == "idle"
    assert not bench.view.report.engaged
    assert bench.link.asks[0].telemetry_port == bench.sockets.telemetry_port


def test_a_prepared_stream_reaches_the_controller(bench: Any) -> None:
    bench.engage()
    bench.run(1_000)
    assert bench.follower.where == "streaming"
    assert set(bench.verdicts) == {"sent"}
    assert bench.follower.core.stream.buffer.stats.released > 90
    assert bench.follower.model.fault_count == 0
    assert "Engaged" in bench.kinds


def test_the_followers_events_are_told_with_the_operators(bench: Any) -> None:
    bench.engage()
    assert "Moved" in bench.kinds
    assert any("follower: Moved" in text and "streaming" in text for text in bench.texts)


def test_the_ordered_transport_streams_too(make_bench: Callable[..., Any]) -> None:
    bench = make_bench(remote_node__transport="grpc")
    bench.engage()
    bench.run(500)
    assert bench.follower.where == "streaming"
    assert bench.follower.core.stream.buffer.stats.released > 40


def test_an_estop_leaves_on_both_paths_at_once(bench: Any) -> None:
    bench.engage()
    before = bench.follower.core.ingress.counts.datagrams
    bench.loop.press("the button", bench.now_ns)
    assert isinstance(bench.link.requests[-1], RequestEstop)
    bench.follower.turn(bench.now_ns)
    assert bench.follower.core.ingress.counts.datagrams == before + 1
    assert bench.follower.where == "stopped"
    bench.run(30)
    estop = bench.view.report.estop
    assert (estop.control_ms is not None, estop.datagram_ms is not None) == (True, True)


def test_an_estop_stops_over_control_alone(bench: Any) -> None:
    bench.engage()
    bench.follower.deaf = True
    bench.loop.press("the button", bench.now_ns)
    bench.run(1)
    ((_, cause),) = bench.follower.stops
    assert (cause.kind, cause.name) == (StopKind.ESTOP, "control service")


def test_an_estop_stops_by_datagram_alone_and_is_repeated_until_confirmed(bench: Any) -> None:
    bench.engage()
    bench.link.cut = True
    bench.follower.deaf = bench.follower.mute = True
    bench.loop.press("the button", bench.now_ns)
    bench.run(45)
    assert bench.view.report.estop.datagrams == 5
    bench.follower.deaf = bench.follower.mute = False
    assert bench.until(lambda: bench.follower.where == "stopped") <= 10
    assert bench.follower.stops[0][1].name == "datagram"
    bench.until(lambda: bench.view.report.estop.acknowledged)
    sent = bench.view.report.estop.datagrams
    bench.run(200)
    assert bench.view.report.estop.datagrams == sent


def test_nothing_leads_after_an_estop_until_reset_and_prepare(bench: Any) -> None:
    bench.engage()
    bench.loop.press("the button", bench.now_ns)
    bench.run(500)
    assert bench.lead().verdict.value == "estop_standing"
    bench.loop.reset("looked at it", bench.now_ns)
    bench.until(lambda: not bench.view.stopped)
    assert bench.lead().verdict.value == "not_engaged"
    bench.engage()
    assert bench.follower.where == "streaming"
    assert len(bench.follower.stops) == 1


def test_a_lost_link_is_told_holds_back_and_engages_nobody_when_it_is_back(bench: Any) -> None:
    bench.engage()
    bench.follower.mute = bench.follower.deaf = True
    bench.run(3_000)
    assert {"DeadmanBlocked", "LinkLost"} <= set(bench.kinds)
    assert bench.verdicts[-1] == "deadman"
    bench.follower.mute = bench.follower.deaf = False
    bench.run(1_000)
    assert {"LinkBack", "FollowerStopped", "Disengaged"} <= set(bench.kinds)
    assert bench.view.stop.kind == "stall"
    assert bench.verdicts[-1] == "not_engaged"
    assert len(bench.link.asks) == 1


def test_a_dead_control_service_alone_ends_neither_stream_nor_session(bench: Any) -> None:
    bench.engage()
    bench.link.cut = True
    bench.link.path(up=False)
    bench.run(3_000)
    assert not bench.view.session.control_up
    assert bench.view.open
    assert bench.follower.where == "streaming"
    assert set(bench.verdicts) == {"sent"}
    assert len(bench.link.asks) == 1


def test_a_session_the_follower_forgot_is_opened_again_and_engages_nobody(bench: Any) -> None:
    bench.engage()
    bench.follower.control(EnterIdle(operator="ann"), bench.now_ns)
    bench.link.lose_session()
    bench.run(1_000)
    assert len(bench.link.asks) == 2
    assert bench.view.open
    assert bench.view.session.opened == 2
    assert bench.verdicts[-1] == "not_engaged"
    assert "SessionLost" in bench.kinds
    bench.engage()
    assert bench.follower.where == "streaming"


def test_asking_for_a_session_pauses_twice_as_long_each_time(bench: Any) -> None:
    bench.link.cut = True
    bench.run(1)
    asked: list[int] = []
    for _ in range(18_000):
        before = len(bench.link.asks)
        bench.run(1)
        if len(bench.link.asks) > before:
            asked.append(bench.now_ns // MS)
    pauses = [later - earlier for earlier, later in pairwise(asked)]
    assert [round(pause_ms, -2) for pause_ms in pauses] == [500, 1000, 2000, 4000, 4000, 4000]
    assert "nobody answers" in bench.view.session.failed
    bench.link.cut = False
    bench.run(4_100)
    assert bench.view.open


def test_a_second_operator_is_refused_by_name_and_harms_nobody(make_bench: Callable[..., Any]) -> None:
    first = make_bench(operator="ann")
    first.engage()
    second = make_bench(operator="bob", follower=first.follower)
    second.clock = first.clock
    second.loop.clock = first.clock
    for _ in range(100):
        second.loop.turn()
        first.run(1)
    assert "ann is driving" in second.view.session.refused
    assert not second.view.open
    assert first.follower.where == "streaming"


def test_idle_asks_nobody_where_there_is_no_session(bench: Any) -> None:
    bench.link.cut = True
    bench.run(5)
    bench.loop.idle(bench.now_ns)
    assert bench.link.requests == []


def test_leaving_closes_the_session_for_good(bench: Any) -> None:
    bench.engage()
    bench.loop.leave(bench.now_ns)
    bench.run(5_000)
    assert bench.link.closed_session
    assert len(bench.link.asks) == 1
    assert bench.follower.core.operator == ""


def test_forged_and_foreign_telemetry_is_counted_and_moves_nothing(bench: Any) -> None:
    bench.run(50)
    before = bench.view.state
    bench.follower.mute = True
    bench.run(5)
    for junk in (b"", b"x" * 2000, b"S7N1\x01" + bytes(40)):
        bench.follower.socket.sendto(junk, ("127.0.0.1", bench.sockets.telemetry_port))
    bench.run(1)
    assert bench.view.report.telemetry["rejected"] == 3
    assert bench.view.state.joint_positions == before.joint_positions
