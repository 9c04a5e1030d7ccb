"""A FAIRINO controller as document 001 measured it: deterministic, stepped by time, without any I/O.

It takes the vendor's calls and answers their return codes; it knows the execution lag, the enable
window, and the runaway. What is measured and what is assumed: `constants.CITED`, docs/controller.md.
"""

from random import Random
from typing import assert_never

from steadyhand.core.controller.admission import (
    Gate,
    Refusal,
    ServoFrame,
    legality,
    readiness,
    step_between,
)
from steadyhand.core.controller.codes import MAIN_COMMAND_POINT, MAIN_OK, SUB_OK, ReturnCode
from steadyhand.core.controller.constants import ControllerConstants
from steadyhand.core.controller.execution import Execution
from steadyhand.core.controller.state import ControllerState, RobotMode
from steadyhand.core.controller.triggers import (
    FrameStep,
    NoTrigger,
    Response,
    Trigger,
    Trip,
    VelocityStepTrigger,
)
from steadyhand.ground.limits import JointLimits


class ControllerModel:
    """One arm and its controller.

    Time is handed in and never goes back. Between two calls nothing happens: `step` and `state` go
    through whatever was due in the meantime, so that how often they are called changes no outcome.
    Plain attributes throughout: `copy.deepcopy` is a snapshot.

    Args:
        constants: which controller (`constants.PRESETS`).
        rng: the coin of the threshold band; only `.random()` is drawn, and only inside the band.
        joint_limits: the arm's ranges: setpoints outside are refused, a sweep ends there.
        joints_deg: where the arm stands, shape (n_joints,).
        trigger: what makes it run away (R10); the constants' velocity step where none is given. A
            preset that never runs away never asks it.
        limits: protections, asked in order before the trigger: joint or TCP speed. Whatever response
            they name, a frame they trip is refused and the arm brakes without a sweep.

    Raises:
        ValueError: the pose does not fit the limits, or time goes back.
    """

    def __init__(
        self,
        constants: ControllerConstants,
        rng: Random,
        *,
        joint_limits: JointLimits,
        joints_deg: tuple[float, ...],
        trigger: Trigger | None = None,
        limits: tuple[Trigger, ...] = (),
    ) -> None:
        if joint_limits.first_outside(joints_deg) is not None:
            raise ValueError(f"the arm cannot stand at {joints_deg}: outside its joint limits")
        default = VelocityStepTrigger.from_constants(constants) if constants.runs_away else NoTrigger()
        self.constants = constants
        self.rng = rng
        self.trigger: Trigger = default if trigger is None or not constants.runs_away else trigger
        self.gate = Gate(constants, joint_limits, limits, rng)
        self.execution = Execution(constants, joint_limits, joints_deg)
        self.mode = RobotMode.AUTOMATIC
        self.now_ns: int | None = None
        self.reference: tuple[tuple[float, ...], tuple[float, ...]] | None = None
        """Last accepted setpoint and the velocity it implied; None: the arm's own pose and velocity."""
        self.last_target_deg = joints_deg
        self.last_frame_id = 0
        self.servoj_cmd_num = 0
        self.fault_count = 0
        """How many frames tripped a fault since power-on, whether or not an earlier one was latched."""

    # Time.

    def step(self, now_ns: int) -> None:
        """Let time pass up to `now_ns`.

        Raises:
            ValueError: `now_ns` lies before the last call.
        """
        if self.now_ns is not None and now_ns < self.now_ns:
            raise ValueError(f"time goes back from {self.now_ns} to {now_ns}")
        self.now_ns = now_ns
        self.execution.advance(now_ns)

    def state(self, now_ns: int) -> ControllerState:
        """What a state frame sent at `now_ns` says."""
        self.step(now_ns)
        pose_deg, velocity_deg_s = self.execution.moving(now_ns)
        gate = self.gate
        return ControllerState(
            time_ns=now_ns,
            joints_deg=pose_deg,
            joint_velocities_deg_s=velocity_deg_s,
            main_code=gate.main_code,
            sub_code=gate.sub_code,
            emergency_stop=int(gate.estop_latched),
            enabled=int(gate.enabled_at_ns is not None),
            robot_mode=self.mode,
            motion_done=int(self.execution.resting),
            streaming=gate.streaming,
            motion_queue_len=len(self.execution.queue),
            last_servoj_target_deg=self.last_target_deg,
            servoj_cmd_num=self.servoj_cmd_num,
            last_frame_id=self.last_frame_id,
        )

    # Getting ready.

    def set_mode(self, mode: int, now_ns: int) -> ReturnCode:
        """Mode(0 or 1): automatic or manual. Setpoints are taken in both (assumed)."""
        self.step(now_ns)
        if self.gate.estop_latched:
            return ReturnCode.ESTOP
        if mode not in tuple(RobotMode):
            return ReturnCode.BAD_VALUE
        self.mode = RobotMode(mode)
        return ReturnCode.OK

    def enable(self, now_ns: int) -> ReturnCode:
        """RobotEnable(1): returns 0 at once; setpoints are answered 101 for the window that follows.

        On an arm already enabled it changes nothing and opens no window (001, experiment 2).
        """
        self.step(now_ns)
        if self.gate.estop_latched:
            return ReturnCode.ESTOP
        if self.gate.enabled_at_ns is None:
            self.gate.enabled_at_ns = now_ns
        return ReturnCode.OK

    def disable(self, now_ns: int) -> ReturnCode:
        """RobotEnable(0): the arm brakes and holds; the stream is over."""
        self.step(now_ns)
        if self.gate.estop_latched:
            return ReturnCode.ESTOP
        self._drop_motion(now_ns)
        self.gate.enabled_at_ns = None
        return ReturnCode.OK

    def servo_move_start(self, now_ns: int) -> ReturnCode:
        """ServoMoveStart: setpoints are taken from here on; the first is judged against the arm's pose.

        Inside an open stream it changes nothing.
        """
        self.step(now_ns)
        if self.gate.estop_latched:
            return ReturnCode.ESTOP
        if not self.gate.streaming:
            self.gate.streaming = True
            self.reference = None
        return ReturnCode.OK

    def servo_move_end(self, now_ns: int) -> ReturnCode:
        """ServoMoveEnd: nothing more is taken; what was accepted is executed, then the arm brakes.

        That the accepted frames are still executed is assumed, and is the longer way to stop.
        """
        self.step(now_ns)
        if self.gate.estop_latched:
            return ReturnCode.ESTOP
        self.gate.streaming = False
        self.reference = None
        return ReturnCode.OK

    # The stream.

    def servo_j(self, frame: ServoFrame, now_ns: int) -> ReturnCode:
        """ServoJ: one setpoint. Answers what the call returns.

        The frame that trips a runaway is itself answered 0: it was taken, and the sweep is how it is
        executed (assumed). Every one after it is answered 14.
        """
        self.step(now_ns)
        refusal = readiness(self.gate, self.execution, frame, now_ns)
        if refusal is not None:
            return refusal.code
        from_deg, before_deg_s = self.reference or self.execution.moving(now_ns)
        step = step_between(from_deg, before_deg_s, frame)
        refusal = legality(self.gate, step)
        if refusal is not None:
            return self._refuse(refusal, now_ns)
        self.servoj_cmd_num += 1
        self.last_target_deg, self.last_frame_id = frame.joints_deg, frame.frame_id
        trip = self.trigger.judge(step, self.rng)
        if trip is None:
            self.execution.schedule(step, before_deg_s, period_ns=frame.period_ns, now_ns=now_ns)
            self.reference = (frame.joints_deg, step.velocity_deg_s)
            return ReturnCode.OK
        return self._fault(trip, step, frame.period_ns, now_ns)

    def _refuse(self, refusal: Refusal, now_ns: int) -> ReturnCode:
        if refusal.trip is not None:
            self._latch(refusal.trip)
            self.gate.refusing = True
            self._forget_stream(now_ns)
        return refusal.code

    def _fault(self, trip: Trip, step: FrameStep, period_ns: int, now_ns: int) -> ReturnCode:
        """Latch at the frame's arrival, before any motion (001, experiment 3)."""
        self._latch(trip)
        match trip.response:
            case Response.REFUSE:
                self.gate.refusing = True
                self._forget_stream(now_ns)
                return ReturnCode.EXECUTION_FAILED
            case Response.SETTLE | Response.SWEEP:
                self.gate.reject_until_ns = now_ns + self.constants.reject_window_ns
                self.execution.schedule_fault(
                    trip.response, step.to_deg, step.jump_deg_s, period_ns=period_ns, now_ns=now_ns
                )
                self.reference = None
                return ReturnCode.OK
            case _:
                assert_never(trip.response)

    def _latch(self, trip: Trip) -> None:
        """The first fault stays until it is reset: what followed from it does not cover it up."""
        self.fault_count += 1
        if self.gate.main_code == MAIN_OK:
            self.gate.main_code, self.gate.sub_code = MAIN_COMMAND_POINT, trip.sub_code

    def _forget_stream(self, now_ns: int) -> None:
        self.execution.brake(now_ns)
        self.reference = None

    # Stopping, and starting again.

    def stop_motion(self, now_ns: int) -> ReturnCode:
        """StopMotion: the arm brakes at once and the stream is over.

        During a runaway it is answered 14 and changes nothing: the arm stops on the controller's terms
        or by the button (001, "Honest limits").
        """
        self.step(now_ns)
        if self.gate.estop_latched:
            return ReturnCode.ESTOP
        if self.execution.on_its_own:
            return ReturnCode.EXECUTION_FAILED
        self._drop_motion(now_ns)
        return ReturnCode.OK

    def reset_all_errors(self, now_ns: int) -> ReturnCode:
        """ResetAllError: clears the fault codes; refused (14, 31) while their cause stands."""
        self.step(now_ns)
        if self.gate.estop_latched:
            return ReturnCode.ESTOP
        until_ns = self.gate.reject_until_ns
        if self.execution.on_its_own or (until_ns is not None and now_ns < until_ns):
            return ReturnCode.EXECUTION_FAILED
        self._clear_errors()
        return ReturnCode.OK

    def press_estop(self, now_ns: int) -> None:
        """The red button: the arm brakes whatever it was doing, and is disabled; calls answer 31."""
        self.step(now_ns)
        self._drop_motion(now_ns)
        self.gate.estop_pressed = self.gate.estop_latched = True
        self.gate.enabled_at_ns = None

    def release_estop(self, now_ns: int) -> None:
        """Turn the button out. Calls still answer 31: only a power cycle ends it (001, experiment 2)."""
        self.step(now_ns)
        self.gate.estop_pressed = False

    def power_cycle(self, now_ns: int) -> None:
        """Switch the control box off and on: the arm stands where it is, disabled, without errors.

        With the button still pressed it comes up in the e-stop. The boot takes no time here.
        """
        self.step(now_ns)
        self._drop_motion(now_ns)
        self.gate.estop_latched = self.gate.estop_pressed
        self.gate.enabled_at_ns = None
        self.mode = RobotMode.AUTOMATIC
        self.servoj_cmd_num = self.fault_count = 0
        self._clear_errors()

    def _drop_motion(self, now_ns: int) -> None:
        self._forget_stream(now_ns)
        self.gate.streaming = False

    def _clear_errors(self) -> None:
        self.gate.main_code, self.gate.sub_code = MAIN_OK, SUB_OK
        self.gate.reject_until_ns = None
        self.gate.refusing = False
