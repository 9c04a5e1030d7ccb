"""Two e-stops, measured: one path killed, the other has to do it alone.

Both are pressed while the arm plays. The send is the moment the operator's loop hands the e-stop to its
sockets, the stop that of the follower's own event: one host, one monotonic clock.
"""

import threading
import time
from collections.abc import Callable
from typing import Final, Literal

from steadyhand.core.follower.outputs import Stopped
from steadyhand.core.safety.latch import StopKind
from steadyhand.edge.impairment.client import Paths
from steadyhand.ground.stamps import NS_PER_MS
from steadyhand.nodes.demo.console import ControllerConsole
from steadyhand.nodes.demo.report import EstopTaken
from steadyhand.nodes.demo.stage import Stage

EstopPath = Literal["datagram", "control"]
KILLED_BESIDE: Final[dict[EstopPath, Paths]] = {"datagram": "control", "control": "udp"}
"""Which path is killed so that the other has to do it alone."""

STOP_WITHIN_S: Final = 3.0
LOOK_EVERY_S: Final = 0.0005


class StreamWatch:
    """Looks at the controller's console until its stream has ended; a thread of its own.

    Attributes:
        ended_ns: when an answer first said so; None until then.
    """

    def __init__(self, console: ControllerConsole) -> None:
        self.ended_ns: int | None = None
        self._console = console
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="console", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Look no longer."""
        self._over.set()
        self._thread.join(STOP_WITHIN_S)

    def wait(self, within_s: float) -> None:
        """Until it has ended, or for so long."""
        self._thread.join(within_s)

    def _look(self) -> None:
        while not self._over.wait(LOOK_EVERY_S):
            status = self._console.status()
            if status is not None and not status["streaming"]:
                self.ended_ns = time.monotonic_ns()
                return


def measure(
    stage: Stage, path: EstopPath, newest_stop: Callable[[], Stopped | None], lead: Callable[[], object]
) -> EstopTaken:
    """Kill the other path, press, and see when the follower stopped.

    Args:
        stage: its arm is playing.
        path: the one that lives.
        newest_stop: the newest stop that was recorded.
        lead: leads one period; the arm is led until it has stopped.
    """
    stage.network.kill(KILLED_BESIDE[path])
    watch = StreamWatch(stage.console)
    try:
        pressed_ns = stage.engine.call(
            lambda loop, now_ns: loop.press(f"the demo's measurement over {path} alone", now_ns)
        )
        stop = _stop_after(pressed_ns, newest_stop, lead)
        if stop is not None:
            watch.wait(STOP_WITHIN_S)
    finally:
        watch.close()
        stage.network.revive()
    if stop is None:
        return EstopTaken(path=path, pressed_ns=pressed_ns, follower_ms=None)
    by_estop = stop.cause.kind is StopKind.ESTOP
    return EstopTaken(
        path=path,
        pressed_ns=pressed_ns,
        follower_ms=(stop.at_ns - pressed_ns) / NS_PER_MS if by_estop else None,
        controller_ms=None if watch.ended_ns is None else (watch.ended_ns - pressed_ns) / NS_PER_MS,
        cause=stop.cause.detail,
    )


def _stop_after(
    pressed_ns: int, newest_stop: Callable[[], Stopped | None], lead: Callable[[], object]
) -> Stopped | None:
    """The first recorded stop since then; leads on meanwhile, as a person who has not noticed would."""
    deadline_ns = pressed_ns + round(STOP_WITHIN_S * 1e9)
    while time.monotonic_ns() < deadline_ns:
        stop = newest_stop()
        if stop is not None and stop.at_ns >= pressed_ns:
            return stop
        lead()
    return None
