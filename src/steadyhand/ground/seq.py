"""Wrap-aware u32 sequence numbers.

The wire counts setpoints modulo 2**32 (RFC 1982's serial numbers with the half-window rule of
document 000 §4). Inside the playout buffer a number is *unwrapped* once, on arrival, into a plain
integer that never wraps, so that everything behind the arrival compares with `<`.
"""

from typing import Final

SEQ_MODULUS: Final = 1 << 32
SEQ_MASK: Final = SEQ_MODULUS - 1
HALF_WINDOW: Final = 1 << 31


def is_newer(seq: int, base: int) -> bool:
    """Tell whether `seq` comes after `base`: 0 < seq − base < 2**31 in u32 arithmetic."""
    return 0 < ((seq - base) & SEQ_MASK) < HALF_WINDOW


def signed_distance(seq: int, base: int) -> int:
    """Steps from `base` to `seq`, in [−2**31, 2**31): positive where `seq` is newer.

    Exactly half a circle away counts as older, as in `is_newer`.
    """
    forward = (seq - base) & SEQ_MASK
    return forward if forward < HALF_WINDOW else forward - SEQ_MODULUS


def advance(seq: int, steps: int = 1) -> int:
    """Return the wire number `steps` after `seq`, wrapping at 2**32."""
    return (seq + steps) & SEQ_MASK


def unwrap(seq: int, reference: int) -> int:
    """Return the unwrapped integer nearest to `reference` whose low 32 bits are `seq`."""
    return reference + signed_distance(seq, reference & SEQ_MASK)
