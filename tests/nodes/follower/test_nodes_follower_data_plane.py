"""What a wake and a tick of the data plane do, and what they tell."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from steadyhand.core.follower.inputs import (
    EmergencyStop,
    PrepareStream,
)
from steadyhand.core.follower.outputs import Moved, ProgramFault, SafetyNote, Stopped
from steadyhand.core.safety.latch import StopCause, StopKind
from steadyhand.edge.robots.contract import PortState
from steadyhand.ground.setpoint import Setpoint
from steadyhand.nodes.controller.settings import START_POSE_DEG
from steadyhand.nodes.follower import local_link
from steadyhand.nodes.follower.data_plane import DATAGRAMS_A_WAKE, EVENTS_A_RECORD
from steadyhand.nodes.follower.local_link import (
    CloseSession,
    StreamAction,
)
from steadyhand.nodes.follower.telling import LINES_A_SECOND
from steadyhand.wire.action_payload import encode_action
from tests.nodes.follower.plane_rig import MS, PERIOD_NS, START_NS, WALL_S, Rig


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


# ---- a tick and its record


def test_every_tick_is_one_record_numbered_from_one(rig: Rig) -> None:
    rig.run(5)
    records = rig.records()
    assert [record.tick for record in records] == [1, 2, 3, 4, 5]
    assert [record.at_ns for record in records] == [START_NS + n * PERIOD_NS for n in range(1, 6)]
    assert {(record.pid, record.engage, record.wall_s) for record in records} == {(77, "idle", WALL_S)}
    assert {(record.held, record.sent, record.write) for record in records} == {(False, None, "")}
    assert records[-1].measured is not None
    assert records[-1].measured.joints_deg == START_POSE_DEG


def test_periods_that_passed_without_a_tick_are_counted(rig: Rig) -> None:
    rig.run(10)
    assert rig.plane.lost_slots == 0
    rig.clock.advance(rig.plane.grid.due_ns + 4 * PERIOD_NS + 1 - rig.now_ns)
    rig.plane.tick(rig.now_ns)
    assert rig.plane.lost_slots == 4


def test_the_grid_follows_the_cores_next_tick(rig: Rig) -> None:
    """R2: the core trims the period; the loop's grid is the core's."""
    rig.run(3)
    assert rig.plane.grid.due_ns == rig.now_ns + PERIOD_NS
    records = rig.records()
    assert [later.due_ns - one.due_ns for one, later in pairwise(records[1:])] == [PERIOD_NS]


def test_a_record_of_a_streaming_tick_says_what_was_released_written_and_when(streaming: Rig) -> None:
    streaming.run(1, sending=True)
    (record,) = streaming.records()
    assert (record.engage, record.operator, record.write, record.arrived) == ("streaming", "ann", "taken", 1)
    assert record.released is not None
    assert record.sent is not None
    assert record.sent.seq == record.released.seq
    assert record.sent_ns == streaming.now_ns + 5
    assert (record.depth, record.target_depth, record.held) == (19, 20, False)
    assert record.counters["released"] > 30
    telemetry = msgspec.json.decode(record.state_json)
    assert telemetry["extras"]["playout"]["released"] == record.counters["released"]


def test_a_tick_that_writes_nothing_says_so_whatever_was_written_before(streaming: Rig) -> None:
    streaming.plane.emergency_stop("the console", streaming.now_ns)
    streaming.run(2)
    assert [(one.sent, one.sent_ns, one.write) for one in streaming.records()] == [(None, 0, "")] * 2


def test_a_tick_that_releases_nothing_while_streaming_is_held(rig: Rig) -> None:
    rig.engage()
    rig.records()
    rig.run(1)
    (record,) = rig.records()
    assert (record.engage, record.held, record.released) == ("streaming", True, None)


def test_a_write_that_failed_is_in_the_record(streaming: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    from steadyhand.edge.robots.reports import lost

    monkeypatch.setattr(streaming.port, "_write_joints", lambda joints_deg, now_ns: lost("full"))
    streaming.run(1, sending=True)
    (record,) = streaming.records()
    assert (record.write, record.sent is None) == ("transient", False)
    streaming.run(2, sending=True)
    assert streaming.core.cause is not None
    assert streaming.core.cause.kind is StopKind.WRITE_FAILURES


# ---- a wake


def test_at_most_32_datagrams_are_read_in_one_wake(rig: Rig) -> None:
    for _ in range(DATAGRAMS_A_WAKE + 8):
        rig.sender.send(b"garbage")
    rig.plane.wake(rig.now_ns)
    assert rig.core.ingress.counts.datagrams == DATAGRAMS_A_WAKE
    rig.plane.wake(rig.now_ns)
    assert rig.core.ingress.counts.datagrams == DATAGRAMS_A_WAKE + 8
    rig.run(1)
    assert rig.records()[-1].arrived == DATAGRAMS_A_WAKE + 8


def test_datagrams_come_before_requests(rig: Rig) -> None:
    """A session that is opened in the same wake does not reach back to the datagrams before it."""
    rig.run(3)
    rig.send_setpoint()
    rig.open_session()
    assert rig.core.ingress.rejections.total == 1


def test_an_estop_request_acts_on_arrival_and_asks_for_stop_motion(streaming: Rig) -> None:
    reply = streaming.ask(EmergencyStop(source="control service"))
    assert reply.outcome == "done"
    assert streaming.core.state.value == "stopped"
    assert streaming.port.state is PortState.INACTIVE
    assert streaming.stops_wanted() == ["e-stop by control service"]


def test_a_request_that_waited_too_long_is_refused_but_an_estop_never(rig: Rig) -> None:
    rig.run(60)
    refused = rig.ask(PrepareStream(), waited_ns=501 * MS)
    assert (refused.outcome, refused.reason) == ("refused", "it waited for 501 ms; ask again")
    assert rig.ask(PrepareStream(), waited_ns=500 * MS).outcome == "done"
    assert rig.ask(EmergencyStop(source="late"), waited_ns=10_000 * MS).outcome == "done"
    assert rig.core.state.value == "stopped"


def test_an_estop_on_the_ordered_stream_is_never_too_old_either(rig: Rig) -> None:
    rig.run(20)
    estop = Setpoint(
        joints_deg=(), timestamp_s=1.0, robot_id=rig.core.settings.robot_id, emergency_stop=True, episode_id=3
    )
    old_ns = rig.now_ns - 5_000 * MS
    assert local_link.send(rig.control_end, StreamAction(sent_ns=old_ns, session_id=5, payload=b"\xff"))
    assert local_link.send(
        rig.control_end, StreamAction(sent_ns=old_ns, session_id=5, payload=encode_action(estop))
    )
    rig.plane.wake(rig.now_ns)
    assert rig.plane.requests.too_old == 1
    assert rig.core.cause is not None
    assert rig.core.cause.kind is StopKind.ESTOP


def test_a_message_that_cannot_be_read_is_counted_and_the_next_is_served(rig: Rig) -> None:
    rig.run(20)
    rig.control_end.send(b"\xc1nonsense")
    assert rig.ask(EmergencyStop(source="console")).outcome == "done"
    assert rig.plane.requests.unreadable == 1


def test_a_second_operator_is_refused_by_name_until_the_first_has_gone(rig: Rig) -> None:
    rig.run(20)
    assert rig.open_session("ann").outcome == "done"
    assert "ann holds the session" in rig.open_session("bob").reason
    assert rig.exchange(CloseSession(request_id=9, sent_ns=rig.now_ns, operator="ann")).outcome == "done"
    rig.run(1)
    assert rig.records()[-1].operator == ""


def test_an_operator_who_goes_while_engaged_leaves_by_the_soft_stop(streaming: Rig) -> None:
    leader = streaming.core.operator
    going = CloseSession(request_id=9, sent_ns=streaming.now_ns, operator=leader)
    assert streaming.exchange(going).outcome == "done"
    assert streaming.core.state.value == "braking"
    assert "must enter idle first" in streaming.open_session("bob").reason
    streaming.run(60)
    assert (streaming.core.state.value, streaming.core.operator) == ("idle", "")


def test_who_holds_no_session_prepares_nothing(rig: Rig) -> None:
    """A request that was under way when the session changed hands would engage the next one's arm."""
    rig.run(20)
    assert rig.open_session("bob").outcome == "done"
    assert rig.ask(PrepareStream(operator="ann")).reason == "ann holds no session; bob does"
    assert rig.exchange(CloseSession(request_id=9, sent_ns=rig.now_ns, operator="bob")).outcome == "done"
    assert rig.ask(PrepareStream(operator="bob")).reason == "bob holds no session; nobody does"
    assert rig.core.state.value == "idle"


