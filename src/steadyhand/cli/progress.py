"""A bar for runs that take longer than a glance, and nothing for those that do not."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

SHOW_AFTER_S: Final = 2.0


@contextmanager
def bar(title: str) -> Iterator[Callable[[float], None]]:
    """Yield a function that takes the share done; a bar appears on a terminal after two seconds."""
    if not sys.stderr.isatty():
        yield lambda share: None
        return
    from rich.console import Console
    from rich.progress import Progress

    shown = Progress(console=Console(stderr=True), transient=True)
    task = shown.add_task(title, total=1.0)
    started_s = time.monotonic()
    running = False

    def advance(share: float) -> None:
        nonlocal running
        if not running and time.monotonic() - started_s > SHOW_AFTER_S:
            shown.start()
            running = True
        shown.update(task, completed=share)

    try:
        yield advance
    finally:
        if running:
            shown.stop()
