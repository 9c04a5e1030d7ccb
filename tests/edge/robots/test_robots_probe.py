"""The readiness probe, rule by rule, with the times written down."""

import math
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyhand.edge.robots.fairino.probe import (
    ECHOES_NEEDED,
    PROBE_LADDER,
    AcceptanceProbe,
    ProbeStep,
    Restart,
    Send,
)
from steadyhand.edge.robots.reports import Failed, MeasuredState, Ready, Waiting
from steadyhand.ground.robot_status import RobotStatus

MS = 1_000_000
NEAR_DEG = 0.002
POSE_DEG = (10.00004, -89.99996, 0.0, 45.5, -0.5, 179.0)


def state(now_ns: int, **changed: Any) -> MeasuredState:
    healthy: dict[str, Any] = {
        "arrival_ns": now_ns,
        "joints_deg": POSE_DEG,
        "speeds_deg_s": (0.0,) * 6,
        "enabled": True,
        "status": RobotStatus.IDLE,
        "accepted_target_deg": POSE_DEG,
    }
    return MeasuredState(**(healthy | changed))


def sent(step: ProbeStep) -> tuple[float, ...]:
    assert isinstance(step, Send)
    return step.joints_deg


def as_on_the_wire(joints_deg: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(float(f"{joint:.6f}") for joint in joints_deg)


def probe_at_rest(now_ns: int = 0) -> AcceptanceProbe:
    probe = AcceptanceProbe(now_ns)
    probe.observe(state(now_ns))
    return probe


def test_it_sends_the_pose_the_arm_stands_in_to_a_few_thousandths_and_no_step_is_felt() -> None:
    probe = probe_at_rest()
    before = sent(probe.step(0))
    for tick in range(1, 99):
        now = sent(probe.step(tick * MS))
        assert now == pytest.approx(POSE_DEG, abs=NEAR_DEG)
        # At 10 ms and below 1 °/s: a hundredth of what trips the controller.
        assert max(abs(one - other) for one, other in zip(now, before, strict=True)) < 0.01
        before = now


def test_an_arm_at_its_limits_is_not_led_beyond_them() -> None:
    limits_deg = (175.0, -265.0, 150.0, 85.0, -175.0, 0.0)
    probe = AcceptanceProbe(0)
    probe.observe(state(0, joints_deg=limits_deg))
    for tick in range(40):
        for out, limit in zip(sent(probe.step(tick * MS)), limits_deg, strict=True):
            assert abs(out) < abs(limit) or limit == 0.0


def test_the_wire_carries_its_setpoints_exactly() -> None:
    probe = probe_at_rest()
    for tick in range(60):
        out = sent(probe.step(tick * MS))
        assert as_on_the_wire(out) == pytest.approx(out, abs=1e-9)


def test_an_echo_from_32_bit_floats_is_recognised() -> None:
    probe = probe_at_rest()
    for tick in range(1, ECHOES_NEEDED + 1):
        out = as_on_the_wire(sent(probe.step(tick * 10 * MS)))
        echo = struct.unpack("<6f", struct.pack("<6f", *out))
        probe.observe(state(tick * 10 * MS, accepted_target_deg=echo))
    assert isinstance(probe.step(40 * MS), Ready)


def test_every_setpoint_carries_a_mark_of_its_own() -> None:
    probe = probe_at_rest()
    marks = {as_on_the_wire(sent(probe.step(tick * MS))) for tick in range(40)}
    assert len(marks) == 40


def test_three_echoes_of_its_own_setpoints_are_ready() -> None:
    probe = probe_at_rest()
    last: tuple[float, ...] = ()
    for tick in range(1, ECHOES_NEEDED + 1):
        last = sent(probe.step(tick * 10 * MS))
        probe.observe(state(tick * 10 * MS, accepted_target_deg=as_on_the_wire(last)))
    assert probe.step(40 * MS) == Ready(last)


def test_the_same_echo_twice_counts_once() -> None:
    probe = probe_at_rest()
    echo = as_on_the_wire(sent(probe.step(0)))
    for tick in range(1, 10):
        probe.observe(state(tick * MS, accepted_target_deg=echo))
        assert isinstance(probe.step(tick * MS), Send)


def test_an_echo_that_was_there_before_counts_for_nothing() -> None:
    """A stream that was settled here a minute ago left just such an echo behind."""
    earlier = probe_at_rest()
    left_behind = [as_on_the_wire(sent(earlier.step(tick * MS))) for tick in range(40)][2]
    probe = AcceptanceProbe(0)
    for tick in range(490):
        probe.observe(state(tick * 10 * MS, accepted_target_deg=left_behind))
        assert not isinstance(probe.step(tick * 10 * MS), Ready)


def test_the_pose_it_stands_in_is_no_echo() -> None:
    """A controller fresh from power-on tells its pose as its last setpoint."""
    probe = probe_at_rest()
    for tick in range(1, 200):
        probe.step(tick * 10 * MS)
        probe.observe(state(tick * 10 * MS))
    assert isinstance(probe.step(2000 * MS), Send | Restart)


def test_echoes_may_skip_and_arrive_late() -> None:
    probe = probe_at_rest()
    out = [as_on_the_wire(sent(probe.step(tick * 8 * MS))) for tick in range(12)]
    for number, tick in ((2, 20), (5, 21), (11, 22)):
        probe.observe(state(tick * 10 * MS, accepted_target_deg=out[number]))
    assert isinstance(probe.step(230 * MS), Ready)


def test_once_taken_it_no_longer_follows_the_measured_pose() -> None:
    probe = probe_at_rest()
    first = sent(probe.step(0))
    probe.observe(state(8 * MS, accepted_target_deg=as_on_the_wire(first)))
    drifted = tuple(joint + 0.3 for joint in POSE_DEG)
    probe.observe(state(16 * MS, joints_deg=drifted, accepted_target_deg=as_on_the_wire(first)))
    assert sent(probe.step(20 * MS)) == pytest.approx(first, abs=NEAR_DEG)


def test_until_then_it_follows() -> None:
    probe = probe_at_rest()
    probe.step(0)
    moved = tuple(joint + 0.3 for joint in POSE_DEG)
    probe.observe(state(8 * MS, joints_deg=moved))
    assert sent(probe.step(10 * MS)) == pytest.approx(moved, abs=NEAR_DEG)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"estop_pressed": True}, "the e-stop button is pressed"),
        ({"fault_code": 1, "fault_sub_code": 32}, "the controller is in fault 1/32"),
        ({"status": RobotStatus.SAFETY_STOP}, "a safety stop input holds the arm"),
    ],
)
def test_what_no_waiting_mends_fails_at_once(changed: dict[str, Any], said: str) -> None:
    probe = AcceptanceProbe(0)
    probe.observe(state(0, **changed))
    step = probe.step(0)
    assert isinstance(step, Failed)
    assert said in step.reason


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"enabled": False}, "not enabled"),
        ({"speeds_deg_s": (0.0, 0.6, 0.0, 0.0, 0.0, 0.0)}, "it moves at 0.6 °/s"),
        ({"speeds_deg_s": (0.0, math.nan, 0.0, 0.0, 0.0, 0.0)}, "it moves at nan °/s"),
        ({"joints_deg": (math.nan,) * 6}, "a pose that is a number"),
        ({"joints_deg": (math.inf,) * 6}, "a pose that is a number"),
    ],
)
def test_what_may_mend_itself_is_waited_for_and_nothing_is_sent(changed: dict[str, Any], said: str) -> None:
    probe = AcceptanceProbe(0)
    probe.observe(state(0, **changed))
    step = probe.step(0)
    assert isinstance(step, Waiting)
    assert said in step.reason
    probe.observe(state(MS))
    assert isinstance(probe.step(MS), Send)


