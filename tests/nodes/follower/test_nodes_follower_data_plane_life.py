"""The data plane among its neighbours: heartbeats, coming up after a death, ending."""

from collections.abc import Iterator
from typing import Any

import pytest

from steadyhand.core.follower.inputs import (
    EmergencyStop,
    PrepareStream,
    Reply,
    ResetEmergency,
)
from steadyhand.core.safety.latch import StopCause, StopKind
from steadyhand.nodes.follower import local_link
from steadyhand.nodes.follower.local_link import (
    Answered,
    Hello,
)
from steadyhand.nodes.follower.process_settings import (
    CONTROL_PLANE_LINE,
    LAUNCHER_LINE,
)
from tests.nodes.follower.plane_rig import MS, Rig


@pytest.fixture
def rig() -> Iterator[Rig]:
    one = Rig()
    one.plane.begin(one.now_ns)
    yield one
    one.close()


@pytest.fixture
def streaming(rig: Rig) -> Rig:
    rig.engage()
    rig.run(60, sending=True)
    rig.records()
    rig.told.clear()
    rig.lines_said()
    return rig


# ---- heartbeats


def test_nobody_engages_before_every_process_has_beaten(rig: Rig) -> None:
    rig.beating = [LAUNCHER_LINE]
    rig.run(20)
    refused = rig.ask(PrepareStream())
    assert (refused.outcome, refused.reason) == ("refused", "the control plane has never sent a heartbeat")
    assert rig.core.state.value == "idle"


@pytest.mark.parametrize("line", [CONTROL_PLANE_LINE, LAUNCHER_LINE])
def test_a_neighbour_that_stands_still_for_three_periods_stops_the_arm(streaming: Rig, line: int) -> None:
    streaming.beating.remove(line)
    streaming.run(30, sending=True)
    assert streaming.core.state.value == "streaming"
    streaming.run(3, sending=True)
    assert streaming.core.cause is not None
    assert streaming.core.cause.kind is StopKind.PROCESS_LOST
    assert streaming.core.cause.name == ("launcher" if line == LAUNCHER_LINE else "control plane")
    assert streaming.stops_wanted() == [streaming.core.cause.detail]


def test_a_control_plane_that_was_replaced_within_three_periods_stops_the_arm_as_well(streaming: Rig) -> None:
    """Its sessions are lost, whether or not its heart was missed."""
    streaming.lines[CONTROL_PLANE_LINE]._pid = 500
    streaming.run(3, sending=True)
    assert streaming.core.cause is not None
    assert (streaming.core.cause.kind, streaming.core.cause.name) == (StopKind.PROCESS_LOST, "control plane")
    assert streaming.core.cause.detail == "the control plane was restarted"


def test_a_reset_is_refused_while_a_neighbour_is_dead(rig: Rig) -> None:
    rig.run(20)
    rig.beating.remove(LAUNCHER_LINE)
    rig.run(40)
    assert rig.core.state.value == "stopped"
    refused = rig.ask(ResetEmergency(operator="ann", reason="try"))
    assert refused.outcome == "refused"
    assert "the launcher has sent no heartbeat" in refused.reason
    rig.beating.append(LAUNCHER_LINE)
    rig.run(5)
    assert rig.ask(ResetEmergency(operator="ann", reason="it is back")).outcome == "done"


def test_a_data_plane_that_was_away_while_it_streamed_stops_the_arm(streaming: Rig) -> None:
    """The others have taken it for dead, and the controller was told to stop."""
    streaming.clock.advance(60 * MS)
    for line in streaming.beating:
        streaming.lines[line].beat(streaming.now_ns)
    streaming.run(1)
    assert streaming.core.cause is not None
    assert (streaming.core.cause.kind, streaming.core.cause.name) == (StopKind.PROCESS_LOST, "data plane")
    assert "away for 7" in streaming.core.cause.detail


