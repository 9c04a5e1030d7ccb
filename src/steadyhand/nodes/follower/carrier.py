"""Carries the core's commands to the robot's data port, and the port's answers back to the core.

No loop and no clock here: the data plane's loop calls it, and so does a test with literal times.
The driver's stream start is where its readiness probe begins (`edge.robots.data_port`), so the
core's StartProbe opens the stream there, and StartStream finds it open.
"""

from collections.abc import Callable
from typing import assert_never

import msgspec

from steadyhand.core.follower import FollowerCore
from steadyhand.core.follower.inputs import FeedLost, ProbeFailed, ProbeReady
from steadyhand.core.follower.outputs import (
    CancelProbe,
    DriverCommand,
    EndStream,
    SendJoints,
    StartProbe,
    StartStream,
    StopMotion,
    TickOutput,
)
from steadyhand.core.safety.writes import WriteOutcome
from steadyhand.edge.robots.contract import DataPort, Failed, PortState, Ready, Waiting, WriteReport
from steadyhand.ground.measured_arm import MeasuredArm


class Written(msgspec.Struct, frozen=True, gc=False):
    """One setpoint that was written, and what came of it.

    Attributes:
        frame: what was written.
        returned_ns: when the write returned.
        outcome: TAKEN, TRANSIENT or FATAL.
    """

    frame: SendJoints
    returned_ns: int
    outcome: WriteOutcome


class Carrier:
    """One core, one data port.

    Args:
        core: of the arm.
        port: to it.
        read_clock: for the moment a write returns; None takes the `now_ns` of the call it was made in.

    Attributes:
        stop_requests: StopMotion commands for the helper in the control plane, oldest first.
        written: the last setpoint written; its reader sets it back to None.
        measured: the newest frame of the state feed; its reader sets it back to None.
    """

    def __init__(
        self, core: FollowerCore, port: DataPort, *, read_clock: Callable[[], int] | None = None
    ) -> None:
        self.core = core
        self.port = port
        self.stop_requests: list[StopMotion] = []
        self.written: Written | None = None
        self.measured: MeasuredArm | None = None
        self._read_clock = read_clock

    def poll(self, now_ns: int) -> None:
        """Hand every frame of the state feed to the core, oldest first, and tell it of a lost feed."""
        for measured in self.port.poll(now_ns):
            self.measured = measured
            self.carry(self.core.observe(measured), now_ns)
        loss = self.port.take_feed_loss()
        if loss is not None:
            self.carry(self.core.control(FeedLost(reason=loss), now_ns)[1], now_ns)

    def tick(self, now_ns: int) -> TickOutput:
        """One period: the probe's step while it settles, then the core's tick, carried out."""
        self._settle(now_ns)
        output = self.core.tick(now_ns)
        self.carry(output.commands, now_ns)
        return output

    def carry(self, commands: tuple[DriverCommand, ...], now_ns: int) -> None:
        """Do what the core says, in its order. What a write came to goes straight back."""
        for command in commands:
            self._one(command, now_ns)

    def _one(self, command: DriverCommand, now_ns: int) -> None:
        match command:
            case SendJoints(joints_deg=joints_deg):
                report = self.port.send_joints(joints_deg, now_ns)
                returned_ns = now_ns if self._read_clock is None else self._read_clock()
                self.written = Written(command, returned_ns, report.outcome)
                self.carry(self.core.note_write(report.outcome, now_ns, report.detail), now_ns)
            case StartProbe():
                self._start_probe(now_ns)
            case StartStream():
                pass  # Opened with the probe; the port is active, or the probe had not said ready.
            case EndStream() | CancelProbe():
                self.port.end_stream(now_ns)
            case StopMotion():
                self.stop_requests.append(command)
            case _:
                assert_never(command)

    def _start_probe(self, now_ns: int) -> None:
        report = self._opened(now_ns)
        if report.outcome is not WriteOutcome.TAKEN:
            self._answer(ProbeFailed(reason=report.detail), now_ns)

    def _opened(self, now_ns: int) -> WriteReport:
        """Out of the error state first, where a fault had left the port there."""
        if self.port.state is PortState.ERROR:
            recovered = self.port.recover(now_ns)
            if recovered.outcome is not WriteOutcome.TAKEN:
                return recovered
        return self.port.start_stream(now_ns)

    def _settle(self, now_ns: int) -> None:
        if self.port.state is not PortState.SETTLING:
            return
        settling = self.port.settle(now_ns)
        match settling:
            case Waiting():
                pass
            case Ready():
                self._answer(ProbeReady(), now_ns)
            case Failed(reason=reason):
                self._answer(ProbeFailed(reason=reason), now_ns)
            case _:
                assert_never(settling)

    def _answer(self, answer: ProbeReady | ProbeFailed, now_ns: int) -> None:
        _, commands = self.core.control(answer, now_ns)
        self.carry(commands, now_ns)
