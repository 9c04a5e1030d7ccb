"""What `doctor` has to ask the kernel for, because no file says it."""

import os
import platform
import resource
import struct
from ctypes import create_string_buffer
from typing import Final

import msgspec

from steadyhand.edge.libc import call
from steadyhand.edge.segment import create_anonymous

STA_UNSYNC: Final = 0x40
TIMEX: Final = struct.Struct("@Illlli")
"""The head of struct timex: modes, offset, freq, maxerror, esterror, status; adjtimex(2)."""
TIMEX_BYTES: Final = 256


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What is not in files.

    Attributes:
        rate_hz: the rate the machine is examined for.
        kernel: release and version, as `uname -rv`.
        priority_limit: RLIMIT_RTPRIO.
        locked_limit_bytes: RLIMIT_MEMLOCK.
        allowed_cpus: cores this process may run on.
        cpus: cores of the machine.
        synchronised: whether the kernel holds its clock for synchronised; None: it does not say.
        clock_error_us: by how much, at most, in its own estimate.
        shared_memory: whether an anonymous segment could be made.
    """

    rate_hz: float
    kernel: str
    priority_limit: int
    locked_limit_bytes: int
    allowed_cpus: frozenset[int]
    cpus: int
    synchronised: bool | None
    clock_error_us: int
    shared_memory: bool


def gather_facts(rate_hz: float) -> Facts:
    """Ask this process and its kernel. Never raises."""
    synchronised, clock_error_us = _kernel_clock()
    return Facts(
        rate_hz=rate_hz,
        kernel=f"{platform.release()} {platform.version()}",
        priority_limit=resource.getrlimit(resource.RLIMIT_RTPRIO)[0],
        locked_limit_bytes=resource.getrlimit(resource.RLIMIT_MEMLOCK)[0],
        allowed_cpus=frozenset(os.sched_getaffinity(0)),
        cpus=os.cpu_count() or 1,
        synchronised=synchronised,
        clock_error_us=clock_error_us,
        shared_memory=_shared_memory_works(),
    )


def _kernel_clock() -> tuple[bool | None, int]:
    """Whether the kernel's clock is disciplined, and its largest error in µs; asked, not set."""
    answer = create_string_buffer(TIMEX_BYTES)
    try:
        call("adjtimex", answer)
    except OSError:
        return None, 0
    _, _, _, error_us, _, status = TIMEX.unpack_from(answer.raw)
    return not status & STA_UNSYNC, error_us


def _shared_memory_works() -> bool:
    try:
        create_anonymous("steadyhand-doctor", resource.getpagesize()).close()
    except OSError:
        return False
    return True
