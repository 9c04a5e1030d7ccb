"""What an admitted caller may ask: carried out at the controller and by the data plane, and answered.

Whatever takes long here, an e-stop, a soft stop or another session overtakes it: what was asked before
such a change of mind is not carried on with afterwards.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from typing import Any, Final

import msgspec

from steadyhand.core.follower.inputs import (
    EditGuard,
    EmergencyStop,
    EnterIdle,
    PrepareStream,
    Reply,
    ResetEmergency,
    ScaleSpeed,
    ToggleGuard,
)
from steadyhand.edge.robots.contract import CallOutcome, CallReport
from steadyhand.ground.stamps import NS_PER_S
from steadyhand.nodes.follower.call_gate import Caller
from steadyhand.nodes.follower.data_plane_client import SILENT, DataPlaneClient
from steadyhand.nodes.follower.robot_helper import Preparer, Stopper
from steadyhand.nodes.follower.view import DataPlaneView
from steadyhand.wire import control_pb2

ACTIVATE_WITHIN_S: Final = 8.0
"""Mode, drives on (five seconds at most), and a connection before that."""
RESET_WITHIN_S: Final = 3.0
FAULT_GONE_WITHIN_S: Final = 1.0
"""How long the measured state may still show a fault that the controller says it has cleared."""
LONGEST_TEXT: Final = 200

CHANGED: Final = Reply(outcome="refused", reason="the arm was stopped or the session changed meanwhile")


class ControlRequests:
    """Carries requests out.

    Args:
        data_plane: who does it.
        preparer: the controller's thread for enabling and clearing.
        stopper: its thread for stopping.
        view: what the data plane tells.
    """

    def __init__(
        self, data_plane: DataPlaneClient, preparer: Preparer, stopper: Stopper, view: DataPlaneView
    ) -> None:
        self._data_plane = data_plane
        self._preparer = preparer
        self._stopper = stopper
        self._view = view
        self._changes = 0

    def note_change(self) -> None:
        """A stop, a soft stop, a new session: what is under way is not carried on with."""
        self._changes += 1

    async def emergency_stop(self, caller: Caller, request: control_pb2.EmergencyStopRequest) -> Reply:
        """First of all to the data plane. One that does not answer is gone round: the controller stops."""
        self.note_change()
        source = _short(f"{caller.name}: {request.reason}" if request.reason else caller.name)
        command = EmergencyStop(source=source, session_id=request.session_id, episode_id=request.episode_id)
        reply = await self._data_plane.ask(command)
        if reply is SILENT:
            self._stopper.stop(f"e-stop by {source}")
            reason = "the data plane does not answer; StopMotion is called at the controller"
            return Reply(outcome="refused", reason=reason)
        return reply

    async def enter_idle(self, caller: Caller, _request: control_pb2.EnterIdleRequest) -> Reply:
        """Soft stop."""
        self.note_change()
        return await self._data_plane.ask(EnterIdle(operator=caller.name))

    async def prepare_stream(self, caller: Caller, _request: control_pb2.PrepareStreamRequest) -> Reply:
        """Drives on, then engage: unless it is stopped, and unless it was meanwhile."""
        if self._view.stopped:
            cause = self._view.stopped_by
            why = "" if cause is None else f": {cause.detail}"
            return Reply(outcome="refused", reason=f"the arm is stopped{why}; reset first")
        changes = self._changes
        report = await self._called(
            self._preparer.activate(within_ns=round(ACTIVATE_WITHIN_S * NS_PER_S)), ACTIVATE_WITHIN_S
        )
        if not report.done:
            return _not_done(report)
        if self._changes != changes:
            return CHANGED
        return await self._data_plane.ask(PrepareStream(operator=caller.name))

    async def reset_emergency(self, caller: Caller, request: control_pb2.ResetEmergencyRequest) -> Reply:
        """Clear the controller's fault, see it gone, then release the latch: the core judges whether."""
        command = ResetEmergency(operator=caller.name, reason=_short(request.reason))
        if self._view.record is not None and not self._view.stopped:
            return await self._data_plane.ask(command)
        changes = self._changes
        report = await self._called(
            self._preparer.reset_errors(within_ns=round(RESET_WITHIN_S * NS_PER_S)), RESET_WITHIN_S
        )
        if report.outcome is CallOutcome.UNANSWERED:
            return _not_done(report)
        await self._view.until(_without_fault, FAULT_GONE_WITHIN_S)
        if self._changes != changes:
            return CHANGED
        wanted = self._stopper.wanted
        reply = await self._data_plane.ask(command)
        if reply.outcome == "done":
            # What stopped it again while the answer was on its way is not forgotten with the rest.
            self._stopper.forget(wanted)
        elif not report.done:
            return Reply(outcome=reply.outcome, reason=f"{reply.reason} ({_not_done(report).reason})")
        return reply

    async def toggle_guard(self, _caller: Caller, request: control_pb2.ToggleGuardRequest) -> Reply:
        """Switch a guard."""
        return await self._data_plane.ask(ToggleGuard(name=_short(request.name), enabled=request.enabled))

    async def edit_guard(self, _caller: Caller, request: control_pb2.EditGuardRequest) -> Reply:
        """Change keys of a safety block; the core checks them like the file."""
        try:
            changes = msgspec.json.decode(request.changes_json, type=dict[str, Any])
        except (msgspec.MsgspecError, RecursionError):
            return Reply(outcome="refused", reason="changes_json is no JSON object")
        return await self._data_plane.ask(EditGuard(block=_short(request.block), changes=changes))

    async def scale_speed(self, _caller: Caller, request: control_pb2.ScaleSpeedRequest) -> Reply:
        """Lower the ceiling of speed, or restore it."""
        return await self._data_plane.ask(ScaleSpeed(share=request.share))

    async def _called(self, answer: Future[CallReport], within_s: float) -> CallReport:
        """A call of the helper's, given up on in time; begun late it will not be made."""
        try:
            async with asyncio.timeout(within_s):
                return await asyncio.wrap_future(answer)
        except TimeoutError:
            return CallReport(
                call="", outcome=CallOutcome.UNANSWERED, detail=f"no answer within {within_s:g} s"
            )


def _without_fault(view: DataPlaneView) -> bool:
    return view.measured is None or (view.measured.fault_code == 0 and not view.measured.estop_pressed)


def _not_done(report: CallReport) -> Reply:
    call = f"{report.call}: " if report.call and not report.detail.startswith(report.call) else ""
    return Reply(outcome="refused", reason=f"the controller: {call}{report.detail}")


def _short(text: str) -> str:
    """Bounded and on one line: it goes into records and logs."""
    return " ".join(text[:LONGEST_TEXT].split())
