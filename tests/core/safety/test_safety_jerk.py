"""The jerk bound: what is done with a plan, and without one."""

import builtins
import math
from collections.abc import Sequence
from typing import Any

import pytest

from steadyhand.core.safety.braking import motion_bounds
from steadyhand.core.safety.jerk import SOLVER_TOLERANCE, JerkState, RuckigSolver, checked_step
from steadyhand.core.safety.shaper import Proposal, StreamShaper
from steadyhand.core.safety.tcp_bound import TcpBound
from steadyhand.ground.config_safety import StreamShaperConfig
from steadyhand.ground.errors import ConfigError

T_S = 0.01
CONFIG = StreamShaperConfig(v_max_deg_s=130.0, a_max_deg_s2=500.0, jerk_max_deg_s3=20000.0)


def solver(*, synchronised: bool = False, n_joints: int = 1) -> RuckigSolver:
    return RuckigSolver(
        n_joints=n_joints,
        period_s=T_S,
        a_max_deg_s2=500.0,
        jerk_max_deg_s3=20000.0,
        synchronised=synchronised,
    )


class Scripted:
    """A solver that answers what the test wants: a velocity over the tick, or None."""

    def __init__(self, *velocities_deg_s: float | None) -> None:
        self.answers = list(velocities_deg_s)
        self.asked: list[JerkState] = []

    def step(self, state: JerkState, target_deg: Sequence[float], v_max_deg_s: float) -> JerkState | None:
        self.asked.append(state)
        velocity = self.answers.pop(0)
        if velocity is None:
            return None
        moved = tuple(angle + velocity * T_S for angle in state.position_deg)
        return JerkState(moved, (velocity,), (7.0,))


def shaper(script: Any, **options: Any) -> StreamShaper:
    made = StreamShaper(CONFIG, n_joints=1, period_s=T_S, jerk_solver=script, **options)
    made.prime((0.0,))
    return made


def send(shaped: StreamShaper, target_deg: float = 30.0) -> Proposal:
    proposal = shaped.propose((target_deg,))
    shaped.commit(proposal)
    return proposal


@pytest.mark.peer
@pytest.mark.parametrize("synchronised", [False, True])
def test_a_plan_reaches_its_target_and_keeps_the_jerk_bound(synchronised: bool) -> None:
    shaped = shaper(solver(synchronised=synchronised))
    sent = [0.0, 0.0, 0.0, *(send(shaped).joints_deg[0] for _ in range(70))]
    assert sent[-1] == pytest.approx(30.0, abs=1e-6)
    for a, b, c, d in zip(sent, sent[1:], sent[2:], sent[3:], strict=False):
        assert abs(d - 3 * c + 3 * b - a) / T_S**3 <= 20000.0 + 1e-3


SYNCHRONISED = StreamShaperConfig(
    v_max_deg_s=130.0, a_max_deg_s2=500.0, jerk_max_deg_s3=20000.0, synchronised=True
)


def pair(script: Any, **options: Any) -> StreamShaper:
    made = StreamShaper(SYNCHRONISED, n_joints=2, period_s=T_S, jerk_solver=script, **options)
    made.prime((0.0, 0.0))
    return made


@pytest.mark.peer
@pytest.mark.parametrize("max_m_s", [None, 0.8, 0.4])
def test_a_synchronised_plan_is_a_straight_line(max_m_s: float | None) -> None:
    """The tool's bound is part of the plan: a plan begun anew at it leaves the line by a degree."""
    bound = None if max_m_s is None else TcpBound(max_m_s=max_m_s, reach_m=(0.9, 0.8))
    shaped = pair(solver(synchronised=True, n_joints=2), tcp_bound=bound)
    for _ in range(160):
        proposal = shaped.propose((30.0, -10.0))
        shaped.commit(proposal)
        first, second = proposal.joints_deg
        assert second == pytest.approx(-first / 3.0, abs=1e-9)
        if bound is not None and max_m_s is not None:
            assert bound.speed_m_s(proposal.velocities_deg_s) <= max_m_s + 1e-9
    assert proposal.joints_deg == pytest.approx((30.0, -10.0), abs=1e-6)


