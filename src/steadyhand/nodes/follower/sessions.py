"""Sessions of the control service: offers that are half open, and the one that lives (R3, R11).

Pure, with the time handed in. An offer costs whoever asks nothing, so there is one for each
connection, for a short while, for a bounded number of connections, and each host may ask only so
often. A session begins when the data plane has taken it, and retires the one before.
"""

from collections import OrderedDict, deque
from typing import Final

import msgspec

from steadyhand.ground.stamps import NS_PER_S
from steadyhand.wire.control_auth import CallToken, ControlVerifier
from steadyhand.wire.handshake import ClientHello, OpenedSession, SessionOffer, offer_session
from steadyhand.wire.rejections import Reason, Rejection
from steadyhand.wire.sealing import RETIRED_REMEMBERED

OFFER_LIFE_NS: Final = 5 * NS_PER_S
OFFERS_KEPT: Final = 64
HELLOS_A_SECOND: Final = 5
HELLO_BURST: Final = 20
HOSTS_KEPT: Final = 256


class TokenBucket:
    """So many at once, and so many a second after that."""

    def __init__(self, *, rate_hz: int, burst: int, now_ns: int) -> None:
        self._period_ns = NS_PER_S // rate_hz
        self._burst = burst
        self._tokens = burst
        self._filled_ns = now_ns

    def take(self, now_ns: int) -> bool:
        """Whether there is one."""
        new = (now_ns - self._filled_ns) // self._period_ns
        self._tokens = min(self._burst, self._tokens + new)
        self._filled_ns += new * self._period_ns
        if self._tokens == 0:
            return False
        self._tokens -= 1
        return True


class HalfOpen(msgspec.Struct, frozen=True):
    """An offer, its verifier for the call that answers it, and when it was made."""

    offer: SessionOffer
    verifier: ControlVerifier
    made_ns: int


class Offers:
    """The half-open sessions.

    Args:
        secret: the pre-shared key.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._offers: OrderedDict[str, HalfOpen] = OrderedDict()
        self._buckets: OrderedDict[str, TokenBucket] = OrderedDict()

    def __len__(self) -> int:
        return len(self._offers)

    def make(
        self, peer: str, host: str, hello: ClientHello, *, session_id: int, server_nonce: bytes, now_ns: int
    ) -> SessionOffer | None:
        """Offer a session to a connection, in the place of the offer it had; None: too many hellos."""
        if not self._bucket(host, now_ns).take(now_ns):
            return None
        offer = offer_session(self._secret, hello, session_id=session_id, server_nonce=server_nonce)
        verifier = ControlVerifier(session_id=session_id, key=offer.session.keys.control)
        self._offers[peer] = HalfOpen(offer, verifier, now_ns)
        self._offers.move_to_end(peer)
        while len(self._offers) > OFFERS_KEPT:
            self._offers.popitem(last=False)
        return offer

    def of(self, peer: str, session_id: int, now_ns: int) -> HalfOpen | None:
        """The living offer of that session to that connection."""
        half_open = self._offers.get(peer)
        if half_open is None or half_open.offer.session.session_id != session_id:
            return None
        if now_ns - half_open.made_ns > OFFER_LIFE_NS:
            del self._offers[peer]
            return None
        return half_open

    def forget(self, peer: str) -> None:
        """An offer is good for one answer."""
        self._offers.pop(peer, None)

    def _bucket(self, host: str, now_ns: int) -> TokenBucket:
        bucket = self._buckets.get(host)
        if bucket is None:
            bucket = TokenBucket(rate_hz=HELLOS_A_SECOND, burst=HELLO_BURST, now_ns=now_ns)
            self._buckets[host] = bucket
        self._buckets.move_to_end(host)
        while len(self._buckets) > HOSTS_KEPT:
            self._buckets.popitem(last=False)
        return bucket


class LivingSession(msgspec.Struct, frozen=True, kw_only=True):
    """The session that may command.

    Attributes:
        session_id: never 0; with `auth: none` told to nobody but the data plane.
        operator: who has it.
        verifier: of its calls; None with `auth: none`.
        opened: its keys; None with `auth: none`.
        secret: what they come from, over mutual TLS, until it was told.
    """

    session_id: int
    operator: str
    verifier: ControlVerifier | None = None
    opened: OpenedSession | None = None
    secret: bytes = b""

    def __repr__(self) -> str:
        return f"LivingSession({self.operator!r})"


class Sessions:
    """The living session and those before it."""

    def __init__(self) -> None:
        self.living: LivingSession | None = None
        self._retired: deque[int] = deque(maxlen=RETIRED_REMEMBERED)

    @property
    def operator(self) -> str:
        """Who has the session; "" for nobody."""
        return "" if self.living is None else self.living.operator

    def is_used(self, session_id: int) -> bool:
        """Whether this process has had that session."""
        living = self.living is not None and self.living.session_id == session_id
        return living or session_id in self._retired

    def begin(self, session: LivingSession) -> LivingSession | None:
        """A session began; the one before, which is retired, is the answer."""
        before = self.retire()
        self.living = session
        return before

    def retire(self) -> LivingSession | None:
        """End the living session, which is the answer."""
        before, self.living = self.living, None
        if before is not None:
            self._retired.append(before.session_id)
        return before

    def judge(
        self, method: str, token: CallToken, request: bytes, *, may_be_overtaken: bool
    ) -> LivingSession | Rejection:
        """Whose call this is."""
        living = self.living
        if living is None or living.verifier is None or token.session_id != living.session_id:
            retired = token.session_id in self._retired
            return Rejection(Reason.RETIRED_SESSION if retired else Reason.UNKNOWN_SESSION)
        refused = living.verifier.call(method, token, request, may_be_overtaken=may_be_overtaken)
        return living if refused is None else refused
