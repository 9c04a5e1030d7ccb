"""Files under a log: made new, appended to, synced when the owner says so."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from steadyhand.ground.errors import InputError
from steadyhand.runlog.faults import LogWriteError
from steadyhand.runlog.schema import LogSchema
from steadyhand.runlog.writer import ClockPair, RunLogWriter


class LogFile:
    """A new file that takes bytes at its end and nothing else.

    Args:
        path: must not exist; a log is never written over.

    Raises:
        InputError: it exists, or the folder takes no file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        try:
            self._descriptor = os.open(path, flags, 0o644)
        except FileExistsError:
            raise InputError(
                "exists already", where=str(path), hint="a log is never written over; name another"
            ) from None
        except (OSError, ValueError) as error:
            raise InputError(f"cannot be made: {_reason(error)}", where=str(path)) from error
        self._folder_synced = False

    def write(self, data: bytes, /) -> int:
        """Append some of the bytes and tell how many. Raises OSError."""
        return os.write(self._descriptor, data)

    def sync(self) -> None:
        """Wait until what was written is on the disk, and at the first time the file's name too.

        Raises:
            LogWriteError: the disk refuses.
        """
        try:
            os.fsync(self._descriptor)
            if not self._folder_synced:
                sync_folder(self.path.parent)
                self._folder_synced = True
        except OSError as error:
            raise LogWriteError(f"{self.path}: cannot be synced: {error.strerror}") from error

    def close(self) -> None:
        """Give the file back to the system; twice does no harm."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __enter__(self) -> "LogFile":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@contextmanager
def create_log(
    path: Path, schema: LogSchema, *, now_ns: int, clocks: Callable[[], ClockPair] | None = None
) -> Iterator[RunLogWriter]:
    """A new log for the length of a `with`: finished, synced and closed at its end.

    For runs that live in one place; a recorder owns its `LogFile` and syncs by its own clock. After an
    exception nothing is finished: the log ends where it was, as after a crash.

    Args:
        path: must not exist.
        schema: of the log.
        now_ns: of its beginning; the last checkpoint bears the newest record's time.
        clocks: None in a simulated run.

    Raises:
        InputError: the file cannot be made.
        LogWriteError: it takes no more.
    """
    with LogFile(path) as file:
        writer = RunLogWriter(file, schema, now_ns=now_ns, clocks=clocks)
        yield writer
        writer.finish(now_ns)
        file.sync()


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
