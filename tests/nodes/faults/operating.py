"""An operator in the test's own process, leading the arm in a thread of its own."""

import math
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Self

import pytest

import steadyhand
from steadyhand.ground.errors import SteadyhandError
from steadyhand.nodes.follower.records import TickRecord
from steadyhand.nodes.operator.pacing import Pace
from steadyhand.nodes.operator.view import ArmEvent, OperatorView
from tests.nodes.faults.stack import Stack
from tests.nodes.processes import WITHIN_S, wait_until

SWING_DEG: Final = 10.0
SWING_HZ: Final = 0.5
"""Back and forth over ten degrees in two seconds: 16 °/s and 49 °/s² at most."""


class Operator:
    """Connects by the stack's ways; a context manager, which leaves the arm idle.

    Attributes:
        arm: the public API.
        error: what ended the leading; None while it goes on.
    """

    def __init__(
        self, stack: Stack, name: str = "ann", *, take_over: bool = True, proof: dict[str, Any] | None = None
    ) -> None:
        self.stack = stack
        self.arm = steadyhand.connect(
            stack.config,
            **({"key": stack.follower.key_file} if proof is None else proof),
            addresses=stack.addresses,
            operator=name,
            take_over=take_over,
            timeout_s=WITHIN_S,
        )
        self.engine = self.arm._engine
        self.error: SteadyhandError | None = None
        self._events: list[ArmEvent] = []
        self._over = threading.Event()
        self._dead = False
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.rest()
        if not self._dead:
            self.arm.close()

    # ---- leading

    def begin(self) -> None:
        """From whatever the test before has left: reset, engage, lead, and see that all is well."""
        if self.arm.view.stopped:
            self.arm.reset("the test before this one")
        self.stack.began = since = len(self.stack.ticks.records)
        self.engage()
        clean = self.stack.ticks.wait(moving, since=since, what="an arm that moves")
        assert clean.stopped_by is None
        assert self.stack.status()["main_code"] == 0
        assert not self.arm.view.stopped

    def engage(self) -> None:
        """Engage and lead."""
        self.arm.prepare()
        self.lead()

    def lead(self) -> None:
        """Swing the first joint from where the arm stands, until something ends it."""
        state = self.arm.state
        assert state is not None
        self.error = None
        self._over.clear()
        way = (state.joint_positions, SWING_DEG if state.joint_positions[0] <= 0.0 else -SWING_DEG)
        self._thread = threading.Thread(target=self._swing, args=way, name="leader", daemon=True)
        self._thread.start()

    def _swing(self, start_deg: tuple[float, ...], swing_deg: float) -> None:
        pace = Pace(self.stack.playout.period_ns)
        began_ns = pace.wait()
        now_ns = began_ns
        try:
            while not self._over.is_set():
                turned = 2.0 * math.pi * SWING_HZ * (now_ns - began_ns) / 1e9
                first_deg = start_deg[0] + swing_deg * (1.0 - math.cos(turned)) / 2.0
                self.arm.send((first_deg, *start_deg[1:]))
                now_ns = pace.wait()
        except SteadyhandError as error:
            self.error = error

    def rest(self) -> None:
        """Send nothing more."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(WITHIN_S)

    def wait_ended(self) -> SteadyhandError:
        """What the leading was ended by."""
        error: SteadyhandError = wait_until(
            lambda: self.error, what=f"an end to the leading; {self.arm.view}"
        )
        return error

    def die(self) -> None:
        """As a killed process does: no word to anybody, every socket closed."""
        self._over.set()
        self._dead = True
        self.engine.close()

    # ---- what is told

    @property
    def events(self) -> list[ArmEvent]:
        """Everything so far."""
        self._events += self.arm.events()
        return self._events

    def wait_event(self, kind: str, part: str = "") -> ArmEvent:
        def found() -> ArmEvent | None:
            return next((e for e in self.events if e.kind == kind and part in e.text), None)

        event: ArmEvent = wait_until(found, what=f"{kind} {part}")
        return event

    def wait_view(self, what: str, ready: Callable[[OperatorView], object]) -> OperatorView:
        view = self.engine.until(lambda view: view if ready(view) else None, WITHIN_S)
        assert view is not None, f"not within {WITHIN_S:g} s: {what}: {self.arm.view}"
        return view

    # ---- recovering

    def asked_to_prepare(self) -> str:
        """What the follower itself answers; this end's own gates are gone round."""
        self.wait_view("an engagement that is over", lambda view: not view.report.engaged)
        asked_ns = self.engine.call(lambda loop, now_ns: loop.prepare(now_ns))
        view = self.wait_view(
            "an answer", lambda view: view.refused_since("prepare_stream", asked_ns) or view.report.engaged
        )
        refusal = view.refused_since("prepare_stream", asked_ns)
        return "" if refusal is None else refusal.reason

    def recover(self) -> None:
        """Refused before a reset, at both ends; led again after it."""
        self.rest()
        self.arm.connected(WITHIN_S)
        self.wait_view("word of the stop", lambda view: bool(view.report.stopped_by))
        assert "reset first" in self.asked_to_prepare()
        with pytest.raises(steadyhand.Stopped) as caught:
            self.arm.prepare()
        assert caught.value.cause
        self.arm.reset("looked at it", timeout_s=WITHIN_S)
        since = len(self.stack.ticks.records)
        self.engage()
        self.stack.ticks.wait(moving, since=since, what="an arm that moves again")
        self.rest()
        self.arm.idle()


def moving(record: TickRecord) -> bool:
    measured = record.measured
    return (
        record.engage == "streaming"
        and record.released is not None
        and measured is not None
        and max(map(abs, measured.speeds_deg_s)) > 5.0
    )
