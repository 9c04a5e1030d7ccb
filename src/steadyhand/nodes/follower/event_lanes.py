"""Events on their way to whoever watches: two lanes each, and what changes the arm's state goes first.

A watcher that reads slowly loses diagnostics, newest first, and is told how many; it never loses a
stop, and no diagnostic ever delays one (document 003, return path step 5). One that does not even
take what must not be lost is let go, so that it notices.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, Final

import msgspec

from steadyhand.core.follower.outputs import (
    DepthChanged,
    FollowerEvent,
    Moved,
    ProgramFault,
    RequestRefused,
    ResetDone,
    SafetyNote,
    SessionOpened,
    Stopped,
)

PRIORITY_KEPT: Final = 1024
BULK_KEPT: Final = 64

PRIORITY_EVENTS: Final = (SessionOpened, Moved, Stopped, ResetDone, ProgramFault)
BULK_EVENTS: Final = (RequestRefused, DepthChanged)
PRIORITY_NOTES: Final = frozenset({"GuardTripped", "GuardToggled", "GuardEdited"})
"""Of the envelope's notes, those that say what protects the arm; the rest are diagnostics."""


class ToldEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event, ready to be told.

    Attributes:
        kind: its name.
        json: its fields.
        at_ns: this host's monotonic clock.
        priority: which lane.
    """

    kind: str
    json: str
    at_ns: int
    priority: bool


def own_event(kind: str, at_ns: int, fields: dict[str, Any], *, priority: bool = True) -> ToldEvent:
    """An event of the control plane's own."""
    return ToldEvent(kind=kind, json=msgspec.json.encode(fields).decode(), at_ns=at_ns, priority=priority)


def from_follower(event: FollowerEvent) -> ToldEvent:
    """An event of the data plane's, in its lane."""
    fields: dict[str, Any] = msgspec.to_builtins(event)
    kind, at_ns = fields.pop("type"), fields.pop("at_ns")
    priority = isinstance(event, PRIORITY_EVENTS) or (
        isinstance(event, SafetyNote) and event.kind in PRIORITY_NOTES
    )
    return own_event(kind, at_ns, _renamed(fields), priority=priority)


def _renamed(fields: dict[str, Any]) -> dict[str, Any]:
    """A safety note has a kind of its own, which must not hide the event's."""
    return {"note" if name == "kind" else name: value for name, value in fields.items()}


class EventLanes:
    """What waits for one watcher.

    Attributes:
        overflowed: whether something was lost that must not be.
    """

    def __init__(self, *, priority_kept: int = PRIORITY_KEPT, bulk_kept: int = BULK_KEPT) -> None:
        self.overflowed = False
        self._priority: deque[ToldEvent] = deque()
        self._bulk: deque[ToldEvent] = deque()
        self._priority_kept = priority_kept
        self._bulk_kept = bulk_kept
        self._dropped = 0

    def put(self, event: ToldEvent) -> None:
        """Add an event to its lane."""
        if event.priority:
            if len(self._priority) < self._priority_kept:
                self._priority.append(event)
            else:
                self.overflowed = True
        elif len(self._bulk) < self._bulk_kept:
            self._bulk.append(event)
        else:
            self._dropped += 1

    def take(self) -> tuple[ToldEvent, int] | None:
        """The next event and the diagnostics dropped since the last; None where nothing waits."""
        if self._priority:
            event = self._priority.popleft()
        elif self._bulk:
            event = self._bulk.popleft()
        else:
            return None
        dropped, self._dropped = self._dropped, 0
        return event, dropped


class Watcher:
    """One watcher: its lanes, and a way to wait for them."""

    def __init__(self, lanes: EventLanes | None = None) -> None:
        self.lanes = lanes or EventLanes()
        self._waiting = asyncio.Event()
        self._over = ""

    def put(self, event: ToldEvent) -> None:
        """Add an event and wake whoever waits."""
        self.lanes.put(event)
        self._waiting.set()

    def end(self, reason: str) -> None:
        """Nothing more will come once what waits has been taken."""
        self._over = reason
        self._waiting.set()

    async def following(self) -> tuple[ToldEvent, int] | str:
        """The next event, waited for; or why there is none any more."""
        while True:
            if self.lanes.overflowed:
                return "this watcher reads too slowly"
            taken = self.lanes.take()
            if taken is not None:
                return taken
            if self._over:
                return self._over
            self._waiting.clear()
            await self._waiting.wait()


class EventFan:
    """Everybody who watches."""

    def __init__(self) -> None:
        self._watchers: dict[Watcher, int] = {}

    def __len__(self) -> int:
        return len(self._watchers)

    def join(self, session_id: int) -> Watcher:
        """A new watcher; `session_id` 0 for one that needs no session."""
        watcher = Watcher()
        self._watchers[watcher] = session_id
        return watcher

    def leave(self, watcher: Watcher) -> None:
        """The watcher has gone."""
        self._watchers.pop(watcher, None)

    def tell(self, event: ToldEvent) -> None:
        """Tell everybody; nobody is waited for."""
        for watcher in self._watchers:
            watcher.put(event)

    def end_session(self, session_id: int, reason: str) -> None:
        """A retired session's watchers are told what waits, and that it is over."""
        for watcher, watched_by in self._watchers.items():
            if watched_by == session_id and session_id:
                watcher.end(reason)
