"""The lines of a shaped stream's picture: what was asked, what was sent, what the arm did."""

from math import nan
from typing import Any, Final

import msgspec
import numpy as np

from steadyhand.simulation.shaping import ShapeLane, ShapeResult
from steadyhand.simulation.shaping_figures import Floats, wire_accels, wire_speeds
from steadyhand.view.plots.style import INK, LATEST, ORDERED, SENT
from steadyhand.view.shape_table import TITLES

PEER_LOOKS: Final[dict[str, tuple[str, Any]]] = {
    "ruckig_2": (LATEST, (0.0, (5.0, 1.2))),
    "ruckig_3": (ORDERED, (0.0, (2.0, 1.2))),
}


class Line(msgspec.Struct, frozen=True):
    """One line of a column: position, speed and acceleration, each shape (n_ticks,).

    `wire` tells frames, which hold until the next, from an arm that moves on between samples.
    """

    label: str
    color: str
    width_pt: float
    values: tuple[Floats, Floats, Floats]
    dash: Any = "solid"
    wire: bool = True


def busiest_joint(result: ShapeResult) -> int:
    """The joint whose raw target has the widest range."""
    return int(np.argmax(np.ptp(np.array(result.scenario.raw_deg), axis=0)))


def lines_of(lane: ShapeLane, result: ShapeResult, joint: int, *, sent: tuple[str, str]) -> list[Line]:
    """What was asked, what was sent and what the arm did; a lane that sends what is asked has no first."""
    period_s = result.scenario.period_s
    arm_speed = np.array(lane.arm_deg_s)[:, joint]
    arm = (np.array(lane.arm_deg)[:, joint], arm_speed, _slope(arm_speed, period_s))
    lines = [
        Line(sent[0], sent[1], 2.0, _wire(lane.sent_deg, joint, period_s)),
        Line("what the arm did", INK, 1.1, arm, wire=False),
    ]
    if lane.name == "unshaped":
        return lines
    raw = np.array(result.scenario.raw_deg)[:, joint]
    blank = np.full(len(raw), nan)
    return [Line("asked", SENT, 1.2, (raw, blank, blank)), *lines]


def peer_line(lane: ShapeLane, result: ShapeResult, joint: int) -> Line:
    """What a peer sent."""
    color, dash = PEER_LOOKS[lane.name]
    return Line(TITLES[lane.name], color, 1.2, _wire(lane.sent_deg, joint, result.scenario.period_s), dash)


def _wire(sent_deg: list[tuple[float, ...]], joint: int, period_s: float) -> tuple[Floats, Floats, Floats]:
    """Position, speed and acceleration of one joint on the wire."""
    sent = np.array(sent_deg)
    speeds = wire_speeds(sent, period_s)
    return sent[:, joint], speeds[:, joint], wire_accels(speeds, period_s)[:, joint]


def _slope(values: Floats, period_s: float) -> Floats:
    slope: Floats = np.diff(values, prepend=values[:1]) / period_s
    return slope
