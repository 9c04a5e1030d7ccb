"""The stream shaper's rules and document 001's figures, one by one."""

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import pytest

from steadyhand.core.safety.shaper import TARGET_LIMIT_DEG, Proposal, ShaperMisuseError, StreamShaper
from steadyhand.core.safety.tcp_bound import TcpBound
from steadyhand.ground.config_safety import StreamShaperConfig

T_S = 0.01


def shaper(
    *,
    mode: str = "rest_target",
    synchronised: bool = False,
    n_joints: int = 1,
    limits_deg: tuple[tuple[float, float], ...] = (),
    v_max_deg_s: float = 130.0,
    tcp_bound: TcpBound | None = None,
) -> StreamShaper:
    config = StreamShaperConfig(
        v_max_deg_s=v_max_deg_s,
        a_max_deg_s2=500.0,
        mode="feed_forward" if mode == "feed_forward" else "rest_target",
        synchronised=synchronised,
    )
    made = StreamShaper(config, n_joints=n_joints, period_s=T_S, limits_deg=limits_deg, tcp_bound=tcp_bound)
    made.prime([0.0] * n_joints)
    return made


def send(shaped: StreamShaper, target_deg: Sequence[float], *, fresh: bool = True) -> Proposal:
    proposal = shaped.propose(target_deg, fresh=fresh)
    shaped.commit(proposal)
    return proposal


def run(shaped: StreamShaper, targets: Iterable[float]) -> list[float]:
    return [send(shaped, (target,)).joints_deg[0] for target in targets]


def ramp(
    speed_deg_s: float, *, a_deg_s2: float = 400.0, ticks: int = 100, rest_ticks: int = 12
) -> list[float]:
    """A compliant motion: rest, speed up at a, then cruise."""
    targets, position, velocity = [0.0] * rest_ticks, 0.0, 0.0
    for _ in range(ticks):
        velocity = min(speed_deg_s, velocity + a_deg_s2 * T_S)
        position += velocity * T_S
        targets.append(position)
    return targets


# ---- figures of document 001 and R8


@pytest.mark.parametrize("mode", ["rest_target", "feed_forward"])
@pytest.mark.parametrize("synchronised", [False, True])
def test_a_30_degree_jump_settles_to_a_thousandth_within_0_52_s(mode: str, synchronised: bool) -> None:
    sent = run(shaper(mode=mode, synchronised=synchronised), [30.0] * 60)
    settled = next(tick for tick, position in enumerate(sent, start=1) if abs(30.0 - position) <= 1e-3)
    assert 0.490 <= settled * T_S <= 0.52
    assert max(sent) <= 30.0
    assert sent[-1] == 30.0


def test_rest_target_trails_a_moving_target_by_the_braking_trail() -> None:
    targets = ramp(120.0, ticks=400)
    shaped = shaper()
    run(shaped, targets[:-1])
    assert shaped.sent_deg is not None
    # The law sees v²/2a + vT = 15.6° ahead of it when the target arrives, and has closed vT of it
    # once the frame is sent.
    assert targets[-1] - shaped.sent_deg[0] == pytest.approx(120.0**2 / 1000.0 + 1.2, abs=0.01)
    assert targets[-1] - run(shaped, targets[-1:])[0] == pytest.approx(120.0**2 / 1000.0, abs=0.01)


def test_feed_forward_passes_a_compliant_stream_without_trail() -> None:
    targets = ramp(120.0)
    sent = run(shaper(mode="feed_forward"), targets)
    assert max(abs(target - position) for target, position in zip(targets, sent, strict=True)) < 1e-9


def test_a_target_that_freezes_at_speed_is_overshot_by_no_more_than_r8_says() -> None:
    targets = ramp(120.0)
    sent = run(shaper(mode="feed_forward"), [*targets, *[targets[-1]] * 100])
    overshoot_deg = max(sent) - targets[-1]
    assert 10.0 < overshoot_deg <= 120.0**2 / 1000.0 + 2.0 * 1.2
    assert sent[-1] == pytest.approx(targets[-1], abs=1e-9)


