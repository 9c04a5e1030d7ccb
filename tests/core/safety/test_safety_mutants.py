"""Rules of the shaper, its laws and the divergence guard that a mutation run showed nothing held."""

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from steadyhand.core.safety.braking import (
    braking_speed_deg_s,
    braking_trail_deg,
    keep_stoppable,
    motion_bounds,
    stop_distance_deg,
)
from steadyhand.core.safety.divergence import (
    MarginGuard,
    StreamFigures,
    divergence_guard,
    lag_floor_s,
    margin_floor_deg,
)
from steadyhand.core.safety.feed_forward import follow, follow_together, within_limits
from steadyhand.core.safety.jerk import JerkState
from steadyhand.core.safety.laws import MotionLaws
from steadyhand.core.safety.shaper import Proposal, ShaperMisuseError, StreamShaper
from steadyhand.core.safety.tcp_bound import TcpBound
from steadyhand.ground.config_safety import DivergenceGuardConfig, StreamShaperConfig
from steadyhand.ground.errors import ConfigError

# ---- the shaper

FOLLOW = StreamShaperConfig(v_max_deg_s=130.0, a_max_deg_s2=500.0, mode="feed_forward")


def shaper(config: StreamShaperConfig = FOLLOW, *, n_joints: int = 1, **options: Any) -> StreamShaper:
    made = StreamShaper(config, n_joints=n_joints, period_s=0.01, **options)
    made.prime([0.0] * n_joints)
    return made


class Walls:
    """Allows what the test says; keeps every frame it was asked about."""

    def __init__(self, *, allowing: bool) -> None:
        self.allowing = allowing
        self.asked: list[tuple[list[float], list[float]]] = []

    def allows(self, joints_deg: Sequence[float], velocities_deg_s: Sequence[float]) -> bool:
        self.asked.append((list(joints_deg), list(velocities_deg_s)))
        return self.allowing


class Planner:
    """A jerk solver that answers one velocity, or that there is no plan."""

    def __init__(self, velocity_deg_s: float | None) -> None:
        self.velocity_deg_s = velocity_deg_s

    def step(self, state: JerkState, target_deg: Sequence[float], v_max_deg_s: float) -> JerkState | None:
        if self.velocity_deg_s is None:
            return None
        moved = tuple(angle + self.velocity_deg_s * 0.01 for angle in state.position_deg)
        return JerkState(moved, (self.velocity_deg_s,), (0.0,))


def test_a_soft_stop_is_no_wall() -> None:
    assert shaper().propose_brake().walled is False


def test_a_proposal_that_was_committed_is_not_taken_for_the_next_one() -> None:
    shaped = shaper()
    first = shaped.propose((30.0,))
    shaped.commit(first)
    second = shaped.propose((30.0,))
    with pytest.raises(ShaperMisuseError, match="cannot be committed"):
        shaped.commit(first)
    shaped.commit(second)


def test_a_ceiling_may_be_as_low_as_one_likes() -> None:
    shaped = shaper()
    shaped.set_ceiling(0.25)
    assert shaped.propose((30.0,)).velocities_deg_s == (0.25,)


def test_at_a_wall_a_followed_target_is_tried_by_rest_target_too() -> None:
    shaped, walls = shaper(), Walls(allowing=False)
    for tick in range(11):
        shaped.commit(shaped.propose((0.01 * tick,)))
    shaped.set_walls(walls)
    shaped.commit(shaped.propose((0.11,)))
    followed = len(walls.asked)
    shaped.propose((0.11,), fresh=False)
    assert [followed, len(walls.asked) - followed] == [4, 3]


@pytest.mark.parametrize("velocity_deg_s", [None, 3.0])
def test_a_plan_without_walls_is_never_walled(velocity_deg_s: float | None) -> None:
    assert shaper(jerk_solver=Planner(velocity_deg_s)).propose((30.0,)).walled is False


def test_a_wall_is_asked_about_the_very_frame_of_the_plan() -> None:
    shaped, walls = shaper(jerk_solver=Planner(3.0)), Walls(allowing=True)
    shaped.set_walls(walls)
    assert shaped.propose((30.0,)).walled is False
    ((joints_deg, velocities_deg_s),) = walls.asked
    assert joints_deg == pytest.approx([0.03])
    assert velocities_deg_s == pytest.approx([3.0])


