"""Decoders take any bytes and answer a value or a typed rejection; nothing else, ever.

Random bytes alone never get past the magic, so most of the datagrams here are sound frames that
were damaged: flipped, cut, spliced, with lengths that lie, and sealed around damaged bundles, so
that the damage is authentic.
"""

import math
import random
from collections import Counter
from collections.abc import Callable
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyhand.ground.action_dict import state_from_setpoint
from steadyhand.ground.robot_state import MAX_JOINTS, RobotState, StateRejection
from steadyhand.ground.seq import is_newer
from steadyhand.ground.setpoint import Setpoint
from steadyhand.wire.action_frame import (
    ActionFrame,
    decode_plain,
    decode_sealed,
    encode_bundle,
    encode_sealed,
    encode_single,
    peek_estop,
)
from steadyhand.wire.action_payload import decode_action, encode_action
from steadyhand.wire.action_pb2 import Action
from steadyhand.wire.bundle import Entry, encode_body
from steadyhand.wire.head import (
    ACTION_MAGIC,
    TELEMETRY_MAGIC,
    VERSION_SEALED,
    VERSION_SINGLE,
    Head,
    encode_head,
    read_head,
)
from steadyhand.wire.rejections import Reason, Rejection
from steadyhand.wire.sealing import Sealer, Unsealer
from steadyhand.wire.telemetry_frame import (
    TelemetryFrame,
    decode_plain_telemetry,
    decode_sealed_telemetry,
    decode_state,
    encode_telemetry,
    fit_state,
)

calm = settings(deadline=None, derandomize=True, max_examples=300)
KEY: Final = bytes(range(32))
TOLD_BY_HISTORY: Final = {Reason.RETIRED_SESSION, Reason.STALE_COUNTER}
TOLD_BY_POLICY: Final = {Reason.NOT_SEALED, Reason.SEALED}
OF_THE_HANDSHAKE: Final = {Reason.BAD_HANDSHAKE, Reason.WRONG_SESSION, Reason.BAD_PROOF}

SETPOINTS: Final = (
    Setpoint(joints_deg=(10.5, -90.0, 45.25, 0.0, 30.0, -0.5), timestamp_s=17.25, leader_timestamp_s=17.0),
    Setpoint(
        joints_deg=(1.0, 2.0),
        timestamp_s=1.5,
        joint_velocities_deg_s=(0.5, 0.25),
        extras={"gripper_position_pct": 40.0, "extras": {"hops": [1, 2.5, {"a": None}], "note": "größer"}},
    ),
    Setpoint(joints_deg=(), timestamp_s=2.0, emergency_stop=True, episode_id=77, extras={"why": "button"}),
)
PAYLOADS: Final = tuple(encode_action(setpoint) for setpoint in SETPOINTS)
STATE_JSON: Final = fit_state(
    RobotState(
        joint_positions=(1.5, -2.0),
        timestamp=3.5,
        robot_id="fr3",
        tcp_position_mm=(1.0, 2.0, 3.0),
        extras={"playout": {"depth": 20, "entries": [[7, -1.5, False]]}},
    ),
    room_bytes=1180,
)
REST_JSON: Final = b'{"extras":{"hops":[1,2.5,[[[[[{"a":null}]]]]]],"n":18446744073709551615}}'
# What a lying length, count or exponent is likely to be.
TELLING_BYTES: Final = b'\x00\x01\x7f\x80\xff\x0a\x0b\x0c[]{}"\\,:-.eE019\xf0\x7f\xf8'


def _flip(data: bytes, dice: random.Random) -> bytes:
    damaged = bytearray(data)
    for _ in range(1 + int(3 * dice.random())):
        damaged[int(dice.random() * len(damaged))] ^= 1 << int(8 * dice.random())
    return bytes(damaged)


def _cut(data: bytes, dice: random.Random) -> bytes:
    return data[: int(dice.random() * len(data))]


def _splice(data: bytes, dice: random.Random) -> bytes:
    """Some of it again, or gone: bytes from one place put at another."""
    at, start, end = (int(dice.random() * (len(data) + 1)) for _ in range(3))
    return data[:at] + data[start:end] + data[end if dice.random() < 0.5 else at :]


def _lie(data: bytes, dice: random.Random) -> bytes:
    damaged = bytearray(data)
    for _ in range(1 + int(2 * dice.random())):
        place = int(dice.random() * len(damaged))
        damaged[place] = TELLING_BYTES[int(dice.random() * len(TELLING_BYTES))]
    return bytes(damaged)