def test_an_absence_while_nothing_moves_is_only_counted(rig: Rig) -> None:
    rig.run(20)
    rig.clock.advance(100 * MS)
    rig.run(1)
    assert rig.core.state.value == "idle"
    assert any("absences 1" in line for line in rig.plane.totals())


def test_hello_is_said_to_every_control_plane_once(rig: Rig) -> None:
    rig.hear()
    rig.told.clear()
    rig.run(10)
    (hello,) = [one for one in rig.told if isinstance(one, Hello)]
    assert (hello.pid, hello.granted, hello.stopped_by) == (77, ("heap: granted",), None)
    assert hello.udp_port == rig.action.getsockname()[1]
    rig.lines[CONTROL_PLANE_LINE]._pid = 500
    rig.run(3)
    assert len([one for one in rig.told if isinstance(one, Hello)]) == 2


def test_hello_is_repeated_until_it_is_taken(rig: Rig) -> None:
    filler = Answered(request_id=1, reply=Reply(outcome="done"))
    while local_link.send(rig.local, filler):
        pass
    rig.clock.advance(20 * MS)
    for line in rig.beating:
        rig.lines[line].beat(rig.now_ns)
    rig.plane.tick(rig.now_ns)
    rig.hear()
    rig.told.clear()
    rig.run(3)
    assert len([one for one in rig.told if isinstance(one, Hello)]) == 1


# ---- coming up after a death


def test_what_was_asked_of_the_one_before_is_refused_however_lately_but_an_estop() -> None:
    """A reset that was under way when it died was not about this latch."""
    rig = Rig(stopped_by=StopCause(kind=StopKind.PROCESS_LOST, detail="killed", name="data plane"))
    rig.run(3)
    rig.plane.begin(rig.now_ns)
    late = rig.ask(ResetEmergency(operator="ann", reason="of another stop"), waited_ns=1)
    assert (late.outcome, rig.core.state.value) == ("refused", "stopped")
    assert rig.ask(ResetEmergency(operator="ann", reason="of this one")).outcome == "done"
    assert rig.ask(EmergencyStop(source="console"), waited_ns=100 * MS).outcome == "done"
    assert rig.core.state.value == "stopped"
    rig.close()


def test_after_a_death_it_comes_up_latched_ends_the_stream_and_asks_for_stop_motion(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cause = StopCause(kind=StopKind.PROCESS_LOST, detail="the data plane was killed", name="data plane")
    rig = Rig(stopped_by=cause)
    ended: list[int] = []
    end_stream = rig.port.end_stream

    def noted(now_ns: int) -> Any:
        ended.append(now_ns)
        return end_stream(now_ns)

    monkeypatch.setattr(rig.port, "end_stream", noted)
    rig.plane.begin(rig.now_ns)
    assert ended == [rig.now_ns]
    rig.hear()
    assert rig.stops_wanted() == ["the data plane was killed"]
    rig.run(3)
    record = rig.records()[-1]
    assert (record.engage, record.stopped_by) == ("stopped", cause)
    assert rig.ask(PrepareStream()).outcome == "refused"
    rig.close()


# ---- ending


def test_leaving_brakes_to_rest_and_lets_nobody_engage(streaming: Rig) -> None:
    streaming.plane.leave(streaming.now_ns)
    assert streaming.core.state.value == "braking"
    streaming.run(100)
    assert streaming.plane.at_rest
    assert (streaming.core.state.value, streaming.model.fault_count) == ("idle", 0)
    refused = streaming.ask(PrepareStream())
    assert (refused.outcome, refused.reason) == ("refused", "the follower is ending")


def test_the_totals_say_where_everything_went(streaming: Rig) -> None:
    streaming.sender.send(b"garbage")
    streaming.run(1, sending=True)
    totals = "\n".join(streaming.plane.totals())
    assert "playout buffer totals: offered=61 released=4" in totals
    assert "action datagrams: datagrams=62 rejected_" in totals
    assert "setpoints written: " in totals
