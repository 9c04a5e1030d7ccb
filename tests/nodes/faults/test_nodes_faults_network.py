"""What the network can do to an arm that is led through it. Each test is a row of docs/faults.md."""

from collections.abc import Callable

import pytest

import steadyhand
from steadyhand.core.follower.outputs import Stopped
from steadyhand.core.safety.latch import StopCause, StopKind
from steadyhand.nodes.follower.records import TickRecord
from steadyhand.nodes.operator.view import OperatorView
from tests.nodes.faults import lawful
from tests.nodes.faults.operating import Operator, moving
from tests.nodes.faults.stack import PATIENT, Stack
from tests.nodes.processes import wait_until

pytestmark = pytest.mark.slow

FREEZE = "clean:outages=0+2000,outage_burst=true"
"""Two seconds of nothing, then everything at once."""


def cause_of(record: TickRecord) -> StopCause:
    assert record.stopped_by is not None
    return record.stopped_by


def test_a_udp_black_hole_stops_the_arm_by_a_stall_and_the_operator_loses_the_link(stack: Stack) -> None:
    with Operator(stack) as operator:
        operator.begin()
        stack.network.kill("udp")
        cause = cause_of(stack.wait_stopped())
        assert (cause.kind, cause.name) == (StopKind.STALL, "underrun")
        assert "nothing has arrived for" in cause.detail
        # Control still speaks.
        operator.wait_event("Stopped", "underrun")
        assert isinstance(operator.wait_ended(), steadyhand.LinkLost)
        operator.wait_event("LinkLost")
        stood_at = stack.wait_at_rest()
        arrived, seen = stack.setpoints_arrived(), len(stack.ticks.records)
        stack.network.revive("udp")
        operator.wait_event("FollowerStopped", "stall (underrun)")
        assert stack.setpoints_arrived() == arrived
        lawful.the_arm_stands(stack.ticks.records[seen:], stood_at)
        operator.recover()
    lawful.check(stack)


def test_a_control_black_hole_is_told_and_the_arm_is_led_on(stack: Stack) -> None:
    with Operator(stack) as operator:
        operator.begin()
        session = operator.arm.view.session.session_id
        stack.network.kill("control")
        operator.wait_event("ControlPath", "control service not heard")
        assert operator.error is None
        stack.network.revive("control")
        operator.wait_event("ControlPath", "heard again")
        assert operator.arm.view.session.session_id == session
        operator.rest()
        operator.arm.idle()
    lawful.nothing_has_stopped_it(stack.records)
    lawful.check(stack)


def test_a_black_hole_on_both_paths_stops_the_arm_and_the_cause_is_told_when_it_is_over(stack: Stack) -> None:
    with Operator(stack) as operator:
        operator.begin()
        stack.network.kill("both")
        cause = cause_of(stack.wait_stopped())
        assert (cause.kind, cause.name) == (StopKind.STALL, "underrun")
        assert isinstance(operator.wait_ended(), steadyhand.LinkLost)
        stood_at = stack.wait_at_rest()
        arrived, seen = stack.setpoints_arrived(), len(stack.ticks.records)
        stack.network.revive("both")
        operator.wait_event("FollowerStopped", "stall (underrun)")
        assert stack.setpoints_arrived() == arrived
        lawful.the_arm_stands(stack.ticks.records[seen:], stood_at)
        operator.recover()
    lawful.check(stack)


def test_a_freeze_and_its_burst_stop_the_arm_and_the_burst_moves_nothing(stack: Stack) -> None:
    with Operator(stack) as operator:
        operator.begin()
        stack.network.set_link(FREEZE, direction="to_follower", path="udp")
        cause = cause_of(stack.wait_stopped())
        assert (cause.kind, cause.name) == (StopKind.STALL, "underrun")
        error = operator.wait_ended()
        assert isinstance(error, steadyhand.Stopped)
        assert error.cause == "stall"
        assert "underrun" in str(error)
        stood_at = stack.wait_at_rest()
        arrived, seen = stack.setpoints_arrived(), len(stack.ticks.records)
        stack.ticks.wait(lambda record: record.arrived > 10, since=seen, what="the burst")
        stack.ticks.wait(lambda record: record.arrived == 0, since=seen + 20, what="the tick after it")
        assert stack.setpoints_arrived() == arrived
        lawful.the_arm_stands(stack.ticks.records[seen:], stood_at)
        operator.recover()
    lawful.check(stack)


@pytest.mark.parametrize("path", ["datagram", "control"])
def test_an_estop_arrives_on_the_path_that_is_left(
    stack: Stack, path: str, record_property: Callable[[str, object], None]
) -> None:
    with Operator(stack) as operator:
        operator.begin()
        stack.network.kill("control" if path == "datagram" else "udp")
        pressed_ns = operator.engine.call(lambda loop, now_ns: loop.press("the test", now_ns))
        record = stack.wait_stopped()
        cause = cause_of(record)
        assert cause.kind is StopKind.ESTOP
        source = "datagram" if path == "datagram" else "ann: the test"
        assert (cause.name, cause.detail) == (source, f"e-stop by {source}")
        (stop,) = [event for event in record.events if isinstance(event, Stopped)]
        assert stop.at_ns >= pressed_ns
        record_property(f"estop_{path}_ms", (stop.at_ns - pressed_ns) / 1e6)
        # The leader is told at this end, whatever comes back.
        error = operator.wait_ended()
        assert isinstance(error, steadyhand.Stopped)
        assert error.cause == "estop"
        wait_until(lambda: not stack.status()["streaming"], what="the stream's end at the controller")
        stack.wait_at_rest()
        arrived = stack.setpoints_arrived()
        stack.network.revive("both")
        operator.wait_view("a confirmation", acknowledged)
        assert stack.setpoints_arrived() == arrived
        operator.recover()
    lawful.check(stack)


def acknowledged(view: OperatorView) -> bool:
    return view.report.estop is not None and view.report.estop.acknowledged


def test_a_patient_follower_plays_nothing_old_out_of_a_burst(make_stack: Callable[..., Stack]) -> None:
    """One that holds for ever is not stopped by the freeze: the burst reaches an arm that is led."""
    stack = make_stack(settings=(*PATIENT[:2], "communication.playout_underrun_estop_after_ms=-1"))
    with Operator(stack) as operator:
        operator.begin()
        stack.network.set_link(FREEZE, direction="to_follower", path="udp")
        held = stack.wait(lambda record: record.held and record.depth == 0, "a hold")
        seen = len(stack.ticks.records)
        burst = stack.ticks.wait(lambda record: record.arrived > 10, since=seen, what="the burst")
        assert burst.at_ns - held.at_ns > 1_000_000_000
        since = stack.ticks.records.index(burst)
        stack.ticks.wait(moving, since=since, what="an arm that is led again, or a stop by name")
        assert operator.error is None
        operator.rest()
        operator.arm.idle()
    lawful.nothing_has_stopped_it(stack.records)
    lawful.check(stack)