def _grow(data: bytes, dice: random.Random) -> bytes:
    at = int(dice.random() * len(data))
    return data[:at] + data[at : at + 40] * int(40 * dice.random()) + data[at:]


DAMAGES: Final[tuple[Callable[[bytes, random.Random], bytes], ...]] = (
    _flip,
    _cut,
    _splice,
    _lie,
    _lie,
    _grow,
)


def _damage(data: bytes, dice: random.Random) -> bytes:
    return DAMAGES[int(dice.random() * len(DAMAGES))](data, dice) if data else data


class Receiver:
    """Everything a node does with a datagram, down to the state, with what must hold of it."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self._unsealers = {magic: Unsealer() for magic in (ACTION_MAGIC, TELEMETRY_MAGIC)}
        for unsealer in self._unsealers.values():
            unsealer.open_session(session_id=5, key=KEY)

    def receive(self, datagram: bytes) -> None:
        for magic in (ACTION_MAGIC, TELEMETRY_MAGIC):
            head = read_head(datagram, magic)
            if isinstance(head, Rejection):
                self.reject(head)
            elif magic == ACTION_MAGIC:
                self._action(head)
            else:
                self._telemetry(head)

    def reject(self, rejection: Rejection) -> None:
        assert type(rejection) is Rejection
        assert type(rejection.reason) is Reason
        assert len(rejection.detail) < 100
        self.outcomes[rejection.reason.value] += 1

    def _action(self, head: Head) -> None:
        sealed = head.version == VERSION_SEALED
        frame = decode_sealed(head, self._unsealers[ACTION_MAGIC]) if sealed else decode_plain(head)
        if isinstance(frame, Rejection):
            return self.reject(frame)
        assert type(frame) is ActionFrame
        assert frame.seq == head.seq
        assert all(is_newer(head.seq, entry.seq) for entry in frame.entries[1:])
        for entry in frame.entries:
            self.payload(entry.payload)
        if head.version == VERSION_SINGLE:
            found = peek_estop(head)
            assert found is None or found.emergency_stop
        return None

    def payload(self, payload: bytes) -> None:
        setpoint = decode_action(payload, "fr3")
        if isinstance(setpoint, Rejection):
            return self.reject(setpoint)
        assert type(setpoint) is Setpoint
        assert all(map(math.isfinite, setpoint.joints_deg + setpoint.joint_velocities_deg_s))
        assert (0 if setpoint.emergency_stop else 1) <= len(setpoint.joints_deg) <= MAX_JOINTS
        assert len(setpoint.joint_velocities_deg_s) in {0, len(setpoint.joints_deg)}
        if setpoint.extras:
            assert isinstance(state_from_setpoint(setpoint), RobotState | StateRejection)
        self.outcomes["setpoint"] += 1
        return None

    def _telemetry(self, head: Head) -> None:
        unsealer = self._unsealers[TELEMETRY_MAGIC]
        sealed = head.version == VERSION_SEALED
        frame = decode_sealed_telemetry(head, unsealer) if sealed else decode_plain_telemetry(head)
        if isinstance(frame, Rejection):
            return self.reject(frame)
        assert type(frame) is TelemetryFrame
        state = decode_state(frame)
        if isinstance(state, Rejection):
            return self.reject(state)
        assert type(state) is RobotState
        assert state.robot_id == frame.robot_id
        self.outcomes["state"] += 1
        return None


class Sender:
    """Makes one datagram of each kind, sound or damaged at the depth that dice choose."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self._sealers = {magic: Sealer(session_id=5, key=KEY) for magic in (ACTION_MAGIC, TELEMETRY_MAGIC)}
        self._seq = 0

    def datagram(self) -> bytes:
        self._seq = (self._seq + int(self.dice.random() * (1 << 20))) & 0xFFFFFFFF
        kind = int(self.dice.random() * 7)
        if kind == 6:
            return self._noise()
        inner = self.dice.random() < 0.5
        made = (self._single, self._single, self._bundle, self._sealed, self._state, self._sealed_state)
        datagram = made[kind](inner)
        return datagram if inner else _damage(datagram, self.dice)

    def _noise(self) -> bytes:
        noise = self.dice.randbytes(int(self.dice.random() * 80))
        start = self.dice.random()
        if start < 0.3:
            return noise
        magic = ACTION_MAGIC if start < 0.7 else TELEMETRY_MAGIC
        return magic + bytes((1 + int(3 * self.dice.random()),)) + noise

    def _payload(self, *, damaged: bool) -> bytes:
        payload = PAYLOADS[int(self.dice.random() * len(PAYLOADS))]
        if not damaged:
            return payload
        if self.dice.random() < 0.7:
            return _damage(payload, self.dice)[:300] or b"\x00"
        rest = _damage(REST_JSON, self.dice)[:300].decode(errors="ignore")
        return Action(joint_positions=[1.0], rest_json=rest).SerializeToString()

    def _entries(self, *, damaged: bool) -> list[Entry]:
        count = 1 + int(2 * self.dice.random())
        return [
            Entry((self._seq - back) & 0xFFFFFFFF, self._payload(damaged=damaged)) for back in range(count)
        ]

    def _single(self, damaged: bool) -> bytes:
        return encode_single(robot_id="fr3", entry=self._entries(damaged=damaged)[0])

    def _bundle(self, damaged: bool) -> bytes:
        return encode_bundle(robot_id="fr3", entries=self._entries(damaged=damaged))

    def _sealed(self, damaged: bool) -> bytes:
        entries = self._entries(damaged=damaged)
        if not damaged:
            sealer = self._sealers[ACTION_MAGIC]
            return encode_sealed(robot_id="fr3", entries=entries, sealer=sealer)
        body = _damage(encode_body(entries), self.dice)[:1100]
        return self._sealers[ACTION_MAGIC].seal(encode_head(ACTION_MAGIC, 3, self._seq, "fr3"), body)

    def _state(self, damaged: bool) -> bytes:
        payload = _damage(STATE_JSON, self.dice)[:1100] if damaged else STATE_JSON
        return encode_telemetry(payload or b"0", robot_id="fr3", seq=self._seq)

    def _sealed_state(self, damaged: bool) -> bytes:
        payload = _damage(STATE_JSON, self.dice)[:1100] if damaged else STATE_JSON
        sealer = self._sealers[TELEMETRY_MAGIC]
        return encode_telemetry(payload or b"0", robot_id="fr3", seq=self._seq, sealer=sealer)


