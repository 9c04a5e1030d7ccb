"""Joint limits: what is inside, and which limits are refused."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadyhand.ground.arms import FR3, FR20
from steadyhand.ground.errors import ConfigError
from steadyhand.ground.limits import JointLimits

TWO_JOINTS = JointLimits(lower_deg=(-10.0, -20.0), upper_deg=(10.0, 0.0), speed_deg_s=(100.0, 50.0))


@pytest.mark.parametrize(
    ("joints_deg", "outside"),
    [
        ((0.0, -5.0), None),
        ((-10.0, -20.0), None),
        ((10.0, 0.0), None),
        ((10.000001, 0.0), 0),
        ((0.0, 0.000001), 1),
        ((-10.1, 5.0), 0),
        ((0.0, -20.1), 1),
        ((math.nan, 0.0), 0),
        ((0.0, math.nan), 1),
        ((math.inf, 0.0), 0),
    ],
)
def test_bounds_are_inclusive_and_the_first_joint_outside_is_named(
    joints_deg: tuple[float, ...], outside: int | None
) -> None:
    assert TWO_JOINTS.first_outside(joints_deg) == outside


@given(st.floats(-10.0, 10.0), st.floats(-20.0, 0.0))
def test_whatever_lies_within_the_ranges_is_inside(one_deg: float, other_deg: float) -> None:
    assert TWO_JOINTS.first_outside((one_deg, other_deg)) is None


def test_a_pose_of_another_arm_raises() -> None:
    with pytest.raises(ValueError, match="zip"):
        TWO_JOINTS.first_outside((0.0,))


def test_narrowing_takes_the_margin_at_both_ends_and_keeps_the_speeds() -> None:
    narrow = TWO_JOINTS.narrowed(2.0)
    assert narrow == JointLimits(lower_deg=(-8.0, -18.0), upper_deg=(8.0, -2.0), speed_deg_s=(100.0, 50.0))
    with pytest.raises(ConfigError, match="empty"):
        TWO_JOINTS.narrowed(10.0)


@pytest.mark.parametrize(
    ("lower_deg", "upper_deg", "speed_deg_s", "says"),
    [
        ((), (), (), "one lower, one upper and one speed"),
        ((0.0,), (1.0, 2.0), (1.0,), "one lower, one upper and one speed"),
        ((0.0, 0.0), (1.0, 2.0), (1.0,), "one lower, one upper and one speed"),
        ((0.0, 5.0), (1.0, 5.0), (1.0, 1.0), "joint 2.*empty"),
        ((0.0, 6.0), (1.0, 5.0), (1.0, 1.0), "joint 2.*empty"),
        ((math.nan,), (1.0,), (1.0,), "joint 1.*finite"),
        ((0.0,), (math.inf,), (1.0,), "joint 1.*finite"),
        ((0.0,), (1.0,), (0.0,), "joint 1.*no motion"),
        ((0.0,), (1.0,), (-1.0,), "joint 1.*no motion"),
    ],
)
def test_limits_that_limit_nothing_are_refused_and_name_the_joint(
    lower_deg: tuple[float, ...], upper_deg: tuple[float, ...], speed_deg_s: tuple[float, ...], says: str
) -> None:
    with pytest.raises(ConfigError, match=says):
        JointLimits(lower_deg=lower_deg, upper_deg=upper_deg, speed_deg_s=speed_deg_s)


def test_the_published_limits_of_the_fairino_arms() -> None:
    """The manual's table 2.1-1: they differ in the elbow's range and in the speed of axes 1 to 3."""
    assert (FR3.limits.lower_deg[2], FR3.limits.upper_deg[2]) == (-150.0, 150.0)
    assert (FR20.limits.lower_deg[2], FR20.limits.upper_deg[2]) == (-160.0, 160.0)
    for arm in (FR3, FR20):
        assert arm.limits.upper_deg[0] == -arm.limits.lower_deg[0] == 175.0
        assert (arm.limits.lower_deg[1], arm.limits.upper_deg[1]) == (-265.0, 85.0)
        assert (arm.limits.lower_deg[3], arm.limits.upper_deg[3]) == (-265.0, 85.0)
    assert FR3.limits.speed_deg_s == (180.0,) * 6
    assert FR20.limits.speed_deg_s == (120.0, 120.0, 120.0, 180.0, 180.0, 180.0)
