"""Where things stand in a figure: one column a tick, three lanes, notes above, axis below.

All lengths are pixels of a picture 900 wide, which is what a README shows.
"""

from typing import Final

import msgspec

from steadyhand.core.playout.config import HIGH_WATER_SLACK
from steadyhand.view.figures.notes import notes
from steadyhand.view.figures.player import TickRecord, Trace

WIDTH: Final = 900
LEFT: Final = 112
RIGHT: Final = 82
NOTES_TOP: Final = 60
NOTE_ROW: Final = 16
MARK_HEIGHT: Final = 16
STACK_STEP: Final = 18
LEAST_STACK: Final = 2
LANE_GAP: Final = 14
RELEASE_HEIGHT: Final = 26
SLOT_HEIGHT: Final = 9
AXIS_HEIGHT: Final = 18
LEGEND_ROW: Final = 20
NOTE_CHARACTER: Final = 6.5
"""Width allowed for a character of a note, so that a wide fallback font still fits."""


class Note(msgspec.Struct, frozen=True):
    """A placed note: its tick, its words and its row, 0 the lowest."""

    tick: int
    words: str
    row: int


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """Coordinates of one figure. Each `*_top` is the upper edge of a lane, y grows downward."""

    ticks: int
    column: float
    mark_width: float
    notes: tuple[Note, ...]
    note_rows: int
    arrivals_top: int
    arrivals_floor: int
    releases_top: int
    depth_top: int
    depth_floor: int
    axis_floor: int

    def left_of(self, tick: float) -> float:
        """Left edge of a tick's column."""
        return LEFT + tick * self.column

    def middle_of(self, tick: int) -> float:
        """Middle of a tick's column."""
        return self.left_of(tick + 0.5)

    def depth_y(self, depth: float) -> float:
        """Height of a queue depth."""
        return self.depth_floor - depth * SLOT_HEIGHT

    def note_baseline(self, row: int) -> int:
        """Baseline of a row of notes; row 0 is nearest to the lanes."""
        return NOTES_TOP + NOTE_ROW * (self.note_rows - row) - 4

    @property
    def releases_middle(self) -> float:
        """Middle of the lane of releases."""
        return self.releases_top + RELEASE_HEIGHT / 2

    @property
    def right(self) -> float:
        """Right edge of the last column."""
        return self.left_of(self.ticks)


def lay_out(trace: Trace) -> Layout:
    """Measure a trace and give each part its place."""
    ticks = trace.ticks
    column = (WIDTH - LEFT - RIGHT) / len(ticks)
    placed = _place_notes(ticks, column)
    note_rows = max([note.row for note in placed], default=-1) + 1
    stack = max(LEAST_STACK, *(len(record.arrivals) for record in ticks))
    arrivals_top = NOTES_TOP + NOTE_ROW * note_rows + 8
    arrivals_floor = arrivals_top + stack * STACK_STEP
    releases_top = arrivals_floor + LANE_GAP
    depth_top = releases_top + RELEASE_HEIGHT + LANE_GAP
    slots = max(record.target for record in ticks) + HIGH_WATER_SLACK + 1
    depth_floor = depth_top + slots * SLOT_HEIGHT
    return Layout(
        ticks=len(ticks),
        column=column,
        mark_width=min(column - 2, 26),
        notes=placed,
        note_rows=note_rows,
        arrivals_top=arrivals_top,
        arrivals_floor=arrivals_floor,
        releases_top=releases_top,
        depth_top=depth_top,
        depth_floor=depth_floor,
        axis_floor=depth_floor + AXIS_HEIGHT,
    )


def _place_notes(ticks: tuple[TickRecord, ...], column: float) -> tuple[Note, ...]:
    """Each note starts at its tick and runs to the right, on the lowest row where it is free.

    Worked from right to left. A row is free where no later note in it begins before this one ends,
    and none above it either: the lines that lead down from those would cross the words.
    """
    leftmost: list[float] = []
    placed: list[Note] = []
    for tick, words in reversed(notes(ticks)):
        start = (tick + 0.5) * column
        end = start + (len(words) + 2) * NOTE_CHARACTER
        row = 0
        while min(leftmost[row:], default=end) < end:
            row += 1
        leftmost[row : row + 1] = [start]
        placed.append(Note(tick, words, row))
    return tuple(reversed(placed))
