"""The demo while it runs: a panel on a terminal, plain lines everywhere else.

Both go to standard error, so that a report on standard output stays alone.
"""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from steadyhand.nodes.demo.glimpse import Glimpse, Watcher

BAR_CELLS: Final = 36
DEEPEST_SHOWN: Final = 2.0
"""The bar is this many times the target long, so that a burst is seen to land."""

LINE_EVERY_S: Final = 5.0
"""How often a plain terminal is told how things stand."""

STATE_STYLES: Final = {"streaming": "green", "stopped": "bold red", "braking": "yellow", "preparing": "cyan"}


class PlainLines:
    """Happenings as lines; now and then how things stand, unless only happenings are wanted."""

    def __init__(self, console: Console, *, glimpses: bool) -> None:
        self._console = console
        self._glimpses = glimpses
        self._told_s = time.monotonic()
        self._lock = threading.Lock()

    def say(self, line: str) -> None:
        """One happening."""
        with self._lock:
            self._console.print(escape(line), soft_wrap=True)

    def show(self, glimpse: Glimpse) -> None:
        """How things stand, every few seconds."""
        now_s = time.monotonic()
        if self._glimpses and now_s - self._told_s >= LINE_EVERY_S:
            self._told_s = now_s
            self.say(plain_line(glimpse))


class Panels:
    """A panel that is kept up to date, happenings scrolling above it."""

    def __init__(self, live: Live) -> None:
        self._live = live

    def say(self, line: str) -> None:
        """One happening, above the panel."""
        self._live.console.print(escape(line))

    def show(self, glimpse: Glimpse) -> None:
        """Draw the panel anew."""
        self._live.update(panel(glimpse), refresh=True)


@contextmanager
def watching(*, headless: bool, console: Console | None = None) -> Iterator[Watcher]:
    """A panel where the terminal can draw one; lines where it cannot; only happenings where headless."""
    out = console or Console(stderr=True, highlight=False)
    if headless or out.is_dumb_terminal or not out.is_terminal:
        quiet = headless or not out.is_terminal
        yield PlainLines(_unbroken(out) if console is None else out, glimpses=not quiet)
        return
    with Live(console=out, auto_refresh=False, transient=True) as live:
        yield Panels(live)


def _unbroken(out: Console) -> Console:
    """A pipe gets lines that are not broken at some width."""
    return (
        out if out.is_terminal else Console(file=sys.stderr, highlight=False, width=240, no_color=_no_color())
    )


def _no_color() -> bool:
    return bool(os.environ.get("NO_COLOR"))


def panel(glimpse: Glimpse) -> Panel:
    """Everything there is to be seen, under the run's phase and time."""
    rows = Table.grid(padding=(0, 2))
    rows.add_column(style="dim", no_wrap=True)
    rows.add_column(no_wrap=True, overflow="ellipsis")
    for label, value in _rows(glimpse):
        rows.add_row(label, value)
    title = f"{glimpse.phase} · {max(glimpse.elapsed_s, 0.0):.1f} of {glimpse.duration_s:g} s"
    return Panel(Group(rows), title=escape(title), title_align="left", border_style=_border(glimpse))


def _rows(glimpse: Glimpse) -> Iterator[tuple[str, Text]]:
    style = STATE_STYLES.get(glimpse.engage, "")
    yield "arm", Text(glimpse.engage or "–", style=style)
    yield "link", Text(glimpse.link, style="bold red" if glimpse.link == "killed" else "")
    yield "queue", depth_bar(glimpse.depth, glimpse.target)
    yield "released", mix(glimpse)
    yield (
        "waited",
        Text(f"{_ms(glimpse.wait_ms)} in the queue, {_ms(glimpse.latency_ms)} from sending to release"),
    )
    yield "stopped", Text(glimpse.stopped_by or "no", style="bold red" if glimpse.stopped_by else "")
    yield "last stop", Text(glimpse.last_stop or "none")
    yield "e-stop", Text(glimpse.estop or "none yet")


def depth_bar(depth: int, target: int) -> Text:
    """The queue against its target: filled cells, and a mark where the target is."""
    longest = max(DEEPEST_SHOWN * target, depth, 1)
    filled = min(BAR_CELLS, round(BAR_CELLS * depth / longest))
    mark = min(BAR_CELLS - 1, round(BAR_CELLS * target / longest)) if target else -1
    bar = Text()
    for cell in range(BAR_CELLS):
        sign = "│" if cell == mark else "█" if cell < filled else "·"
        bar.append(sign, style="bold" if cell == mark else "green" if depth else "dim")
    return bar.append(f" {depth} of {target}")


def mix(glimpse: Glimpse) -> Text:
    """Of what the last two seconds' ticks were made."""
    return Text.assemble(
        (f"{100 * glimpse.fresh:.0f} % fresh", "green"),
        "  ",
        (f"{100 * glimpse.synthetic:.0f} % synthetic", "yellow" if glimpse.synthetic else "dim"),
        "  ",
        (f"{100 * glimpse.held:.0f} % held", "yellow" if glimpse.held else "dim"),
    )


def plain_line(glimpse: Glimpse) -> str:
    """The same in one line without a colour."""
    parts = [
        f"{max(glimpse.elapsed_s, 0.0):.1f} s {glimpse.phase}",
        f"arm {glimpse.engage or '–'}",
        f"queue {glimpse.depth} of {glimpse.target}",
        mix(glimpse).plain,
        f"sent to released {_ms(glimpse.latency_ms)}",
    ]
    if glimpse.stopped_by:
        parts.append(f"stopped: {glimpse.stopped_by}")
    return " | ".join(parts)


def _border(glimpse: Glimpse) -> str:
    if glimpse.stopped_by:
        return "red"
    return "green" if glimpse.engage == "streaming" else "cyan"


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f} ms"
