"""An e-stop from this host, for a person at a terminal: by signal, then by the control service.

What stops an arm should need as little as possible to be alive. The signal needs the data plane alone,
and nothing has to be loaded for it; the call is the second way. Nothing is believed stopped that was
not seen stopped, in a record made after it was asked.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from steadyhand.ground.stamps import NS_PER_MS
from steadyhand.nodes.follower.runtime_files import RunningFollower, newest_record

SIGNAL_WITHIN_S: Final = 0.3
"""A data plane that runs stops within its period."""

STOPPED_WITHIN_S: Final = 1.0
FRESH_NS: Final = 500 * NS_PER_MS
LOOK_EVERY_S: Final = 0.005


def stop_all(followers: list[RunningFollower], call: Callable[[RunningFollower], str]) -> list[str]:
    """Stop every one; signals go out first, to all.

    Args:
        followers: whose arms.
        call: the second way; answers why it failed, or "".

    Returns:
        For each "" where it was seen stopped, else why not.
    """
    asked_ns = time.monotonic_ns()
    signalled = [_signal(one, asked_ns) for one in followers]
    return [
        _see_stopped(one, call, asked_ns, signalled=went)
        for one, went in zip(followers, signalled, strict=True)
    ]


def _signal(follower: RunningFollower, now_ns: int) -> bool:
    """An e-stop by signal, to a data plane that was there a moment ago; whether it went out."""
    record = follower.record
    if record is None or now_ns - record.at_ns > FRESH_NS:
        # Its number may be another process's by now, which the signal would kill.
        return False
    with suppress(OSError):
        os.kill(record.pid, signal.SIGUSR1)
        return True
    return False


def _see_stopped(
    follower: RunningFollower, call: Callable[[RunningFollower], str], asked_ns: int, *, signalled: bool
) -> str:
    """Wait for the record that says so, and take the second way where none comes. Why not, or ""."""
    ring = Path(follower.card.ring_path)
    if signalled and _stopped_within(ring, asked_ns, SIGNAL_WITHIN_S):
        return ""
    why = call(follower)
    if _stopped_within(ring, asked_ns, STOPPED_WITHIN_S):
        return ""
    return why or "its data plane tells nothing"


def _stopped_within(ring: Path, asked_ns: int, within_s: float) -> bool:
    """Whether a record made after it was asked says stopped."""
    ends_s = time.monotonic() + within_s
    while time.monotonic() < ends_s:
        record = newest_record(ring)
        if record is not None and record.engage == "stopped" and record.at_ns >= asked_ns:
            return True
        select.select([], [], [], LOOK_EVERY_S)
    return False
