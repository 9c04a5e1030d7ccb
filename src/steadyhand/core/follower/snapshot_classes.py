"""Of which classes a FollowerCore is made, and what a snapshot does with each (R17).

A class that is new in the follower, the playout buffer or the envelope is named here; a test walks a
live follower and says which one is missing.
"""

from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Final

from steadyhand.core.follower import engagement, ingress, outputs, stream
from steadyhand.core.follower.settings import FollowerSettings
from steadyhand.core.playout import (
    PlayoutBuffer,
    PlayoutConfig,
    PlayoutStats,
    arrival_health,
    depth,
    numbering,
    state,
    trim,
    verdicts,
    waits,
)
from steadyhand.core.redundancy import DatagramLossEstimator
from steadyhand.core.safety import (
    divergence,
    envelope,
    episodes,
    feed_forward,
    guards,
    jerk,
    latch,
    laws,
    mailbox,
    shaper,
    suite,
    tool_speed,
    unshaped,
    walls,
    workarea,
    writes,
)
from steadyhand.core.safety import verdicts as safety_verdicts
from steadyhand.core.safety.braking import MotionBounds
from steadyhand.core.safety.reach import Reach
from steadyhand.core.safety.tcp_bound import TcpBound
from steadyhand.core.snapshot import SnapshotPlan
from steadyhand.core.snapshot_values import ValueTypes
from steadyhand.core.timing import TransitEstimator
from steadyhand.core.timing.windowed_minimum import WindowedMinimum
from steadyhand.ground.config_safety import SafetyConfig
from steadyhand.ground.measured_arm import MeasuredArm
from steadyhand.ground.robot_status import RobotStatus, VacuumState
from steadyhand.ground.setpoint import Setpoint, StampSource
from steadyhand.wire.rejections import Reason, RejectionCounts
from steadyhand.wire.replay_window import ReplayWindow
from steadyhand.wire.sealing import Unsealer

FOLLOWER_PARTS: Final = (
    stream.Stream,
    engagement.Engagement,
    ingress.Ingress,
    RejectionCounts,
    Unsealer,
    ReplayWindow,
    TransitEstimator,
    WindowedMinimum,
    DatagramLossEstimator,
)

PLAYOUT_PARTS: Final = (
    PlayoutBuffer,
    state.PlayoutState,
    numbering.AcceptedNumbers,
    numbering.Probation,
    numbering.SteppedClock,
    arrival_health.ArrivalHealth,
    depth.FixedDepth,
    depth.GrazeDepth,
    trim.ClockTrim,
    waits.WaitWindow,
)

SAFETY_PARTS: Final = (
    envelope.SafetyEnvelope,
    suite.GuardSuite,
    shaper.StreamShaper,
    unshaped.UnshapedStream,
    feed_forward.TargetVelocity,
    jerk.RuckigSolver,
    guards.TripLock,
    guards.JointLimitsGuard,
    guards.WorkAreaGuard,
    guards.StateFeedGuard,
    guards.JointSpeedGuard,
    guards.EefSpeedGuard,
    guards.Baseline,
    guards.BaselineSpeed,
    tool_speed.ToolVelocity,
    divergence.MarginGuard,
    divergence.WindowGuard,
    walls.WallGate,
    workarea.WorkArea,
    latch.EngageMachine,
    episodes.EpisodeBook,
    writes.WriteLedger,
    mailbox.Mailbox,
    mailbox.FrameSource,
)

FOLLOWER_VALUES: Final = (
    ingress.IngressCounts,
    outputs.Released,
    outputs.SessionOpened,
    outputs.Moved,
    outputs.Stopped,
    outputs.ResetDone,
    outputs.RequestRefused,
    outputs.SafetyNote,
    outputs.DepthChanged,
    outputs.ProgramFault,
    MeasuredArm,
    Setpoint,
)

PLAYOUT_VALUES: Final = (PlayoutStats, state.Entry, numbering.NumberingStart, verdicts.StallReport)

SAFETY_VALUES: Final = (
    latch.StopCause,
    shaper.Proposal,
    jerk.JerkState,
    jerk.JerkRequest,
    tool_speed.ToolFrame,
    safety_verdicts.Violation,
    safety_verdicts.GuardTripped,
    safety_verdicts.JumpAbsorbed,
    safety_verdicts.WallHeld,
    safety_verdicts.GuardToggled,
    safety_verdicts.RetiredNameUsed,
)

ENUMS: Final = (
    latch.EngageState,
    latch.StopKind,
    safety_verdicts.Guard,
    outputs.FrameKind,
    verdicts.StallCause,
    RobotStatus,
    VacuumState,
    StampSource,
    Reason,
)

BUILT: Final = (
    FollowerSettings,
    PlayoutConfig,
    MotionBounds,
    laws.MotionLaws,
    TcpBound,
    Reach,
    BuiltinFunctionType,
    FunctionType,
    MethodType,
)

LEFT_OUT: Final = {
    ingress.Ingress: frozenset({"last_unsealed"}),
    # The key. A restored follower has none.
    Unsealer: frozenset({"_aead"}),
    jerk.RuckigSolver: frozenset({"_generator", "_output", "_input", "_found", "_error"}),
}

REFERS: Final = {
    engagement.Engagement: frozenset({"stream"}),
    ingress.Ingress: frozenset({"_stream"}),
    mailbox.FrameSource: frozenset({"_mailbox"}),
    shaper.StreamShaper: frozenset({"_walls"}),
    suite.GuardSuite: frozenset(
        {
            "joint_limits",
            "workarea",
            "joint_speed",
            "eef_speed",
            "joint_limits_lock",
            "workarea_lock",
            "state_feed_lock",
            "divergence_lock",
            "joint_speed_lock",
            "eef_speed_lock",
        }
    ),
}
"""Which guard is in force, and who stands beside whom: by number among the parts."""


def snapshot_plan(root: type) -> SnapshotPlan:
    """The classes of a follower; `root` is FollowerCore, which is built on this file."""
    return SnapshotPlan(
        parts=(root, *FOLLOWER_PARTS, *PLAYOUT_PARTS, *SAFETY_PARTS),
        values=ValueTypes(
            structs=(*FOLLOWER_VALUES, *PLAYOUT_VALUES, *SAFETY_VALUES),
            # The mailbox tells a setpoint that was put again by identity, the stream an edited block.
            same=(mailbox.Slot,),
            documents=(SafetyConfig,),
            enums=ENUMS,
        ),
        fixed=(suite.SuiteParts,),
        built=BUILT,
        left_out=LEFT_OUT,
        refers=REFERS,
        afterwards={jerk.RuckigSolver: jerk.RuckigSolver.resume},
    )
