"""The head of every frame: eleven bytes and the robot's name (document 003, step 4).

Both flows share the layout and differ in the magic, so that neither can be parsed as the other.
Reading a head looks at nothing behind the name: a receiver decides on it (whose robot, which
version, which session) before it spends anything on the rest.
"""

import struct
from typing import Final

import msgspec

from steadyhand.ground.robot_state import MAX_ROBOT_ID_BYTES, is_robot_id
from steadyhand.wire.limits import MAX_DATAGRAM_BYTES
from steadyhand.wire.rejections import Reason, Rejection

ACTION_MAGIC: Final = b"S7A1"
TELEMETRY_MAGIC: Final = b"S7N1"

VERSION_SINGLE: Final = 1
VERSION_BUNDLE: Final = 2
VERSION_SEALED: Final = 3

_VERSIONS: Final = {
    ACTION_MAGIC: (VERSION_SINGLE, VERSION_BUNDLE, VERSION_SEALED),
    TELEMETRY_MAGIC: (VERSION_SINGLE, VERSION_SEALED),
}

# Big-endian: magic 4 bytes, version u8, sequence u32, length of the name u16.
_HEADER: Final = struct.Struct("!4sBIH")
HEADER_BYTES: Final = _HEADER.size


class Head(msgspec.Struct, frozen=True, gc=False):
    """What can be known of a frame without trusting it.

    Attributes:
        version: 1 plain, 2 bundle, 3 sealed.
        seq: u32, of the setpoint or the telemetry frame; of a bundle, its newest entry's.
        name: the robot's name as bytes, to be compared with one's own before anything is parsed.
        datagram: the whole frame.
        body_at: offset of the first byte behind the name.
    """

    version: int
    seq: int
    name: bytes
    datagram: bytes
    body_at: int


def encode_head(magic: bytes, version: int, seq: int, robot_id: str) -> bytes:
    """Write the header and the name.

    Raises:
        ValueError: `seq` is no u32, or `robot_id` is no name (`is_robot_id`).
    """
    if not is_robot_id(robot_id):
        raise ValueError(f"not a robot id: {robot_id!r}")
    if not 0 <= seq < 1 << 32:
        raise ValueError(f"not a u32 sequence number: {seq}")
    name = robot_id.encode()
    return _HEADER.pack(magic, version, seq, len(name)) + name


def read_head(datagram: bytes, magic: bytes) -> Head | Rejection:
    """Read the head of a frame of the flow `magic`; nothing behind the name is looked at."""
    size = len(datagram)
    if size > MAX_DATAGRAM_BYTES:
        return Rejection(Reason.OVERSIZE, f"{size} bytes")
    if size < HEADER_BYTES:
        return Rejection(Reason.TRUNCATED, f"{size} bytes")
    found, version, seq, name_bytes = _HEADER.unpack_from(datagram)
    if found != magic:
        return Rejection(Reason.WRONG_MAGIC)
    if version not in _VERSIONS[magic]:
        return Rejection(Reason.WRONG_VERSION, str(version))
    if not 0 < name_bytes <= MAX_ROBOT_ID_BYTES:
        return Rejection(Reason.BAD_ROBOT_ID, f"{name_bytes} bytes")
    body_at = HEADER_BYTES + name_bytes
    if body_at > size:
        return Rejection(Reason.TRUNCATED, f"name of {name_bytes} bytes in a frame of {size}")
    return Head(version, seq, datagram[HEADER_BYTES:body_at], datagram, body_at)


def robot_id_of(head: Head) -> str | Rejection:
    """Decode the name. A receiver that compared `head.name` with its own knows it already."""
    try:
        robot_id = head.name.decode()
    except UnicodeDecodeError:
        return Rejection(Reason.BAD_ROBOT_ID, "not UTF-8")
    return robot_id if is_robot_id(robot_id) else Rejection(Reason.BAD_ROBOT_ID, "not printable")
