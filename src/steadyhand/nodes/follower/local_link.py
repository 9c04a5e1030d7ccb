"""What the follower's two processes say to each other, over one local datagram socket.

Requests go from the control plane to the data plane and are answered; an e-stop is applied on
arrival, before any queue. The data plane asks for the blocking half of a stop. Records, which are
many and may be missed, take the ring instead (`records`).

Nothing old is obeyed: a request carries when it was made, on this host's monotonic clock, and one
that waited longer than `STALE_REQUEST_NS` (for a data plane that was being restarted, say) is
refused. An e-stop is never too old.
"""

from __future__ import annotations

import socket
from typing import Final

import msgspec

from steadyhand.core.follower.inputs import ControlCommand, EmergencyStop, Reply
from steadyhand.core.safety.latch import StopCause
from steadyhand.ground.stamps import NS_PER_S

STALE_REQUEST_NS: Final = NS_PER_S // 2
MAX_MESSAGE_BYTES: Final = 65_536


class Ask(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Carry out one control command and answer with its `request_id`."""

    request_id: int
    sent_ns: int
    command: ControlCommand


class OpenSession(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Open a session for an operator; both sides have proved the key to each other."""

    request_id: int
    sent_ns: int
    session_id: int
    command_key: bytes
    operator: str
    take_over: bool = False


class CloseSession(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The operator has gone."""

    request_id: int
    sent_ns: int
    operator: str


class StreamAction(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """One action off the ordered stream, authenticated by the control plane. Not answered."""

    sent_ns: int
    session_id: int
    payload: bytes


class Answered(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The data plane's answer to one request."""

    request_id: int
    reply: Reply


class StopWanted(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Call the blocking StopMotion now: the data plane has ended the stream already."""

    at_ns: int
    reason: str


class Hello(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A data plane came up: sessions of the one before are over.

    Attributes:
        granted: what the machine granted it, one line each.
        stopped_by: the cause it came up latched with, None at the first start.
        udp_port: where it listens for datagrams.
    """

    at_ns: int
    pid: int
    granted: tuple[str, ...]
    stopped_by: StopCause | None
    udp_port: int


ToDataPlane = Ask | OpenSession | CloseSession | StreamAction
ToControlPlane = Answered | StopWanted | Hello

_encode: Final = msgspec.msgpack.Encoder().encode
_decode_request: Final = msgspec.msgpack.Decoder(ToDataPlane).decode
_decode_answer: Final = msgspec.msgpack.Decoder(ToControlPlane).decode


def socket_pair() -> tuple[socket.socket, socket.socket]:
    """(data plane's end, control plane's end): whole messages, in order, never blocking.

    The launcher keeps both, so that a process that was restarted finds its end where it was.
    """
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for end in ends:
        end.setblocking(False)
    return ends


def send(end: socket.socket, message: ToDataPlane | ToControlPlane) -> bool:
    """Send one message; False where the other end takes none right now or is gone."""
    try:
        end.send(_encode(message))
    except OSError:
        return False
    return True


def receive_request(end: socket.socket) -> ToDataPlane | None:
    """The next request, None where there is none. What cannot be read is skipped: a programmer's error."""
    data = _receive(end)
    return None if data is None else _decode_request(data)


def receive_answer(end: socket.socket) -> ToControlPlane | None:
    """The next message of the data plane, None where there is none."""
    data = _receive(end)
    return None if data is None else _decode_answer(data)


def is_too_old(request: ToDataPlane, now_ns: int) -> bool:
    """Whether a request waited too long to be obeyed; an e-stop never has."""
    if isinstance(request, Ask) and isinstance(request.command, EmergencyStop):
        return False
    return now_ns - request.sent_ns > STALE_REQUEST_NS


def _receive(end: socket.socket) -> bytes | None:
    try:
        data = end.recv(MAX_MESSAGE_BYTES)
    except OSError:
        return None
    return data or None
