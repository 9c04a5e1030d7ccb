"""What reached the wire, tick by tick, under one way of receiving.

A lane is the release side of one receiver: our buffer, or one of the two things a team would do
without it. All of them are judged by the same figures on the same packets.
"""

from array import array
from enum import IntEnum

import msgspec

from steadyhand.ground.motion import JointsDeg


class Tick(IntEnum):
    """What a tick put on the wire."""

    WAITING = 0
    """Nothing yet: no stream, or the first prefill."""
    REAL = 1
    """A received setpoint."""
    SYNTHETIC = 2
    """A setpoint made to bridge a hole."""
    HELD = 3
    """The last setpoint again."""
    STOPPED = 4
    """Nothing: the arm is stopped, or being engaged again."""


class Stop(msgspec.Struct, frozen=True):
    """The arm was stopped, and why.

    `false` marks a stop that the network did not call for: no silence before it was as long as
    the delay the buffer is paid for.
    """

    t_s: float
    cause: str
    why: str
    false: bool


class Lane:
    """The record of one receiver, appended to tick by tick.

    Attributes:
        name: `buffer`, `latest_wins` or `ordered`.
        tick_ns: when each tick ran, true time.
        kind: a `Tick` for each.
        joints_deg: the pose on the wire at each tick; None while waiting or stopped.
        age_ns: release minus sending of each REAL tick, else −1.
        wait_ns: release minus arrival of each REAL tick, else −1.
        depth: setpoints standing in line after the tick.
        target: depth the receiver steers for.
    """

    __slots__ = (
        "age_ns",
        "aged_dropped",
        "depth",
        "episodes",
        "joints_deg",
        "kind",
        "lost_at_release",
        "name",
        "overflow_dropped",
        "stops",
        "target",
        "tick_ns",
        "wait_ns",
    )

    def __init__(self, name: str) -> None:
        """Start empty."""
        self.name = name
        self.tick_ns = array("q")
        self.kind = array("b")
        self.joints_deg: list[JointsDeg | None] = []
        self.age_ns = array("q")
        self.wait_ns = array("q")
        self.depth = array("i")
        self.target = array("i")
        self.stops: list[Stop] = []
        self.lost_at_release = 0
        self.overflow_dropped = 0
        self.aged_dropped = 0
        self.episodes = 0

    def note(
        self,
        now_ns: int,
        kind: Tick,
        joints_deg: JointsDeg | None,
        *,
        age_ns: int = -1,
        wait_ns: int = -1,
        depth: int = 0,
        target: int = 0,
    ) -> None:
        """Append one tick."""
        self.tick_ns.append(now_ns)
        self.kind.append(kind)
        self.joints_deg.append(joints_deg)
        self.age_ns.append(age_ns)
        self.wait_ns.append(wait_ns)
        self.depth.append(depth)
        self.target.append(target)
