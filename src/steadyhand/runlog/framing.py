"""The bytes around a payload: file header, record header, checkpoint (document 002, R15).

Little-endian throughout. A file is its header and then records, one behind the other; a checkpoint is a
record on channel 0. The bytes from the end of one checkpoint to the end of the next are a *segment*; the
first one begins with the file header. What a checkpoint's CRC covers is its whole segment but the CRC.
"""

import struct
from typing import Final
from zlib import crc32

import msgspec

from steadyhand.ground.stamps import NS_PER_S
from steadyhand.runlog.faults import (
    LogFault,
    LogHeaderCut,
    NotARunLog,
    UnsupportedLogFlags,
    UnsupportedLogVersion,
)

MAGIC: Final = b"\x89SHLOG\r\n"
"""The first byte is no text and the line end is the one that text transfers change (PNG's device)."""

LOG_VERSION: Final = 2
FLAGS: Final = 0

CHECKPOINT_CHANNEL: Final = 0
SYNC: Final = bytes.fromhex("9e3d1f7ac5e8420bb6d15c97f3a02e84")
"""Sixteen bytes that no payload holds by chance."""

CHECKPOINT_EVERY_NS: Final = NS_PER_S
CHECKPOINT_EVERY_BYTES: Final = 64 * 1024
"""R15: at most so far apart. A record longer than that has a segment to itself."""

MAX_PAYLOAD_BYTES: Final = 1 << 20
"""A snapshot of the follower is tens of kilobytes; a length above this is a broken one."""

FILE_HEADER: Final = struct.Struct("<8sHHI")
RECORD_HEADER: Final = struct.Struct("<HIq")
_CHECKPOINT: Final = struct.Struct("<16sQQqI")

FILE_HEADER_BYTES: Final = FILE_HEADER.size
RECORD_HEADER_BYTES: Final = RECORD_HEADER.size
CHECKPOINT_PAYLOAD_BYTES: Final = _CHECKPOINT.size
CHECKPOINT_BYTES: Final = RECORD_HEADER_BYTES + CHECKPOINT_PAYLOAD_BYTES
CRC_BYTES: Final = 4

MAX_SEGMENT_BYTES: Final = (
    FILE_HEADER_BYTES
    + max(CHECKPOINT_EVERY_BYTES, RECORD_HEADER_BYTES + MAX_PAYLOAD_BYTES)
    + CHECKPOINT_BYTES
)
"""What a reader has to hold at once."""


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a checkpoint says.

    Attributes:
        offset: where its record begins in the file. A pattern that stands elsewhere is none of ours.
        records: how many records precede it in the file, checkpoints not counted.
        time_ns: when it was written, monotonic clock.
        wall_ns: the same moment by the wall clock, ns since 1970; 0 in a simulated run (R16).
        crc: CRC-32 (zlib's) of the segment, up to this field.
    """

    offset: int
    records: int
    time_ns: int
    wall_ns: int
    crc: int


def file_header() -> bytes:
    """The header of a new log."""
    return FILE_HEADER.pack(MAGIC, LOG_VERSION, FLAGS, 0)


def check_file_header(data: bytes, name: str) -> None:
    """Refuse a file that this build does not read, naming why.

    Args:
        data: the first `FILE_HEADER_BYTES` of the file, or all it has.
        name: of the file, for the error.

    Raises:
        NotARunLog, LogHeaderCut, UnsupportedLogVersion, UnsupportedLogFlags.
    """
    fault = header_fault(data, name)
    if fault is not None:
        raise fault


def header_fault(data: bytes, name: str) -> LogFault | None:
    """Why a file with this beginning is refused, or None."""
    if not MAGIC.startswith(data[: len(MAGIC)]):
        return NotARunLog("not a run log", where=name)
    if len(data) < FILE_HEADER_BYTES:
        return LogHeaderCut("cut before its first record", where=name)
    _, version, flags, reserved = FILE_HEADER.unpack_from(data)
    if version != LOG_VERSION:
        return UnsupportedLogVersion(
            f"unsupported log version {version}", where=name, hint=f"this build reads version {LOG_VERSION}"
        )
    if flags != FLAGS or reserved:
        return UnsupportedLogFlags(f"unsupported log flags {flags:#x}, {reserved:#x}", where=name)
    return None


def checkpoint_bytes(*, offset: int, records: int, time_ns: int, wall_ns: int, crc_before: int) -> bytes:
    """One checkpoint record, closed over what precedes it in its segment.

    Args:
        offset: where it will stand in the file.
        records: written so far.
        time_ns: monotonic clock.
        wall_ns: wall clock, 0 for none.
        crc_before: CRC-32 of the segment so far.
    """
    header = RECORD_HEADER.pack(CHECKPOINT_CHANNEL, CHECKPOINT_PAYLOAD_BYTES, time_ns)
    open_ended = header + _CHECKPOINT.pack(SYNC, offset, records, wall_ns, 0)[:-CRC_BYTES]
    return open_ended + crc32(open_ended, crc_before).to_bytes(CRC_BYTES, "little")


def read_checkpoint(data: bytes, at: int, offset: int) -> Checkpoint | None:
    """The checkpoint whose record begins at `data[at]`, or None where there is none.

    Form only: length, pattern, and that it stands where it was written. Its CRC is not looked at.

    Args:
        data: bytes of the file.
        at: index in `data`.
        offset: of the same place in the file.
    """
    if at + CHECKPOINT_BYTES > len(data):
        return None
    channel, length, time_ns = RECORD_HEADER.unpack_from(data, at)
    if channel != CHECKPOINT_CHANNEL or length != CHECKPOINT_PAYLOAD_BYTES:
        return None
    sync, stands_at, records, wall_ns, crc = _CHECKPOINT.unpack_from(data, at + RECORD_HEADER_BYTES)
    if sync != SYNC or stands_at != offset:
        return None
    return Checkpoint(offset=stands_at, records=records, time_ns=time_ns, wall_ns=wall_ns, crc=crc)
