"""What the operator is told: each notice a value. `sentences` puts them into words."""

from enum import StrEnum

import msgspec


class Level(StrEnum):
    """How loudly a notice is shown."""

    INFO = "info"
    WARNING = "warning"
    ALARM = "alarm"


class AckPath(StrEnum):
    """On which path the follower confirmed an e-stop."""

    DATAGRAM = "datagram"
    """Datagram out, telemetry back."""
    CONTROL = "control"
    """Control request out, its reply back."""


class SessionBegun(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A session is open; the stream has to be prepared anew."""

    at_ns: int
    session_id: int


class Engaged(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Setpoints are forwarded from here on."""

    at_ns: int


class Disengaged(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Setpoints are not forwarded any more, and why."""

    at_ns: int
    by: str


class RequestRefused(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Somebody asked for something and was told no, here or at the follower."""

    at_ns: int
    request: str
    reason: str


class SetpointUnsendable(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The leader's setpoint cannot be sent; told at the first of a run."""

    at_ns: int
    reason: str


class EstopSent(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """An emergency begins: the e-stop is on both paths."""

    at_ns: int
    episode_id: int
    reason: str


class EstopAcknowledged(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The follower confirmed the e-stop on one path, and how long that took."""

    at_ns: int
    episode_id: int
    path: AckPath
    round_trip_ms: float


class ResetConfirmed(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The follower released its latch; `episode_id` 0 where no e-stop of ours stood."""

    at_ns: int
    episode_id: int


class DeadmanBlocked(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The follower has fallen silent while engaged: setpoints are held back."""

    at_ns: int
    silent_ms: float


class DeadmanReleased(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Telemetry is back: setpoints are forwarded again."""

    at_ns: int
    silent_ms: float


class LinkLost(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Nothing comes back any more; `silent_ms` is None where nothing ever came."""

    at_ns: int
    silent_ms: float | None
    reason: str


class LinkBack(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Telemetry is back, after so much silence."""

    at_ns: int
    silent_ms: float | None


class FollowerStopped(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The follower is latched: its cause and the guards that tripped, by name."""

    at_ns: int
    kind: str
    detail: str
    name: str
    tripped: tuple[str, ...]


class FollowerReleased(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The follower is not latched any more."""

    at_ns: int


class DepthDeepened(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The follower's playout buffer has grown beyond its base (document 000 §6)."""

    at_ns: int
    target_ms: float
    base_ms: float


class DepthRestored(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The follower's playout buffer is back at its base."""

    at_ns: int
    base_ms: float


class ProgramFault(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """An exception at this end: an e-stop was sent, and this is its traceback."""

    at_ns: int
    where: str
    traceback: str


Notice = (
    SessionBegun
    | Engaged
    | Disengaged
    | RequestRefused
    | SetpointUnsendable
    | EstopSent
    | EstopAcknowledged
    | ResetConfirmed
    | DeadmanBlocked
    | DeadmanReleased
    | LinkLost
    | LinkBack
    | FollowerStopped
    | FollowerReleased
    | DepthDeepened
    | DepthRestored
    | ProgramFault
)
