"""The controllers that can be chosen by name."""

from random import Random
from typing import get_args

import msgspec
import pytest

from steadyhand.core.controller.constants import PRESETS
from steadyhand.core.controller.kinds import (
    ARM_OF,
    ModelName,
    TriggerName,
    controller_of,
    tool_limit_m_s,
    trigger_of,
)
from steadyhand.core.controller.triggers import (
    JointSpeedTrigger,
    NoTrigger,
    TcpSpeedTrigger,
    VelocityStepTrigger,
)
from steadyhand.ground.arms import FR3, FR20
from steadyhand.ground.errors import InputError

POSE_DEG = (10.0, -90.0, 90.0, -90.0, -90.0, 0.0)


def test_every_preset_has_a_name_and_every_name_an_arm() -> None:
    assert set(get_args(ModelName)) == set(PRESETS) == set(ARM_OF)


def test_the_thresholds_of_a_trigger_are_the_published_limits_of_the_models_own_arm() -> None:
    assert trigger_of("fr20", "joint_speed") == JointSpeedTrigger(limit_deg_s=FR20.limits.speed_deg_s)
    assert trigger_of("fr3", "tcp_speed") == TcpSpeedTrigger(chain=FR3.chain, limit_m_s=1.0)
    assert trigger_of("fr20", "tcp_speed") == TcpSpeedTrigger(chain=FR20.chain, limit_m_s=2.0)
    assert trigger_of("fr3", "velocity_step") == VelocityStepTrigger.from_constants(PRESETS["fr3"])


@pytest.mark.parametrize("model", get_args(ModelName))
@pytest.mark.parametrize("trigger", get_args(TriggerName))
def test_any_model_can_be_made_with_any_trigger(model: ModelName, trigger: TriggerName) -> None:
    made = controller_of(model, trigger, Random(7), pose_deg=POSE_DEG)
    assert made.constants is PRESETS[model]
    assert made.state(0).joints_deg == POSE_DEG
    assert made.trigger == (NoTrigger() if model == "sim" else trigger_of(model, trigger))
    again = controller_of(model, trigger, Random(7), pose_deg=POSE_DEG)
    assert made.rng.random() == again.rng.random()


def test_an_arm_cannot_be_made_outside_its_own_limits() -> None:
    beyond = (0.0, -90.0, 155.0, -90.0, -90.0, 0.0)
    controller_of("fr20", "velocity_step", Random(0), pose_deg=beyond)
    with pytest.raises(ValueError, match="outside its joint limits"):
        controller_of("fr3", "velocity_step", Random(0), pose_deg=beyond)


def test_without_a_published_tool_speed_there_is_nothing_to_judge_by(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ARM_OF, "fr3", msgspec.structs.replace(FR3, typical_tool_speed_m_s=None))
    with pytest.raises(InputError, match="no tool speed is published for fr3"):
        tool_limit_m_s("fr3")
