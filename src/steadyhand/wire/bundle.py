"""The bundle: the current setpoint and as many previous ones as fit (document 000 §11).

The body of a version 2 frame and the plaintext of a version 3 frame. A setpoint is only truly
lost when its datagram and all the following ones that repeat it die. Entries stay bytes here: a
receiver drops the copies it has seen by their number, before their protobuf is parsed (R4).
"""

import struct
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from steadyhand.ground.seq import SEQ_MASK
from steadyhand.wire.limits import BUNDLE_RING_DEPTH, MAX_BUNDLE_ENTRIES
from steadyhand.wire.rejections import Reason, Rejection

# Big-endian: steps back from the frame's sequence number u16, length of the payload u16.
_ENTRY: Final = struct.Struct("!HH")
COUNT_BYTES: Final = 1
ENTRY_OVERHEAD_BYTES: Final = _ENTRY.size
_MAX_STEPS_BACK: Final = (1 << 16) - 1


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One setpoint in a frame: its wire number and its payload, still to be decoded."""

    seq: int
    payload: bytes


def bundle_entries_within_budget(
    current: Entry,
    previous: Iterable[Entry],
    *,
    budget_bytes: int,
    copies_max: int = BUNDLE_RING_DEPTH,
) -> list[Entry]:
    """Choose what a bundle carries: the current entry, then previous ones while the budget lasts.

    Stops at the first that does not fit rather than skipping it: an older copy is worth less than
    the newer one it would replace. The current entry is always there, whether or not it fits;
    refusing it is the frame's (`FrameTooLarge`).

    Args:
        current: the newest setpoint.
        previous: earlier ones, newest first.
        budget_bytes: room for the whole bundle, count byte included.
        copies_max: at most so many previous ones, 0–10 (R4's `redundancy`).
    """
    chosen = [current]
    size = COUNT_BYTES + ENTRY_OVERHEAD_BYTES + len(current.payload)
    for entry in previous:
        size += ENTRY_OVERHEAD_BYTES + len(entry.payload)
        steps_back = (current.seq - entry.seq) & SEQ_MASK
        if size > budget_bytes or len(chosen) > copies_max or steps_back > _MAX_STEPS_BACK:
            break
        chosen.append(entry)
    return chosen


def encode_body(entries: Sequence[Entry]) -> bytes:
    """Write a bundle, newest entry first.

    Raises:
        ValueError: no entry, more than MAX_BUNDLE_ENTRIES, an empty payload, or numbers that do
            not go strictly back within 65535 steps of the first.
    """
    if not 0 < len(entries) <= MAX_BUNDLE_ENTRIES:
        raise ValueError(f"a bundle has 1 to {MAX_BUNDLE_ENTRIES} entries, not {len(entries)}")
    newest = entries[0].seq
    parts = [bytes((len(entries),))]
    last_back = -1
    for entry in entries:
        back = (newest - entry.seq) & SEQ_MASK
        if not last_back < back <= _MAX_STEPS_BACK:
            raise ValueError(f"entry {entry.seq} does not go back from {newest} in its place")
        if not entry.payload:
            raise ValueError(f"entry {entry.seq} has no payload")
        last_back = back
        parts += (_ENTRY.pack(back, len(entry.payload)), entry.payload)
    return b"".join(parts)


def decode_body(body: bytes, seq: int) -> tuple[Entry, ...] | Rejection:
    """Read a bundle of the frame numbered `seq`; payloads are cut out, not parsed.

    One reading only: the first entry is the frame's own number, each further one is strictly
    older, and nothing follows the last.
    """
    size = len(body)
    if size < COUNT_BYTES:
        return Rejection(Reason.TRUNCATED, "no bundle")
    count = body[0]
    if not 0 < count <= MAX_BUNDLE_ENTRIES:
        return Rejection(Reason.BUNDLE_COUNT, str(count))
    entries: list[Entry] = []
    at = COUNT_BYTES
    last_back = -1
    for place in range(count):
        payload_at = at + ENTRY_OVERHEAD_BYTES
        if payload_at > size:
            return Rejection(Reason.TRUNCATED, f"entry {place} of {count}")
        back, length = _ENTRY.unpack_from(body, at)
        at = payload_at + length
        if at > size:
            return Rejection(Reason.TRUNCATED, f"entry {place} of {count}")
        if back <= last_back or (place == 0 and back != 0):
            return Rejection(Reason.BUNDLE_ORDER, f"entry {place} is {back} steps back")
        if length == 0:
            return Rejection(Reason.EMPTY_PAYLOAD, f"entry {place} of {count}")
        last_back = back
        entries.append(Entry((seq - back) & SEQ_MASK, body[payload_at:at]))
    if at != size:
        return Rejection(Reason.TRAILING_BYTES, f"{size - at} bytes")
    return tuple(entries)
