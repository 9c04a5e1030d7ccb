"""The sliding window over a sealed stream's counter: each datagram is taken once.

Late ones are welcome within the window, since datagrams overtake each other; behind it nothing
can be told from a replay and everything is refused (as in RFC 6479 and IPsec's anti-replay).
"""

from enum import IntEnum
from typing import Final

#: Counters behind the newest that are still told apart: ten seconds at 100 Hz, more than the two
#: seconds of the deepest playout buffer (document 000 §11).
REPLAY_WINDOW: Final = 1024

_MASK: Final = (1 << REPLAY_WINDOW) - 1


class Freshness(IntEnum):
    """What a counter is to a window."""

    FRESH = 0
    REPLAYED = 1
    STALE = 2


class ReplayWindow:
    """Which counters of one session and direction were accepted.

    Judging and accepting are two calls, because a counter may only be believed once its datagram
    has been authenticated: a forger who could move the window would shut the sender out.
    """

    def __init__(self) -> None:
        """Nothing has been accepted, so every counter is fresh."""
        self._newest = -1
        # Bit n is set where counter `_newest - n` was accepted.
        self._accepted = 0

    def judge(self, counter: int) -> Freshness:
        """Tell whether `counter` is new, was accepted before, or lies behind the window."""
        behind = self._newest - counter
        if behind < 0:
            return Freshness.FRESH
        if behind >= REPLAY_WINDOW:
            return Freshness.STALE
        return Freshness.REPLAYED if self._accepted >> behind & 1 else Freshness.FRESH

    def accept(self, counter: int) -> None:
        """Record a counter that was judged fresh and whose datagram was authentic."""
        ahead = counter - self._newest
        if ahead > 0:
            self._accepted = (self._accepted << ahead & _MASK | 1) if ahead < REPLAY_WINDOW else 1
            self._newest = counter
        else:
            self._accepted |= 1 << -ahead
