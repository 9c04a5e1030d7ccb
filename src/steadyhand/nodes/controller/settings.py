"""Which controller is simulated, and where."""

from random import Random
from typing import Final, Literal

import msgspec

from steadyhand.core.controller.constants import PRESETS
from steadyhand.core.controller.model import ControllerModel
from steadyhand.core.controller.triggers import (
    JointSpeedTrigger,
    TcpSpeedTrigger,
    Trigger,
    VelocityStepTrigger,
)
from steadyhand.edge.robots.fairino.ports import VENDOR_PORTS, FairinoPorts
from steadyhand.ground.arms import FR3, FR20, ArmModel
from steadyhand.ground.errors import InputError

ModelName = Literal["fr3", "fr20", "sim"]
TriggerName = Literal["velocity_step", "joint_speed", "tcp_speed"]

ARM_OF: Final[dict[str, ArmModel]] = {"fr3": FR3, "fr20": FR20, "sim": FR3}
"""The vendor's simulator was measured alike for both arms; here it has the smaller one."""

START_POSE_DEG: Final = (0.0, -90.0, 90.0, -90.0, -90.0, 0.0)
"""An elbow-up pose well inside the limits of both arms."""


class ControllerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """One simulated controller.

    Attributes:
        model: which kind; `core.controller.constants.PRESETS`.
        trigger: what makes it run away (R10).
        address: IPv4 literal it listens on; one per simulated robot, since the ports are fixed.
        seed: of the coin in the trigger's threshold band.
        pose_deg: where the arm stands at power-on, shape (6,).
        ports: the vendor's; 0 lets the kernel choose, which only tests may want.
        admin_port: UDP port of the console on loopback; 0 lets the kernel choose.
    """

    model: ModelName = "fr3"
    trigger: TriggerName = "velocity_step"
    address: str = "127.0.0.1"
    seed: int = 0
    pose_deg: tuple[float, ...] = START_POSE_DEG
    ports: FairinoPorts = VENDOR_PORTS
    admin_port: int = 0


def build_model(settings: ControllerSettings) -> ControllerModel:
    """Make the model that is served.

    Raises:
        InputError: the arm cannot stand in the pose that was asked for.
    """
    arm = ARM_OF[settings.model]
    if len(settings.pose_deg) != arm.limits.n_joints:
        raise InputError(
            f"{len(settings.pose_deg)} angles for {arm.limits.n_joints} joints",
            where="--pose",
            hint="for example --pose 0,-90,90,-90,-90,0",
        )
    outside = arm.limits.first_outside(settings.pose_deg)
    if outside is not None:
        lower_deg, upper_deg = arm.limits.lower_deg[outside], arm.limits.upper_deg[outside]
        raise InputError(
            f"joint {outside + 1} cannot stand at {settings.pose_deg[outside]:g}°",
            where="--pose",
            hint=f"its range is {lower_deg:g}° to {upper_deg:g}°",
        )
    return ControllerModel(
        PRESETS[settings.model],
        Random(settings.seed),
        joint_limits=arm.limits,
        joints_deg=settings.pose_deg,
        trigger=_trigger(settings.trigger, arm, PRESETS[settings.model].name),
    )


def _trigger(name: TriggerName, arm: ArmModel, preset: str) -> Trigger:
    """Build a trigger with the arm's published limits as its thresholds."""
    if name == "joint_speed":
        return JointSpeedTrigger(limit_deg_s=arm.limits.speed_deg_s)
    if name == "tcp_speed":
        limit_m_s = arm.typical_tool_speed_m_s
        if limit_m_s is None:
            raise InputError(f"no tool speed is published for {arm.name}", where="--trigger")
        return TcpSpeedTrigger(chain=arm.chain, limit_m_s=limit_m_s)
    return VelocityStepTrigger.from_constants(PRESETS[preset])
