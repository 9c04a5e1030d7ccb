"""Document 001's figures, one test each: what the campaign measured, the model must measure too.

The probe is the campaign's own: setpoints every 10 ms, the state read every 1 ms, one clock.
"""

from collections.abc import Callable
from random import Random

import msgspec
import pytest

from steadyhand.core.controller.admission import ServoFrame
from steadyhand.core.controller.codes import ReturnCode
from steadyhand.core.controller.constants import FR3, FR20, PRESETS, SIM, ControllerConstants
from steadyhand.core.controller.model import ControllerModel
from steadyhand.core.controller.state import ControllerState
from steadyhand.ground.arms import FR3 as FR3_ARM

Ready = Callable[..., ControllerModel]
MS = 1_000_000
T_NS = 10 * MS
START_NS = 2000 * MS


def frame(joint_deg: float, period_ns: int = T_NS) -> ServoFrame:
    return ServoFrame(joints_deg=(joint_deg, 0.0, 0.0, 0.0, 0.0, 0.0), period_ns=period_ns)


class Run(msgspec.Struct):
    """What one step run recorded, times from the step's instant."""

    codes: list[ReturnCode]
    states: list[ControllerState]
    step_ns: int

    @property
    def travel_deg(self) -> float:
        return max(abs(state.joints_deg[0]) for state in self.states)

    @property
    def peak_deg_s(self) -> float:
        return max(abs(state.joint_velocities_deg_s[0]) for state in self.states)

    @property
    def first_move_ms(self) -> float:
        moved = next(state for state in self.states if abs(state.joints_deg[0]) > 1e-6)
        return (moved.time_ns - self.step_ns) / MS


def inject(controller: ControllerModel, step_deg: float, *, hold_ms: int = 1500) -> Run:
    """Track at zero for 200 ms, then step joint 1 and hold: the campaign's gap injector."""
    for tick in range(20):
        assert controller.servo_j(frame(0.0), START_NS + tick * T_NS) is ReturnCode.OK
    step_ns = START_NS + 20 * T_NS
    run = Run(codes=[], states=[], step_ns=step_ns)
    for ms in range(hold_ms):
        now_ns = step_ns + ms * MS
        if ms % 10 == 0:
            run.codes.append(controller.servo_j(frame(step_deg), now_ns))
        run.states.append(controller.state(now_ns))
    return run


def test_a_jump_of_2_5_degrees_sweeps_88_6_degrees_at_196_degrees_per_second(ready: Ready) -> None:
    run = inject(ready(FR3), 2.5)
    assert run.travel_deg == pytest.approx(88.6, rel=0.10)
    assert run.travel_deg == pytest.approx(88.57, abs=0.02)
    assert run.peak_deg_s == pytest.approx(196.0, abs=1.0)
    assert run.states[-1].joints_deg[0] == pytest.approx(88.57, abs=0.02)


def test_the_sweep_does_not_depend_on_the_coin(ready: Ready) -> None:
    """88.57° over UDP and 88.56° over RPC: outside the band nothing is drawn."""
    travels = {inject(ready(FR3, seed), 2.5, hold_ms=1000).travel_deg for seed in range(4)}
    assert len(travels) == 1


def test_the_fault_is_latched_at_the_step_before_any_motion(ready: Ready) -> None:
    run = inject(ready(FR3), 2.5)
    assert (run.states[0].main_code, run.states[0].sub_code) == (1, 32)
    assert run.first_move_ms == pytest.approx(78 - 10, abs=2.0)
    assert (run.states[-1].main_code, run.states[-1].sub_code) == (1, 32)


def test_every_command_is_rejected_with_14_for_0_9_seconds(ready: Ready) -> None:
    """The frame that trips is taken (0); the 89 that follow within 0.9 s are not."""
    controller = ready(FR3)
    run = inject(controller, 2.5, hold_ms=900)
    assert run.codes[0] is ReturnCode.OK
    assert set(run.codes[1:]) == {ReturnCode.EXECUTION_FAILED}
    assert len(run.codes) == 90
    # Where the arm came to rest, setpoints are taken again; the fault stays to be read.
    at_ns = run.step_ns + 900 * MS
    assert controller.servo_j(frame(run.states[-1].joints_deg[0]), at_ns) is ReturnCode.OK
    assert controller.state(at_ns).main_code == 1