def test_a_proposal_of_an_earlier_stream_is_not_taken_for_one_of_the_next() -> None:
    shaped = shaper()
    stale = shaped.propose((30.0,))
    shaped.prime((0.0,))
    shaped.propose((30.0,))
    with pytest.raises(ShaperMisuseError, match="cannot be committed"):
        shaped.commit(stale)


def test_a_new_shaper_has_sent_nothing_and_stands() -> None:
    made = StreamShaper(FOLLOW, n_joints=1, period_s=0.01)
    assert made.sent_deg is None
    assert made.velocity_deg_s == ()
    assert made.at_rest
    with pytest.raises(ShaperMisuseError, match=r"^the shaper is not primed: no stream is engaged$"):
        made.propose((0.0,))


def test_the_first_target_of_a_stream_may_be_told_as_a_jump() -> None:
    first = shaper(n_joints=3).propose((0.0, 0.0, 40.0))
    assert (first.jump_deg, first.jump_joint) == (40.0, 2)


def test_a_soft_stop_tells_no_jump() -> None:
    braked = shaper().propose_brake()
    assert (braked.jump_deg, braked.jump_joint) == (0.0, 0)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_target_at_the_very_end_of_the_trail_is_no_jump(side: float) -> None:
    trail_deg = braking_trail_deg(130.0, motion_bounds(a_max_deg_s2=500.0, period_s=0.01))
    assert shaper().propose((side * trail_deg,)).jump_deg == 0.0


def test_without_a_jump_no_joint_is_named() -> None:
    shaped = shaper(n_joints=2)
    told = [shaped.propose(target) for target in ((0.0, 1.0), (0.0, 40.0), (0.0, 40.0))]
    assert [proposal.jump_joint for proposal in told] == [0, 1, 0]


# ---- the laws with their bounds

BOUNDS = motion_bounds(a_max_deg_s2=500.0, period_s=0.01)


def laws(*, synchronised: bool = False, **options: Any) -> MotionLaws:
    given: dict[str, Any] = {"limits_deg": (), "tcp_bound": None, **options}
    return MotionLaws(bounds=BOUNDS, v_max_deg_s=130.0, synchronised=synchronised, **given)


@pytest.mark.parametrize("law", ["rest", "straight", "feed_forward"])
def test_each_law_speeds_up_to_the_tools_bound_and_no_further(law: str) -> None:
    bound = TcpBound(max_m_s=0.5, reach_m=(1.0, 0.5))
    bounded, have = laws(tcp_bound=bound), [20.0, 8.0]
    if law == "feed_forward":
        chosen = bounded.feed_forward([90.0, 90.0], [50.0, 50.0], [0.0, 0.0], have, 130.0)
    else:
        chosen = getattr(bounded, law)([90.0, 90.0], have, 130.0)
    assert bound.speed_m_s(have) < 0.5
    assert bound.speed_m_s(chosen) == pytest.approx(0.5)
    assert all(0.0 <= new - old <= 5.0 for new, old in zip(chosen, have, strict=True))


def test_synchronised_the_tools_bound_turns_no_motion() -> None:
    bound = TcpBound(max_m_s=0.5, reach_m=(1.0, 0.5))
    bounded, have = laws(synchronised=True, tcp_bound=bound), [20.0, 16.0]
    chosen = bounded.feed_forward([60.0, 48.0], [0.0, 0.0], [0.0, 0.0], have, 130.0)
    assert bound.speed_m_s(chosen) == pytest.approx(0.5)
    assert chosen[1] == pytest.approx(0.8 * chosen[0])
    assert bounded.tool_bounded([25.0, 20.0], have) == pytest.approx(chosen)


def test_each_for_itself_the_tools_bound_is_met_on_the_way_to_a_full_brake() -> None:
    bound = TcpBound(max_m_s=math.radians(24.0), reach_m=(1.0, 0.5))
    # A brake leaves (15, 11) and 20.5; the bound lies 3.5/9.5 of the way up to the wanted 30.
    slowed = laws(tcp_bound=bound).tool_bounded([20.0, 20.0], [20.0, 16.0])
    share = 3.5 / 9.5
    assert slowed == pytest.approx([15.0 + 5.0 * share, 11.0 + 9.0 * share])


