"""Building an arm's envelope from its configuration, or saying what keeps it from being built.

A configuration that would run an arm half-protected does not construct; `requirements` has the
checks. Files are read elsewhere: everything here comes in as structs.
"""

import math
from typing import Any, Final

import msgspec

from steadyhand.core.safety.braking import motion_bounds
from steadyhand.core.safety.divergence import StreamFigures, divergence_guard
from steadyhand.core.safety.envelope import SafetyEnvelope
from steadyhand.core.safety.guards import (
    DEFAULT_JOINT_RANGE_DEG,
    EefSpeedGuard,
    JointLimitsGuard,
    JointSpeedGuard,
    StateFeedGuard,
    WorkAreaGuard,
)
from steadyhand.core.safety.jerk import JerkSolver, RuckigSolver
from steadyhand.core.safety.reach import Reach
from steadyhand.core.safety.requirements import CHECKS, ArmFigures
from steadyhand.core.safety.shaper import StreamShaper
from steadyhand.core.safety.suite import Stream, SuiteParts
from steadyhand.core.safety.tcp_bound import TcpBound
from steadyhand.core.safety.unshaped import UnshapedStream
from steadyhand.core.safety.verdicts import RETIRED_NAMES, Guard
from steadyhand.core.safety.walls import WallGate
from steadyhand.core.safety.workarea import WorkArea, clearance_of
from steadyhand.ground.config_safety import SafetyConfig, SafetyPolicy
from steadyhand.ground.errors import ConfigError
from steadyhand.ground.kinematics import Chain
from steadyhand.ground.stamps import ns_from_ms, s_from_ns

NO_POLICY: Final = SafetyPolicy(strict_robot_types={})
"""No robot type is strict; the pairings hold all the same."""


def build_envelope(
    config: SafetyConfig,
    arm: ArmFigures,
    policy: SafetyPolicy = NO_POLICY,
    *,
    jerk_solver: JerkSolver | None = None,
) -> SafetyEnvelope:
    """Build the envelope of one arm.

    Args:
        config: its `safety:` block.
        arm: what else is known of it.
        policy: which blocks its type cannot be without.
        jerk_solver: plans under the jerk bound; None takes Ruckig where the bound is configured.

    Raises:
        ConfigError: anything that would run the arm half-protected; names it and what would do.
    """
    for check in CHECKS:
        check(config, arm, policy)
    parts = _suite_parts(config, arm, jerk_solver)
    envelope = SafetyEnvelope(parts, config, policy.required_for(arm.robot_type))
    if isinstance(parts.stream, StreamShaper):
        parts.stream.set_walls(parts.walls)
    return envelope


def edited(config: SafetyConfig, block: str, changes: dict[str, Any]) -> SafetyConfig:
    """The configuration with some keys of one block changed; to be built like any other.

    A run-time edit is a new configuration: it passes every check again and takes effect at the next
    engage, so that no edit can leave an arm in a state that would not have constructed. A retired
    name changes nothing.

    Raises:
        ConfigError: no such block, no such key, or a value that cannot be.
    """
    if block in RETIRED_NAMES:
        return config
    blocks = [name for name in SafetyConfig.__struct_fields__ if name not in RETIRED_NAMES]
    if block not in blocks:
        raise ConfigError("no such block", where=f"safety.{block}", hint=f"there are {', '.join(blocks)}")
    current = msgspec.to_builtins(config)
    current[block] = {**(current[block] or {}), **changes}
    try:
        return msgspec.convert(current, SafetyConfig)
    except msgspec.ValidationError as error:
        raise ConfigError(str(error), where=f"safety.{block}") from error


def reach_m(chain: Chain) -> tuple[float, ...]:
    """Per joint, no less than the largest distance of the tool from its axis, shape (n_joints,).

    The link after an axis counts with its length a alone, since d runs along the axis; every link
    after that with its full length, as if the arm were stretched out.
    """
    beyond_m = math.hypot(*chain.tool_offset_m)
    reaches = []
    for row in reversed(chain.rows):
        reaches.append(abs(row.a_m) + beyond_m)
        beyond_m += math.hypot(row.a_m, row.d_m)
    return tuple(reversed(reaches))