def test_the_sweep_stops_by_itself_within_the_window(ready: Ready) -> None:
    run = inject(ready(FR3), 2.5)
    last_moving = max(state.time_ns for state in run.states if state.joint_velocities_deg_s[0] != 0.0)
    assert 400 < (last_moving - run.step_ns) / MS < 900
    assert run.states[-1].motion_done == 1


@pytest.mark.parametrize("step_deg", [1.6, 2.0, 2.5, 3.0, 4.8])
def test_the_sweep_travels_14_to_35_steps_at_the_steps_speed_clamped(ready: Ready, step_deg: float) -> None:
    run = inject(ready(FR3), step_deg)
    assert 14.0 <= run.travel_deg / step_deg <= 35.5
    assert run.peak_deg_s == pytest.approx(min(step_deg / 0.010, 196.0), rel=1e-6)


def test_a_step_the_other_way_sweeps_the_other_way(ready: Ready) -> None:
    run = inject(ready(FR3), -2.5)
    assert run.states[-1].joints_deg[0] == pytest.approx(-88.57, abs=0.02)


def test_in_the_band_1_5_degrees_always_faults_and_the_coin_decides_about_the_sweep(ready: Ready) -> None:
    runs = [inject(ready(FR3, seed), 1.5, hold_ms=800) for seed in range(24)]
    assert all(run.states[0].sub_code == 32 for run in runs)
    bounded = [run for run in runs if run.travel_deg <= 1.5 + 1e-9]
    swept = [run for run in runs if run.travel_deg >= 14.0]
    assert len(bounded) + len(swept) == 24
    assert 6 <= len(bounded) <= 18
    assert all(run.states[-1].joints_deg[0] == pytest.approx(1.5, abs=1e-9) for run in bounded)


def test_inside_the_band_a_jump_faults_the_likelier_the_larger_it_is(ready: Ready) -> None:
    def faults(step_deg: float) -> int:
        return sum(inject(ready(FR3, seed), step_deg, hold_ms=1).states[0].main_code for seed in range(60))

    assert faults(1.0) == 0
    assert 3 <= faults(1.15) < faults(1.35) <= 57


@pytest.mark.parametrize("step_deg", [0.2, 0.5, 0.9, 1.0])
def test_up_to_one_degree_a_tick_nothing_ever_happens(ready: Ready, step_deg: float) -> None:
    for seed in range(8):
        run = inject(ready(FR3, seed), step_deg, hold_ms=200)
        assert set(run.codes) == {ReturnCode.OK}
        assert run.states[-1].joints_deg[0] == step_deg


@pytest.mark.parametrize("axis", range(6))
def test_a_30_degree_step_is_refused_with_the_axis_speed_code_and_no_motion(ready: Ready, axis: int) -> None:
    controller = ready(FR3)
    controller.servo_j(frame(0.0), START_NS)
    target = tuple(-30.0 if joint == axis else 0.0 for joint in range(6))
    refused = controller.servo_j(ServoFrame(joints_deg=target, period_ns=T_NS), START_NS + T_NS)
    assert refused is ReturnCode.EXECUTION_FAILED
    later = controller.state(START_NS + 2000 * MS)
    assert (later.main_code, later.sub_code) == (1, 23 + axis)
    assert later.joints_deg == (0.0,) * 6
    # "… and can be reset": until then every setpoint is refused, afterwards none.
    assert controller.servo_j(frame(0.0), START_NS + 2000 * MS) is ReturnCode.EXECUTION_FAILED
    assert controller.reset_all_errors(START_NS + 2000 * MS) is ReturnCode.OK
    assert controller.servo_j(frame(0.0), START_NS + 2010 * MS) is ReturnCode.OK


def enable_then_stream_at_once(*, speed_deg_s: float) -> tuple[list[ReturnCode], list[ControllerState]]:
    """Experiment 2: the ramp starts while RobotEnable has only just returned."""
    controller = ControllerModel(
        FR3,
        Random(1),
        joint_limits=FR3_ARM.limits,
        joints_deg=(0.0,) * 6,
    )
    assert controller.enable(0) is ReturnCode.OK
    assert controller.servo_move_start(0) is ReturnCode.OK
    codes, states = [], []
    for ms in range(3000):
        if ms % 10 == 0:
            codes.append(controller.servo_j(frame(speed_deg_s * ms / 1000.0), ms * MS))
        states.append(controller.state(ms * MS))
    return codes, states


