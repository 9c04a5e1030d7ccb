"""Opening a session with a pre-shared key, proved both ways."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyhand.ground.errors import InputError
from steadyhand.wire.handshake import (
    ClientAnswer,
    ClientHello,
    OpenedSession,
    SessionOffer,
    accept_client_proof,
    answer_offer,
    decode_client_hello,
    encode_client_hello,
    offer_session,
)
from steadyhand.wire.rejections import Reason, Rejection
from steadyhand.wire.session_keys import SessionKeys, derive_session_keys

calm = settings(deadline=None, derandomize=True)
SECRET = bytes(range(32))
HELLO = ClientHello("fr3", bytes(32))
SERVER_NONCE = bytes(range(100, 132))


def _offer(secret: bytes = SECRET, hello: ClientHello = HELLO, session_id: int = 5) -> SessionOffer:
    return offer_session(secret, hello, session_id=session_id, server_nonce=SERVER_NONCE)


def _answer(offer: SessionOffer, secret: bytes = SECRET, hello: ClientHello = HELLO) -> ClientAnswer:
    answer = answer_offer(secret, hello, offer.message)
    assert isinstance(answer, ClientAnswer), answer
    return answer


def _reason(answer: object) -> Reason:
    assert isinstance(answer, Rejection), answer
    return answer.reason


@calm
@given(
    secret=st.binary(min_size=32, max_size=80),
    nonce=st.binary(min_size=32, max_size=32),
    session_id=st.integers(0, (1 << 64) - 1),
    name=st.sampled_from(("fr3", "größe", "x" * 64)),
)
def test_both_sides_end_with_the_same_session(
    secret: bytes, nonce: bytes, session_id: int, name: str
) -> None:
    hello = ClientHello(name, nonce)
    assert decode_client_hello(encode_client_hello(hello)) == hello
    offer = _offer(secret, hello, session_id)
    answer = _answer(offer, secret, hello)
    opened = accept_client_proof(offer, answer.message)
    assert opened == answer.session
    assert isinstance(opened, OpenedSession)
    assert (opened.session_id, opened.robot_id) == (session_id, name)
    keys = opened.keys
    assert len({keys.command, keys.telemetry, keys.proof, keys.control}) == 4


def test_a_robot_without_the_key_is_found_out() -> None:
    imposter = _offer(secret=bytes(32))
    assert _reason(answer_offer(SECRET, HELLO, imposter.message)) is Reason.BAD_PROOF


def test_an_operator_without_the_key_is_found_out() -> None:
    offer = _offer()
    imposter = _answer(_offer(secret=bytes(32)), secret=bytes(32))
    assert _reason(accept_client_proof(offer, imposter.message)) is Reason.BAD_PROOF


def test_the_robots_proof_cannot_be_given_back_as_the_operators() -> None:
    offer = _offer()
    reflected = offer.message[:5] + b"\x03" + offer.message[6:14] + offer.message[46:]
    assert _reason(accept_client_proof(offer, reflected)) is Reason.BAD_PROOF


def test_flipping_any_bit_of_the_offer_is_found_out() -> None:
    offer = _offer()
    for bit in range(8 * len(offer.message)):
        forged = bytearray(offer.message)
        forged[bit // 8] ^= 1 << bit % 8
        assert isinstance(answer_offer(SECRET, HELLO, bytes(forged)), Rejection)


def test_flipping_any_bit_of_the_proof_is_found_out() -> None:
    offer = _offer()
    proof = _answer(offer).message
    for bit in range(8 * len(proof)):
        forged = bytearray(proof)
        forged[bit // 8] ^= 1 << bit % 8
        assert isinstance(accept_client_proof(offer, bytes(forged)), Rejection)


def test_a_hello_changed_on_the_way_is_found_out_by_the_operator() -> None:
    for heard in (ClientHello("fr4", HELLO.nonce), ClientHello("fr3", bytes(31) + b"\x01")):
        assert _reason(answer_offer(SECRET, HELLO, _offer(hello=heard).message)) is Reason.BAD_PROOF


def test_a_recorded_proof_does_not_open_a_second_session() -> None:
    recorded = _answer(_offer()).message
    again = offer_session(SECRET, HELLO, session_id=5, server_nonce=bytes(32))
    assert _reason(accept_client_proof(again, recorded)) is Reason.BAD_PROOF
    other = _offer(session_id=6)
    assert _reason(accept_client_proof(other, recorded)) is Reason.WRONG_SESSION


def test_either_nonce_alone_makes_new_keys() -> None:
    def keys(client: bytes, server: bytes) -> SessionKeys:
        return derive_session_keys(
            SECRET, session_id=5, robot_id="fr3", client_nonce=client, server_nonce=server
        )

    a, b = bytes(32), bytes(31) + b"\x01"
    assert len({keys(x, y).command for x in (a, b) for y in (a, b)}) == 4


def test_keys_are_bound_to_session_and_robot() -> None:
    first = derive_session_keys(SECRET, session_id=5, robot_id="fr3")
    assert first == derive_session_keys(SECRET, session_id=5, robot_id="fr3")
    assert first.command != derive_session_keys(SECRET, session_id=6, robot_id="fr3").command
    assert first.command != derive_session_keys(SECRET, session_id=5, robot_id="fr4").command


def test_keys_are_never_printed() -> None:
    offer = _offer()
    shown = repr(offer.session) + repr(_answer(offer).session)
    assert "SessionKeys(…)" in shown
    assert repr(offer.session.keys.command)[2:-1] not in shown


@pytest.mark.parametrize("size", [0, 16, 31])
def test_a_short_secret_is_an_error_for_the_person_who_made_it(size: int) -> None:
    with pytest.raises(InputError, match=f"a key of {size} bytes is too short"):
        _offer(secret=bytes(size))


@pytest.mark.parametrize("size", [0, 31, 33])
def test_a_nonce_has_32_bytes(size: int) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        encode_client_hello(ClientHello("fr3", bytes(size)))
    with pytest.raises(ValueError, match="32 bytes"):
        offer_session(SECRET, HELLO, session_id=5, server_nonce=bytes(size))


def test_a_hello_needs_a_name() -> None:
    with pytest.raises(ValueError, match="not a robot id"):
        encode_client_hello(ClientHello("", bytes(32)))


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"", Reason.BAD_HANDSHAKE),
        (b"S7A1\x01\x01\x00\x03fr3" + bytes(32), Reason.WRONG_MAGIC),
        (b"S7H1\x02\x01\x00\x03fr3" + bytes(32), Reason.WRONG_VERSION),
        (b"S7H1\x01\x02\x00\x03fr3" + bytes(32), Reason.BAD_HANDSHAKE),
        (b"S7H1\x01\x01\x00\x03fr3" + bytes(31), Reason.BAD_HANDSHAKE),
        (b"S7H1\x01\x01\x00\x03fr3" + bytes(33), Reason.BAD_HANDSHAKE),
        (b"S7H1\x01\x01\xff\xfffr3" + bytes(32), Reason.BAD_HANDSHAKE),
        (b"S7H1\x01\x01\x00\x41" + b"x" * 65 + bytes(32), Reason.BAD_HANDSHAKE),
        (b"S7H1\x01\x01\x00\x00" + bytes(32), Reason.BAD_ROBOT_ID),
        (b"S7H1\x01\x01\x00\x01\xff" + bytes(32), Reason.BAD_ROBOT_ID),
        (b"S7H1\x01\x01\x00\x01\n" + bytes(32), Reason.BAD_ROBOT_ID),
    ],
)
def test_what_is_no_hello_is_rejected_by_name(message: bytes, reason: Reason) -> None:
    assert _reason(decode_client_hello(message)) is reason


@calm
@given(st.binary(max_size=120))
def test_any_bytes_are_a_message_or_a_typed_rejection(message: bytes) -> None:
    assert isinstance(decode_client_hello(message), ClientHello | Rejection)
    assert isinstance(answer_offer(SECRET, HELLO, message), Rejection)
    assert isinstance(accept_client_proof(_offer(), message), Rejection)
