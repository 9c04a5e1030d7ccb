"""Files a command writes: refused before the run where they could not be written after it."""

import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from steadyhand.ground.errors import InputError
from steadyhand.view.whole_file import write_whole

PLOT_SUFFIXES = (".png", ".svg", ".html")


def check_outputs(outputs: Mapping[str, Path | None], inputs: Mapping[str, str]) -> None:
    """Refuse outputs that cannot be written, and one that would overwrite another or an input.

    Args:
        outputs: by option, None where it was not given; `--plot` takes pictures only.
        inputs: by option, the files that are read; empty text reads none.

    Raises:
        InputError: with the option.
    """
    taken: dict[str, Path] = {option: Path(text) for option, text in inputs.items() if text}
    for option, path in outputs.items():
        check_output(path, option, PLOT_SUFFIXES if option == "--plot" else ())
        if path is None or str(path) == "-":
            continue
        for other, used in taken.items():
            if _same_file(path, used):
                raise InputError(f"{path} is also what {other} names; it would be overwritten", where=option)
        taken[option] = path


def check_output(path: Path | None, option: str, suffixes: tuple[str, ...] = ()) -> None:
    """Refuse an output that could not be written, before the run and not after it."""
    if path is None or str(path) == "-":
        return
    if suffixes and path.suffix.lower() not in suffixes:
        raise InputError(f"{path.name} does not end in {', '.join(suffixes)}", where=option)
    if os.path.isdir(path):
        raise InputError(f"{path} is a folder", where=option, hint="name a file in it")
    folder = Path(os.path.realpath(path)).parent
    if not os.path.isdir(folder):
        raise InputError(f"there is no folder {path.parent}", where=option, hint="create it first")
    if os.path.exists(path) and not os.access(path, os.W_OK):
        raise InputError(f"{path} may not be written", where=option)
    try:
        _try(path, folder)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}", where=option) from None


def _try(path: Path, folder: Path) -> None:
    """Ask the system whether the name will do and the folder takes a file; nothing is left behind."""
    if os.path.exists(path) and not os.path.isfile(path):
        return
    with suppress(FileNotFoundError):
        path.lstat()
    with TemporaryFile(dir=folder):
        pass


def _same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


def write_json(path: Path, report: dict[str, Any]) -> None:
    """Write a report with stable bytes; `-` is standard output."""
    text = json.dumps(report, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    if str(path) == "-":
        sys.stdout.write(text)
        return
    write_whole(path, text.encode("utf-8", "backslashreplace"))