def test_without_a_fresh_frame_nothing_is_sent() -> None:
    probe = AcceptanceProbe(0)
    assert probe.step(0) == Waiting("the first state frame")
    probe.observe(state(0))
    assert isinstance(probe.step(100 * MS), Send)
    assert probe.step(101 * MS) == Waiting("the state feed, silent for 101 ms")


def test_the_start_is_repeated_every_200_ms_until_something_was_taken() -> None:
    probe = probe_at_rest()
    restarts = []
    for tick in range(100):
        now_ns = tick * 10 * MS
        probe.observe(state(now_ns))
        if isinstance(probe.step(now_ns), Restart):
            restarts.append(now_ns)
    assert restarts == [200 * MS, 400 * MS, 600 * MS, 800 * MS]
    probe.observe(state(1000 * MS, accepted_target_deg=as_on_the_wire(sent(probe.step(999 * MS)))))
    assert isinstance(probe.step(1500 * MS), Waiting)
    probe.observe(state(1500 * MS))
    assert isinstance(probe.step(1500 * MS), Send)


def test_it_gives_up_after_five_seconds_and_says_what_it_waited_for() -> None:
    probe = probe_at_rest()
    for tick in range(499):
        probe.observe(state(tick * 10 * MS))
        assert not isinstance(probe.step(tick * 10 * MS), Failed)
    assert probe.step(5000 * MS) == Failed(
        "no setpoint was taken within 5 s; waiting for a setpoint to be taken"
    )


def test_ready_is_asked_before_the_time_is_up() -> None:
    probe = probe_at_rest()
    for tick in range(3):
        echo = as_on_the_wire(sent(probe.step(tick * MS)))
        probe.observe(state(tick * MS, accepted_target_deg=echo))
    assert isinstance(probe.step(6000 * MS), Ready)


def test_a_feed_that_does_not_tell_the_last_setpoint_is_never_ready() -> None:
    probe = AcceptanceProbe(0)
    for tick in range(400):
        probe.observe(state(tick * 10 * MS, accepted_target_deg=None))
        assert not isinstance(probe.step(tick * 10 * MS), Ready)


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.floats(allow_nan=True, allow_infinity=True), st.booleans()),
        max_size=80,
    )
)
def test_whatever_the_feed_says_it_sends_only_the_pose_of_a_standing_arm(
    frames: list[tuple[int, float, bool]],
) -> None:
    probe = AcceptanceProbe(0)
    newest = None
    for tick, (kind, value, enabled) in enumerate(frames):
        now_ns = tick * 10 * MS
        echo = {0: POSE_DEG, 1: (value,) * 6, 2: None, 3: POSE_DEG[:3]}[kind]
        newest = state(now_ns, enabled=enabled, accepted_target_deg=echo, speeds_deg_s=(value,) * 6)
        probe.observe(newest)
        step = probe.step(now_ns)
        if isinstance(step, Send):
            assert newest.enabled
            assert abs(value) <= 0.5
            assert step.joints_deg == pytest.approx(POSE_DEG, abs=NEAR_DEG)


def test_every_rule_says_itself_in_its_docstring() -> None:
    for rule in PROBE_LADDER:
        assert (rule.__doc__ or "").strip().endswith(".")
