"""Files that are whole or not there: what every report, picture and page is written with."""

import os
from pathlib import Path
from secrets import token_hex

from steadyhand.ground.errors import InputError


def write_whole(path: Path, content: bytes) -> None:
    """Write `content` beside `path` and move it into place.

    Whoever reads meanwhile, and whoever is left with a full disk or an interrupted run, has the
    older file or the new one, never a part. A link is followed, an older file's permissions stay,
    and what is no file (a terminal, a pipe, /dev/null) takes the bytes as they come.

    Raises:
        InputError: the system refuses, with its reason.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)
            return
        _replace(Path(os.path.realpath(path)), content)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", where=str(path)) from error


def _replace(path: Path, content: bytes) -> None:
    beside = path.with_name(f".{token_hex(8)}.partial")
    file = beside.open("xb")  # made by us or not at all; what another made is not ours to remove
    try:
        with file:
            file.write(content)
        if path.exists():
            beside.chmod(path.stat().st_mode & 0o777)
        beside.replace(path)
    finally:
        # Gone already where all went well; an interrupt leaves nothing behind either.
        beside.unlink(missing_ok=True)
