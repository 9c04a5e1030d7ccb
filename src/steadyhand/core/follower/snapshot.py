"""The bytes of a follower's snapshot (R17); what is in them is `snapshot_classes`' to say.

Bytes: a head (magic, version, CRC-32 of what follows, big-endian), then MessagePack of
[digest of the settings, safety block in force, parts]. The settings themselves are not in it: whoever
restores has the log's configuration, and the digest says whether it is the one.
"""

import hashlib
import struct
import zlib
from typing import Any, Final, Protocol

import msgspec

from steadyhand.core.follower.settings import FollowerSettings
from steadyhand.core.follower.stream import Stream
from steadyhand.core.safety.policy import build_envelope
from steadyhand.core.snapshot import Snapshots
from steadyhand.core.snapshot_values import SnapshotError
from steadyhand.ground.config_safety import SafetyConfig
from steadyhand.ground.kinematics import Chain

MAGIC: Final = b"S7FS"
VERSION: Final = 1
_HEAD: Final = struct.Struct("!4sHI")
_Body = tuple[bytes, SafetyConfig, list[Any]]
_unpack: Final = msgspec.msgpack.Decoder(_Body).decode
DIGEST_BYTES: Final = 16


class Snapshotted(Protocol):
    """What this file has to know of a FollowerCore."""

    settings: FollowerSettings
    stream: Stream


def take_snapshot(snapshots: Snapshots, core: Snapshotted) -> bytes:
    """Canonical bytes of everything the core remembers.

    Raises:
        SnapshotError: it holds something of a class that this file does not name.
    """
    safety = msgspec.to_builtins(core.stream.safety)
    body = _pack([settings_digest(core.settings), safety, snapshots.take(core)])
    return _HEAD.pack(MAGIC, VERSION, zlib.crc32(body)) + body


def put_snapshot(snapshots: Snapshots, core: Snapshotted, snapshot: bytes) -> None:
    """Fill a fresh core. A safety block that was edited since has another envelope; it is built first.

    Raises:
        SnapshotError: damaged, of another version, or of other settings.
    """
    digest, in_force, parts = _opened(snapshot)
    settings = core.settings
    if digest != settings_digest(settings):
        raise SnapshotError("the snapshot is of a follower with other settings")
    if in_force != settings.safety:
        core.stream.envelope = build_envelope(in_force, settings.arm, settings.policy)
    snapshots.put(core, parts)


def settings_digest(settings: FollowerSettings) -> bytes:
    """Whether two followers were built from the same settings."""
    return hashlib.blake2b(_pack(settings), digest_size=DIGEST_BYTES).digest()


def _opened(snapshot: bytes) -> _Body:
    if len(snapshot) < _HEAD.size:
        raise SnapshotError(f"a snapshot of {len(snapshot)} bytes")
    magic, version, checksum = _HEAD.unpack_from(snapshot)
    if magic != MAGIC:
        raise SnapshotError("not a snapshot of a follower")
    if version != VERSION:
        raise SnapshotError(f"unsupported snapshot version {version}")
    body = snapshot[_HEAD.size :]
    if zlib.crc32(body) != checksum:
        raise SnapshotError("the snapshot is damaged")
    try:
        return _unpack(body)
    except msgspec.MsgspecError as error:
        raise SnapshotError(f"unreadable: {error}") from error


def _plain(value: object) -> object:
    """What kinematics are made of; the one thing in the settings that is no struct."""
    if isinstance(value, Chain):
        return [value.rows, value.tool_offset_m, value.tool_zyx_deg]
    raise SnapshotError(f"a {type(value).__name__} is not among what a snapshot can hold")


_pack: Final = msgspec.msgpack.Encoder(enc_hook=_plain, order="deterministic").encode