JUMPS = ((30.0, -10.0), (30.0, 10.0, -5.0), (1.0, -1.0 / 3.0), (30.0, -12.0, 21.0, 5.0, -25.0, 0.0))
"""The short one is as long as a tick at v_max, so that the target's own step leaves no error."""


@pytest.mark.parametrize("max_m_s", [None, 0.8])
@pytest.mark.parametrize("mode", ["rest_target", "feed_forward"])
@pytest.mark.parametrize("jump", JUMPS)
def test_synchronised_a_jump_is_a_straight_line_in_joint_space(
    jump: tuple[float, ...], mode: str, max_m_s: float | None
) -> None:
    n_joints, reach_m = len(jump), (0.9, 0.8, 0.5, 0.3, 0.2, 0.1)
    bound = None if max_m_s is None else TcpBound(max_m_s=max_m_s, reach_m=reach_m[:n_joints])
    shaped = shaper(mode=mode, synchronised=True, n_joints=n_joints, tcp_bound=bound)
    for _ in range(15):  # feed-forward is trusted from the eleventh on
        send(shaped, (0.0,) * n_joints)
    for _ in range(200):
        sent = send(shaped, jump).joints_deg
        share = sent[0] / jump[0]
        assert max(abs(angle - share * way) for angle, way in zip(sent, jump, strict=True)) < 1e-9
    assert sent == pytest.approx(jump, abs=1e-9)


def test_without_synchronising_the_path_bends() -> None:
    shaped = shaper(n_joints=2)
    sent = [send(shaped, (30.0, 10.0)).joints_deg for _ in range(60)]
    bend = max(abs(second - first / 3.0) for first, second in sent)
    assert bend > 3.0


# ---- state: primed at engage, advanced by commit, forgotten on exit


def test_the_first_setpoint_after_engaging_starts_from_the_measured_pose_at_rest() -> None:
    shaped = shaper()
    shaped.prime((40.0,))
    assert send(shaped, (60.0,)).joints_deg[0] == pytest.approx(40.05)


def test_an_unprimed_shaper_proposes_nothing() -> None:
    shaped = shaper()
    shaped.forget()
    assert shaped.sent_deg is None
    with pytest.raises(ShaperMisuseError, match="not primed"):
        shaped.propose((1.0,))
    with pytest.raises(ShaperMisuseError, match="not primed"):
        shaped.propose_brake()


def test_a_re_engaged_stream_never_ramps_out_of_a_stale_target() -> None:
    shaped = shaper()
    run(shaped, [90.0] * 30)
    shaped.forget()
    assert shaped.velocity_deg_s == ()
    shaped.prime((10.0,))
    assert run(shaped, [10.0] * 5) == [10.0] * 5


def test_a_frame_the_socket_did_not_take_does_not_advance_the_state() -> None:
    shaped = shaper()
    first = shaped.propose((30.0,))
    assert shaped.propose((30.0,)).joints_deg == first.joints_deg
    assert shaped.sent_deg == (0.0,)


def test_a_lost_frame_does_not_double_the_speed_feed_forward_sees() -> None:
    shaped, targets = shaper(mode="feed_forward"), ramp(50.0)
    run(shaped, targets)
    for tick in range(1, 4):  # the socket takes none of the first two
        proposal = shaped.propose((targets[-1] + 0.5 * tick,))
    assert shaped.sent_deg == pytest.approx((targets[-1],))
    # The target moves at 50 °/s, not at 150; two ticks are to be caught up, one step at a time.
    assert proposal.velocities_deg_s[0] == pytest.approx(55.0)


def test_only_the_newest_proposal_can_be_committed_and_only_once() -> None:
    shaped = shaper()
    stale = shaped.propose((30.0,))
    newest = shaped.propose((31.0,))
    with pytest.raises(ShaperMisuseError, match="cannot be committed"):
        shaped.commit(stale)
    shaped.commit(newest)
    with pytest.raises(ShaperMisuseError, match="cannot be committed"):
        shaped.commit(newest)