def _storm(count: int, seed: int) -> Counter[str]:
    sender, receiver = Sender(seed), Receiver()
    for _ in range(count):
        receiver.receive(sender.datagram())
    return receiver.outcomes


def _reached_everything(outcomes: Counter[str], count: int) -> None:
    """The storm is only worth its length if it gets everywhere, and through."""
    unreachable = TOLD_BY_HISTORY | TOLD_BY_POLICY | OF_THE_HANDSHAKE
    expected = {reason.value for reason in Reason if reason not in unreachable}
    missing = expected - outcomes.keys()
    # A replay needs its datagram to stay whole under damage, a rare thing.
    assert missing <= {"replayed"}
    assert outcomes["setpoint"] > count // 20
    assert outcomes["state"] > count // 50


@pytest.mark.slow
def test_two_hundred_thousand_damaged_datagrams_raise_nothing() -> None:
    _reached_everything(_storm(200_000, seed=2), 200_000)


@pytest.mark.soak
def test_two_million_damaged_datagrams_raise_nothing() -> None:
    _reached_everything(_storm(2_000_000, seed=3), 2_000_000)


@calm
@given(st.binary(max_size=1300))
def test_any_bytes_are_received_or_rejected(datagram: bytes) -> None:
    Receiver().receive(datagram)


@calm
@given(
    st.sampled_from((ACTION_MAGIC, TELEMETRY_MAGIC)),
    st.sampled_from((1, 2, 3)),
    st.binary(max_size=200),
)
def test_any_body_behind_a_sound_head_is_received_or_rejected(
    magic: bytes, version: int, body: bytes
) -> None:
    Receiver().receive(magic + bytes((version,)) + body)
    Receiver().receive(magic + bytes((version,)) + b"\x00\x00\x00\x07\x00\x03fr3" + body)


@calm
@given(st.binary(max_size=300))
def test_any_payload_is_a_setpoint_or_a_rejection(payload: bytes) -> None:
    Receiver().payload(payload)


@calm
@given(st.text(max_size=200))
def test_any_rest_is_a_setpoint_or_a_rejection(rest: str) -> None:
    try:
        encoded = rest.encode()
    except UnicodeEncodeError:
        encoded = rest.encode("utf-8", "surrogatepass")
    length = len(encoded)
    varint = bytes((length,)) if length < 128 else bytes((length & 127 | 128, length >> 7))
    Receiver().payload(b"\x1a\x08" + bytes(8) + b"\x7a" + varint + encoded)
