"""What the controller answers, call by call and state by state."""

import math
from collections.abc import Callable
from random import Random

import pytest

from steadyhand.core.controller.admission import LEGALITY, READINESS, ServoFrame
from steadyhand.core.controller.codes import ReturnCode, sub_axis_speed
from steadyhand.core.controller.constants import FR3
from steadyhand.core.controller.model import ControllerModel
from steadyhand.core.controller.state import RobotMode
from steadyhand.ground.arms import FR3 as FR3_ARM

Ready = Callable[..., ControllerModel]
MS = 1_000_000
T_NS = 10 * MS
NOW_NS = 2000 * MS


def frame(joint_deg: float = 0.0, *, period_ns: int = T_NS, frame_id: int = 0) -> ServoFrame:
    return ServoFrame(joints_deg=(joint_deg,) + (0.0,) * 5, period_ns=period_ns, frame_id=frame_id)


def powered_on() -> ControllerModel:
    return ControllerModel(FR3, Random(1), joint_limits=FR3_ARM.limits, joints_deg=(0.0,) * 6)


# Who brings the controller into which condition, and what it then answers a setpoint at rest.


def disabled(controller: ControllerModel) -> None:
    controller.disable(NOW_NS)
    controller.servo_move_start(NOW_NS)


def freshly_enabled(controller: ControllerModel) -> None:
    controller.disable(NOW_NS)
    controller.enable(NOW_NS)
    controller.servo_move_start(NOW_NS)


def window_just_over(controller: ControllerModel) -> None:
    freshly_enabled(controller)
    controller.step(NOW_NS + 1400 * MS)


def not_streaming(controller: ControllerModel) -> None:
    controller.servo_move_end(NOW_NS)


def running_away(controller: ControllerModel) -> None:
    controller.servo_j(frame(2.5), NOW_NS)


def giant_step_refused(controller: ControllerModel) -> None:
    controller.servo_j(frame(40.0), NOW_NS)


def estop_pressed(controller: ControllerModel) -> None:
    controller.press_estop(NOW_NS)


def estop_released(controller: ControllerModel) -> None:
    controller.press_estop(NOW_NS)
    controller.release_estop(NOW_NS)


def streaming(controller: ControllerModel) -> None:
    controller.servo_j(frame(0.0), NOW_NS)


@pytest.mark.parametrize(
    ("condition", "answer"),
    [
        (streaming, ReturnCode.OK),
        (window_just_over, ReturnCode.OK),
        (disabled, ReturnCode.NOT_ENABLED),
        (freshly_enabled, ReturnCode.NOT_ENABLED),
        (not_streaming, ReturnCode.EXECUTION_FAILED),
        (running_away, ReturnCode.EXECUTION_FAILED),
        (giant_step_refused, ReturnCode.EXECUTION_FAILED),
        (estop_pressed, ReturnCode.ESTOP),
        (estop_released, ReturnCode.ESTOP),
    ],
)
def test_what_servo_j_answers(
    ready: Ready, condition: Callable[[ControllerModel], None], answer: ReturnCode
) -> None:
    controller = ready()
    condition(controller)
    asked_ns = (controller.now_ns or 0) + 1 * MS
    assert controller.servo_j(frame(0.0), asked_ns) is answer


@pytest.mark.parametrize(
    ("bad", "answer"),
    [
        (ServoFrame(joints_deg=(0.0,) * 5, period_ns=T_NS), ReturnCode.BAD_VALUE),
        (ServoFrame(joints_deg=(0.0,) * 7, period_ns=T_NS), ReturnCode.BAD_VALUE),
        (frame(math.nan), ReturnCode.BAD_VALUE),
        (frame(-math.inf), ReturnCode.BAD_VALUE),
        (frame(period_ns=999_999), ReturnCode.BAD_VALUE),
        (frame(period_ns=20 * MS + 1), ReturnCode.BAD_VALUE),
        (frame(period_ns=1 * MS), ReturnCode.OK),
        (frame(period_ns=20 * MS), ReturnCode.OK),
        (frame(175.1), ReturnCode.SERVOJ_OUT_OF_RANGE),
        (frame(-175.1), ReturnCode.SERVOJ_OUT_OF_RANGE),
    ],
)
def test_what_servo_j_answers_a_bad_setpoint(ready: Ready, bad: ServoFrame, answer: ReturnCode) -> None:
    controller = ready()
    assert controller.servo_j(bad, NOW_NS) is answer
    after = controller.state(NOW_NS + 1000 * MS)
    assert after.joints_deg == (0.0,) * 6
    assert (after.main_code, after.servoj_cmd_num) == (0, int(answer is ReturnCode.OK))


def test_a_refused_setpoint_is_not_what_the_next_one_is_judged_against(ready: Ready) -> None:
    """Accepted frames only (R10): 175.1° is refused for its range; 0.5° after it is a step of 0.5°."""
    controller = ready()
    controller.servo_j(frame(0.0), NOW_NS)
    assert controller.servo_j(frame(175.1), NOW_NS + T_NS) is ReturnCode.SERVOJ_OUT_OF_RANGE
    assert controller.servo_j(frame(0.5), NOW_NS + 2 * T_NS) is ReturnCode.OK


