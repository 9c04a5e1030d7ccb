"""What the kernel says of the machine in /proc and /sys, read without ever failing."""

import gzip
import zlib
from pathlib import Path
from typing import Final

import msgspec


class MachineFiles(msgspec.Struct, frozen=True):
    """The kernel's files under a root; tests lay out their own.

    Attributes:
        root: where /proc and /sys are found.
    """

    root: Path = Path("/")

    def read(self, path: str) -> str | None:
        """The stripped text of a file, or None where it is missing or not for us to read.

        A name ending in .gz is unpacked.
        """
        try:
            content = (self.root / path.lstrip("/")).read_bytes()
            unpacked = gzip.decompress(content) if path.endswith(".gz") else content
        except (OSError, EOFError, zlib.error):
            return None
        return unpacked.decode("utf-8", errors="replace").strip()

    def matching(self, pattern: str) -> list[str]:
        """Paths that match a glob, sorted; unreadable folders match nothing."""
        try:
            found = sorted(self.root.glob(pattern.lstrip("/")))
        except OSError:
            return []
        return [f"/{path.relative_to(self.root)}" for path in found]

    def status_field(self, name: str) -> str | None:
        """One field of this process's status: VmLck, CapEff."""
        return field(self.read("/proc/self/status"), name)


def field(text: str | None, name: str) -> str | None:
    """The value of the line «name: value», or None."""
    for line in (text or "").splitlines():
        key, colon, value = line.partition(":")
        if colon and key == name:
            return value.strip()
    return None


THIS_MACHINE: Final = MachineFiles()
