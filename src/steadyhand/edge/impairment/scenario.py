"""A scenario that plays: which of its steps are due."""

from collections import deque
from typing import Final

from steadyhand.edge.impairment.commands import Action, Step
from steadyhand.ground.stamps import s_from_ns

REMEMBERED: Final = 20


class ScenarioPlayer:
    """Plays one scenario at a time.

    Attributes:
        played: what was done, the newest twenty, each with its time since its scenario began.
    """

    __slots__ = ("_began_ns", "_steps", "played")

    def __init__(self) -> None:
        self._steps: deque[Step] = deque()
        self._began_ns = 0
        self.played: deque[str] = deque(maxlen=REMEMBERED)

    def begin(self, steps: tuple[Step, ...], now_ns: int) -> None:
        """Begin a scenario; what is left of the one before is dropped."""
        self._steps = deque(steps)
        self._began_ns = now_ns

    @property
    def steps_left(self) -> int:
        """Steps still to come."""
        return len(self._steps)

    @property
    def next_due_ns(self) -> int | None:
        """When the next step is due."""
        return self._began_ns + self._steps[0].at_ns if self._steps else None

    def pop_due(self, now_ns: int) -> Action | None:
        """The next action that is due, never before its time."""
        due_ns = self.next_due_ns
        if due_ns is None or now_ns < due_ns:
            return None
        step = self._steps.popleft()
        self.played.append(f"{s_from_ns(now_ns - self._began_ns):.3f} s: {step.text}")
        return step.action
