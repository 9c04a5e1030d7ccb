"""A notice in one line for the person, and how loudly it is said."""

from typing import Final, assert_never

from steadyhand.core.operator.notices import (
    DeadmanBlocked,
    DeadmanReleased,
    DepthDeepened,
    DepthRestored,
    Disengaged,
    Engaged,
    EstopAcknowledged,
    EstopSent,
    FollowerReleased,
    FollowerStopped,
    Level,
    LinkBack,
    LinkLost,
    Notice,
    ProgramFault,
    RequestRefused,
    ResetConfirmed,
    SessionBegun,
    SetpointUnsendable,
)

_ALARMS: Final = (EstopSent, DeadmanBlocked, FollowerStopped, ProgramFault)
_WARNINGS: Final = (LinkLost, RequestRefused, SetpointUnsendable, DepthDeepened)


def level_of(notice: Notice) -> Level:
    """Alarm: the arm stops or is out of reach. Warning: it may. Info: the rest."""
    if isinstance(notice, _ALARMS):
        return Level.ALARM
    return Level.WARNING if isinstance(notice, _WARNINGS) else Level.INFO


def sentence_of(notice: Notice) -> str:  # noqa: PLR0912 - one case a notice, held complete by the type checker
    """The notice in one line for the person."""
    match notice:
        case SessionBegun(session_id=session_id):
            return f"session {session_id:016x} open"
        case Engaged():
            return "engaged: setpoints are forwarded"
        case Disengaged(by=by):
            return f"disengaged: {by}"
        case RequestRefused(request=request, reason=reason):
            return f"{request} refused: {reason}"
        case SetpointUnsendable(reason=reason):
            return f"setpoint not sent: {reason}"
        case EstopSent(episode_id=episode_id, reason=reason):
            return f"emergency stop {episode_id} sent: {reason}"
        case EstopAcknowledged(episode_id=episode_id, path=path, round_trip_ms=round_trip_ms):
            return f"emergency stop {episode_id} confirmed over {path} in {round_trip_ms:.1f} ms"
        case ResetConfirmed():
            return "reset confirmed: prepare the stream to go on"
        case DeadmanBlocked(silent_ms=silent_ms):
            return f"follower silent for {silent_ms:.0f} ms: setpoints are held back"
        case DeadmanReleased(silent_ms=silent_ms):
            return f"follower heard again after {silent_ms:.0f} ms: setpoints are forwarded"
        case LinkLost(silent_ms=silent_ms, reason=reason):
            return f"link lost: {reason}{_after(silent_ms)}"
        case LinkBack(silent_ms=silent_ms):
            return f"link back{_after(silent_ms)}"
        case FollowerStopped():
            return _stop_sentence(notice)
        case FollowerReleased():
            return "the follower is not stopped any more"
        case DepthDeepened(target_ms=target_ms, base_ms=base_ms):
            return (
                f"connection unstable: the follower buffers {target_ms:.0f} ms (base {base_ms:.0f} ms),"
                " extra latency to ride out jitter or loss"
            )
        case DepthRestored(base_ms=base_ms):
            return f"connection calm: the follower buffers its base of {base_ms:.0f} ms again"
        case ProgramFault(where=where, traceback=traceback):
            last = traceback.strip().rpartition("\n")[2]
            return f"program fault in {where}: {last}; an emergency stop was sent"
        case _:
            assert_never(notice)


def _after(silent_ms: float | None) -> str:
    return "" if silent_ms is None else f" after {silent_ms:.0f} ms of silence"


def _stop_sentence(stop: FollowerStopped) -> str:
    """Cause, what it names, and the tripped guards that the cause has not named yet."""
    named = f"{stop.kind} ({stop.name})" if stop.name else stop.kind
    guards = [guard for guard in stop.tripped if guard != stop.name]
    tripped = f"; tripped: {', '.join(guards)}" if guards else ""
    detail = f": {stop.detail}" if stop.detail else ""
    return f"the follower is stopped by {named}{detail}{tripped}"
