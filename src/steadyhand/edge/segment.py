"""Memory that several processes of one host share, and who may write into it.

A plain `mmap` over a memfd whose descriptor is handed down to children, or over a file in the
runtime folder. Not `multiprocessing.shared_memory`: up to Python 3.12 it unlinks the segment when
any process that merely looked at it ends (R13).

Rights are claims on single bytes of the file, held as open-file-description locks. The kernel drops
them when their holder dies, however it dies: so a crash leaves no right behind, and a leftover file
is one in which nobody holds a claim.
"""

import fcntl
import mmap
import os
import stat
import struct
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from steadyhand.ground.errors import InputError

OWNER_BYTE: Final = 0
"""Claimed by whoever created the segment, as long as it lives. Writers claim the bytes after it."""

SUFFIX: Final = ".shm"
"""Of every segment with a path; nothing else is ever removed from the runtime folder."""

SEALS: Final = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
"""A segment that shrank under a reader would kill it with SIGBUS."""

LOCK: Final = struct.Struct("@hhqqi0q")
"""struct flock, native: type, whence, start, length, pid."""


class Segment:
    """An open piece of shared memory; made by one of the functions below, closed by `close`.

    Attributes:
        name: how errors call it.
        size_bytes: its length.
    """

    def __init__(self, descriptor: int, name: str, path: Path | None = None) -> None:
        self.name = name
        self.size_bytes = os.fstat(descriptor).st_size
        self._descriptor = descriptor
        self._path = path
        self._claims: list[int] = []

    def fileno(self) -> int:
        """The descriptor to hand down to a child that writes."""
        return self._descriptor

    def read_only_fd(self) -> int:
        """A new descriptor for a child that only reads: the kernel refuses it any writing."""
        return os.open(f"/proc/self/fd/{self._descriptor}", os.O_RDONLY | os.O_CLOEXEC)

    def map(self, *, writable: bool) -> mmap.mmap:
        """Map it whole, its pages present, so that no tick faults them in."""
        protection = mmap.PROT_READ | mmap.PROT_WRITE if writable else mmap.PROT_READ
        flags = mmap.MAP_SHARED | mmap.MAP_POPULATE
        return mmap.mmap(self._descriptor, self.size_bytes, flags=flags, prot=protection)

    def claim(self, byte: int, role: str) -> None:
        """Take the right that `byte` stands for, until `close` or the end of the process.

        Raises:
            InputError: another process, or this one, has it.
        """
        own = os.open(f"/proc/self/fd/{self._descriptor}", os.O_RDWR | os.O_CLOEXEC)
        if not _locked(own, byte):
            os.close(own)
            raise InputError(f"there is a {role} already", where=self.name, hint="stop that process first")
        self._claims.append(own)

    def close(self) -> None:
        """Give up the claims and the descriptor; the owner of a file removes it. Mappings stay."""
        # Removed while the claim still stands: afterwards the path may be another's.
        if self._path is not None and _is_at(self._descriptor, self._path):
            self._path.unlink(missing_ok=True)
        for descriptor in (*self._claims, self._descriptor):
            if descriptor >= 0:
                os.close(descriptor)
        self._claims.clear()
        self._path, self._descriptor = None, -1


def create_anonymous(name: str, size_bytes: int) -> Segment:
    """A zeroed segment without a path, gone with its last descriptor; this process owns it.

    Raises:
        OSError: the machine has no memory for it.
    """
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    _allocate(descriptor, size_bytes)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, SEALS)
    segment = Segment(descriptor, name)
    segment.claim(OWNER_BYTE, "owner")
    return segment


def create_file(path: Path, size_bytes: int) -> Segment:
    """A zeroed segment at `path`, only for this user; a leftover of a crash there is replaced.

    Whoever still reads the leftover keeps it; the new file is another one.

    Raises:
        InputError: a living process holds a claim in the file of that name.
        ValueError: the name does not end in `SUFFIX`.
        OSError: the file cannot be made.
    """
    if path.suffix != SUFFIX:
        raise ValueError(f"{path.name} does not end in {SUFFIX}")
    in_use = InputError("is in use", where=str(path), hint="stop that process first")
    if not reclaim(path):
        raise in_use
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    segment = Segment(os.open(path, flags, 0o600), str(path), path)
    segment.claim(OWNER_BYTE, "owner")
    if not _is_at(segment.fileno(), path):
        # Another process started at this very moment and took the file for a leftover.
        segment.close()
        raise in_use
    _allocate(segment.fileno(), size_bytes)
    segment.size_bytes = size_bytes
    return segment


def open_file(path: Path, *, writable: bool = False) -> Segment:
    """A segment made by another process. Raises InputError where there is none to open."""
    access = os.O_RDWR if writable else os.O_RDONLY
    try:
        return Segment(os.open(path, access | os.O_NOFOLLOW | os.O_CLOEXEC), str(path))
    except OSError as error:
        raise InputError(f"cannot be opened: {error.strerror}", where=str(path)) from None


def open_inherited(descriptor: int, name: str) -> Segment:
    """A segment whose descriptor was handed down to this process.

    Raises:
        InputError: there is no such descriptor, or it is no memory.
    """
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return Segment(descriptor, name)
    except OSError:
        pass
    raise InputError(f"descriptor {descriptor} is no shared memory", where=name)


def reclaim(path: Path) -> bool:
    """Remove the file at `path` unless a living process holds a claim in it; whether it is gone."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        free = _locked(descriptor, OWNER_BYTE, length=0) and _is_at(descriptor, path)
        if free:
            path.unlink(missing_ok=True)
    finally:
        os.close(descriptor)
    return free


def held(path: Path) -> bool:
    """Whether a living process holds a claim in the file at `path`; asking changes nothing."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        question = LOCK.pack(fcntl.F_RDLCK, os.SEEK_SET, OWNER_BYTE, 0, 0)
        answer = fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, question)
    finally:
        os.close(descriptor)
    return bool(LOCK.unpack(answer)[0] != fcntl.F_UNLCK)


def reclaim_leftovers(folder: Path) -> list[Path]:
    """Remove every segment in `folder` that nobody living holds; those removed, sorted."""
    return [path for path in sorted(folder.glob(f"*{SUFFIX}")) if reclaim(path)]


def runtime_folder() -> Path:
    """Where this user's segments and sockets lie: made if missing, private to the user.

    Raises:
        InputError: the folder there is another's, or open to others.
    """
    folder = place_for_runtime(os.environ, os.geteuid(), tempfile.gettempdir())
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700, parents=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise InputError("is not this user's alone", where=str(folder), hint="remove it")
    return folder


def place_for_runtime(environment: Mapping[str, str], user: int, temporary: str) -> Path:
    """The one systemd made for the unit; else the session's, the system's for root, a temporary one."""
    if unit := environment.get("RUNTIME_DIRECTORY"):
        return Path(unit)
    base = environment.get("XDG_RUNTIME_DIR") or ("/run" if user == 0 else "")
    return Path(base) / "steadyhand" if base else Path(temporary) / f"steadyhand-{user}"


def _allocate(descriptor: int, size_bytes: int) -> None:
    """Every page now: memory that runs out later would be a SIGBUS in the middle of a tick."""
    os.posix_fallocate(descriptor, 0, size_bytes)


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether `path` still is the file that is open, and not one that took its place."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except OSError:
        return False


def _locked(descriptor: int, byte: int, *, length: int = 1) -> bool:
    """Take the claim for as long as this descriptor is open; False where another holds it."""
    request = LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, byte, length, 0)
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, request)
    except (BlockingIOError, PermissionError):
        return False
    return True
