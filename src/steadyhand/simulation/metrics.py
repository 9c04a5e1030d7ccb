"""The figures of a lane: what a user would ask of any receiver, by the same sums."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from steadyhand.ground.stamps import NS_PER_MS
from steadyhand.simulation.lanes import Lane, Tick
from steadyhand.simulation.run import RunResult

DIGITS: Final = 6
"""Decimals kept in reports: far below any meaning, far above the last bit that machines differ in."""


def summarize(result: RunResult) -> dict[str, Any]:
    """The report of a run as JSON values; key names are a contract, see `docs/simulate.md`."""
    period_ns = result.scenario.period_ns
    report = lane_figures(result.buffer, period_ns)
    report["synthetics"] = int(np.count_nonzero(kinds(result.buffer) == Tick.SYNTHETIC))
    report["reengagements"] = result.reengagements
    report["counters"] = result.counters
    report["datagrams"] = _datagrams(result)
    report["alternatives"] = {lane.name: lane_figures(lane, period_ns) for lane in result.alternatives}
    return report


def lane_figures(lane: Lane, period_ns: int) -> dict[str, Any]:
    """Figures of one lane.

    Speeds and accelerations are of the stream on the wire: differences over the nominal period,
    which is what a controller makes of successive commands. A stop ends a stretch, since the
    arm is primed anew after it.
    """
    kind = kinds(lane)
    playing = _playing(kind)
    held = int(np.count_nonzero(kind[playing] == Tick.HELD))
    peak_speed, peak_accel = _peaks(lane, kind, period_ns)
    released = int(np.count_nonzero(kind == Tick.REAL))
    ages_ms = _of_releases(lane.age_ns)
    return {
        "stops": [
            {"t_s": _rounded(stop.t_s), "cause": stop.cause, "why": stop.why, "false": stop.false}
            for stop in lane.stops
        ],
        "false_stops": len([stop for stop in lane.stops if stop.false]),
        "held_ticks": held,
        "held_ticks_share": _rounded(held / max(1, int(np.count_nonzero(playing)))),
        "synthetics": 0,
        "lost_at_release": lane.lost_at_release,
        "overflow_dropped": lane.overflow_dropped,
        "aged_dropped": lane.aged_dropped,
        "underrun_episodes": lane.episodes,
        "released": released,
        "queue_wait_ms": _quantiles(_of_releases(lane.wait_ns)),
        "added_delay_ms": _quantiles(ages_ms),
        "oldest_released_ms": _rounded(float(ages_ms.max())) if ages_ms.size else None,
        "peak_speed_deg_s": _rounded(peak_speed),
        "peak_accel_deg_s2": _rounded(peak_accel),
        "ticks": len(kind),
        "stopped_ticks": int(np.count_nonzero(kind == Tick.STOPPED)),
    }


def kinds(lane: Lane) -> NDArray[np.int8]:
    """The `Tick` of every tick."""
    return np.frombuffer(lane.kind, dtype=np.int8)


def wire_deg(lane: Lane) -> NDArray[np.float64]:
    """The pose on the wire at each tick, shape (n_ticks, n_joints); NaN while there was none."""
    width = max((len(joints) for joints in lane.joints_deg if joints is not None), default=1)
    blank = (float("nan"),) * width
    return np.array([blank if joints is None else joints for joints in lane.joints_deg], dtype=float)


def _playing(kind: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Ticks in which a stream was being played: neither waiting for one nor stopped."""
    return np.isin(kind, (Tick.REAL, Tick.SYNTHETIC, Tick.HELD))


def _peaks(lane: Lane, kind: NDArray[np.int8], period_ns: int) -> tuple[float, float]:
    """Largest joint speed (°/s) and acceleration (°/s²) between successive commands."""
    period_s = period_ns / 1e9
    velocity = np.diff(wire_deg(lane), axis=0) / period_s
    acceleration = np.diff(velocity, axis=0) / period_s
    return _largest(velocity), _largest(acceleration)


def _largest(values: NDArray[np.float64]) -> float:
    finite = np.abs(values[np.isfinite(values)])
    return float(finite.max()) if finite.size else 0.0


def _of_releases(times_ns: Any) -> NDArray[np.float64]:
    values = np.frombuffer(times_ns, dtype=np.int64)
    return values[values >= 0] / NS_PER_MS


def _quantiles(values_ms: NDArray[np.float64]) -> dict[str, float | None]:
    if not values_ms.size:
        return {"p50": None, "p99": None}
    p50, p99 = np.percentile(values_ms, [50, 99], method="inverted_cdf")
    return {"p50": _rounded(float(p50)), "p99": _rounded(float(p99))}


def _datagrams(result: RunResult) -> dict[str, int]:
    lost = len([1 for flight in result.flights if not flight.arrivals_ns])
    doubled = len([1 for flight in result.flights if len(flight.arrivals_ns) > 1])
    return {
        "sent": len(result.flights),
        "lost": lost,
        "doubled": doubled,
        "copies_carried": result.copies_sent,
    }


def _rounded(value: float) -> float:
    return round(value, DIGITS)
