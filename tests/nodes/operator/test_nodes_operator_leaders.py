"""Poses from motions, iterables and functions; the way to the first one; the sender's wall clock."""

import math
from itertools import count, islice, pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadyhand.edge.clock import ManualClock
from steadyhand.ground.builtin_motions import builtin_motion
from steadyhand.ground.errors import InputError
from steadyhand.ground.motion import JointsDeg, Motion
from steadyhand.nodes.operator.approach import ApproachBounds, approach, farthest_deg
from steadyhand.nodes.operator.leaders import poses_at_rate
from steadyhand.nodes.operator.pacing import Pace, SteadyWallClock

ANGLE = st.floats(-170.0, 170.0)
POSE = st.tuples(ANGLE, ANGLE, ANGLE)
BOUNDS = ApproachBounds()


def taken(poses: Any, **options: Any) -> list[JointsDeg]:
    settings: dict[str, Any] = {"stream_hz": 100.0, "rate_hz": None, "n_joints": 2} | options
    return list(poses_at_rate(poses, **settings))


# ---- leaders


def test_a_recording_with_irregular_stamps_is_read_at_the_streams_rate() -> None:
    motion = Motion(times_s=(0.0, 0.034, 0.046, 0.1), poses_deg=((0.0, 1.0),) * 3 + ((1.0, 1.0),))
    assert taken(motion) == motion.resample(100.0, 0.1)


def test_a_motion_runs_once_unless_a_duration_is_given() -> None:
    motion = builtin_motion("step", Random(1))
    assert len(taken(motion, n_joints=6)) == 401
    assert len(taken(motion, n_joints=6, duration_s=0.5)) == 51
    assert len(taken(motion, n_joints=6, duration_s=6.0)) == 601


def test_a_motion_of_another_arm_is_refused() -> None:
    with pytest.raises(InputError, match="6 joints, and the arm has 2"):
        taken(builtin_motion("sine", Random(1)))


def test_an_iterable_is_taken_as_it_is_at_the_streams_rate() -> None:
    assert taken([[1, 2], (3.0, 4.0)]) == [(1.0, 2.0), (3.0, 4.0)]


def test_a_function_is_asked_with_the_seconds_since_the_motion_began() -> None:
    assert taken(lambda t_s: (t_s, 0.0) if t_s < 0.025 else None) == [(0.0, 0.0), (0.01, 0.0), (0.02, 0.0)]


def test_a_duration_ends_what_would_never_end() -> None:
    assert len(taken(((1.0, 1.0) for _ in count()), duration_s=0.2)) == 21


@given(st.lists(st.tuples(ANGLE, ANGLE), min_size=2, max_size=8), st.sampled_from([5.0, 25.0, 50.0, 250.0]))
def test_poses_at_another_rate_are_joined_by_straight_lines(
    poses: list[tuple[float, float]], rate_hz: float
) -> None:
    joined = taken(poses, rate_hz=rate_hz)
    assert joined[0] == pytest.approx(poses[0])
    assert joined[-1] == pytest.approx(poses[-1])
    assert len(joined) - 1 == pytest.approx((len(poses) - 1) / rate_hz * 100.0, abs=1.0 + 1e-6)
    for tick, pose in enumerate(joined[:-1]):
        place = tick * rate_hz / 100.0
        before = min(int(place + 1e-9), len(poses) - 2)
        a, b, share = poses[before], poses[before + 1], place - before
        assert pose == pytest.approx([x + (y - x) * share for x, y in zip(a, b, strict=True)], abs=1e-6)


def test_one_pose_at_another_rate_is_one_pose() -> None:
    assert taken([(1.0, 2.0)], rate_hz=20.0) == [(1.0, 2.0)]


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_a_rate_or_duration_that_is_none_is_refused(bad: float) -> None:
    with pytest.raises(InputError, match="rate_hz"):
        taken([], rate_hz=bad)
    with pytest.raises(InputError, match="duration_s"):
        taken([], duration_s=bad)


@pytest.mark.parametrize("bad", [(1.0,), (1.0, math.inf), 7.0, ("a", "b")])
def test_a_pose_that_is_none_is_named_by_its_number(bad: Any) -> None:
    with pytest.raises(InputError, match="pose 1"):
        taken([(0.0, 0.0), bad])


# ---- the way there


@given(POSE, POSE)
def test_the_approach_keeps_its_bounds_and_both_ends(from_deg: JointsDeg, to_deg: JointsDeg) -> None:
    way = approach(from_deg, to_deg, period_s=0.01, bounds=BOUNDS)
    assert way[-1] == to_deg
    if from_deg != to_deg:
        assert way[0] == pytest.approx(from_deg)
    speeds = [(farthest_deg(a, b)) / 0.01 for a, b in pairwise(way)]
    assert max(speeds, default=0.0) <= BOUNDS.speed_deg_s * 1.0001
    # Second differences of a quintic sampled at 100 Hz stay under its peak; ends begin and end at rest.
    for a, b, c in zip(way, islice(way, 1, None), islice(way, 2, None), strict=False):
        bend = max(abs(x - 2.0 * y + z) for x, y, z in zip(a, b, c, strict=True)) / 0.01**2
        assert bend <= BOUNDS.accel_deg_s2 * 1.0001


def test_an_approach_to_where_one_is_has_one_pose() -> None:
    assert approach((1.0,), (1.0,), period_s=0.01, bounds=BOUNDS) == [(1.0,)]


def test_a_slower_shaper_slows_the_approach() -> None:
    from steadyhand.ground.config import RobotConfig, RobotIdentity
    from steadyhand.ground.config_safety import SafetyConfig, StreamShaperConfig

    shaper = StreamShaperConfig(v_max_deg_s=20.0, a_max_deg_s2=100.0)
    config = RobotConfig(
        robot=RobotIdentity(id="a", type="simulated", model="sim"), safety=SafetyConfig(stream_shaper=shaper)
    )
    assert ApproachBounds.from_config(config) == ApproachBounds(speed_deg_s=10.0, accel_deg_s2=50.0)


# ---- pace and wall clock


def test_a_leader_that_was_held_up_for_a_moment_uses_its_slots_at_once() -> None:
    clock = ManualClock(0, step_ns=1_000)
    pace = Pace(10_000_000, clock)
    start_ns = pace.wait()
    clock.advance(29_000_000)
    slots = [pace.wait() - start_ns for _ in range(3)]
    assert slots == [10_000_000, 20_000_000, 30_000_000]
    assert pace.report().lost_slots == 0


def test_a_leader_that_was_late_for_longer_goes_on_from_now_and_counts_what_it_lost() -> None:
    clock = ManualClock(0, step_ns=1_000)
    pace = Pace(10_000_000, clock)
    start_ns = pace.wait()
    clock.advance(35_000_000)
    first_ns, second_ns = pace.wait(), pace.wait()
    assert first_ns - start_ns > 35_000_000
    assert second_ns - first_ns == 10_000_000
    assert pace.report().lost_slots == 2


def test_a_wall_clock_that_is_set_back_by_an_hour_does_not_set_the_stamps_back() -> None:
    clock, wall = ManualClock(5_000_000_000), [1_700_000_000.0]
    steady = SteadyWallClock(clock, lambda: wall[0])
    assert steady.at_s(clock.now_ns()) == 1_700_000_000.0
    wall[0] -= 3_600.0
    assert steady.at_s(6_000_000_000) == 1_700_000_001.0
