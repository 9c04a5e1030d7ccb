"""When a process that died is started again, and when no more. Pure: the time is handed in."""

from typing import Final

import msgspec

from steadyhand.ground.stamps import NS_PER_MS, NS_PER_S

WINDOW_NS: Final = 30 * NS_PER_S
DEATHS_TO_GIVE_UP: Final = 5
"""In one window. A process that dies so often would die again, and each time with an arm in its hands."""

FIRST_DELAY_NS: Final = 250 * NS_PER_MS
LONGEST_DELAY_NS: Final = 4 * NS_PER_S


class Restart(msgspec.Struct, frozen=True):
    """Start it again at `at_ns`."""

    at_ns: int


class GiveUp(msgspec.Struct, frozen=True):
    """Leave it dead: it died `deaths` times within `WINDOW_NS`."""

    deaths: int


class RestartRule:
    """The deaths of one process.

    Attributes:
        deaths: all of them.
    """

    def __init__(self) -> None:
        self.deaths = 0
        self._recent_ns: list[int] = []

    def note_death(self, now_ns: int) -> Restart | GiveUp:
        """Decide: at once after a first death, later after each further one, and after five not at all."""
        self.deaths += 1
        self._recent_ns = [died_ns for died_ns in self._recent_ns if now_ns - died_ns < WINDOW_NS]
        self._recent_ns.append(now_ns)
        recent = len(self._recent_ns)
        if recent >= DEATHS_TO_GIVE_UP:
            return GiveUp(recent)
        if recent == 1:
            return Restart(now_ns)
        return Restart(now_ns + min(LONGEST_DELAY_NS, FIRST_DELAY_NS << (recent - 2)))
