"""Reads every tick record off the follower's ring, into memory and into a file, and counts the gaps.

The file is a line of text that names the format, then each record as the ring had it (msgpack) behind
its length in four little-endian bytes. The recorder only reads: it cannot delay a tick.
"""

import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from steadyhand.edge.ring_reader import RingReader
from steadyhand.edge.segment import open_file
from steadyhand.ground.errors import InputError
from steadyhand.nodes.follower.records import TickRecord, decode_record

FORMAT: Final = b"steadyhand ticks 1\n"
LENGTH: Final = struct.Struct("<I")
POLL_S: Final = 0.02
"""The ring holds two seconds: a poll this often is far from its edge, and wakes nobody."""

JOIN_S: Final = 5.0


class Recorder:
    """A thread that follows one ring until it is closed. Use as a context manager, or `close` it.

    Args:
        ring: path of the ring's file.
        log: where the records are written.
        tell: called with each record, in the recorder's thread.

    Attributes:
        records: every record so far, `slim`, oldest first; only ever appended to.
        missed: records the ring had overwritten before they were read.

    Raises:
        InputError: there is no ring, or the file cannot be written.
    """

    def __init__(self, ring: Path, log: Path, tell: Callable[[TickRecord], None]) -> None:
        self.records: list[TickRecord] = []
        self.missed = 0
        self._tell = tell
        self._segment = open_file(ring)
        try:
            self._reader = RingReader(self._segment, start="first")
            self._file = log.open("wb")
        except OSError as error:
            self._segment.close()
            raise InputError(f"cannot be written: {error.strerror}", where=str(log)) from None
        except InputError:
            self._segment.close()
            raise
        self._file.write(FORMAT)
        self._ended = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._follow, name="recorder", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Read what is left, and let go of ring and file. A second call does nothing.

        Raises:
            RuntimeError: the recorder had failed, with what it failed of.
        """
        if self._ended.is_set():
            return
        self._ended.set()
        self._thread.join(JOIN_S)
        self._reader.close()
        self._segment.close()
        self._file.close()
        if self._failure is not None:
            raise RuntimeError("the recorder failed") from self._failure

    def _follow(self) -> None:
        try:
            while not self._ended.wait(POLL_S):
                self._read()
            self._read()
        except Exception as error:  # handed to whoever closes
            self._failure = error

    def _read(self) -> None:
        while (found := self._reader.next_record()) is not None:
            self._file.write(LENGTH.pack(len(found.payload)) + found.payload)
            record = decode_record(found.payload)
            self.records.append(slim(record))
            self._tell(record)
        self.missed = self._reader.missed


def slim(record: TickRecord) -> TickRecord:
    """The record without what a report does not need: half its size, for a run is kept whole."""
    return msgspec.structs.replace(record, state_json=b"", measured=None)


def read_log(path: Path) -> Iterator[TickRecord]:
    """The records of a log, oldest first; a record cut off at the end of the file is left out.

    Raises:
        InputError: the file cannot be read, or is no log of ticks.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(path)) from None
    if not data.startswith(FORMAT):
        raise InputError("is no log of ticks", where=str(path))
    place = len(FORMAT)
    while place + LENGTH.size <= len(data):
        (size,) = LENGTH.unpack_from(data, place)
        place += LENGTH.size
        if place + size > len(data):
            return
        yield decode_record(data[place : place + size])
        place += size