@pytest.mark.peer
def test_without_synchronising_a_joint_with_less_to_go_arrives_first() -> None:
    shaped = StreamShaper(CONFIG, n_joints=2, period_s=T_S, jerk_solver=solver(n_joints=2))
    shaped.prime((0.0, 0.0))
    for _ in range(33):
        shaped.commit(shaped.propose((30.0, -10.0)))
    assert shaped.sent_deg is not None
    assert shaped.sent_deg[1] == pytest.approx(-10.0, abs=1e-3)
    assert shaped.sent_deg[0] < 25.0


def test_an_accepted_plan_goes_on_from_where_it_stood() -> None:
    script = Scripted(4.0, 8.0)
    shaped = shaper(script)
    assert send(shaped).velocities_deg_s[0] == pytest.approx(4.0)
    send(shaped)
    assert script.asked[0] == JerkState((0.0,), (0.0,), (0.0,))
    assert script.asked[1] == JerkState((0.04,), (4.0,), (7.0,))


def test_any_solver_error_is_a_full_brake_and_the_plan_begins_anew() -> None:
    script = Scripted(5.0, 10.0, None, 5.0)
    shaped = shaper(script)
    send(shaped)
    send(shaped)
    assert send(shaped).velocities_deg_s[0] == pytest.approx(5.0)
    send(shaped)
    assert script.asked[3].velocity_deg_s == pytest.approx((5.0,))
    assert script.asked[3].acceleration_deg_s2 == (0.0,)


@pytest.mark.parametrize("lie", [5.1, -5.1, float("nan"), float("inf")])
def test_a_step_the_wire_may_not_make_is_a_full_brake(lie: float) -> None:
    assert send(shaper(Scripted(lie))).velocities_deg_s == (0.0,)


def test_a_plan_faster_than_the_ceiling_is_a_full_brake() -> None:
    shaped = shaper(Scripted(5.0, 10.0, 15.0))
    send(shaped)
    send(shaped)
    shaped.set_ceiling(12.0)
    assert send(shaped).velocities_deg_s[0] == pytest.approx(5.0)


def test_a_solver_that_creeps_up_never_gets_past_the_ceiling() -> None:
    """A tolerance on top of the last speed instead of the ceiling would let it gain a step a tick."""
    creeping = [*(5.0 * tick for tick in range(1, 27)), *(130.0 + 0.9e-9 * tick for tick in range(1, 200))]
    shaped = shaper(Scripted(*creeping))
    for _ in creeping:
        assert send(shaped).velocities_deg_s[0] <= 130.0 + SOLVER_TOLERANCE


BOUNDS = motion_bounds(a_max_deg_s2=512.0, period_s=0.015625)
"""Powers of two: 8 °/s a tick, and a velocity that survives the way over a position exactly."""


def wire_takes(velocity_deg_s: float, *, have_deg_s: float, v_max_deg_s: float) -> bool:
    class Answers:
        def step(self, state: JerkState, target_deg: Sequence[float], v_max_deg_s: float) -> JerkState:
            return JerkState((velocity_deg_s * BOUNDS.period_s,), (0.0,), (0.0,))

    step = checked_step(
        Answers(),
        JerkState((0.0,), (have_deg_s,), (0.0,)),
        target_deg=(1.0,),
        wire_deg_s=(have_deg_s,),
        v_max_deg_s=v_max_deg_s,
        plan_v_max_deg_s=1.0,
        bounds=BOUNDS,
        limits_deg=(),
    )
    return step is not None


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_plan_may_pass_a_bound_by_the_rounding_of_the_wire_and_no_more(side: float) -> None:
    within, beyond = 8.0 + SOLVER_TOLERANCE, 8.0 + 1.01 * SOLVER_TOLERANCE
    assert wire_takes(side * within, have_deg_s=0.0, v_max_deg_s=130.0)
    assert not wire_takes(side * beyond, have_deg_s=0.0, v_max_deg_s=130.0)
    assert wire_takes(side * within, have_deg_s=side * 4.0, v_max_deg_s=8.0)
    assert not wire_takes(side * beyond, have_deg_s=side * 4.0, v_max_deg_s=8.0)


