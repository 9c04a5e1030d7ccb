"""From what is to be seen of an operator's end to the error a program gets."""

from steadyhand.core.operator.outputs import LeadVerdict
from steadyhand.core.operator.sentences import sentence_of
from steadyhand.nodes.operator.errors import ArmError, LinkLost, NotEngaged, Refused, Stopped
from steadyhand.nodes.operator.session import SessionState
from steadyhand.nodes.operator.view import OperatorView


def stopped(view: OperatorView, robot_id: str) -> Stopped:
    """The arm is latched: the follower's cause, or the e-stop of this end that stands."""
    estop = view.report.estop
    if view.stop is not None and view.report.stopped_by:
        what, cause = sentence_of(view.stop), view.stop.kind
    elif estop is not None and estop.standing:
        told = "" if estop.acknowledged else ", not confirmed by the follower yet"
        what, cause = f"an emergency stop stands ({estop.reason}){told}", "estop"
    else:
        kind = view.report.stopped_by.partition(" ")[0]
        what, cause = f"the follower is stopped by {view.report.stopped_by or 'a cause not told yet'}", kind
    return Stopped(what, cause=cause, where=robot_id, hint="look at the arm, then reset with a reason")


def not_connected(view: OperatorView, robot_id: str, timeout_s: float) -> ArmError:
    """No session, or nothing heard in one."""
    session = view.session
    if session.refused:
        return refused("open_session", session.refused, robot_id)
    if session.state is not SessionState.OPEN:
        why = session.failed or "no answer yet"
        return LinkLost(
            f"no session within {timeout_s:g} s: {why}",
            where=robot_id,
            hint="is the follower running, and are host and ports right?",
        )
    return LinkLost(
        f"the control service answers, and no telemetry came within {timeout_s:g} s",
        where=robot_id,
        hint="a firewall may keep UDP from this host, or the robot's feed is down",
    )


def not_measured(robot_id: str) -> LinkLost:
    """The follower is heard, and has not heard the arm."""
    return LinkLost(
        "the follower has no state of the arm",
        where=robot_id,
        hint="is the robot's controller on, and does the follower reach it?",
    )


def refused(request: str, reason: str, robot_id: str) -> Refused:
    """Somebody said no."""
    hint = "--take-over, or take_over=True, where nobody drives" if "ask to take over" in reason else ""
    return Refused(f"{request} refused: {reason}", reason=reason, where=robot_id, hint=hint)


def link_lost(view: OperatorView, robot_id: str) -> LinkLost:
    """The follower is not heard any more."""
    silent_ms = view.report.silent_ms
    since = "" if silent_ms is None else f" for {silent_ms:.0f} ms"
    return LinkLost(
        f"the follower is silent{since}; setpoints are held back",
        where=robot_id,
        hint="the arm stops by itself; once the link is back, reset and prepare",
    )


def session_lost(view: OperatorView, robot_id: str) -> LinkLost:
    """The follower forgot this operator; another session is being asked for."""
    why = view.session.failed or view.session.refused or "no answer yet"
    return LinkLost(
        f"the session was lost: {why}",
        where=robot_id,
        hint="it is opened again by itself; prepare() waits for it",
    )


def not_engaged(view: OperatorView, robot_id: str) -> NotEngaged:
    """Nothing is forwarded: never was, or not any more."""
    by = "" if view.disengaged is None else f" ({view.disengaged.by})"
    return NotEngaged(f"the stream is not engaged{by}", where=robot_id, hint="prepare() first")


def of_verdict(verdict: LeadVerdict, view: OperatorView, robot_id: str) -> ArmError:
    """Why a setpoint was not sent, or will move nothing."""
    if view.stopped or verdict in (LeadVerdict.ESTOP_STANDING, LeadVerdict.FAULT):
        return stopped(view, robot_id)
    if verdict is LeadVerdict.DEADMAN:
        return link_lost(view, robot_id)
    if verdict is LeadVerdict.NOT_ENGAGED and not view.open:
        return session_lost(view, robot_id)
    if verdict is LeadVerdict.NOT_ENGAGED:
        return not_engaged(view, robot_id)
    return Refused(f"the setpoint was dropped: {verdict.value}", reason=verdict.value, where=robot_id)
