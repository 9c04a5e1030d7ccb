"""What trips the controller, each trigger by itself and inside the model."""

import math
from collections.abc import Callable
from itertools import pairwise
from random import Random

import pytest

from steadyhand.core.controller.admission import ServoFrame, step_between
from steadyhand.core.controller.codes import ReturnCode
from steadyhand.core.controller.constants import FR3, SIM
from steadyhand.core.controller.model import ControllerModel
from steadyhand.core.controller.triggers import (
    FrameStep,
    JointSpeedTrigger,
    NoTrigger,
    Response,
    TcpSpeedTrigger,
    Trip,
    VelocityStepTrigger,
)
from steadyhand.ground.arms import FR3 as FR3_ARM

Ready = Callable[..., ControllerModel]
MS = 1_000_000
T_NS = 10 * MS
NOW_NS = 2000 * MS


def step(to_deg: tuple[float, ...], *, before_deg_s: float = 0.0, period_ns: int = T_NS) -> FrameStep:
    count = len(to_deg)
    frame = ServoFrame(joints_deg=to_deg, period_ns=period_ns)
    return step_between((0.0,) * count, (before_deg_s,) + (0.0,) * (count - 1), frame)


class Coins(Random):
    """Fixed draws, counted."""

    def __init__(self, *draws: float) -> None:
        super().__init__(0)
        self.draws = list(draws)

    def random(self) -> float:
        return self.draws.pop(0)


BAND = VelocityStepTrigger(onset_deg_s=100.0, certain_deg_s=150.0, sweep_chance=0.5)


@pytest.mark.parametrize(
    ("jump_deg", "draws", "response"),
    [
        (1.0, (), None),
        (1.25, (0.5,), None),
        (1.25, (0.499, 0.5), Response.SETTLE),
        (1.25, (0.499, 0.499), Response.SWEEP),
        (1.4, (0.79, 0.9), Response.SETTLE),
        (1.4, (0.81,), None),
        (1.5, (0.999, 0.2), Response.SWEEP),
        (1.51, (), Response.SWEEP),
        (-1.51, (), Response.SWEEP),
    ],
)
def test_the_velocity_step_trigger_draws_only_inside_its_band(
    jump_deg: float, draws: tuple[float, ...], response: Response | None
) -> None:
    coins = Coins(*draws)
    trip = BAND.judge(step((0.0, jump_deg, 0.3)), coins)
    assert coins.draws == []
    assert (None if trip is None else trip.response) is response
    assert trip is None or (trip.sub_code, trip.axis) == (32, 1)


def test_the_velocity_step_trigger_judges_the_change_and_not_the_speed() -> None:
    """600 °/s held is no discontinuity; stopping from 160 °/s in one frame is."""
    assert BAND.judge(step((6.0,), before_deg_s=600.0), Coins()) is None
    assert BAND.judge(step((0.0,), before_deg_s=160.0), Coins()) == Trip(
        sub_code=32, axis=0, response=Response.SWEEP
    )


def test_a_band_of_no_width_is_a_threshold() -> None:
    edge = VelocityStepTrigger(onset_deg_s=100.0, certain_deg_s=100.0, sweep_chance=0.5)
    assert edge.judge(step((1.0,)), Coins()) is None
    assert edge.judge(step((1.001,)), Coins()) is not None


@pytest.mark.parametrize(("axis", "sub_code"), [(0, 23), (3, 26), (5, 28)])
def test_the_joint_speed_trigger_names_the_first_axis_over_its_limit(axis: int, sub_code: int) -> None:
    trigger = JointSpeedTrigger(limit_deg_s=(180.0,) * 6)
    too_fast = tuple(1.81 if joint >= axis else 1.8 for joint in range(6))
    trip = trigger.judge(step(too_fast), Coins())
    assert trip == Trip(sub_code=sub_code, axis=axis, response=Response.SWEEP)
    assert trigger.judge(step((1.8,) * 6), Coins()) is None
    assert trigger.judge(step((-1.81,) + (0.0,) * 5), Coins()) is not None


