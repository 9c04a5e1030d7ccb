"""The page `docs/wire.md` is the specification; every vector on it holds in both directions.

The keys and the seals of the page are checked against implementations written here from RFC 5869
and RFC 8439 alone, so that the page does not merely repeat what our libraries do.
"""

import hashlib
import hmac
import json
import math
import re
import struct
from pathlib import Path
from typing import Any

import pytest
import yaml

from steadyhand.ground import json_values, robot_state
from steadyhand.ground.robot_state import RobotState
from steadyhand.ground.setpoint import Setpoint
from steadyhand.wire import bundle, limits, replay_window, sealing
from steadyhand.wire.action_frame import (
    decode_plain,
    decode_sealed,
    encode_bundle,
    encode_sealed,
    encode_single,
    sealed_bundle_budget_bytes,
)
from steadyhand.wire.action_payload import MAX_ESTOP_PAYLOAD_BYTES, decode_action, encode_action
from steadyhand.wire.bundle import Entry
from steadyhand.wire.handshake import (
    ClientAnswer,
    ClientHello,
    OpenedSession,
    accept_client_proof,
    answer_offer,
    decode_client_hello,
    encode_client_hello,
    offer_session,
)
from steadyhand.wire.head import ACTION_MAGIC, TELEMETRY_MAGIC, VERSION_SEALED, VERSION_SINGLE, read_head
from steadyhand.wire.rejections import Reason, Rejection
from steadyhand.wire.sealing import Sealer, Unsealer
from steadyhand.wire.session_keys import SessionKeys, derive_session_keys
from steadyhand.wire.telemetry_frame import (
    decode_plain_telemetry,
    decode_sealed_telemetry,
    decode_state,
    encode_telemetry,
    fit_state,
    telemetry_room_bytes,
)

PAGE = Path(__file__).parents[2] / "docs" / "wire.md"
PROTO = Path(__file__).parents[2] / "src" / "steadyhand" / "wire" / "action.proto"
TEXT = PAGE.read_text()

Vector = dict[str, Any]


def _read_vectors() -> dict[str, Vector]:
    vectors: dict[str, Vector] = {}
    for block in re.findall(r"(?s)```yaml\n(vector: .*?)```", TEXT):
        vector = yaml.safe_load(block)
        if "bytes" in vector:
            lines = vector["bytes"].splitlines()
            vector["bytes"] = bytes.fromhex(" ".join(line.split("#")[0] for line in lines))
        assert vector["vector"] not in vectors, f"two vectors are named {vector['vector']}"
        vectors[vector["vector"]] = vector
    return vectors


VECTORS = _read_vectors()
KEYS = VECTORS["session-keys"]
SESSION_ID = int(KEYS["session"], 16)
LABELS = ("cmd", "tlm", "prf", "ctl")


def _named(of: str, *, key: str) -> list[str]:
    return [name for name, vector in VECTORS.items() if vector["of"] == of and key in vector]


def _keys() -> SessionKeys:
    command, telemetry, proof, control = (bytes.fromhex(KEYS[label]) for label in LABELS)
    return SessionKeys(command=command, telemetry=telemetry, proof=proof, control=control)


def _unsealer(label: str) -> Unsealer:
    unsealer = Unsealer()
    unsealer.open_session(session_id=SESSION_ID, key=bytes.fromhex(KEYS[label]))
    return unsealer


def _sealer(label: str, counter: int) -> Sealer:
    sealer = Sealer(session_id=SESSION_ID, key=bytes.fromhex(KEYS[label]))
    for _ in range(counter):
        sealer.seal(b"", b"")
    return sealer


def _setpoint(value: Vector) -> Setpoint:
    return Setpoint(
        joints_deg=tuple(value["joint_positions"]),
        timestamp_s=value["timestamp"],
        leader_timestamp_s=value.get("leader_timestamp"),
        joint_velocities_deg_s=tuple(value.get("joint_velocities", ())),
        emergency_stop=value.get("emergency_stop", False),
        episode_id=value.get("episode_id", 0),
        robot_id="fr3",
        extras=value.get("rest", {}),
    )


