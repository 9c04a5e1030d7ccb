"""The figures of a shaped stream: what it cost in time and distance, what it kept, what the arm did.

All are taken from the frames, by differences over the nominal period, which is what a controller makes
of them; never from what the shaper says about itself. Definitions: `docs/shape.md`.
"""

from math import ceil
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from steadyhand.simulation.shaping import ShapeLane, ShapeResult

Floats = NDArray[np.float64]

SETTLED_DEG: Final = 1e-3
"""Document 001's "arrived"."""

STILL_DEG: Final = 1e-9
"""A target that moves less than this in a tick stands: the rounding of a resampled pause."""

STEADY_FOR_S: Final = 0.1
STEADY_SHARE: Final = 0.02
STEADY_DEG_S: Final = 0.5
SLOWEST_DEG_S: Final = 1.0
DIGITS: Final = 6
"""Decimals kept, as in the other reports."""


def summarize(result: ShapeResult) -> dict[str, Any]:
    """The report as JSON values: the shaped lane's figures, the others' under their names."""
    raw = np.array(result.scenario.raw_deg)
    period_s = result.scenario.period_s
    shaped, *others = result.lanes
    return lane_figures(shaped, raw, period_s) | {
        lane.name: lane_figures(lane, raw, period_s) for lane in others
    }


def lane_figures(lane: ShapeLane, raw: Floats, period_s: float) -> dict[str, Any]:
    """Figures of one lane. `raw` has shape (n_ticks, n_joints)."""
    sent, arm = np.array(lane.sent_deg), np.array(lane.arm_deg)
    speeds = wire_speeds(sent, period_s)
    figures: dict[str, Any] = {
        "settle_s": settle_s(raw, sent, period_s),
        "overshoot_deg": overshoot_deg(raw, sent),
        "trail_deg": trail_deg(raw, sent, period_s),
        "distance_max_deg": float(np.abs(raw - sent).max()),
        "peak_speed_deg_s": float(np.abs(speeds).max()),
        "peak_accel_deg_s2": float(np.abs(wire_accels(speeds, period_s)).max()),
        "controller_faults": lane.faults,
        "first_fault": msgspec.to_builtins(lane.first_fault),
        "rejected_frames": lane.rejected,
        "sweep_deg": lane.sweep_deg,
        "arm_peak_speed_deg_s": float(np.abs(np.array(lane.arm_deg_s)).max()),
        "arm_behind_max_deg": float(np.abs(sent - arm).max()),
    }
    if lane.name.startswith("ruckig"):
        figures |= {"planned_s": lane.planned_s, "solver_errors": lane.solver_errors}
    return {
        key: round(value, DIGITS) if isinstance(value, float) else value for key, value in figures.items()
    }


def wire_speeds(sent: Floats, period_s: float) -> Floats:
    """Speed each frame implies, °/s, shape (n_ticks, n_joints); the arm rests at the first target."""
    return np.diff(sent, axis=0, prepend=sent[:1]) / period_s


def wire_accels(speeds: Floats, period_s: float) -> Floats:
    """Change of speed from frame to frame, °/s², shape (n_ticks, n_joints); from rest."""
    accels: Floats = np.diff(speeds, axis=0, prepend=np.zeros_like(speeds[:1])) / period_s
    return accels


def settle_s(raw: Floats, sent: Floats, period_s: float) -> float | None:
    """From the raw target's arrival at its final pose to the stream's, within 0.001° and for good.

    Counted in frames: the one that carries the final target first is one period. None where the raw
    target gets there with the last frame only (it never rests), or the stream never does.
    """
    raw_off = np.flatnonzero((np.abs(raw - raw[-1]) > SETTLED_DEG).any(axis=1))
    sent_off = np.flatnonzero((np.abs(sent - raw[-1]) > SETTLED_DEG).any(axis=1))
    if not raw_off.size:
        return 0.0 if not sent_off.size else None
    if raw_off[-1] >= len(raw) - 2 or (sent_off.size and sent_off[-1] == len(sent) - 1):
        return None
    last_off = int(sent_off[-1]) if sent_off.size else -1
    return max(last_off - int(raw_off[-1]) + 1, 1) * period_s


def overshoot_deg(raw: Floats, sent: Floats) -> float:
    """How far the stream goes beyond a target at rest, on the side away from where it came.

    A joint's target rests while it moves by no more than rounding. The stream came from where its last
    frame before the rest lay; one that lay on the target already, from where its speed pointed.
    """
    worst = 0.0
    for joint in range(raw.shape[1]):
        target, frames = raw[:, joint], sent[:, joint]
        for first, past in _rests(target):
            if first == 0:
                side = 0.0
            else:
                side = _sign(target[first] - frames[first - 1])
                side = side or _sign(frames[first - 1] - frames[max(first - 2, 0)])
            beyond = frames[first:past] - target[first:past]
            worst = max(worst, float((side * beyond if side else np.abs(beyond)).max()))
    return worst


def _rests(target: Floats) -> list[tuple[int, int]]:
    """Stretches [first, past) of at least two ticks in which a joint's target stands."""
    stands = np.abs(np.diff(target)) <= STILL_DEG
    edges = np.flatnonzero(np.diff(np.concatenate(([False], stands, [False]))))
    return [(int(first), int(last) + 1) for first, last in zip(edges[::2], edges[1::2], strict=True)]


def _sign(value: float) -> float:
    return 0.0 if abs(value) <= STILL_DEG else float(np.sign(value))


def trail_deg(raw: Floats, sent: Floats, period_s: float) -> float | None:
    """The largest distance behind a target that moves steadily, once the stream keeps pace with it.

    Steady: for 0.1 s, a joint's target and its stream have both had one speed, of 1 °/s or more, within
    2 % (or 0.5 °/s). Catching up is thereby left out. None where that never happens.
    """
    ticks = max(2, ceil(STEADY_FOR_S / period_s - 1e-9))
    speeds, own = np.diff(raw, axis=0) / period_s, np.diff(sent, axis=0) / period_s
    if len(speeds) < ticks:
        return None
    window = np.lib.stride_tricks.sliding_window_view
    slack = np.maximum(STEADY_SHARE * np.abs(speeds), STEADY_DEG_S)[ticks - 1 :]
    over, apart = window(speeds, ticks, axis=0), window(np.abs(own - speeds), ticks, axis=0)
    steady = (np.ptp(over, axis=-1) <= slack) & (apart.max(axis=-1) <= slack)
    steady &= np.abs(speeds[ticks - 1 :]) >= SLOWEST_DEG_S
    distances = np.abs(raw - sent)[ticks:]
    return float(distances[steady].max()) if steady.any() else None
