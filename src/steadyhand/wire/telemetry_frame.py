"""S7N1: the measured state on its way back, as the dictionary's JSON (document 003, return path).

Plain in version 1, sealed in version 3 under the telemetry key. The bridge republishes the JSON
unchanged, so a frame keeps it as bytes and reading it into a `RobotState` is a step of its own.
"""

import math
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from steadyhand.ground.errors import InputError
from steadyhand.ground.robot_state import RobotState
from steadyhand.wire.head import (
    HEADER_BYTES,
    TELEMETRY_MAGIC,
    VERSION_SEALED,
    VERSION_SINGLE,
    Head,
    encode_head,
    robot_id_of,
)
from steadyhand.wire.limits import MAX_DATAGRAM_BYTES, FrameTooLarge
from steadyhand.wire.rejections import Reason, Rejection
from steadyhand.wire.sealing import SEAL_OVERHEAD_BYTES, Sealer, Unsealer

#: What gives way, in this order, where a state does not fit its datagram. The wire debug of
#: document 000 §9 first, halved from its oldest end until it fits or is gone.
_HALVED: Final = ("entries", "releases")
_REASON: Final = "last_reason"


class UnsendableState(InputError):  # noqa: N818 - it is named as what happened, and read as such
    """A state that JSON cannot carry: it is refused where it was made."""


class TelemetryFrame(msgspec.Struct, frozen=True, gc=False):
    """A telemetry frame whose JSON is still bytes.

    Attributes:
        version: 1 or 3.
        seq: u32, of the telemetry stream.
        robot_id: the arm that speaks.
        payload: the JSON, as the bridge republishes it.
        session_id: of the sealed session; 0 in version 1.
        counter: of the sealed datagram; 0 in version 1.
    """

    version: int
    seq: int
    robot_id: str
    payload: bytes
    session_id: int = 0
    counter: int = 0


def telemetry_room_bytes(robot_id: str, *, sealed: bool) -> int:
    """Room for the JSON in one telemetry datagram."""
    room = MAX_DATAGRAM_BYTES - HEADER_BYTES - len(robot_id.encode())
    return room - SEAL_OVERHEAD_BYTES if sealed else room


def fit_state(state: RobotState, *, room_bytes: int) -> bytes:
    """Write a state's JSON so that it fits, and say in the state what had to give way.

    First the wire debug's two strips lose their older halves until they fit or are gone; then the
    sentence of the last stall its later halves, since the stop's cause stands beside it and the whole
    of it was told as an event; then the guards their reasons, which the stop's cause repeats; then the
    other extras go, the last one first, so that whoever writes
    them puts first what matters most, down to `playout` alone; then the reasons' owner, `safety`,
    shrinks to `any_tripped`. What went is listed in `extras.shed`. Joints, stamps, status and the
    buffer's health never give way.

    Raises:
        FrameTooLarge: even the bare state does not fit.
        UnsendableState: the state holds what JSON cannot carry, a NaN for instance.
    """
    whole = state.to_dict()
    refused = _refuse_state(state, whole)
    if refused:
        raise UnsendableState(refused, where=state.robot_id)
    size = 0
    for candidate in _shrinking(whole):
        payload = msgspec.json.encode(candidate)
        if len(payload) <= room_bytes:
            return payload
        size = len(payload)
    raise FrameTooLarge(f"state of {state.robot_id}", size_bytes=size, room_bytes=room_bytes)


def _refuse_state(state: RobotState, whole: dict[str, Any]) -> str:
    """Why a reader would refuse this state; empty where it would not. JSON has no NaN at all."""
    for name in ("timestamp", "leader_timestamp"):
        stamp_s = getattr(state, name)
        if stamp_s is not None and not math.isfinite(stamp_s):
            return f"{name} is {stamp_s}"
    judged = RobotState.from_dict(whole)
    return "" if isinstance(judged, RobotState) else f"{judged.fault}: {judged.detail}"


