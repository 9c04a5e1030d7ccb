"""Opening a session with a pre-shared key: three messages over the control service (R11).

    operator → robot   client hello   the robot's name, the operator's nonce
    robot → operator   server hello   session id, the robot's nonce, the robot's proof
    operator → robot   client proof   session id, the operator's proof

Each side proves, over everything said so far, that it has the key; neither proof can be given back
as the other. The robot retires its old session only on the third message: the first two can be
made by anyone. Random bytes are handed in, since this room has no dice.
"""

import hmac
import struct
from typing import Final

import msgspec

from steadyhand.ground.robot_state import MAX_ROBOT_ID_BYTES, is_robot_id
from steadyhand.wire.rejections import Reason, Rejection
from steadyhand.wire.session_keys import NONCE_BYTES, SessionKeys, derive_session_keys

HANDSHAKE_MAGIC: Final = b"S7H1"
HANDSHAKE_VERSION: Final = 1
PROOF_BYTES: Final = 32

_CLIENT_HELLO: Final = 1
_SERVER_HELLO: Final = 2
_CLIENT_PROOF: Final = 3
_ROLE_SERVER: Final = b"server"
_ROLE_CLIENT: Final = b"client"

# Big-endian. Each message begins with magic 4 bytes, version u8, kind u8.
_HELLO: Final = struct.Struct("!4sBBH")
_OFFER: Final = struct.Struct(f"!4sBBQ{NONCE_BYTES}s")
_PROOF: Final = struct.Struct(f"!4sBBQ{PROOF_BYTES}s")


class ClientHello(msgspec.Struct, frozen=True):
    """What the operator's side asks for, and the nonce that makes the asking unique."""

    robot_id: str
    nonce: bytes


class OpenedSession(msgspec.Struct, frozen=True):
    """A session that both sides have proved to each other."""

    session_id: int
    robot_id: str
    keys: SessionKeys


class SessionOffer(msgspec.Struct, frozen=True):
    """The robot's half-open session: what to send, and what the answer is held against.

    Good for one answer: the caller forgets it once `accept_client_proof` has judged one, and
    after a short while without any.
    """

    message: bytes
    session: OpenedSession
    transcript: bytes


class ClientAnswer(msgspec.Struct, frozen=True):
    """The operator's last word, and the session it may use once the robot has taken it."""

    message: bytes
    session: OpenedSession


def encode_client_hello(hello: ClientHello) -> bytes:
    """Write the first message. Raises ValueError on a nonce that is not 32 bytes, or no name."""
    if len(hello.nonce) != NONCE_BYTES:
        raise ValueError(f"a nonce has {NONCE_BYTES} bytes, not {len(hello.nonce)}")
    if not is_robot_id(hello.robot_id):
        raise ValueError(f"not a robot id: {hello.robot_id!r}")
    name = hello.robot_id.encode()
    return _HELLO.pack(HANDSHAKE_MAGIC, HANDSHAKE_VERSION, _CLIENT_HELLO, len(name)) + name + hello.nonce


def decode_client_hello(message: bytes) -> ClientHello | Rejection:
    """Read the first message, at the robot. Anyone can have written it."""
    if len(message) < _HELLO.size:
        return Rejection(Reason.BAD_HANDSHAKE, f"{len(message)} bytes")
    magic, version, kind, name_bytes = _HELLO.unpack_from(message)
    refused = _refuse_prefix(magic, version, kind, _CLIENT_HELLO)
    if refused is not None:
        return refused
    nonce_at = _HELLO.size + name_bytes
    if name_bytes > MAX_ROBOT_ID_BYTES or len(message) != nonce_at + NONCE_BYTES:
        return Rejection(Reason.BAD_HANDSHAKE, f"{len(message)} bytes")
    try:
        robot_id = message[_HELLO.size : nonce_at].decode()
    except UnicodeDecodeError:
        return Rejection(Reason.BAD_ROBOT_ID, "not UTF-8")
    if not is_robot_id(robot_id):
        return Rejection(Reason.BAD_ROBOT_ID, "not printable")
    return ClientHello(robot_id, message[nonce_at:])


