"""A view of a file that moves forward: what a reader holds of it is bounded, however long it is."""

from typing import BinaryIO, Final

from steadyhand.runlog.faults import LogFault

CHUNK_BYTES: Final = 256 * 1024


class Window:
    """The bytes from `base` on, as far as they were asked for.

    Args:
        file: opened for reading, seekable.
        size: of the file when it was opened; what is appended meanwhile is not looked at.
        name: of the file, for errors.

    Attributes:
        data: the bytes held.
        base: where in the file they begin.
    """

    def __init__(self, file: BinaryIO, size: int, name: str) -> None:
        self.data = b""
        self.base = 0
        self.size = size
        self._file = file
        self._name = name

    def hold(self, begin: int, end: int) -> bool:
        """Hold the file from `begin` to `end` at least; False where it ends before.

        Raises:
            LogFault: the file cannot be read, or has become shorter.
        """
        if end > self.size:
            return False
        held_to = self.base + len(self.data)
        if self.base <= begin and end <= held_to:
            return True
        keep_from = begin if self.base <= begin <= held_to else held_to
        kept = self.data[keep_from - self.base :] if self.base <= begin <= held_to else b""
        start = held_to if kept or begin == held_to else begin
        wanted = min(self.size, max(end, start + CHUNK_BYTES)) - start
        self.data = kept + self._read(start, wanted)
        self.base = start - len(kept)
        return True

    def find(self, pattern: bytes, begin: int) -> int | None:
        """Where in the file `pattern` stands first, at `begin` or behind it; None for nowhere."""
        at = begin
        while at + len(pattern) <= self.size:
            self.hold(at, min(self.size, at + CHUNK_BYTES))
            found = self.data.find(pattern, at - self.base)
            if found >= 0:
                return self.base + found
            at = max(at + 1, self.base + len(self.data) - len(pattern) + 1)
        return None

    def _read(self, start: int, wanted: int) -> bytes:
        try:
            self._file.seek(start)
            data = self._file.read(wanted)
        except OSError as error:
            raise LogFault(f"cannot be read: {error.strerror}", where=self._name) from error
        if len(data) != wanted:
            raise LogFault("has become shorter while it was read", where=self._name)
        return data
