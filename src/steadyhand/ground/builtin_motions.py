"""Motions that need no file: `reaches` as a person makes them, `sine`, `step`.

The home pose is an elbow-up six-axis arm, well inside the joint limits of the arms we know.
"""

from collections.abc import Callable
from math import ceil, cos, pi, sqrt
from random import Random
from typing import Final

from steadyhand.ground.errors import InputError
from steadyhand.ground.motion import JointsDeg, Motion

HOME_DEG: Final[JointsDeg] = (0.0, -90.0, 90.0, -90.0, -90.0, 0.0)

ROW_STEP_S: Final = 0.01
REACH_SPAN_DEG: Final = 40.0  # each joint's pose is drawn this far around home
REACH_SHORTEST_DEG: Final = 10.0  # shorter ones would look like trembling
REACH_SLOW_DEG_S: Final = 30.0
REACH_FAST_DEG_S: Final = 90.0
REACH_ACCEL_DEG_S2: Final = 350.0  # under the 500 °/s² that R18 gives every arm
PAUSE_SHORT_S: Final = 0.2
PAUSE_LONG_S: Final = 1.0

# Of x(u) = 10u³ − 15u⁴ + 6u⁵ over a unit of time and way: 15/8 and 10/√3.
MINIMUM_JERK_PEAK_SPEED: Final = 1.875
MINIMUM_JERK_PEAK_ACCEL: Final = 10.0 / sqrt(3.0)


def reaches(rng: Random, *, duration_s: float = 60.0) -> Motion:
    """Reach, pause, reach again: minimum-jerk strokes between random poses, ending where it began.

    A free reach of a human hand follows the minimum-jerk quintic (Flash and Hogan 1985, "The
    coordination of arm movements"). The fastest joint of a stroke peaks at 30 to 90 °/s, as on
    the recordings of a person-led arm (82 and 87 °/s); all joints start and stop together. Pauses
    last 0.2 to 1 s. A stroke that would take more than 350 °/s² is slowed instead.

    Args:
        rng: the only dice; only `.random()` is called (R17).
        duration_s: the motion goes home with the first stroke that begins after this time.
    """
    rows: list[tuple[float, JointsDeg]] = [(0.0, HOME_DEG)]
    while rows[-1][0] < duration_s:
        _append_pause(rows, rng)
        _append_stroke(rows, _random_pose(rng, rows[-1][1]), rng)
    _append_pause(rows, rng)
    if _longest_way_deg(rows[-1][1], HOME_DEG) > 0.0:
        _append_stroke(rows, HOME_DEG, rng)
        _append_pause(rows, rng)
    return _motion("reaches", rows)


def sine(*, amplitude_deg: float = 20.0, period_s: float = 4.0) -> Motion:
    """Every joint swings ±`amplitude_deg` around home, one whole period, from its turning point.

    Starting at the turning point makes the forth-and-back repetition the same endless sine.
    With the defaults: 31 °/s and 49 °/s² at most.
    """
    steps = max(2, round(period_s / ROW_STEP_S))
    rows = [
        (
            period_s * step / steps,
            tuple(home + amplitude_deg * cos(2.0 * pi * step / steps) for home in HOME_DEG),
        )
        for step in range(steps + 1)
    ]
    return _motion("sine", rows)


def step(*, height_deg: float = 10.0, rest_s: float = 2.0) -> Motion:
    """Rest at home, then a jump of `height_deg` in every joint within a millisecond, then rest.

    No arm can follow it: it is here to show what the stages behind the stream do about a jump.
    """
    up_deg = tuple(home + height_deg for home in HOME_DEG)
    times_s = (0.0, rest_s, rest_s + 0.001, 2.0 * rest_s)
    poses_deg = (HOME_DEG, HOME_DEG, up_deg, up_deg)
    return Motion(times_s=times_s, poses_deg=poses_deg, name="step", interpolation="linear")


BUILTIN_MOTIONS: Final[dict[str, Callable[[Random], Motion]]] = {
    "reaches": reaches,
    "sine": lambda _rng: sine(),
    "step": lambda _rng: step(),
}


def builtin_motion(name: str, rng: Random) -> Motion:
    """The built-in called `name`.

    Raises:
        InputError: there is none of that name.
    """
    make = BUILTIN_MOTIONS.get(name)
    if make is None:
        known = ", ".join(BUILTIN_MOTIONS)
        raise InputError(f"no built-in motion {name!r}", where="motion", hint=f"there are {known}")
    return make(rng)


def _append_pause(rows: list[tuple[float, JointsDeg]], rng: Random) -> None:
    """Stay where the motion is."""
    begin_s, pose_deg = rows[-1]
    steps = round((PAUSE_SHORT_S + rng.random() * (PAUSE_LONG_S - PAUSE_SHORT_S)) / ROW_STEP_S)
    rows.extend((begin_s + step * ROW_STEP_S, pose_deg) for step in range(1, steps + 1))


def _append_stroke(rows: list[tuple[float, JointsDeg]], goal_deg: JointsDeg, rng: Random) -> None:
    """One minimum-jerk stroke to `goal_deg`, its peak speed drawn."""
    begin_s, start_deg = rows[-1]
    way_deg = _longest_way_deg(start_deg, goal_deg)
    peak_deg_s = REACH_SLOW_DEG_S + rng.random() * (REACH_FAST_DEG_S - REACH_SLOW_DEG_S)
    wanted_s = MINIMUM_JERK_PEAK_SPEED * way_deg / peak_deg_s
    shortest_s = sqrt(MINIMUM_JERK_PEAK_ACCEL * way_deg / REACH_ACCEL_DEG_S2)
    steps = max(2, ceil(max(wanted_s, shortest_s) / ROW_STEP_S))
    for step in range(1, steps + 1):
        u = step / steps
        share = u * u * u * (10.0 - 15.0 * u + 6.0 * u * u)
        pose_deg = tuple(a + (b - a) * share for a, b in zip(start_deg, goal_deg, strict=True))
        rows.append((begin_s + step * ROW_STEP_S, pose_deg))


def _random_pose(rng: Random, from_deg: JointsDeg) -> JointsDeg:
    """A pose around home, at least `REACH_SHORTEST_DEG` away in some joint."""
    while True:
        pose_deg = tuple(home + (2.0 * rng.random() - 1.0) * REACH_SPAN_DEG for home in HOME_DEG)
        if _longest_way_deg(from_deg, pose_deg) >= REACH_SHORTEST_DEG:
            return pose_deg


def _longest_way_deg(from_deg: JointsDeg, to_deg: JointsDeg) -> float:
    """The way of the joint that moves most."""
    return max(abs(b - a) for a, b in zip(from_deg, to_deg, strict=True))


def _motion(name: str, rows: list[tuple[float, JointsDeg]]) -> Motion:
    """Rows to a motion."""
    return Motion(times_s=[time_s for time_s, _ in rows], poses_deg=[pose for _, pose in rows], name=name)
