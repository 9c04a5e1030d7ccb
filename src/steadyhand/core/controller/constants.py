"""Every number of the controller model, in one table, each with the measurement it came from.

`CITED` names the source of each field, and marks what nobody has measured as an assumption;
`docs/controller.md` prints it, and a test holds the three together.
"""

import math
from itertools import pairwise
from typing import Final

import msgspec

from steadyhand.ground.errors import ConfigError
from steadyhand.ground.stamps import NS_PER_MS

_POSITIVE: Final = (
    "lag_ns",
    "giant_step_deg",
    "reject_window_ns",
    "sweep_speed_max_deg_s",
    "step_reference_ns",
    "own_accel_deg_s2",
    "rejoin_speed_max_deg_s",
    "relock_time_ns",
    "period_min_ns",
)


class ControllerConstants(msgspec.Struct, frozen=True, kw_only=True):
    """What one kind of controller does, in numbers. Sources: `CITED`.

    Attributes:
        name: the preset's name.
        lag_ns: from a setpoint's arrival to the arm being there.
        enable_window_ns: after enabling, how long setpoints are answered 101 and not executed.
        runs_away: whether a velocity discontinuity or a giant step is a fault at all.
        trip_onset_deg_s: velocity change in one frame up to which no fault ever comes.
        trip_certain_deg_s: velocity change beyond which the fault, and its sweep, always come.
        band_sweep_chance: of the faults between the two, the share that sweeps, 0..1.
        giant_step_deg: a step of at least this much in one frame is refused without motion.
        reject_window_ns: how long every setpoint is answered 14 after the fault.
        sweep_speed_max_deg_s: the joint maximum that clamps the sweep's speed.
        sweep_ratio_points: (velocity change °/s, travel in steps), rising, interpolated between.
        step_reference_ns: the period at which those steps were counted.
        own_accel_deg_s2: the controller's own acceleration limit: braking, rejoining, sweeping.
        rejoin_speed_max_deg_s: how much faster or slower than the stream the arm goes to rejoin it.
        late_tolerance_ns: a frame later than this against its turn leaves a hole in the execution.
        relock_time_ns: time constant with which execution returns to exactly `lag_ns` of delay.
        relock_share_max: the most by which that may stretch or shrink a frame's duration.
        period_min_ns: shortest cmdT accepted.
        period_max_ns: longest cmdT accepted.

    Raises:
        ConfigError: at construction, where the numbers contradict each other.
    """

    name: str
    lag_ns: int
    enable_window_ns: int = 1400 * NS_PER_MS
    runs_away: bool = True
    trip_onset_deg_s: float = 100.0
    trip_certain_deg_s: float = 150.0
    band_sweep_chance: float = 0.5
    giant_step_deg: float = 30.0
    reject_window_ns: int = 900 * NS_PER_MS
    sweep_speed_max_deg_s: float = 196.0
    sweep_ratio_points: tuple[tuple[float, float], ...] = ((100.0, 14.0), (250.0, 35.43), (480.0, 32.92))
    step_reference_ns: int = 10 * NS_PER_MS
    own_accel_deg_s2: float = 2500.0
    rejoin_speed_max_deg_s: float = 10.0
    late_tolerance_ns: int = 15 * NS_PER_MS
    relock_time_ns: int = 500 * NS_PER_MS
    relock_share_max: float = 0.05
    period_min_ns: int = 1 * NS_PER_MS
    period_max_ns: int = 20 * NS_PER_MS

    def __post_init__(self) -> None:
        """Refuse a table that describes no controller."""
        where = f"controller constants {self.name!r}"
        for field in _POSITIVE:
            value = getattr(self, field)
            if not (math.isfinite(value) and value > 0):
                raise ConfigError(f"{field} must be a positive number, not {value}", where=where)
        if not 0.0 <= self.trip_onset_deg_s <= self.trip_certain_deg_s:
            raise ConfigError("trip_onset_deg_s must not lie above trip_certain_deg_s", where=where)
        if not self.period_min_ns <= self.period_max_ns:
            raise ConfigError("period_min_ns must not lie above period_max_ns", where=where)
        speeds = [speed for speed, _ in self.sweep_ratio_points]
        if not speeds or any(later <= earlier for earlier, later in pairwise(speeds)):
            raise ConfigError("sweep_ratio_points must rise in velocity, and be at least one", where=where)

    def sweep_travel_deg(self, jump_deg_s: float) -> float:
        """How far the arm sweeps after a velocity change of `jump_deg_s` (≥ 0) in one frame, degrees.

        The ratio is taken from the measured points, straight between them and level outside; the step
        is counted at the campaign's period. A sweep never outlasts the reject window: past the
        largest gap ever seen nothing was measured, and 0.9 s is all the campaign ever saw.
        """
        step_deg = jump_deg_s * self.step_reference_ns / 1e9
        speed_deg_s = min(jump_deg_s, self.sweep_speed_max_deg_s)
        window_s = self.reject_window_ns / 1e9
        longest_deg = speed_deg_s * max(window_s - speed_deg_s / self.own_accel_deg_s2, 0.0)
        return min(_interpolate(self.sweep_ratio_points, jump_deg_s) * step_deg, longest_deg)