@pytest.mark.parametrize("law", ["rest", "straight"])
def test_a_frame_within_the_tools_bound_is_left_as_it_is(law: str) -> None:
    free, bounded = laws(), laws(tcp_bound=TcpBound(max_m_s=2.0, reach_m=(1.0, 0.5)))
    asked = ([90.0, 40.0], [20.0, 8.0], 130.0)
    assert getattr(bounded, law)(*asked) == getattr(free, law)(*asked)


def test_going_together_never_costs_a_joint_its_brake() -> None:
    assert laws(synchronised=True).rest([8.0, 300.0], [90.0, 0.0], 130.0)[0] == pytest.approx(85.0)


@pytest.mark.parametrize(("synchronised", "speeds"), [(False, [5.0, 5.0]), (True, [5.0, 5.0 / 3.0])])
def test_feed_forward_moves_joints_together_only_where_it_is_configured(
    synchronised: bool, speeds: list[float]
) -> None:
    chosen = laws(synchronised=synchronised).feed_forward(
        [30.0, 10.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], 130.0
    )
    assert chosen == pytest.approx(speeds)


GAPS_DEG = [30.0, -10.0]
LINE = TcpBound(max_m_s=0.5, reach_m=(1.0, 0.5))
CEILING_DEG_S = LINE.ceiling_deg_s(GAPS_DEG)


def test_a_plans_ceiling_is_the_same_all_along_its_line_and_never_above_the_bounds() -> None:
    planned = [
        laws(synchronised=True, tcp_bound=LINE).plan_ceiling_deg_s([left * gap for gap in GAPS_DEG], 130.0)
        for left in (1.0, 0.7, 0.3, 1e-3)
    ]
    assert planned == [planned[0]] * 4
    assert 0.0 <= CEILING_DEG_S - planned[0] < 1e-6


def test_a_plan_has_all_of_v_max_where_its_line_does_not_meet_the_tools_bound() -> None:
    bounded = laws(synchronised=True, tcp_bound=LINE)
    for v_max_deg_s in (7.123456789, CEILING_DEG_S):
        assert bounded.plan_ceiling_deg_s(GAPS_DEG, v_max_deg_s) == v_max_deg_s


def test_only_a_synchronised_plan_has_a_line_to_keep() -> None:
    assert laws(tcp_bound=LINE).plan_ceiling_deg_s(GAPS_DEG, 130.0) == 130.0
    assert laws(synchronised=True).plan_ceiling_deg_s(GAPS_DEG, 130.0) == 130.0


def test_a_joint_far_from_its_limit_does_not_hide_one_behind_it() -> None:
    gated = laws(limits_deg=((-180.0, 180.0), (-180.0, 60.0)))
    chosen = gated.feed_forward([1.0, 1.0], [100.0, 100.0], [0.0, 55.0], [100.0, 100.0], 130.0)
    assert chosen == pytest.approx([100.0, 95.0])


def test_a_slow_joint_near_its_limit_is_still_followed() -> None:
    gated = laws(limits_deg=((-180.0, 60.0),))
    assert gated.feed_forward([0.1], [10.0], [50.0], [10.0], 130.0) == pytest.approx([10.0])


# ---- the braking law


@pytest.mark.parametrize(
    ("speed_deg_s", "distance_deg"), [(0.0, 0.0), (2.0, 0.0), (2.5, 0.0), (3.0, 0.00025), (7.5, 0.025)]
)
def test_a_joint_slower_than_half_a_step_stops_where_its_frame_is(
    speed_deg_s: float, distance_deg: float
) -> None:
    assert stop_distance_deg(speed_deg_s, BOUNDS) == pytest.approx(distance_deg, abs=1e-12)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_joint_that_can_still_stop_is_clipped_to_its_braking_speed_and_no_lower(side: float) -> None:
    kept = keep_stoppable([19.0 * side], [20.0 * side], [0.5 * side], BOUNDS)
    assert kept == pytest.approx([side * braking_speed_deg_s(0.5, BOUNDS)])
    assert abs(kept[0]) > 16.0


