"""What the follower's states make worth telling: its stops, and how deep its buffer has grown."""

from steadyhand.core.operator.follower_word import UNNAMED, DepthWord, FollowerWord, StopWord
from steadyhand.core.operator.notices import (
    DepthDeepened,
    DepthRestored,
    FollowerReleased,
    FollowerStopped,
    Notice,
)


class FollowerWatch:
    """Compares each state with what the operator has been told."""

    def __init__(self) -> None:
        self._stop: StopWord | None = None
        self._tripped: tuple[str, ...] = ()
        self._told_ms: float | None = None

    def note(self, word: FollowerWord, now_ns: int) -> list[Notice]:
        """The notices that one state calls for, mostly none."""
        return [*self._note_stop(word, now_ns), *self._note_depth(word.depth, now_ns)]

    def _note_stop(self, word: FollowerWord, now_ns: int) -> list[Notice]:
        """A stop is told once, with its cause and the tripped guards; again only when more is known.

        A later frame may have had to shed what an earlier one said: that is no news.
        """
        told, stop = self._stop, word.stop
        if stop is None:
            self._stop, self._tripped = None, ()
            return [FollowerReleased(at_ns=now_ns)] if told is not None else []
        fresh_guards = tuple(guard for guard in word.tripped if guard not in self._tripped)
        if told is not None and stop.kind == UNNAMED:
            stop = told
        if stop == told and not fresh_guards:
            return []
        self._stop, self._tripped = stop, self._tripped + fresh_guards
        return [
            FollowerStopped(
                at_ns=now_ns, kind=stop.kind, detail=stop.detail, name=stop.name, tripped=self._tripped
            )
        ]

    def _note_depth(self, depth: DepthWord | None, now_ns: int) -> list[Notice]:
        """A target above its base is told, again only when it climbs further, and its return once."""
        if depth is None:
            return []
        if depth.target_ms > depth.base_ms:
            if self._told_ms is not None and depth.target_ms <= self._told_ms:
                return []
            self._told_ms = depth.target_ms
            return [DepthDeepened(at_ns=now_ns, target_ms=depth.target_ms, base_ms=depth.base_ms)]
        if self._told_ms is None:
            return []
        self._told_ms = None
        return [DepthRestored(at_ns=now_ns, base_ms=depth.base_ms)]
