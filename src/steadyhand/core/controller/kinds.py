"""Which controllers there are to choose from: the names options use, and what each stands for.

One home for all who build a model: the simulated controller node, `steadyhand shape`, and their tests.
"""

from random import Random
from typing import Final, Literal, assert_never

from steadyhand.core.controller.constants import PRESETS
from steadyhand.core.controller.model import ControllerModel
from steadyhand.core.controller.triggers import (
    JointSpeedTrigger,
    TcpSpeedTrigger,
    Trigger,
    VelocityStepTrigger,
)
from steadyhand.ground.arms import FR3, FR20, ArmModel
from steadyhand.ground.errors import InputError
from steadyhand.ground.motion import JointsDeg

ModelName = Literal["fr3", "fr20", "sim"]
"""The keys of `constants.PRESETS` and of `ARM_OF`."""

TriggerName = Literal["velocity_step", "joint_speed", "tcp_speed"]
"""What makes it run away (R10)."""

ARM_OF: Final[dict[str, ArmModel]] = {"fr3": FR3, "fr20": FR20, "sim": FR3}
"""The vendor's simulator was measured alike for both arms; here it has the smaller one."""


def controller_of(
    model: ModelName, trigger: TriggerName, rng: Random, *, pose_deg: JointsDeg
) -> ControllerModel:
    """Make one.

    Args:
        model: which controller, and with it which arm.
        trigger: what makes it run away.
        rng: the coin in the trigger's threshold band.
        pose_deg: where the arm stands, shape (6,).

    Raises:
        ValueError: the arm cannot stand there.
        InputError: no tool speed is published for an arm that is to be judged by it.
    """
    return ControllerModel(
        PRESETS[model],
        rng,
        joint_limits=ARM_OF[model].limits,
        joints_deg=pose_deg,
        trigger=trigger_of(model, trigger),
    )


def trigger_of(model: ModelName, name: TriggerName) -> Trigger:
    """Build a trigger; the arm's published limits are the thresholds of the two that judge speeds."""
    match name:
        case "joint_speed":
            return JointSpeedTrigger(limit_deg_s=ARM_OF[model].limits.speed_deg_s)
        case "tcp_speed":
            return TcpSpeedTrigger(chain=ARM_OF[model].chain, limit_m_s=tool_limit_m_s(model))
        case "velocity_step":
            return VelocityStepTrigger.from_constants(PRESETS[model])
        case _:
            assert_never(name)


def tool_limit_m_s(model: ModelName) -> float:
    """The vendor's typical tool speed, which the tool-speed trigger takes as its limit.

    Raises:
        InputError: none is published for this arm.
    """
    limit_m_s = ARM_OF[model].typical_tool_speed_m_s
    if limit_m_s is None:
        raise InputError(f"no tool speed is published for {ARM_OF[model].name}", where="trigger tcp_speed")
    return limit_m_s
