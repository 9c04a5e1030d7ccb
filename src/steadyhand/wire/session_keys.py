"""The keys of a session: one per direction and purpose, from one secret (R11).

HKDF-SHA256 (RFC 5869). The secret is the pre-shared key, salted with both sides' nonces, or the
random bytes a server returns over mutual TLS, unsalted. The session and the robot's name are bound
into every key, so that no key means anything outside the session it was made for.
"""

import struct
from typing import Final

import msgspec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from steadyhand.ground.errors import InputError
from steadyhand.wire.sealing import KEY_BYTES

#: A proof can be tried offline against guessed keys, so a key must be beyond guessing.
MIN_SECRET_BYTES: Final = 32
NONCE_BYTES: Final = 32

_LABEL_COMMAND: Final = b"cmd"
_LABEL_TELEMETRY: Final = b"tlm"
_LABEL_PROOF: Final = b"prf"
_LABEL_CONTROL: Final = b"ctl"
_SESSION_ID: Final = struct.Struct("!Q")


class SessionKeys(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of one session, 32 bytes each; never printed and never logged (R17).

    Attributes:
        command: seals what the operator sends to the robot.
        telemetry: seals what the robot sends back.
        proof: proves, while the session opens, that the other side has the same secret.
        control: authenticates the calls of the control service and their answers.
    """

    command: bytes
    telemetry: bytes
    proof: bytes
    control: bytes

    def __repr__(self) -> str:
        """Keep keys out of logs and tracebacks."""
        return "SessionKeys(…)"


def derive_session_keys(
    secret: bytes,
    *,
    session_id: int,
    robot_id: str,
    client_nonce: bytes = b"",
    server_nonce: bytes = b"",
) -> SessionKeys:
    """Derive a session's keys; both sides do it and get the same.

    Args:
        secret: the pre-shared key, or the server's random bytes; at least 32 bytes.
        session_id: u64, chosen by the server at random.
        robot_id: the arm the session is for.
        client_nonce: 32 random bytes of the operator's side; empty over mutual TLS.
        server_nonce: 32 random bytes of the robot's side; empty over mutual TLS.

    Raises:
        InputError: the secret is shorter than 32 bytes.
    """
    if len(secret) < MIN_SECRET_BYTES:
        raise InputError(
            f"a key of {len(secret)} bytes is too short, {MIN_SECRET_BYTES} random bytes are needed"
        )
    salt = client_nonce + server_nonce
    context = _SESSION_ID.pack(session_id) + robot_id.encode()

    def key(label: bytes) -> bytes:
        return HKDF(SHA256(), KEY_BYTES, salt=salt, info=label + context).derive(secret)

    return SessionKeys(
        command=key(_LABEL_COMMAND),
        telemetry=key(_LABEL_TELEMETRY),
        proof=key(_LABEL_PROOF),
        control=key(_LABEL_CONTROL),
    )
