"""Who calls the control service, proved on every call, answer, streamed action and event (R11).

HMAC-SHA256 under the session's control key, in constant time, over

    method path ‖ one byte: what this is ‖ session u64 ‖ number u64 ‖ bytes

A call's proof travels as metadata, an answer's in the trailing metadata; a streamed action and an
event carry their own. The byte that says what it is keeps one from being given back as another.
The bytes are those of the wire: nothing is parsed before it is authentic, and nothing written anew.

A call that a newer one has overtaken is refused: held back on the way, a reset could come after the
stop it was not meant for. An e-stop, which is never too old, and a look at the events are not; each
is still taken once.
"""

import hmac
import struct
from typing import Final

import msgspec

from steadyhand.wire.rejections import Reason, Rejection
from steadyhand.wire.replay_window import Freshness, ReplayWindow

AUTH_METADATA: Final = "steadyhand-auth-bin"
MAC_BYTES: Final = 32
MAX_NUMBER: Final = (1 << 64) - 1

_CALL: Final = b"\x00"
_ANSWER: Final = b"\x01"
_ACTION: Final = b"\x02"
_EVENT: Final = b"\x03"
# Big-endian: session u64, counter u64.
_BOUND: Final = struct.Struct("!QQ")
TOKEN_BYTES: Final = _BOUND.size + MAC_BYTES


class CallToken(msgspec.Struct, frozen=True):
    """What a call's metadata claims; to be believed once `ControlVerifier.call` has judged it."""

    session_id: int
    counter: int
    mac: bytes


def read_token(data: bytes) -> CallToken | Rejection:
    """Read the metadata of a call. Anyone can have written it."""
    if len(data) != TOKEN_BYTES:
        return Rejection(Reason.TRUNCATED, f"{len(data)} bytes of authentication")
    session_id, counter = _BOUND.unpack_from(data)
    return CallToken(session_id, counter, data[_BOUND.size :])


class SignedCall(msgspec.Struct, frozen=True):
    """A call ready to be sent.

    Attributes:
        counter: its number, which the answer is bound to.
        token: the metadata's value.
    """

    counter: int
    token: bytes


class ControlSigner:
    """The operator's end of one session: numbers and signs what it says, checks what it is told.

    Like a sealer it cannot be given a counter to go on from: after a restart a session is opened anew.
    Whoever signs from several threads hands calls over in the order of their counters.

    Args:
        session_id: of the session.
        key: its control key, 32 bytes.
    """

    def __init__(self, *, session_id: int, key: bytes) -> None:
        self.session_id = session_id
        self._macs = _Macs(session_id, key)
        self._counter = 0
        self._action_counter = 0

    def call(self, method: str, request: bytes) -> SignedCall:
        """Sign the next call. Raises OverflowError after 2**64 of them."""
        self._counter = counter = _next(self._counter)
        mac = self._macs.of(method, _CALL, counter, request)
        return SignedCall(counter, _BOUND.pack(self.session_id, counter) + mac)

    def is_answer(self, method: str, counter: int, answer: bytes, mac: bytes) -> bool:
        """Whether `answer` is the robot's, to this very call."""
        return self._macs.fits(mac, method, _ANSWER, counter, answer)

    def action(self, method: str, payload: bytes) -> tuple[int, bytes]:
        """Sign the next streamed action: its counter and its MAC."""
        self._action_counter = counter = _next(self._action_counter)
        return counter, self._macs.of(method, _ACTION, counter, payload)

    def is_event(self, method: str, number: int, event: bytes, mac: bytes) -> bool:
        """Whether `event`, serialized without its MAC, is the robot's."""
        return self._macs.fits(mac, method, _EVENT, number, event)


class ControlVerifier:
    """The robot's end of one session: judges what is said, signs what it answers.

    Args:
        session_id: of the session.
        key: its control key, 32 bytes.
    """

    def __init__(self, *, session_id: int, key: bytes) -> None:
        self.session_id = session_id
        self._macs = _Macs(session_id, key)
        self._newest = 0
        self._window = ReplayWindow()
        self._newest_action = 0

    def call(
        self, method: str, token: CallToken, request: bytes, *, may_be_overtaken: bool = False
    ) -> Rejection | None:
        """Judge a call: None where it is authentic, new, and no newer one came before it.

        Args:
            method: path of the call.
            token: its metadata.
            request: the serialized request, as received.
            may_be_overtaken: for a call that is right however late it comes.
        """
        if token.session_id != self.session_id:
            return Rejection(Reason.UNKNOWN_SESSION)
        freshness = self._window.judge(token.counter)
        if freshness is Freshness.REPLAYED:
            return Rejection(Reason.REPLAYED)
        if freshness is Freshness.STALE or (token.counter <= self._newest and not may_be_overtaken):
            return Rejection(Reason.STALE_COUNTER, "a newer call came before it")
        if not self._macs.fits(token.mac, method, _CALL, token.counter, request):
            return Rejection(Reason.UNAUTHENTIC)
        self._window.accept(token.counter)
        self._newest = max(self._newest, token.counter)
        return None

    def answer(self, method: str, counter: int, answer: bytes) -> bytes:
        """Sign the answer to the call of that counter."""
        return self._macs.of(method, _ANSWER, counter, answer)

    def action(self, method: str, counter: int, payload: bytes, mac: bytes) -> Rejection | None:
        """Judge a streamed action: None where it is authentic and newer than all before it."""
        if counter <= self._newest_action:
            return Rejection(Reason.REPLAYED)
        if not self._macs.fits(mac, method, _ACTION, counter, payload):
            return Rejection(Reason.UNAUTHENTIC)
        self._newest_action = counter
        return None

    def event(self, method: str, number: int, event: bytes) -> bytes:
        """Sign an event, serialized without its MAC."""
        return self._macs.of(method, _EVENT, number, event)


class _Macs:
    """One session's MACs, which both ends make alike."""

    def __init__(self, session_id: int, key: bytes) -> None:
        self._session_id = session_id
        self._key = key

    def of(self, method: str, what: bytes, number: int, data: bytes) -> bytes:
        bound = method.encode() + what + _BOUND.pack(self._session_id, number)
        return hmac.digest(self._key, bound + data, "sha256")

    def fits(self, mac: bytes, method: str, what: bytes, number: int, data: bytes) -> bool:
        return hmac.compare_digest(self.of(method, what, number, data), mac)


def _next(counter: int) -> int:
    if counter >= MAX_NUMBER:
        raise OverflowError("the session has used up its counter")
    return counter + 1