@pytest.mark.parametrize("between", ["prime", "forget"])
def test_a_proposal_does_not_outlive_its_stream(between: str) -> None:
    shaped = shaper()
    proposal = shaped.propose((30.0,))
    if between == "prime":
        shaped.prime((0.0,))
    else:
        shaped.forget()
    with pytest.raises(ShaperMisuseError, match="cannot be committed"):
        shaped.commit(proposal)


# ---- what must never reach the arithmetic


def test_any_number_of_joints_may_stand_anywhere_short_of_the_limit() -> None:
    far = (0.99 * TARGET_LIMIT_DEG,) * 6
    made = shaper(n_joints=6)
    made.prime(far)
    assert made.propose(far).joints_deg == far


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, TARGET_LIMIT_DEG, -TARGET_LIMIT_DEG])
def test_a_number_that_is_no_angle_is_refused_and_changes_nothing(bad: float) -> None:
    shaped = shaper(n_joints=2)
    send(shaped, (30.0, 0.0))
    before = shaped.sent_deg
    with pytest.raises(ShaperMisuseError, match="no joint angle"):
        shaped.propose((30.0, bad))
    assert shaped.sent_deg == before
    with pytest.raises(ShaperMisuseError, match="no joint angle"):
        shaped.prime((bad, 0.0))


def test_a_wrong_number_of_joints_is_refused() -> None:
    with pytest.raises(ShaperMisuseError, match="2 joints for an arm of 1"):
        shaper().propose((1.0, 2.0))
    with pytest.raises(ShaperMisuseError, match="0 joints for an arm of 1"):
        shaper().prime(())


# ---- the ceiling


@pytest.mark.parametrize("mode", ["rest_target", "feed_forward"])
@pytest.mark.parametrize("synchronised", [False, True])
def test_a_lowered_v_max_is_approached_at_a_max_and_never_stepped_to(mode: str, synchronised: bool) -> None:
    shaped = shaper(mode=mode, synchronised=synchronised)
    targets = ramp(120.0, ticks=400)
    run(shaped, targets)
    shaped.set_ceiling(40.0)
    assert shaped.ceiling_deg_s == 40.0
    speeds, position = [shaped.velocity_deg_s[0]], targets[-1]
    for _ in range(40):
        position += 1.2
        speeds.append(send(shaped, (position,)).velocities_deg_s[0])
    assert speeds[0] == pytest.approx(120.0, abs=1e-4)
    steps = [before - after for before, after in pairwise(speeds)]
    assert max(steps) <= 5.0 + 1e-9
    assert speeds[-1] == pytest.approx(40.0)
    shaped.set_ceiling(130.0)
    assert send(shaped, (position + 50.0,)).velocities_deg_s[0] == pytest.approx(45.0)


@pytest.mark.parametrize("ceiling", [0.0, -1.0, 130.1, math.nan, math.inf])
def test_a_ceiling_outside_the_configuration_is_refused(ceiling: float) -> None:
    shaped = shaper()
    with pytest.raises(ShaperMisuseError, match="ceiling"):
        shaped.set_ceiling(ceiling)
    assert shaped.ceiling_deg_s == 130.0


# ---- walls


class Walls:
    """Allows what the test says; keeps what it was asked."""

    def __init__(self, allows: Callable[[Sequence[float], Sequence[float]], bool]) -> None:
        self.rule = allows
        self.asked: list[tuple[float, ...]] = []

    def allows(self, joints_deg: Sequence[float], velocities_deg_s: Sequence[float]) -> bool:
        self.asked.append(tuple(velocities_deg_s))
        return self.rule(joints_deg, velocities_deg_s)