def _suite_parts(config: SafetyConfig, arm: ArmFigures, jerk_solver: JerkSolver | None) -> SuiteParts:
    """Every guard the configuration names."""
    names, chain = arm.joint_names, arm.chain
    any_joint_deg = (DEFAULT_JOINT_RANGE_DEG,) * len(names)
    limits_deg = _limits_deg(config, arm)
    state_feed = StateFeedGuard(config.state_feed.max_age_ms)
    joint_speed, eef_speed, divergence = config.joint_speed, config.eef_speed, config.divergence_guard
    tool_position = None if chain is None else chain.tool_position_m
    workarea, walls = _workarea(config, arm)
    return SuiteParts(
        stream=_stream(config, arm, limits_deg, jerk_solver),
        joint_limits=JointLimitsGuard(limits_deg or any_joint_deg, names),
        any_joint=JointLimitsGuard(any_joint_deg, names),
        state_feed=state_feed,
        divergence=None
        if divergence is None
        else divergence_guard(divergence, _stream_figures(config, arm, state_feed.max_age_ns)),
        workarea=workarea,
        walls=walls,
        joint_speed=None if joint_speed is None else JointSpeedGuard(joint_speed.max_deg_s, names),
        eef_speed=None if eef_speed is None else EefSpeedGuard(eef_speed.max_m_s),
        tool_position=tool_position,
        reach=None if chain is None else Reach(reach_m(chain)),
        feed_jitter_ns=0 if divergence is None else ns_from_ms(divergence.feed_jitter_ms),
        trip_counts=_trip_counts(config),
        joint_names=names,
    )


def _limits_deg(config: SafetyConfig, arm: ArmFigures) -> tuple[tuple[float, float], ...]:
    """The limits in force: the block's own, else the robot file's; none without the block."""
    if config.joint_limits is None:
        return ()
    return config.joint_limits.limits_deg or arm.limits_deg


def _stream(
    config: SafetyConfig,
    arm: ArmFigures,
    limits_deg: tuple[tuple[float, float], ...],
    jerk_solver: JerkSolver | None,
) -> Stream:
    """The shaper with its options, or the unshaped stream."""
    shaper, n_joints, period_s = config.stream_shaper, len(arm.joint_names), s_from_ns(arm.period_ns)
    if shaper is None:
        return UnshapedStream(n_joints=n_joints, period_s=period_s)
    if shaper.jerk_max_deg_s3 is None:
        jerk_solver = None
    elif jerk_solver is None:
        jerk_solver = RuckigSolver(
            n_joints=n_joints,
            period_s=period_s,
            a_max_deg_s2=shaper.a_max_deg_s2,
            jerk_max_deg_s3=shaper.jerk_max_deg_s3,
            synchronised=shaper.synchronised,
        )
    tcp_bound = None
    if config.tcp_speed is not None:
        reaches = config.tcp_speed.reach_m
        if not reaches and arm.chain is not None:
            reaches = reach_m(arm.chain)
        tcp_bound = TcpBound(max_m_s=config.tcp_speed.max_m_s, reach_m=reaches)
    return StreamShaper(
        shaper,
        n_joints=n_joints,
        period_s=period_s,
        limits_deg=limits_deg,
        tcp_bound=tcp_bound,
        jerk_solver=jerk_solver,
    )


def _stream_figures(config: SafetyConfig, arm: ArmFigures, max_age_ns: int) -> StreamFigures:
    """What the divergence guard's floors depend on; an unshaped stream gives them nothing."""
    shaper = config.stream_shaper
    return StreamFigures(
        v_max_deg_s=0.0 if shaper is None else shaper.v_max_deg_s,
        a_max_deg_s2=0.0 if shaper is None else shaper.a_max_deg_s2,
        period_ns=arm.period_ns,
        joint_names=arm.joint_names,
        max_age_ns=max_age_ns,
    )


def _workarea(config: SafetyConfig, arm: ArmFigures) -> tuple[WorkAreaGuard | None, WallGate | None]:
    """The gate on the raw target, and the walls around a shaped stream's stopping point."""
    if config.workarea is None or arm.chain is None:
        return None, None
    clearance = clearance_of(config.workarea.area)
    area = WorkArea(clearance, arm.chain.tool_position_m, reach_m=reach_m(arm.chain))
    guard = WorkAreaGuard(area)
    if config.stream_shaper is None:
        return guard, None
    bounds = motion_bounds(a_max_deg_s2=config.stream_shaper.a_max_deg_s2, period_s=s_from_ns(arm.period_ns))
    return guard, WallGate(area, bounds)


def _trip_counts(config: SafetyConfig) -> dict[Guard, int]:
    """Violations in a row to trip, by block; what is not named trips at once."""
    blocks = {
        Guard.JOINT_LIMITS: config.joint_limits,
        Guard.WORKAREA: config.workarea,
        Guard.JOINT_SPEED: config.joint_speed,
        Guard.EEF_SPEED: config.eef_speed,
    }
    return {guard: block.trip_count for guard, block in blocks.items() if block is not None}
