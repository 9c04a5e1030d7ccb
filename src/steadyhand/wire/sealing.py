"""Sealed datagrams: who may speak, proved on every one (R11).

ChaCha20-Poly1305 with one key per direction. The nonce is four zero bytes and the u64 counter;
everything in front of the ciphertext (header, name, session, counter) is associated data. Nothing
is parsed before it is authentic: what is read up to then is compared, never believed.

Layout behind the head: session u64, counter u64, ciphertext, tag of 16 bytes.
"""

import struct
from collections import deque
from typing import Final

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from steadyhand.wire.head import VERSION_SEALED, Head
from steadyhand.wire.rejections import Reason, Rejection
from steadyhand.wire.replay_window import Freshness, ReplayWindow

KEY_BYTES: Final = 32
TAG_BYTES: Final = 16
# Big-endian: session u64, counter u64.
_SESSION: Final = struct.Struct("!QQ")
_NONCE: Final = struct.Struct("!4xQ")
SESSION_BYTES: Final = _SESSION.size
#: What a seal costs a datagram, besides its head.
SEAL_OVERHEAD_BYTES: Final = SESSION_BYTES + TAG_BYTES
MAX_SESSION_ID: Final = (1 << 64) - 1
MAX_COUNTER: Final = (1 << 64) - 1
#: Retired sessions that are still told from unknown ones.
RETIRED_REMEMBERED: Final = 64


class SealError(RuntimeError):
    """A seal that must not be made: its counter is used up, or its session is not new."""


class Sealer:
    """Seals one direction of one session; numbers its datagrams from 0 and never one twice.

    A sealer cannot be given a counter to go on from: a process that restarts has lost the only
    thing that keeps its nonces unique, and opens a new session instead.
    """

    def __init__(self, *, session_id: int, key: bytes) -> None:
        """Take the session's id and the key of this direction, 32 bytes."""
        if not 0 <= session_id <= MAX_SESSION_ID:
            raise ValueError(f"not a u64 session id: {session_id}")
        self.session_id = session_id
        self._aead = ChaCha20Poly1305(key)
        self._next_counter = 0

    def seal(self, head: bytes, plaintext: bytes) -> bytes:
        """Return the whole datagram: head, session, counter, ciphertext and tag.

        Raises:
            SealError: 2**64 datagrams have been sealed.
        """
        counter = self._next_counter
        if counter > MAX_COUNTER:
            raise SealError(f"session {self.session_id:016x} has used up its counter")
        self._next_counter = counter + 1
        bound = head + _SESSION.pack(self.session_id, counter)
        return bound + self._aead.encrypt(_NONCE.pack(counter), plaintext, bound)


class Unsealed(msgspec.Struct, frozen=True, gc=False):
    """An authentic plaintext and what it was bound to."""

    session_id: int
    counter: int
    plaintext: bytes


class Unsealer:
    """Opens one direction: at most one session lives, those before it are retired (R3)."""

    def __init__(self) -> None:
        """No session: every sealed datagram is of an unknown one."""
        self._session_id: int | None = None
        self._aead: ChaCha20Poly1305 | None = None
        self._window = ReplayWindow()
        self._retired: deque[int] = deque(maxlen=RETIRED_REMEMBERED)

    @property
    def session_id(self) -> int | None:
        """The living session, or None."""
        return self._session_id

    def open_session(self, *, session_id: int, key: bytes | None) -> None:
        """Begin a session; the one before is retired at once, with its key.

        Without a key nothing is ever opened: for a run that is executed again from its log, where
        seals were judged before (`accept_judged`).

        Raises:
            SealError: this session lives or lived before; its counters could be replayed.
        """
        if session_id == self._session_id or session_id in self._retired:
            raise SealError(f"session {session_id:016x} was used before")
        aead = None if key is None else ChaCha20Poly1305(key)
        self.retire_session()
        self._session_id, self._aead, self._window = session_id, aead, ReplayWindow()

    def retire_session(self) -> None:
        """End the living session without a new one; its late datagrams count as retired."""
        if self._session_id is not None:
            self._retired.append(self._session_id)
        self._session_id = self._aead = None

    def accept_judged(self, unsealed: Unsealed) -> None:
        """Remember a datagram whose seal held when it first came.

        Raises:
            SealError: it is not of the living session, or its counter was accepted before.
        """
        if unsealed.session_id != self._session_id:
            raise SealError(f"session {unsealed.session_id:016x} is not the living one")
        if self._window.judge(unsealed.counter) is not Freshness.FRESH:
            raise SealError(f"counter {unsealed.counter} was accepted before")
        self._window.accept(unsealed.counter)

    def unseal(self, head: Head) -> Unsealed | Rejection:
        """Authenticate a sealed frame; a plaintext comes out once, and only if it is authentic.

        The cheap refusals come first and are safe to make of forged bytes: they only drop.
        """
        if head.version != VERSION_SEALED:
            return Rejection(Reason.NOT_SEALED, f"version {head.version}")
        datagram, sealed_at = head.datagram, head.body_at + SESSION_BYTES
        if len(datagram) < sealed_at + TAG_BYTES:
            return Rejection(Reason.TRUNCATED, "no room for a seal")
        session_id, counter = _SESSION.unpack_from(datagram, head.body_at)
        if session_id != self._session_id or self._aead is None:
            retired = session_id in self._retired
            return Rejection(Reason.RETIRED_SESSION if retired else Reason.UNKNOWN_SESSION)
        freshness = self._window.judge(counter)
        if freshness is not Freshness.FRESH:
            stale = freshness is Freshness.STALE
            return Rejection(Reason.STALE_COUNTER if stale else Reason.REPLAYED)
        try:
            plaintext = self._aead.decrypt(_NONCE.pack(counter), datagram[sealed_at:], datagram[:sealed_at])
        except InvalidTag:
            return Rejection(Reason.UNAUTHENTIC)
        self._window.accept(counter)
        return Unsealed(session_id, counter, plaintext)
