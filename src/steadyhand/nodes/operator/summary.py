"""What became of one stream, for the person and for a file."""

import time

import msgspec

from steadyhand.core.operator.outputs import LeadVerdict
from steadyhand.nodes.operator.pacing import Pace, PaceReport
from steadyhand.nodes.operator.view import OperatorView


class StreamSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One stream that came to its end.

    Attributes:
        sent: setpoints that left, way and wait included.
        dropped: setpoints that this host was too slow to send.
        approach_s: seconds on the way to the first pose.
        duration_s: seconds from there to the last pose's arrival.
        settled: whether the arm was seen at the last pose.
        pace: how punctual the poses left.
        command_latency_ms: leader to follower by wall clocks, at the end; None: not known.
        playout: the follower's account of its buffer at the end; empty in passthrough.
    """

    sent: int
    dropped: int
    approach_s: float
    duration_s: float
    settled: bool
    pace: PaceReport
    command_latency_ms: float | None
    playout: dict[str, object]


class Tally:
    """Counts while a stream runs.

    Args:
        pace: one grid for the way to the first pose, the motion and the wait at its end.
    """

    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self.sent = 0
        self.dropped = 0
        self.settled = False
        self._began_s = self._there_s = time.monotonic()

    def begin(self) -> None:
        """The first pose is reached: the motion begins."""
        self._there_s = time.monotonic()

    def count(self, verdict: LeadVerdict) -> None:
        """One setpoint."""
        if verdict is LeadVerdict.SENT:
            self.sent += 1
        else:
            self.dropped += 1

    def summary(self, view: OperatorView) -> StreamSummary:
        """The account, with the follower's part of it."""
        playout = {} if view.state is None else view.state.extras.get("playout")
        return StreamSummary(
            sent=self.sent,
            dropped=self.dropped,
            approach_s=round(self._there_s - self._began_s, 3),
            duration_s=round(time.monotonic() - self._there_s, 3),
            settled=self.settled,
            pace=self.pace.report(),
            command_latency_ms=view.report.command_latency_ms,
            playout=playout if isinstance(playout, dict) else {},
        )