def test_held_at_a_wall_the_arm_takes_the_straight_line_to_its_target() -> None:
    shaped = shaper(n_joints=2)
    shaped.set_walls(Walls(lambda joints, _: abs(joints[1] - joints[0] / 3.0) < 1e-9))
    sent = [send(shaped, (30.0, 10.0)) for _ in range(60)]
    assert sent[0].walled
    assert sent[0].velocities_deg_s == pytest.approx((5.0, 5.0 / 3.0))
    assert sent[-1].joints_deg == pytest.approx((30.0, 10.0))


def test_where_the_straight_line_is_too_fast_a_quarter_of_it_is_tried() -> None:
    shaped = shaper()
    walls = Walls(lambda _, speeds: abs(speeds[0]) < 1.3)
    shaped.set_walls(walls)
    creeping = send(shaped, (30.0,))
    assert (creeping.walled, creeping.velocities_deg_s) == (True, (1.25,))
    assert walls.asked == [(5.0,), (5.0,), (1.25,)]


def test_where_nothing_is_allowed_the_arm_brakes_fully() -> None:
    shaped = shaper()
    run(shaped, [30.0] * 5)
    walls = Walls(lambda _, __: False)
    shaped.set_walls(walls)
    braked = send(shaped, (30.0,))
    assert (braked.walled, braked.velocities_deg_s) == (True, (20.0,))
    assert (20.0,) not in walls.asked  # a full brake was allowed with the frame before it


def test_feed_forward_that_a_wall_forbids_goes_back_to_rest_target() -> None:
    shaped, targets = shaper(mode="feed_forward"), ramp(100.0)
    run(shaped, targets)
    shaped.set_walls(Walls(lambda _, speeds: speeds[0] < 100.0))
    back = send(shaped, (targets[-1] + 1.0,))
    assert back.walled
    assert back.velocities_deg_s[0] == pytest.approx(95.0)


def test_a_wall_that_forbids_nothing_changes_nothing() -> None:
    walled, free = shaper(), shaper()
    walled.set_walls(Walls(lambda _, __: True))
    assert run(walled, [30.0] * 60) == run(free, [30.0] * 60)
    walled.set_walls(None)
    assert not send(walled, (31.0,)).walled


# ---- soft stop, jumps


def test_a_soft_stop_brakes_every_joint_to_exact_rest_at_a_max() -> None:
    shaped = shaper(n_joints=2)
    for _ in range(30):
        last = send(shaped, (90.0, -40.0))
    while any(last.velocities_deg_s):
        before, last = last, shaped.propose_brake()
        shaped.commit(last)
        for fast, slow in zip(before.velocities_deg_s, last.velocities_deg_s, strict=True):
            assert abs(slow) == pytest.approx(max(0.0, abs(fast) - 5.0))
    assert shaped.at_rest
    shaped.commit(shaped.propose_brake())
    assert shaped.sent_deg == last.joints_deg


def test_an_arm_that_moves_is_not_at_rest() -> None:
    shaped = shaper(n_joints=2)
    send(shaped, (0.0, -40.0))
    assert not shaped.at_rest


def test_a_jump_beyond_the_braking_trail_is_told_once_per_episode() -> None:
    shaped = shaper(n_joints=2)
    trail_deg = 130.0**2 / 1000.0 + 1.3
    assert send(shaped, (0.0, trail_deg - 0.1)).jump_deg == 0.0
    first = send(shaped, (0.0, -40.0))
    assert first.jump_deg == pytest.approx(-40.0, abs=0.1)
    assert first.jump_joint == 1
    assert [send(shaped, (0.0, -40.0)).jump_deg for _ in range(10)] == [0.0] * 10
    for _ in range(60):
        send(shaped, (0.0, -40.0))
    again = send(shaped, (60.0, -40.0))
    assert (again.jump_deg, again.jump_joint) == (60.0, 0)


def test_a_fast_compliant_stream_is_never_called_a_jump() -> None:
    shaped = shaper()
    assert not any(send(shaped, (target,)).jump_deg for target in ramp(130.0, a_deg_s2=500.0, ticks=300))
