"""What is done to a run on purpose: the same moments in virtual time and over sockets.

`kill_link` shuts the link's door for a while, as the impairment proxy's command does: what comes to it
is lost and asks the link for nothing, so both ways of playing a scenario draw the same dice.
"""

from typing import Final, Literal

import msgspec

Script = Literal["none", "kill_link"]

KILL_AT_SHARE: Final = 0.4
"""Of the run: late enough to show it healthy, early enough to show it recovered."""

KILL_FOR_S: Final = 1.5
"""Longer than any buffer is paid for, so that the answer is a stop."""

SHORTEST_KILL_RUN_S: Final = 6.0
"""Below it no time is left to recover in and to be seen recovered."""


class Span(msgspec.Struct, frozen=True):
    """From one moment of a run to another, seconds since it began to send; the end is not in it."""

    begin_s: float
    end_s: float

    def holds(self, time_s: float) -> bool:
        """Whether a moment lies within."""
        return self.begin_s <= time_s < self.end_s


def killed(script: Script, duration_s: float) -> Span | None:
    """When the script has the link killed; None where it never does."""
    if script == "none":
        return None
    begin_s = KILL_AT_SHARE * duration_s
    return Span(begin_s, begin_s + KILL_FOR_S)