def _interpolate(points: tuple[tuple[float, float], ...], x: float) -> float:
    """Piecewise linear through `points`, level before the first and after the last."""
    if x <= points[0][0]:
        return points[0][1]
    for (left, low), (right, high) in pairwise(points):
        if x <= right:
            return low + (high - low) * (x - left) / (right - left)
    return points[-1][1]


FR3: Final = ControllerConstants(name="fr3", lag_ns=78 * NS_PER_MS)
FR20: Final = ControllerConstants(name="fr20", lag_ns=111 * NS_PER_MS)
SIM: Final = ControllerConstants(name="sim", lag_ns=39 * NS_PER_MS, runs_away=False)

PRESETS: Final[dict[str, ControllerConstants]] = {preset.name: preset for preset in (FR3, FR20, SIM)}

CITED: Final[dict[str, str]] = {
    "lag_ns": "001, experiments 1, 7, 8: L = 39 ms (sim), 78 ms (FR3), 109–111 ms (FR20), at every speed",
    "enable_window_ns": "001, experiment 2: about 1.4 s of code 101 after RobotEnable returns 0",
    "runs_away": "001, experiment 1: no step of any size ever ran away in the vendor's simulator",
    "trip_onset_deg_s": "001, headline: a jump of 1–1.5° in one 10 ms tick. Assumed: no fault below",
    "trip_certain_deg_s": "001, experiments 3 and 4: 1.5° in 10 ms faulted; 2.5° swept on both transports",
    "band_sweep_chance": "001, experiment 4: a coin flip; 1.5° over RPC faulted and stayed on target",
    "giant_step_deg": "001, experiment 5: 30° refused, no motion. Assumed: 5–30°, never tried, still sweep",
    "reject_window_ns": "001, experiment 3: every command answered 14 for about 0.9 s",
    "sweep_speed_max_deg_s": "001, experiments 4 and 7: 2.5° in 10 ms (250 °/s implied) swept at 196 °/s. "
    "Assumed for the FR20, which was never made to run away",
    "sweep_ratio_points": "001, experiments 2 to 4: 2.5° swept 88.57°, 4.8° swept 158°, the least was 14 "
    "steps. Assumed: that the least belongs to 1.0°, and straight lines between",
    "step_reference_ns": "001: every step of the campaign was sent at cmdT = 10 ms",
    "own_accel_deg_s2": "Assumed. 158° at 196 °/s fits into 0.9 s only from 2,090 °/s² upwards",
    "rejoin_speed_max_deg_s": "Assumed, so that an arm that was starved never outruns its stream by more",
    "late_tolerance_ns": "Assumed (R10: starved, it brakes without a fault)",
    "relock_time_ns": "Assumed: consuming a stream trimmed by R2 at exactly cmdT would drift away for ever",
    "relock_share_max": "Assumed, as relock_time_ns",
    "period_min_ns": "The SDK manual recommends cmdT from 0.001 s",
    "period_max_ns": "001, experiment 1: an older probe ran at cmdT = 20 ms. Assumed: nothing longer",
}
