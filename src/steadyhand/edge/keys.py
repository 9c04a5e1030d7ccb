"""Secrets in files: the pre-shared key, and the certificates of mutual TLS (R11).

A key that others of the machine can read is no key, so its file is refused. What is read here is
never printed, never logged and never on a command line; only its file's name is.
"""

import os
import secrets
import stat
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
)

from steadyhand.ground.errors import InputError
from steadyhand.wire.session_keys import MIN_SECRET_BYTES

KEY_HEX_DIGITS: Final = 2 * MIN_SECRET_BYTES
MAX_FILE_BYTES: Final = 1 << 16
ROOT: Final = 0
_PRIVATE: Final = 0o600
_OTHERS: Final = 0o077


class PresharedKey(msgspec.Struct, frozen=True):
    """Both sides have the same 32 random bytes."""

    secret: bytes

    def __repr__(self) -> str:
        return "PresharedKey(…)"


class MutualTls(msgspec.Struct, frozen=True, kw_only=True):
    """Each side has a certificate of an authority the other believes; all PEM."""

    certificate: bytes
    key: bytes
    authority: bytes

    def __repr__(self) -> str:
        return "MutualTls(…)"


class Unauthenticated(msgspec.Struct, frozen=True):
    """Whoever can reach the port is believed: a lab, or a tunnel that encrypts."""


Identity = PresharedKey | MutualTls | Unauthenticated


def create_key(path: Path | str) -> None:
    """Write a new pre-shared key, readable by this user alone; an existing file stays as it is.

    Raises:
        InputError: there is a file of that name, or none can be made.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, _PRIVATE)
    except FileExistsError:
        raise InputError(
            "exists already; a key is never overwritten", where=str(path), hint="remove it, or name another"
        ) from None
    except OSError as error:
        raise InputError(f"cannot be made: {_in_words(error)}", where=str(path)) from None
    try:
        # A umask can only take rights away; this gives exactly these.
        os.fchmod(descriptor, _PRIVATE)
        os.write(descriptor, f"{secrets.token_hex(MIN_SECRET_BYTES)}\n".encode())
        os.fsync(descriptor)
    except OSError as error:
        with suppress(OSError):
            os.unlink(path)
        raise InputError(f"cannot be written: {_in_words(error)}", where=str(path)) from None
    finally:
        os.close(descriptor)


def load_key(path: Path | str) -> PresharedKey:
    """Read a pre-shared key.

    Raises:
        InputError: the file cannot be read, belongs to another user, can be read or written by
            others, or holds no 64 hexadecimal digits.
    """
    text = _read_private(path).decode("ascii", errors="replace").strip()
    digits = set(text) <= set("0123456789abcdefABCDEF")
    if not digits or len(text) != KEY_HEX_DIGITS:
        raise InputError(
            f"is no key: {KEY_HEX_DIGITS} hexadecimal digits are expected",
            where=str(path),
            hint="`steadyhand key new FILE` makes one",
        )
    return PresharedKey(bytes.fromhex(text))


def load_tls(certificate: Path | str, key: Path | str, authority: Path | str) -> MutualTls:
    """Read this side's certificate and key, and the authority whose certificates it believes.

    Raises:
        InputError: a file cannot be read or used, the key is another certificate's or can be read
            by others, or the certificate is not valid today.
    """
    certificate_pem, authority_pem = _read(certificate), _read(authority)
    key_pem = _read_private(key)
    own = _certificate(certificate_pem, certificate)
    _certificate(authority_pem, authority)
    try:
        private = load_pem_private_key(key_pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise InputError("is no unencrypted private key in PEM", where=str(key)) from None
    kind = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    if private.public_key().public_bytes(*kind) != own.public_key().public_bytes(*kind):
        raise InputError(f"is not the key of {certificate}", where=str(key))
    return MutualTls(certificate=certificate_pem, key=key_pem, authority=authority_pem)


def load_identity(
    auth: str,
    *,
    key_file: str | None = None,
    tls_certificate: str | None = None,
    tls_key: str | None = None,
    tls_authority: str | None = None,
) -> Identity:
    """Read whatever this side proves itself with.

    Args:
        auth: of the robot file's `remote_node` block: sealed or none.
        key_file: of `--key`.
        tls_certificate: of `--tls-certificate`.
        tls_key: of `--tls-key`.
        tls_authority: of `--tls-authority`.

    Raises:
        InputError: a file cannot be used, or there is not exactly one proof where one is needed.
    """
    tls = (tls_certificate, tls_key, tls_authority)
    if auth == "none":
        if key_file is not None or any(tls):
            raise InputError(
                "a key is given, but the robot file says `auth: none`",
                where="remote_node.auth",
                hint="say `auth: sealed`, or leave the key away",
            )
        return Unauthenticated()
    if key_file is not None and not any(tls):
        return load_key(key_file)
    if key_file is None and tls_certificate and tls_key and tls_authority:
        return load_tls(tls_certificate, tls_key, tls_authority)
    raise InputError(
        "needs a key, since the robot file says `auth: sealed`"
        if key_file is None and not any(tls)
        else "needs either --key, or all three of --tls-certificate, --tls-key and --tls-authority",
        where="remote_node.auth",
        hint="`steadyhand key new FILE` makes one; then --key FILE on both sides",
    )


def _read_private(path: Path | str) -> bytes:
    """Read a file that must be this user's (or root's) alone; what is checked is what is read."""
    descriptor = _opened(path)
    with open(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if found.st_uid not in (os.geteuid(), ROOT):
            raise InputError(
                "belongs to another user", where=str(path), hint="a key has to be this user's or root's"
            )
        if stat.S_IMODE(found.st_mode) & _OTHERS:
            raise InputError(
                f"can be used by others (mode {stat.S_IMODE(found.st_mode):04o})",
                where=str(path),
                hint=f"chmod 600 {path}, and make a new key if others may have read it",
            )
        return _bounded(file.read(MAX_FILE_BYTES + 1), path)


def _read(path: Path | str) -> bytes:
    with open(_opened(path), "rb") as file:
        return _bounded(file.read(MAX_FILE_BYTES + 1), path)


def _opened(path: Path | str) -> int:
    try:
        # Not waiting, so that a named pipe in the place of a file holds nobody up.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise InputError(f"cannot be read: {_in_words(error)}", where=str(path)) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InputError("is no file", where=str(path))
    return descriptor


def _bounded(data: bytes, path: Path | str) -> bytes:
    if len(data) > MAX_FILE_BYTES:
        raise InputError(f"is longer than {MAX_FILE_BYTES} bytes", where=str(path))
    return data


def _certificate(pem: bytes, path: Path | str) -> x509.Certificate:
    try:
        certificate = x509.load_pem_x509_certificate(pem)
    except ValueError:
        raise InputError("is no certificate in PEM", where=str(path)) from None
    now = datetime.now(UTC)
    if now > certificate.not_valid_after_utc:
        raise InputError(f"ran out on {certificate.not_valid_after_utc:%Y-%m-%d}", where=str(path))
    if now < certificate.not_valid_before_utc:
        raise InputError(f"begins on {certificate.not_valid_before_utc:%Y-%m-%d} only", where=str(path))
    return certificate


def _in_words(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
