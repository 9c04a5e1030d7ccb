"""Sessions over mutual TLS: certificates are the proof, and the same MACs apply afterwards."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from steadyhand.edge.control_service import METHODS, CallFault, ControlError
from steadyhand.edge.keys import MutualTls, PresharedKey
from steadyhand.wire.control_auth import AUTH_METADATA

KEY_USAGE: dict[str, bool] = dict.fromkeys(
    (
        "content_commitment",
        "key_encipherment",
        "data_encipherment",
        "key_agreement",
        "encipher_only",
        "decipher_only",
    ),
    False,
)


class Authority:
    """Makes certificates."""

    def __init__(self, name: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.certificate = self._signed(self._name, self._key.public_key(), is_authority=True)

    def _signed(self, subject: x509.Name, key: ec.EllipticCurvePublicKey, *, is_authority: bool) -> bytes:
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .add_extension(
                x509.KeyUsage(
                    digital_signature=True, key_cert_sign=is_authority, crl_sign=is_authority, **KEY_USAGE
                ),
                critical=True,
            )
            .add_extension(
                x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
            )
        )
        return builder.sign(self._key, SHA256()).public_bytes(Encoding.PEM)

    def identity(self, name: str) -> MutualTls:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        return MutualTls(
            certificate=self._signed(subject, key.public_key(), is_authority=False),
            key=key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
            authority=self.certificate,
        )


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority("ours")


def test_a_certificate_opens_a_session_whose_calls_are_signed(make_rig: Any, authority: Authority) -> None:
    rig = make_rig(authority.identity("follower"))
    client = rig.client(authority.identity("operator"))
    session = client.open_session(rig.wish())
    assert session.keys == rig.plane.sessions.living.opened.keys
    assert session.session_id == rig.plane.sessions.living.session_id
    assert client.prepare_stream().outcome == "done"


def test_a_certificate_alone_makes_no_call(make_rig: Any, authority: Authority) -> None:
    rig = make_rig(authority.identity("follower"))
    rig.client(authority.identity("ada")).open_session(rig.wish("ada"))
    with pytest.raises(ControlError) as caught:
        rig.client(authority.identity("bob")).enter_idle()
    assert caught.value.fault is CallFault.NOT_BELIEVED


def test_the_secret_of_a_session_is_kept_by_nobody(make_rig: Any, authority: Authority) -> None:
    rig = make_rig(authority.identity("follower"))
    rig.client(authority.identity("ada")).open_session(rig.wish("ada"))
    assert rig.plane.sessions.living.secret == b""


def test_a_certificate_of_another_authority_reaches_nobody(make_rig: Any, authority: Authority) -> None:
    rig = make_rig(authority.identity("follower"))
    stranger = Authority("theirs").identity("operator")
    for identity in (
        stranger,
        MutualTls(certificate=stranger.certificate, key=stranger.key, authority=authority.certificate),
    ):
        with pytest.raises(ControlError) as caught:
            rig.client(identity).open_session(rig.wish())
        assert caught.value.fault is CallFault.UNREACHABLE


def test_a_follower_of_another_authority_is_not_believed(make_rig: Any, authority: Authority) -> None:
    rig = make_rig(Authority("theirs").identity("follower"))
    with pytest.raises(ControlError) as caught:
        rig.client(authority.identity("operator")).open_session(rig.wish())
    assert caught.value.fault is CallFault.UNREACHABLE


def test_without_tls_nobody_gets_in(make_rig: Any, authority: Authority) -> None:
    rig = make_rig(authority.identity("follower"))
    with pytest.raises(ControlError) as caught:
        rig.client(PresharedKey(bytes(32))).open_session(rig.wish())
    assert caught.value.fault is CallFault.UNREACHABLE


def test_a_replay_over_tls_is_refused_too(make_rig: Any, authority: Authority) -> None:
    rig = make_rig(authority.identity("follower"))
    client = rig.client(authority.identity("operator"))
    client.open_session(rig.wish())
    token = client._signer.call(METHODS["EnterIdle"].path, b"").token
    call = client._channel.unary_unary(METHODS["EnterIdle"].path, None, None)
    call(b"", timeout=10, metadata=((AUTH_METADATA, token),))
    with pytest.raises(Exception, match="replayed"):
        call(b"", timeout=10, metadata=((AUTH_METADATA, token),))