def test_the_estop_is_asked_before_anything_else(ready: Ready) -> None:
    controller = ready()
    controller.press_estop(NOW_NS)
    assert controller.servo_j(frame(math.nan), NOW_NS) is ReturnCode.ESTOP


def test_every_call_but_the_button_answers_31_until_the_power_cycle(ready: Ready) -> None:
    controller = ready()
    controller.press_estop(NOW_NS)
    controller.release_estop(NOW_NS)
    calls = (
        controller.enable,
        controller.disable,
        controller.servo_move_start,
        controller.servo_move_end,
        controller.stop_motion,
        controller.reset_all_errors,
    )
    assert {call(NOW_NS) for call in calls} == {ReturnCode.ESTOP}
    assert controller.set_mode(0, NOW_NS) is ReturnCode.ESTOP
    controller.power_cycle(NOW_NS)
    assert controller.enable(NOW_NS) is ReturnCode.OK


def test_a_power_cycle_with_the_button_still_pressed_comes_up_in_the_estop(ready: Ready) -> None:
    controller = ready()
    controller.press_estop(NOW_NS)
    controller.power_cycle(NOW_NS)
    assert controller.enable(NOW_NS) is ReturnCode.ESTOP
    assert controller.state(NOW_NS).emergency_stop == 1


def test_a_power_cycle_disables_forgets_the_faults_and_leaves_the_arm_where_it_was(ready: Ready) -> None:
    controller = ready()
    controller.set_mode(1, NOW_NS)
    controller.servo_j(frame(0.0), NOW_NS)
    controller.servo_j(frame(2.5), NOW_NS + T_NS)
    before = controller.state(NOW_NS + 2000 * MS)
    controller.power_cycle(NOW_NS + 2000 * MS)
    after = controller.state(NOW_NS + 2000 * MS)
    assert (before.main_code, before.robot_mode) == (1, RobotMode.MANUAL)
    assert (after.main_code, after.sub_code, after.enabled, after.streaming) == (0, 0, 0, False)
    assert (after.robot_mode, after.servoj_cmd_num) == (RobotMode.AUTOMATIC, 0)
    assert after.joints_deg == before.joints_deg


def test_the_button_before_the_sweep_sets_off_prevents_it(ready: Ready) -> None:
    """The fault is latched one lag before the arm moves: a hand that is fast enough loses nothing."""
    controller = ready()
    controller.servo_j(frame(2.5), NOW_NS)
    controller.press_estop(NOW_NS + 20 * MS)
    assert controller.state(NOW_NS + 2000 * MS).joints_deg == (0.0,) * 6


def test_a_reset_is_refused_while_its_cause_stands(ready: Ready) -> None:
    controller = ready()
    controller.servo_j(frame(2.5), NOW_NS)
    assert controller.reset_all_errors(NOW_NS + 899 * MS) is ReturnCode.EXECUTION_FAILED
    assert controller.state(NOW_NS + 899 * MS).main_code == 1
    assert controller.reset_all_errors(NOW_NS + 900 * MS) is ReturnCode.OK
    assert controller.state(NOW_NS + 900 * MS).main_code == 0


def test_the_first_fault_stays_to_be_read_until_it_is_reset(ready: Ready) -> None:
    """After the sweep the old setpoint is a giant step away; that fault does not cover up the first."""
    controller = ready()
    for tick in range(150):
        controller.servo_j(frame(2.5), NOW_NS + tick * T_NS)
    assert controller.state(NOW_NS + 1500 * MS).sub_code == 32
    controller.reset_all_errors(NOW_NS + 1500 * MS)
    assert controller.fault_count == 2
    controller.servo_j(frame(2.5), NOW_NS + 1500 * MS)
    assert controller.state(NOW_NS + 1500 * MS).sub_code == sub_axis_speed(0) == 23
    controller.power_cycle(NOW_NS + 1500 * MS)
    assert controller.fault_count == 0


def test_stop_motion_brakes_at_once_and_ends_the_stream(ready: Ready) -> None:
    controller = ready()
    for tick in range(40):
        controller.servo_j(frame(0.4 * tick), NOW_NS + tick * T_NS)
    stopped_ns = NOW_NS + 390 * MS
    before = controller.state(stopped_ns)
    assert controller.stop_motion(stopped_ns) is ReturnCode.OK
    after = controller.state(stopped_ns + 100 * MS)
    assert after.joint_velocities_deg_s == (0.0,) * 6
    # 40 °/s at 2,500 °/s²: 0.32° further, and the frames not yet executed are dropped.
    assert after.joints_deg[0] - before.joints_deg[0] == pytest.approx(0.32, abs=1e-6)
    assert after.motion_done == 1
    assert controller.servo_j(frame(0.0), stopped_ns + 100 * MS) is ReturnCode.EXECUTION_FAILED


