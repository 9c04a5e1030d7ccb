"""The control service on gRPC: bytes in, bytes out, signed both ways; what is asked is done elsewhere.

Requests stay bytes until their caller is admitted. An answer is signed as it is serialized.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

import grpc
import msgspec
from google.protobuf.message import DecodeError, Message

from steadyhand.core.follower.inputs import Reply
from steadyhand.edge.control_service import METHODS, SERVICE, Method
from steadyhand.nodes.follower.call_gate import Caller, CallGate, Denied, token_of
from steadyhand.nodes.follower.control_requests import ControlRequests
from steadyhand.nodes.follower.data_plane_client import DataPlaneClient
from steadyhand.nodes.follower.event_lanes import EventFan, ToldEvent, Watcher
from steadyhand.nodes.follower.session_opening import Judged, SessionDesk
from steadyhand.nodes.follower.sessions import LivingSession, Sessions
from steadyhand.wire import control_pb2
from steadyhand.wire.control_auth import AUTH_METADATA, ControlVerifier
from steadyhand.wire.rejections import Reason, Rejection

Context = Any
"""`grpc.aio.ServicerContext`, which has no types of its own."""
Ask = Callable[[Caller, Any], Awaitable[Reply]]

WATCH: Final = METHODS["WatchEvents"]
ACTIONS: Final = METHODS["StreamActions"]

MAX_WATCHERS: Final = 32


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """What the service hands calls to."""

    gate: CallGate
    desk: SessionDesk
    requests: ControlRequests
    sessions: Sessions
    data_plane: DataPlaneClient
    events: EventFan
    describe: Callable[[], control_pb2.DescribeReply]
    close_session: Callable[[LivingSession | None], Awaitable[Reply]]


class ControlService:
    """The calls of `control.proto`.

    Args:
        parts: what it hands them to.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        requests = parts.requests
        self._asks: dict[str, Ask] = {
            "CloseSession": self._close_session,
            "PrepareStream": requests.prepare_stream,
            "EnterIdle": requests.enter_idle,
            "ResetEmergency": requests.reset_emergency,
            "EmergencyStop": self._emergency_stop,
            "ToggleGuard": requests.toggle_guard,
            "EditGuard": requests.edit_guard,
            "ScaleSpeed": requests.scale_speed,
        }
        self._stopping: set[asyncio.Task[Reply]] = set()

    def handler(self) -> grpc.GenericRpcHandler[Any, Any]:
        """All calls, for `grpc.aio.Server.add_generic_rpc_handlers`."""
        unary = grpc.unary_unary_rpc_method_handler
        handlers = {
            "Hello": unary(self._hello),
            "OpenSession": unary(self._open_session),
            "Describe": unary(self._describe),
            WATCH.name: grpc.unary_stream_rpc_method_handler(self._watch_events),
            ACTIONS.name: grpc.stream_unary_rpc_method_handler(self._stream_actions),
        }
        handlers |= {name: unary(self._asked(METHODS[name], ask)) for name, ask in self._asks.items()}
        if handlers.keys() != METHODS.keys():
            raise RuntimeError(f"calls without a handler: {METHODS.keys() ^ handlers.keys()}")
        return grpc.method_handlers_generic_handler(SERVICE, handlers)

    # ---- sessions

    async def _hello(self, data: bytes, context: Context) -> bytes:
        method = METHODS["Hello"]
        await self._admitted(method, data, context)
        answer = self._parts.desk.hello(context.peer(), await _read(method, data, context))
        reply: control_pb2.HelloReply = await _unless_denied(answer, context)
        return reply.SerializeToString()

    async def _open_session(self, data: bytes, context: Context) -> bytes:
        method = METHODS["OpenSession"]
        await self._admitted(method, data, context)
        request = await _read(method, data, context)
        token = token_of(context.invocation_metadata() or ())
        answer = await self._parts.desk.open(context.peer(), token, request, data)
        judged: Judged = await _unless_denied(answer, context)
        if judged.reply.reply.outcome == "done":
            judged.reply.follower.CopyFrom(self._parts.describe())
        return _signed(method, judged.verifier, judged.counter, judged.reply, context)

    async def _close_session(self, caller: Caller, _request: control_pb2.CloseSessionRequest) -> Reply:
        return await self._parts.close_session(caller.session)

    # ---- calls

    def _asked(self, method: Method, ask: Ask) -> Callable[[bytes, Context], Awaitable[bytes]]:
        async def handle(data: bytes, context: Context) -> bytes:
            caller = await self._admitted(method, data, context)
            answer = await ask(caller, await _read(method, data, context))
            reply = control_pb2.Reply(outcome=answer.outcome, reason=answer.reason)
            return _signed(method, caller.verifier, caller.counter, reply, context)

        return handle

    async def _emergency_stop(self, caller: Caller, request: control_pb2.EmergencyStopRequest) -> Reply:
        """Carried out to its end even where whoever asked hangs up."""
        task = asyncio.ensure_future(self._parts.requests.emergency_stop(caller, request))
        self._stopping.add(task)
        task.add_done_callback(self._stopping.discard)
        return await asyncio.shield(task)

    async def _describe(self, data: bytes, context: Context) -> bytes:
        method = METHODS["Describe"]
        caller = await self._admitted(method, data, context)
        return _signed(method, caller.verifier, caller.counter, self._parts.describe(), context)

    # ---- streams

    async def _watch_events(self, data: bytes, context: Context) -> None:
        caller = await self._admitted(WATCH, data, context)
        if len(self._parts.events) >= MAX_WATCHERS:
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, f"{MAX_WATCHERS} watch already")
        watcher = self._parts.events.join(0 if caller.session is None else caller.session.session_id)
        try:
            # So that whoever calls knows that it misses nothing from here on.
            await context.send_initial_metadata(())
            reason = await _told(watcher, caller.verifier, context)
        finally:
            self._parts.events.leave(watcher)
        await context.abort(grpc.StatusCode.ABORTED, reason)

    async def _stream_actions(self, messages: AsyncIterator[bytes], context: Context) -> bytes:
        caller = await self._admitted(ACTIONS, b"", context)
        reply = control_pb2.StreamActionsReply()
        async for data in messages:
            if caller.session is not None and caller.session is not self._parts.sessions.living:
                await context.abort(grpc.StatusCode.ABORTED, "the session is over")
            if self._took(data, caller):
                reply.taken += 1
            else:
                reply.rejected += 1
        return _signed(ACTIONS, caller.verifier, caller.counter, reply, context)

    def _took(self, data: bytes, caller: Caller) -> bool:
        """Judge one action and hand it on; nothing of it is parsed here but its envelope."""
        try:
            action = control_pb2.StreamedAction.FromString(data)
        except DecodeError:
            self._parts.gate.rejections.count(Rejection(Reason.MALFORMED_PROTOBUF))
            return False
        if caller.verifier is not None:
            refused = caller.verifier.action(ACTIONS.path, action.counter, action.payload, action.mac)
            if refused is not None:
                self._parts.gate.rejections.count(refused)
                return False
        session_id = caller.session.session_id if caller.verifier is not None and caller.session else 0
        return self._parts.data_plane.stream_action(session_id, action.payload)

    async def _admitted(self, method: Method, data: bytes, context: Context) -> Caller:
        metadata = context.invocation_metadata() or ()
        admitted = self._parts.gate.admit(method, context.peer(), metadata, data)
        caller: Caller = await _unless_denied(admitted, context)
        return caller


