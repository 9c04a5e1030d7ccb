"""The command-side bound on the tool's speed (R10)."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadyhand.core.safety.braking import brake
from steadyhand.core.safety.policy import reach_m
from steadyhand.core.safety.tcp_bound import TcpBound
from steadyhand.ground.arms import FR3
from steadyhand.ground.errors import ConfigError

REACH_M = reach_m(FR3.chain)
BOUND = TcpBound(max_m_s=0.8, reach_m=REACH_M)

joints = st.lists(st.floats(-170.0, 170.0), min_size=6, max_size=6)
velocities = st.lists(st.floats(-130.0, 130.0), min_size=6, max_size=6)


@given(joints, velocities)
def test_no_posture_moves_the_tool_faster_than_the_bound_says(pose: list[float], speeds: list[float]) -> None:
    moved = [angle + 0.01 * speed for angle, speed in zip(pose, speeds, strict=True)]
    assert FR3.chain.tool_speed_m_s(pose, moved, period_s=0.01) <= BOUND.speed_m_s(speeds) + 1e-9


def test_one_joint_alone_has_its_reach_times_its_speed() -> None:
    assert TcpBound(max_m_s=1.0, reach_m=(0.5, 2.0)).speed_m_s((0.0, -90.0)) == pytest.approx(math.pi)


def bounded_to(chosen: list[float], slowest: list[float]) -> list[float]:
    return chosen if BOUND.keeps(chosen) else BOUND.limit(chosen, slowest)


@given(velocities, velocities)
def test_a_bounded_frame_keeps_the_bound_and_lies_between_the_law_and_a_full_brake(
    chosen: list[float], have: list[float]
) -> None:
    slowed = bounded_to(have, [0.0] * 6)  # velocities in force keep the bound
    slowest = brake(slowed, 5.0)
    bounded = bounded_to(chosen, slowest)
    assert BOUND.speed_m_s(bounded) <= 0.8 + 1e-9
    for value, want, slow in zip(bounded, chosen, slowest, strict=True):
        assert min(want, slow) - 1e-9 <= value <= max(want, slow) + 1e-9


def test_the_bound_itself_is_kept() -> None:
    bound = TcpBound(max_m_s=math.pi, reach_m=(1.0, 1.0))
    assert bound.keeps((120.0, -60.0 + 1e-9))
    assert bound.keeps((0.0, -180.0))
    assert not bound.keeps((120.0, -60.0001))


def test_a_brake_that_is_itself_at_the_bound_is_taken() -> None:
    bound = TcpBound(max_m_s=math.radians(100.0), reach_m=(1.0,))
    assert bound.limit([110.0], [100.0]) == pytest.approx([100.0])
    assert bound.limit([110.0], [101.0]) == pytest.approx([101.0])


def test_the_ceiling_of_a_way_is_the_speed_at_which_it_meets_the_bound() -> None:
    bound = TcpBound(max_m_s=1.0, reach_m=(0.5, 2.0, 0.0))
    for way in ((30.0, -10.0, 5.0), (3.0, -1.0, 0.5), (1.0, 2.0, -9.0)):
        ceiling = bound.ceiling_deg_s(way)
        fastest = max(map(abs, way))
        assert bound.speed_m_s([ceiling * part / fastest for part in way]) == pytest.approx(1.0)


@pytest.mark.parametrize("way", [(0.0, 0.0, 0.0), (0.0, 0.0, 8.0)])
def test_a_way_on_which_no_tool_moves_has_no_ceiling(way: tuple[float, ...]) -> None:
    assert TcpBound(max_m_s=1.0, reach_m=(0.5, 2.0, 0.0)).ceiling_deg_s(way) == math.inf


def test_a_tool_without_reach_is_refused() -> None:
    with pytest.raises(ConfigError) as raised:
        TcpBound(max_m_s=1.0, reach_m=(0.0, 0.0))
    assert str(raised.value) == "safety.tcp_speed.reach_m: the tool has no reach, so the bound binds nothing"
