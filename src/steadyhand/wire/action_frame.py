"""S7A1: setpoints on their way to the arm, plain (versions 1 and 2) or sealed (version 3).

A receiver's order: `read_head`, compare `head.name` with its own, then by its policy `decode_plain`
(`auth: none`) or `decode_sealed`, then `decode_action` for each entry it has not seen.
"""

from collections.abc import Sequence

import msgspec

from steadyhand.ground.setpoint import Setpoint
from steadyhand.wire.action_payload import decode_action
from steadyhand.wire.bundle import Entry, decode_body, encode_body
from steadyhand.wire.head import (
    ACTION_MAGIC,
    HEADER_BYTES,
    VERSION_BUNDLE,
    VERSION_SEALED,
    VERSION_SINGLE,
    Head,
    encode_head,
    robot_id_of,
)
from steadyhand.wire.limits import (
    ACTION_BUNDLE_BUDGET_BYTES,
    MAX_DATAGRAM_BYTES,
    FrameTooLarge,
    within_datagram,
)
from steadyhand.wire.rejections import Reason, Rejection
from steadyhand.wire.sealing import SEAL_OVERHEAD_BYTES, Sealer, Unsealed, Unsealer


class ActionFrame(msgspec.Struct, frozen=True, gc=False):
    """A frame whose structure is sound; its payloads are still bytes.

    Attributes:
        version: 1, 2 or 3.
        robot_id: the arm it is meant for.
        entries: newest first; the first is the frame's own number.
        session_id: of the sealed session; 0 in versions 1 and 2, which have none (R3).
        counter: of the sealed datagram; 0 in versions 1 and 2.
    """

    version: int
    robot_id: str
    entries: tuple[Entry, ...]
    session_id: int = 0
    counter: int = 0

    @property
    def seq(self) -> int:
        """The frame's own sequence number: its newest entry's."""
        return self.entries[0].seq


def bundle_budget_bytes(robot_id: str) -> int:
    """Room for the bundle in a version 2 frame: 1200 bytes, or less beside a very long name."""
    return min(ACTION_BUNDLE_BUDGET_BYTES, MAX_DATAGRAM_BYTES - _head_bytes(robot_id))


def sealed_bundle_budget_bytes(robot_id: str) -> int:
    """Room for the bundle in a version 3 frame: 1232 bytes less all overhead (R11)."""
    return MAX_DATAGRAM_BYTES - _head_bytes(robot_id) - SEAL_OVERHEAD_BYTES


def _head_bytes(robot_id: str) -> int:
    return HEADER_BYTES + len(robot_id.encode())


def encode_single(*, robot_id: str, entry: Entry) -> bytes:
    """Write a version 1 frame: one setpoint, or an e-stop that every node takes.

    Raises:
        FrameTooLarge: the payload does not fit a datagram.
        ValueError: the payload is empty, or the name or number is none.
    """
    if not entry.payload:
        raise ValueError(f"setpoint {entry.seq} has no payload")
    datagram = encode_head(ACTION_MAGIC, VERSION_SINGLE, entry.seq, robot_id) + entry.payload
    return within_datagram(datagram, _what(robot_id, entry))


def encode_bundle(*, robot_id: str, entries: Sequence[Entry]) -> bytes:
    """Write a version 2 frame, newest entry first.

    Raises:
        FrameTooLarge: the entries exceed `bundle_budget_bytes`.
        ValueError: the entries are no bundle (`encode_body`), or the name or number is none.
    """
    body = _body_within(entries, bundle_budget_bytes(robot_id), robot_id)
    return encode_head(ACTION_MAGIC, VERSION_BUNDLE, entries[0].seq, robot_id) + body


def encode_sealed(*, robot_id: str, entries: Sequence[Entry], sealer: Sealer) -> bytes:
    """Write a version 3 frame, newest entry first; an e-stop is a bundle of one.

    Raises:
        FrameTooLarge: the entries exceed `sealed_bundle_budget_bytes`.
        ValueError: the entries are no bundle (`encode_body`), or the name or number is none.
        SealError: the session has used up its counter.
    """
    body = _body_within(entries, sealed_bundle_budget_bytes(robot_id), robot_id)
    return sealer.seal(encode_head(ACTION_MAGIC, VERSION_SEALED, entries[0].seq, robot_id), body)


def _body_within(entries: Sequence[Entry], room_bytes: int, robot_id: str) -> bytes:
    body = encode_body(entries)
    if len(body) > room_bytes:
        raise FrameTooLarge(_what(robot_id, entries[0]), size_bytes=len(body), room_bytes=room_bytes)
    return body


def _what(robot_id: str, entry: Entry) -> str:
    return f"setpoint {entry.seq} of {robot_id}"


def decode_plain(head: Head) -> ActionFrame | Rejection:
    """Read a version 1 or 2 frame. Its sender is whoever could reach the port (R11)."""
    if head.version == VERSION_SEALED:
        return Rejection(Reason.SEALED)
    robot_id = robot_id_of(head)
    if isinstance(robot_id, Rejection):
        return robot_id
    body = head.datagram[head.body_at :]
    if head.version == VERSION_BUNDLE:
        if len(body) > ACTION_BUNDLE_BUDGET_BYTES:
            return Rejection(Reason.OVERSIZE, f"bundle of {len(body)} bytes")
        entries = decode_body(body, head.seq)
        return entries if isinstance(entries, Rejection) else ActionFrame(head.version, robot_id, entries)
    if not body:
        return Rejection(Reason.EMPTY_PAYLOAD)
    return ActionFrame(head.version, robot_id, (Entry(head.seq, body),))


def decode_sealed(head: Head, unsealer: Unsealer) -> ActionFrame | Rejection:
    """Authenticate a version 3 frame, then read it. Nothing unauthentic is parsed."""
    unsealed = unsealer.unseal(head)
    return unsealed if isinstance(unsealed, Rejection) else decode_unsealed(head, unsealed)


def decode_unsealed(head: Head, unsealed: Unsealed) -> ActionFrame | Rejection:
    """Read a version 3 frame whose seal has held; what cannot be read is rejected as authentic."""
    robot_id = robot_id_of(head)
    if isinstance(robot_id, Rejection):
        return robot_id
    entries = decode_body(unsealed.plaintext, head.seq)
    if isinstance(entries, Rejection):
        return Rejection(entries.reason, entries.detail, authentic=True)
    return ActionFrame(head.version, robot_id, entries, unsealed.session_id, unsealed.counter)


def peek_estop(head: Head) -> Setpoint | None:
    """The e-stop in an unsealed version 1 frame, else None: what `estop_open` admits (R11).

    The one look into bytes that nobody vouches for, and only under that policy: stopping is
    always safe. Bundles are not looked into, since e-stops travel as single frames.
    """
    if head.version != VERSION_SINGLE:
        return None
    frame = decode_plain(head)
    if isinstance(frame, Rejection):
        return None
    setpoint = decode_action(frame.entries[0].payload, frame.robot_id)
    return setpoint if isinstance(setpoint, Setpoint) and setpoint.emergency_stop else None
