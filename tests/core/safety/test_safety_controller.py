"""The point of it all: no shaped stream ever faults the controller, and the same streams unshaped do.

The controller judges successive accepted frames over the nominal period, whenever they arrive (R10).
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest

from steadyhand.core.controller.admission import ServoFrame
from steadyhand.core.controller.codes import ReturnCode
from steadyhand.core.controller.constants import PRESETS, ControllerConstants
from steadyhand.core.controller.model import ControllerModel
from steadyhand.core.controller.triggers import JointSpeedTrigger, TcpSpeedTrigger, Trigger
from steadyhand.core.safety.jerk import RuckigSolver
from steadyhand.core.safety.policy import reach_m
from steadyhand.core.safety.shaper import StreamShaper
from steadyhand.core.safety.tcp_bound import TcpBound
from steadyhand.ground.arms import FR3
from steadyhand.ground.config_safety import StreamShaperConfig

MS = 1_000_000
T_NS = 10 * MS
START_NS = 2000 * MS
START_DEG: tuple[float, ...] = (0.0, -90.0, 90.0, -90.0, -90.0, 0.0)
LIMITS_DEG = tuple(zip(FR3.limits.lower_deg, FR3.limits.upper_deg, strict=True))
OPTIONS = [(mode, synchronised) for mode in ("rest_target", "feed_forward") for synchronised in (False, True)]
RUNS_AWAY = sorted(name for name, constants in PRESETS.items() if constants.runs_away)


class Arm:
    """A controller past its enable window, and the clock of the stream that drives it."""

    def __init__(
        self, constants: ControllerConstants, *, seed: int = 1, trigger: Trigger | None = None
    ) -> None:
        self.controller = ControllerModel(
            constants, Random(seed), joint_limits=FR3.limits, joints_deg=START_DEG, trigger=trigger
        )
        self.controller.enable(0)
        self.controller.servo_move_start(0)
        self.now_ns = START_NS
        self.dice = Random(seed)

    def send(self, joints_deg: Sequence[float]) -> ReturnCode:
        """One frame, up to 4 ms early or late."""
        self.now_ns += T_NS
        arrival_ns = self.now_ns + round((2.0 * self.dice.random() - 1.0) * 4 * MS)
        return self.controller.servo_j(ServoFrame(joints_deg=tuple(joints_deg), period_ns=T_NS), arrival_ns)

    def re_engage(self) -> tuple[float, ...]:
        """End the stream, let the arm come to rest, begin another; the pose it is measured at."""
        self.controller.servo_move_end(self.now_ns + 5 * MS)
        self.now_ns += 1500 * MS
        self.controller.servo_move_start(self.now_ns)
        return self.controller.state(self.now_ns).joints_deg

    @property
    def faulted(self) -> bool:
        return self.controller.state(self.now_ns + 10 * MS).main_code != 0


def shaper(mode: str, synchronised: bool, max_m_s: float | None = None) -> StreamShaper:
    config = StreamShaperConfig(
        v_max_deg_s=130.0,
        a_max_deg_s2=500.0,
        mode="feed_forward" if mode == "feed_forward" else "rest_target",
        synchronised=synchronised,
    )
    bound = None if max_m_s is None else TcpBound(max_m_s=max_m_s, reach_m=reach_m(FR3.chain))
    made = StreamShaper(config, n_joints=6, period_s=0.01, limits_deg=LIMITS_DEG, tcp_bound=bound)
    made.prime(START_DEG)
    return made


def jerk_bounded(synchronised: bool) -> StreamShaper:
    config = StreamShaperConfig(
        v_max_deg_s=130.0, a_max_deg_s2=500.0, jerk_max_deg_s3=20000.0, synchronised=synchronised
    )
    solver = RuckigSolver(
        n_joints=6, period_s=0.01, a_max_deg_s2=500.0, jerk_max_deg_s3=20000.0, synchronised=synchronised
    )
    made = StreamShaper(config, n_joints=6, period_s=0.01, limits_deg=LIMITS_DEG, jerk_solver=solver)
    made.prime(START_DEG)
    return made


def play(arm: Arm, shaped: StreamShaper, stream: Sequence[Any]) -> set[ReturnCode]:
    """The stream through the shaper, one write in thirteen failing; every answer there was."""
    answers = set()
    for tick, shock in enumerate(stream):
        if shock.kind == "engage":
            shaped.forget()
            shaped.prime(arm.re_engage())
        elif shock.kind in ("target", "hold"):
            proposal = shaped.propose(shock.target_deg, fresh=shock.kind == "target")
            if tick % 13 == 0:
                arm.now_ns += T_NS  # the socket did not take it
                continue
            answers.add(arm.send(proposal.joints_deg))
            shaped.commit(proposal)
    return answers


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize(("mode", "synchronised"), OPTIONS)
def test_no_shaped_stream_faults_the_controller(
    name: str, mode: str, synchronised: bool, shocks: Callable[..., Any]
) -> None:
    arm = Arm(PRESETS[name], seed=3)
    answers = play(arm, shaper(mode, synchronised), list(shocks(11)))
    assert answers == {ReturnCode.OK}
    assert not arm.faulted


@pytest.mark.peer
@pytest.mark.parametrize("name", RUNS_AWAY)
@pytest.mark.parametrize("synchronised", [False, True])
def test_no_stream_under_a_jerk_bound_faults_the_controller(
    name: str, synchronised: bool, shocks: Callable[..., Any]
) -> None:
    arm = Arm(PRESETS[name], seed=3)
    assert play(arm, jerk_bounded(synchronised), list(shocks(11))) == {ReturnCode.OK}
    assert not arm.faulted


@pytest.mark.parametrize("name", RUNS_AWAY)
def test_the_same_streams_unshaped_do_fault(name: str, shocks: Callable[..., Any]) -> None:
    arm = Arm(PRESETS[name], seed=3)
    for shock in shocks(11):
        if shock.kind in ("target", "hold"):
            arm.send(shock.target_deg)
    assert arm.faulted


@pytest.mark.parametrize(("mode", "synchronised"), OPTIONS)
def test_no_bounded_stream_faults_a_controller_that_judges_tool_speed(
    mode: str, synchronised: bool, shocks: Callable[..., Any]
) -> None:
    trigger = TcpSpeedTrigger(chain=FR3.chain, limit_m_s=0.8)
    bounded = Arm(PRESETS["fr3"], trigger=trigger)
    assert play(bounded, shaper(mode, synchronised, 0.8), list(shocks(12))) == {ReturnCode.OK}
    assert not bounded.faulted
    unbounded = Arm(PRESETS["fr3"], trigger=trigger)
    play(unbounded, shaper(mode, synchronised), list(shocks(12)))
    assert unbounded.faulted


def test_no_shaped_stream_faults_a_controller_that_judges_joint_speed(shocks: Callable[..., Any]) -> None:
    arm = Arm(PRESETS["fr3"], trigger=JointSpeedTrigger(limit_deg_s=(130.0,) * 6))
    assert play(arm, shaper("feed_forward", False), list(shocks(13))) == {ReturnCode.OK}


@pytest.mark.parametrize("jump_deg", [2.5, 10.0, 29.0])
@pytest.mark.parametrize("name", RUNS_AWAY)
def test_a_shaped_jump_arrives_without_reject_where_the_raw_one_runs_away(name: str, jump_deg: float) -> None:
    """Document 001: 10° through the shaper arrives; 2.5° without it swept 88.6°."""
    target = (jump_deg, *START_DEG[1:])
    arm, shaped = Arm(PRESETS[name]), shaper("rest_target", False)
    for _ in range(100):
        proposal = shaped.propose(target)
        shaped.commit(proposal)
        assert arm.send(proposal.joints_deg) is ReturnCode.OK
    assert not arm.faulted
    assert arm.controller.state(arm.now_ns + 10 * MS).joints_deg == pytest.approx(target, abs=1e-3)
    raw = Arm(PRESETS[name])
    raw.send(START_DEG)
    raw.send(target)
    assert raw.faulted
