"""Recovering: the verified part of a log into a new file, which is then verified itself.

Nothing that is not verified is carried over: a recovered log is a log like any other, and every byte of
it is as the writer wrote it.
"""

import os
from enum import IntEnum
from pathlib import Path
from secrets import token_hex
from typing import Final

import msgspec

from steadyhand.ground.errors import InputError
from steadyhand.runlog.faults import LogFault, LogHeaderCut, LogWriteError
from steadyhand.runlog.integrity import Integrity
from steadyhand.runlog.log_file import LogFile, sync_folder
from steadyhand.runlog.reader import open_log
from steadyhand.runlog.writer import Sink

COPY_BYTES: Final = 1 << 20


class Outcome(IntEnum):
    """What came of it; the values are the command's exit codes."""

    COMPLETE = 0
    """The log was whole; the new file is its copy."""
    RECOVERED = 3
    """The new file holds the verified part, and the log had more."""
    NOTHING = 4
    """No record of it is verified; no file was made."""


class Recovery(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome, and what the log was like."""

    outcome: Outcome
    integrity: Integrity


def recover(log: Path, out: Path) -> Recovery:
    """Copy the verified part of `log` into `out`.

    The copy appears under its name only when it is on the disk and was read back; until then it has
    another name, and after an error none.

    Args:
        log: the damaged log, which is only read.
        out: must not exist.

    Raises:
        InputError: the log is none or cannot be read, or `out` exists or cannot be made.
        LogWriteError: the disk is full, or the copy is not what was written.
    """
    if os.path.lexists(out):
        raise InputError("exists already", where=str(out), hint="a log is never written over; name another")
    try:
        with open_log(log) as opened:
            integrity = opened.integrity()
    except LogHeaderCut:
        return Recovery(outcome=Outcome.NOTHING, integrity=Integrity(size_bytes=log.stat().st_size))
    if not integrity.verified_bytes:
        return Recovery(outcome=Outcome.NOTHING, integrity=integrity)
    beside = out.with_name(f".{out.name}.{token_hex(8)}.partial")
    try:
        _copy(log, beside, integrity.verified_bytes)
        _check(beside, integrity)
        _publish(beside, out)
    finally:
        beside.unlink(missing_ok=True)
    whole = Outcome.COMPLETE if integrity.complete else Outcome.RECOVERED
    return Recovery(outcome=whole, integrity=integrity)


def _copy(log: Path, beside: Path, size: int) -> None:
    with LogFile(beside) as copy:
        try:
            with log.open("rb") as file:
                left = size
                while left:
                    block = file.read(min(left, COPY_BYTES))
                    if not block:
                        raise LogFault("has become shorter while it was read", where=str(log))
                    _write_all(copy, block)
                    left -= len(block)
        except OSError as error:
            raise LogWriteError(f"{beside}: {error.strerror}") from error
        copy.sync()


def _write_all(sink: Sink, block: bytes) -> None:
    while block:
        block = block[sink.write(block) or 0 :]


def _check(beside: Path, wanted: Integrity) -> None:
    """Read the copy back: what is called recovered has been verified (and not merely written)."""
    with open_log(beside) as copied:
        found = copied.integrity()
    if not found.complete or found.verified_records != wanted.verified_records:
        raise LogWriteError(f"the copy is not what was written: {found.in_words()}")


def _publish(beside: Path, out: Path) -> None:
    """Give the copy its name, unless somebody took it meanwhile."""
    try:
        try:
            os.link(beside, out)
        except FileExistsError:
            raise InputError("exists already", where=str(out)) from None
        except OSError:
            # A stick's file system has no second names; there a file made in this very moment is lost.
            beside.rename(out)
        sync_folder(out.parent)
    except OSError as error:
        raise LogWriteError(f"{out}: {error.strerror}") from error
