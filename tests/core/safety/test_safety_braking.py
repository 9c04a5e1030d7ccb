"""The arithmetic of the braking law, piece by piece."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadyhand.core.safety.braking import (
    accelerate_together,
    brake,
    brake_together,
    braking_speed_deg_s,
    braking_trail_deg,
    keep_stoppable,
    largest_magnitude,
    motion_bounds,
    stop_distance_deg,
    toward_rest,
    toward_rest_together,
)

BOUNDS = motion_bounds(a_max_deg_s2=500.0, period_s=0.01)
STEP = BOUNDS.step_deg_s

speeds = st.floats(-130.0, 130.0)
vectors = st.lists(speeds, min_size=6, max_size=6)
near_gap_vectors = st.lists(st.floats(-25.0, 25.0), min_size=6, max_size=6)
gap_vectors = st.lists(st.floats(-400.0, 400.0), min_size=6, max_size=6)


@given(st.floats(1e-9, 1e6))
def test_one_tick_and_a_full_brake_fit_exactly_into_the_distance(distance_deg: float) -> None:
    speed = braking_speed_deg_s(distance_deg, BOUNDS)
    assert speed * 0.01 + speed * speed / 1000.0 == pytest.approx(distance_deg, rel=1e-9)


@given(st.floats(1e-3, 1e4))
def test_the_braking_speed_is_document_001s_root(distance_deg: float) -> None:
    printed = -5.0 + math.sqrt(25.0 + 1000.0 * distance_deg)
    assert braking_speed_deg_s(distance_deg, BOUNDS) == pytest.approx(printed, rel=1e-9)


def test_the_braking_speed_keeps_its_digits_where_the_printed_root_cancels() -> None:
    assert braking_speed_deg_s(1e-14, BOUNDS) == pytest.approx(1e-12, rel=1e-9)
    assert braking_speed_deg_s(0.0, BOUNDS) == 0.0


def test_the_trail_is_the_stopping_distance_plus_one_tick() -> None:
    assert braking_trail_deg(120.0, BOUNDS) == pytest.approx(14.4 + 1.2)


@given(st.floats(0.0, 130.0))
def test_the_stop_distance_covers_the_frames_of_a_full_brake_and_hardly_more(speed: float) -> None:
    travelled, velocity = 0.0, speed
    while velocity > 0.0:
        velocity = max(0.0, velocity - STEP)
        travelled += velocity * 0.01
    bound = stop_distance_deg(speed, BOUNDS)
    assert travelled - 1e-9 <= bound <= travelled + STEP * 0.01 / 8.0 + 1e-9


@pytest.mark.parametrize(
    ("gap_deg", "speed"),
    [(0.0, 0.0), (100.0, 130.0), (-100.0, -130.0), (10.0, 95.12492197250393), (-10.0, -95.12492197250393)],
)
def test_a_joint_goes_toward_its_target_at_the_lesser_of_v_max_and_braking_speed(
    gap_deg: float, speed: float
) -> None:
    # Already at that speed, so that no acceleration comes into it.
    assert toward_rest([gap_deg], [speed], 130.0, BOUNDS) == pytest.approx([speed])
    assert toward_rest_together([gap_deg], 130.0, BOUNDS) == pytest.approx([speed])


def test_together_the_farthest_joint_leads_and_the_others_keep_their_share() -> None:
    wanted = toward_rest_together([10.0, -5.0, 0.0], 130.0, BOUNDS)
    leader = braking_speed_deg_s(10.0, BOUNDS)
    assert wanted == pytest.approx([leader, -0.5 * leader, 0.0])


def test_together_at_v_max_the_leader_alone_has_it() -> None:
    assert toward_rest_together([-200.0, 100.0], 130.0, BOUNDS) == [-130.0, 65.0]


@given(gap_vectors)
def test_a_share_of_the_leaders_speed_is_never_above_a_joints_own(gaps: list[float]) -> None:
    for shared, gap in zip(toward_rest_together(gaps, 130.0, BOUNDS), gaps, strict=True):
        assert abs(shared) <= min(130.0, braking_speed_deg_s(abs(gap), BOUNDS)) + 1e-9


@given(vectors, vectors)
def test_together_no_velocity_changes_by_more_than_a_step(wanted: list[float], have: list[float]) -> None:
    for want, new, old in zip(wanted, accelerate_together(wanted, have, STEP), have, strict=True):
        assert abs(new - old) <= STEP + 1e-9
        assert min(want, old) - 1e-9 <= new <= max(want, old) + 1e-9


@given(gap_vectors, vectors)
def test_alone_each_joint_moves_toward_its_own_desired_speed_by_at_most_a_step(
    gaps: list[float], have: list[float]
) -> None:
    for gap, new, old in zip(gaps, toward_rest(gaps, have, 130.0, BOUNDS), have, strict=True):
        desired = math.copysign(min(130.0, braking_speed_deg_s(abs(gap), BOUNDS)), gap)
        assert new == pytest.approx(min(max(desired, old - STEP), old + STEP), abs=1e-9)


def test_a_velocity_within_a_step_is_taken_as_it_is() -> None:
    assert accelerate_together([4.0, -5.0], [0.0, 0.0], STEP) == [4.0, -5.0]


def test_together_the_velocity_vector_does_not_turn_on_its_way() -> None:
    assert accelerate_together([20.0, 10.0, -4.0], [0.0, 0.0, 0.0], STEP) == pytest.approx([5.0, 2.5, -1.0])


def test_a_brake_ends_at_exactly_zero() -> None:
    assert brake([12.0, -12.0, 5.0, -5.0, 0.1, 0.0], STEP) == [7.0, -7.0, 0.0, 0.0, 0.0, 0.0]
    assert brake_together([4.0, -5.0], STEP) == [0.0, 0.0]


def test_together_a_brake_slows_without_turning() -> None:
    assert brake_together([20.0, -10.0], STEP) == pytest.approx([15.0, -7.5])


def test_the_largest_magnitude_is_found_on_either_side() -> None:
    assert largest_magnitude([1.0, -3.0, 2.0]) == 3.0
    assert largest_magnitude([1.0, -1.0, 2.0]) == 2.0


@given(vectors, near_gap_vectors, vectors)
def test_keeping_stoppable_never_costs_a_step_or_speeds_a_joint_up(
    have: list[float], gaps: list[float], wanted: list[float]
) -> None:
    chosen = [min(max(want, old - STEP), old + STEP) for want, old in zip(wanted, have, strict=True)]
    kept = keep_stoppable(chosen, have, gaps, BOUNDS)
    for new, old, before, gap in zip(kept, chosen, have, gaps, strict=True):
        assert abs(new - before) <= STEP + 1e-9
        assert abs(new) <= abs(old) + 1e-9
        stopping = new * 0.01 + new * abs(new) / 1000.0
        braked_fully = abs(before) - abs(new) >= STEP - 1e-9
        assert braked_fully or min(0.0, gap) - 1e-9 <= stopping <= max(0.0, gap) + 1e-9


def test_keeping_stoppable_brakes_a_joint_that_the_common_factor_forgot() -> None:
    # Joint 1 must brake fully; joint 2 has jumped and used up the common step.
    have, gaps = [90.0, 0.0], [8.0, 300.0]
    together = accelerate_together(toward_rest_together(gaps, 130.0, BOUNDS), have, STEP)
    assert together[0] > 86.0
    kept = keep_stoppable(together, have, gaps, BOUNDS)
    assert kept == [85.0, together[1]]