def test_the_enable_window_answers_101_for_1_4_seconds_and_executes_nothing() -> None:
    codes, states = enable_then_stream_at_once(speed_deg_s=0.2)
    assert codes[:140] == [ReturnCode.NOT_ENABLED] * 140
    assert codes[140] is ReturnCode.OK
    assert all(state.joints_deg[0] == 0.0 for state in states[:1400])
    assert all(state.enabled == 1 for state in states)


def test_the_gap_of_the_enable_window_becomes_a_sweep_of_158_degrees() -> None:
    """The setpoint has advanced by 4.8° when the first one is accepted, at 1.4 s."""
    codes, states = enable_then_stream_at_once(speed_deg_s=4.8 / 1.4)
    assert codes[139:142] == [ReturnCode.NOT_ENABLED, ReturnCode.OK, ReturnCode.EXECUTION_FAILED]
    assert max(state.joints_deg[0] for state in states) == pytest.approx(158.0, rel=0.02)
    assert 180.0 <= max(state.joint_velocities_deg_s[0] for state in states) <= 209.0


def test_an_arm_already_enabled_has_no_window(ready: Ready) -> None:
    controller = ready(FR3)
    assert controller.enable(START_NS) is ReturnCode.OK
    assert controller.servo_j(frame(0.0), START_NS) is ReturnCode.OK


def test_the_estop_button_stops_a_runaway_and_needs_a_power_cycle(ready: Ready) -> None:
    controller = ready(FR3)
    run = inject(controller, 2.5, hold_ms=200)
    now_ns = run.step_ns + 200 * MS
    pressed_at_deg = controller.state(now_ns).joints_deg[0]
    controller.press_estop(now_ns)
    stopped = controller.state(now_ns + 500 * MS)
    assert stopped.emergency_stop == 1
    assert stopped.enabled == 0
    assert stopped.joint_velocities_deg_s == (0.0,) * 6
    assert stopped.joints_deg[0] - pressed_at_deg == pytest.approx(196.0**2 / (2 * 2500.0), rel=1e-6)
    controller.release_estop(now_ns + 600 * MS)
    assert controller.servo_j(frame(0.0), now_ns + 600 * MS) is ReturnCode.ESTOP
    controller.power_cycle(now_ns + 700 * MS)
    assert controller.state(now_ns + 700 * MS).emergency_stop == 0
    assert controller.enable(now_ns + 700 * MS) is ReturnCode.OK
    assert controller.servo_j(frame(0.0), now_ns + 700 * MS) is ReturnCode.NOT_ENABLED


def test_stop_motion_is_no_arrest_during_a_runaway(ready: Ready) -> None:
    """001, "Honest limits": detection is fast; arrest is not ours."""
    controller = ready(FR3)
    run = inject(controller, 2.5, hold_ms=100)
    assert controller.stop_motion(run.step_ns + 100 * MS) is ReturnCode.EXECUTION_FAILED
    assert controller.state(run.step_ns + 1500 * MS).joints_deg[0] == pytest.approx(88.57, abs=0.02)


@pytest.mark.parametrize("step_deg", [2.5, 5.0, 30.0, 90.0])
def test_the_vendors_simulator_never_runs_away_and_executes_any_jump(ready: Ready, step_deg: float) -> None:
    run = inject(ready(SIM), step_deg, hold_ms=600)
    assert set(run.codes) == {ReturnCode.OK}
    assert run.travel_deg == pytest.approx(step_deg, abs=1e-9)
    assert run.states[-1].main_code == 0


def test_the_simulators_step_response_is_about_33_ms(ready: Ready) -> None:
    """Half way through the one tick in which the jump is executed."""
    run = inject(ready(SIM), 10.0, hold_ms=100)
    half_way = next(state.time_ns for state in run.states if state.joints_deg[0] >= 5.0)
    assert (half_way - run.step_ns) / MS == pytest.approx(33.0, abs=2.0)


