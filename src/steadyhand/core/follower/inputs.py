"""What the control service may ask of the follower, as values that a log can hold."""

from typing import Any, Literal

import msgspec


class PrepareStream(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Engage: probe the controller, prime on the measured pose, then stream."""

    operator: str = ""


class EnterIdle(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Soft stop: brake to rest, then end the stream."""

    operator: str = ""


class ResetEmergency(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Release the latch, unless its cause stands. The reason is recorded."""

    operator: str = ""
    reason: str = ""


class EmergencyStop(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Stop now. `episode_id` 0 names no episode and always stops."""

    source: str
    session_id: int = 0
    episode_id: int = 0


class ToggleGuard(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Switch a guard that may be switched; retired names warn and change nothing."""

    name: str
    enabled: bool


class EditGuard(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Change keys of one safety block; takes effect at the next engage, checked like the file."""

    block: str
    changes: dict[str, Any]


class ScaleSpeed(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Lower the shaper's ceiling to a share of the configured v_max (R19), or restore it with 1."""

    share: float


class ProbeReady(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The probe's frames were accepted."""


class ProbeFailed(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The probe gave up."""

    reason: str


class FeedLost(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The state feed's connection is gone."""

    reason: str


class ProcessLost(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A process this arm depends on is dead (R14), or was away for so long that others took it for dead.

    Attributes:
        name: which.
        detail: how it is known, for the cause; "" says that it is dead.
    """

    name: str
    detail: str = ""


ControlCommand = (
    PrepareStream
    | EnterIdle
    | ResetEmergency
    | EmergencyStop
    | ToggleGuard
    | EditGuard
    | ScaleSpeed
    | ProbeReady
    | ProbeFailed
    | FeedLost
    | ProcessLost
)


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to whoever asked.

    Attributes:
        outcome: done; ignored, since it was so already; or refused.
        reason: why it was ignored or refused.
    """

    outcome: Literal["done", "ignored", "refused"]
    reason: str = ""
