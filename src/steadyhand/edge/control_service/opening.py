"""Opening a session, at the operator's end: both sides prove the key before either believes the other."""

import secrets
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any, Final

import msgspec

from steadyhand.edge.control_service.errors import CallFault, ControlError
from steadyhand.edge.control_service.methods import METHODS, Method
from steadyhand.edge.keys import Identity, MutualTls, PresharedKey
from steadyhand.ground.errors import InputError
from steadyhand.wire import control_pb2
from steadyhand.wire.control_auth import ControlSigner
from steadyhand.wire.handshake import ClientHello, OpenedSession, answer_offer, encode_client_hello
from steadyhand.wire.rejections import Rejection
from steadyhand.wire.session_keys import NONCE_BYTES, SessionKeys, derive_session_keys

HELLO: Final = METHODS["Hello"]
OPEN: Final = METHODS["OpenSession"]

Send = Callable[[Method, bytes, ControlSigner | None], "Future[Any]"]
Adopt = Callable[[ControlSigner], None]


class OpenWish(msgspec.Struct, frozen=True, kw_only=True):
    """What an operator asks a session for.

    Attributes:
        robot_id: the arm.
        operator: who asks; told to whoever is refused because of it.
        config_hash: `agreed_hash` of this side's robot file.
        take_over: take the session from an operator whose stream is not engaged.
        telemetry_port: where this side listens for telemetry, UDP; 0 wants none.
        telemetry_host: which host that is; "" for the one this call comes from.
    """

    robot_id: str
    operator: str
    config_hash: str
    take_over: bool = False
    telemetry_port: int = 0
    telemetry_host: str = ""


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """The session is this operator's.

    Attributes:
        session_id: of the sealed session; 0 with `auth: none`.
        keys: its keys; None with `auth: none`.
        follower: what the follower is and how it stands.
    """

    session_id: int
    keys: SessionKeys | None
    follower: control_pb2.DescribeReply


class OpenRefused(msgspec.Struct, frozen=True, kw_only=True):
    """The follower believes us and still says no.

    Attributes:
        reason: the sentence: who holds the session, or which robot files differ.
        config_hash: the follower's own.
    """

    reason: str
    config_hash: str


class Opening:
    """One attempt; the calls run in gRPC's threads, one after the other.

    Args:
        send: makes one call.
        adopt: is given the session's signer before `outcome` is done.
        identity: what this side proves itself with.
        wish: what is asked for.

    Attributes:
        outcome: Opened, OpenRefused, or a ControlError.
    """

    def __init__(self, send: Send, adopt: Adopt, identity: Identity, wish: OpenWish) -> None:
        self.outcome: Future[Opened | OpenRefused] = Future()
        self.outcome.set_running_or_notify_cancel()
        self._send = send
        self._adopt = adopt
        self._identity = identity
        self._wish = wish

    def begin(self) -> None:
        """Make the first call. Over mutual TLS, and with `auth: none`, it is the only one."""
        identity = self._identity
        if isinstance(identity, PresharedKey):
            hello = ClientHello(self._wish.robot_id, secrets.token_bytes(NONCE_BYTES))
            message = control_pb2.HelloRequest(client_hello=encode_client_hello(hello))
            offered = self._send(HELLO, message.SerializeToString(), None)
            self._then(offered, partial(self._prove, identity.secret, hello))
        else:
            self._then(self._send(OPEN, self._request(b""), None), self._believe_unproved)

    def _then(self, arrived: "Future[Any]", step: Callable[[Any], None]) -> None:
        """The next step on the answer; any error ends the attempt, and is told."""

        def carry_on(answer: "Future[Any]") -> None:
            try:
                step(answer.result())
            except (ControlError, InputError) as error:
                self.outcome.set_exception(error)

        arrived.add_done_callback(carry_on)

    def _prove(self, secret: bytes, hello: ClientHello, offered: control_pb2.HelloReply) -> None:
        """Check the follower's proof, give ours, and sign with the key of the session offered."""
        answer = answer_offer(secret, hello, offered.server_hello)
        if isinstance(answer, Rejection):
            detail = f"the follower does not have this key ({answer.reason.value})"
            raise ControlError(HELLO.name, CallFault.FORGED, detail)
        session = answer.session
        signer = ControlSigner(session_id=session.session_id, key=session.keys.control)
        opened = self._send(OPEN, self._request(answer.message), signer)
        self._then(opened, partial(self._believe, session, signer))

    def _believe(
        self, session: OpenedSession, signer: ControlSigner, reply: control_pb2.OpenSessionReply
    ) -> None:
        if self._refused(reply):
            return
        self._adopt(signer)
        self.outcome.set_result(
            Opened(session_id=session.session_id, keys=session.keys, follower=reply.follower)
        )

    def _believe_unproved(self, reply: control_pb2.OpenSessionReply) -> None:
        """The certificate was the proof, or none was asked for."""
        if self._refused(reply):
            return
        if not isinstance(self._identity, MutualTls):
            self.outcome.set_result(Opened(session_id=0, keys=None, follower=reply.follower))
            return
        keys = derive_session_keys(reply.secret, session_id=reply.session_id, robot_id=self._wish.robot_id)
        self._adopt(ControlSigner(session_id=reply.session_id, key=keys.control))
        self.outcome.set_result(Opened(session_id=reply.session_id, keys=keys, follower=reply.follower))

    def _refused(self, reply: control_pb2.OpenSessionReply) -> bool:
        if reply.reply.outcome == "done":
            return False
        self.outcome.set_result(OpenRefused(reason=reply.reply.reason, config_hash=reply.config_hash))
        return True

    def _request(self, proof: bytes) -> bytes:
        wish = self._wish
        return control_pb2.OpenSessionRequest(
            client_proof=proof,
            operator=wish.operator,
            config_hash=wish.config_hash,
            take_over=wish.take_over,
            telemetry_host=wish.telemetry_host,
            telemetry_port=wish.telemetry_port,
            robot_id=wish.robot_id,
        ).SerializeToString()
