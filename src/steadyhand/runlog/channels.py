"""The channels: number, name, payload. Inputs below 16, a tick's outputs from 16 on (document 002, R16).

A log carries its own table in the schema record, with a hash per channel, so that a reader never takes
one layout for another. Numbers are never given to another meaning; a channel that is new takes a new one.
"""

from typing import Any, Final

import msgspec

from steadyhand.core.follower import inbox
from steadyhand.core.follower.inputs import Reply
from steadyhand.core.follower.outputs import FollowerEvent
from steadyhand.ground.robot_state import MAX_JOINTS
from steadyhand.runlog import messages
from steadyhand.runlog.arm_layouts import COMMAND, RELEASED, STATE
from steadyhand.runlog.codec import Codec, JsonCodec, PackedCodec
from steadyhand.runlog.faults import CountBeyondBounds, PayloadFault
from steadyhand.runlog.layouts import layout_hash
from steadyhand.runlog.planner_reference import PLANNER_REFERENCE

SCHEMA_CHANNEL: Final = 1
PROVENANCE_CHANNEL: Final = 2
NOTES_CHANNEL: Final = 11
STATE_CHANNEL: Final = 16
COMMAND_CHANNEL: Final = 17
REFERENCE_CHANNEL: Final = 18

FIRST_OUTPUT: Final = 16
MAX_CHANNEL: Final = 0xFFFF


class Channel(msgspec.Struct, frozen=True):
    """One channel of a stack.

    Attributes:
        number: in record headers.
        name: in tables and file names.
        codec: of its payload.
        schema_hash: of the codec's layout.
    """

    number: int
    name: str
    codec: Codec
    schema_hash: str

    @property
    def is_input(self) -> bool:
        """Whether a replay feeds it in rather than compares it."""
        return SCHEMA_CHANNEL < self.number < FIRST_OUTPUT


def channel(number: int, name: str, codec: Codec) -> Channel:
    """One entry of a stack's table."""
    return Channel(number, name, codec, layout_hash(codec.layout))


def _joints_in_bounds(given: inbox.MeasuredIn) -> PayloadFault | None:
    """As many joints as a frame can carry; their values are the controller's, NaN included."""
    arm = given.measured
    if 1 <= len(arm.joints_deg) <= MAX_JOINTS and len(arm.speeds_deg_s) in (0, len(arm.joints_deg)):
        return None
    return CountBeyondBounds(f"{len(arm.joints_deg)} joints and {len(arm.speeds_deg_s)} speeds")


_Asked = inbox.ControlIn | inbox.RefusalIn
_Session = inbox.SessionIn | inbox.SessionEndIn
_Turn = inbox.TickIn | inbox.EventsIn | inbox.ReportIn

_PROVENANCE: Final = channel(
    PROVENANCE_CHANNEL, "provenance", PackedCodec[messages.Provenance](messages.Provenance)
)
_NOTES: Final = channel(NOTES_CHANNEL, "notes", PackedCodec[messages.Note](messages.Note))

ARM: Final = (
    _PROVENANCE,
    channel(3, "datagram_in", PackedCodec[inbox.DatagramIn](inbox.DatagramIn)),
    channel(4, "control_in", PackedCodec[_Asked](_Asked)),
    channel(5, "measured_in", PackedCodec[inbox.MeasuredIn](inbox.MeasuredIn, _joints_in_bounds)),
    channel(6, "action_in", PackedCodec[inbox.ActionIn](inbox.ActionIn)),
    channel(7, "session_in", PackedCodec[_Session](_Session)),
    channel(8, "tick_in", PackedCodec[_Turn](_Turn)),
    channel(9, "write_in", PackedCodec[inbox.WriteIn](inbox.WriteIn)),
    channel(10, "snapshot", PackedCodec[messages.SnapshotIn](messages.SnapshotIn)),
    _NOTES,
    channel(STATE_CHANNEL, "state", STATE),
    channel(COMMAND_CHANNEL, "command", COMMAND),
    channel(REFERENCE_CHANNEL, "reference", RELEASED),
    channel(19, "shaped", COMMAND),
    channel(20, "events", PackedCodec[FollowerEvent](FollowerEvent)),
    channel(21, "modes", PackedCodec[messages.ModeOut](messages.ModeOut)),
    channel(22, "state_report", JsonCodec[dict[str, Any]](dict[str, Any])),
    channel(23, "driver_calls", PackedCodec[messages.DriverCall](messages.DriverCall)),
    channel(24, "replies", PackedCodec[Reply](Reply)),
    channel(25, "schedule", PackedCodec[messages.ScheduleOut](messages.ScheduleOut)),
)
"""What a log of a follower holds."""

FLIGHT: Final = (
    _PROVENANCE,
    _NOTES,
    channel(REFERENCE_CHANNEL, "reference", PLANNER_REFERENCE),
)
"""What a log of a racing drone holds so far: its reference."""

STACKS: Final[dict[str, tuple[Channel, ...]]] = {"arm": ARM, "flight": FLIGHT}


def numbered(stack: str) -> dict[int, Channel]:
    """A stack's channels by number; none for a stack that this build does not know."""
    return {one.number: one for one in STACKS.get(stack, ())}
