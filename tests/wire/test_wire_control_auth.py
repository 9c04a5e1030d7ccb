"""Calls, answers, streamed actions and events of the control service: believed once, and only if signed."""

import hashlib
import hmac
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyhand.wire import control_pb2
from steadyhand.wire.control_auth import (
    MAX_NUMBER,
    TOKEN_BYTES,
    CallToken,
    ControlSigner,
    ControlVerifier,
    SignedCall,
    read_token,
)
from steadyhand.wire.rejections import Reason, Rejection
from steadyhand.wire.replay_window import REPLAY_WINDOW

calm = settings(deadline=None, derandomize=True)
KEY, OTHER_KEY = bytes(range(32)), bytes(32)
SESSION = 5
METHOD = "/steadyhand.control.v1.FollowerControl/PrepareStream"
OTHER_METHOD = "/steadyhand.control.v1.FollowerControl/EnterIdle"
TEXT = (Path(__file__).parents[2] / "docs" / "wire.md").read_text()
PROTO = (Path(__file__).parents[2] / "src" / "steadyhand" / "wire" / "control.proto").read_text()


def signer(key: bytes = KEY, session_id: int = SESSION) -> ControlSigner:
    return ControlSigner(session_id=session_id, key=key)


def verifier(key: bytes = KEY, session_id: int = SESSION) -> ControlVerifier:
    return ControlVerifier(session_id=session_id, key=key)


def token(call: SignedCall) -> CallToken:
    read = read_token(call.token)
    assert isinstance(read, CallToken)
    return read


def reason(answer: Rejection | None) -> Reason:
    assert isinstance(answer, Rejection)
    return answer.reason


# ---- calls


@calm
@given(st.lists(st.binary(max_size=50), min_size=1, max_size=20))
def test_every_call_in_order_is_believed(requests: list[bytes]) -> None:
    ours, theirs = signer(), verifier()
    for number, request in enumerate(requests, start=1):
        call = ours.call(METHOD, request)
        assert call.counter == number
        assert theirs.call(METHOD, token(call), request) is None


def test_a_call_is_believed_once() -> None:
    call, theirs = signer().call(METHOD, b"x"), verifier()
    for may_be_overtaken in (False, True):
        fresh = verifier()
        assert fresh.call(METHOD, token(call), b"x", may_be_overtaken=may_be_overtaken) is None
        again = fresh.call(METHOD, token(call), b"x", may_be_overtaken=may_be_overtaken)
        assert reason(again) is Reason.REPLAYED
    assert theirs.call(METHOD, token(call), b"x") is None


def test_a_call_that_a_newer_one_has_overtaken_is_refused() -> None:
    ours, theirs = signer(), verifier()
    first, second = ours.call(METHOD, b""), ours.call(METHOD, b"")
    assert theirs.call(METHOD, token(second), b"") is None
    assert reason(theirs.call(METHOD, token(first), b"")) is Reason.STALE_COUNTER


def test_what_may_be_overtaken_is_believed_late_and_once() -> None:
    ours, theirs = signer(), verifier()
    first, second = ours.call(METHOD, b""), ours.call(METHOD, b"")
    assert theirs.call(METHOD, token(second), b"") is None
    assert theirs.call(METHOD, token(first), b"", may_be_overtaken=True) is None
    assert reason(theirs.call(METHOD, token(first), b"", may_be_overtaken=True)) is Reason.REPLAYED


def test_what_may_be_overtaken_is_refused_behind_the_window() -> None:
    ours, theirs = signer(), verifier()
    first = ours.call(METHOD, b"")
    for _ in range(REPLAY_WINDOW - 1):
        newest = ours.call(METHOD, b"")
    assert theirs.call(METHOD, token(newest), b"") is None
    late = verifier()
    assert late.call(METHOD, token(ours.call(METHOD, b"")), b"") is None
    assert reason(late.call(METHOD, token(first), b"", may_be_overtaken=True)) is Reason.STALE_COUNTER
    assert theirs.call(METHOD, token(first), b"", may_be_overtaken=True) is None


