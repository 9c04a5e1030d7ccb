"""What the data plane tells of every tick: one record, one slot of the ring (R13).

Whoever reads the ring (control plane, `steadyhand status`, the demo's report, a recorder) reads
these; none of them can delay a tick. The record says what came in since the last tick, what the
core decided, what was written and how long it took.
"""

from __future__ import annotations

from typing import Final

import msgspec

from steadyhand.core.follower.outputs import FollowerEvent, Released, SendJoints
from steadyhand.core.safety.latch import StopCause
from steadyhand.edge.ring_layout import RingShape
from steadyhand.ground.measured_arm import MeasuredArm
from steadyhand.ground.stamps import NS_PER_S

SLOT_BYTES: Final = 16_384
"""A telemetry state is at most 1232 bytes; events of one tick fit a dozen times over."""

RECORDED_NS: Final = 2 * NS_PER_S
"""R13: two seconds of records, so that a recorder may be slow for that long."""


class TickRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One tick of the data plane.

    Attributes:
        tick: counts from 1 in this process.
        pid: of the data plane; another one is another process, and latched.
        at_ns: when the tick ran, this host's monotonic clock.
        wall_s: the same moment by the wall clock, for display.
        due_ns: when it was due.
        engage: the engage machine's state.
        operator: who holds the session, "" for nobody.
        stopped_by: what stopped the arm, None unless it is stopped.
        released: what the buffer let go.
        sent: what was written to the controller, None in a tick that wrote nothing.
        sent_ns: when the write returned; 0 without one.
        write: TAKEN, TRANSIENT or FATAL of that write; "" without one.
        measured: the newest state frame, where one came since the last tick.
        depth: setpoints queued after the tick, 0 in passthrough.
        target_depth: the buffer's target.
        held: whether a streaming tick released nothing.
        arrived: datagrams read since the last tick.
        events: what happened since the last tick, oldest first.
        state_json: the telemetry's state (`RobotState.to_dict` as JSON, fitted into a frame), where
            it was due this tick; else empty.
        counters: the buffer's account, in the ticks that carry `state_json`.
    """

    tick: int
    pid: int
    at_ns: int
    wall_s: float
    due_ns: int
    engage: str
    operator: str = ""
    stopped_by: StopCause | None = None
    released: Released | None = None
    sent: SendJoints | None = None
    sent_ns: int = 0
    write: str = ""
    measured: MeasuredArm | None = None
    depth: int = 0
    target_depth: int = 0
    held: bool = False
    arrived: int = 0
    events: tuple[FollowerEvent, ...] = ()
    state_json: bytes = b""
    counters: dict[str, int] = msgspec.field(default_factory=dict)


encode_record: Final = msgspec.msgpack.Encoder().encode
decode_record: Final = msgspec.msgpack.Decoder(TickRecord).decode


def ring_shape(period_ns: int) -> RingShape:
    """Deep enough for `RECORDED_NS` of ticks."""
    return RingShape(depth=max(64, RECORDED_NS // period_ns), slot_bytes=SLOT_BYTES)
