"""The motions by themselves: continuous, within their acceleration, and ending where they promise."""

import math
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyhand.core.controller.admission import ServoFrame, step_between
from steadyhand.core.controller.constants import FR3, SIM
from steadyhand.core.controller.execution import Execution
from steadyhand.core.controller.motion import (
    Approach,
    Braking,
    Rejoin,
    Rest,
    Segment,
    in_common,
)
from steadyhand.core.controller.sweep import plan_sweep, sweep_duration_s
from steadyhand.ground.limits import JointLimits

MS = 1_000_000
WIDE = JointLimits(lower_deg=(-1000.0,), upper_deg=(1000.0,), speed_deg_s=(180.0,))


@given(st.floats(-20.0, 20.0), st.floats(-200.0, 200.0), st.floats(500.0, 5000.0), st.floats(5.0, 300.0))
@settings(max_examples=150, deadline=None)
def test_an_approach_starts_at_the_difference_and_ends_at_nothing_within_its_bounds(
    offset_deg: float, rate_deg_s: float, accel: float, rate_max: float
) -> None:
    plan = Approach.of(offset_deg, rate_deg_s, accel_deg_s2=accel, rate_max_deg_s=rate_max)
    assert plan.at(0.0) == pytest.approx((offset_deg, rate_deg_s), abs=1e-6)
    assert plan.at(plan.duration_s) == (0.0, 0.0)
    tick_s = max(plan.duration_s / 200.0, 1e-9)
    samples = [plan.at(index * tick_s) for index in range(202)]
    allowed = max(rate_max, abs(rate_deg_s))
    for (offset, rate), (next_offset, next_rate) in pairwise(samples):
        assert abs(next_rate - rate) <= accel * tick_s + 1e-6
        assert abs(next_offset - offset) <= max(abs(rate), abs(next_rate)) * tick_s + accel * tick_s**2 + 1e-6
        assert abs(rate) <= allowed + 1e-6


@given(st.floats(-20.0, 20.0), st.floats(-200.0, 200.0))
@settings(max_examples=100, deadline=None)
def test_an_approach_with_room_for_any_rate_takes_the_least_time(
    offset_deg: float, rate_deg_s: float
) -> None:
    """Minimum time of a double integrator, in its textbook form."""
    plan = Approach.of(offset_deg, rate_deg_s, accel_deg_s2=1000.0, rate_max_deg_s=1e9)
    side = math.copysign(1.0, offset_deg + rate_deg_s * abs(rate_deg_s) / 2000.0)
    least_s = side * rate_deg_s / 1000.0 + 2.0 * math.sqrt(
        max(rate_deg_s**2 / 2e6 + side * offset_deg / 1000.0, 0.0)
    )
    assert plan.duration_s == pytest.approx(least_s, abs=1e-9)


def test_an_approach_from_nothing_takes_no_time() -> None:
    plan = Approach.of(0.0, 0.0, accel_deg_s2=1000.0, rate_max_deg_s=10.0)
    assert plan.duration_s == 0.0
    assert plan.at(0.0) == (0.0, 0.0)


def test_a_rejoin_lasts_as_long_as_its_slowest_joint() -> None:
    rejoin = Rejoin.of(5, (1.0, 0.0, -4.0), (0.0,) * 3, accel_deg_s2=1000.0, rate_max_deg_s=1e9)
    slowest_s = 2.0 * math.sqrt(4.0 / 1000.0)
    assert rejoin.end_ns == pytest.approx(5 + slowest_s * 1e9, abs=2)
    still = ((0.0,) * 3, (0.0,) * 3)
    assert rejoin.added_to(still, 5)[0] == (1.0, 0.0, -4.0)
    assert rejoin.added_to(still, rejoin.end_ns) == still


@given(st.floats(-200.0, 200.0), st.floats(-200.0, 200.0))
@settings(max_examples=100, deadline=None)
def test_braking_covers_v_squared_over_2a_and_stands(one: float, other: float) -> None:
    braking = Braking.of(100, ((1.0, 2.0), (one, other)), 2500.0)
    assert braking.at(100) == ((1.0, 2.0), (one, other))
    pose_deg, velocity_deg_s = braking.at(braking.end_ns)
    assert velocity_deg_s == pytest.approx((0.0, 0.0), abs=1e-5)
    assert pose_deg[0] - 1.0 == pytest.approx(one * abs(one) / 5000.0, abs=1e-9)
    assert pose_deg[1] - 2.0 == pytest.approx(other * abs(other) / 5000.0, abs=1e-9)
    assert braking.at(braking.end_ns + 10**9)[0] == pose_deg


@pytest.mark.parametrize(
    ("now", "before", "shared"),
    [
        (130.0, 125.0, 125.0),
        (125.0, 130.0, 125.0),
        (-40.0, -45.0, -40.0),
        (250.0, 0.0, 0.0),
        (0.0, 130.0, 0.0),
        (50.0, -50.0, 0.0),
        (3000.0, 3000.0, 196.0),
    ],
)
def test_what_has_to_be_braked_is_what_two_frames_have_in_common(
    now: float, before: float, shared: float
) -> None:
    assert in_common((now,), (before,), 196.0) == (shared,)


def test_a_segment_is_straight_and_ends_exactly_at_its_setpoint() -> None:
    segment = Segment.of(1000, 10 * MS, (0.1, -3.0), (0.4, -2.3), (0.0, 0.0))
    assert segment.at(1000)[0] == (0.1, -3.0)
    assert segment.at(1000 + 5 * MS)[0] == pytest.approx((0.25, -2.65))
    assert segment.at(1000 + 10 * MS)[0] == (0.4, -2.3)
    assert segment.velocity_deg_s == pytest.approx((30.0, 70.0))


