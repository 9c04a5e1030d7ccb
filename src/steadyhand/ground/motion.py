"""A motion: what a person's hand (or a policy) asks of the arm over time, sampled at any instant.

A recording comes with irregular stamps (a UR10e's: 10 and 12 ms in turn) and must be streamed at
a fixed rate, so something has to say where the joints are between two rows.

* `spline` (default for recordings): the variation-diminishing cubic B-spline (Schoenberg's
  operator) whose control values are the rows, read at the knots' averages. It is continuous up to
  the acceleration, never leaves the range of the four rows around it and cannot overshoot, so a
  still joint stays still. It passes *near* the rows instead of through them: by at most
  0.02° on the measured recordings, where one count of the encoder is 0.006°.
* `linear`: straight lines through the rows. Each row becomes a step of velocity.

Why not a spline through the rows: their 0.006° counts, 10 ms apart, are themselves an acceleration
of 57 °/s², and an interpolant must reproduce them. Peak acceleration (second difference of the
stream, °/s²) measured on the two recordings of a UR10e, excitation / unloaded; a local cubic fit
over 100 ms puts the arm's own peak at 182 / 120:

| stream | linear | PCHIP | C² interpolating | B-spline |
|---|---|---|---|---|
| 100 Hz | 535 / 286 | 690 / 328 | 674 / 345 | 331 / 241 |
| 125 Hz | 1025 / 429 | 1185 / 579 | 1096 / 470 | 507 / 299 |
| 250 Hz | 1757 / 858 | 1682 / 944 | 1456 / 591 | 656 / 356 |

This is about the *source* of a stream. R7 is untouched: what has been sent is never smoothed.
"""

from bisect import bisect_right
from collections.abc import Sequence
from math import floor, isfinite
from typing import Final, Literal, get_args

from steadyhand.ground.errors import InputError

Interpolation = Literal["spline", "linear"]
JointsDeg = tuple[float, ...]

MAX_JOINTS: Final = 12
MIN_STEP_S: Final = 1e-6  # closer rows are one row stamped twice
MAX_TIME_S: Final = 4e9  # beyond it a double no longer tells MIN_STEP_S apart; Unix stamps fit
MAX_ANGLE_DEG: Final = 36_000.0  # a hundred turns: not degrees of an arm's joint


