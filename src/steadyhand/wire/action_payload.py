"""The action's payload: a `Setpoint` as protobuf, typed hot fields and the rest as JSON.

Document 003, steps 3 and 6. Where each kind of bad number is caught: a non-finite *joint* value is
rejected here ("Safety at the wire": counted, the last setpoint held); a non-finite *timestamp* is
a value, because its verdict (`Malformed`) is the playout buffer's (document 000 §4).
"""

import math
from typing import Any, Final

import msgspec
from google.protobuf.message import DecodeError

from steadyhand.ground.errors import InputError
from steadyhand.ground.json_values import refuse_unsendable
from steadyhand.ground.robot_state import HOT_KEYS, MAX_EPISODE_ID, MAX_JOINTS, claims_degrees
from steadyhand.ground.setpoint import Setpoint
from steadyhand.wire.action_pb2 import Action
from steadyhand.wire.rejections import Reason, Rejection

#: Payload of an e-stop: whatever frame, name and seal it travels in, it fits.
MAX_ESTOP_PAYLOAD_BYTES: Final = 1024

Joints = tuple[float, ...]


class UnsendableAction(InputError):  # noqa: N818 - it is named as what happened, and read as such
    """A setpoint that a receiver would reject: it is refused where it was made."""


def encode_action(setpoint: Setpoint) -> bytes:
    """Write a setpoint's payload. The robot's name is the frame's to carry.

    An e-stop is never refused for what rides along: joints and extras that cannot be sent, or
    that would make it larger than MAX_ESTOP_PAYLOAD_BYTES, are left out of it.

    Raises:
        UnsendableAction: joints that are not finite or not 1 to 16, as many speeds as joints or
            none, extras that JSON cannot carry, an episode that is no u64.
    """
    if not 0 <= setpoint.episode_id <= MAX_EPISODE_ID:
        raise UnsendableAction(f"episode {setpoint.episode_id} is no u64", where=setpoint.robot_id)
    joints, speeds = setpoint.joints_deg, setpoint.joint_velocities_deg_s
    refused = _refuse_motion(joints, speeds, None)
    rest = _write_rest(setpoint.extras) if setpoint.extras else ""
    if setpoint.emergency_stop:
        return _encode_estop(setpoint, motion_sound=refused is None, rest=rest)
    if refused is not None:
        raise UnsendableAction(f"{refused.reason} {refused.detail}".rstrip(), where=setpoint.robot_id)
    if isinstance(rest, Rejection):
        raise UnsendableAction(f"{rest.reason}: {rest.detail}", where=setpoint.robot_id)
    return _pack(setpoint, joints, speeds, rest)


def _encode_estop(setpoint: Setpoint, *, motion_sound: bool, rest: str | Rejection) -> bytes:
    """An e-stop with what of it can be sent; without the rest where it would grow too large."""
    joints = setpoint.joints_deg if motion_sound else ()
    speeds = setpoint.joint_velocities_deg_s if motion_sound else ()
    payload = _pack(setpoint, joints, speeds, "" if isinstance(rest, Rejection) else rest)
    return payload if len(payload) <= MAX_ESTOP_PAYLOAD_BYTES else _pack(setpoint, joints, speeds, "")


def _pack(setpoint: Setpoint, joints: Joints, speeds: Joints, rest: str) -> bytes:
    message = Action()
    message.timestamp = setpoint.timestamp_s
    if setpoint.leader_timestamp_s is not None:
        message.leader_timestamp = setpoint.leader_timestamp_s
    message.joint_positions.extend(joints)
    if speeds:
        message.joint_velocities.extend(speeds)
    if setpoint.emergency_stop:
        message.emergency_stop = True
    if setpoint.episode_id:
        message.episode_id = setpoint.episode_id
    if rest:
        message.rest_json = rest
    return message.SerializeToString()


def decode_action(payload: bytes, robot_id: str, *, joint_count: int | None = None) -> Setpoint | Rejection:
    """Read a payload; any bytes at all get a setpoint or a typed rejection.

    The rest is read first and the typed fields laid over it (document 003, step 6): a hot key in
    `rest_json` loses to the typed field and is dropped, with one exception on the safe side, that
    an `emergency_stop: true` counts wherever it stands. An e-stop is never refused for what rides
    along: its joints or its rest are left out where they would be rejected.

    Args:
        payload: one entry of a frame.
        robot_id: the name in that frame's head.
        joint_count: how many joints this arm has, where the receiver knows it.
    """
    try:
        message = Action.FromString(payload)
    except DecodeError:
        return Rejection(Reason.MALFORMED_PROTOBUF)
    joints, speeds = tuple(message.joint_positions), tuple(message.joint_velocities)
    refused = _refuse_motion(joints, speeds, joint_count)
    extras: dict[str, Any] = {}
    emergency_stop = message.emergency_stop
    if message.rest_json:
        rest = _read_rest(message.rest_json)
        if isinstance(rest, Rejection):
            refused = refused or (None if emergency_stop else rest)
        else:
            emergency_stop = emergency_stop or rest.get("emergency_stop") is True
            extras = _without_hot_keys(rest)
    if refused is not None:
        if not emergency_stop:
            return refused
        joints, speeds = (), ()
    return Setpoint(
        joints_deg=joints,
        timestamp_s=message.timestamp,
        leader_timestamp_s=message.leader_timestamp if message.HasField("leader_timestamp") else None,
        joint_velocities_deg_s=speeds,
        emergency_stop=emergency_stop,
        episode_id=message.episode_id,
        robot_id=robot_id,
        extras=extras,
    )


def _refuse_motion(joints: Joints, speeds: Joints, joint_count: int | None) -> Rejection | None:
    """Finite, 1 to MAX_JOINTS joints (or exactly `joint_count`), as many speeds or none."""
    if not (all(map(math.isfinite, joints)) and all(map(math.isfinite, speeds))):
        return Rejection(Reason.NON_FINITE_JOINT)
    count = len(joints)
    if not 0 < count <= MAX_JOINTS or (joint_count is not None and count != joint_count):
        return Rejection(Reason.JOINT_COUNT, f"{count} joints")
    if speeds and len(speeds) != count:
        return Rejection(Reason.JOINT_COUNT, f"{len(speeds)} speeds for {count} joints")
    return None


def _read_rest(text: str) -> dict[str, Any] | Rejection:
    """Read `rest_json`: an object of sendable, bounded JSON that claims no units but degrees.

    Of two equal keys the last counts.
    """
    try:
        rest = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return Rejection(Reason.MALFORMED_JSON)
    if not isinstance(rest, dict):
        return Rejection(Reason.BAD_REST, "not an object")
    if not claims_degrees(rest):
        return Rejection(Reason.BAD_REST, "joint_units")
    refusal = refuse_unsendable(rest, "rest_json")
    return rest if refusal is None else Rejection(Reason.BAD_REST, refusal.fault)


def _write_rest(extras: dict[str, Any]) -> str | Rejection:
    if not claims_degrees(extras):
        return Rejection(Reason.BAD_REST, "joint_units are not degrees")
    rest = _without_hot_keys(extras)
    refusal = refuse_unsendable(rest, "extras")
    if refusal is not None:
        return Rejection(Reason.BAD_REST, str(refusal))
    return msgspec.json.encode(rest).decode() if rest else ""


def _without_hot_keys(rest: dict[str, Any]) -> dict[str, Any]:
    if HOT_KEYS.isdisjoint(rest):
        return rest
    return {key: item for key, item in rest.items() if key not in HOT_KEYS}
