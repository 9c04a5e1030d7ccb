"""The contract of a data port, second half: what the other end does to it. Every driver passes."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

import pytest

from steadyhand.core.controller.model import ControllerModel
from steadyhand.core.safety.writes import WriteOutcome
from steadyhand.edge.robots.contract import DataPort, MeasuredState, PortState, Ready, Settling
from steadyhand.ground.robot_status import RobotStatus

AT_ONCE_S = 0.25
"""Nothing waits for the other end. Far below any time-out, far above what a busy machine adds."""


class Rig(Protocol):
    """What conftest gives: a port, its controller, and a hand on the plug."""

    port: DataPort
    seen: list[MeasuredState]

    def now_ns(self) -> int: ...
    def turn(self) -> None: ...
    def skip(self, by_ns: int) -> None: ...
    def skip_at_controller(self, by_ns: int) -> None: ...
    def model(self) -> ControllerModel: ...
    def model_now_ns(self) -> int: ...
    def die(self) -> None: ...
    def vanish(self) -> None: ...
    def revive(self) -> None: ...
    def arrived(self) -> int: ...
    def poll(self) -> list[MeasuredState]: ...
    def run_until(self, done: Callable[[], bool], *, within_s: float = 5.0) -> None: ...
    def connect(self) -> None: ...
    def enable(self) -> None: ...
    def settle(self, *, within_s: float = 8.0) -> Settling: ...
    def engage(self) -> None: ...


@contextmanager
def at_once() -> Iterator[None]:
    started_s = time.monotonic()
    yield
    assert time.monotonic() - started_s < AT_ONCE_S


def pose(rig: Rig) -> tuple[float, ...]:
    return rig.seen[-1].joints_deg


def state_of(port: DataPort) -> PortState:
    """The state, afresh: it changes behind a type checker's back."""
    return port.state


# The other end is dead, or says nothing.


def test_nothing_blocks_while_nobody_listens(rig: Rig) -> None:
    rig.die()
    with at_once():
        rig.port.configure(rig.now_ns())
    for _ in range(50):
        rig.turn()
        with at_once():
            assert rig.port.poll(rig.now_ns()) == []
    with at_once():
        rig.port.start_stream(rig.now_ns())
    with at_once():
        rig.port.end_stream(rig.now_ns())
    with at_once():
        rig.port.close(rig.now_ns())


def test_nothing_blocks_in_front_of_a_black_hole(rig: Rig) -> None:
    rig.engage()
    rig.vanish()
    for _ in range(50):
        rig.turn()
        with at_once():
            rig.port.poll(rig.now_ns())
        with at_once():
            rig.port.send_joints(pose(rig), rig.now_ns())
    with at_once():
        rig.port.end_stream(rig.now_ns())
    with at_once():
        rig.port.start_stream(rig.now_ns())
    with at_once():
        rig.port.close(rig.now_ns())


def test_a_peer_that_dies_is_reported_by_the_writes_and_by_the_feed(rig: Rig) -> None:
    rig.engage()
    rig.die()
    outcomes = [rig.port.send_joints(pose(rig), rig.now_ns()).outcome]

    def noticed() -> bool:
        outcomes.append(rig.port.send_joints(pose(rig), rig.now_ns()).outcome)
        return rig.port.state is PortState.ERROR

    rig.run_until(noticed)
    assert WriteOutcome.FATAL in outcomes
    losses: list[str | None] = []

    def feed_lost() -> bool:
        losses.append(rig.port.take_feed_loss())
        return losses[-1] is not None

    rig.run_until(feed_lost)
    assert rig.port.take_feed_loss() is None
    assert not rig.port.first_frame_seen


def test_a_silent_feed_is_given_up_and_its_pose_with_it(rig: Rig) -> None:
    rig.connect()
    rig.vanish()
    rig.run_until(lambda: not rig.port.first_frame_seen, within_s=3.0)
    assert rig.port.take_feed_loss() == "no state frame in time"
    report = rig.port.start_stream(rig.now_ns())
    assert report.detail == "no measured frame yet"


def test_the_feed_comes_back_by_itself_and_a_new_stream_needs_its_first_frame(rig: Rig) -> None:
    rig.engage()
    rig.die()
    rig.run_until(lambda: not rig.port.first_frame_seen)
    rig.port.end_stream(rig.now_ns())
    if rig.port.state is PortState.ERROR:
        rig.revive()
        rig.port.recover(rig.now_ns())
    else:
        rig.revive()
    assert rig.port.start_stream(rig.now_ns()).detail == "no measured frame yet"
    rig.run_until(lambda: rig.port.first_frame_seen)
    rig.enable()
    rig.port.start_stream(rig.now_ns())
    assert isinstance(rig.settle(), Ready)


# What is measured.


def test_the_measured_state_is_the_controllers(rig: Rig) -> None:
    rig.connect()
    state = rig.seen[-1]
    assert state.joints_deg == pytest.approx(rig.model().state(rig.model_now_ns()).joints_deg)
    assert state.speeds_deg_s == pytest.approx((0.0,) * 6)
    assert (state.status, state.enabled, state.automatic) == (RobotStatus.DISABLED, False, True)
    assert state.arrival_ns <= rig.now_ns()
    rig.enable()
    assert (rig.seen[-1].status, rig.seen[-1].enabled) == (RobotStatus.IDLE, True)


def test_arrivals_never_go_back_and_frames_are_in_order(rig: Rig) -> None:
    rig.connect()
    rig.run_until(lambda: len(rig.seen) > 50)
    arrivals = [state.arrival_ns for state in rig.seen]
    assert arrivals == sorted(arrivals)


def test_estop_and_fault_are_told_by_name(rig: Rig) -> None:
    rig.engage()
    jumped = (pose(rig)[0] + 2.5, *pose(rig)[1:])
    rig.port.send_joints(jumped, rig.now_ns())
    rig.run_until(lambda: rig.seen[-1].fault_code != 0)
    fault = rig.seen[-1]
    assert (fault.fault_code, fault.fault_sub_code, fault.status) == (1, 32, RobotStatus.FAULT)
    rig.model().press_estop(rig.model_now_ns())
    rig.run_until(lambda: rig.seen[-1].estop_pressed)
    assert rig.seen[-1].status is RobotStatus.EMERGENCY_STOP


def test_what_was_granted_is_reported(rig: Rig) -> None:
    assert rig.port.report().granted == ()
    rig.connect()
    report = rig.port.report()
    assert report.state is PortState.INACTIVE
    assert report.feed == "streaming"
    assert report.granted
    assert report.missing == ()
    assert report.period_ms == 8.0
    assert report.counters["state_frames"] == len(rig.seen)