class Motion:
    """Joint angles over time. Immutable; a motion shorter than the run plays forth and back.

    The turn is a mirror image, so position, velocity (zero) and, under `spline`, acceleration
    are continuous through it.

    Attributes:
        name: what the user called it.
        times_s: stamps of the rows, seconds from 0, strictly increasing, shape (n_rows,).
        poses_deg: the rows, degrees, shape (n_rows, n_joints).
        interpolation: `spline` or `linear`, see the module.

    Raises:
        InputError: fewer than two rows, no joint or more than twelve, rows of unequal length,
            stamps that do not increase, or a number that is not finite.
    """

    __slots__ = (
        "_controls_deg",
        "_fold_s",
        "_knots_s",
        "_linear",
        "interpolation",
        "name",
        "poses_deg",
        "times_s",
    )

    def __init__(
        self,
        *,
        times_s: Sequence[float],
        poses_deg: Sequence[Sequence[float]],
        name: str = "motion",
        interpolation: Interpolation = "spline",
    ) -> None:
        rows = tuple(tuple(float(angle) for angle in pose) for pose in poses_deg)
        _check_rows(times_s, rows, name)
        if interpolation not in get_args(Interpolation):
            known = " or ".join(get_args(Interpolation))
            raise InputError(f"unknown interpolation {interpolation!r}", where=name, hint=f"use {known}")
        self.name: Final = name
        self.interpolation: Final = interpolation
        self.times_s: Final[tuple[float, ...]] = tuple(float(time_s) - times_s[0] for time_s in times_s)
        self.poses_deg: Final[tuple[JointsDeg, ...]] = rows
        self._linear: Final = interpolation == "linear"
        self._fold_s: Final = 2.0 * self.times_s[-1]
        last = len(rows) - 1
        # Index i holds knot i − 3: three mirrored knots on either side carry the spline over the turn.
        self._knots_s: Final = tuple(self._mirrored_time_s(index) for index in range(-3, last + 4))
        # Index i holds the control of knot i − 1.
        self._controls_deg: Final = tuple(self._control_deg(index) for index in range(-1, last + 2))

    @property
    def duration_s(self) -> float:
        """Seconds from the first row to the last; the run turns round there."""
        return self.times_s[-1]

    @property
    def n_joints(self) -> int:
        """How many joints a pose has."""
        return len(self.poses_deg[0])

    def at(self, t_s: float) -> JointsDeg:
        """Joint angles at `t_s` seconds, degrees, shape (n_joints,); any finite time, forth and back."""
        folded_s = t_s % self._fold_s
        if folded_s > self.times_s[-1]:
            folded_s = self._fold_s - folded_s
        segment = min(bisect_right(self.times_s, folded_s), len(self.times_s) - 1) - 1
        if self._linear:
            return self._line_deg(segment, folded_s)
        return self._spline_deg(segment, folded_s)

    def resample(self, rate_hz: float, duration_s: float) -> list[JointsDeg]:
        """Poses at 0, 1/rate, 2/rate … up to and including `duration_s`.

        Raises:
            InputError: a rate that is not positive, a negative duration, or either not finite.
        """
        if not (isfinite(rate_hz) and rate_hz > 0.0):
            raise InputError(f"rate must be above 0 Hz, not {rate_hz}", where=self.name)
        if not (isfinite(duration_s) and duration_s >= 0.0):
            raise InputError(f"duration must be 0 s or more, not {duration_s}", where=self.name)
        # A billionth of a tick: 0.3 s at 10 Hz is three whole periods, though 0.3 * 10 may say less.
        ticks = floor(duration_s * rate_hz + 1e-9)
        return [self.at(tick / rate_hz) for tick in range(ticks + 1)]

    def _line_deg(self, segment: int, t_s: float) -> JointsDeg:
        """Straight line between two rows."""
        begin_s, end_s = self.times_s[segment], self.times_s[segment + 1]
        share = (t_s - begin_s) / (end_s - begin_s)
        begin_deg, end_deg = self.poses_deg[segment], self.poses_deg[segment + 1]
        return tuple(a + (b - a) * share for a, b in zip(begin_deg, end_deg, strict=True))

    def _spline_deg(self, segment: int, t_s: float) -> JointsDeg:
        """Weighted mean of the four controls around `t_s` (Cox–de Boor, unrolled for degree three)."""
        k0, k1, k2, k3, k4, k5 = self._knots_s[segment + 1 : segment + 7]
        left1, left2, left3 = t_s - k2, t_s - k1, t_s - k0
        right1, right2, right3 = k3 - t_s, k4 - t_s, k5 - t_s
        # Degree one, then two, then three. The four weights are positive and add up to one.
        low = right1 / (k3 - k2)
        high = left1 / (k3 - k2)
        part_a, part_b = low / (k3 - k1), high / (k4 - k2)
        first, middle, last = right1 * part_a, left2 * part_a + right2 * part_b, left1 * part_b
        part_a, part_b, part_c = first / (k3 - k0), middle / (k4 - k1), last / (k5 - k2)
        w0 = right1 * part_a
        w1 = left3 * part_a + right2 * part_b
        w2 = left2 * part_b + right3 * part_c
        w3 = left1 * part_c
        p0, p1, p2, p3 = self._controls_deg[segment : segment + 4]
        return tuple(a * w0 + b * w1 + c * w2 + d * w3 for a, b, c, d in zip(p0, p1, p2, p3, strict=True))

    def _mirrored_time_s(self, index: int) -> float:
        """Time of row `index`, continued beyond both ends by mirroring."""
        last = len(self.times_s) - 1
        turns, rest = divmod(index, 2 * last)
        within_s = self.times_s[rest] if rest <= last else self._fold_s - self.times_s[2 * last - rest]
        return turns * self._fold_s + within_s

    def _control_deg(self, index: int) -> JointsDeg:
        """Control value of knot `index`: the rows' straight line at the mean of three knots.

        The mean (Greville's abscissa) is what lets the spline reproduce a straight line exactly
        where stamps are irregular.
        """
        before_s, knot_s, after_s = self._knots_s[index + 2 : index + 5]
        mean_s = (before_s + knot_s + after_s) / 3.0
        folded_s = mean_s % self._fold_s
        if folded_s > self.times_s[-1]:
            folded_s = self._fold_s - folded_s
        segment = min(bisect_right(self.times_s, folded_s), len(self.times_s) - 1) - 1
        return self._line_deg(segment, folded_s)


def row_fault(time_s: float, previous_s: float | None, pose_deg: Sequence[float]) -> str | None:
    """What makes this row unusable after the one stamped `previous_s`; None where nothing does.

    Finiteness comes first: a NaN passes every comparison behind it.
    """
    if not isfinite(time_s):
        return f"t_s is {time_s}, not a finite number"
    for joint, angle_deg in enumerate(pose_deg, start=1):
        if not isfinite(angle_deg):
            return f"j{joint}_deg is {angle_deg}, not a finite number"
        if abs(angle_deg) > MAX_ANGLE_DEG:
            return f"j{joint}_deg is {angle_deg:g}, over a hundred turns"
    if abs(time_s) > MAX_TIME_S:
        return f"t_s is {time_s:g}, which is no time in seconds"
    if previous_s is not None and time_s - previous_s < MIN_STEP_S:
        return f"t_s is {time_s:g} after {previous_s:g}; stamps must increase, by a microsecond at least"
    return None


def _check_rows(times_s: Sequence[float], rows: Sequence[JointsDeg], name: str) -> None:
    """Refuse what cannot be a motion."""
    if len(times_s) != len(rows):
        raise InputError(f"{len(times_s)} stamps for {len(rows)} poses", where=name)
    if len(rows) < 2:
        raise InputError(f"a motion needs at least two rows, not {len(rows)}", where=name)
    if not 1 <= len(rows[0]) <= MAX_JOINTS:
        raise InputError(f"a pose has 1 to {MAX_JOINTS} joints, not {len(rows[0])}", where=name)
    previous_s: float | None = None
    for number, (time_s, pose) in enumerate(zip(times_s, rows, strict=True), start=1):
        if len(pose) != len(rows[0]):
            raise InputError(f"{len(pose)} joints after {len(rows[0])}", where=f"{name}, row {number}")
        fault = row_fault(time_s, previous_s, pose)
        if fault is not None:
            raise InputError(fault, where=f"{name}, row {number}")
        previous_s = time_s
