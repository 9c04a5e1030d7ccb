"""A controller that is enabled, past its window and streaming, ready for the first setpoint."""

from collections.abc import Callable
from random import Random

import pytest

from steadyhand.core.controller.constants import FR3, ControllerConstants
from steadyhand.core.controller.model import ControllerModel
from steadyhand.core.controller.triggers import Trigger
from steadyhand.ground.arms import FR3 as FR3_ARM

Ready = Callable[..., ControllerModel]


@pytest.fixture
def ready() -> Ready:
    """Make one, at 2 s, standing at zero: `ready(constants, seed, trigger=…, limits=…)`."""

    def make(
        constants: ControllerConstants = FR3,
        seed: int = 1,
        *,
        trigger: Trigger | None = None,
        limits: tuple[Trigger, ...] = (),
    ) -> ControllerModel:
        controller = ControllerModel(
            constants,
            Random(seed),
            joint_limits=FR3_ARM.limits,
            joints_deg=(0.0,) * 6,
            trigger=trigger,
            limits=limits,
        )
        controller.enable(0)
        controller.servo_move_start(0)
        controller.step(2_000_000_000)
        return controller

    return make
