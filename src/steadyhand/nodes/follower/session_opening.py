"""Opening and closing sessions at the robot: proof, robot file, and then the data plane's word (R3, R11)."""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Callable

import msgspec

from steadyhand.core.follower.inputs import Reply
from steadyhand.edge.clock import MonotonicClock
from steadyhand.edge.control_service import METHODS
from steadyhand.edge.keys import Identity, MutualTls, PresharedKey, Unauthenticated
from steadyhand.nodes.follower.call_gate import CallGate, Denied, host_of
from steadyhand.nodes.follower.data_plane_client import DataPlaneClient
from steadyhand.nodes.follower.sessions import LivingSession, Offers, Sessions
from steadyhand.wire import control_pb2
from steadyhand.wire.control_auth import CallToken, ControlVerifier
from steadyhand.wire.handshake import OpenedSession, accept_client_proof, decode_client_hello
from steadyhand.wire.rejections import Reason, Rejection
from steadyhand.wire.session_keys import MIN_SECRET_BYTES, NONCE_BYTES, derive_session_keys

NO_KEY = bytes(32)
"""With `auth: none` the data plane opens sealed frames of nobody; it wants a key all the same."""

SESSION_BITS = 64
SHOWN_DIGITS = 12
LONGEST_NAME = 64


class Begun(msgspec.Struct, frozen=True, kw_only=True):
    """A session has begun.

    Attributes:
        session: the living one.
        retired: the one it took the place of.
        telemetry: where its telemetry goes; None for nowhere.
    """

    session: LivingSession
    retired: LivingSession | None
    telemetry: tuple[str, int] | None


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """An OpenSession call that is believed.

    Attributes:
        reply: what is answered, done or refused.
        verifier: signs it; None where answers are not signed.
        counter: of the call.
    """

    reply: control_pb2.OpenSessionReply
    verifier: ControlVerifier | None = None
    counter: int = 0