@calm
@given(st.integers(0, 8 * TOKEN_BYTES - 1))
def test_flipping_any_bit_of_the_metadata_is_found_out(bit: int) -> None:
    forged = bytearray(signer().call(METHOD, b"x").token)
    forged[bit // 8] ^= 1 << bit % 8
    read = read_token(bytes(forged))
    assert isinstance(read, CallToken)
    assert isinstance(verifier().call(METHOD, read, b"x", may_be_overtaken=True), Rejection)


@pytest.mark.parametrize(
    ("method", "request_", "key", "session_id", "expected"),
    [
        (OTHER_METHOD, b"x", KEY, SESSION, Reason.UNAUTHENTIC),
        (METHOD, b"y", KEY, SESSION, Reason.UNAUTHENTIC),
        (METHOD, b"", KEY, SESSION, Reason.UNAUTHENTIC),
        (METHOD, b"x", OTHER_KEY, SESSION, Reason.UNAUTHENTIC),
        (METHOD, b"x", KEY, SESSION + 1, Reason.UNKNOWN_SESSION),
    ],
)
def test_a_call_is_bound_to_method_request_key_and_session(
    method: str, request_: bytes, key: bytes, session_id: int, expected: Reason
) -> None:
    call = token(signer().call(METHOD, b"x"))
    assert reason(verifier(key, session_id).call(method, call, request_)) is expected


def test_a_forgery_moves_nothing() -> None:
    ours, theirs = signer(), verifier()
    forged = CallToken(SESSION, 1 << 60, bytes(32))
    assert reason(theirs.call(METHOD, forged, b"")) is Reason.UNAUTHENTIC
    assert theirs.call(METHOD, token(ours.call(METHOD, b"")), b"") is None


@calm
@given(st.binary(max_size=2 * TOKEN_BYTES))
def test_any_metadata_is_a_token_or_a_typed_rejection(data: bytes) -> None:
    read = read_token(data)
    if len(data) != TOKEN_BYTES:
        assert isinstance(read, Rejection)
        assert read.reason is Reason.TRUNCATED
    else:
        assert isinstance(read, CallToken)
        assert isinstance(verifier().call(METHOD, read, b""), Rejection)


# ---- answers


def test_an_answer_is_bound_to_its_call() -> None:
    ours, theirs = signer(), verifier()
    call = ours.call(METHOD, b"x")
    mac = theirs.answer(METHOD, call.counter, b"done")
    assert ours.is_answer(METHOD, call.counter, b"done", mac)
    assert not ours.is_answer(METHOD, call.counter + 1, b"done", mac)
    assert not ours.is_answer(METHOD, call.counter, b"refused", mac)
    assert not ours.is_answer(OTHER_METHOD, call.counter, b"done", mac)
    assert not signer(OTHER_KEY).is_answer(METHOD, call.counter, b"done", mac)
    assert not signer(session_id=6).is_answer(METHOD, call.counter, b"done", mac)
    assert not ours.is_answer(METHOD, call.counter, b"done", b"")


def test_a_call_cannot_be_given_back_as_its_answer() -> None:
    ours = signer()
    call = ours.call(METHOD, b"same")
    assert not ours.is_answer(METHOD, call.counter, b"same", token(call).mac)


# ---- actions and events


def test_actions_are_believed_in_order_and_once() -> None:
    ours, theirs = signer(), verifier()
    first, second, third = (ours.action(METHOD, b"x") for _ in range(3))
    assert [number for number, _ in (first, second, third)] == [1, 2, 3]
    assert theirs.action(METHOD, second[0], b"x", second[1]) is None
    assert reason(theirs.action(METHOD, first[0], b"x", first[1])) is Reason.REPLAYED
    assert reason(theirs.action(METHOD, second[0], b"x", second[1])) is Reason.REPLAYED
    assert reason(theirs.action(METHOD, third[0], b"y", third[1])) is Reason.UNAUTHENTIC
    assert theirs.action(METHOD, third[0], b"x", third[1]) is None


def test_actions_and_calls_have_counters_of_their_own() -> None:
    ours, theirs = signer(), verifier()
    call = ours.call(METHOD, b"")
    for _ in range(10):
        number, mac = ours.action(METHOD, b"x")
        assert theirs.action(METHOD, number, b"x", mac) is None
    assert theirs.call(METHOD, token(call), b"") is None
    assert ours.call(METHOD, b"").counter == 2


def test_an_event_is_the_robots_and_of_its_number() -> None:
    ours, theirs = signer(), verifier()
    mac = theirs.event(METHOD, 1, b"x")
    assert ours.is_event(METHOD, 1, b"x", mac)
    assert not ours.is_event(METHOD, 2, b"x", mac)
    assert not ours.is_event(METHOD, 1, b"y", mac)


def test_the_four_kinds_never_pass_for_each_other() -> None:
    ours, theirs = signer(), verifier()
    macs = {
        token(ours.call(METHOD, b"x")).mac,
        theirs.answer(METHOD, 1, b"x"),
        ours.action(METHOD, b"x")[1],
        theirs.event(METHOD, 1, b"x"),
    }
    assert len(macs) == 4


@pytest.mark.parametrize("use", [lambda s: s.call(METHOD, b""), lambda s: s.action(METHOD, b"")])
def test_a_counter_ends_before_it_wraps(use: Callable[[ControlSigner], Any]) -> None:
    ours = signer()
    ours._counter = ours._action_counter = MAX_NUMBER - 1
    use(ours)
    with pytest.raises(OverflowError):
        use(ours)


# ---- the page


def _bytes(text: str) -> bytes:
    return bytes.fromhex(" ".join(line.split("#")[0] for line in text.splitlines()))


def _vectors() -> dict[str, dict[str, Any]]:
    found = (yaml.safe_load(block) for block in re.findall(r"(?s)```yaml\n(vector: .*?)```", TEXT))
    return {vector["vector"]: vector for vector in found}


VECTORS = _vectors()
PAGE_SESSION = int(VECTORS["session-keys"]["session"], 16)
PAGE_KEY = bytes.fromhex(VECTORS["session-keys"]["ctl"])


def _mac(vector: dict[str, Any], what: int, message: bytes) -> bytes:
    """From the page's sentence alone."""
    bound = vector["method"].encode() + bytes([what])
    bound += struct.pack("!QQ", PAGE_SESSION, vector["counter"])
    return hmac.new(PAGE_KEY, bound + message, hashlib.sha256).digest()


def test_the_pages_call_is_what_its_value_is_signed_to() -> None:
    vector = VECTORS["signed-call"]
    request = control_pb2.EmergencyStopRequest(**vector["value"]).SerializeToString()
    assert request == _bytes(vector["message"])
    call = signer(PAGE_KEY, PAGE_SESSION).call(vector["method"], request)
    assert (call.counter, call.token) == (vector["counter"], _bytes(vector["bytes"]))
    assert call.token[16:] == _mac(vector, 0, request)
    assert verifier(PAGE_KEY, PAGE_SESSION).call(vector["method"], token(call), request) is None


def test_the_pages_answer_is_what_its_value_is_signed_to() -> None:
    vector = VECTORS["signed-answer"]
    reply = control_pb2.Reply(**vector["value"]).SerializeToString()
    assert reply == _bytes(vector["message"])
    mac = verifier(PAGE_KEY, PAGE_SESSION).answer(vector["method"], vector["counter"], reply)
    assert mac == _bytes(vector["bytes"]) == _mac(vector, 1, reply)


def test_the_pages_action_is_what_its_payload_is_signed_to() -> None:
    vector = VECTORS["signed-action"]
    payload = _bytes(VECTORS[vector["payload"]]["bytes"])
    counter, mac = signer(PAGE_KEY, PAGE_SESSION).action(vector["method"], payload)
    message = control_pb2.StreamedAction(payload=payload, counter=counter, mac=mac)
    assert message.SerializeToString() == _bytes(vector["bytes"])
    assert mac == _mac(vector, 2, payload)


def test_the_pages_event_is_what_its_value_is_signed_to() -> None:
    vector = VECTORS["signed-event"]
    event = control_pb2.Event(**vector["value"]).SerializeToString()
    mac = verifier(PAGE_KEY, PAGE_SESSION).event(vector["method"], vector["counter"], event)
    message = control_pb2.SignedEvent(event=event, number=vector["counter"], mac=mac)
    assert message.SerializeToString() == _bytes(vector["bytes"])
    assert mac == _mac(vector, 3, event)


def test_the_page_states_the_size_of_a_calls_metadata() -> None:
    assert f"A call's value has {TOKEN_BYTES} bytes" in TEXT


def test_the_proto_names_the_service_the_page_names() -> None:
    assert "package steadyhand.control.v1;" in PROTO
    assert "service FollowerControl {" in PROTO