def _decode(vector: Vector) -> Any:
    """Run the decoder a vector is for, as a receiver would, down to the last step."""
    data = vector["bytes"]
    if vector["of"] == "payload":
        return decode_action(data, "fr3")
    if vector["of"] == "action":
        head = read_head(data, ACTION_MAGIC)
        if isinstance(head, Rejection):
            return head
        return decode_sealed(head, _unsealer("cmd")) if head.version == VERSION_SEALED else decode_plain(head)
    if vector["of"] == "telemetry":
        head = read_head(data, TELEMETRY_MAGIC)
        if isinstance(head, Rejection):
            return head
        sealed = head.version == VERSION_SEALED
        frame = decode_sealed_telemetry(head, _unsealer("tlm")) if sealed else decode_plain_telemetry(head)
        if isinstance(frame, Rejection):
            return frame
        state = decode_state(frame)
        return state if isinstance(state, Rejection) else (frame, state)
    if vector["of"] == "client-hello":
        return decode_client_hello(data)
    if vector["of"] == "server-hello":
        return answer_offer(bytes.fromhex(KEYS["secret"]), _hello(), data)
    if vector["of"] == "client-proof":
        offer = offer_session(
            bytes.fromhex(KEYS["secret"]),
            _hello(),
            session_id=SESSION_ID,
            server_nonce=bytes.fromhex(KEYS["server_nonce"]),
        )
        return accept_client_proof(offer, data)
    raise AssertionError(f"a vector of {vector['of']} has no decoder here")


def _hello() -> ClientHello:
    return ClientHello(KEYS["robot_id"], bytes.fromhex(KEYS["client_nonce"]))


@pytest.mark.parametrize("name", _named("payload", key="value"))
def test_payload_vector_decodes_to_its_value(name: str) -> None:
    decoded = decode_action(VECTORS[name]["bytes"], "fr3")
    expected = _setpoint(VECTORS[name]["value"])
    assert isinstance(decoded, Setpoint)
    assert decoded == expected


@pytest.mark.parametrize(
    "name", [n for n in _named("payload", key="value") if "decode_only" not in VECTORS[n]]
)
def test_payload_vector_is_what_its_value_encodes_to(name: str) -> None:
    assert encode_action(_setpoint(VECTORS[name]["value"])) == VECTORS[name]["bytes"]


def _entries(value: Vector) -> list[Entry]:
    return [Entry(seq, VECTORS[payload]["bytes"]) for seq, payload in value["entries"]]


@pytest.mark.parametrize("name", _named("action", key="value"))
def test_action_vector_decodes_to_its_value(name: str) -> None:
    value = VECTORS[name]["value"]
    frame = _decode(VECTORS[name])
    assert frame.version == value["version"]
    assert frame.robot_id == value["robot_id"]
    assert list(frame.entries) == _entries(value)
    assert frame.session_id == int(value.get("session", "0"), 16)
    assert frame.counter == value.get("counter", 0)


@pytest.mark.parametrize("name", _named("action", key="value"))
def test_action_vector_is_what_its_value_encodes_to(name: str) -> None:
    value = VECTORS[name]["value"]
    entries, robot_id = _entries(value), value["robot_id"]
    if value["version"] == VERSION_SINGLE:
        written = encode_single(robot_id=robot_id, entry=entries[0])
    elif value["version"] == VERSION_SEALED:
        sealer = _sealer("cmd", value["counter"])
        written = encode_sealed(robot_id=robot_id, entries=entries, sealer=sealer)
    else:
        written = encode_bundle(robot_id=robot_id, entries=entries)
    assert written == VECTORS[name]["bytes"]


@pytest.mark.parametrize("name", _named("telemetry", key="value"))
def test_telemetry_vector_holds_both_ways(name: str) -> None:
    value = VECTORS[name]["value"]
    frame, state = _decode(VECTORS[name])
    assert (frame.version, frame.robot_id, frame.seq) == (value["version"], value["robot_id"], value["seq"])
    assert state.to_dict() == value["state"]
    assert json.loads(frame.payload) == value["state"]
    sealed = value["version"] == VERSION_SEALED
    payload = fit_state(state, room_bytes=telemetry_room_bytes("fr3", sealed=sealed))
    sealer = _sealer("tlm", value["counter"]) if sealed else None
    assert (
        encode_telemetry(payload, robot_id="fr3", seq=value["seq"], sealer=sealer) == VECTORS[name]["bytes"]
    )


