"""The controller's blocking calls, in two threads, so that neither the loop nor a stop waits for them.

One prepares and resets. The other does nothing but StopMotion, over a connection of its own that is
open already, and does it again until the controller says that it has ("How an arm is stopped").
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Condition, Thread
from typing import Final

from steadyhand.edge.clock import SYSTEM_CLOCK, MonotonicClock
from steadyhand.edge.robots.contract import CallOutcome, CallReport, ControlPort, PortState
from steadyhand.edge.robots.fairino.control_port import FairinoControlPort
from steadyhand.ground.config import RobotConfig
from steadyhand.ground.errors import InputError

Tell = Callable[[str, CallReport], None]
"""What was called for which reason, and what came of it; called in the helper's thread."""

FIRST_RETRY_S: Final = 0.05
LONGEST_RETRY_S: Final = 1.0
LOOK_EVERY_S: Final = 5.0
"""How often the stopping connection is tried while nobody needs it: a dead one is opened anew."""

LOOK_TIMEOUT_S: Final = 0.25
"""Of such a look, so that a stop wanted meanwhile waits for it no longer."""

Job = Callable[[ControlPort], CallReport]


def control_ports_of(config: RobotConfig) -> tuple[ControlPort, ControlPort]:
    """The two control ports of the arm in a robot file: for preparing, and for stopping.

    Raises:
        InputError: this type of robot has no controller to call.
    """
    if config.robot.type != "fairino":
        raise InputError(
            f"a {config.robot.type} robot has no controller to call", where="robot.type", hint="fairino has"
        )
    address = config.robot.address
    return FairinoControlPort(address), FairinoControlPort(address, call_timeout_s=LOOK_TIMEOUT_S)


class Preparer:
    """The thread that enables, and that clears faults.

    Args:
        port: used by this thread alone.
        clock: of the deadlines.
    """

    def __init__(self, port: ControlPort, clock: MonotonicClock = SYSTEM_CLOCK) -> None:
        self._port = port
        self._clock = clock
        self._jobs: SimpleQueue[tuple[Job, Future[CallReport], int] | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name="robot-prepare", daemon=True)

    def start(self) -> None:
        """Begin; connecting is left to the first job."""
        self._thread.start()

    def activate(self, *, within_ns: int) -> Future[CallReport]:
        """Automatic mode and drives on. Begun after `within_ns` it is not done at all."""
        return self._add(lambda port: port.activate(), within_ns)

    def reset_errors(self, *, within_ns: int) -> Future[CallReport]:
        """Clear the controller's fault. Begun after `within_ns` it is not done at all."""
        return self._add(lambda port: port.reset_errors(), within_ns)

    def close(self, timeout_s: float) -> None:
        """End the thread once its call has come back; a daemon, it holds nobody up."""
        self._jobs.put(None)
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def _add(self, job: Job, within_ns: int) -> Future[CallReport]:
        answer: Future[CallReport] = Future()
        self._jobs.put((job, answer, self._clock.now_ns() + within_ns))
        return answer

    def _run(self) -> None:
        while (entry := self._jobs.get()) is not None:
            job, answer, until_ns = entry
            if not answer.set_running_or_notify_cancel():
                continue
            try:
                answer.set_result(self._carried_out(job, until_ns))
            except Exception as error:
                answer.set_exception(error)
        self._port.close()

    def _carried_out(self, job: Job, until_ns: int) -> CallReport:
        if self._clock.now_ns() > until_ns:
            return CallReport(call="", outcome=CallOutcome.UNANSWERED, detail="an earlier call took too long")
        connected = _connected(self._port)
        return job(self._port) if connected is None else connected


class Stopper:
    """The thread that stops the arm, and does nothing else.

    Args:
        port: used by this thread alone.
        tell: told of each stop that was done, and of the first failure before it.
    """

    def __init__(self, port: ControlPort, tell: Tell) -> None:
        self._port = port
        self._tell = tell
        self._changed = Condition()
        self._reason: str | None = None
        self._request = 0
        self._closed = False
        self._thread = Thread(target=self._run, name="robot-stop", daemon=True)

    def start(self) -> None:
        """Connect, and be ready."""
        self._thread.start()

    def stop(self, reason: str) -> None:
        """Call StopMotion now, and again until it is done or forgotten. From any thread; never waits."""
        with self._changed:
            self._reason = reason
            self._request += 1
            self._changed.notify()

    @property
    def wanted(self) -> int:
        """How many stops were wanted so far, for `forget`."""
        return self._request

    def forget(self, wanted: int) -> None:
        """The latch was released: a stop of before that is not wanted any more.

        Args:
            wanted: `wanted` when the release was asked for; a stop that came since then stands.
        """
        with self._changed:
            if self._request == wanted:
                self._reason = None
                self._changed.notify()

    @property
    def pending(self) -> bool:
        """Whether a stop is still being tried."""
        return self._reason is not None

    def wait_done(self, timeout_s: float) -> bool:
        """Wait until no stop is pending; whether that was so in time."""
        with self._changed:
            return self._changed.wait_for(lambda: self._reason is None, timeout_s)

    def close(self, timeout_s: float) -> None:
        """End the thread once its call has come back; a daemon, it holds nobody up."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def _run(self) -> None:
        retry_s, told = FIRST_RETRY_S, 0
        while not self._closed:
            with self._changed:
                reason, request = self._reason, self._request
            if reason is None:
                self._look()
                retry_s = FIRST_RETRY_S
                broken = self._port.state is PortState.ERROR
                self._wait(LONGEST_RETRY_S if broken else LOOK_EVERY_S, reason, request)
                continue
            report = self._stopped()
            if report.done or told != request:
                told = request
                self._tell(reason, report)
            if report.done:
                self._note_done(request)
            else:
                self._wait(retry_s, reason, request)
                retry_s = min(2 * retry_s, LONGEST_RETRY_S)
        self._port.close()

    def _stopped(self) -> CallReport:
        """One attempt; whatever it comes to, a mistake of ours too, there will be another."""
        try:
            return self._port.stop_motion()
        except Exception as error:
            return CallReport(call="StopMotion", outcome=CallOutcome.UNANSWERED, detail=repr(error))

    def _look(self) -> None:
        """Keep the connection open, so that a stop need not first be let in."""
        try:
            if _connected(self._port) is None:
                self._port.read_codes()
        except Exception as error:
            self._tell("looking", CallReport(call="", outcome=CallOutcome.UNANSWERED, detail=repr(error)))

    def _wait(self, timeout_s: float, reason: str | None, request: int) -> None:
        """Until another stop is wanted than at the last look, or it is forgotten, or the time is up."""
        with self._changed:
            self._changed.wait_for(
                lambda: (
                    self._closed or self._request != request or (self._reason is None) != (reason is None)
                ),
                timeout_s,
            )

    def _note_done(self, request: int) -> None:
        with self._changed:
            if self._request == request:
                self._reason = None
            self._changed.notify_all()


def _connected(port: ControlPort) -> CallReport | None:
    """Connect where it is not; None where it is, else what came of it."""
    match port.state:
        case PortState.UNCONFIGURED:
            report = port.configure()
        case PortState.ERROR:
            report = port.recover()
        case _:
            return None
    return None if report.done else report
