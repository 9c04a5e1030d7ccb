"""What a telemetry state says, read out of its free-form parts without believing their types.

The frame is authentic, its extras are still JSON of any shape: from a newer follower, an older one,
or one that had to shed them to fit the datagram. What is not as described reads as not said.
"""

import math
from typing import Any, Final

import msgspec

from steadyhand.core.redundancy import ReceiverReport
from steadyhand.ground.robot_state import RobotState

ACTIVE: Final = ("preparing", "streaming", "braking")
"""Engage states in which the follower works for an engaged operator."""
STOPPED: Final = "stopped"
UNNAMED: Final = "unnamed"
"""The kind of a stop whose cause had to be shed."""


class StopWord(msgspec.Struct, frozen=True, kw_only=True):
    """The stop's cause in the follower's words; empty where it had to be shed."""

    kind: str = UNNAMED
    detail: str = ""
    name: str = ""


class DepthWord(msgspec.Struct, frozen=True, kw_only=True):
    """The playout buffer's target beside its base, milliseconds."""

    target_ms: float
    base_ms: float


class FollowerWord(msgspec.Struct, frozen=True, kw_only=True):
    """One telemetry state, understood.

    Attributes:
        engage: the engage state in its own word; "" where it is not said.
        stop: why it is latched; None while it is not.
        tripped: names of the tripped guards, in the order told.
        estop: (session, episode) of the e-stop it confirms; the session is None where only the
            typed episode came through.
        link: the receiver report; None where it is not said.
        depth: of the playout buffer; None where it is not said, in passthrough for instance.
        command_latency_ms: leader's read to arrival by wall clocks; None where it is not known.
    """

    engage: str = ""
    stop: StopWord | None = None
    tripped: tuple[str, ...] = ()
    estop: tuple[int | None, int] | None = None
    link: ReceiverReport | None = None
    depth: DepthWord | None = None
    command_latency_ms: float | None = None

    @property
    def active(self) -> bool | None:
        """Whether it works for an engaged operator; None where it does not say."""
        if self.stop is not None:
            return False
        return self.engage in ACTIVE if self.engage else None


def read_word(state: RobotState) -> FollowerWord:
    """Understand one state."""
    extras = state.extras
    engage = _text(extras.get("engage"))
    playout = _object(extras.get("playout"))
    return FollowerWord(
        engage=engage,
        stop=_stop(state, engage),
        tripped=_tripped(state.safety),
        estop=_confirmed_estop(state),
        link=_link(_object(extras.get("link")), playout),
        depth=_depth(playout),
        command_latency_ms=_number(extras.get("command_latency_ms")),
    )


def _stop(state: RobotState, engage: str) -> StopWord | None:
    """Latched where it says so; where it does not say, an e-stop state beside a measured pose is one."""
    stopped = engage == STOPPED if engage else state.emergency_stop and bool(state.joint_positions)
    if not stopped:
        return None
    cause = _object(state.extras.get("stop_cause"))
    return StopWord(
        kind=_text(cause.get("kind")) or UNNAMED,
        detail=_text(cause.get("detail")),
        name=_text(cause.get("name")),
    )


def _tripped(safety: dict[str, Any]) -> tuple[str, ...]:
    """Scan for `tripped`: so an e-stop is never nameless (document 001)."""
    return tuple(guard for guard, entry in safety.items() if _object(entry).get("tripped") is True)


def _confirmed_estop(state: RobotState) -> tuple[int | None, int] | None:
    """`estop_ack` = [session, episode]; where the extras were shed, the typed episode of the stop."""
    match state.extras.get("estop_ack"):
        case [int(session_id), int(episode_id)]:
            return session_id, episode_id
    return (None, state.episode_id) if state.emergency_stop and state.episode_id else None


def _link(link: dict[str, Any], playout: dict[str, Any]) -> ReceiverReport | None:
    """Loss and growth are the report; what the buffer adds is for the display."""
    loss_pct, growth_ms = _number(link.get("datagram_loss_pct")), _number(link.get("delay_growth_ms"))
    if loss_pct is None or growth_ms is None:
        return None
    return ReceiverReport(
        loss_pct=loss_pct,
        delay_growth_ms=growth_ms,
        jitter_ms=_number(playout.get("jitter_ms")) or 0.0,
        seq_holes=_count(playout.get("seq_holes")),
        repaired=_count(playout.get("repaired")),
    )


def _depth(playout: dict[str, Any]) -> DepthWord | None:
    target_ms, base_ms = _number(playout.get("target_ms")), _number(playout.get("min_ms"))
    if target_ms is None or base_ms is None:
        return None
    return DepthWord(target_ms=target_ms, base_ms=base_ms)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(value: Any) -> float | None:
    """A finite number; true and false are none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