def test_handshake_vectors_hold_both_ways() -> None:
    secret = bytes.fromhex(KEYS["secret"])
    hello = decode_client_hello(VECTORS["client-hello"]["bytes"])
    assert hello == _hello()
    assert encode_client_hello(_hello()) == VECTORS["client-hello"]["bytes"]
    server_nonce = bytes.fromhex(KEYS["server_nonce"])
    offer = offer_session(secret, _hello(), session_id=SESSION_ID, server_nonce=server_nonce)
    assert offer.message == VECTORS["server-hello"]["bytes"]
    answer = _decode(VECTORS["server-hello"])
    assert isinstance(answer, ClientAnswer)
    assert answer.message == VECTORS["client-proof"]["bytes"]
    opened = _decode(VECTORS["client-proof"])
    assert isinstance(opened, OpenedSession)
    assert opened == answer.session == OpenedSession(SESSION_ID, "fr3", _keys())


@pytest.mark.parametrize("name", [name for name, vector in VECTORS.items() if "rejects" in vector])
def test_rejected_vector_gives_its_reason(name: str) -> None:
    answer = _decode(VECTORS[name])
    assert isinstance(answer, Rejection)
    assert answer.reason == VECTORS[name]["rejects"]


def test_every_reason_that_one_message_can_show_has_a_vector() -> None:
    shown = {vector["rejects"] for vector in VECTORS.values() if "rejects" in vector}
    # These four need a history or a size that a page of vectors does not show.
    by_history = {"oversize", "retired_session", "replayed", "stale_counter"}
    by_policy = {"sealed", "not_sealed"}
    assert shown | by_history | by_policy == {reason.value for reason in Reason}


def test_the_page_lists_every_reason_once() -> None:
    section = TEXT.split("## Rejections")[1].split("## Vectors")[0]
    listed = re.findall(r"(?m)^\| `(\w+)` \|", section)
    assert sorted(listed) == sorted(reason.value for reason in Reason)


def test_the_page_lists_every_key_of_the_dictionary() -> None:
    section = TEXT.split("### The dictionary")[1].split("## Opening a session")[0]
    listed = re.findall(r"(?m)^\| `(\w+)` \|", section)
    assert sorted(listed) == sorted((*RobotState.__struct_fields__, "units", "joint_units"))


def test_the_page_quotes_the_proto_file() -> None:
    quoted = re.search(r"(?s)```proto\n(.*?)```", TEXT)
    assert quoted is not None
    assert quoted[1] == PROTO.read_text()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MAX_DATAGRAM_BYTES", limits.MAX_DATAGRAM_BYTES),
        ("ACTION_BUNDLE_BUDGET_BYTES", limits.ACTION_BUNDLE_BUDGET_BYTES),
        ("BUNDLE_RING_DEPTH", limits.BUNDLE_RING_DEPTH),
        ("MAX_BUNDLE_ENTRIES", limits.MAX_BUNDLE_ENTRIES),
        ("MAX_ROBOT_ID_BYTES", robot_state.MAX_ROBOT_ID_BYTES),
        ("MAX_JOINTS", robot_state.MAX_JOINTS),
        ("MAX_ESTOP_PAYLOAD_BYTES", MAX_ESTOP_PAYLOAD_BYTES),
        ("MAX_JSON_DEPTH", json_values.MAX_JSON_DEPTH),
        ("MAX_JSON_VALUES", json_values.MAX_JSON_VALUES),
        ("REPLAY_WINDOW", replay_window.REPLAY_WINDOW),
        ("RETIRED_REMEMBERED", sealing.RETIRED_REMEMBERED),
    ],
)
def test_the_page_states_the_budget(name: str, value: int) -> None:
    assert f"| `{name}` | {value} |" in TEXT


def test_the_page_states_the_sealed_budget() -> None:
    stated = re.search(r"\| sealed bundle \| (\d+) − name \|", TEXT)
    assert stated is not None
    assert int(stated[1]) == sealed_bundle_budget_bytes("fr3") + 3
    # An entry and the count cost five bytes more; an e-stop under the longest name still fits.
    room = sealed_bundle_budget_bytes("x" * robot_state.MAX_ROBOT_ID_BYTES)
    assert room >= bundle.COUNT_BYTES + bundle.ENTRY_OVERHEAD_BYTES + MAX_ESTOP_PAYLOAD_BYTES


# Independent answers, from the RFCs alone.


def _hkdf(secret: bytes, salt: bytes, info: bytes) -> bytes:
    """RFC 5869 for one block of output."""
    extracted = hmac.new(salt or bytes(32), secret, hashlib.sha256).digest()
    return hmac.new(extracted, info + b"\x01", hashlib.sha256).digest()