def _shrinking(whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The state, and then ever smaller versions of it."""
    yield whole
    shed: list[str] = []
    extras = whole["extras"]
    playout = extras.get("playout")
    if isinstance(playout, dict):
        for name in _HALVED:
            strip = playout.get(name)
            if not isinstance(strip, list | tuple) or not strip:
                continue
            shed.append(f"extras.playout.{name}")
            while strip:
                strip = strip[(len(strip) + 1) // 2 :]
                playout = {**playout, name: strip}
                yield {**whole, "extras": {**extras, "playout": playout, "shed": shed}}
        sentence = playout.get("last_stall")
        if isinstance(sentence, str) and sentence:
            shed.append("extras.playout.last_stall")
            while sentence:
                sentence = sentence[: len(sentence) // 2]
                playout = {**playout, "last_stall": sentence}
                yield {**whole, "extras": {**extras, "playout": playout, "shed": shed}}
    guards = [name for name, told in whole["safety"].items() if isinstance(told, dict) and _REASON in told]
    if guards:
        shed.extend(f"safety.{name}.{_REASON}" for name in guards)
        whole = {**whole, "safety": {name: _without_reason(told) for name, told in whole["safety"].items()}}
        kept = {**extras, "playout": playout} if "playout" in extras else extras
        yield {**whole, "extras": {**kept, "shed": shed}}
    others = [name for name in extras if name != "playout"]
    for count in range(len(others) - 1, 0, -1):
        left = {name: extras[name] for name in others[:count]}
        if "playout" in extras:
            left["playout"] = playout
        yield {**whole, "extras": {**left, "shed": [*shed, *(f"extras.{name}" for name in others[count:])]}}
    if others:
        shed.append("extras")
    extras = {"playout": playout} if "playout" in extras else {}
    yield {**whole, "extras": {**extras, "shed": shed}}
    if whole["safety"]:
        shed.append("safety")
        bare = {key: item for key, item in whole["safety"].items() if key == "any_tripped"}
        yield {**whole, "safety": bare, "extras": {**extras, "shed": shed}}


def _without_reason(told: Any) -> Any:
    return {key: value for key, value in told.items() if key != _REASON} if isinstance(told, dict) else told


def encode_telemetry(payload: bytes, *, robot_id: str, seq: int, sealer: Sealer | None = None) -> bytes:
    """Write a telemetry frame around a JSON payload, sealed where a sealer is given.

    Raises:
        FrameTooLarge: the payload exceeds `telemetry_room_bytes`; `fit_state` makes one that fits.
        ValueError: the payload is empty, or the name or number is none.
    """
    if not payload:
        raise ValueError("telemetry has no payload")
    room = telemetry_room_bytes(robot_id, sealed=sealer is not None)
    if len(payload) > room:
        raise FrameTooLarge(f"state {seq} of {robot_id}", size_bytes=len(payload), room_bytes=room)
    if sealer is None:
        return encode_head(TELEMETRY_MAGIC, VERSION_SINGLE, seq, robot_id) + payload
    return sealer.seal(encode_head(TELEMETRY_MAGIC, VERSION_SEALED, seq, robot_id), payload)


def decode_plain_telemetry(head: Head) -> TelemetryFrame | Rejection:
    """Read a version 1 telemetry frame, whoever sent it."""
    if head.version == VERSION_SEALED:
        return Rejection(Reason.SEALED)
    return _frame(head, head.datagram[head.body_at :], 0, 0)


def decode_sealed_telemetry(head: Head, unsealer: Unsealer) -> TelemetryFrame | Rejection:
    """Authenticate a version 3 telemetry frame, then read it. Nothing unauthentic is parsed."""
    unsealed = unsealer.unseal(head)
    if isinstance(unsealed, Rejection):
        return unsealed
    return _frame(head, unsealed.plaintext, unsealed.session_id, unsealed.counter)


def _frame(head: Head, payload: bytes, session_id: int, counter: int) -> TelemetryFrame | Rejection:
    robot_id = robot_id_of(head)
    if isinstance(robot_id, Rejection):
        return robot_id
    if not payload:
        return Rejection(Reason.EMPTY_PAYLOAD)
    return TelemetryFrame(head.version, head.seq, robot_id, payload, session_id, counter)


def decode_state(frame: TelemetryFrame) -> RobotState | Rejection:
    """Read a frame's JSON; any bytes at all get a state or a typed rejection.

    The frame's name fills in for a state without one; a state that names another robot is
    refused. Of two equal JSON keys the last counts.
    """
    try:
        value = msgspec.json.decode(frame.payload)
    except (msgspec.DecodeError, RecursionError):
        return Rejection(Reason.MALFORMED_JSON)
    state = RobotState.from_dict(value)
    if not isinstance(state, RobotState):
        return Rejection(Reason.BAD_STATE, state.fault)
    if not state.robot_id:
        return msgspec.structs.replace(state, robot_id=frame.robot_id)
    if state.robot_id != frame.robot_id:
        return Rejection(Reason.BAD_STATE, "another robot's")
    return state
