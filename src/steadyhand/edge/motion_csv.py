"""Motions from the command line: a built-in's name, or a recording in a CSV file.

A recording has columns `t_s`, seconds, and `j1_deg` … `jN_deg`, degrees, N from 1 to 12. Stamps
may be irregular. Further columns do not matter.
"""

import re
from difflib import get_close_matches
from pathlib import Path
from random import Random
from typing import Final

from steadyhand.edge.csv_table import Table, at_line, path_exists, read_table, read_text, shown_path
from steadyhand.ground.builtin_motions import BUILTIN_MOTIONS, builtin_motion
from steadyhand.ground.errors import InputError
from steadyhand.ground.motion import MAX_JOINTS, Interpolation, Motion, row_fault

JOINT_COLUMN: Final = re.compile(r"j([1-9]\d{0,3})_deg")


def load_motion(text: str, *, rng: Random | None = None, interpolation: Interpolation = "spline") -> Motion:
    """The motion `text` names: a built-in, else a file.

    Args:
        text: what the user typed.
        rng: dice of the built-ins that draw; seed 0 where not given.
        interpolation: between the rows of a file, see `ground.motion`.

    Raises:
        InputError: nothing of that name, or the file cannot be used.
    """
    if text in BUILTIN_MOTIONS:
        return builtin_motion(text, rng or Random(0))
    if not path_exists(text) and "/" not in text and "." not in text:
        close = get_close_matches(text, BUILTIN_MOTIONS, n=1, cutoff=0.5)
        hint = f"did you mean {close[0]}?" if close else f"built in are {', '.join(BUILTIN_MOTIONS)}"
        raise InputError(f"no motion and no file {shown_path(text)!r}", where="motion", hint=hint)
    return read_motion(text, interpolation=interpolation)


def read_motion(path: str | Path, *, interpolation: Interpolation = "spline") -> Motion:
    """The motion recorded in a CSV file.

    Raises:
        InputError: the file cannot be read, lacks a column, holds fewer than two rows, or a row is
            not finite or its stamp does not increase; with the line.
    """
    name = shown_path(path)
    table = read_table(read_text(path), name)
    time_column, joint_columns = _columns(table)
    times_s: list[float] = []
    poses_deg: list[tuple[float, ...]] = []
    for row in table.rows:
        time_s = table.number(row, time_column)
        pose_deg = tuple(table.number(row, column) for column in joint_columns)
        fault = row_fault(time_s, times_s[-1] if times_s else None, pose_deg)
        if fault is not None:
            raise InputError(fault, where=at_line(name, row.line))
        times_s.append(time_s)
        poses_deg.append(pose_deg)
    return Motion(times_s=times_s, poses_deg=poses_deg, name=name, interpolation=interpolation)


def _columns(table: Table) -> tuple[int, list[int]]:
    """Indices of the time and of the joints in order, none missing."""
    numbers = [int(match[1]) for column in table.columns if (match := JOINT_COLUMN.fullmatch(column))]
    highest = max(numbers, default=1)
    if highest > MAX_JOINTS:
        raise InputError(f"has a column j{highest}_deg; {MAX_JOINTS} joints are the most", where=table.name)
    wanted = ["t_s", *(f"j{number}_deg" for number in range(1, highest + 1))]
    missing = [column for column in wanted if column not in table.columns]
    if missing:
        found = ", ".join(column[:40] for column in table.columns[:14])
        raise InputError(
            f"has no column {' and no '.join(missing)}", where=table.name, hint=f"its columns are {found!r}"
        )
    time_column, *joint_columns = (table.columns.index(column) for column in wanted)
    return time_column, joint_columns
