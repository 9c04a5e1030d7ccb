"""The few calls of the C library that Python's own modules do not offer."""

import ctypes
import errno
import os


def call(function: str, *arguments: int | ctypes.Array[ctypes.c_char]) -> int:
    """Call `function` with integers, or a buffer it fills in.

    Raises:
        OSError: the call answered -1, with its reason; or this C library has no such function.
    """
    library = ctypes.CDLL(None, use_errno=True)
    try:
        entry = library[function]
    except AttributeError:
        raise OSError(errno.ENOSYS, f"this C library has no {function}") from None
    entry.restype = ctypes.c_int
    # As long, not int: prctl is variadic and takes whole registers.
    whole = [ctypes.c_long(item) if isinstance(item, int) else item for item in arguments]
    result = int(entry(*whole))
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
