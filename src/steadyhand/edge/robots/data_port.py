"""The data port: what the data plane holds of a robot. Nothing here ever blocks.

The rules that every arm shares are here once: the lifecycle, the first-frame latch, the probe's
ownership of the channel, the finiteness check. A driver fills in the hooks below the line.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import assert_never, final

from steadyhand.core.safety.writes import WriteOutcome
from steadyhand.edge.robots.lifecycle import DATA_TABLE, Lifecycle, PortEvent, PortState
from steadyhand.edge.robots.reports import (
    TAKEN,
    DataReport,
    Failed,
    MeasuredState,
    Ready,
    Settling,
    Waiting,
    WriteReport,
    broken,
    lost,
)


class DataPort(ABC):
    """Motion out, state in, without waiting for anybody.

    One thread uses it. Calls out of the lifecycle's order raise `LifecycleError` and change nothing;
    what the other end does is never an exception. A FATAL outcome is the error state: motion is
    refused until `recover`, `end_stream` goes on working and the feed goes on being read.

    Args:
        n_joints: how many joints a setpoint has.
    """

    def __init__(self, n_joints: int) -> None:
        self.n_joints = n_joints
        self._lifecycle = Lifecycle(DATA_TABLE)
        self._first_frame_seen = False
        self._feed_loss: str | None = None

    @property
    def state(self) -> PortState:
        """Where the lifecycle is."""
        return self._lifecycle.state

    @property
    def first_frame_seen(self) -> bool:
        """Whether the feed has delivered a pose since it was last connected (document 003)."""
        return self._first_frame_seen

    # Getting there, and away.

    @final
    def configure(self, now_ns: int) -> WriteReport:
        """Open what there is to open; the feed begins to connect. Leads to inactive, or to error."""
        self._lifecycle.require(PortEvent.CONFIGURE)
        report = self._open(now_ns)
        opened = report.outcome is WriteOutcome.TAKEN
        self._lifecycle.take(PortEvent.CONFIGURE if opened else PortEvent.FAIL)
        return report

    @final
    def recover(self, now_ns: int) -> WriteReport:
        """Out of the error state, once what broke can be opened anew. The operator's reset calls it."""
        self._lifecycle.require(PortEvent.RECOVER)
        report = self._reopen(now_ns)
        if report.outcome is WriteOutcome.TAKEN:
            self._lifecycle.take(PortEvent.RECOVER)
        return report

    @final
    def close(self, now_ns: int) -> None:
        """Give everything back, from any state. An open stream is ended first."""
        if self.state in (PortState.SETTLING, PortState.ACTIVE):
            self._write_end(now_ns)
        self._shut()
        self._first_frame_seen, self._feed_loss = False, None
        self._lifecycle.take(PortEvent.CLOSE)

    # The stream.

    @final
    def start_stream(self, now_ns: int) -> WriteReport:
        """Open the stream and let the probe have the channel; `settle` says when it is done.

        Refused (TRANSIENT) before the first measured frame: a probe seeded from an all-zero packet
        would jump the arm. On a stream that is open already it changes nothing.
        """
        if self.state in (PortState.SETTLING, PortState.ACTIVE):
            return TAKEN
        self._lifecycle.require(PortEvent.START)
        if not self._first_frame_seen:
            return lost("no measured frame yet")
        report = self._write_start(now_ns)
        if report.outcome is WriteOutcome.TAKEN:
            self._lifecycle.take(PortEvent.START)
        return self._noted(report)

    @final
    def settle(self, now_ns: int) -> Settling:
        """Take one step of the probe, once a period while settling.

        `Ready` is active: from here on `send_joints` writes. `Failed` is inactive, the stream ended.
        """
        self._lifecycle.require(PortEvent.ACCEPTED)
        settling = self._settle(now_ns)
        match settling:
            case Waiting():
                pass
            case Ready():
                self._lifecycle.take(PortEvent.ACCEPTED)
            case Failed():
                self._write_end(now_ns)
                self._lifecycle.take(PortEvent.GAVE_UP)
            case _:
                assert_never(settling)
        return settling

    @final
    def send_joints(self, joints_deg: Sequence[float], now_ns: int) -> WriteReport:
        """Write one setpoint, shape (n_joints,), degrees.

        Only an active port writes; elsewhere the answer is TRANSIENT and says whose the channel is. A
        value that is not finite, or a wrong number of them, is never written: it got past every guard
        above, so the answer is FATAL and the arm is stopped (rulings, "NaN or infinite").
        """
        if self.state is not PortState.ACTIVE:
            owner = (
                "the readiness probe owns the channel" if self.state is PortState.SETTLING else "no stream"
            )
            return lost(f"{owner}: the port is {self.state.value}")
        if not all(map(math.isfinite, joints_deg)):
            return self._noted(broken("a joint of the setpoint is not a finite number"))
        if len(joints_deg) != self.n_joints:
            return self._noted(broken(f"{len(joints_deg)} joints for an arm of {self.n_joints}"))
        return self._noted(self._write_joints(joints_deg, now_ns))

    @final
    def end_stream(self, now_ns: int) -> WriteReport:
        """End the stream at once, in every state and as often as wanted; it is how an e-stop begins.

        It is written each time, since the first may have been lost; afterwards no motion is written.
        """
        report = self._write_end(now_ns)
        self._lifecycle.take(PortEvent.END)
        return report

    # What comes back.

    @final
    def poll(self, now_ns: int) -> list[MeasuredState]:
        """Read whatever the feed has, oldest first, and keep its connection going. Often empty."""
        if self.state is PortState.UNCONFIGURED:
            return []
        measured = self._read(now_ns)
        if not self._first_frame_seen:
            self._first_frame_seen = any(state.is_pose for state in measured)
        return measured

    @final
    def take_feed_loss(self) -> str | None:
        """Why the feed was lost since this was last asked; None where it was not."""
        reason, self._feed_loss = self._feed_loss, None
        return reason

    @abstractmethod
    def read_fds(self) -> tuple[int, ...]:
        """Descriptors to wake up for when readable; they change as the feed reconnects."""

    @abstractmethod
    def write_fds(self) -> tuple[int, ...]:
        """Descriptors to wake up for when writable: a connection under way."""

    @abstractmethod
    def report(self) -> DataReport:
        """What was granted, what is missing, what was counted."""

    # ---- below the line: what a driver writes

    def _lose_feed(self, reason: str) -> None:
        """The feed is gone; what it said last is no pose to start a stream on."""
        self._feed_loss = reason
        self._first_frame_seen = False

    def _noted(self, report: WriteReport) -> WriteReport:
        if report.outcome is WriteOutcome.FATAL:
            self._lifecycle.take(PortEvent.FAIL)
        return report

    @abstractmethod
    def _open(self, now_ns: int) -> WriteReport:
        """Open sockets; begin to connect."""

    @abstractmethod
    def _reopen(self, now_ns: int) -> WriteReport:
        """Replace what is broken; leave alone what works."""

    @abstractmethod
    def _shut(self) -> None:
        """Close everything; must be harmless when nothing is open."""

    @abstractmethod
    def _write_start(self, now_ns: int) -> WriteReport:
        """Tell the controller that setpoints will follow; begin a probe."""

    @abstractmethod
    def _settle(self, now_ns: int) -> Settling:
        """One step of the probe."""

    @abstractmethod
    def _write_joints(self, joints_deg: Sequence[float], now_ns: int) -> WriteReport:
        """Write one checked setpoint."""

    @abstractmethod
    def _write_end(self, now_ns: int) -> WriteReport:
        """Tell the controller that none will follow; must be harmless when nothing is open."""

    @abstractmethod
    def _read(self, now_ns: int) -> list[MeasuredState]:
        """Read, without waiting, a bounded amount."""
