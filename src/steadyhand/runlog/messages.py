"""What a log of an arm holds beyond the core's own values.

The inputs are `core.follower.inbox`, as they are: what a replay decodes it can hand in at once, and a key
is nowhere in them (R17).
"""

from enum import StrEnum

import msgspec

from steadyhand.core.follower.outputs import CancelProbe, EndStream, StartProbe, StartStream, StopMotion
from steadyhand.core.safety.latch import StopCause


class SnapshotIn(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """The core's whole state, from which a replay can start (R17).

    Attributes:
        why: "head", "period", "gap" or "black box".
        state: `FollowerCore.snapshot()`, canonical bytes.
    """

    why: str
    state: bytes


class NoteKind(StrEnum):
    """What a recorder has to say of itself."""

    STARTED = "started"
    ROTATED = "rotated"
    CLOCK_STEP = "clock_step"
    DISK_LOW = "disk_low"
    NOT_RECORDED = "not_recorded"
    ENDED = "ended"


class Gap(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Records that the recorder never saw: nothing can be replayed across them.

    Attributes:
        source: where they were lost ("ring", "local link").
        missed: how many, by the sequence numbers on both sides.
        after_ns: time of the last one before.
        before_ns: time of the first one after.
    """

    source: str
    missed: int
    after_ns: int
    before_ns: int


class RecorderNote(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Something that happened to the recording and not to the arm."""

    kind: NoteKind
    detail: str = ""


Note = Gap | RecorderNote


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """What differs between two runs of the same seed; simulated runs leave it out (R16).

    Attributes:
        host: name of the machine.
        pid: of the recorded process.
        wall_s: when the recording began.
        revision: of the source, as git has it; "" where nobody knows.
        machine: processor, kernel, Python, by name.
    """

    host: str
    pid: int
    wall_s: float
    revision: str = ""
    machine: dict[str, str] = msgspec.field(default_factory=dict)


class ModeOut(msgspec.Struct, frozen=True, kw_only=True):
    """Where the arm stands, written when it changes.

    Attributes:
        state: of the engage machine.
        mode: of the mode machine (R19); "" where none watches.
        operator: who holds the session, "" for nobody.
        cause: what stopped the arm, None unless it is stopped.
    """

    state: str
    mode: str = ""
    operator: str = ""
    cause: StopCause | None = None


DriverCall = StartStream | EndStream | StopMotion | StartProbe | CancelProbe
"""Commands for the driver that are no frame; frames are on the command channel."""


class ScheduleOut(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """When the core wants its next tick, on the grid that R2's trim moves."""

    next_tick_ns: int
