"""Setpoint and feedback, paired by stamp: what was asked for, what was sent, where the arm was.

The outputs of one tick bear one stamp, so the pairing is exact and needs no interpolation; how old the
measured state was by then stands beside it.
"""

from collections.abc import Iterator
from typing import Any, Final

from steadyhand.core.follower.outputs import Released, SendJoints
from steadyhand.ground.stamps import ms_from_ns, s_from_ns
from steadyhand.runlog.arm_layouts import StateOut
from steadyhand.runlog.channels import COMMAND_CHANNEL, REFERENCE_CHANNEL, STATE_CHANNEL
from steadyhand.runlog.rows import Row, spread
from steadyhand.runlog.scan import Record

FEEDBACK: Final = "setpoint_feedback"
"""Name of the table."""

_PAIRED: Final = (STATE_CHANNEL, COMMAND_CHANNEL, REFERENCE_CHANNEL)


class Feedback:
    """Takes records in the order of the file; gives a row for each tick that released or sent anything."""

    def __init__(self) -> None:
        self._stamp_ns: int | None = None
        self._state: StateOut | None = None
        self._released: Released | None = None
        self._sent: SendJoints | None = None

    def take(self, record: Record, value: Any) -> Iterator[Row]:
        """Take one record; the row of the tick before, where this one begins another."""
        if record.channel not in _PAIRED:
            return
        if record.time_ns != self._stamp_ns:
            yield from self.rest()
            self._stamp_ns = record.time_ns
        match value:
            case StateOut():
                self._state = value
            case Released():
                self._released = value
            case SendJoints():
                self._sent = value

    def rest(self) -> Iterator[Row]:
        """The row of the last tick."""
        stamp_ns, state, released, sent = self._stamp_ns, self._state, self._released, self._sent
        self._stamp_ns = self._state = self._released = self._sent = None
        if stamp_ns is None or (released is None and sent is None):
            return
        row: Row = {"t_ns": stamp_ns, "t_s": s_from_ns(stamp_ns)}
        if sent is not None:
            row |= {"seq": sent.seq, "kind": sent.kind.value}
        if released is not None:
            row |= spread("setpoint_deg", released.target_deg)
        if sent is not None:
            row |= spread("command_deg", sent.joints_deg)
        if state is not None:
            row["measured_age_ms"] = ms_from_ns(stamp_ns - state.arrival_ns)
            row |= spread("measured_deg", state.joints_deg)
        yield row