def test_session_keys_are_rfc_5869_over_the_stated_inputs() -> None:
    secret = bytes.fromhex(KEYS["secret"])
    salt = bytes.fromhex(KEYS["client_nonce"] + KEYS["server_nonce"])
    context = struct.pack("!Q", SESSION_ID) + b"fr3"
    for label in LABELS:
        assert _hkdf(secret, salt, label.encode() + context).hex() == KEYS[label]
    derived = derive_session_keys(
        secret,
        session_id=SESSION_ID,
        robot_id="fr3",
        client_nonce=bytes.fromhex(KEYS["client_nonce"]),
        server_nonce=bytes.fromhex(KEYS["server_nonce"]),
    )
    assert derived == _keys()


def test_proofs_are_hmac_over_role_and_transcript() -> None:
    key = bytes.fromhex(KEYS["prf"])
    hello, offer = VECTORS["client-hello"]["bytes"], VECTORS["server-hello"]["bytes"]
    assert hmac.new(key, b"server" + hello + offer[:46], hashlib.sha256).digest() == offer[46:]
    proof = VECTORS["client-proof"]["bytes"][14:]
    assert hmac.new(key, b"client" + hello + offer, hashlib.sha256).digest() == proof


def _rotate(word: int, bits: int) -> int:
    return (word << bits | word >> (32 - bits)) & 0xFFFFFFFF


def _chacha20_block(key: bytes, block: int, nonce: bytes) -> bytes:
    """RFC 8439 §2.3."""
    start = [*struct.unpack("<4I", b"expand 32-byte k"), *struct.unpack("<8I", key), block]
    start += struct.unpack("<3I", nonce)
    state = list(start)
    columns = [(0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)]
    diagonals = [(0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)]
    for _ in range(10):
        for a, b, c, d in columns + diagonals:
            for first, second, third, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                state[first] = (state[first] + state[second]) & 0xFFFFFFFF
                state[third] = _rotate(state[third] ^ state[first], bits)
    return struct.pack("<16I", *((x + y) & 0xFFFFFFFF for x, y in zip(state, start, strict=True)))


def _poly1305(key: bytes, message: bytes) -> bytes:
    """RFC 8439 §2.5."""
    r = int.from_bytes(key[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    total = 0
    for at in range(0, len(message), 16):
        total = (total + int.from_bytes(message[at : at + 16] + b"\x01", "little")) * r % ((1 << 130) - 5)
    return ((total + int.from_bytes(key[16:], "little")) & ((1 << 128) - 1)).to_bytes(16, "little")


def _open_rfc_8439(key: bytes, nonce: bytes, sealed: bytes, bound: bytes) -> bytes:
    """RFC 8439 §2.8."""
    text, tag = sealed[:-16], sealed[-16:]
    padded = bound + bytes(-len(bound) % 16) + text + bytes(-len(text) % 16)
    message = padded + struct.pack("<QQ", len(bound), len(text))
    assert _poly1305(_chacha20_block(key, 0, nonce)[:32], message) == tag
    stream = b"".join(_chacha20_block(key, 1 + at // 64, nonce) for at in range(0, len(text), 64))
    return bytes(x ^ y for x, y in zip(text, stream, strict=False))


@pytest.mark.parametrize("name", ["frame-sealed-estop", "frame-sealed-bundle", "telemetry-sealed"])
def test_sealed_vector_opens_by_rfc_8439_alone(name: str) -> None:
    vector = VECTORS[name]
    data, key = vector["bytes"], bytes.fromhex(KEYS["cmd" if vector["of"] == "action" else "tlm"])
    sealed_at = 11 + 3 + 16
    nonce = bytes(4) + data[sealed_at - 8 : sealed_at]
    plaintext = _open_rfc_8439(key, nonce, data[sealed_at:], data[:sealed_at])
    if vector["of"] == "telemetry":
        assert json.loads(plaintext) == vector["value"]["state"]
        return
    entries = _entries(vector["value"])
    assert plaintext[0] == len(entries)
    for entry in entries:
        assert struct.pack("!H", len(entry.payload)) + entry.payload in plaintext


def test_a_non_finite_timestamp_reaches_the_playout_buffer() -> None:
    decoded = _decode(VECTORS["payload-non-finite-timestamp-is-a-value"])
    assert isinstance(decoded, Setpoint)
    assert math.isinf(decoded.sender_stamp_s)
