"""What is to be seen of a run at one moment, gathered from its newest ticks."""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Final, Protocol

import msgspec
import numpy as np

from steadyhand.core.follower.outputs import FrameKind, Released, Stopped
from steadyhand.ground.stamps import NS_PER_MS, NS_PER_S
from steadyhand.nodes.demo.course import STREAMING, Led, stopped_in
from steadyhand.nodes.follower.records import TickRecord

LOOK_BACK_NS: Final = 2 * NS_PER_S
MOST_TICKS: Final = 4_096


class Glimpse(msgspec.Struct, frozen=True, kw_only=True):
    """One moment of a run; figures are of the last two seconds.

    Attributes:
        phase: what the run is doing, in words.
        elapsed_s: since the first sending; negative before it.
        duration_s: how long it is to last.
        engage: the follower's state, "" before its first tick.
        depth: setpoints queued.
        target: what the queue is steered for.
        fresh: share of the playing ticks that released a received setpoint.
        synthetic: likewise, one made to bridge a hole.
        held: likewise, the last one again.
        wait_ms: median time in the queue; None where nothing was released.
        latency_ms: median from sending to release; None likewise.
        link: "up", or what the script or a measurement has killed.
        stopped_by: why the arm is stopped, "" while it is not.
        last_stop: the newest stop in a sentence, "" for none yet.
        estop: what the newest e-stop came to, "" for none yet.
    """

    phase: str
    elapsed_s: float
    duration_s: float
    engage: str = ""
    depth: int = 0
    target: int = 0
    fresh: float = 0.0
    synthetic: float = 0.0
    held: float = 0.0
    wait_ms: float | None = None
    latency_ms: float | None = None
    link: str = "up"
    stopped_by: str = ""
    last_stop: str = ""
    estop: str = ""


class Watcher(Protocol):
    """Whoever looks on: told of every happening in a line, and shown a glimpse now and then."""

    def say(self, line: str) -> None:
        """Something happened. Called from any thread."""

    def show(self, glimpse: Glimpse) -> None:
        """How things stand. Called from one thread."""


class Glimpses:
    """Gathers ticks as they are recorded, and sums them up when asked.

    Args:
        led_of: the setpoint that left under a number, None where it is not known.
        tell_stop: is told of each stop, in the recorder's thread.
    """

    def __init__(self, led_of: Callable[[int], Led | None], tell_stop: Callable[[Stopped], None]) -> None:
        self._led_of = led_of
        self._tell_stop = tell_stop
        self._ticks: deque[TickRecord] = deque(maxlen=MOST_TICKS)
        self.last_stop: Stopped | None = None

    def take(self, record: TickRecord) -> None:
        """Take one tick; called in the recorder's thread."""
        before = self.newest
        self._ticks.append(record)
        for event in stopped_in(record, before):
            self.last_stop = event
            self._tell_stop(event)

    @property
    def newest(self) -> TickRecord | None:
        """The newest tick."""
        return self._ticks[-1] if self._ticks else None

    def sum_up(self, said: Glimpse) -> Glimpse:
        """`said` with the follower's part filled in."""
        newest = self.newest
        if newest is None:
            return said
        recent = [tick for tick in self._ticks.copy() if newest.at_ns - tick.at_ns <= LOOK_BACK_NS]
        kinds = Counter(
            tick.released.kind.value if tick.released is not None else "held"
            for tick in recent
            if tick.engage == STREAMING
        )
        playing = max(1, kinds.total())
        stop = self.last_stop
        return msgspec.structs.replace(
            said,
            engage=newest.engage,
            depth=newest.depth,
            target=newest.target_depth,
            fresh=kinds[FrameKind.FRESH.value] / playing,
            synthetic=kinds[FrameKind.SYNTHETIC.value] / playing,
            held=kinds["held"] / playing,
            wait_ms=_median_ms([r.released_ns - r.arrived_ns for r in _fresh(recent)]),
            latency_ms=_median_ms(self._ages_ns(recent)),
            stopped_by="" if newest.stopped_by is None else newest.stopped_by.detail,
            last_stop="" if stop is None else f"{stop.cause.kind.value}: {stop.cause.detail}",
        )

    def _ages_ns(self, recent: Sequence[TickRecord]) -> list[int]:
        found = ((released, self._led_of(released.seq)) for released in _fresh(recent))
        return [released.released_ns - led.at_ns for released, led in found if led is not None]


def _fresh(ticks: Sequence[TickRecord]) -> list[Released]:
    return [
        tick.released for tick in ticks if tick.released is not None and tick.released.kind is FrameKind.FRESH
    ]


def _median_ms(values_ns: Sequence[int]) -> float | None:
    return float(np.median(values_ns)) / NS_PER_MS if values_ns else None