def test_above_a_lowered_ceiling_a_plan_may_keep_its_speed_but_not_add_to_it() -> None:
    assert wire_takes(10.0, have_deg_s=10.0, v_max_deg_s=8.0)
    assert not wire_takes(10.0 + 2e-15, have_deg_s=10.0, v_max_deg_s=8.0)


def test_a_plan_for_another_number_of_joints_is_a_full_brake() -> None:
    class Wide:
        def step(self, state: JerkState, target_deg: Sequence[float], v_max_deg_s: float) -> JerkState:
            return JerkState((0.04, 0.04), (4.0, 4.0), (0.0, 0.0))

    assert send(shaper(Wide())).velocities_deg_s == (0.0,)


def test_a_plan_that_could_not_stop_in_its_limits_is_a_full_brake() -> None:
    shaped = shaper(Scripted(5.0, 10.0, 15.0), limits_deg=((-180.0, 0.30),))
    assert [round(send(shaped).velocities_deg_s[0], 9) for _ in range(3)] == [5.0, 10.0, 5.0]


def test_a_plan_that_passes_a_wall_is_a_full_brake() -> None:
    class Wall:
        def allows(self, joints_deg: Sequence[float], velocities_deg_s: Sequence[float]) -> bool:
            return velocities_deg_s[0] < 9.0

    shaped = shaper(Scripted(5.0, 10.0))
    shaped.set_walls(Wall())
    assert not send(shaped).walled
    blocked = send(shaped)
    assert blocked.walled
    assert blocked.velocities_deg_s == (0.0,)


def test_a_plan_slowed_to_the_tool_bound_begins_anew() -> None:
    script = Scripted(5.0, 5.0)
    shaped = shaper(script, tcp_bound=TcpBound(max_m_s=0.05, reach_m=(1.0,)))
    slowed = send(shaped).velocities_deg_s[0]
    assert slowed == pytest.approx(2.8647889757)
    send(shaped)
    assert script.asked[1].velocity_deg_s == pytest.approx((slowed,))
    assert script.asked[1].acceleration_deg_s2 == (0.0,)


class Pairs:
    """A solver of two joints that answers these velocities; keeps the ceiling it was given."""

    def __init__(self, *velocities_deg_s: tuple[float, float]) -> None:
        self.answers = list(velocities_deg_s)
        self.ceilings_deg_s: list[float] = []

    def step(self, state: JerkState, target_deg: Sequence[float], v_max_deg_s: float) -> JerkState:
        self.ceilings_deg_s.append(v_max_deg_s)
        first, second = self.answers.pop(0)
        at_first, at_second = state.position_deg
        return JerkState((at_first + first * T_S, at_second + second * T_S), (first, second), (7.0, 7.0))


FOURTEEN = TcpBound(max_m_s=math.radians(14.0), reach_m=(1.0, 1.0))
"""14 °/s of both joints together."""


def test_synchronised_a_plan_is_slowed_to_the_tool_bound_without_turning() -> None:
    shaped = pair(Pairs((4.0, 5.0), (8.0, 10.0)), tcp_bound=FOURTEEN)
    shaped.commit(shaped.propose((40.0, 50.0)))
    slowed = shaped.propose((40.0, 50.0))
    assert slowed.velocities_deg_s == pytest.approx((14.0 * 4.0 / 9.0, 14.0 * 5.0 / 9.0))
    assert slowed.plan is None


