"""Which controller is simulated, and where."""

from random import Random
from typing import Final

import msgspec

from steadyhand.core.controller.kinds import ARM_OF, ModelName, TriggerName, controller_of
from steadyhand.core.controller.model import ControllerModel
from steadyhand.edge.robots.fairino.ports import VENDOR_PORTS, FairinoPorts
from steadyhand.ground.errors import InputError

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
    return controller_of(settings.model, settings.trigger, Random(settings.seed), pose_deg=settings.pose_deg)
