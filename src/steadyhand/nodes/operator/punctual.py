"""Keeps this process on time while it leads: an operator's end that is starved sends less than it should.

What is not sent in its period is missing from the follower's queue for a long time, since the queue is
filled again by half a percent only (R2). On a busy machine an ordinary process is held up for 100 ms.
"""

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

PRIORITY: Final = 50
"""Below data plane, controller and network (architecture.md): what it sends they have to be there for."""

TASKS: Final = Path("/proc/self/task")


@contextmanager
def punctual() -> Iterator[str]:
    """Every thread of this process in the real-time class until the block ends, if the machine lets it.

    All of them, not only the one that leads: whoever holds the interpreter's lock holds up the others.
    Threads made later, and children, are ordinary ones.

    Yields:
        What was granted, in a line.
    """
    gc.collect()
    gc.freeze()
    try:
        yield _all_threads(os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, PRIORITY)
    finally:
        with suppress(OSError):
            _all_threads(os.SCHED_OTHER, 0)
        gc.unfreeze()


def _all_threads(policy: int, priority: int) -> str:
    try:
        for task in TASKS.iterdir():
            with suppress(ProcessLookupError):  # it ended meanwhile
                os.sched_setscheduler(int(task.name), policy, os.sched_param(priority))
    except OSError as error:
        return f"scheduling: refused, SCHED_FIFO {priority}: {error.strerror}"
    return f"scheduling: granted, SCHED_FIFO {priority}"
