"""Colours, line styles and words that all pictures share.

Blue is what the network did, orange is what the arm saw (document 000 §3). The two alternatives
differ from orange and from each other in hue, in lightness and in dash, so that they stay apart
for colour-blind readers and on a grey printer.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from warnings import catch_warnings, filterwarnings

import msgspec

from steadyhand.simulation.lanes import Tick

PAPER: Final = "#ffffff"
INK: Final = "#1d2126"
QUIET: Final = "#5b636d"
RULE: Final = "#d5d9de"
SHADE: Final = "#eef0f2"
NETWORK: Final = "#1f6fb2"
SILENCE: Final = "#d3e5f5"
SENT: Final = "#7d858f"
ARM: Final = "#e07b0d"
ARM_TINT: Final = "#f7d9b3"
LATEST: Final = "#6f3c7d"
LATEST_TINT: Final = "#dcc9e2"
ORDERED: Final = "#2a8577"
ORDERED_TINT: Final = "#bfded8"
HELD: Final = "#343a41"
SYNTHETIC: Final = "#a8650a"
STOP: Final = "#b3202c"

PALETTE: Final[dict[str, tuple[str, str]]] = {
    "paper": (PAPER, "#14171b"),
    "ink": (INK, "#e8eaed"),
    "quiet": (QUIET, "#a3abb5"),
    "rule": (RULE, "#383e46"),
    "shade": (SHADE, "#23282e"),
    "network": (NETWORK, "#64aeea"),
    "silence": (SILENCE, "#1d3b55"),
    "sent": (SENT, "#98a1ab"),
    "arm": (ARM, "#f59a35"),
    "arm-tint": (ARM_TINT, "#6b4517"),
    "latest": (LATEST, "#c490d3"),
    "latest-tint": (LATEST_TINT, "#4d3156"),
    "ordered": (ORDERED, "#5cc2b1"),
    "ordered-tint": (ORDERED_TINT, "#1f4a43"),
    "held": (HELD, "#d3d8de"),
    "synthetic": (SYNTHETIC, "#ffcf8a"),
    "stop": (STOP, "#ff6b75"),
}
"""Name on a page, colour on light paper, colour on a dark page. No light colour occurs twice."""

Dash = str | tuple[float, tuple[float, ...]]


class Look(msgspec.Struct, frozen=True):
    """How a lane is drawn and called."""

    title: str
    short: str
    says: str
    color: str
    tint: str
    dash: Dash
    width_pt: float


LOOKS: Final[dict[str, Look]] = {
    "buffer": Look(
        "steadyhand's playout buffer",
        "buffer",
        "waits in line, released one a tick",
        ARM,
        ARM_TINT,
        "solid",
        1.9,
    ),
    "latest_wins": Look(
        "Latest wins",
        "latest wins",
        "applied on arrival, newest arrival wins",
        LATEST,
        LATEST_TINT,
        (0.0, (5.0, 1.2)),
        1.3,
    ),
    "ordered": Look(
        "Ordered stream",
        "ordered",
        "everything, in order, as over TCP",
        ORDERED,
        ORDERED_TINT,
        (0.0, (8.0, 1.4, 1.6, 1.4)),
        1.3,
    ),
}
PASSTHROUGH: Final = Look(
    "No buffer (passthrough)", "no buffer", "a depth of zero: newest number wins", ARM, ARM_TINT, "solid", 1.9
)


def look_of(lane: str, *, passthrough: bool) -> Look:
    """The look of a lane; without a buffer our own lane is called what it is."""
    return PASSTHROUGH if lane == "buffer" and passthrough else LOOKS[lane]


TICK_WORDS: Final[dict[Tick, str]] = {
    Tick.REAL: "strips: a received setpoint",
    Tick.SYNTHETIC: "synthetic, bridging a loss",
    Tick.HELD: "the last one again (held)",
    Tick.STOPPED: "stopped",
    Tick.WAITING: "not started",
}


def tick_color(kind: Tick, look: Look) -> str:
    """Colour of a tick in the strip of the released mix."""
    return {
        Tick.REAL: look.tint,
        Tick.SYNTHETIC: SYNTHETIC,
        Tick.HELD: HELD,
        Tick.STOPPED: STOP,
        Tick.WAITING: SHADE,
    }[kind]


RC: Final[dict[str, Any]] = {
    "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "sans-serif"],
    "font.size": 9.0,
    "text.color": INK,
    "axes.edgecolor": RULE,
    "axes.labelcolor": QUIET,
    "axes.facecolor": PAPER,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.labelsize": 8.5,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": RULE,
    "grid.linewidth": 0.5,
    "xtick.color": RULE,
    "ytick.color": RULE,
    "xtick.labelcolor": QUIET,
    "ytick.labelcolor": QUIET,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "figure.facecolor": PAPER,
    "figure.dpi": 100.0,
    "lines.solid_capstyle": "butt",
    "path.simplify": False,
    # A file may be called what$ever$.
    "text.parse_math": False,
    # What is drawn must not depend on the moment or the machine.
    "svg.hashsalt": "steadyhand",
    "svg.fonttype": "none",
}


@contextmanager
def house_style() -> Iterator[None]:
    """Matplotlib's own defaults and ours on top, whatever the user's matplotlibrc says; undone after."""
    import matplotlib as mpl

    with mpl.rc_context(), catch_warnings():
        # A file's name may hold letters the font lacks; they become boxes, the picture stands.
        filterwarnings("ignore", message="Glyph .* missing", category=UserWarning)
        mpl.rcdefaults()
        for name, value in RC.items():
            mpl.rcParams[name] = value  # type: ignore[index]
        yield