def test_servo_move_end_executes_what_was_accepted_and_takes_nothing_more(ready: Ready) -> None:
    controller = ready()
    for tick in range(40):
        controller.servo_j(frame(0.4 * tick), NOW_NS + tick * T_NS)
    ended_ns = NOW_NS + 390 * MS
    assert controller.servo_move_end(ended_ns) is ReturnCode.OK
    assert controller.servo_j(frame(16.0), ended_ns + T_NS) is ReturnCode.EXECUTION_FAILED
    assert controller.state(ended_ns + 1000 * MS).joints_deg[0] == pytest.approx(15.6 + 0.32, abs=1e-6)


def test_a_new_stream_is_judged_against_the_arms_pose(ready: Ready) -> None:
    """A re-engage that is primed on the measured pose is smooth; one on the stale setpoint is not."""
    for first_deg, answer in ((5.32, 0), (8.0, 1)):
        controller = ready()
        for tick in range(14):
            controller.servo_j(frame(min(0.4 * tick, 5.0)), NOW_NS + tick * T_NS)
        controller.stop_motion(NOW_NS + 130 * MS)
        at_ns = NOW_NS + 1000 * MS
        rests_at_deg = controller.state(at_ns).joints_deg[0]
        controller.servo_move_start(at_ns)
        shifted_deg = rests_at_deg + (first_deg - 5.32)
        assert controller.servo_j(frame(shifted_deg), at_ns) is ReturnCode.OK
        assert controller.state(at_ns).main_code == answer


def test_starting_a_stream_that_is_open_changes_nothing(ready: Ready) -> None:
    controller = ready()
    for tick in range(30):
        controller.servo_j(frame(0.9 * tick), NOW_NS + tick * T_NS)
    controller.servo_move_start(NOW_NS + 295 * MS)
    assert controller.servo_j(frame(0.9 * 30), NOW_NS + 300 * MS) is ReturnCode.OK
    assert controller.state(NOW_NS + 300 * MS).main_code == 0


def test_disabling_brakes_and_the_next_enable_opens_a_window(ready: Ready) -> None:
    controller = ready()
    assert controller.disable(NOW_NS) is ReturnCode.OK
    assert controller.state(NOW_NS).enabled == 0
    assert controller.enable(NOW_NS + 1) is ReturnCode.OK
    controller.servo_move_start(NOW_NS + 1)
    assert controller.servo_j(frame(), NOW_NS + 1400 * MS) is ReturnCode.NOT_ENABLED
    assert controller.servo_j(frame(), NOW_NS + 1400 * MS + 1) is ReturnCode.OK


def test_mode_takes_automatic_and_manual_and_nothing_else() -> None:
    controller = powered_on()
    assert controller.set_mode(1, 0) is ReturnCode.OK
    assert controller.state(0).robot_mode is RobotMode.MANUAL
    assert controller.set_mode(2, 0) is ReturnCode.BAD_VALUE
    assert controller.state(0).robot_mode is RobotMode.MANUAL


def test_the_state_tells_the_last_accepted_setpoint_and_how_many_there_were(ready: Ready) -> None:
    controller = ready()
    controller.servo_j(frame(0.3, frame_id=7), NOW_NS)
    controller.servo_j(frame(0.6, frame_id=8), NOW_NS + T_NS)
    controller.servo_j(frame(math.nan, frame_id=9), NOW_NS + 2 * T_NS)
    state = controller.state(NOW_NS + 2 * T_NS)
    assert state.time_ns == NOW_NS + 2 * T_NS
    assert state.last_servoj_target_deg == (0.6, 0.0, 0.0, 0.0, 0.0, 0.0)
    assert (state.servoj_cmd_num, state.last_frame_id, state.motion_queue_len) == (2, 8, 2)
    assert (state.motion_done, state.streaming, state.enabled) == (0, True, 1)


def test_a_fresh_controller_reports_where_the_arm_stands() -> None:
    state = powered_on().state(0)
    assert state.joints_deg == state.last_servoj_target_deg == (0.0,) * 6
    assert (state.enabled, state.emergency_stop, state.motion_done, state.streaming) == (0, 0, 1, False)


def test_time_that_goes_back_raises_whichever_call_it_comes_with(ready: Ready) -> None:
    controller = ready()
    controller.state(NOW_NS)
    calls: tuple[Callable[[int], object], ...] = (
        controller.step,
        controller.state,
        controller.enable,
        controller.disable,
        controller.servo_move_start,
        controller.servo_move_end,
        controller.stop_motion,
        controller.reset_all_errors,
        controller.press_estop,
        controller.release_estop,
        controller.power_cycle,
        lambda now_ns: controller.set_mode(0, now_ns),
        lambda now_ns: controller.servo_j(frame(), now_ns),
    )
    for call in calls:
        with pytest.raises(ValueError, match="goes back"):
            call(NOW_NS - 1)


def test_an_arm_outside_its_limits_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="outside its joint limits"):
        ControllerModel(FR3, Random(1), joint_limits=FR3_ARM.limits, joints_deg=(176.0,) + (0.0,) * 5)


def test_every_rule_of_admission_says_itself_in_its_docstring() -> None:
    for rule in (*READINESS, *LEGALITY):
        assert (rule.__doc__ or "").strip().endswith(".") or "\n" in (rule.__doc__ or "")
