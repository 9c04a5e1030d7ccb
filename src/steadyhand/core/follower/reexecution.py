"""A run executed again from its inbox: the same calls in the same order, and every answer (R17).

Nothing is compared here. Whoever has the recorded answers compares them with these, by `canonical`.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final, assert_never

import msgspec

from steadyhand.core.follower.core import FollowerCore
from steadyhand.core.follower.engagement import Commands
from steadyhand.core.follower.inbox import (
    ActionIn,
    ControlIn,
    DatagramIn,
    EventsIn,
    Inbox,
    MeasuredIn,
    RefusalIn,
    ReportIn,
    SessionEndIn,
    SessionIn,
    TickIn,
    WriteIn,
)
from steadyhand.core.follower.inputs import Reply
from steadyhand.core.follower.outputs import FollowerEvent, ProgramFault, Released
from steadyhand.core.follower.settings import FollowerSettings
from steadyhand.ground.errors import InputError
from steadyhand.ground.robot_state import RobotState
from steadyhand.wire.sealing import KEY_BYTES, SealError


class Outputs(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What one input was answered with.

    Attributes:
        commands: for the driver, in their order.
        reply: to whoever asked for something.
        next_tick_ns: of a tick.
        released: of a tick that let a setpoint go.
        events: taken at this moment, oldest first.
        report: of a moment at which it was asked for.
    """

    commands: Commands = ()
    reply: Reply | None = None
    next_tick_ns: int | None = None
    released: Released | None = None
    events: tuple[FollowerEvent, ...] = ()
    report: RobotState | None = None


_NOTHING: Final = Outputs()
_encode: Final = msgspec.msgpack.Encoder().encode


def reexecute(
    settings: FollowerSettings, inbox: Iterable[Inbox], snapshot: bytes | None = None
) -> Iterator[Outputs]:
    """Feed a follower and yield what it answers, one value an input.

    Args:
        settings: of the recorded follower, or others to see what they would have done.
        inbox: in the order of the calls.
        snapshot: to begin with; None begins with a follower that was just built.

    Raises:
        SnapshotError: the snapshot is damaged, or of other settings.
        InputError: the inbox has a hole: a datagram is of a session that is not the living one.
    """
    core = FollowerCore(settings) if snapshot is None else FollowerCore.restore(settings, snapshot)
    for number, given in enumerate(inbox):
        try:
            yield execute(core, given)
        except SealError as error:
            raise InputError(f"the inbox has a hole: {error}", where=f"input {number}") from error


def execute(core: FollowerCore, given: Inbox) -> Outputs:
    """Make one recorded call.

    Raises:
        SealError: a datagram of a session that is not the living one.
    """
    match given:
        case TickIn(now_ns=now_ns):
            ticked = core.tick(now_ns)
            return Outputs(
                commands=ticked.commands, next_tick_ns=ticked.next_tick_ns, released=ticked.released
            )
        case DatagramIn():
            return _commanded(core.replay_datagram(given))
        case MeasuredIn(measured=measured):
            return _commanded(core.observe(measured))
        case WriteIn(now_ns=now_ns, outcome=outcome, detail=detail):
            return _commanded(core.note_write(outcome, now_ns, detail))
        case EventsIn():
            events = core.take_events()
            return Outputs(events=events) if events else _NOTHING
        case ReportIn(now_ns=now_ns, wall_s=wall_s):
            return Outputs(report=core.report(now_ns, wall_s))
        case ActionIn(payload=payload, session_id=session_id, now_ns=now_ns, wall_s=wall_s):
            return _commanded(core.receive_action(payload, session_id, now_ns, wall_s))
        case ControlIn(command=command, now_ns=now_ns):
            reply, commands = core.control(command, now_ns)
            return Outputs(commands=commands, reply=reply)
        case RefusalIn(request=request, reason=reason, now_ns=now_ns):
            return Outputs(reply=core.arm.refuse(request, reason, now_ns))
        case SessionIn():
            return Outputs(reply=_opened(core, given))
        case SessionEndIn(operator=operator):
            core.close_session(operator)
            return _NOTHING
        case _:
            assert_never(given)


def canonical(outputs: Outputs) -> bytes:
    """The same answers, the same bytes.

    Of a program fault's traceback only its last line counts: files and line numbers are of the program
    that recorded, and frames of the way the input came.
    """
    if any(isinstance(event, ProgramFault) for event in outputs.events):
        outputs = msgspec.structs.replace(outputs, events=tuple(map(_comparable, outputs.events)))
    return _encode(outputs)


def _commanded(commands: Commands) -> Outputs:
    return Outputs(commands=commands) if commands else _NOTHING


def _opened(core: FollowerCore, given: SessionIn) -> Reply:
    """With no key, or with one whose length was refused, of which it does not matter what it says."""
    refused = given.key_bytes != KEY_BYTES
    return core.open_session(
        session_id=given.session_id,
        command_key=bytes(given.key_bytes) if refused else None,
        operator=given.operator,
        take_over=given.take_over,
        now_ns=given.now_ns,
    )


def _comparable(event: FollowerEvent) -> Any:
    if isinstance(event, ProgramFault):
        return msgspec.structs.replace(event, traceback=event.traceback.strip().rpartition("\n")[2])
    return event