def ramp(controller: ControllerModel, speed_deg_s: float, sweep_deg: float) -> tuple[float, float]:
    """The campaign's ramp mode: L from the mean cruise delta, and from the midpoint crossing, in ms."""
    ramp_s, period_s = 0.2, 0.010
    cruise_s = sweep_deg / speed_deg_s - ramp_s
    deltas_deg: list[float] = []

    def commanded(t_s: float) -> float:
        if t_s < ramp_s:
            return speed_deg_s * t_s * t_s / (2 * ramp_s)
        if t_s < ramp_s + cruise_s:
            return speed_deg_s * (t_s - ramp_s / 2)
        left_s = max(2 * ramp_s + cruise_s - t_s, 0.0)
        return sweep_deg - speed_deg_s * left_s * left_s / (2 * ramp_s)

    crossed_ms: float | None = None
    for ms in range(round(1000 * (2 * ramp_s + cruise_s)) + 300):
        now_ns, t_s = START_NS + ms * MS, ms / 1000.0
        if ms % 10 == 0:
            assert controller.servo_j(frame(commanded(t_s)), now_ns) is ReturnCode.OK
        state = controller.state(now_ns)
        if ms % 10 == 0 and ramp_s + 0.15 < t_s < ramp_s + cruise_s - period_s:
            deltas_deg.append(commanded(t_s) - state.joints_deg[0])
        if crossed_ms is None and state.joints_deg[0] >= sweep_deg / 2:
            behind_deg = state.joints_deg[0] - sweep_deg / 2
            crossed_ms = ms - 1000 * behind_deg / speed_deg_s - 1000 * (ramp_s + cruise_s / 2)
    assert crossed_ms is not None
    assert controller.state(START_NS + 20_000 * MS).joints_deg[0] == pytest.approx(sweep_deg, abs=1e-9)
    return 1000 * sum(deltas_deg) / len(deltas_deg) / speed_deg_s, crossed_ms


@pytest.mark.parametrize("constants", [FR3, FR20, SIM], ids=lambda preset: preset.name)
@pytest.mark.parametrize("speed_deg_s", [5.0, 10.0, 20.0, 40.0])
def test_the_lag_seen_from_outside_is_l_at_every_speed(
    ready: Ready, constants: ControllerConstants, speed_deg_s: float
) -> None:
    by_delta_ms, by_midpoint_ms = ramp(ready(constants), speed_deg_s, sweep_deg=15.0)
    assert by_delta_ms == pytest.approx(constants.lag_ns / MS, abs=1.0)
    assert by_midpoint_ms == pytest.approx(constants.lag_ns / MS, abs=1.0)


def test_the_presets_are_the_three_measured_lags() -> None:
    assert {name: preset.lag_ns // MS for name, preset in PRESETS.items()} == {
        "fr3": 78,
        "fr20": 111,
        "sim": 39,
    }


def test_a_10_degree_jump_shaped_arrives_without_a_reject(ready: Ready) -> None:
    """The trapezoid of 500 °/s², written out: 10° in 283 ms, never 5 °/s more in one tick."""
    controller = ready(FR3)
    position_deg, velocity_deg_s, codes, peak_delta_deg = 0.0, 0.0, [], 0.0
    for tick in range(120):
        left_deg = 10.0 - position_deg
        braking_deg_s = -5.0 + (25.0 + 1000.0 * max(left_deg, 0.0)) ** 0.5
        velocity_deg_s = max(min(braking_deg_s, velocity_deg_s + 5.0), velocity_deg_s - 5.0)
        position_deg += velocity_deg_s * 0.010
        now_ns = START_NS + tick * T_NS
        codes.append(controller.servo_j(frame(position_deg), now_ns))
        peak_delta_deg = max(peak_delta_deg, position_deg - controller.state(now_ns).joints_deg[0])
    end = controller.state(START_NS + 1300 * MS)
    assert set(codes) == {ReturnCode.OK}
    assert end.main_code == 0
    assert end.joints_deg[0] == pytest.approx(10.0, abs=0.01)
    # 001, experiment 7: the peak guard-view delta of the real arm was 4.3°.
    assert peak_delta_deg == pytest.approx(4.3, abs=0.6)
