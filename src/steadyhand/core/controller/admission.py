"""Whether a setpoint is taken: two ladders, first refusal wins.

`READINESS` asks what the controller would answer any setpoint now; `LEGALITY` judges this one against
the one accepted before it.
"""

import math
from random import Random
from typing import Final

import msgspec

from steadyhand.core.controller.codes import MAIN_OK, SUB_OK, ReturnCode, sub_axis_speed
from steadyhand.core.controller.constants import ControllerConstants
from steadyhand.core.controller.execution import Execution
from steadyhand.core.controller.triggers import FrameStep, Response, Trigger, Trip, largest
from steadyhand.ground.limits import JointLimits
from steadyhand.ground.stamps import NS_PER_S


class ServoFrame(msgspec.Struct, frozen=True, kw_only=True):
    """One ServoJ call, whichever way it came: the campaign found both transports alike (001, 4).

    Attributes:
        joints_deg: the setpoint, shape (n_joints,).
        period_ns: cmdT, the nominal period between setpoints.
        frame_id: the caller's number for it; echoed in the state, otherwise unused.
    """

    joints_deg: tuple[float, ...]
    period_ns: int
    frame_id: int = 0


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """A setpoint that is not taken.

    Attributes:
        code: what the call returns.
        trip: the fault it latches, if it does.
    """

    code: ReturnCode
    trip: Trip | None = None


class Gate:
    """What decides about setpoints, beside the setpoints themselves. Plain attributes.

    Args:
        constants: the controller's numbers.
        joint_limits: ranges a setpoint must lie in.
        limits: protections that stop the arm without a sweep.
        rng: for the limits; only `.random()` is drawn.
    """

    def __init__(
        self,
        constants: ControllerConstants,
        joint_limits: JointLimits,
        limits: tuple[Trigger, ...],
        rng: Random,
    ) -> None:
        self.constants = constants
        self.joint_limits = joint_limits
        self.limits = limits
        self.rng = rng
        self.estop_pressed = False
        self.estop_latched = False
        self.enabled_at_ns: int | None = None
        self.streaming = False
        self.main_code = MAIN_OK
        self.sub_code = SUB_OK
        self.reject_until_ns: int | None = None
        self.refusing = False
        """A refused frame is answered 14 until the errors are reset, however long that takes."""


def estop_needs_power_cycle(
    gate: Gate, execution: Execution, frame: ServoFrame, now_ns: int
) -> Refusal | None:
    """From the e-stop button on, every call is answered 31 until the box was power-cycled (001, 2)."""
    return Refusal(code=ReturnCode.ESTOP) if gate.estop_latched else None


def malformed_is_refused(gate: Gate, execution: Execution, frame: ServoFrame, now_ns: int) -> Refusal | None:
    """A wrong number of joints, a value that is not finite, or a cmdT out of range is answered 4."""
    constants = gate.constants
    fits = (
        len(frame.joints_deg) == gate.joint_limits.n_joints
        and all(map(math.isfinite, frame.joints_deg))
        and constants.period_min_ns <= frame.period_ns <= constants.period_max_ns
    )
    return None if fits else Refusal(code=ReturnCode.BAD_VALUE)


def disabled_is_refused(gate: Gate, execution: Execution, frame: ServoFrame, now_ns: int) -> Refusal | None:
    """A disabled arm answers 101."""
    return Refusal(code=ReturnCode.NOT_ENABLED) if gate.enabled_at_ns is None else None


def enable_window_is_refused(
    gate: Gate, execution: Execution, frame: ServoFrame, now_ns: int
) -> Refusal | None:
    """For 1.4 s after enabling, setpoints are answered 101 and not executed (001, 2)."""
    if gate.enabled_at_ns is None or now_ns >= gate.enabled_at_ns + gate.constants.enable_window_ns:
        return None
    return Refusal(code=ReturnCode.NOT_ENABLED)


def fault_rejects(gate: Gate, execution: Execution, frame: ServoFrame, now_ns: int) -> Refusal | None:
    """After a fault every setpoint is answered 14: for 0.9 s, and while the arm moves by itself (001, 3)."""
    in_window = gate.reject_until_ns is not None and now_ns < gate.reject_until_ns
    if gate.refusing or in_window or execution.on_its_own:
        return Refusal(code=ReturnCode.EXECUTION_FAILED)
    return None


def stream_must_be_started(
    gate: Gate, execution: Execution, frame: ServoFrame, now_ns: int
) -> Refusal | None:
    """ServoJ without ServoMoveStart is answered 14 (assumed; on the vendor's driver it blocks)."""
    return None if gate.streaming else Refusal(code=ReturnCode.EXECUTION_FAILED)


READINESS: Final = (
    estop_needs_power_cycle,
    malformed_is_refused,
    disabled_is_refused,
    enable_window_is_refused,
    fault_rejects,
    stream_must_be_started,
)


def setpoint_must_be_in_range(gate: Gate, step: FrameStep) -> Refusal | None:
    """A setpoint outside a joint's range is answered 29 and not executed; it latches nothing."""
    if gate.joint_limits.first_outside(step.to_deg) is None:
        return None
    return Refusal(code=ReturnCode.SERVOJ_OUT_OF_RANGE)


def giant_step_is_refused(gate: Gate, step: FrameStep) -> Refusal | None:
    """A step of 30° in one frame latches the axis's command-speed fault, and the arm does not move (001, 5).

    The vendor's speed check sees giant steps only; it lets the ones between through to the sweep.
    """
    if not gate.constants.runs_away:
        return None
    axis = largest(step.velocity_deg_s)
    if abs(step.to_deg[axis] - step.from_deg[axis]) < gate.constants.giant_step_deg:
        return None
    trip = Trip(sub_code=sub_axis_speed(axis), axis=axis, response=Response.REFUSE)
    return Refusal(code=ReturnCode.EXECUTION_FAILED, trip=trip)


def protections_stop_the_arm(gate: Gate, step: FrameStep) -> Refusal | None:
    """A configured speed limit refuses the frame and stops the arm, without a sweep (001, 6)."""
    for limit in gate.limits:
        trip = limit.judge(step, gate.rng)
        if trip is not None:
            return Refusal(code=ReturnCode.EXECUTION_FAILED, trip=trip)
    return None


LEGALITY: Final = (setpoint_must_be_in_range, giant_step_is_refused, protections_stop_the_arm)


def readiness(gate: Gate, execution: Execution, frame: ServoFrame, now_ns: int) -> Refusal | None:
    """What the controller would answer this setpoint before it looks where it leads."""
    for rule in READINESS:
        refusal = rule(gate, execution, frame, now_ns)
        if refusal is not None:
            return refusal
    return None


def legality(gate: Gate, step: FrameStep) -> Refusal | None:
    """Why this step may not be taken, or None."""
    for rule in LEGALITY:
        refusal = rule(gate, step)
        if refusal is not None:
            return refusal
    return None


def step_between(
    from_deg: tuple[float, ...], before_deg_s: tuple[float, ...], frame: ServoFrame
) -> FrameStep:
    """One frame against what was accepted before it."""
    period_s = frame.period_ns / NS_PER_S
    velocity = tuple((to - start) / period_s for start, to in zip(from_deg, frame.joints_deg, strict=True))
    return FrameStep(
        from_deg=from_deg,
        to_deg=frame.joints_deg,
        period_s=period_s,
        velocity_deg_s=velocity,
        jump_deg_s=tuple(now - before for now, before in zip(velocity, before_deg_s, strict=True)),
    )
