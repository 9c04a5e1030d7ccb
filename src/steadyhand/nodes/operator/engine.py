"""The operator's thread: it turns the loop, and lends it to whoever leads.

Everything of `OperatorLoop` happens in this one thread, so nothing in it needs a lock. A program's
thread hands a call in and waits for its answer; a signal handler hands one in and does not wait. The
bell wakes the loop from its sleep, so an e-stop leaves within the wake of one thread.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, Final, TypeVar

import msgspec

from steadyhand.edge.pacer import Pacer
from steadyhand.ground.robot_state import RobotState
from steadyhand.nodes.operator.errors import EngineFailed
from steadyhand.nodes.operator.loop import OperatorLoop
from steadyhand.nodes.operator.pacing import Due
from steadyhand.nodes.operator.view import OperatorView

T = TypeVar("T")

CALL_PATIENCE_S: Final = 5.0
"""A loop that answers nothing for so long is not running any more."""

Call = tuple[Callable[[OperatorLoop, int], Any], "Future[Any] | None"]


class Waiter(msgspec.Struct, frozen=True):
    """Somebody waits until `ready` answers with something."""

    ready: Callable[[OperatorView], Any]
    future: Future[Any]


class OperatorEngine:
    """Turns one loop in a thread of its own, and closes what the loop uses when it ends.

    Args:
        loop: its owner is this thread from `start` on.
    """

    def __init__(self, loop: OperatorLoop) -> None:
        self._loop = loop
        self._calls: deque[Call] = deque()
        self._newcomers: deque[Waiter] = deque()
        self._waiters: list[Waiter] = []
        self._ending = False
        self._ended = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="steadyhand-operator", daemon=True)

    def start(self) -> None:
        """Begin to turn."""
        self._thread.start()

    def close(self) -> None:
        """End the thread, then close the sockets and the way to the control service."""
        self._ending = True
        self._loop.sockets.ring()
        self._thread.join(CALL_PATIENCE_S)
        self._loop.close()

    # ---- for other threads

    @property
    def state(self) -> RobotState | None:
        """The newest of the follower's; None before the first. Costs nothing to ask."""
        return self._loop.state

    @property
    def engaged_ns(self) -> int:
        """When setpoints were let through last; another number is another engagement."""
        return self._loop.engaged_ns

    def post(self, call: Callable[[OperatorLoop, int], object]) -> None:
        """Have `call` done in the loop's thread, and wait for nothing; safe in a signal handler."""
        self._calls.append((call, None))
        self._loop.sockets.ring()

    def call(self, call: Callable[[OperatorLoop, int], T]) -> T:
        """Have `call` done in the loop's thread: it is given the loop and the time.

        Raises:
            EngineFailed: the loop has ended.
        """
        future: Future[T] = Future()
        self._calls.append((call, future))
        self._loop.sockets.ring()
        try:
            return self._result(future, CALL_PATIENCE_S)
        except FutureTimeout:
            raise EngineFailed(
                f"the operator's loop answered nothing for {CALL_PATIENCE_S:g} s", where="operator"
            ) from None

    def view(self) -> OperatorView:
        """This end, now."""
        return self.call(lambda loop, now_ns: loop.view(now_ns))

    def until(self, ready: Callable[[OperatorView], T | None], timeout_s: float) -> T | None:
        """Wait until `ready` answers with something; None where it did not in time.

        It is asked after every turn of the loop, in the loop's thread, so nothing is missed between
        two looks.

        Raises:
            EngineFailed: the loop has ended.
        """
        future: Future[T | None] = Future()
        self._newcomers.append(Waiter(ready, future))
        self._loop.sockets.ring()
        try:
            return self._result(future, timeout_s)
        except FutureTimeout:
            future.cancel()
            return None

    def _result(self, future: Future[T], timeout_s: float) -> T:
        if self._ended.is_set():
            self._fail_the_rest()
        return future.result(timeout_s)

    # ---- the thread

    def _run(self) -> None:
        try:
            self._turn_until_closed()
        except BaseException as error:  # a mistake of ours: whoever waits has to hear of it
            self._failure = error
            self._stop_the_arm()
            raise
        finally:
            self._ended.set()
            self._fail_the_rest()

    def _turn_until_closed(self) -> None:
        loop, due = self._loop, Due()
        pacer = Pacer(due, clock=loop.clock, spin_ns=0)
        while not self._ending:
            due.due_ns = loop.due_ns(loop.clock.now_ns())
            pacer.wait(loop.sockets.watched)
            # Before the calls: a bell that rings from here on is for the next turn.
            loop.sockets.silence_bell()
            self._do_calls()
            loop.turn()
            self._ask_waiters()
        self._do_calls()

    def _do_calls(self) -> None:
        while self._calls:
            call, future = self._calls.popleft()
            now_ns = self._loop.clock.now_ns()
            if future is None:
                call(self._loop, now_ns)
            elif future.set_running_or_notify_cancel():
                try:
                    future.set_result(call(self._loop, now_ns))
                except Exception as error:  # belongs to whoever called
                    future.set_exception(error)

    def _ask_waiters(self) -> None:
        while self._newcomers:
            self._waiters.append(self._newcomers.popleft())
        if not self._waiters:
            return
        view = self._loop.view(self._loop.clock.now_ns())
        waiting: list[Waiter] = []
        for waiter in self._waiters:
            if waiter.future.cancelled():
                continue
            try:
                answer = waiter.ready(view)
            except Exception as error:  # belongs to whoever waits
                _settle(waiter.future, error)
                continue
            if answer is None:
                waiting.append(waiter)
            else:
                _settle(waiter.future, answer)
        self._waiters = waiting

    def _stop_the_arm(self) -> None:
        """The loop is broken: one e-stop on both paths, and then silence, which stops the arm too."""
        try:
            self._loop.press("the operator's program failed", self._loop.clock.now_ns())
        except Exception as error:
            if self._failure is not None:
                self._failure.add_note(f"and the e-stop after it: {error!r}")

    def _fail_the_rest(self) -> None:
        failed = EngineFailed(
            "the operator's loop has ended" if self._failure is None else f"it failed: {self._failure!r}",
            where="operator",
            hint="the follower stops the arm by itself; connect again",
        )
        failed.__cause__ = self._failure
        waiters, self._waiters = self._waiters, []
        while self._newcomers:
            waiters.append(self._newcomers.popleft())
        for waiter in waiters:
            _settle(waiter.future, failed)
        while self._calls:
            _, future = self._calls.popleft()
            if future is not None:
                _settle(future, failed)


def _settle(future: Future[Any], answer: object) -> None:
    """Answer, unless whoever waited has gone."""
    if not future.set_running_or_notify_cancel():
        return
    if isinstance(answer, Exception):
        future.set_exception(answer)
    else:
        future.set_result(answer)
