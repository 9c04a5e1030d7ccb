"""The contract of a data port: every driver passes every test (docs/robots.md)."""

import math
from collections.abc import Callable
from typing import Protocol

import pytest

from steadyhand.core.controller.model import ControllerModel
from steadyhand.core.safety.writes import WriteOutcome
from steadyhand.edge.robots.contract import (
    DataPort,
    Failed,
    LifecycleError,
    MeasuredState,
    PortState,
    Ready,
    Settling,
    Waiting,
)

MS = 1_000_000


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


def pose(rig: Rig) -> tuple[float, ...]:
    return rig.seen[-1].joints_deg


def waited_for(rig: Rig) -> str:
    """One step of the probe, which must not have decided."""
    settled = rig.port.settle(rig.now_ns())
    assert isinstance(settled, Waiting)
    return settled.reason


def state_of(port: DataPort) -> PortState:
    """The state, afresh: it changes behind a type checker's back."""
    return port.state


def send(rig: Rig, times: int = 1) -> list[WriteOutcome]:
    """Hold the pose for some periods."""
    held = pose(rig)
    outcomes = []
    for _ in range(times):
        outcomes.append(rig.port.send_joints(held, rig.now_ns()).outcome)
        due_ns = rig.now_ns() + 10 * MS
        rig.run_until(lambda due_ns=due_ns: rig.now_ns() >= due_ns)  # type: ignore[misc]
    return outcomes


# The lifecycle.


def test_from_unconfigured_to_active_and_back(rig: Rig) -> None:
    port = rig.port
    states = [port.state]
    assert port.configure(rig.now_ns()).outcome is WriteOutcome.TAKEN
    states.append(port.state)
    rig.run_until(lambda: port.first_frame_seen)
    rig.enable()
    assert port.start_stream(rig.now_ns()).outcome is WriteOutcome.TAKEN
    states.append(port.state)
    assert isinstance(rig.settle(), Ready)
    states.append(port.state)
    assert port.end_stream(rig.now_ns()).outcome is WriteOutcome.TAKEN
    states.append(port.state)
    port.close(rig.now_ns())
    states.append(port.state)
    assert states == [
        PortState.UNCONFIGURED,
        PortState.INACTIVE,
        PortState.SETTLING,
        PortState.ACTIVE,
        PortState.INACTIVE,
        PortState.UNCONFIGURED,
    ]


def test_calls_out_of_order_raise_and_change_nothing(rig: Rig) -> None:
    port = rig.port
    for call in (port.start_stream, port.settle, port.recover):
        with pytest.raises(LifecycleError):
            call(rig.now_ns())
    assert state_of(port) is PortState.UNCONFIGURED
    port.configure(rig.now_ns())
    for call in (port.configure, port.settle, port.recover):
        with pytest.raises(LifecycleError):
            call(rig.now_ns())
    assert state_of(port) is PortState.INACTIVE


def test_an_unconfigured_port_reads_nothing_and_waits_for_nothing(rig: Rig) -> None:
    assert rig.port.poll(rig.now_ns()) == []
    assert (rig.port.read_fds(), rig.port.write_fds()) == ((), ())
    assert rig.port.send_joints((0.0,) * 6, rig.now_ns()).outcome is not WriteOutcome.TAKEN
    rig.port.close(rig.now_ns())
    assert state_of(rig.port) is PortState.UNCONFIGURED


def test_a_closed_port_can_be_configured_again(rig: Rig) -> None:
    rig.engage()
    rig.port.close(rig.now_ns())
    assert not rig.port.first_frame_seen
    rig.connect()
    assert state_of(rig.port) is PortState.INACTIVE


def test_starting_a_stream_that_is_open_changes_nothing(rig: Rig) -> None:
    rig.connect()
    rig.enable()
    for _ in range(2):
        assert rig.port.start_stream(rig.now_ns()).outcome is WriteOutcome.TAKEN
        assert state_of(rig.port) is PortState.SETTLING
    rig.settle()
    assert rig.port.start_stream(rig.now_ns()).outcome is WriteOutcome.TAKEN
    assert state_of(rig.port) is PortState.ACTIVE


# The first frame, and the probe.


def test_no_motion_before_the_first_measured_frame(rig: Rig) -> None:
    rig.vanish()
    rig.port.configure(rig.now_ns())
    for _ in range(20):
        rig.turn()
        rig.poll()
    report = rig.port.start_stream(rig.now_ns())
    assert (report.outcome, report.detail) == (WriteOutcome.TRANSIENT, "no measured frame yet")
    assert state_of(rig.port) is PortState.INACTIVE
    assert rig.port.send_joints((0.0,) * 6, rig.now_ns()).outcome is WriteOutcome.TRANSIENT
    assert rig.arrived() == 0


def test_the_probe_owns_the_channel_alone_while_settling(rig: Rig) -> None:
    rig.connect()
    rig.port.start_stream(rig.now_ns())
    report = rig.port.send_joints(pose(rig), rig.now_ns())
    assert report.outcome is WriteOutcome.TRANSIENT
    assert "probe owns the channel" in report.detail
    for _ in range(20):
        rig.turn()
        rig.poll()
    assert rig.arrived() == 0


def test_nothing_is_ready_inside_the_enable_window_and_everything_after_it(rig: Rig) -> None:
    """001, experiment 2: a stream that begins inside the window begins with a gap."""
    rig.connect()
    rig.model().enable(rig.model_now_ns())
    rig.port.start_stream(rig.now_ns())
    for _ in range(30):
        assert isinstance(rig.port.settle(rig.now_ns()), Waiting)
        due_ns = rig.now_ns() + 10 * MS
        rig.run_until(lambda due_ns=due_ns: rig.now_ns() >= due_ns)  # type: ignore[misc]
    assert rig.arrived() > 10
    assert rig.model().servoj_cmd_num == 0
    rig.skip_at_controller(1200 * MS)
    settled = rig.settle()
    assert isinstance(settled, Ready)
    assert settled.pose_deg == pytest.approx(pose(rig), abs=0.005)
    assert rig.model().fault_count == 0


