"""E-stop episodes: which emergencies are over, so that a late copy does not stop the arm again (R11).

An e-stop travels on two paths and is repeated until it is acknowledged, so copies of it arrive long
after the operator's reset. An episode is known by its sender's session and its id together: a
restarted operator may count from one again, and its first e-stop must not look like an old one.
"""

from typing import Final

NO_EPISODE: Final = 0
REMEMBERED_EPISODES: Final = 256
"""Settled episodes kept; beyond it the oldest is forgotten, and a copy of it would stop the arm."""

Episode = tuple[int, int]


class EpisodeBook:
    """Remembers the episodes of the present stop, and those that resets have settled."""

    def __init__(self) -> None:
        self._present: dict[Episode, None] = {}
        self._settled: dict[Episode, None] = {}

    def note(self, session_id: int, episode_id: int) -> None:
        """An e-stop of this episode belongs to the present stop. Without an id there is nothing to keep."""
        if episode_id != NO_EPISODE:
            self._present[session_id, episode_id] = None
            _forget_oldest(self._present)

    def settle(self) -> None:
        """The reset: what belonged to the stop is over, and so are the copies still under way."""
        self._settled.update(self._present)
        self._present.clear()
        _forget_oldest(self._settled)

    def is_settled(self, session_id: int, episode_id: int) -> bool:
        """Whether this e-stop is a copy of one that a reset has already settled."""
        return (session_id, episode_id) in self._settled


def _forget_oldest(episodes: dict[Episode, None]) -> None:
    """Keep the newest; a hostile flood of ids must not grow the book."""
    while len(episodes) > REMEMBERED_EPISODES:
        del episodes[next(iter(episodes))]