# ---- telling


def test_events_are_said_and_recorded_in_order(streaming: Rig) -> None:
    streaming.plane.emergency_stop("the console", streaming.now_ns)
    streaming.run(1)
    (record,) = streaming.records()
    assert [type(event) for event in record.events] == [Moved, Stopped]
    lines = streaming.lines_said()
    assert lines[0] == "stream: now stopped (by estop)"
    assert lines[1].startswith("playout buffer totals: offered=60 released=")
    assert lines[2] == "STOPPED: estop: e-stop by the console"


def test_a_program_fault_in_the_core_is_told_whole_and_recorded_short(
    streaming: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_now_ns: int) -> Any:
        raise RuntimeError("x" * 20_000)

    monkeypatch.setattr(streaming.core.stream, "streaming_tick", broken)
    streaming.run(1)
    (record,) = streaming.records()
    fault = next(event for event in record.events if isinstance(event, ProgramFault))
    assert len(fault.traceback) == 4000
    assert record.engage == "stopped"
    assert sum(map(len, streaming.lines_said())) > 20_000
    assert streaming.plane.oversize == 0


def test_more_events_than_fit_a_record_wait_for_the_next(rig: Rig) -> None:
    rig.run(20)
    rig.records()
    for number in range(EVENTS_A_RECORD + 3):
        rig.core.arm.tell(SafetyNote(at_ns=number, kind="Test", fields={}))
    rig.run(2)
    first, second = rig.records()
    assert [event.at_ns for event in (*first.events, *second.events)] == list(range(EVENTS_A_RECORD + 3))
    assert len(rig.lines_said()) == LINES_A_SECOND
    assert any(
        f"log lines left out {EVENTS_A_RECORD + 3 - LINES_A_SECOND}" in line for line in rig.plane.totals()
    )


def test_a_record_that_does_not_fit_its_slot_is_published_without_its_words(rig: Rig) -> None:
    rig.run(20)
    rig.records()
    rig.core.arm.tell(SafetyNote(at_ns=1, kind="Long", fields={"text": "y" * 20_000}))
    rig.run(1)
    record = rig.records()[-1]
    assert (record.tick, record.events, record.state_json) == (21, (), b"")
    assert rig.plane.oversize == 1


def test_log_lines_nobody_reads_delay_nothing_and_are_counted(rig: Rig) -> None:
    rig.run(20)
    for _ in range(600):
        rig.core.arm.tell(Stopped(at_ns=1, cause=StopCause(kind=StopKind.ESTOP, detail="z" * 200)))
    rig.run(1)
    assert any("log lines left out" in line for line in rig.plane.totals())
