"""Fewer points, same picture: what a line chart shows within one column of pixels is its extremes."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

KEPT_PER_COLUMN: Final = 5
"""First, smallest, largest and last value, and one blank so that a gap stays a gap."""


def keep_extremes(times: NDArray[np.float64], values: NDArray[np.float64], columns: int) -> NDArray[np.int64]:
    """Indices of the points that decide how a line through all points looks `columns` wide.

    Each column keeps its first, smallest, largest and last point (the "M4" of Jugel et al., VLDB
    2014: drawn as a line this covers the same pixels), and its first NaN. A peak of one tick in
    an hour therefore stays in the picture.

    Args:
        times: not decreasing, finite, shape (n,).
        values: NaN where there is none, shape (n,).
        columns: pixel columns the whole of `times` is drawn over, at least 1.

    Returns:
        Strictly increasing indices, at most `KEPT_PER_COLUMN` a column; all of them where so few
        points came in.
    """
    count = len(times)
    if count <= KEPT_PER_COLUMN * columns:
        return np.arange(count, dtype=np.int64)
    column = columns_of(times, columns)
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    blank = np.isnan(values)
    smallest = np.lexsort((np.where(blank, np.inf, values), column))[starts]
    largest = np.lexsort((np.where(blank, np.inf, -values), column))[starts]
    blanks = np.flatnonzero(blank)
    first_blanks = blanks[np.flatnonzero(np.diff(column[blanks], prepend=-1))]
    ends = np.append(starts[1:], count) - 1
    return np.unique(np.concatenate((starts, smallest, largest, ends, first_blanks))).astype(np.int64)


def columns_of(times: NDArray[np.float64], columns: int) -> NDArray[np.int64]:
    """The pixel column each time falls into, 0 to `columns` − 1."""
    span = float(times[-1] - times[0]) or 1.0
    column: NDArray[np.int64] = np.minimum((times - times[0]) / span * columns, columns - 1).astype(np.int64)
    return column
