"""The control service's client: for the operator's node, for `steadyhand status` and `stop`, for tests.

It signs what it says and believes only answers that are signed (`wire.control_auth`). Calls are
futures, since a loop that leads an arm waits for nobody; the named methods wait for the answer.
Threads may share a client. Its messages are those of `control.proto`.
"""

from concurrent.futures import Future
from functools import partial
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Final, Self

import grpc
from google.protobuf.message import DecodeError, Message

from steadyhand.edge.control_service.channel import open_channel, tcp_target
from steadyhand.edge.control_service.errors import CallFault, ControlError, in_words
from steadyhand.edge.control_service.methods import METHODS, Method
from steadyhand.edge.control_service.opening import Opened, Opening, OpenRefused, OpenWish
from steadyhand.edge.control_service.streams import ActionStream, EventWatch
from steadyhand.edge.keys import Identity, Unauthenticated
from steadyhand.wire import control_pb2
from steadyhand.wire.control_auth import AUTH_METADATA, ControlSigner, SignedCall

TIMEOUT_S: Final = 2.0
PREPARE_TIMEOUT_S: Final = 12.0
"""Enabling drives takes seconds: brakes are released one by one."""

Metadata = tuple[tuple[str, bytes], ...]


class ControlClient:
    """One connection to one follower. Connects at the first call, and again by itself.

    Use as a context manager, or `close` it.

    Args:
        target: as gRPC names it; see `tcp` and `unix`.
        identity: what this side proves itself with.
    """

    def __init__(self, target: str, identity: Identity) -> None:
        self.where = target
        self.identity = identity
        self._channel = open_channel(target, identity)
        self._lock = Lock()
        self._signer: ControlSigner | None = None

    @classmethod
    def tcp(cls, host: str, port: int, identity: Identity) -> Self:
        """A client for a follower on the network. `identity` is of `edge.keys.load_identity`."""
        return cls(tcp_target(host, port), identity)

    @classmethod
    def unix(cls, path: Path | str) -> Self:
        """A client for this user's follower on this host: Describe, EmergencyStop, ResetEmergency,
        EnterIdle and WatchEvents, without a session.
        """
        return cls(f"unix:{path}", Unauthenticated())

    # ---- the session

    def open_session_later(
        self, wish: OpenWish, *, timeout_s: float = TIMEOUT_S
    ) -> Future[Opened | OpenRefused]:
        """Prove the key both ways and ask for the session; afterwards this client's calls are signed.

        A session of before is forgotten at once, whatever comes of it. The future raises ControlError:
        NOT_BELIEVED where the keys differ (FORGED where it is the follower that has another one).
        """
        with self._lock:
            self._signer = None
        opening = Opening(partial(self._send, timeout_s), self._adopt, self.identity, wish)
        opening.begin()
        return opening.outcome

    def open_session(self, wish: OpenWish, *, timeout_s: float = TIMEOUT_S) -> Opened | OpenRefused:
        """As `open_session_later`, waiting for it."""
        return self.open_session_later(wish, timeout_s=timeout_s).result()

    @property
    def session_id(self) -> int:
        """Of the open session; 0 without one."""
        signer = self._signer
        return 0 if signer is None else signer.session_id

    def forget_session(self) -> None:
        """Sign nothing any more: the follower has said that the session is over."""
        with self._lock:
            self._signer = None

    def close_session(self, *, timeout_s: float = TIMEOUT_S) -> control_pb2.Reply:
        """Tell the follower that this operator has gone."""
        reply = self._reply("CloseSession", control_pb2.CloseSessionRequest(), timeout_s)
        self.forget_session()
        return reply

    # ---- calls

    def call(self, name: str, request: Message, timeout_s: float = TIMEOUT_S) -> Future[Any]:
        """Make any call of `METHODS` that is no stream; the future holds its reply message.

        Its callbacks run in a thread of gRPC's. It raises ControlError.
        """
        return self._send(timeout_s, METHODS[name], request.SerializeToString(), self._signer)

    def describe(self, *, timeout_s: float = TIMEOUT_S) -> control_pb2.DescribeReply:
        """What this follower is, and how it stands."""
        reply: control_pb2.DescribeReply = self.call(
            "Describe", control_pb2.DescribeRequest(), timeout_s
        ).result()
        return reply

    def prepare_stream(self, *, timeout_s: float = PREPARE_TIMEOUT_S) -> control_pb2.Reply:
        """Engage. "done" means that the probe has begun; streaming is told by an event and by telemetry."""
        return self._reply("PrepareStream", control_pb2.PrepareStreamRequest(), timeout_s)

    def enter_idle(self, *, timeout_s: float = TIMEOUT_S) -> control_pb2.Reply:
        """Soft stop."""
        return self._reply("EnterIdle", control_pb2.EnterIdleRequest(), timeout_s)

    def reset_emergency(self, reason: str, *, timeout_s: float = 2 * TIMEOUT_S) -> control_pb2.Reply:
        """Release the latch; refused while its cause stands, which the reply then names."""
        return self._reply("ResetEmergency", control_pb2.ResetEmergencyRequest(reason=reason), timeout_s)

    def emergency_stop(
        self, reason: str, *, session_id: int = 0, episode_id: int = 0, timeout_s: float = TIMEOUT_S
    ) -> control_pb2.Reply:
        """Stop the arm now. Session and episode as in the datagrams, or 0: then it always stops."""
        request = control_pb2.EmergencyStopRequest(
            session_id=session_id, episode_id=episode_id, reason=reason
        )
        return self._reply("EmergencyStop", request, timeout_s)

    def toggle_guard(self, name: str, *, enabled: bool, timeout_s: float = TIMEOUT_S) -> control_pb2.Reply:
        """Switch a guard that may be switched."""
        return self._reply(
            "ToggleGuard", control_pb2.ToggleGuardRequest(name=name, enabled=enabled), timeout_s
        )

    def edit_guard(self, block: str, changes_json: str, *, timeout_s: float = TIMEOUT_S) -> control_pb2.Reply:
        """Change keys of a safety block, a JSON object; takes effect at the next engagement."""
        request = control_pb2.EditGuardRequest(block=block, changes_json=changes_json)
        return self._reply("EditGuard", request, timeout_s)

    def scale_speed(self, share: float, *, timeout_s: float = TIMEOUT_S) -> control_pb2.Reply:
        """Lower the ceiling of speed to a share of the configured one, or restore it with 1."""
        return self._reply("ScaleSpeed", control_pb2.ScaleSpeedRequest(share=share), timeout_s)

    # ---- streams

    def watch_events(self, *, timeout_s: float | None = None) -> EventWatch:
        """The follower's events from now on, until cancelled; for `timeout_s` at most, where given."""
        method, request = METHODS["WatchEvents"], control_pb2.WatchEventsRequest().SerializeToString()
        with self._lock:
            signer = self._signer
            start = self._channel.unary_stream(method.path, None, None)
            signed = _signed(signer, method, request)
            call = start(request, timeout=timeout_s, metadata=_metadata(signed))
        return EventWatch(call, signer, self.where)

    def stream_actions(self) -> ActionStream:
        """Open the ordered path of setpoints."""
        method = METHODS["StreamActions"]
        with self._lock:
            signer = self._signer
            start = self._channel.stream_unary(method.path, None, None)
            metadata = _metadata(_signed(signer, method, b""))
            return ActionStream(partial(start.future, metadata=metadata), signer, self.where)

    def close(self) -> None:
        """Hang up; calls under way end in a ControlError."""
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ---- below the line

    def _reply(self, name: str, request: Message, timeout_s: float) -> control_pb2.Reply:
        reply: control_pb2.Reply = self.call(name, request, timeout_s).result()
        return reply

    def _adopt(self, signer: ControlSigner) -> None:
        with self._lock:
            self._signer = signer

    def _send(
        self, timeout_s: float, method: Method, request: bytes, signer: ControlSigner | None
    ) -> Future[Any]:
        """Number, sign and send in one step, so that calls leave in the order of their counters."""
        answer: Future[Any] = Future()
        answer.set_running_or_notify_cancel()
        try:
            with self._lock:
                signed = _signed(signer, method, request)
                start = self._channel.unary_unary(method.path, None, None)
                call = start.future(request, timeout=timeout_s, metadata=_metadata(signed))
        except ValueError as error:  # What gRPC says of a channel that was closed.
            answer.set_exception(ControlError(method.name, CallFault.CANCELLED, str(error)))
            return answer

        def answered(ended: Any) -> None:
            try:
                answer.set_result(self._believed(method, signer, signed, ended))
            except ControlError as error:
                answer.set_exception(error)

        call.add_done_callback(answered)
        return answer

    def _believed(
        self, method: Method, signer: ControlSigner | None, signed: SignedCall | None, ended: Any
    ) -> Message:
        """The reply, if it is one and the follower's. Raises ControlError."""
        code = ended.code()
        if code is not grpc.StatusCode.OK:
            raise in_words(method.name, self.where, code, ended.details() or "")
        data: bytes = ended.result()
        if signer is not None and signed is not None:
            mac = dict(ended.trailing_metadata()).get(AUTH_METADATA, b"")
            if not signer.is_answer(method.path, signed.counter, data, mac):
                detail = f"the answer of {self.where} is not the follower's"
                raise ControlError(method.name, CallFault.FORGED, detail)
        try:
            return method.reply.FromString(data)
        except DecodeError:
            raise ControlError(method.name, CallFault.FAILED, "an answer that is none") from None


def _signed(signer: ControlSigner | None, method: Method, request: bytes) -> SignedCall | None:
    return None if signer is None else signer.call(method.path, request)


def _metadata(signed: SignedCall | None) -> Metadata:
    return () if signed is None else ((AUTH_METADATA, signed.token),)
