"""What trips the controller: exchangeable, because it is not settled (R10).

The campaign saw a velocity discontinuity; the code it read says tool over-speed; the pendant named an
axis's command speed. A trigger sees one frame against the one accepted before it, over the nominal
period, whenever the two arrived.
"""

from enum import Enum
from random import Random
from typing import Protocol

import msgspec

from steadyhand.core.controller.codes import SUB_TCP_SPEED, sub_axis_speed
from steadyhand.core.controller.constants import ControllerConstants
from steadyhand.ground.kinematics import Chain

_ROUNDING_DEG_S = 1e-6
"""1.5° from 10.1° to 11.6° is a hair more than 1.5°: not what decides between two outcomes."""


class Response(Enum):
    """What the controller does about a frame that trips it."""

    REFUSE = "refuse"
    """No motion: the frame is not executed, the arm brakes, 14 until the errors are reset."""
    SETTLE = "settle"
    """The fault is latched and the arm still goes to the commanded pose, and stays there."""
    SWEEP = "sweep"
    """The fault is latched and the arm runs away."""


class Trip(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict: this frame is a fault.

    Attributes:
        sub_code: the fault's number beside main code 1.
        axis: the joint that caused it, counted from 0.
        response: what the arm does.
    """

    sub_code: int
    axis: int
    response: Response


class FrameStep(msgspec.Struct, frozen=True, kw_only=True):
    """One frame against the one before it. Shapes (n_joints,).

    Attributes:
        from_deg: the setpoint accepted before, or the arm's pose where there was none.
        to_deg: this setpoint.
        period_s: the nominal period, cmdT.
        velocity_deg_s: what this frame implies, (to − from) / cmdT.
        jump_deg_s: how much that differs from what the frame before implied.
    """

    from_deg: tuple[float, ...]
    to_deg: tuple[float, ...]
    period_s: float
    velocity_deg_s: tuple[float, ...]
    jump_deg_s: tuple[float, ...]


class Trigger(Protocol):
    """Judges a frame."""

    def judge(self, step: FrameStep, rng: Random) -> Trip | None:
        """Answer the fault this frame is, or None. Only `rng.random()` may be drawn (R17)."""
        ...


class NoTrigger(msgspec.Struct, frozen=True):
    """Never trips: the vendor's simulator."""

    def judge(self, step: FrameStep, rng: Random) -> Trip | None:
        """No frame is a fault."""
        return None


class VelocityStepTrigger(msgspec.Struct, frozen=True, kw_only=True):
    """The default: a velocity discontinuity in one frame, as the campaign saw it.

    Up to `onset_deg_s` nothing; beyond `certain_deg_s` a fault and a sweep; between them two draws: a
    fault, the likelier the further in, and of the faults a share `sweep_chance` that sweeps.

    A threshold in velocity is an assumption away from cmdT = 10 ms, the only period tried; one in
    acceleration (10,000 to 15,000 °/s²) would fit the campaign as well.
    """

    onset_deg_s: float
    certain_deg_s: float
    sweep_chance: float

    @classmethod
    def from_constants(cls, constants: ControllerConstants) -> "VelocityStepTrigger":
        """Take the thresholds from the table."""
        return cls(
            onset_deg_s=constants.trip_onset_deg_s,
            certain_deg_s=constants.trip_certain_deg_s,
            sweep_chance=constants.band_sweep_chance,
        )

    def judge(self, step: FrameStep, rng: Random) -> Trip | None:
        """Judge the largest velocity change of any joint."""
        axis = largest(step.jump_deg_s)
        jump_deg_s = abs(step.jump_deg_s[axis])
        if jump_deg_s <= self.onset_deg_s + _ROUNDING_DEG_S:
            return None
        if jump_deg_s > self.certain_deg_s + _ROUNDING_DEG_S:
            return Trip(sub_code=SUB_TCP_SPEED, axis=axis, response=Response.SWEEP)
        chance = (jump_deg_s - self.onset_deg_s) / (self.certain_deg_s - self.onset_deg_s)
        if rng.random() >= chance:
            return None
        response = Response.SWEEP if rng.random() < self.sweep_chance else Response.SETTLE
        return Trip(sub_code=SUB_TCP_SPEED, axis=axis, response=response)


class JointSpeedTrigger(msgspec.Struct, frozen=True, kw_only=True):
    """A joint commanded faster than its limit, sub codes 23 to 28.

    Attributes:
        limit_deg_s: shape (n_joints,).
        response: what follows; `REFUSE` makes it a plain protection.
    """

    limit_deg_s: tuple[float, ...]
    response: Response = Response.SWEEP

    def judge(self, step: FrameStep, rng: Random) -> Trip | None:
        """Judge each joint's implied speed; the first over its limit is named."""
        for axis, (velocity, limit) in enumerate(zip(step.velocity_deg_s, self.limit_deg_s, strict=True)):
            if abs(velocity) > limit + _ROUNDING_DEG_S:
                return Trip(sub_code=sub_axis_speed(axis), axis=axis, response=self.response)
        return None


class TcpSpeedTrigger(msgspec.Struct, frozen=True, kw_only=True):
    """The tool commanded faster than its limit, by forward kinematics; sub code 32.

    Attributes:
        chain: the arm and its tool.
        limit_m_s: the greatest speed of the tool's point.
        response: what follows; `REFUSE` makes it the vendor's configurable Cartesian protection, which
            stopped one clean 80 °/s ramp of the campaign (001, experiment 6).
    """

    chain: Chain
    limit_m_s: float
    response: Response = Response.SWEEP

    def judge(self, step: FrameStep, rng: Random) -> Trip | None:
        """Judge the tool's mean speed over the frame; the joint that turns fastest is named."""
        speed_m_s = self.chain.tool_speed_m_s(step.from_deg, step.to_deg, period_s=step.period_s)
        if speed_m_s <= self.limit_m_s:
            return None
        return Trip(sub_code=SUB_TCP_SPEED, axis=largest(step.velocity_deg_s), response=self.response)


def largest(values: tuple[float, ...]) -> int:
    """Index of the value furthest from zero; the first of equals."""
    sizes = [abs(value) for value in values]
    return sizes.index(max(sizes))