def offer_session(secret: bytes, hello: ClientHello, *, session_id: int, server_nonce: bytes) -> SessionOffer:
    """Answer a client hello, at the robot: the second message, with the robot's proof.

    Args:
        secret: the pre-shared key, at least 32 bytes.
        hello: what was asked.
        session_id: a random u64 that this process has not used before.
        server_nonce: 32 fresh random bytes.

    Raises:
        InputError: the secret is too short.
        ValueError: the nonce is not 32 bytes.
    """
    if len(server_nonce) != NONCE_BYTES:
        raise ValueError(f"a nonce has {NONCE_BYTES} bytes, not {len(server_nonce)}")
    session = _session(secret, hello, session_id, server_nonce)
    said = _OFFER.pack(HANDSHAKE_MAGIC, HANDSHAKE_VERSION, _SERVER_HELLO, session_id, server_nonce)
    transcript = encode_client_hello(hello) + said
    proof = _prove(session.keys, _ROLE_SERVER, transcript)
    return SessionOffer(said + proof, session, transcript + proof)


def answer_offer(secret: bytes, hello: ClientHello, message: bytes) -> ClientAnswer | Rejection:
    """Check the robot's proof and give the operator's: the third message.

    Args:
        secret: the pre-shared key, at least 32 bytes.
        hello: what this side asked.
        message: the robot's answer to it.

    Raises:
        InputError: the secret is too short.
    """
    if len(message) != _OFFER.size + PROOF_BYTES:
        return Rejection(Reason.BAD_HANDSHAKE, f"{len(message)} bytes")
    magic, version, kind, session_id, server_nonce = _OFFER.unpack_from(message)
    refused = _refuse_prefix(magic, version, kind, _SERVER_HELLO)
    if refused is not None:
        return refused
    session = _session(secret, hello, session_id, server_nonce)
    transcript = encode_client_hello(hello) + message
    proved = _prove(session.keys, _ROLE_SERVER, transcript[:-PROOF_BYTES])
    if not hmac.compare_digest(proved, message[_OFFER.size :]):
        return Rejection(Reason.BAD_PROOF)
    proof = _prove(session.keys, _ROLE_CLIENT, transcript)
    answer = _PROOF.pack(HANDSHAKE_MAGIC, HANDSHAKE_VERSION, _CLIENT_PROOF, session_id, proof)
    return ClientAnswer(answer, session)


def accept_client_proof(offer: SessionOffer, message: bytes) -> OpenedSession | Rejection:
    """Check the operator's proof, at the robot; only now does the session begin."""
    if len(message) != _PROOF.size:
        return Rejection(Reason.BAD_HANDSHAKE, f"{len(message)} bytes")
    magic, version, kind, session_id, proof = _PROOF.unpack(message)
    refused = _refuse_prefix(magic, version, kind, _CLIENT_PROOF)
    if refused is not None:
        return refused
    if session_id != offer.session.session_id:
        return Rejection(Reason.WRONG_SESSION)
    if not hmac.compare_digest(_prove(offer.session.keys, _ROLE_CLIENT, offer.transcript), proof):
        return Rejection(Reason.BAD_PROOF)
    return offer.session


def _session(secret: bytes, hello: ClientHello, session_id: int, server_nonce: bytes) -> OpenedSession:
    keys = derive_session_keys(
        secret,
        session_id=session_id,
        robot_id=hello.robot_id,
        client_nonce=hello.nonce,
        server_nonce=server_nonce,
    )
    return OpenedSession(session_id, hello.robot_id, keys)


def _prove(keys: SessionKeys, role: bytes, transcript: bytes) -> bytes:
    """HMAC-SHA256 over the role and all messages so far, with the session's proof key."""
    return hmac.digest(keys.proof, role + transcript, "sha256")


def _refuse_prefix(magic: bytes, version: int, kind: int, expected_kind: int) -> Rejection | None:
    if magic != HANDSHAKE_MAGIC:
        return Rejection(Reason.WRONG_MAGIC)
    if version != HANDSHAKE_VERSION:
        return Rejection(Reason.WRONG_VERSION, str(version))
    return None if kind == expected_kind else Rejection(Reason.BAD_HANDSHAKE, f"kind {kind}")
