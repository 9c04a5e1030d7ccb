"""The control service's requests, carried out one by one."""

from typing import assert_never

from steadyhand.core.follower.engagement import Answer, Engagement
from steadyhand.core.follower.ingress import EstopArrived
from steadyhand.core.follower.inputs import (
    ControlCommand,
    EditGuard,
    EmergencyStop,
    EnterIdle,
    FeedLost,
    PrepareStream,
    ProbeFailed,
    ProbeReady,
    ProcessLost,
    Reply,
    ResetEmergency,
    ScaleSpeed,
    ToggleGuard,
)
from steadyhand.core.follower.outputs import SafetyNote
from steadyhand.core.safety.latch import EngageEvent, EngageState, StopCause, StopKind
from steadyhand.core.safety.policy import edited
from steadyhand.core.safety.verdicts import RETIRED_NAMES
from steadyhand.ground.errors import SteadyhandError

DONE = Reply(outcome="done")


def carry_out(  # noqa: PLR0912 - one case a request, held complete by the type checker
    arm: Engagement, command: ControlCommand, now_ns: int
) -> Answer:
    """Do what is asked, or answer why not."""
    match command:
        case EmergencyStop(source=source, session_id=session_id, episode_id=episode_id):
            return DONE, arm.estop(EstopArrived(session_id, episode_id, None, source), now_ns)
        case PrepareStream():
            if arm.machine.state is EngageState.IDLE:
                arm.stream.adopt_pending_safety(arm.measured, now_ns)
            return arm.decided("prepare_stream", arm.machine.handle(EngageEvent.PREPARE), now_ns)
        case EnterIdle():
            return arm.decided("enter_idle", arm.machine.handle(EngageEvent.SOFT_STOP), now_ns)
        case ResetEmergency():
            return arm.reset(command, now_ns)
        case ProbeReady():
            return arm.decided("probe", arm.machine.handle(EngageEvent.READY), now_ns)
        case ProbeFailed(reason=reason):
            arm.refuse("prepare_stream", reason, now_ns)
            return arm.decided("probe", arm.machine.handle(EngageEvent.PROBE_FAILED), now_ns)
        case FeedLost(reason=reason):
            arm.machine.note_feed_lost()
            return arm.refuse("state feed", reason, now_ns), ()
        case ProcessLost(name=name, detail=detail):
            cause = StopCause(kind=StopKind.PROCESS_LOST, detail=detail or f"{name} is dead", name=name)
            return DONE, arm.stop(cause, now_ns)
        case ToggleGuard(name=name, enabled=enabled):
            return _answered(
                arm, "toggle_guard", arm.stream.switch_guard(name, enabled=enabled, now_ns=now_ns), now_ns
            )
        case EditGuard():
            return _edit(arm, command, now_ns)
        case ScaleSpeed(share=share):
            return _answered(arm, "scale_speed", arm.stream.scale_speed(share), now_ns)
        case _:
            assert_never(command)


def _edit(arm: Engagement, command: EditGuard, now_ns: int) -> Answer:
    """Check an edit like the file and keep it for the next engagement: the fail-closed pairing holds.

    An edit of a retired name changes nothing and warns (R8).
    """
    if command.block in RETIRED_NAMES:
        refused = arm.stream.switch_guard(command.block, enabled=True, now_ns=now_ns)
        return _answered(arm, "edit_guard", refused, now_ns)
    try:
        arm.stream.keep_for_next_engagement(edited(arm.stream.pending_safety, command.block, command.changes))
    except SteadyhandError as error:
        return _answered(arm, "edit_guard", str(error), now_ns)
    fields = {"block": command.block, **command.changes}
    arm.tell(SafetyNote(at_ns=now_ns, kind="GuardEdited", fields=fields))
    return DONE, ()


def _answered(arm: Engagement, request: str, refused: str | None, now_ns: int) -> Answer:
    return (DONE if refused is None else arm.refuse(request, refused, now_ns)), ()
