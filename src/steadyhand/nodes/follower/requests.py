"""What the control plane asks, carried out one by one and answered."""

from __future__ import annotations

import socket
from typing import Final, assert_never

import msgspec

from steadyhand.core.follower.inputs import (
    ControlCommand,
    EmergencyStop,
    EnterIdle,
    PrepareStream,
    Reply,
    ResetEmergency,
)
from steadyhand.ground.stamps import ms_from_ns
from steadyhand.nodes.follower import local_link
from steadyhand.nodes.follower.carrier import Carrier
from steadyhand.nodes.follower.local_link import Answered, Ask, CloseSession, OpenSession, StreamAction
from steadyhand.nodes.follower.neighbours import Neighbours
from steadyhand.wire.action_payload import decode_action
from steadyhand.wire.rejections import Rejection

REQUESTS_A_WAKE: Final = 32
"""As for datagrams: whoever floods the local socket delays no tick."""

DONE: Final = Reply(outcome="done")

GATED: Final[dict[type, str]] = {PrepareStream: "prepare_stream", ResetEmergency: "reset_emergency"}
"""What needs every process alive, by the name its refusal is told under."""


class Requests:
    """The data plane's end of the local socket.

    Args:
        carrier: core and port.
        end: the socket.
        neighbours: who is unwell, and must therefore keep the arm from engaging.

    Attributes:
        served: requests carried out or refused.
        too_old: those of them that had waited too long.
        unreadable: messages that were none.
        unanswered: answers the other end took not.
        leaving: this process is ending; nobody engages any more.
        born_ns: when this process came up; what was asked before, a reset of another latch for instance,
            was asked of the one before it.
    """

    def __init__(self, carrier: Carrier, end: socket.socket, neighbours: Neighbours) -> None:
        self.served = 0
        self.too_old = 0
        self.unreadable = 0
        self.unanswered = 0
        self.leaving = False
        self.born_ns = 0
        self._carrier = carrier
        self._end = end
        self._neighbours = neighbours

    def serve(self, now_ns: int, wall_s: float) -> None:
        """Carry out what has come, in order, up to a bound."""
        for _ in range(REQUESTS_A_WAKE):
            try:
                request = local_link.receive_request(self._end)
            except msgspec.MsgspecError:
                self.unreadable += 1
                continue
            if request is None:
                return
            self.served += 1
            reply = self._too_old(request, now_ns, wall_s) or self._carried_out(request, now_ns, wall_s)
            if not isinstance(request, StreamAction):
                answered = Answered(request_id=request.request_id, reply=reply)
                self.unanswered += not local_link.send(self._end, answered)

    def _too_old(self, request: local_link.ToDataPlane, now_ns: int, wall_s: float) -> Reply | None:
        """Refuse what waited too long or was asked of a dead predecessor, except an e-stop, either way."""
        if request.sent_ns >= self.born_ns and not local_link.is_too_old(request, now_ns):
            return None
        if isinstance(request, StreamAction) and self._is_estop(request):
            return None
        if isinstance(request, Ask) and isinstance(request.command, EmergencyStop):
            return None
        self.too_old += 1
        waited_ms = ms_from_ns(now_ns - request.sent_ns)
        return Reply(outcome="refused", reason=f"it waited for {waited_ms:.0f} ms; ask again")

    def _is_estop(self, request: StreamAction) -> bool:
        setpoint = decode_action(request.payload, self._carrier.core.settings.robot_id, joint_count=None)
        return not isinstance(setpoint, Rejection) and setpoint.emergency_stop

    def _carried_out(self, request: local_link.ToDataPlane, now_ns: int, wall_s: float) -> Reply:
        core = self._carrier.core
        match request:
            case Ask(command=command):
                return self._control(command, now_ns)
            case OpenSession():
                return core.open_session(
                    session_id=request.session_id,
                    command_key=request.command_key,
                    operator=request.operator,
                    take_over=request.take_over,
                    now_ns=now_ns,
                )
            case CloseSession(operator=operator):
                self._close_session(operator, now_ns)
                return DONE
            case StreamAction(payload=payload, session_id=session_id):
                commands = core.receive_action(payload, session_id, now_ns, wall_s)
                self._carrier.carry(commands, now_ns)
                return DONE
            case _:
                assert_never(request)

    def _close_session(self, operator: str, now_ns: int) -> None:
        """Who goes while the arm is engaged leaves it by the soft stop: the next one prepares for itself."""
        core = self._carrier.core
        if operator == core.operator and core.arm.engaged:
            self._carrier.carry(core.control(EnterIdle(operator=operator), now_ns)[1], now_ns)
        core.close_session(operator)

    def _control(self, command: ControlCommand, now_ns: int) -> Reply:
        """An e-stop passes every gate; engaging and resetting need all processes alive."""
        if not isinstance(command, EmergencyStop):
            refused = self._refused(command)
            if refused is not None:
                return self._carrier.core.arm.refuse(GATED[type(command)], refused, now_ns)
        reply, commands = self._carrier.core.control(command, now_ns)
        self._carrier.carry(commands, now_ns)
        return reply

    def _refused(self, command: ControlCommand) -> str | None:
        if type(command) not in GATED:
            return None
        if self.leaving:
            return "the follower is ending"
        core = self._carrier.core
        if isinstance(command, PrepareStream) and core.settings.sealed and command.operator != core.operator:
            # The session went while the drives were being switched on.
            return f"{command.operator} holds no session; {core.operator or 'nobody'} does"
        return self._neighbours.unwell or None
