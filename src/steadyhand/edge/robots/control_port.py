"""The control port: what the control plane holds of a robot. Calls block, each for a bounded time."""

from abc import ABC, abstractmethod
from typing import final

from steadyhand.edge.robots.lifecycle import CONTROL_TABLE, Lifecycle, LifecycleError, PortEvent, PortState
from steadyhand.edge.robots.reports import CallOutcome, CallReport, Codes


class ControlPort(ABC):
    """Enabling, resetting and stopping, by calls that are answered or given up on.

    One thread uses it. A call that is not answered is the error state, except StopMotion, which may be
    called in any state and never changes one for the worse: whoever stops an arm tries again.
    """

    def __init__(self) -> None:
        self._lifecycle = Lifecycle(CONTROL_TABLE)

    @property
    def state(self) -> PortState:
        """Where the lifecycle is."""
        return self._lifecycle.state

    @final
    def configure(self) -> CallReport:
        """Connect, and see whether somebody answers. Leads to inactive, or to error."""
        self._lifecycle.require(PortEvent.CONFIGURE)
        report = self._connect()
        self._lifecycle.take(PortEvent.CONFIGURE if report.done else PortEvent.FAIL)
        return report

    @final
    def recover(self) -> CallReport:
        """Out of the error state, once the controller answers again."""
        self._lifecycle.require(PortEvent.RECOVER)
        report = self._connect()
        if report.done:
            self._lifecycle.take(PortEvent.RECOVER)
        return report

    @final
    def activate(self) -> CallReport:
        """Automatic mode and drives on. Says nothing about readiness: the data port's probe does."""
        self._lifecycle.require(PortEvent.START)
        report = self._enable()
        if report.done:
            self._lifecycle.take(PortEvent.START)
        return self._noted(report)

    @final
    def deactivate(self) -> CallReport:
        """Drives off. The port is inactive whatever the answer: nothing may count on the drives."""
        self._lifecycle.require(PortEvent.END)
        report = self._disable()
        self._lifecycle.take(PortEvent.END)
        return self._noted(report)

    @final
    def reset_errors(self) -> CallReport:
        """Clear the controller's fault; refused by the controller while the cause stands."""
        self._require_configured("reset_errors")
        return self._noted(self._reset())

    @final
    def stop_motion(self) -> CallReport:
        """Stop the arm, in every state: the blocking half of an e-stop."""
        return self._stop()

    @final
    def read_codes(self) -> Codes:
        """The controller's fault, by a call rather than by the feed."""
        self._require_configured("read_codes")
        codes = self._read_codes()
        self._noted(codes.report)
        return codes

    @final
    def close(self) -> None:
        """Hang up, from any state. The drives stay as they are."""
        self._disconnect()
        self._lifecycle.take(PortEvent.CLOSE)

    # ---- below the line: what a driver writes

    def _require_configured(self, call: str) -> None:
        if self.state is PortState.UNCONFIGURED:
            raise LifecycleError(f"{call} is not allowed while {self.state.value}")

    def _noted(self, report: CallReport) -> CallReport:
        if report.outcome is CallOutcome.UNANSWERED:
            self._lifecycle.take(PortEvent.FAIL)
        return report

    @abstractmethod
    def _connect(self) -> CallReport:
        """(Re)connect and make one harmless call."""

    @abstractmethod
    def _enable(self) -> CallReport:
        """Automatic mode, drives on."""

    @abstractmethod
    def _disable(self) -> CallReport:
        """Drives off."""

    @abstractmethod
    def _reset(self) -> CallReport:
        """Clear the controller's errors."""

    @abstractmethod
    def _stop(self) -> CallReport:
        """Stop the arm; connects by itself where it has to."""

    @abstractmethod
    def _read_codes(self) -> Codes:
        """Read main and sub code."""

    @abstractmethod
    def _disconnect(self) -> None:
        """Hang up; must be harmless when nothing is connected."""
