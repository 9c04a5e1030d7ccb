"""The guard suite of one arm: which guards it has, their locks, and what they last saw.

The suite is state without policy: the order in which guards are asked is `ladder`'s, and what an
operator may do to them is `envelope`'s.
"""

from collections.abc import Sequence

import msgspec

from steadyhand.core.safety.divergence import DivergenceGuard
from steadyhand.core.safety.guards import (
    BaselineSpeed,
    EefSpeedGuard,
    JointLimitsGuard,
    JointSpeedGuard,
    StateFeedGuard,
    TripLock,
    WorkAreaGuard,
)
from steadyhand.core.safety.reach import Reach
from steadyhand.core.safety.shaper import Proposal, StreamShaper
from steadyhand.core.safety.tool_speed import ToolVelocity
from steadyhand.core.safety.unshaped import UnshapedStream
from steadyhand.core.safety.verdicts import Guard, Refused, SafetyEvent, Violation
from steadyhand.core.safety.walls import WallGate
from steadyhand.core.safety.workarea import ToolPosition

Stream = StreamShaper | UnshapedStream


class SuiteParts(msgspec.Struct, frozen=True, kw_only=True):
    """What `policy.build_envelope` puts together; see there for what each needs.

    Attributes:
        stream: the shaper, or the unshaped stream.
        joint_limits: the arm's own range.
        any_joint: the range that only refuses what is no angle, for when the limits are off.
        state_feed: bound on the age of measured frames.
        divergence: None only without a shaper.
        workarea: the gate on the raw target.
        walls: the same area around the shaper's stopping point.
        joint_speed: ceiling on the measured arm.
        eef_speed: ceiling on the measured tool.
        tool_position: forward kinematics, for the tool's speed.
        reach: of the tool, which saves most of the kinematics; None where none are known.
        feed_jitter_ns: jitter of the feed, for speeds taken from poses.
        trip_counts: N per guard; those not named trip at once.
        joint_names: shape (n_joints,).
    """

    stream: Stream
    joint_limits: JointLimitsGuard
    any_joint: JointLimitsGuard
    state_feed: StateFeedGuard
    divergence: DivergenceGuard | None
    workarea: WorkAreaGuard | None
    walls: WallGate | None
    joint_speed: JointSpeedGuard | None
    eef_speed: EefSpeedGuard | None
    tool_position: ToolPosition | None
    reach: Reach | None
    feed_jitter_ns: int
    trip_counts: dict[Guard, int]
    joint_names: tuple[str, ...]


class Command(msgspec.Struct, gc=False):
    """One tick's command on its way down the ladder; `proposal` is what the shaper makes of it."""

    target_deg: Sequence[float]
    fresh: bool
    now_ns: int
    proposal: Proposal | None = None


class GuardSuite:
    """Guards in force, their locks, the newest measured pose, and events not taken yet.

    What a guard may not judge while it is switched off is None here, so the tick never asks.
    """

    def __init__(self, parts: SuiteParts) -> None:
        self.parts = parts
        self.locks = {guard: TripLock(guard, parts.trip_counts.get(guard, 1)) for guard in Guard}
        self.joint_limits_lock = self.locks[Guard.JOINT_LIMITS]
        self.workarea_lock = self.locks[Guard.WORKAREA]
        self.state_feed_lock = self.locks[Guard.STATE_FEED]
        self.divergence_lock = self.locks[Guard.DIVERGENCE]
        self.joint_speed_lock = self.locks[Guard.JOINT_SPEED]
        self.eef_speed_lock = self.locks[Guard.EEF_SPEED]
        self.joint_limits = parts.joint_limits
        self.workarea = parts.workarea
        self.joint_speed = parts.joint_speed
        self.eef_speed = parts.eef_speed
        self.joint_speeds = BaselineSpeed(parts.feed_jitter_ns)
        self.tool_velocity = _tool_velocity(parts)
        self.measured_deg: tuple[float, ...] | None = None
        self.measured_ns = 0
        self.any_tripped = False
        self.wall_held = False
        self.events: list[SafetyEvent] = []
        self._disabled: set[Guard] = set()

    def enabled(self, guard: Guard) -> bool:
        """Whether an operator has left this guard on."""
        return guard not in self._disabled

    def switch(self, guard: Guard, *, enabled: bool) -> None:
        """Put a guard in force or out of it; what it has latched stays latched."""
        if enabled:
            self._disabled.discard(guard)
        else:
            self._disabled.add(guard)
        parts = self.parts
        on = self.enabled
        self.joint_limits = parts.joint_limits if on(Guard.JOINT_LIMITS) else parts.any_joint
        self.workarea = parts.workarea if on(Guard.WORKAREA) else None
        self.joint_speed = parts.joint_speed if on(Guard.JOINT_SPEED) else None
        self.eef_speed = parts.eef_speed if on(Guard.EEF_SPEED) else None
        if isinstance(parts.stream, StreamShaper):
            parts.stream.set_walls(parts.walls if on(Guard.WORKAREA) else None)

    def judge(self, lock: TripLock, violation: Violation | None, now_ns: int) -> Refused | None:
        """Put a finding to its lock; a refusal where there is one, an event where it trips."""
        if violation is None:
            lock.in_a_row = 0
            return None
        event = lock.judge(violation, now_ns)
        if event is not None:
            self.any_tripped = True
            self.events.append(event)
        return Refused(guard=lock.guard, reason=violation.reason, tripped=lock.tripped)

    def tripped(self) -> tuple[Guard, ...]:
        """Every guard that has latched, in the order of the `safety` dict."""
        return tuple(guard for guard, lock in self.locks.items() if lock.tripped)

    def reset(self) -> None:
        """Clear every lock and forget the speeds' baselines."""
        for lock in self.locks.values():
            lock.reset()
        self.any_tripped = False
        self.joint_speeds.forget()
        if self.tool_velocity is not None:
            self.tool_velocity.forget()


def _tool_velocity(parts: SuiteParts) -> ToolVelocity | None:
    """For an arm whose kinematics are known."""
    if parts.tool_position is None:
        return None
    return ToolVelocity(parts.tool_position, parts.feed_jitter_ns, parts.reach)