class SessionDesk:
    """Where operators come and go.

    Args:
        robot_id: the arm.
        config_hash: `agreed_hash` of this side's robot file.
        identity: what this side proves itself with.
        sessions: the living one, and those before.
        gate: counts what is not believed.
        data_plane: has the last word.
        clock: of the offers' lives.
        on_begun: told of each session that begins.
    """

    def __init__(
        self,
        *,
        robot_id: str,
        config_hash: str,
        identity: Identity,
        sessions: Sessions,
        gate: CallGate,
        data_plane: DataPlaneClient,
        clock: MonotonicClock,
        on_begun: Callable[[Begun], None],
    ) -> None:
        self.offers = Offers(identity.secret) if isinstance(identity, PresharedKey) else None
        self._robot_id = robot_id
        self._config_hash = config_hash
        self._identity = identity
        self._sessions = sessions
        self._gate = gate
        self._data_plane = data_plane
        self._clock = clock
        self._on_begun = on_begun

    def hello(self, peer: str, request: control_pb2.HelloRequest) -> control_pb2.HelloReply | Denied:
        """Offer a session to whoever asks, in exchange for nothing."""
        if self.offers is None:
            how = "mutual TLS" if isinstance(self._identity, MutualTls) else "no proof"
            return Denied(f"this follower opens sessions with {how}, not with a pre-shared key")
        hello = decode_client_hello(request.client_hello)
        if isinstance(hello, Rejection):
            return self._gate.reject(hello)
        if hello.robot_id != self._robot_id:
            return Denied(f"this is {self._robot_id}, not {hello.robot_id}")
        offer = self.offers.make(
            peer,
            host_of(peer),
            hello,
            session_id=self._new_id(),
            server_nonce=secrets.token_bytes(NONCE_BYTES),
            now_ns=self._clock.now_ns(),
        )
        if offer is None:
            return Denied("too many attempts from this address; wait a second")
        return control_pb2.HelloReply(server_hello=offer.message)

    async def open(
        self,
        peer: str,
        token: CallToken | Rejection,
        request: control_pb2.OpenSessionRequest,
        serialized: bytes,
    ) -> Judged | Denied:
        """Judge who asks, then what is asked; only what both hold for begins."""
        if not isinstance(self._identity, PresharedKey):
            reply = await self._begin(peer, request, self._unproved())
            return Judged(reply=reply)
        proved = self._proved(peer, token, request, serialized)
        if isinstance(proved, Rejection):
            return self._gate.reject(proved)
        opened, verifier, counter = proved
        session = LivingSession(
            session_id=opened.session_id, operator=_name(request.operator), verifier=verifier, opened=opened
        )
        return Judged(reply=await self._begin(peer, request, session), verifier=verifier, counter=counter)

    async def close(self, session: LivingSession | None) -> Reply:
        """The operator has gone. The caller retires the session here."""
        if session is None:
            return Reply(outcome="ignored", reason="there is no session")
        return await self._data_plane.close_session(session.operator)

    def _proved(
        self,
        peer: str,
        token: CallToken | Rejection,
        request: control_pb2.OpenSessionRequest,
        serialized: bytes,
    ) -> tuple[OpenedSession, ControlVerifier, int] | Rejection:
        """The MAC says that the offer's key is there, and the proof says that it was for this offer."""
        if isinstance(token, Rejection):
            return token
        half_open = None
        if self.offers is not None:
            half_open = self.offers.of(peer, token.session_id, self._clock.now_ns())
        if half_open is None or self.offers is None:
            return Rejection(Reason.UNKNOWN_SESSION, "no offer of this connection, or too late")
        refused = half_open.verifier.call(METHODS["OpenSession"].path, token, serialized)
        if refused is not None:
            # Whoever has not the key can make this; the offer stays for who has it.
            return refused
        self.offers.forget(peer)
        opened = accept_client_proof(half_open.offer, request.client_proof)
        if isinstance(opened, Rejection):
            return opened
        return opened, half_open.verifier, token.counter

    def _unproved(self) -> LivingSession:
        """Over mutual TLS the certificates were the proof; with `auth: none` nothing is."""
        session_id = self._new_id()
        if isinstance(self._identity, Unauthenticated):
            return LivingSession(session_id=session_id, operator="")
        secret = secrets.token_bytes(MIN_SECRET_BYTES)
        keys = derive_session_keys(secret, session_id=session_id, robot_id=self._robot_id)
        return LivingSession(
            session_id=session_id,
            operator="",
            verifier=ControlVerifier(session_id=session_id, key=keys.control),
            opened=OpenedSession(session_id, self._robot_id, keys),
            secret=secret,
        )

    async def _begin(
        self, peer: str, request: control_pb2.OpenSessionRequest, session: LivingSession
    ) -> control_pb2.OpenSessionReply:
        """Ask the data plane; what it takes is the living session from here on."""
        session = msgspec.structs.replace(session, operator=_name(request.operator))
        telemetry = _telemetry_to(peer, request)
        refused = self._refusal(request, telemetry)
        if refused is not None:
            return self._answer(refused)
        reply = await self._data_plane.open_session(
            session_id=session.session_id,
            command_key=NO_KEY if session.opened is None else session.opened.keys.command,
            operator=session.operator,
            take_over=request.take_over,
        )
        if reply.outcome != "done":
            return self._answer(reply.reason)
        known = msgspec.structs.replace(session, secret=b"")
        retired = self._sessions.begin(known)
        to = telemetry if isinstance(telemetry, tuple) else None
        self._on_begun(Begun(session=known, retired=retired, telemetry=to))
        answer = self._answer(None)
        if session.opened is not None:
            answer.session_id = session.session_id
            answer.secret = session.secret
        return answer

    def _refusal(
        self, request: control_pb2.OpenSessionRequest, telemetry: tuple[str, int] | str | None
    ) -> str | None:
        if request.robot_id != self._robot_id:
            return f"this is {self._robot_id}, not {request.robot_id[:LONGEST_NAME]}"
        if not _name(request.operator):
            return "an operator has a name"
        if isinstance(telemetry, str):
            return telemetry
        if request.config_hash != self._config_hash:
            theirs = request.config_hash[:SHOWN_DIGITS] or "none"
            return (
                f"the robot files differ: the operator's is {theirs}, "
                f"the follower's {self._config_hash[:SHOWN_DIGITS]}"
            )
        return None

    def _answer(self, refused: str | None) -> control_pb2.OpenSessionReply:
        outcome = "done" if refused is None else "refused"
        reply = control_pb2.Reply(outcome=outcome, reason=refused or "")
        return control_pb2.OpenSessionReply(reply=reply, config_hash=self._config_hash)

    def _new_id(self) -> int:
        while True:
            session_id = secrets.randbits(SESSION_BITS)
            if session_id and not self._sessions.is_used(session_id):
                return session_id


def _telemetry_to(peer: str, request: control_pb2.OpenSessionRequest) -> tuple[str, int] | str | None:
    """Where telemetry goes; None for nowhere; a sentence where that is no place."""
    if request.telemetry_port == 0:
        return None
    host = request.telemetry_host or host_of(peer)
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return f"telemetry_host has to be an address, not {host[:LONGEST_NAME]}"
    if request.telemetry_port > 0xFFFF:
        return f"{request.telemetry_port} is no port for telemetry"
    return host, request.telemetry_port


def _name(text: str) -> str:
    """An operator's name: printable, on one line, bounded; it goes into logs and refusals."""
    return "".join(c for c in text if c.isprintable()).strip()[:LONGEST_NAME]
