"""Units of time, and names that say whose clock a number belongs to.

Everything decides on integer nanoseconds of the local monotonic clock, handed in as `now_ns`.
Sender stamps arrive as float seconds of the sender's own clock and are only ever compared with
other stamps of the same sender (document 000 §7, "the clock discipline").
"""

from typing import Final

NS_PER_S: Final = 1_000_000_000
NS_PER_MS: Final = 1_000_000
NS_PER_US: Final = 1_000


def ns_from_s(seconds: float) -> int:
    """Seconds to integer nanoseconds, rounded half to even. Raises on non-finite input."""
    return round(seconds * NS_PER_S)


def ns_from_ms(milliseconds: float) -> int:
    """Milliseconds to integer nanoseconds, rounded half to even. Raises on non-finite input."""
    return round(milliseconds * NS_PER_MS)


def s_from_ns(nanoseconds: int) -> float:
    """Integer nanoseconds to seconds."""
    return nanoseconds / NS_PER_S


def ms_from_ns(nanoseconds: float) -> float:
    """Nanoseconds to milliseconds."""
    return nanoseconds / NS_PER_MS
