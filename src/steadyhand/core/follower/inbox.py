"""A follower's inbox as values: every call that can change it or be answered by it, ready for a log.

The follower is a pure function of these. A log that holds them in their order, and a snapshot to begin
with, can be executed again (`reexecution`). Times are the ones handed in, on the local monotonic clock;
wall time is kept only where the call was given it. Never a key (R17): a sealed datagram is kept as it
was behind its seal, with what the seal came to.
"""

from typing import Final

import msgspec

from steadyhand.core.follower.inputs import ControlCommand
from steadyhand.core.safety.writes import WriteOutcome
from steadyhand.ground.measured_arm import MeasuredArm
from steadyhand.wire.rejections import Reason, Rejection
from steadyhand.wire.sealing import KEY_BYTES, SEAL_OVERHEAD_BYTES, Unsealed

AUTHENTIC: Final = "authentic"


class DatagramIn(msgspec.Struct, frozen=True, kw_only=True, tag=True, gc=False):
    """`FollowerCore.receive`: one datagram off the action socket, opened.

    Attributes:
        now_ns: when it was handed in.
        wall_s: handed in beside it.
        datagram: as it came; of one whose seal held, its head alone.
        seal: what its seal came to: "authentic", the `Reason` of a refusal, or "" where none was asked.
        session_id: of the authentic one; else 0.
        counter: likewise.
        bundle: what was behind the seal; else empty.
    """

    now_ns: int
    wall_s: float
    datagram: bytes
    seal: str = ""
    session_id: int = 0
    counter: int = 0
    bundle: bytes = b""

    def judged(self) -> Unsealed | Rejection | None:
        """The seal's verdict as `wire.sealing` gave it."""
        if not self.seal:
            return None
        if self.seal == AUTHENTIC:
            return Unsealed(self.session_id, self.counter, self.bundle)
        return Rejection(Reason(self.seal))


def datagram_in(
    datagram: bytes, unsealed: Unsealed | Rejection | None, *, now_ns: int, wall_s: float
) -> DatagramIn:
    """The record of a datagram that `receive` has just taken.

    Args:
        datagram: as it came.
        unsealed: `ingress.last_unsealed`; nothing is decrypted twice.
        now_ns: as handed to `receive`.
        wall_s: likewise.
    """
    if unsealed is None:
        return DatagramIn(now_ns=now_ns, wall_s=wall_s, datagram=datagram)
    if isinstance(unsealed, Rejection):
        return DatagramIn(now_ns=now_ns, wall_s=wall_s, datagram=datagram, seal=unsealed.reason.value)
    head_bytes = len(datagram) - len(unsealed.plaintext) - SEAL_OVERHEAD_BYTES
    return DatagramIn(
        now_ns=now_ns,
        wall_s=wall_s,
        datagram=datagram[:head_bytes],
        seal=AUTHENTIC,
        session_id=unsealed.session_id,
        counter=unsealed.counter,
        bundle=unsealed.plaintext,
    )


class ActionIn(msgspec.Struct, frozen=True, kw_only=True, tag=True, gc=False):
    """`FollowerCore.receive_action`: one action off the ordered stream."""

    now_ns: int
    wall_s: float
    session_id: int
    payload: bytes


class MeasuredIn(msgspec.Struct, frozen=True, kw_only=True, tag=True, gc=False):
    """`FollowerCore.observe`: a frame of the state feed; its time is `measured.arrival_ns`."""

    measured: MeasuredArm


class WriteIn(msgspec.Struct, frozen=True, kw_only=True, tag=True, gc=False):
    """`FollowerCore.note_write`: what became of the last frame."""

    now_ns: int
    outcome: WriteOutcome
    detail: str = ""


class ControlIn(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """`FollowerCore.control`: one request."""

    now_ns: int
    command: ControlCommand


class RefusalIn(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A request that its node refused before the core was asked; the core tells it (`arm.refuse`)."""

    now_ns: int
    request: str
    reason: str


class SessionIn(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """`FollowerCore.open_session`, without the key.

    Attributes:
        key_bytes: length of the key; a wrong one is refused again.
    """

    now_ns: int
    session_id: int
    operator: str
    take_over: bool = False
    key_bytes: int = KEY_BYTES


class SessionEndIn(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """`FollowerCore.close_session`."""

    now_ns: int
    operator: str


class TickIn(msgspec.Struct, frozen=True, kw_only=True, tag=True, gc=False):
    """`FollowerCore.tick`."""

    now_ns: int


class EventsIn(msgspec.Struct, frozen=True, kw_only=True, tag=True, gc=False):
    """`FollowerCore.take_events`: an input too, since what is not taken is dropped in the end."""

    now_ns: int


class ReportIn(msgspec.Struct, frozen=True, kw_only=True, tag=True, gc=False):
    """`FollowerCore.report`: asking changes nothing, but the answer is recorded."""

    now_ns: int
    wall_s: float


Inbox = (
    DatagramIn
    | ActionIn
    | MeasuredIn
    | WriteIn
    | ControlIn
    | RefusalIn
    | SessionIn
    | SessionEndIn
    | TickIn
    | EventsIn
    | ReportIn
)
