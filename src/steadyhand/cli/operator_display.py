"""The operator's terminal: events as lines, and below them one line that is kept up to date."""

import time
from types import TracebackType
from typing import Any, Self, TextIO

from rich.console import Console
from rich.live import Live
from rich.text import Text

from steadyhand.nodes.operator.arm import Arm
from steadyhand.view.operator_line import STYLES, event_line, live_line


class Display:
    """Shows one arm, as a context manager.

    Args:
        stream: where to; a terminal has the line that changes, anything else gets plain lines.
        plain_every_s: pause between two of these plain lines.
    """

    def __init__(self, stream: TextIO, *, plain_every_s: float) -> None:
        self._console = Console(file=stream, highlight=False, soft_wrap=True)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._plain_every_s = plain_every_s
        self._said_s = time.monotonic()

    def show(self, arm: Arm) -> list[dict[str, Any]]:
        """Say what is new; the new events as JSON values."""
        from msgspec import to_builtins

        events = arm.events()
        for event in events:
            self._console.print(Text(event_line(event), style=STYLES[event.level]))
        if self._console.is_terminal:
            text = Text(live_line(arm.view), no_wrap=True, overflow="ellipsis")
            self._live.update(text, refresh=True)
        elif time.monotonic() - self._said_s >= self._plain_every_s:
            self._said_s = time.monotonic()
            self._console.print(Text(live_line(arm.view)))
        return [to_builtins(event) for event in events]

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._console.is_terminal:
            self._live.stop()
