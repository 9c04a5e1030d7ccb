"""Who may call what: asked before a request is read (R11).

Four kinds of callers: the operator of the living session, proved by a MAC; this host's own user, over
a unix socket that only that user can open; anyone, with `auth: none`; and anyone, for the few calls
that anybody may make.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from steadyhand.edge.control_service import METHODS, Method
from steadyhand.nodes.follower.sessions import LivingSession, Sessions
from steadyhand.wire.control_auth import AUTH_METADATA, CallToken, ControlVerifier, read_token
from steadyhand.wire.rejections import Reason, Rejection, RejectionCounts

LOCAL_CALLS: Final = frozenset({"Describe", "EmergencyStop", "ResetEmergency", "EnterIdle", "WatchEvents"})
"""Of this host's own user, without a session."""

OPENING_CALLS: Final = frozenset({"Hello", "OpenSession"})
"""Judged by what they carry."""

OVERTAKEN_CALLS: Final = frozenset(
    {"EmergencyStop", "WatchEvents", "StreamActions", "Describe", "CloseSession"}
)
"""Right however late they come: they stop, or move nothing by themselves."""

THIS_HOST: Final = "this host"

_SENTENCES: Final = {
    Reason.UNKNOWN_SESSION: "no such session; open one",
    Reason.RETIRED_SESSION: "this session is over; open a new one",
    Reason.REPLAYED: "this call was made before",
    Reason.STALE_COUNTER: "a newer call came before this one; make it again",
    Reason.UNAUTHENTIC: "this call is not signed with the session's key",
    Reason.TRUNCATED: "this call is not signed",
}


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Who calls.

    Attributes:
        name: for records: the operator, or where the call came from.
        session: the living session, where it was proved.
        verifier: signs the answer; None where answers are not signed.
        counter: of the call, which the answer is bound to.
    """

    name: str
    session: LivingSession | None = None
    verifier: ControlVerifier | None = None
    counter: int = 0


class Denied(msgspec.Struct, frozen=True):
    """Not believed; the sentence says what would be."""

    sentence: str


class CallGate:
    """Judges every call.

    Args:
        sessions: the living one, and those before.
        sealed: whether calls have to be signed.
        estop_open: whether an e-stop is obeyed from anyone.

    Attributes:
        rejections: how often which proof was not believed.
        denied: calls refused for that.
    """

    def __init__(self, sessions: Sessions, *, sealed: bool, estop_open: bool) -> None:
        self.rejections = RejectionCounts()
        self.denied = 0
        self._sessions = sessions
        self._sealed = sealed
        self._estop_open = estop_open

    def admit(
        self, method: Method, peer: str, metadata: Iterable[tuple[str, str | bytes]], request: bytes
    ) -> Caller | Denied:
        """Who calls, or why nobody who may.

        Args:
            method: the call.
            peer: as gRPC names the other end.
            metadata: of the call.
            request: the serialized request; empty for a stream of them.
        """
        if is_local(peer):
            if method.name in LOCAL_CALLS:
                return Caller(name=THIS_HOST)
            return self._deny(f"{method.name} needs a session, over the network port")
        if method.name in OPENING_CALLS:
            return Caller(name=host_of(peer))
        if not self._sealed:
            return Caller(name=self._sessions.operator or host_of(peer), session=self._sessions.living)
        return self._proved(method, peer, metadata, request)

    def _proved(
        self, method: Method, peer: str, metadata: Iterable[tuple[str, str | bytes]], request: bytes
    ) -> Caller | Denied:
        token = token_of(metadata)
        judged: LivingSession | Rejection = Rejection(Reason.TRUNCATED)
        if isinstance(token, CallToken):
            judged = self._sessions.judge(
                method.path, token, request, may_be_overtaken=method.name in OVERTAKEN_CALLS
            )
            if isinstance(judged, LivingSession):
                return Caller(
                    name=judged.operator, session=judged, verifier=judged.verifier, counter=token.counter
                )
        if self._anybody_may(method, peer):
            return Caller(name=host_of(peer))
        return self.reject(judged if isinstance(judged, Rejection) else Rejection(Reason.UNAUTHENTIC))

    def _anybody_may(self, method: Method, peer: str) -> bool:
        """Stop, where the robot file says so; look, from this host."""
        if method is METHODS["EmergencyStop"]:
            return self._estop_open
        return method is METHODS["Describe"] and host_of(peer) in ("127.0.0.1", "::1")

    def reject(self, rejection: Rejection) -> Denied:
        """Count a proof that is not believed."""
        self.rejections.count(rejection)
        sentence = _SENTENCES.get(rejection.reason, "no proof of the key")
        return self._deny(f"{rejection.reason.value}: {sentence}")

    def _deny(self, sentence: str) -> Denied:
        self.denied += 1
        return Denied(sentence)


def token_of(metadata: Iterable[tuple[str, str | bytes]]) -> CallToken | Rejection:
    """What the metadata claims."""
    for name, value in metadata:
        if name == AUTH_METADATA:
            return read_token(value if isinstance(value, bytes) else value.encode())
    return Rejection(Reason.TRUNCATED)


def is_local(peer: str) -> bool:
    """Whether the call came over the unix socket."""
    return peer.startswith("unix:")


def host_of(peer: str) -> str:
    """The address in gRPC's name for the other end: `ipv4:10.0.0.7:4711`, `ipv6:%5B::1%5D:4711`."""
    _, _, rest = peer.partition(":")
    host = rest.rpartition(":")[0] or rest
    return host.replace("%5B", "").replace("%5D", "").strip("[]")
