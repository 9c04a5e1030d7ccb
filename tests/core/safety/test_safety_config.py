"""The `safety:` block: what a robot file may say, and what is refused at the key."""

import math
from typing import Any

import msgspec
import pytest

from steadyhand.ground.config_safety import (
    BoxArea,
    CylinderArea,
    HalfSpacesArea,
    SafetyConfig,
    SafetyPolicy,
    StrictRequirement,
)
from steadyhand.ground.errors import ConfigError

SHAPER = {"v_max_deg_s": 130, "a_max_deg_s2": 500}
BOX = {"shape": "box", "lower_m": [0, 0, 0], "upper_m": [1, 1, 1]}
CYLINDER = {"shape": "cylinder", "radius_m": 1, "z_lower_m": 0, "z_upper_m": 1}
WALLS = {"shape": "half_spaces", "walls": [{"normal": [0, 0, -1], "offset_m": 0}]}


def read(**blocks: Any) -> SafetyConfig:
    return msgspec.convert(blocks, SafetyConfig)


def test_a_whole_block_is_read() -> None:
    config = read(
        stream_shaper={**SHAPER, "mode": "feed_forward", "synchronised": True},
        divergence_guard={"lag_s": 0.08, "form": "margin", "margin_deg": 3},
        state_feed={"max_age_ms": 90},
        joint_limits={"limits_deg": [[-1, 1]]},
        workarea={"area": BOX, "trip_count": 2},
        joint_speed={"max_deg_s": 150},
        eef_speed={"max_m_s": 1},
        tcp_speed={"max_m_s": 1, "reach_m": [1, 0]},
    )
    assert config.stream_shaper is not None
    assert config.stream_shaper.mode == "feed_forward"
    assert config.joint_speed is not None
    assert (config.joint_speed.trip_count, config.state_feed.max_age_ms) == (3, 90.0)


def test_trip_counts_are_those_of_the_blocks() -> None:
    config = read(
        joint_limits={}, workarea={"area": BOX}, joint_speed={"max_deg_s": 1}, eef_speed={"max_m_s": 1}
    )
    blocks = (config.joint_limits, config.workarea, config.joint_speed, config.eef_speed)
    assert [block.trip_count for block in blocks if block is not None] == [1, 1, 3, 1]


@pytest.mark.parametrize(
    ("area", "kind"), [(BOX, BoxArea), (CYLINDER, CylinderArea), (WALLS, HalfSpacesArea)]
)
def test_a_work_area_is_told_by_its_shape(area: dict[str, Any], kind: type) -> None:
    config = read(workarea={"area": area})
    assert config.workarea is not None
    assert isinstance(config.workarea.area, kind)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
@pytest.mark.parametrize(
    ("block", "key", "rest"),
    [
        ("stream_shaper", "v_max_deg_s", {"a_max_deg_s2": 500}),
        ("stream_shaper", "a_max_deg_s2", {"v_max_deg_s": 130}),
        ("stream_shaper", "jerk_max_deg_s3", SHAPER),
        ("divergence_guard", "lag_s", {}),
        ("divergence_guard", "margin_deg", {"lag_s": 0.08}),
        ("divergence_guard", "window_margin_deg", {"lag_s": 0.08}),
        ("divergence_guard", "window_slack_ms", {"lag_s": 0.08}),
        ("divergence_guard", "measured_lag_s", {"lag_s": 0.08}),
        ("state_feed", "max_age_ms", {}),
        ("joint_speed", "max_deg_s", {}),
        ("eef_speed", "max_m_s", {}),
        ("tcp_speed", "max_m_s", {}),
    ],
)
def test_a_bound_that_bounds_nothing_is_refused_at_its_key(
    block: str, key: str, rest: dict[str, Any], bad: float
) -> None:
    with pytest.raises(ConfigError, match="not a finite number above 0") as refused:
        read(**{block: {**rest, key: bad}})
    assert refused.value.where == f"safety.{block}.{key}"


@pytest.mark.parametrize(
    ("blocks", "where", "said"),
    [
        (
            {"stream_shaper": {**SHAPER, "mode": "feed_forward", "jerk_max_deg_s3": 9}},
            "safety.stream_shaper.jerk_max_deg_s3",
            "plans to a target at rest",
        ),
        (
            {"divergence_guard": {"lag_s": 0.08, "feed_jitter_ms": -1}},
            "safety.divergence_guard.feed_jitter_ms",
            "-1 is not a time",
        ),
        (
            {"divergence_guard": {"lag_s": 0.08, "feed_jitter_ms": math.nan}},
            "safety.divergence_guard.feed_jitter_ms",
            "nan is not a time",
        ),
        (
            {"joint_limits": {"limits_deg": [[-1, 1], [5, 5]]}},
            "safety.joint_limits.limits_deg[1]",
            "is not [lowest, highest]",
        ),
        (
            {"joint_limits": {"limits_deg": [[-math.inf, 1]]}},
            "safety.joint_limits.limits_deg[0]",
            "is not [lowest, highest]",
        ),
        (
            {"workarea": {"area": {**BOX, "lower_m": [0, 1, 0]}}},
            "safety.workarea.lower_m",
            "on every axis",
        ),
        (
            {"workarea": {"area": {**BOX, "upper_m": [math.inf, 1, 1]}}},
            "safety.workarea.upper_m",
            "not finite",
        ),
        (
            {"workarea": {"area": {**CYLINDER, "radius_m": 0}}},
            "safety.workarea.radius_m",
            "not a finite number above 0",
        ),
        (
            {"workarea": {"area": {**CYLINDER, "z_lower_m": 1}}},
            "safety.workarea.z_lower_m",
            "is not below ceiling",
        ),
        (
            {"workarea": {"area": {**WALLS, "walls": [{"normal": [0, 0, 0], "offset_m": 1}]}}},
            "safety.workarea.walls.normal",
            "no direction",
        ),
        (
            {"workarea": {"area": {**WALLS, "walls": [{"normal": [0, 0, 1], "offset_m": math.nan}]}}},
            "safety.workarea.walls",
            "not finite",
        ),
        (
            {"tcp_speed": {"max_m_s": 1, "reach_m": [1, -0.1]}},
            "safety.tcp_speed.reach_m[1]",
            "is not a distance",
        ),
    ],
)
def test_a_contradiction_is_refused_at_its_key(blocks: dict[str, Any], where: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read(**blocks)
    assert refused.value.where == where
    assert said in refused.value.what


@pytest.mark.parametrize(
    "blocks",
    [
        {"stream_shper": SHAPER},
        {"stream_shaper": {**SHAPER, "vmax": 1}},
        {"stream_shaper": {**SHAPER, "mode": "fastest"}},
        {"joint_speed": {"max_deg_s": 150, "trip_count": 0}},
        {"workarea": {"area": {"shape": "sphere"}}},
        {"workarea": {"area": {"shape": "half_spaces", "walls": []}}},
    ],
)
def test_what_the_block_does_not_know_is_refused(blocks: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        read(**blocks)


def test_a_policy_names_what_a_strict_type_requires_and_nothing_of_others() -> None:
    policy = SafetyPolicy(strict_robot_types={"fairino": StrictRequirement(required=("joint_speed",))})
    assert policy.required_for("fairino") == ("joint_speed",)
    assert policy.required_for("simulated") == ()


def test_a_policy_that_requires_an_unknown_block_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"strict_robot_types": {"fairino": {"required": ["joint_spede"]}}}, SafetyPolicy)
