"""When feed-forward is trusted, and when it is not (R8)."""

import math
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadyhand.core.safety.braking import braking_speed_deg_s, motion_bounds, toward_rest
from steadyhand.core.safety.feed_forward import (
    FRESH_TICKS_AFTER_HOLD,
    TargetVelocity,
    follow,
    follow_together,
    keep_stoppable_behind,
    within_limits,
)
from steadyhand.core.safety.shaper import StreamShaper
from steadyhand.ground.config_safety import StreamShaperConfig

T_S = 0.01
BOUNDS = motion_bounds(a_max_deg_s2=500.0, period_s=T_S)


def feed_forward(
    *, synchronised: bool = False, limits_deg: tuple[tuple[float, float], ...] = (), n_joints: int = 1
) -> StreamShaper:
    config = StreamShaperConfig(
        v_max_deg_s=130.0, a_max_deg_s2=500.0, mode="feed_forward", synchronised=synchronised
    )
    shaped = StreamShaper(config, n_joints=n_joints, period_s=T_S, limits_deg=limits_deg)
    shaped.prime([0.0] * n_joints)
    return shaped


def cruise(shaped: StreamShaper, speed_deg_s: float, ticks: int = 100) -> float:
    """Bring a one-joint shaper to a compliant cruise; the last target."""
    position, velocity = 0.0, 0.0
    for tick in range(ticks):
        if tick >= 12:
            velocity = min(speed_deg_s, velocity + 4.0)
        position += velocity * T_S
        shaped.commit(shaped.propose((position,)))
    return position


def trail_after(shaped: StreamShaper, position: float, speed_deg_s: float, ticks: Iterable[bool]) -> float:
    """Go on for some ticks, each fresh or held; how far the wire trails at the end."""
    for fresh in ticks:
        position += speed_deg_s * T_S
        shaped.commit(shaped.propose((position,), fresh=fresh))
    assert shaped.sent_deg is not None
    return position - shaped.sent_deg[0]


def test_a_held_tick_sends_the_law_back_to_rest_target_at_once() -> None:
    shaped = feed_forward()
    position = cruise(shaped, 100.0)
    held = shaped.propose((position,), fresh=False)
    assert held.velocities_deg_s[0] == pytest.approx(95.0)


def test_feed_forward_returns_after_ten_fresh_ticks_and_not_before() -> None:
    target_velocity = TargetVelocity(T_S)

    def observe(ticks: range) -> list[float | None]:
        seen = [target_velocity.observe((0.5 * tick,), fresh=True) for tick in ticks]
        return [None if speeds is None else round(speeds[0], 9) for speeds in seen]

    assert observe(range(14)) == [None] * FRESH_TICKS_AFTER_HOLD + [50.0] * 4
    assert target_velocity.observe((7.0,), fresh=False) is None
    assert observe(range(20, 33)) == [None] * FRESH_TICKS_AFTER_HOLD + [50.0] * 3


def test_the_step_across_a_hold_is_never_taken_for_a_speed() -> None:
    target_velocity = TargetVelocity(T_S)
    for tick in range(12):
        target_velocity.observe((0.5 * tick,), fresh=True)
    target_velocity.observe((5.5,), fresh=False)
    for tick in range(13, 40):
        seen = target_velocity.observe((0.5 * tick,), fresh=True)
        assert seen is None or seen == [pytest.approx(50.0)]


def test_after_a_hold_the_stream_is_caught_up_without_a_step() -> None:
    shaped = feed_forward()
    position = cruise(shaped, 100.0)
    assert trail_after(shaped, position, 100.0, [False] * 3) > 0.0
    assert trail_after(shaped, position + 3.0, 100.0, [True] * 120) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("synchronised", [False, True])
def test_no_limit_is_passed_when_the_target_freezes_right_at_it(synchronised: bool) -> None:
    limit_deg = 60.0
    shaped = feed_forward(limits_deg=((-180.0, limit_deg),), synchronised=synchronised)
    position, sent = 0.0, []
    for _ in range(12):
        shaped.commit(shaped.propose((0.0,)))
    velocity = 0.0
    for _ in range(200):
        velocity = min(120.0, velocity + 4.0)
        position = min(limit_deg, position + velocity * T_S)
        proposal = shaped.propose((position,))
        shaped.commit(proposal)
        sent.append(proposal)
    assert max(proposal.joints_deg[0] for proposal in sent) <= limit_deg + 1e-9
    assert sent[-1].joints_deg[0] == pytest.approx(limit_deg, abs=1e-9)
    changes = [after.velocities_deg_s[0] - before.velocities_deg_s[0] for before, after in pairwise(sent)]
    turns = sum(1 for one, two in pairwise(changes) if one * two < 0.0)
    assert turns <= 2  # it brakes once, and does not chatter between the laws


