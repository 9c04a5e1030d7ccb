"""Opening the session, and opening it again: when to ask, and what to make of the answer.

Pure: the loop hands in the time and what it heard, and asks what to do. Opening never engages; who
leads has to prepare the stream again (R3).
"""

from enum import StrEnum
from typing import Final

import msgspec

from steadyhand.ground.stamps import NS_PER_MS, NS_PER_S
from steadyhand.nodes.operator.control_link import FollowerCard, SessionOpened

FIRST_PAUSE_NS: Final = 250 * NS_PER_MS
LONGEST_PAUSE_NS: Final = 4 * NS_PER_S
"""Pauses between two askings double from the first to the longest."""

PATIENCE_NS: Final = 5 * NS_PER_S
"""An asking without any answer is given up after this; the control link answers sooner."""


class SessionState(StrEnum):
    """Where the session stands."""

    WAITING = "waiting"
    """Until the next asking is due."""
    OPENING = "opening"
    OPEN = "open"
    CLOSED = "closed"
    """For good: this operator goes."""


class SessionView(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be seen of the session.

    Attributes:
        state: where it stands.
        session_id: while open, else 0.
        opened: how many were opened so far.
        attempt: the newest asking.
        refused: why the newest asking was refused; "" where it was not.
        failed: why nobody answered it, or why the session before was lost; "" likewise.
        control_up: whether the control service is heard.
        follower: what it says of itself.
    """

    state: SessionState
    session_id: int
    opened: int
    attempt: int
    refused: str
    failed: str
    control_up: bool
    follower: FollowerCard


class SessionKeeper:
    """One operator's session, through its losses."""

    def __init__(self) -> None:
        self.state = SessionState.WAITING
        self.attempt = 0
        self.session_id = 0
        self.opened_count = 0
        self.refused = ""
        self.failed = ""
        self.control_up = False
        self.follower = FollowerCard()
        self._pause_ns = FIRST_PAUSE_NS
        self._due_ns: int | None = 0

    @property
    def due_ns(self) -> int | None:
        """When `step` is wanted; None while nothing is to be done."""
        return self._due_ns

    def step(self, now_ns: int) -> bool:
        """Whether to ask for a session now, as attempt number `attempt`."""
        if self._due_ns is None or now_ns < self._due_ns:
            return False
        if self.state is SessionState.OPENING:
            self.not_opened(self.attempt, refused=False, reason="no answer", now_ns=now_ns)
            return False
        self.attempt += 1
        self.state = SessionState.OPENING
        self._due_ns = now_ns + PATIENCE_NS
        return True

    def opened(self, answer: SessionOpened, now_ns: int) -> bool:
        """A session is open; False where nobody waits for this one any more."""
        if self.state is not SessionState.OPENING or answer.attempt != self.attempt:
            return False
        self.state = SessionState.OPEN
        self.session_id = answer.session_id
        self.follower = answer.follower
        self.opened_count += 1
        self.refused = self.failed = ""
        self.control_up = True
        self._pause_ns, self._due_ns = FIRST_PAUSE_NS, None
        return True

    def not_opened(self, attempt: int, *, refused: bool, reason: str, now_ns: int) -> None:
        """Ask again after a pause that doubles with each failure."""
        if self.state is not SessionState.OPENING or attempt != self.attempt:
            return
        self.refused, self.failed = (reason, "") if refused else ("", reason)
        self._wait(now_ns)

    def lost(self, attempt: int, reason: str, now_ns: int) -> bool:
        """The follower forgot the session; True where it was this one."""
        if self.state is not SessionState.OPEN or attempt != self.attempt:
            return False
        self.session_id = 0
        self.failed, self.control_up = reason, False
        self._wait(now_ns)
        return True

    def close(self) -> None:
        """No further asking."""
        self.state, self.session_id, self._due_ns = SessionState.CLOSED, 0, None

    def view(self) -> SessionView:
        """As things stand."""
        return SessionView(
            state=self.state,
            session_id=self.session_id,
            opened=self.opened_count,
            attempt=self.attempt,
            refused=self.refused,
            failed=self.failed,
            control_up=self.control_up,
            follower=self.follower,
        )

    def _wait(self, now_ns: int) -> None:
        self.state = SessionState.WAITING
        self._due_ns = now_ns + self._pause_ns
        self._pause_ns = min(2 * self._pause_ns, LONGEST_PAUSE_NS)
