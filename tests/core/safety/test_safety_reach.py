"""Bounds on the tool's way that need no kinematics, and the tool's speed that is asked only past them."""

import math
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyhand.core.safety.guards import SPEED_BASELINE_NS, EefSpeedGuard
from steadyhand.core.safety.policy import reach_m
from steadyhand.core.safety.reach import Reach
from steadyhand.core.safety.tool_speed import ToolVelocity
from steadyhand.core.safety.verdicts import Violation
from steadyhand.core.safety.workarea import Point3
from steadyhand.ground.arms import FR3

MS = 1_000_000
REACH = Reach(reach_m(FR3.chain))
HOME = (0.0, -90.0, 90.0, -90.0, -90.0, 0.0)

offsets = st.lists(st.floats(-180.0, 180.0), min_size=6, max_size=6)


# ---- the two bounds


def test_a_joint_moves_the_tool_by_its_reach_times_its_way() -> None:
    reach = Reach((0.5, 2.0))
    assert reach.way_m((0.0, -90.0)) == pytest.approx(math.pi)
    assert reach.way_m((180.0, 90.0)) == pytest.approx(1.5 * math.pi)
    assert Reach((3.0, 4.0)).overall_m_per_deg == pytest.approx(math.radians(5.0), rel=1e-8)


@given(offsets)
def test_the_bound_by_length_is_never_under_the_sum(moved: list[float]) -> None:
    assert REACH.overall_m_per_deg * math.hypot(*moved) >= REACH.way_m(moved)


def test_the_bound_by_length_holds_where_it_is_exact() -> None:
    """Joints that move in the ratio of their reach: both bounds are one number, and a digit would do."""
    reach = Reach(reach_m(FR3.chain))
    for scale in (0.1, 1.0, 3.0, 7.0, 1e-6):
        moved = [scale * metres for metres in reach.metres_per_degree]
        assert reach.overall_m_per_deg * math.hypot(*moved) > reach.way_m(moved)


@given(offsets, offsets)
def test_no_tool_goes_farther_than_its_joints_way_allows(pose: list[float], moved: list[float]) -> None:
    there = [angle + way for angle, way in zip(pose, moved, strict=True)]
    chord_m = math.dist(FR3.chain.tool_position_m(pose), FR3.chain.tool_position_m(there))
    assert chord_m <= REACH.way_m(moved) + 1e-12


# ---- the tool's speed

FEED_NS = 8 * MS
BASELINE_FRAMES = SPEED_BASELINE_NS // FEED_NS


def turned(angle_deg: float) -> tuple[float, ...]:
    return (angle_deg, *HOME[1:])


def watched(
    speed_deg_s: float, most_m_s: float, *, reach: Reach | None = REACH, frames: int = 60
) -> tuple[list[list[float] | None], list[tuple[float, ...]]]:
    """Joint 1 turns; what was answered, and the poses that kinematics was asked for."""
    asked: list[tuple[float, ...]] = []

    def tool(joints_deg: Sequence[float]) -> Point3:
        asked.append(tuple(joints_deg))
        return FR3.chain.tool_position_m(joints_deg)

    velocity = ToolVelocity(tool, 0, reach)
    answers = [
        velocity.observe(turned(speed_deg_s * 0.008 * index), index * FEED_NS, unless_below_m_s=most_m_s)
        for index in range(frames)
    ]
    return answers, asked


def test_the_tools_velocity_is_its_mean_over_the_baseline() -> None:
    answers, _ = watched(50.0, 0.0)
    assert answers[:BASELINE_FRAMES] == [None] * BASELINE_FRAMES
    here, there = (FR3.chain.tool_position_m(turned(angle)) for angle in (20.0, 10.0))
    assert answers[2 * BASELINE_FRAMES] == pytest.approx(
        [(a - b) / 0.2 for a, b in zip(here, there, strict=True)]
    )


def test_a_tool_that_is_slow_by_the_joints_way_is_not_computed() -> None:
    # Joint 1 alone: the bound is its speed times the length of all reaches, 0.0228 m per degree.
    assert watched(50.0, 1.15) == ([None] * 60, [])
    answers, asked = watched(50.0, 1.13)
    assert all(answers[BASELINE_FRAMES:])
    assert asked


def test_no_pose_is_computed_twice() -> None:
    _, asked = watched(50.0, 0.0)
    assert len(asked) == 60
    assert len(set(asked)) == 60


def test_without_a_known_reach_every_tool_is_computed() -> None:
    answers, asked = watched(1.0, 100.0, reach=None)
    assert all(answers[BASELINE_FRAMES:])
    assert len(asked) == 60


def test_the_feeds_jitter_lengthens_the_tools_baseline_at_both_ends() -> None:
    velocity = ToolVelocity(lambda joints: (joints[0], 0.0, 0.0), 8 * MS, None)
    velocity.observe((0.0,), 0, unless_below_m_s=0.0)
    assert velocity.observe((0.216,), 200 * MS, unless_below_m_s=0.0) == pytest.approx([1.0, 0.0, 0.0])


def test_a_forgotten_tool_starts_a_new_baseline() -> None:
    velocity = ToolVelocity(lambda joints: (joints[0], 0.0, 0.0), 0, None)
    velocity.observe((0.0,), 0, unless_below_m_s=0.0)
    velocity.forget()
    assert velocity.observe((1.0,), 300 * MS, unless_below_m_s=0.0) is None


@given(st.integers(0, 10_000), st.sampled_from([0.2, 0.6, 1.2]))
@settings(max_examples=40, deadline=None)
def test_what_is_saved_never_hides_a_tool_that_is_too_fast(seed: int, max_m_s: float) -> None:
    dice = Random(seed)
    guard = EefSpeedGuard(max_m_s)
    exact = ToolVelocity(FR3.chain.tool_position_m, 8 * MS, None)
    saving = ToolVelocity(FR3.chain.tool_position_m, 8 * MS, REACH)
    pose, speeds = list(HOME), [0.0] * 6
    for index in range(120):
        if index % 15 == 0:
            speeds = [160.0 * (dice.random() - 0.5) * (dice.random() < 0.5) for _ in pose]
        pose = [angle + 0.008 * speed for angle, speed in zip(pose, speeds, strict=True)]
        found: list[Violation | None] = []
        for velocity in (exact, saving):
            seen = velocity.observe(tuple(pose), index * FEED_NS, unless_below_m_s=max_m_s)
            found.append(None if seen is None else guard.check(seen))
        assert found[0] == found[1]
