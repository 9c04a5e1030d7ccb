"""The scheduling class of the proxy's own thread, asked for and reported, never assumed."""

import os
from typing import Final

PROXY_PRIORITY: Final = 60
"""Below the data plane's 80 and the simulated controller's 70 (architecture, "Processes at the robot")."""


def take_fifo(priority: int = PROXY_PRIORITY) -> str:
    """Ask for SCHED_FIFO for the calling thread; answers with what it has now.

    Returns:
        `SCHED_FIFO 60`, or why not: `no SCHED_FIFO 60: Operation not permitted`.
    """
    wanted = f"SCHED_FIFO {priority}"
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except OSError as error:
        return f"no {wanted}: {error.strerror}"
    return wanted