def test_a_probe_that_gives_up_ends_the_stream_and_says_what_it_waited_for(rig: Rig) -> None:
    rig.connect()
    rig.port.start_stream(rig.now_ns())
    rig.run_until(lambda: "the arm is not enabled" in waited_for(rig) and rig.model().gate.streaming)
    rig.skip(5001 * MS)
    settled = rig.settle()
    assert isinstance(settled, Failed)
    assert "the arm is not enabled" in settled.reason
    assert state_of(rig.port) is PortState.INACTIVE
    rig.run_until(lambda: not rig.model().gate.streaming)


def test_a_probe_fails_at_once_on_a_pressed_estop(rig: Rig) -> None:
    rig.connect()
    rig.enable()
    rig.model().press_estop(rig.model_now_ns())
    rig.run_until(lambda: rig.seen[-1].estop_pressed)
    rig.port.start_stream(rig.now_ns())
    settled = rig.settle()
    assert isinstance(settled, Failed)
    assert "e-stop" in settled.reason


# Writing.


def test_active_setpoints_reach_the_controller(rig: Rig) -> None:
    rig.engage()
    before = rig.model().servoj_cmd_num
    assert send(rig, 20) == [WriteOutcome.TAKEN] * 20
    rig.run_until(lambda: rig.model().servoj_cmd_num == before + 20)
    rig.run_until(lambda: rig.seen[-1].accepted_count == before + 20)
    assert rig.seen[-1].accepted_target_deg == pytest.approx(pose(rig), abs=0.005)
    assert rig.model().fault_count == 0


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_joint_that_is_not_finite_is_never_written(rig: Rig, bad: float) -> None:
    """The driver's own check: one that gets past every guard stops the arm."""
    rig.engage()
    arrived = rig.arrived()
    report = rig.port.send_joints((*pose(rig)[:5], bad), rig.now_ns())
    assert report.outcome is WriteOutcome.FATAL
    assert "not a finite number" in report.detail
    assert state_of(rig.port) is PortState.ERROR
    assert send(rig, 3) == [WriteOutcome.TRANSIENT] * 3
    assert rig.arrived() == arrived


def test_a_wrong_number_of_joints_is_never_written(rig: Rig) -> None:
    rig.engage()
    arrived = rig.arrived()
    report = rig.port.send_joints(pose(rig)[:5], rig.now_ns())
    assert report.outcome is WriteOutcome.FATAL
    assert send(rig, 3) == [WriteOutcome.TRANSIENT] * 3
    assert rig.arrived() == arrived


def test_out_of_the_error_state_by_recover_alone(rig: Rig) -> None:
    rig.engage()
    rig.port.send_joints((math.nan,) * 6, rig.now_ns())
    with pytest.raises(LifecycleError):
        rig.port.start_stream(rig.now_ns())
    rig.port.end_stream(rig.now_ns())
    assert state_of(rig.port) is PortState.ERROR
    assert rig.port.recover(rig.now_ns()).outcome is WriteOutcome.TAKEN
    assert state_of(rig.port) is PortState.INACTIVE
    rig.port.start_stream(rig.now_ns())
    assert isinstance(rig.settle(), Ready)


def test_the_feed_is_read_in_the_error_state_too(rig: Rig) -> None:
    rig.engage()
    rig.port.send_joints((math.nan,) * 6, rig.now_ns())
    seen = len(rig.seen)
    rig.run_until(lambda: len(rig.seen) > seen + 3)


# Ending.


def test_ending_the_stream_is_idempotent_and_possible_in_every_state(rig: Rig) -> None:
    port = rig.port
    for _ in range(2):
        assert port.end_stream(rig.now_ns()).outcome is WriteOutcome.TAKEN
        assert state_of(port) is PortState.UNCONFIGURED
    rig.connect()
    for _ in range(2):
        assert port.end_stream(rig.now_ns()).outcome is WriteOutcome.TAKEN
        assert state_of(port) is PortState.INACTIVE
    rig.enable()
    port.start_stream(rig.now_ns())
    port.settle(rig.now_ns())
    for _ in range(2):
        assert port.end_stream(rig.now_ns()).outcome is WriteOutcome.TAKEN
        assert state_of(port) is PortState.INACTIVE
    port.start_stream(rig.now_ns())
    rig.settle()
    for _ in range(2):
        assert port.end_stream(rig.now_ns()).outcome is WriteOutcome.TAKEN
        assert state_of(port) is PortState.INACTIVE
    rig.run_until(lambda: not rig.model().gate.streaming)


def test_no_setpoint_follows_the_end_of_the_stream(rig: Rig) -> None:
    rig.engage()
    send(rig, 5)
    rig.run_until(lambda: rig.model().gate.streaming)
    rig.port.end_stream(rig.now_ns())
    rig.run_until(lambda: not rig.model().gate.streaming)
    arrived = rig.arrived()
    assert send(rig, 5) == [WriteOutcome.TRANSIENT] * 5
    assert rig.arrived() == arrived


def test_closing_ends_an_open_stream(rig: Rig) -> None:
    rig.engage()
    rig.port.close(rig.now_ns())
    for _ in range(20):
        rig.turn()
    assert not rig.model().gate.streaming
