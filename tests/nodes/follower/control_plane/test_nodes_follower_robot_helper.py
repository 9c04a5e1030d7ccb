"""The controller's calls: a stop is done or tried again, preparing has deadlines."""

import queue
import threading
from typing import Any

import pytest

from steadyhand.edge.clock import ManualClock
from steadyhand.edge.robots.contract import CallOutcome, CallReport, PortState
from steadyhand.ground.config import RobotConfig, RobotIdentity
from steadyhand.ground.errors import InputError
from steadyhand.ground.stamps import NS_PER_S
from steadyhand.nodes.follower.robot_helper import Preparer, Stopper, control_ports_of

WITHIN_S = 10.0


class Told:
    """What a stopper told."""

    def __init__(self) -> None:
        self.told: queue.Queue[tuple[str, CallOutcome]] = queue.Queue()

    def __call__(self, reason: str, report: CallReport) -> None:
        self.told.put((reason, report.outcome))

    def next(self) -> tuple[str, CallOutcome]:
        return self.told.get(timeout=WITHIN_S)


@pytest.fixture
def stop_port(make_port: Any) -> Any:
    return make_port()


@pytest.fixture
def stopper(stop_port: Any) -> Any:
    made = Stopper(stop_port, Told())
    yield made
    made.close(WITHIN_S)


def test_the_stopping_connection_is_open_before_anybody_needs_it(stopper: Any, stop_port: Any) -> None:
    stopper.start()
    assert stop_port.connected.wait(WITHIN_S)
    stopper.stop("x")
    assert stopper.wait_done(WITHIN_S)
    calls = [stop_port.calls.get_nowait() for _ in range(stop_port.calls.qsize())]
    assert calls.count("stop") == 1
    assert calls.index("connect") < calls.index("stop")


def test_a_stop_is_tried_until_it_is_done_and_told_once_before(stopper: Any, stop_port: Any) -> None:
    stop_port.outcomes["stop"] = [CallOutcome.UNANSWERED, CallOutcome.REFUSED, CallOutcome.UNANSWERED]
    stopper.stop("a hand in the way")
    stopper.start()
    assert stopper._tell.next() == ("a hand in the way", CallOutcome.UNANSWERED)
    assert stopper._tell.next() == ("a hand in the way", CallOutcome.DONE)
    assert not stopper.pending
    assert stopper._tell.told.empty()


def test_a_stop_wanted_while_another_is_called_is_called_as_well(stopper: Any, stop_port: Any) -> None:
    under_way = stop_port.gate["stop"] = threading.Event()
    stopper.stop("first")
    stopper.start()
    assert stop_port.entered.get(timeout=WITHIN_S) == "stop"
    stopper.stop("second")
    under_way.set()
    assert stopper._tell.next() == ("first", CallOutcome.DONE)
    assert stopper._tell.next() == ("second", CallOutcome.DONE)


def test_a_stop_wanted_during_a_look_is_called_right_after_it(stopper: Any, stop_port: Any) -> None:
    looking = stop_port.gate["connect"] = threading.Event()
    stopper.start()
    assert stop_port.entered.get(timeout=WITHIN_S) == "connect"
    stopper.stop("x")
    looking.set()
    # Well before the next look is due.
    assert stopper.wait_done(2.0)


def test_a_forgotten_stop_is_not_tried_any_more(stopper: Any, stop_port: Any) -> None:
    stop_port.outcomes["stop"] = [CallOutcome.UNANSWERED] * 1000
    stopper.start()
    stopper.stop("x")
    stop_port.wait_call("stop")
    stopper.forget(stopper.wanted)
    assert stopper.wait_done(WITHIN_S)


def test_a_stop_wanted_since_the_release_was_asked_for_is_not_forgotten_with_those_before(
    stopper: Any,
) -> None:
    stopper.stop("before")
    wanted = stopper.wanted
    stopper.stop("again")
    stopper.forget(wanted)
    assert stopper.pending
    stopper.start()
    assert stopper._tell.next() == ("again", CallOutcome.DONE)


def test_a_driver_that_raises_does_not_end_the_stopping_thread(stopper: Any, stop_port: Any) -> None:
    def broken() -> CallReport:
        stop_port._stop = lambda: CallReport(call="stop", outcome=CallOutcome.DONE)
        raise RuntimeError("a mistake of ours")

    stop_port._stop = broken
    stopper.start()
    stopper.stop("x")
    assert stopper._tell.next() == ("x", CallOutcome.UNANSWERED)
    assert stopper._tell.next() == ("x", CallOutcome.DONE)


@pytest.fixture
def preparer(make_port: Any) -> Any:
    made = Preparer(make_port(), ManualClock(0))
    yield made
    made.close(WITHIN_S)


def test_preparing_connects_by_itself(preparer: Any) -> None:
    preparer.start()
    assert preparer.activate(within_ns=NS_PER_S).result(WITHIN_S).done
    assert preparer._port.state is PortState.ACTIVE


def test_a_controller_that_does_not_answer_is_told(preparer: Any) -> None:
    preparer._port.outcomes["connect"] = [CallOutcome.UNANSWERED]
    preparer.start()
    report = preparer.reset_errors(within_ns=NS_PER_S).result(WITHIN_S)
    assert (report.call, report.outcome) == ("connect", CallOutcome.UNANSWERED)


def test_a_call_that_would_begin_too_late_is_not_made(preparer: Any) -> None:
    answer = preparer.activate(within_ns=NS_PER_S)
    preparer._clock.advance(NS_PER_S + 1)
    preparer.start()
    assert answer.result(WITHIN_S).detail == "an earlier call took too long"
    assert preparer._port.calls.empty()


def test_a_call_that_nobody_waits_for_is_not_made(preparer: Any) -> None:
    answer = preparer.activate(within_ns=NS_PER_S)
    assert answer.cancel()
    preparer.start()
    assert preparer.reset_errors(within_ns=NS_PER_S).result(WITHIN_S).done
    assert "enable" not in list(preparer._port.calls.queue)


def test_a_driver_that_raises_is_told_to_who_asked(preparer: Any) -> None:
    def broken() -> CallReport:
        raise RuntimeError("a mistake of ours")

    preparer._port._enable = broken
    preparer.start()
    with pytest.raises(RuntimeError):
        preparer.activate(within_ns=NS_PER_S).result(WITHIN_S)
    assert preparer.reset_errors(within_ns=NS_PER_S).result(WITHIN_S).done


def test_a_robot_without_a_controller_is_refused() -> None:
    config = RobotConfig(robot=RobotIdentity(id="x", type="simulated", model="x"))
    with pytest.raises(InputError, match="no controller to call"):
        control_ports_of(config)


def test_each_thread_has_a_port_of_its_own() -> None:
    config = RobotConfig(robot=RobotIdentity(id="x", type="fairino", model="x"))
    first, second = control_ports_of(config)
    assert first is not second