# ---- feed-forward


def test_a_far_target_is_caught_up_with_at_twice_v_max_before_the_common_factor() -> None:
    # 260 °/s of catching up and the target's own 65, scaled to 130 together: (325, 65) becomes (130, 26).
    chosen = follow_together([400.65, 100.0], [65.0, 0.0], [130.0, 26.0], 130.0, BOUNDS)
    assert chosen == pytest.approx([130.0, 26.0])


def test_following_together_never_costs_a_joint_its_brake() -> None:
    assert follow_together([8.0, 300.0], [0.0, 0.0], [90.0, 0.0], 130.0, BOUNDS)[0] == pytest.approx(85.0)


@pytest.mark.parametrize(("position_deg", "velocity_deg_s"), [(60.0, 0.0), (60.0, 1.0), (-60.0, -1.0)])
def test_to_stop_at_the_limit_itself_is_to_keep_it(position_deg: float, velocity_deg_s: float) -> None:
    assert within_limits(position_deg, velocity_deg_s, (-60.0, 60.0), BOUNDS)


@pytest.mark.parametrize(("gap_deg", "side"), [(0.0, 1.0), (0.0, -1.0), (0.01, 1.0), (-0.01, -1.0)])
def test_a_target_faster_than_a_very_low_ceiling_is_followed_the_right_way(
    gap_deg: float, side: float
) -> None:
    (chosen,) = follow([gap_deg], [0.8 * side], [0.5 * side], 0.5, BOUNDS)
    caught_up = braking_speed_deg_s(0.005, BOUNDS)
    expected = 0.5 if gap_deg else 0.5 - caught_up  # at gap 0 the target's own step is to be given back
    assert chosen == pytest.approx(side * expected)


# ---- the divergence guard

FIGURES = StreamFigures(
    v_max_deg_s=130.0,
    a_max_deg_s2=500.0,
    period_ns=10_000_000,
    joint_names=("j1", "j2"),
    max_age_ns=100_000_000,
)


def test_a_margin_at_its_floor_constructs() -> None:
    config = DivergenceGuardConfig(lag_s=0.080, form="margin", measured_lag_s=0.078)
    floor_deg = margin_floor_deg(config, FIGURES)
    MarginGuard(msgspec.structs.replace(config, margin_deg=floor_deg), FIGURES)


def test_the_margin_form_looks_at_the_distance_and_not_at_the_angles() -> None:
    watching = MarginGuard(DivergenceGuardConfig(lag_s=0.080, form="margin", margin_deg=3.0), FIGURES)
    frame = Proposal(joints_deg=(40.0, -40.0), velocities_deg_s=(0.0, 0.0))
    assert watching.judge(frame, (41.0, -41.0), age_ns=0, now_ns=0) is None


def test_a_lag_is_rounded_up_with_a_nanosecond_of_grace_and_no_more() -> None:
    floors = [
        lag_floor_s(DivergenceGuardConfig(lag_s=1.0, measured_lag_s=lag_s))
        for lag_s in (0.040000001, 0.040000002)
    ]
    assert floors == [0.040, 0.045]


@pytest.mark.parametrize(
    ("lag_s", "measured_s"), [(0.080 - 1e-9, 0.078), (0.078 + 0.015 - 0.005 + 1e-9, 0.078)]
)
def test_a_lag_a_nanosecond_off_its_range_is_not_refused(lag_s: float, measured_s: float) -> None:
    divergence_guard(DivergenceGuardConfig(lag_s=lag_s, measured_lag_s=measured_s), FIGURES)


@pytest.mark.parametrize(
    ("options", "key"), [({"lag_s": 0.090}, "lag_s"), ({"window_slack_ms": 14.0}, "window_slack_ms")]
)
def test_a_window_that_is_refused_names_its_key(options: dict[str, float], key: str) -> None:
    config = msgspec.structs.replace(DivergenceGuardConfig(lag_s=0.080, measured_lag_s=0.078), **options)
    with pytest.raises(ConfigError) as refused:
        divergence_guard(config, FIGURES)
    assert str(refused.value).startswith(f"safety.divergence_guard.{key}: ")