@given(st.floats(0.5, 160.0), st.floats(50.0, 250.0))
@settings(max_examples=100, deadline=None)
def test_a_sweep_goes_its_travel_at_its_speed_and_never_backwards(travel_deg: float, jump: float) -> None:
    sweep = plan_sweep(
        0,
        ((0.0,), (0.0,)),
        (jump,),
        travel_deg=travel_deg,
        speed_max_deg_s=196.0,
        accel_deg_s2=2500.0,
        lower_deg=(-500.0,),
        upper_deg=(500.0,),
    )
    samples = [sweep.at(round(sweep.end_ns * index / 300)) for index in range(301)]
    poses = [pose[0] for pose, _ in samples]
    assert poses[0] == 0.0
    assert poses[-1] == pytest.approx(travel_deg, abs=1e-6)
    assert all(after >= before - 1e-9 for before, after in pairwise(poses))
    peak = min(jump, 196.0, math.sqrt(travel_deg * 2500.0))
    assert max(velocity[0] for _, velocity in samples) <= peak + 1e-9
    assert sweep.at(sweep.end_ns + 1)[1] == (0.0,)
    assert sweep.end_ns / 1e9 == pytest.approx(
        sweep_duration_s(travel_deg, min(jump, 196.0), 2500.0), abs=1e-6
    )


def test_a_sweep_with_no_room_left_does_not_move() -> None:
    sweep = plan_sweep(
        0,
        ((85.0,), (0.0,)),
        (250.0,),
        travel_deg=80.0,
        speed_max_deg_s=196.0,
        accel_deg_s2=2500.0,
        lower_deg=(-85.0,),
        upper_deg=(85.0,),
    )
    assert sweep.end_ns == 0
    assert sweep.at(10 * MS) == ((85.0,), (0.0,))


def feed(execution: Execution, setpoints_deg: list[float], *, period_ns: int, start_ns: int = 0) -> int:
    before: tuple[float, ...] = (0.0,)
    from_deg = execution.moving(start_ns)[0]
    now_ns = start_ns
    for setpoint_deg in setpoints_deg:
        frame = ServoFrame(joints_deg=(setpoint_deg,), period_ns=period_ns)
        step = step_between(from_deg, before, frame)
        execution.advance(now_ns)
        execution.schedule(step, before, period_ns=period_ns, now_ns=now_ns)
        from_deg, before = frame.joints_deg, step.velocity_deg_s
        now_ns += period_ns
    return now_ns


@pytest.mark.parametrize("period_ns", [1 * MS, 2 * MS, 8 * MS, 10 * MS, 16 * MS, 20 * MS])
def test_the_delay_is_the_lag_at_every_period(period_ns: int) -> None:
    execution = Execution(FR3, WIDE, (0.0,))
    count = 400 * MS // period_ns
    end_ns = feed(execution, [0.02 * index for index in range(count)], period_ns=period_ns)
    setpoint_deg, speed_deg_s = 0.02 * (count - 1), 0.02 * 1e9 / period_ns
    behind_deg = setpoint_deg - execution.moving(end_ns - period_ns)[0][0]
    assert 1e9 * behind_deg / speed_deg_s == pytest.approx(FR3.lag_ns, rel=1e-6)


def test_a_single_step_without_a_successor_ends_at_its_setpoint() -> None:
    for constants in (FR3, SIM):
        execution = Execution(constants, WIDE, (0.0,))
        feed(execution, [0.9], period_ns=10 * MS)
        assert execution.moving(1000 * MS) == ((0.9,), (0.0,))
        assert execution.resting


def test_a_joint_that_would_brake_past_its_limit_stands_there() -> None:
    tight = JointLimits(lower_deg=(-10.0,), upper_deg=(10.0,), speed_deg_s=(180.0,))
    execution = Execution(FR3, tight, (0.0,))
    end_ns = feed(execution, [1.0 * index for index in range(11)], period_ns=10 * MS)
    poses = [execution.moving(end_ns + ms * MS) for ms in range(300)]
    assert max(pose[0] for pose, _ in poses) == 10.0
    assert poses[-1] == ((10.0,), (0.0,))


def test_a_longer_period_than_the_lag_is_executed_after_it_arrived() -> None:
    execution = Execution(msgspec.structs.replace(FR3, lag_ns=5 * MS), WIDE, (0.0,))
    execution.schedule(
        step_between((0.0,), (0.0,), ServoFrame(joints_deg=(1.0,), period_ns=20 * MS)),
        (0.0,),
        period_ns=20 * MS,
        now_ns=100,
    )
    assert execution.moving(100)[0] == (0.0,)
    assert execution.moving(100 + 10 * MS)[0] == pytest.approx((0.5,))
    assert execution.moving(100 + 20 * MS)[0] == (1.0,)


def test_braking_while_at_rest_stays_at_rest() -> None:
    execution = Execution(FR3, WIDE, (3.0,))
    execution.brake(50)
    assert execution.phase == Rest((3.0,))


def test_braking_goes_through_what_was_due_before_it() -> None:
    """Asked late, it brakes from where the arm is now, not from where it was last seen."""
    execution = Execution(FR3, WIDE, (0.0,))
    feed(execution, [0.4 * index for index in range(30)], period_ns=10 * MS)
    execution.brake(310 * MS)
    assert execution.moving(310 * MS)[0][0] == pytest.approx(0.4 * (31.0 - 7.8))
    assert execution.moving(1000 * MS)[0][0] == pytest.approx(0.4 * 23.2 + 0.32)
