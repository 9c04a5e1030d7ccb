"""The arm that the simulated ports share, with a cable that can be pulled."""

from collections import deque
from enum import StrEnum
from typing import Final

from steadyhand.core.controller.model import ControllerModel
from steadyhand.core.controller.state import ControllerState
from steadyhand.ground.stamps import NS_PER_MS

STATE_PERIOD_NS: Final = 8 * NS_PER_MS
FRAMES_KEPT: Final = 64
"""Frames waiting to be read; older ones are dropped, as a full socket buffer would hold up newer."""


class Cable(StrEnum):
    """What is between the ports and the controller."""

    PLUGGED = "plugged"
    BLACK_HOLE = "black_hole"
    """Writes leave and never arrive; the feed is silent, and nobody says why."""
    DEAD = "dead"
    """Nobody listens, and the network says so."""


class SimulatedRobot:
    """One controller model, its feed, and its cable.

    Whoever touches the model goes through `at`, so that state frames are made in order at their own
    instants, however rarely they are read.

    Args:
        model: the controller.
        state_period_ns: distance of state frames.
        feed_delay_ns: from a frame's instant to its arrival.
    """

    def __init__(
        self, model: ControllerModel, *, state_period_ns: int = STATE_PERIOD_NS, feed_delay_ns: int = 0
    ) -> None:
        self.digital_outputs = 0
        self.state_period_ns = state_period_ns
        self._feed_delay_ns = feed_delay_ns
        self._model = model
        self._cable = Cable.PLUGGED
        self._next_frame_ns: int | None = None
        self._frames: deque[tuple[int, ControllerState]] = deque(maxlen=FRAMES_KEPT)

    @property
    def cable(self) -> Cable:
        """Whether anything gets through."""
        return self._cable

    def set_cable(self, cable: Cable, now_ns: int) -> None:
        """Pull the cable, or plug it in; frames under way are lost with it."""
        self.at(now_ns)
        self._cable = cable
        self._frames.clear()

    def at(self, now_ns: int) -> ControllerModel:
        """The model, with every state frame due by `now_ns` made."""
        if self._next_frame_ns is None:
            self._next_frame_ns = now_ns
        while self._next_frame_ns <= now_ns:
            state = self._model.state(self._next_frame_ns)
            if self._cable is Cable.PLUGGED:
                self._frames.append((self._next_frame_ns + self._feed_delay_ns, state))
            self._next_frame_ns += self.state_period_ns
        self._model.step(now_ns)
        return self._model

    def take_frames(self, now_ns: int) -> list[tuple[int, ControllerState]]:
        """Arrival and content of every frame that has arrived by now and was not taken yet."""
        self.at(now_ns)
        arrived = []
        while self._frames and self._frames[0][0] <= now_ns:
            arrived.append(self._frames.popleft())
        return arrived