def test_the_tcp_speed_trigger_goes_by_forward_kinematics() -> None:
    """R10: 1.0 to 1.5° in 10 ms moves a stretched FR3's tool at 0.97 to 1.46 m/s."""
    trigger = TcpSpeedTrigger(chain=FR3_ARM.chain, limit_m_s=1.2)
    assert trigger.judge(step((1.0,) + (0.0,) * 5), Coins()) is None
    trip = trigger.judge(step((1.5,) + (0.0,) * 5), Coins())
    assert trip == Trip(sub_code=32, axis=0, response=Response.SWEEP)
    # The same step of the last wrist joint hardly moves the tool.
    assert trigger.judge(step((0.0,) * 5 + (1.5,)), Coins()) is None


def test_no_trigger_never_trips() -> None:
    assert NoTrigger().judge(step((170.0,)), Coins()) is None


def test_the_model_runs_away_by_whichever_trigger_it_was_given(ready: Ready) -> None:
    controller = ready(FR3, trigger=TcpSpeedTrigger(chain=FR3_ARM.chain, limit_m_s=0.5))
    codes = [
        controller.servo_j(
            ServoFrame(joints_deg=(0.003 * tick * tick,) + (0.0,) * 5, period_ns=T_NS), NOW_NS + tick * T_NS
        )
        for tick in range(120)
    ]
    assert ReturnCode.EXECUTION_FAILED in codes
    assert controller.state(NOW_NS + 1200 * MS).sub_code == 32


def test_a_trigger_that_only_refuses_stops_the_model_without_a_sweep(ready: Ready) -> None:
    trigger = JointSpeedTrigger(limit_deg_s=(50.0,) * 6, response=Response.REFUSE)
    controller = ready(FR3, trigger=trigger)
    frame = ServoFrame(joints_deg=(0.6,) + (0.0,) * 5, period_ns=T_NS)
    assert controller.servo_j(frame, NOW_NS) is ReturnCode.EXECUTION_FAILED
    later = controller.state(NOW_NS + 1000 * MS)
    assert (later.joints_deg[0], later.main_code, later.sub_code) == (0.0, 1, 23)


def test_a_refused_frame_in_motion_brakes_the_arm_at_once(ready: Ready) -> None:
    """What was accepted before it is not executed any more; after the reset the arm's pose counts."""
    trigger = JointSpeedTrigger(limit_deg_s=(50.0,) * 6, response=Response.REFUSE)
    controller = ready(FR3, trigger=trigger)
    for tick in range(30):
        frame = ServoFrame(joints_deg=(0.4 * tick,) + (0.0,) * 5, period_ns=T_NS)
        assert controller.servo_j(frame, NOW_NS + tick * T_NS) is ReturnCode.OK
    refused_ns = NOW_NS + 30 * T_NS
    before_deg = controller.state(refused_ns).joints_deg[0]
    too_fast = ServoFrame(joints_deg=(13.0,) + (0.0,) * 5, period_ns=T_NS)
    assert controller.servo_j(too_fast, refused_ns) is ReturnCode.EXECUTION_FAILED
    rests_at_deg = controller.state(refused_ns + 1000 * MS).joints_deg[0]
    assert rests_at_deg - before_deg == pytest.approx(40.0**2 / 5000.0, abs=1e-6)
    controller.reset_all_errors(refused_ns + 1000 * MS)
    again = ServoFrame(joints_deg=(rests_at_deg + 0.4,) + (0.0,) * 5, period_ns=T_NS)
    assert controller.servo_j(again, refused_ns + 1000 * MS) is ReturnCode.OK


def ramp_80(controller: ControllerModel) -> list[ReturnCode]:
    """Experiment 6: a smooth ramp to 80 °/s over 200 ms, then cruise."""
    codes, joint_deg = [], 0.0
    for tick in range(60):
        joint_deg += min(80.0, 400.0 * tick * 0.010) * 0.010
        frame = ServoFrame(joints_deg=(joint_deg,) + (0.0,) * 5, period_ns=T_NS)
        codes.append(controller.servo_j(frame, NOW_NS + tick * T_NS))
    return codes


