"""What the follower answers: commands for the driver, and events for everybody who watches.

All are values: the data plane carries commands out at once and writes events to the ring; a log
holds them; a replay compares them.
"""

from enum import StrEnum
from typing import Any

import msgspec

from steadyhand.core.safety.latch import StopCause


class FrameKind(StrEnum):
    """Where a frame on the wire came from."""

    FRESH = "fresh"
    HOLD = "hold"
    SYNTHETIC = "synthetic"
    BRAKE = "brake"


class SendJoints(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Write one frame, then tell `note_write` what came of it.

    Attributes:
        joints_deg: the shaped setpoint, shape (n_joints,).
        seq: wire number of the setpoint behind it; of a hold, the last one's.
        kind: where it came from.
    """

    joints_deg: tuple[float, ...]
    seq: int
    kind: FrameKind


class StartStream(msgspec.Struct, frozen=True, tag=True):
    """Open the motion stream at the controller."""


class EndStream(msgspec.Struct, frozen=True, tag=True):
    """The driver's non-blocking stream end; no motion is written after it."""


class StopMotion(msgspec.Struct, frozen=True, tag=True):
    """The blocking stop, for the helper in the control plane.

    Attributes:
        reason: for its log.
    """

    reason: str


class StartProbe(msgspec.Struct, frozen=True, tag=True):
    """Find out whether the controller accepts frames; answer with ProbeReady or ProbeFailed.

    Attributes:
        joints_deg: the measured pose to probe with.
    """

    joints_deg: tuple[float, ...]


class CancelProbe(msgspec.Struct, frozen=True, tag=True):
    """Whatever the probe finds, it is too late."""


DriverCommand = SendJoints | StartStream | EndStream | StopMotion | StartProbe | CancelProbe


class Released(msgspec.Struct, frozen=True, tag=True, gc=False):
    """A setpoint's way through the follower: three times of one clock, and what it became.

    Attributes:
        seq: its wire number.
        kind: FRESH or SYNTHETIC.
        target_deg: as released by the buffer (R7: verbatim where it was received).
        arrived_ns: when it arrived; of a synthetic, when it was made.
        released_ns: when the buffer let it go.
    """

    seq: int
    kind: FrameKind
    target_deg: tuple[float, ...]
    arrived_ns: int
    released_ns: int


class TickOutput(msgspec.Struct, frozen=True, gc=False):
    """One tick.

    Attributes:
        commands: for the driver, in this order.
        next_tick_ns: when the next tick is due, on the trimmed grid (R2).
        released: what the buffer let go, None in a tick that held, braked or did nothing.
    """

    commands: tuple[DriverCommand, ...]
    next_tick_ns: int
    released: Released | None = None


class SessionOpened(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A sealed session began; the one before is retired."""

    at_ns: int
    session_id: int
    operator: str


class Moved(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The engage machine changed its state."""

    at_ns: int
    state: str
    by: str


class Stopped(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The arm is latched; nothing moves until the operator's reset."""

    at_ns: int
    cause: StopCause


class ResetDone(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The latch is released."""

    at_ns: int
    operator: str
    reason: str


class RequestRefused(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Somebody asked for something and was told no."""

    at_ns: int
    request: str
    reason: str


class SafetyNote(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The envelope tells: a guard tripped or was toggled, a jump absorbed, a wall held."""

    at_ns: int
    kind: str
    fields: dict[str, Any]


class DepthChanged(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The adaptive target moved."""

    at_ns: int
    target: int
    target_ms: float
    base_ms: float


class ProgramFault(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """An exception in the data path: the arm is stopped, and this is its traceback."""

    at_ns: int
    where: str
    traceback: str


FollowerEvent = (
    SessionOpened | Moved | Stopped | ResetDone | RequestRefused | SafetyNote | DepthChanged | ProgramFault
)
