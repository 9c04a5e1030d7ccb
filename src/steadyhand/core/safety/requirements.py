"""What a configuration must have before an arm may run on it (document 001, "fail-closed pairing").

The checks are a tuple in the order they are asked; each names what is missing or wrong, where, and
a value that would do. `policy.build_envelope` asks them all; none of them is optional.
"""

import math
from collections.abc import Callable
from typing import Final

import msgspec

from steadyhand.ground.config_safety import SafetyConfig, SafetyPolicy
from steadyhand.ground.errors import ConfigError
from steadyhand.ground.kinematics import Chain

WOULD_DO: Final[dict[str, str]] = {
    "stream_shaper": "{v_max_deg_s: 120, a_max_deg_s2: 500}",
    "divergence_guard": "{lag_s: 0.115, margin_deg: 4}",
    "joint_speed": "{max_deg_s: 150}",
    "joint_limits": "{}",
    "workarea": "{area: {shape: cylinder, radius_m: 1, z_lower_m: 0, z_upper_m: 1}}",
    "eef_speed": "{max_m_s: 1}",
    "tcp_speed": "{max_m_s: 1}",
}
"""A block to start from, for the error that misses it; the slowest arm's numbers (R18)."""


class ArmFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What the envelope has to know of the arm beside its `safety:` block.

    Attributes:
        robot_type: `robot.type`, as the policy names it.
        joint_names: shape (n_joints,).
        period_ns: cmdT.
        limits_deg: (lowest, highest) per joint as the robot file has them, or empty.
        chain: kinematics where the arm's are known; work area and both tool speeds need them.
        judged_by_tcp_speed: whether the controller trips on the tool's commanded speed (R10).
    """

    robot_type: str
    joint_names: tuple[str, ...]
    period_ns: int
    limits_deg: tuple[tuple[float, float], ...] = ()
    chain: Chain | None = None
    judged_by_tcp_speed: bool = False


Check = Callable[[SafetyConfig, ArmFigures, SafetyPolicy], None]


def has_what_the_policy_requires(config: SafetyConfig, arm: ArmFigures, policy: SafetyPolicy) -> None:
    """A strict robot type has every block the policy requires of it."""
    for key in policy.required_for(arm.robot_type):
        if getattr(config, key) is None:
            raise ConfigError(
                f"missing; the safety policy requires it for robot type {arm.robot_type}",
                where=f"safety.{key}",
                hint=f"{key}: {WOULD_DO[key]} would do",
            )


def pairs_shaper_and_divergence_guard(config: SafetyConfig, arm: ArmFigures, policy: SafetyPolicy) -> None:
    """A shaper cannot see the arm, so it never runs without the guard that can."""
    if config.stream_shaper is not None and config.divergence_guard is None:
        raise ConfigError(
            "missing; a stream_shaper without it would not notice an arm that moves by itself",
            where="safety.divergence_guard",
            hint=f"divergence_guard: {WOULD_DO['divergence_guard']} would do",
        )


def lets_nothing_commanded_trip_joint_speed(
    config: SafetyConfig, arm: ArmFigures, policy: SafetyPolicy
) -> None:
    """The measured joint-speed ceiling lies above v_max: only the arm itself can pass it."""
    shaper, ceiling = config.stream_shaper, config.joint_speed
    if shaper is not None and ceiling is not None and not ceiling.max_deg_s > shaper.v_max_deg_s:
        raise ConfigError(
            f"{ceiling.max_deg_s:g} is not above stream_shaper.v_max_deg_s {shaper.v_max_deg_s:g}",
            where="safety.joint_speed.max_deg_s",
            hint=f"{math.ceil(shaper.v_max_deg_s * 1.15):g} would do",
        )


def bounds_tool_speed_where_it_is_judged(config: SafetyConfig, arm: ArmFigures, policy: SafetyPolicy) -> None:
    """A controller that trips on tool speed gets a stream that is bounded in it (R10)."""
    if arm.judged_by_tcp_speed and config.tcp_speed is None:
        raise ConfigError(
            "missing; this controller trips on the tool's commanded speed",
            where="safety.tcp_speed",
            hint=f"tcp_speed: {WOULD_DO['tcp_speed']} would do",
        )


def has_a_shaper_for_what_shapes(config: SafetyConfig, arm: ArmFigures, policy: SafetyPolicy) -> None:
    """The tool-speed bound is the shaper's to keep."""
    if config.tcp_speed is not None and config.stream_shaper is None:
        raise ConfigError(
            "missing; tcp_speed is kept by shaping",
            where="safety.stream_shaper",
            hint=f"stream_shaper: {WOULD_DO['stream_shaper']} would do",
        )


def knows_the_limits_where_it_overshoots(config: SafetyConfig, arm: ArmFigures, policy: SafetyPolicy) -> None:
    """`feed_forward` overshoots a target that freezes, so it needs the limits that gate it (R8)."""
    shaper = config.stream_shaper
    if shaper is not None and shaper.mode == "feed_forward" and config.joint_limits is None:
        raise ConfigError(
            "missing; feed_forward overshoots a target that freezes, and joint limits are what gates it",
            where="safety.joint_limits",
            hint="give them, or use mode rest_target",
        )


def has_as_many_limits_as_joints(config: SafetyConfig, arm: ArmFigures, policy: SafetyPolicy) -> None:
    """Limits are given for every joint, in the block or in the robot file."""
    if config.joint_limits is None:
        return
    limits_deg = config.joint_limits.limits_deg or arm.limits_deg
    if len(limits_deg) != len(arm.joint_names):
        raise ConfigError(
            f"{len(limits_deg)} limits for {len(arm.joint_names)} joints",
            where="safety.joint_limits.limits_deg",
            hint="give one [lowest, highest] per joint here or in robot.joint_limits_deg",
        )


def knows_the_chain_where_it_needs_it(config: SafetyConfig, arm: ArmFigures, policy: SafetyPolicy) -> None:
    """Work area and measured tool speed need the arm's kinematics, a tool-speed bound its reach."""
    if arm.chain is not None:
        return
    for key in ("workarea", "eef_speed"):
        if getattr(config, key) is not None:
            raise ConfigError(
                "the kinematics of this arm are not known",
                where=f"safety.{key}",
                hint="name a model with a known chain, or leave the block out",
            )
    if config.tcp_speed is not None and len(config.tcp_speed.reach_m) != len(arm.joint_names):
        raise ConfigError(
            "the kinematics of this arm are not known",
            where="safety.tcp_speed.reach_m",
            hint="give the tool's largest distance from each joint's axis",
        )


CHECKS: Final[tuple[Check, ...]] = (
    has_what_the_policy_requires,
    pairs_shaper_and_divergence_guard,
    has_a_shaper_for_what_shapes,
    bounds_tool_speed_where_it_is_judged,
    lets_nothing_commanded_trip_joint_speed,
    knows_the_limits_where_it_overshoots,
    has_as_many_limits_as_joints,
    knows_the_chain_where_it_needs_it,
)
