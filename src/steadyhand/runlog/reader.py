"""A log that is open for reading: its schema, its records, and their values."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from steadyhand.ground.errors import InputError
from steadyhand.runlog.channels import SCHEMA_CHANNEL, Channel
from steadyhand.runlog.faults import PayloadFault, SchemaLost
from steadyhand.runlog.framing import FILE_HEADER_BYTES, check_file_header
from steadyhand.runlog.integrity import Integrity, Trust
from steadyhand.runlog.scan import Record, Scan
from steadyhand.runlog.schema import SCHEMA, LogSchema, channel_of
from steadyhand.runlog.window import Window


class RunLog:
    """One log. As many scans as are wanted, one after the other; its size is that of the opening.

    Args:
        file: opened for reading, seekable.
        name: for errors.

    Attributes:
        schema: the log's own, None where its record cannot be read.
        schema_trust: what is known of that record.

    Raises:
        NotARunLog, LogHeaderCut, UnsupportedLogVersion, UnsupportedLogFlags: by the file header.
        LogFault: the file cannot be read.
    """

    def __init__(self, file: BinaryIO, name: str) -> None:
        self.name = name
        self._file = file
        self.size_bytes = file.seek(0, os.SEEK_END)
        window = self._window()
        window.hold(0, min(FILE_HEADER_BYTES, self.size_bytes))
        check_file_header(window.data[:FILE_HEADER_BYTES], name)
        self.schema: LogSchema | None = None
        self.schema_trust = Trust.UNVERIFIED
        self._channels: dict[int, Channel | PayloadFault] = {}
        self._read_schema()

    def scan(self) -> Scan:
        """All records from the first on, the schema among them."""
        declared = None
        if self.schema is not None:
            declared = frozenset([SCHEMA_CHANNEL, *(row.number for row in self.schema.channels)])
        return Scan(self._window(), declared)

    def integrity(self) -> Integrity:
        """How much of the file is verified: a scan to its end."""
        scan = self.scan()
        for _ in scan:
            pass
        return scan.integrity

    def channel(self, number: int) -> Channel:
        """How records of a channel are read.

        Raises:
            SchemaLost, UndeclaredChannel, SchemaMismatch: why they are not.
        """
        if self.schema is None:
            raise SchemaLost("its schema record cannot be read", where=self.name)
        known = self._channels.get(number)
        if known is None:
            known = _channel_or_fault(self.schema, number)
            self._channels[number] = known
        if isinstance(known, PayloadFault):
            raise known
        return known

    def decode(self, record: Record) -> Any:
        """The value of a record.

        Raises:
            SchemaLost, PayloadFault: it has none.
        """
        if record.channel == SCHEMA_CHANNEL:
            return SCHEMA.decode(record.payload)
        return self.channel(record.channel).codec.decode(record.payload)

    def _read_schema(self) -> None:
        """The first schema record that can be read: the first of the file, unless that was damaged."""
        for record in self.scan():
            if record.channel != SCHEMA_CHANNEL:
                continue
            try:
                self.schema = SCHEMA.decode(record.payload)
            except PayloadFault:
                continue
            self.schema_trust = record.trust
            return

    def _window(self) -> Window:
        return Window(self._file, self.size_bytes, self.name)


@contextmanager
def open_log(path: Path) -> Iterator[RunLog]:
    """Open a log for the length of a `with`.

    Raises:
        InputError: no such file, or it may not be read; and all that `RunLog` raises.
    """
    try:
        file = path.open("rb", buffering=0)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot be read: {reason}", where=str(path)) from error
    with file:
        if not file.seekable():
            raise InputError("cannot be read from: a log is a file", where=str(path))
        yield RunLog(file, str(path))


def _channel_or_fault(schema: LogSchema, number: int) -> Channel | PayloadFault:
    try:
        return channel_of(schema, number)
    except PayloadFault as fault:
        return fault
