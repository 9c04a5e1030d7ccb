"""Labels that keep out of each other's way: a label without a free place is left out."""

from collections.abc import Sequence
from itertools import pairwise
from math import ceil, log10
from typing import Any, Final

import msgspec
from matplotlib.axes import Axes

CHARACTER_EM: Final = 0.62
LINE_EM: Final = 1.3
BOLD: Final = 1.1
GAP_PT: Final = 7.0
POINTS_PER_INCH: Final = 72.0
LINE_STEP_IN: Final = 0.06
SPOTS: Final = {
    "above": (0, 1),
    "below": (0, -1),
    "right": (1, 0),
    "left": (-1, 0),
    "lower left": (-1, -1),
    "upper left": (-1, 1),
    "lower right": (1, -1),
    "upper right": (1, 1),
}
"""Which way a label stands from its point."""


class _Box(msgspec.Struct, frozen=True):
    """A rectangle in inches from the lower left corner of the axes."""

    left: float
    bottom: float
    right: float
    top: float

    def meets(self, other: "_Box") -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.bottom < other.top
            and other.bottom < self.top
        )


class Labels:
    """Places labels at points of axes with a linear x and a logarithmic y."""

    def __init__(self, axes: Axes) -> None:
        """`axes` have their final limits and size."""
        extent = axes.get_window_extent()
        self._axes = axes
        self._width_in = extent.width / axes.figure.dpi
        self._height_in = extent.height / axes.figure.dpi
        self._taken: list[_Box] = []
        self._lines: list[_Box] = []

    def keep_clear(self, x: float, y: float, *, radius_pt: float) -> None:
        """Nothing may cover the marker at this point."""
        across, up = self._inches(x, y)
        radius = radius_pt / POINTS_PER_INCH
        self._taken.append(_Box(across - radius, up - radius, across + radius, up + radius))

    def keep_line_clear(self, xs: Sequence[float], ys: Sequence[float]) -> None:
        """Labels avoid the line through these points, if they can."""
        corners = [self._inches(x, y) for x, y in zip(xs, ys, strict=True)]
        for (left, low), (right, high) in pairwise(corners):
            steps = max(1, ceil(max(abs(right - left), abs(high - low)) / LINE_STEP_IN))
            for step in range(steps):
                ends = [(step + past) / steps for past in (0, 1)]
                across = sorted(left + (right - left) * end for end in ends)
                up = sorted(low + (high - low) * end for end in ends)
                self._lines.append(_Box(across[0], up[0] - 0.012, across[1], up[1] + 0.012))

    def place(
        self, x: float, y: float, text: str, *, size_pt: float, spots: tuple[str, ...], **style: Any
    ) -> bool:
        """Put `text` at the first of `spots` (see `SPOTS`) that is free; tell whether there was one."""
        across, up = self._inches(x, y)
        weight = BOLD if "fontweight" in style else 1.0
        wide = weight * max(map(len, text.split("\n"))) * CHARACTER_EM * size_pt / POINTS_PER_INCH
        high = (text.count("\n") + 1) * LINE_EM * size_pt / POINTS_PER_INCH
        gap = GAP_PT / POINTS_PER_INCH
        for obstacles in (self._taken + self._lines, self._taken):
            for spot in spots:
                dx, dy = SPOTS[spot]
                left = across + dx * gap - wide * (1 - dx) / 2
                bottom = up + dy * gap - high * (1 - dy) / 2
                box = _Box(left, bottom, left + wide, bottom + high)
                if self._is_inside(box) and not any(box.meets(obstacle) for obstacle in obstacles):
                    self._taken.append(box)
                    self._write(x, y, text, dx, dy, fontsize=size_pt, **style)
                    return True
        return False

    def _write(self, x: float, y: float, text: str, dx: int, dy: int, **style: Any) -> None:
        self._axes.annotate(
            text,
            (x, y),
            xytext=(dx * GAP_PT, dy * GAP_PT),
            textcoords="offset points",
            ha={1: "left", 0: "center", -1: "right"}[dx],
            va={1: "bottom", 0: "center", -1: "top"}[dy],
            zorder=6,
            **style,
        )

    def _is_inside(self, box: _Box) -> bool:
        return (
            box.left >= 0 and box.right <= self._width_in and box.bottom >= 0 and box.top <= self._height_in
        )

    def _inches(self, x: float, y: float) -> tuple[float, float]:
        (left, right), (low, high) = self._axes.get_xlim(), self._axes.get_ylim()
        up = (log10(y) - log10(low)) / (log10(high) - log10(low))
        return (x - left) / (right - left) * self._width_in, up * self._height_in
