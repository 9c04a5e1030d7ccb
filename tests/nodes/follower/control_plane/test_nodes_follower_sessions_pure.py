"""Offers and the living session, and who calls, with literal times."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyhand.edge.control_service import METHODS
from steadyhand.ground.stamps import NS_PER_S
from steadyhand.nodes.follower.call_gate import (
    LOCAL_CALLS,
    Caller,
    CallGate,
    Denied,
    host_of,
    is_local,
    token_of,
)
from steadyhand.nodes.follower.sessions import (
    HELLO_BURST,
    HELLOS_A_SECOND,
    HOSTS_KEPT,
    OFFER_LIFE_NS,
    OFFERS_KEPT,
    LivingSession,
    Offers,
    Sessions,
    TokenBucket,
)
from steadyhand.wire.control_auth import AUTH_METADATA, CallToken, ControlSigner, ControlVerifier
from steadyhand.wire.handshake import ClientHello, SessionOffer
from steadyhand.wire.rejections import Reason, Rejection

SECRET, KEY = bytes(range(32)), bytes(32)
HELLO = ClientHello("fr3", bytes(32))
PATH = METHODS["EnterIdle"].path


def offered(
    offers: Offers, peer: str, session_id: int, now_ns: int = 0, host: str = "h"
) -> SessionOffer | None:
    return offers.make(peer, host, HELLO, session_id=session_id, server_nonce=bytes(32), now_ns=now_ns)


def living(session_id: int, operator: str = "ada") -> LivingSession:
    return LivingSession(
        session_id=session_id, operator=operator, verifier=ControlVerifier(session_id=session_id, key=KEY)
    )


# ---- offers


def test_an_offer_lives_for_five_seconds() -> None:
    offers = Offers(SECRET)
    offered(offers, "p", 1)
    assert offers.of("p", 1, OFFER_LIFE_NS) is not None
    assert offers.of("p", 1, OFFER_LIFE_NS + 1) is None
    assert len(offers) == 0


def test_a_connection_has_one_offer_at_a_time() -> None:
    offers = Offers(SECRET)
    offered(offers, "p", 1)
    offered(offers, "p", 2)
    assert offers.of("p", 1, 0) is None
    assert offers.of("p", 2, 0) is not None


def test_an_offer_is_nobody_elses() -> None:
    offers = Offers(SECRET)
    offered(offers, "p", 1)
    assert offers.of("q", 1, 0) is None


def test_offers_are_bounded_and_the_oldest_goes_first() -> None:
    offers = Offers(SECRET)
    for number in range(OFFERS_KEPT + 1):
        assert offered(offers, f"p{number}", number, host=f"h{number}") is not None
    assert len(offers) == OFFERS_KEPT
    assert offers.of("p0", 0, 0) is None
    assert offers.of("p1", 1, 0) is not None


def test_one_hosts_flood_does_not_use_up_anothers_share() -> None:
    offers = Offers(SECRET)
    made = [offered(offers, "p", number) is not None for number in range(2 * HELLO_BURST)]
    assert made == [True] * HELLO_BURST + [False] * HELLO_BURST
    assert offered(offers, "q", 1, host="other") is not None


def test_hosts_are_remembered_up_to_a_bound() -> None:
    offers = Offers(SECRET)
    for number in range(HOSTS_KEPT + 10):
        offered(offers, "p", number, host=f"h{number}")
    assert len(offers._buckets) == HOSTS_KEPT


@settings(deadline=None, derandomize=True)
@given(st.lists(st.integers(0, NS_PER_S), max_size=80))
def test_never_more_than_a_burst_and_the_rate(gaps_ns: list[int]) -> None:
    bucket, now_ns, taken = TokenBucket(rate_hz=HELLOS_A_SECOND, burst=HELLO_BURST, now_ns=0), 0, 0
    for gap_ns in gaps_ns:
        now_ns += gap_ns
        taken += bucket.take(now_ns)
        assert taken <= HELLO_BURST + now_ns * HELLOS_A_SECOND // NS_PER_S


def test_a_bucket_fills_again() -> None:
    bucket = TokenBucket(rate_hz=5, burst=1, now_ns=0)
    assert bucket.take(0)
    assert not bucket.take(NS_PER_S // 5 - 1)
    assert bucket.take(NS_PER_S // 5)


# ---- the living session


def test_a_new_session_retires_the_one_before() -> None:
    sessions = Sessions()
    first, second = living(1), living(2, "bob")
    assert sessions.begin(first) is None
    assert sessions.begin(second) is first
    assert sessions.operator == "bob"
    for session_id, reason in ((1, Reason.RETIRED_SESSION), (3, Reason.UNKNOWN_SESSION)):
        call = ControlSigner(session_id=session_id, key=KEY).call(PATH, b"")
        token = CallToken(session_id, call.counter, call.token[16:])
        judged = sessions.judge(PATH, token, b"", may_be_overtaken=False)
        assert isinstance(judged, Rejection)
        assert judged.reason is reason


def test_an_id_is_used_while_it_lives_and_after() -> None:
    sessions = Sessions()
    sessions.begin(living(1))
    assert sessions.is_used(1)
    sessions.retire()
    assert sessions.is_used(1)
    assert not sessions.is_used(2)
    assert sessions.operator == ""


def test_a_session_is_printed_without_its_keys() -> None:
    assert repr(living(1)) == "LivingSession('ada')"


# ---- who calls


@pytest.mark.parametrize(
    ("peer", "host", "local"),
    [
        ("ipv4:10.0.0.7:4711", "10.0.0.7", False),
        ("ipv6:%5B::1%5D:4711", "::1", False),
        ("ipv6:[fe80::1]:4711", "fe80::1", False),
        ("unix:", "", True),
        ("unix:/run/x.sock", "/run/x.sock", True),
    ],
)
def test_grpcs_names_for_the_other_end_are_read(peer: str, host: str, local: bool) -> None:
    assert (host_of(peer), is_local(peer)) == (host, local)


def gate(*, sealed: bool = True, estop_open: bool = False) -> tuple[CallGate, Sessions]:
    sessions = Sessions()
    return CallGate(sessions, sealed=sealed, estop_open=estop_open), sessions


@pytest.mark.parametrize("name", sorted(METHODS))
def test_this_hosts_user_may_make_the_local_calls_and_no_other(name: str) -> None:
    admitted = gate()[0].admit(METHODS[name], "unix:", (), b"")
    assert isinstance(admitted, Caller if name in LOCAL_CALLS else Denied)


@pytest.mark.parametrize("name", sorted(METHODS))
@pytest.mark.parametrize("peer", ["ipv4:127.0.0.1:1", "ipv4:10.0.0.7:1"])
def test_who_proves_nothing_may_open_a_session_and_from_this_host_look(name: str, peer: str) -> None:
    admitted = gate()[0].admit(METHODS[name], peer, (), b"")
    may = name in ("Hello", "OpenSession") or (name == "Describe" and "127.0.0.1" in peer)
    assert isinstance(admitted, Caller if may else Denied)


@pytest.mark.parametrize("name", sorted(METHODS))
def test_who_proves_the_session_may_make_every_call(name: str) -> None:
    judge, sessions = gate()
    session = living(7)
    sessions.begin(session)
    token = ControlSigner(session_id=7, key=KEY).call(METHODS[name].path, b"x").token
    admitted = judge.admit(METHODS[name], "ipv4:10.0.0.7:1", ((AUTH_METADATA, token),), b"x")
    assert isinstance(admitted, Caller)
    if name not in ("Hello", "OpenSession"):
        assert (admitted.session, admitted.name, admitted.counter) == (session, "ada", 1)


@pytest.mark.parametrize("name", sorted(METHODS))
def test_open_estops_open_nothing_else(name: str) -> None:
    def admitted(*, estop_open: bool) -> bool:
        answer = gate(estop_open=estop_open)[0].admit(METHODS[name], "ipv4:10.0.0.7:1", (), b"")
        return isinstance(answer, Caller)

    assert admitted(estop_open=True) == (admitted(estop_open=False) or name == "EmergencyStop")


@pytest.mark.parametrize(
    "metadata", [(), (("other", b"x"),), ((AUTH_METADATA, b"short"),), ((AUTH_METADATA, "text"),)]
)
def test_metadata_that_is_no_token_is_a_typed_rejection(metadata: Any) -> None:
    read = token_of(metadata)
    assert isinstance(read, Rejection)
    assert read.reason is Reason.TRUNCATED


def test_what_is_not_believed_is_counted_by_reason() -> None:
    judge, _ = gate()
    judge.admit(METHODS["EnterIdle"], "ipv4:10.0.0.7:1", (), b"")
    assert judge.denied == 1
    assert judge.rejections.of(Reason.TRUNCATED) == 1