def test_the_configurable_tcp_protection_stops_an_80_degree_ramp_and_adjusted_lets_it_pass(
    ready: Ready,
) -> None:
    """001, experiment 6: set conservatively for the cell it stopped the run; adjusted, the run was clean."""
    strict = ready(FR3, limits=(TcpSpeedTrigger(chain=FR3_ARM.chain, limit_m_s=0.5),))
    codes = ramp_80(strict)
    first = codes.index(ReturnCode.EXECUTION_FAILED)
    assert set(codes[first:]) == {ReturnCode.EXECUTION_FAILED}
    stopped = strict.state(NOW_NS + 2000 * MS)
    assert (stopped.main_code, stopped.sub_code) == (1, 32)
    assert stopped.joint_velocities_deg_s == (0.0,) * 6
    assert stopped.joints_deg[0] < 15.0
    assert strict.reset_all_errors(NOW_NS + 2000 * MS) is ReturnCode.OK

    adjusted = ready(FR3, limits=(TcpSpeedTrigger(chain=FR3_ARM.chain, limit_m_s=1.0),))
    assert set(ramp_80(adjusted)) == {ReturnCode.OK}


def test_limits_are_asked_before_the_trigger_and_guard_the_simulator_too(ready: Ready) -> None:
    limit = JointSpeedTrigger(limit_deg_s=(180.0,) * 6)
    for constants in (FR3, SIM):
        controller = ready(constants, limits=(limit,))
        frame = ServoFrame(joints_deg=(2.5,) + (0.0,) * 5, period_ns=T_NS)
        assert controller.servo_j(frame, NOW_NS) is ReturnCode.EXECUTION_FAILED
        later = controller.state(NOW_NS + 1000 * MS)
        assert (later.joints_deg[0], later.sub_code) == (0.0, 23)


def test_a_preset_that_never_runs_away_never_asks_its_trigger(ready: Ready) -> None:
    controller = ready(SIM, trigger=JointSpeedTrigger(limit_deg_s=(1.0,) * 6))
    frame = ServoFrame(joints_deg=(2.5,) + (0.0,) * 5, period_ns=T_NS)
    assert controller.servo_j(frame, NOW_NS) is ReturnCode.OK
    assert controller.state(NOW_NS + 1000 * MS).joints_deg[0] == 2.5


def test_a_sweep_follows_the_steps_direction_in_joint_space(ready: Ready) -> None:
    controller = ready(FR3)
    frame = ServoFrame(joints_deg=(2.0, -1.0, 0.0, 0.0, 0.5, 0.0), period_ns=T_NS)
    controller.servo_j(frame, NOW_NS)
    end = controller.state(NOW_NS + 2000 * MS).joints_deg
    assert end[0] > 28.0
    assert end[1] == pytest.approx(-end[0] / 2)
    assert end[4] == pytest.approx(end[0] / 4)
    assert (end[2], end[3], end[5]) == (0.0, 0.0, 0.0)


def test_a_sweep_ends_at_the_joints_limit(ready: Ready) -> None:
    controller = ready(FR3)
    frame = ServoFrame(joints_deg=(0.0, 4.8, 0.0, 0.0, 0.0, 0.0), period_ns=T_NS)
    controller.servo_j(frame, NOW_NS)
    assert controller.state(NOW_NS + 2000 * MS).joints_deg[1] == pytest.approx(85.0, abs=1e-9)


def test_a_jump_in_motion_keeps_the_arm_continuous(ready: Ready) -> None:
    """The sweep sets off from the motion the arm was in: no joint jumps, none exceeds the maximum."""
    controller = ready(FR3)
    joint_deg, states = 0.0, []
    for tick in range(160):
        velocity = min(5.0 * tick, 100.0) + (300.0 if tick == 60 else 0.0)
        joint_deg += velocity * 0.010
        frame = ServoFrame(joints_deg=(joint_deg,) + (0.0,) * 5, period_ns=T_NS)
        controller.servo_j(frame, NOW_NS + tick * T_NS)
        states += [controller.state(NOW_NS + tick * T_NS + ms * MS) for ms in range(10)]
    poses = [state.joints_deg[0] for state in states]
    assert max(abs(b - a) for a, b in pairwise(poses)) < 0.001 * 197.0
    assert max(state.joint_velocities_deg_s[0] for state in states) <= 196.0 + 1e-6
    assert math.isfinite(poses[-1])
