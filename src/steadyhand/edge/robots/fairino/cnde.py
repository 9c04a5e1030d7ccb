"""TCP port 20005: the frames of CNDE, the vendor's configurable state feed (`cnde_func.rst`).

    5A 5A | count u8 | type u8 | length u16 | data | A5 A5      little-endian, no checksum

A TCP stream has no frame boundaries. The vendor's own client drops what arrives coalesced or in
pieces; this parser does not, and finds its way back after bytes that are no frame.
"""

from enum import IntEnum
from typing import Final

import msgspec

HEAD: Final = b"\x5a\x5a"
TAIL: Final = b"\xa5\xa5"
HEADER_BYTES: Final = 6
OVERHEAD_BYTES: Final = HEADER_BYTES + len(TAIL)
MAX_DATA_BYTES: Final = 4096


class FrameType(IntEnum):
    """What a frame is."""

    INPUT_CONFIG = 0
    OUTPUT_CONFIG = 1
    OUTPUT_START = 2
    OUTPUT_STOP = 3
    OUTPUT_DATA = 4
    INPUT_DATA = 5
    MESSAGE = 6
    SET_VERSION = 7
    GET_VERSION = 8


class MessageKind(IntEnum):
    """First byte of a message."""

    SUCCESS = 0
    INFORMATION = 1
    WARNING = 2
    ERROR = 3
    FAULT = 4


class Frame(msgspec.Struct, frozen=True, gc=False):
    """One frame."""

    count: int
    type: FrameType
    data: bytes


def encode(count: int, frame_type: FrameType, data: bytes = b"") -> bytes:
    """Frame `data`.

    Raises:
        ValueError: more than `MAX_DATA_BYTES`.
    """
    if len(data) > MAX_DATA_BYTES:
        raise ValueError(f"{len(data)} bytes do not fit into a frame of {MAX_DATA_BYTES}")
    return b"%b%c%c%b%b%b" % (
        HEAD,
        count & 0xFF,
        frame_type,
        len(data).to_bytes(2, "little"),
        data,
        TAIL,
    )


class FrameParser:
    """Cuts a byte stream into frames. What is no frame is skipped, counted, and resumed behind.

    A false head inside garbage can hold the parser up until the length it claims has arrived, at most
    `MAX_DATA_BYTES`; the frames that came meanwhile are then found and delivered late, not lost.
    """

    def __init__(self) -> None:
        self.garbage_bytes = 0
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Frame]:
        """Every frame completed by `data`, in order."""
        buffer = self._buffer
        buffer += data
        frames: list[Frame] = []
        start = 0
        while (head := buffer.find(HEAD, start)) >= 0:
            self.garbage_bytes += head - start
            start = head
            if len(buffer) - head < HEADER_BYTES:
                break
            length = buffer[head + 4] | buffer[head + 5] << 8
            end = head + length + OVERHEAD_BYTES
            if buffer[head + 3] > FrameType.GET_VERSION or length > MAX_DATA_BYTES:
                start = self._skip(head)
            elif end > len(buffer):
                break
            elif buffer[end - len(TAIL) : end] != TAIL:
                start = self._skip(head)
            else:
                frames.append(_frame(buffer, head, end))
                start = end
        else:
            # A lone first byte of a head may yet be completed; all before it is garbage.
            keep = 1 if buffer.endswith(HEAD[:1]) and start < len(buffer) else 0
            self.garbage_bytes += len(buffer) - keep - start
            start = len(buffer) - keep
        del buffer[:start]
        return frames

    def _skip(self, head: int) -> int:
        """That head was none: look on behind its first byte."""
        self.garbage_bytes += 1
        return head + 1


def _frame(buffer: bytearray, head: int, end: int) -> Frame:
    data = bytes(buffer[head + HEADER_BYTES : end - len(TAIL)])
    return Frame(buffer[head + 2], FrameType(buffer[head + 3]), data)