@pytest.mark.parametrize(
    ("limit_deg", "speeds_deg_s"), [(0.0923, (0.0, 5.0)), (0.0926, (0.25, 13.75)), (math.inf, (0.25, 13.75))]
)
def test_a_joint_that_slowing_together_would_carry_past_its_limit_is_braked_fully(
    limit_deg: float, speeds_deg_s: tuple[float, float]
) -> None:
    """The plan stops joint 1 at 0.09°; 7/8 of the way to it from a brake together is 0.0925°."""
    limits_deg = () if limit_deg == math.inf else ((-180.0, limit_deg), (-180.0, 180.0))
    shaped = pair(Pairs((5.0, 5.0), (4.0, 10.0), (0.0, 15.0)), tcp_bound=FOURTEEN, limits_deg=limits_deg)
    for _ in range(2):
        shaped.commit(shaped.propose((0.09, 50.0)))
    slowed = shaped.propose((0.09, 50.0))
    assert slowed.velocities_deg_s == pytest.approx(speeds_deg_s, abs=1e-9)
    assert slowed.walled is False


def test_a_plan_is_made_under_the_ceiling_of_its_line_and_the_wire_kept_to_the_one_in_force() -> None:
    planner = Pairs((5.0, 0.0), (10.0, 0.0), (13.5, 0.0))
    shaped = pair(planner, tcp_bound=FOURTEEN)
    shaped.commit(shaped.propose((30.0, 0.0)))
    shaped.commit(shaped.propose((30.1, -30.0)))
    beyond = shaped.propose((30.15, -30.0))
    assert planner.ceilings_deg_s == pytest.approx([14.0, 7.0, 7.0], abs=0.05)
    assert beyond.velocities_deg_s == pytest.approx((13.5, 0.0))
    assert beyond.plan is not None


def test_a_soft_stop_drops_the_plan() -> None:
    script = Scripted(5.0, 10.0, 10.0)
    shaped = shaper(script)
    send(shaped)
    send(shaped)
    shaped.commit(shaped.propose_brake())
    send(shaped)
    assert script.asked[2].acceleration_deg_s2 == (0.0,)


# ---- the library itself


@pytest.mark.peer
@pytest.mark.parametrize("target", [float("nan"), float("inf")])
def test_what_the_library_refuses_is_no_plan(target: float) -> None:
    assert solver().step(JerkState((0.0,), (0.0,), (0.0,)), (target,), 130.0) is None


@pytest.mark.peer
def test_what_the_library_reports_as_an_error_is_no_plan() -> None:
    made: Any = solver()

    class Failing:
        def update(self, request: object, output: object) -> object:
            return object()

        def reset(self) -> None:
            pass

    made._generator = Failing()
    assert made.step(JerkState((0.0,), (0.0,), (0.0,)), (1.0,), 130.0) is None


def test_a_solver_brought_back_to_its_trajectory_goes_on_in_the_same_digits() -> None:
    """R17: a snapshot is put back in the middle of a plan."""
    whole, again = solver(), solver()
    state: JerkState | None = JerkState((0.0,), (0.0,), (0.0,))
    walked: list[JerkState] = []
    for step in range(40):
        assert state is not None
        state = whole.step(state, (30.0,), 100.0)
        assert state is not None
        walked.append(state)
        if step == 19:
            again._origin, again._steps = whole._origin, whole._steps
            again.resume()
    resumed: JerkState | None = walked[19]
    for expected in walked[20:]:
        assert resumed is not None
        resumed = again.step(resumed, (30.0,), 100.0)
        assert resumed == expected


def test_a_solver_without_a_trajectory_is_brought_back_to_none() -> None:
    fresh = solver()
    fresh.resume()
    start = JerkState((0.0,), (0.0,), (0.0,))
    assert fresh.step(start, (30.0,), 100.0) == solver().step(start, (30.0,), 100.0)


def test_a_jerk_bound_without_the_library_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_ruckig(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "ruckig":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_ruckig)
    with pytest.raises(ConfigError) as refused:
        solver()
    assert str(refused.value) == (
        "safety.stream_shaper.jerk_max_deg_s3: a jerk bound needs the ruckig library, which is not installed "
        "(install the extra 'peers', or leave the jerk bound out)"
    )