async def _told(watcher: Watcher, verifier: ControlVerifier | None, context: Context) -> str:
    """Tell one event after the other; the reason why there are no more."""
    number = 0
    while True:
        following = await watcher.following()
        if isinstance(following, str):
            return following
        number += 1
        await context.write(_event(*following, number, verifier))


def _event(event: ToldEvent, dropped: int, number: int, verifier: ControlVerifier | None) -> bytes:
    data = control_pb2.Event(
        kind=event.kind, json=event.json, at_ns=event.at_ns, priority=event.priority, dropped=dropped
    ).SerializeToString()
    mac = b"" if verifier is None else verifier.event(WATCH.path, number, data)
    return control_pb2.SignedEvent(event=data, number=number, mac=mac).SerializeToString()


async def _unless_denied(answer: Any, context: Context) -> Any:
    if isinstance(answer, Denied):
        await context.abort(grpc.StatusCode.UNAUTHENTICATED, answer.sentence)
    return answer


async def _read(method: Method, data: bytes, context: Context) -> Any:
    try:
        return method.request.FromString(data)
    except DecodeError:
        return await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"no {method.name} request")


def _signed(
    method: Method, verifier: ControlVerifier | None, counter: int, reply: Message, context: Context
) -> bytes:
    """Serialize, and sign what was serialized."""
    data = reply.SerializeToString()
    if verifier is not None:
        context.set_trailing_metadata(((AUTH_METADATA, verifier.answer(method.path, counter, data)),))
    return data
