"""Secrets in files: what is read, what is refused, and that nothing of it is shown."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

from steadyhand.edge.keys import (
    MAX_FILE_BYTES,
    MutualTls,
    PresharedKey,
    Unauthenticated,
    create_key,
    load_identity,
    load_key,
    load_tls,
)
from steadyhand.ground.errors import InputError

HEX = "0123456789abcdef" * 4


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    file = tmp_path / "key"
    create_key(file)
    return file


def private(path: Path, data: str | bytes) -> Path:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    path.chmod(0o600)
    return path


# ---- the pre-shared key


def test_a_key_is_64_hexadecimal_digits(tmp_path: Path) -> None:
    for text in (HEX, HEX.upper(), f" {HEX}\n"):
        assert load_key(private(tmp_path / "k", text)) == PresharedKey(bytes.fromhex(HEX))


def test_a_created_key_is_its_owners_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        create_key(tmp_path / "k")
    finally:
        os.umask(before)
    assert (tmp_path / "k").stat().st_mode & 0o777 == 0o600


def test_a_key_is_never_overwritten_nor_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("precious")
    (tmp_path / "link").symlink_to(tmp_path / "there")
    for name in ("there", "link"):
        with pytest.raises(InputError, match="exists already"):
            create_key(tmp_path / name)
    assert (tmp_path / "there").read_text() == "precious"


def test_a_key_that_cannot_be_made_is_an_error_for_a_person(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be made: no such file or directory"):
        create_key(tmp_path / "none" / "key")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o610, 0o602])
def test_a_key_that_others_can_use_is_none(key_file: Path, mode: int) -> None:
    key_file.chmod(mode)
    with pytest.raises(InputError, match="can be used by others") as caught:
        load_key(key_file)
    assert f"{mode:04o}" in str(caught.value)


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o700])
def test_a_key_that_only_its_owner_can_use_is_one(key_file: Path, mode: int) -> None:
    key_file.chmod(mode)
    assert len(load_key(key_file).secret) == 32


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_another_users_key_is_none(key_file: Path) -> None:
    os.chown(key_file, 12345, 12345)
    with pytest.raises(InputError, match="belongs to another user"):
        load_key(key_file)


@pytest.mark.parametrize("text", ["", HEX[:-1], HEX + "0", "g" * 64, "é" * 64, "\x00" * 64])
def test_what_is_no_key_is_told_without_repeating_it(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match="is no key: 64 hexadecimal digits") as caught:
        load_key(private(tmp_path / "k", text))
    if text:
        assert text not in str(caught.value)


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(InputError, match="is no file"):
            load_key(tmp_path / name)
    with pytest.raises(InputError, match="cannot be read: no such file"):
        load_key(tmp_path / "none")


def test_a_file_without_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is longer than"):
        load_key(private(tmp_path / "k", "0" * (MAX_FILE_BYTES + 1)))


def test_secrets_are_never_shown(key_file: Path) -> None:
    key = load_key(key_file)
    tls = MutualTls(certificate=b"c", key=key.secret, authority=b"a")
    assert repr(key) == "PresharedKey(…)"
    assert repr(tls) == "MutualTls(…)"


# ---- certificates


def pem_key(key: ec.EllipticCurvePrivateKey, encryption: KeySerializationEncryption | None = None) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption or NoEncryption())


def certificate(
    key: ec.EllipticCurvePrivateKey, *, from_days: int = -1, to_days: int = 1, name: str = "x"
) -> bytes:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now + timedelta(days=from_days))
        .not_valid_after(now + timedelta(days=to_days))
        .sign(key, SHA256())
        .public_bytes(Encoding.PEM)
    )


OWN = ec.generate_private_key(ec.SECP256R1())


@pytest.fixture
def tls_files(tmp_path: Path) -> tuple[Path, Path, Path]:
    return (
        private(tmp_path / "own.pem", certificate(OWN)),
        private(tmp_path / "own.key", pem_key(OWN)),
        private(tmp_path / "authority.pem", certificate(OWN)),
    )


def test_certificate_key_and_authority_are_read(tls_files: tuple[Path, Path, Path]) -> None:
    own, key, authority = tls_files
    own.chmod(0o644)
    assert load_tls(own, key, authority) == MutualTls(
        certificate=own.read_bytes(), key=key.read_bytes(), authority=authority.read_bytes()
    )


def test_a_certificates_key_that_others_can_read_is_refused(tls_files: tuple[Path, Path, Path]) -> None:
    tls_files[1].chmod(0o644)
    with pytest.raises(InputError, match="can be used by others"):
        load_tls(*tls_files)


def test_the_key_of_another_certificate_is_refused(tls_files: tuple[Path, Path, Path]) -> None:
    private(tls_files[1], pem_key(ec.generate_private_key(ec.SECP256R1())))
    with pytest.raises(InputError, match=r"is not the key of .*own\.pem"):
        load_tls(*tls_files)


def test_an_encrypted_key_is_refused(tls_files: tuple[Path, Path, Path]) -> None:
    private(tls_files[1], pem_key(OWN, BestAvailableEncryption(b"secret")))
    with pytest.raises(InputError, match="is no unencrypted private key"):
        load_tls(*tls_files)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_what_is_no_pem_is_refused_by_file(tls_files: tuple[Path, Path, Path], place: int) -> None:
    private(tls_files[place], "nonsense")
    with pytest.raises(InputError, match=tls_files[place].name):
        load_tls(*tls_files)


@pytest.mark.parametrize("place", [0, 2])
@pytest.mark.parametrize(("days", "words"), [((-9, -2), "ran out on"), ((2, 9), "begins on")])
def test_a_certificate_is_valid_today(
    tls_files: tuple[Path, Path, Path], place: int, days: tuple[int, int], words: str
) -> None:
    private(tls_files[place], certificate(OWN, from_days=days[0], to_days=days[1]))
    with pytest.raises(InputError, match=words):
        load_tls(*tls_files)


# ---- which proof


def test_auth_none_wants_no_key(key_file: Path) -> None:
    assert load_identity("none") == Unauthenticated()
    with pytest.raises(InputError, match="says `auth: none`"):
        load_identity("none", key_file=str(key_file))
    with pytest.raises(InputError, match="says `auth: none`"):
        load_identity("none", tls_key="x")


def test_auth_sealed_wants_exactly_one_proof(key_file: Path, tls_files: tuple[Path, Path, Path]) -> None:
    own, key, authority = map(str, tls_files)
    assert load_identity("sealed", key_file=str(key_file)) == load_key(key_file)
    assert isinstance(
        load_identity("sealed", tls_certificate=own, tls_key=key, tls_authority=authority), MutualTls
    )
    with pytest.raises(InputError, match="needs a key"):
        load_identity("sealed")
    with pytest.raises(InputError, match="all three"):
        load_identity("sealed", tls_certificate=own, tls_key=key)
    with pytest.raises(InputError, match="needs either"):
        load_identity(
            "sealed", key_file=str(key_file), tls_certificate=own, tls_key=key, tls_authority=authority
        )