@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_a_joint_near_its_limit_goes_back_to_rest_target_alone(direction: float) -> None:
    edge = (-180.0, 60.0) if direction > 0 else (-60.0, 180.0)
    shaped = feed_forward(limits_deg=(edge, (-180.0, 180.0)), n_joints=2)
    position, velocity = 0.0, 0.0
    for tick in range(70):
        if tick >= 12:
            velocity = min(120.0, velocity + 4.0)
        position += direction * velocity * T_S
        clipped = min(max(position, edge[0]), edge[1])
        proposal = shaped.propose((clipped, position))
        shaped.commit(proposal)
    assert abs(proposal.velocities_deg_s[0]) < 100.0
    assert proposal.velocities_deg_s[1] == pytest.approx(direction * 120.0)


def test_synchronised_joints_go_back_together() -> None:
    shaped = feed_forward(limits_deg=((-180.0, 60.0), (-180.0, 180.0)), n_joints=2, synchronised=True)
    position, velocity = 0.0, 0.0
    for tick in range(70):
        if tick >= 12:
            velocity = min(120.0, velocity + 4.0)
        position += velocity * T_S
        proposal = shaped.propose((min(position, 60.0), position))
        shaped.commit(proposal)
    assert abs(proposal.velocities_deg_s[1]) < 110.0


def test_a_target_faster_than_v_max_is_followed_at_v_max() -> None:
    fast = [130.0, -130.0]
    assert follow([3.0, -3.0], [200.0, -200.0], fast, 130.0, BOUNDS) == fast
    together = follow_together([2.0, 1.0], [200.0, 100.0], [130.0, 65.0], 130.0, BOUNDS)
    assert together == pytest.approx([130.0, 65.0])


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_joint_that_lags_behind_its_target_may_lag_more_but_not_turn_back(side: float) -> None:
    # The target moves at 50 °/s, 10° ahead; the common factor leaves this joint less than that.
    for chosen, kept in ((12.0, 12.0), (0.0, 0.0), (-1.0, 0.0)):
        assert keep_stoppable_behind([side * chosen], [side * 50.0], [side * 10.0], [0.0], BOUNDS) == [
            side * kept
        ]


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_joint_ahead_of_its_target_may_wait_for_it_or_go_on_at_its_speed(side: float) -> None:
    for chosen, kept in ((51.0, 50.0), (49.0, 49.0)):
        assert keep_stoppable_behind([side * chosen], [side * 50.0], [-side], [side * 50.0], BOUNDS) == [
            side * kept
        ]
    assert keep_stoppable_behind([0.5 * side], [side * 50.0], [-side], [0.0], BOUNDS) == [0.5 * side]


three = st.lists(st.floats(-130.0, 130.0), min_size=3, max_size=3)


@given(three, three, st.lists(st.floats(-90, 90), min_size=3, max_size=3))
def test_no_velocity_passes_v_max_or_changes_by_more_than_a_step(
    moving: list[float], have: list[float], gaps: list[float]
) -> None:
    for law in (follow, follow_together):
        chosen = law(gaps, moving, have, 130.0, BOUNDS)
        assert max(map(abs, chosen)) <= 130.0 + 1e-9
        assert max(abs(new - old) for new, old in zip(chosen, have, strict=True)) <= 5.0 + 1e-9


@given(three, three, st.lists(st.floats(-20.0, 20.0), min_size=3, max_size=3), three)
def test_no_joint_is_faster_than_its_target_or_than_what_catches_up_and_brakes(
    wanted: list[float], moving: list[float], errors: list[float], have: list[float]
) -> None:
    chosen = [min(max(want, old - 5.0), old + 5.0) for want, old in zip(wanted, have, strict=True)]
    kept = keep_stoppable_behind(chosen, moving, errors, have, BOUNDS)
    for new, want, u, error, old in zip(kept, chosen, moving, errors, have, strict=True):
        catching_up = u + math.copysign(braking_speed_deg_s(abs(error), BOUNDS), error)
        fastest, slowest = max(0.0, u, catching_up), min(0.0, u, catching_up)
        assert abs(new) <= abs(want)
        assert abs(new - old) <= 5.0 + 1e-9
        expected = min(max(want, min(slowest, old + 5.0)), max(fastest, old - 5.0))
        assert new == pytest.approx(expected, abs=1e-9)


@given(three, st.lists(st.floats(-90, 90), min_size=3, max_size=3))
def test_a_target_at_rest_is_the_law_of_rest_target(have: list[float], gaps: list[float]) -> None:
    rest = toward_rest(gaps, have, 130.0, BOUNDS)
    assert follow(gaps, [0.0] * 3, have, 130.0, BOUNDS) == pytest.approx(rest, abs=1e-9)


@pytest.mark.parametrize(
    ("position_deg", "velocity_deg_s", "stops"),
    [
        (59.9, 0.0, True),
        (60.1, 0.0, False),
        (59.0, 33.0, True),
        (59.0, 35.0, False),
        (-59.0, -33.0, True),
        (-59.0, -35.0, False),
        (60.5, -20.0, True),
    ],
)
def test_the_stopping_point_decides_whether_a_limit_is_kept(
    position_deg: float, velocity_deg_s: float, stops: bool
) -> None:
    assert within_limits(position_deg, velocity_deg_s, (-60.0, 60.0), BOUNDS) is stops
