"""The single checks of the envelope, and the lock that turns violations into a trip.

Joint limits and work area look at the raw target, before any shaping; joint speed and
end-effector speed look at the measured arm, whatever was commanded, so that they hold even where
everything above them is misconfigured (document 001, "kept unchanged").
"""

import math
from collections import deque
from collections.abc import Sequence
from typing import Final, Generic, TypeVar

from steadyhand.core.safety.shaper import TARGET_LIMIT_DEG
from steadyhand.core.safety.verdicts import Guard, GuardTripped, Violation
from steadyhand.core.safety.workarea import WorkArea
from steadyhand.ground.stamps import NS_PER_MS, NS_PER_S, ms_from_ns, ns_from_ms

SPEED_BASELINE_NS: Final = 200 * NS_PER_MS
"""Span over which a speed is taken from poses. Long, because arrival stamps jitter: frames that
queued behind a 50 ms stall of the feed still read less than 12 % too fast."""

_Frame = TypeVar("_Frame")

DEFAULT_JOINT_RANGE_DEG: Final = (-TARGET_LIMIT_DEG, TARGET_LIMIT_DEG)


class TripLock:
    """N violations in a row latch; a clean frame in between starts over; only a reset clears.

    Args:
        guard: whose lock it is.
        trip_count: N.
    """

    __slots__ = ("_last", "_tripped", "guard", "in_a_row", "trip_count")

    def __init__(self, guard: Guard, trip_count: int) -> None:
        self.guard = guard
        self.trip_count = trip_count
        self.reset()

    def reset(self) -> None:
        """Clear latch, count and reason: an operator's reset, nothing else."""
        self.in_a_row = 0
        self._tripped = False
        self._last: Violation | None = None

    def judge(self, violation: Violation | None, now_ns: int) -> GuardTripped | None:
        """Count a finding; the event of the trip, once per latch.

        What is found while the lock is latched changes nothing: the first reason stays.
        """
        if violation is None:
            self.in_a_row = 0
            return None
        if self._tripped:
            return None
        self.in_a_row += 1
        self._last = violation
        if self.in_a_row < self.trip_count:
            return None
        self._tripped = True
        return GuardTripped(guard=self.guard, violation=violation, at_ns=now_ns)

    @property
    def tripped(self) -> bool:
        """Whether it has latched."""
        return self._tripped

    @property
    def last_reason(self) -> str:
        """The reason of the latch, or of the last violation before one; "" without any."""
        return "" if self._last is None else self._last.reason


class JointLimitsGuard:
    """Every joint of the raw target is an angle inside its limits.

    Args:
        limits_deg: (lowest, highest) per joint.
        names: joint names, same length.
    """

    __slots__ = ("_limits_deg", "_names")

    def __init__(self, limits_deg: Sequence[tuple[float, float]], names: Sequence[str]) -> None:
        self._limits_deg = tuple(limits_deg)
        self._names = tuple(names)

    def check(self, target_deg: Sequence[float]) -> Violation | None:
        """The first joint outside; a wrong count and a number that is no angle are outside too."""
        if len(target_deg) != len(self._limits_deg):
            return Violation(reason=f"{len(target_deg)} joints for an arm of {len(self._limits_deg)}")
        for index, (lowest, highest) in enumerate(self._limits_deg):
            angle = target_deg[index]
            # Negated chain, so that a NaN is outside.
            if not lowest <= angle <= highest:
                return Violation(
                    reason=f"{self._names[index]} asked to {angle:.2f}°, limits {lowest:g}° to {highest:g}°",
                    joint=self._names[index],
                    measured=angle,
                    allowed=highest if angle > highest else lowest,
                    unit="deg",
                )
        return None


class WorkAreaGuard:
    """The tool point of the raw target lies inside the work area."""

    __slots__ = ("_area",)

    def __init__(self, area: WorkArea) -> None:
        self._area = area

    def check(self, target_deg: Sequence[float]) -> Violation | None:
        """How far outside the tool would be."""
        if self._area.surely_has(0.0, target_deg):
            return None
        clearance_m = self._area.clearance_m(target_deg)
        if clearance_m >= 0.0:
            return None
        x, y, z = self._area.tool_m(target_deg)
        return Violation(
            reason=f"tool asked to ({x:.3f}, {y:.3f}, {z:.3f}) m, {-clearance_m:.3f} m outside the work area",
            measured=-clearance_m,
            allowed=0.0,
            unit="m",
        )


class StateFeedGuard:
    """The newest measured frame is no older than the bound while streaming (R9)."""

    __slots__ = ("max_age_ns",)

    def __init__(self, max_age_ms: float) -> None:
        self.max_age_ns = ns_from_ms(max_age_ms)

    def check(self, age_ns: int) -> Violation | None:
        """The age, where it is beyond the bound."""
        if age_ns <= self.max_age_ns:
            return None
        return Violation(
            reason=(
                f"newest measured frame is {ms_from_ns(age_ns):.0f} ms old, "
                f"{ms_from_ns(self.max_age_ns):.0f} ms allowed"
            ),
            measured=ms_from_ns(age_ns),
            allowed=ms_from_ns(self.max_age_ns),
            unit="ms",
        )


class Baseline(Generic[_Frame]):
    """Measured frames, back to the one that a speed is taken from.

    A difference between neighbouring frames would be useless: 8 ms of jitter on an 8 ms grid. Over
    the baseline the elapsed time is lengthened by the jitter of both its ends, so that no speed is
    above the true one for what the feed's jitter does.

    Args:
        feed_jitter_ns: largest deviation of a frame's arrival from its grid, ±.
    """

    __slots__ = ("_both_ends_ns", "_frames")

    def __init__(self, feed_jitter_ns: int) -> None:
        self._both_ends_ns = 2 * feed_jitter_ns
        self._frames: deque[tuple[int, _Frame]] = deque()

    def since(self, frame: _Frame, arrival_ns: int) -> tuple[_Frame, float] | None:
        """Take a frame; the one at the other end and the seconds between, or None until there is one."""
        frames = self._frames
        frames.append((arrival_ns, frame))
        horizon_ns = arrival_ns - SPEED_BASELINE_NS
        if frames[0][0] > horizon_ns:
            return None
        while frames[1][0] <= horizon_ns:
            frames.popleft()
        then_ns, then = frames[0]
        return then, (arrival_ns - then_ns + self._both_ends_ns) / NS_PER_S

    def forget(self) -> None:
        """Start a new baseline."""
        self._frames.clear()


class BaselineSpeed:
    """Speeds of joints from poses over a baseline.

    Args:
        feed_jitter_ns: largest deviation of a frame's arrival from its grid, ±.
    """

    __slots__ = ("_baseline",)

    def __init__(self, feed_jitter_ns: int) -> None:
        self._baseline: Baseline[tuple[float, ...]] = Baseline(feed_jitter_ns)

    def observe(self, values: Sequence[float], arrival_ns: int) -> list[float] | None:
        """Take a frame; the rate of change of each value per second, or None until there is a baseline."""
        found = self._baseline.since(tuple(values), arrival_ns)
        if found is None:
            return None
        then, elapsed_s = found
        return [(now - then[index]) / elapsed_s for index, now in enumerate(values)]

    def forget(self) -> None:
        """Start a new baseline."""
        self._baseline.forget()


class JointSpeedGuard:
    """No joint of the measured arm is faster than the ceiling.

    Nothing that can be commanded passes v_max, so an arm above the ceiling moves by itself.
    """

    __slots__ = ("_names", "max_deg_s")

    def __init__(self, max_deg_s: float, names: Sequence[str]) -> None:
        self.max_deg_s = max_deg_s
        self._names = tuple(names)

    def check(self, speeds_deg_s: Sequence[float]) -> Violation | None:
        """The first joint above the ceiling."""
        ceiling = self.max_deg_s
        if math.hypot(*speeds_deg_s) < ceiling:
            return None  # the length of a vector is no less than any of its entries
        for index, speed in enumerate(speeds_deg_s):
            if not -ceiling <= speed <= ceiling:
                return Violation(
                    reason=f"{self._names[index]} measured at {abs(speed):.1f} °/s, {ceiling:g} allowed",
                    joint=self._names[index],
                    measured=abs(speed),
                    allowed=ceiling,
                    unit="deg/s",
                )
        return None


class EefSpeedGuard:
    """The measured tool point is no faster than the ceiling."""

    __slots__ = ("max_m_s",)

    def __init__(self, max_m_s: float) -> None:
        self.max_m_s = max_m_s

    def check(self, velocity_m_s: Sequence[float]) -> Violation | None:
        """The tool's speed, where it is above the ceiling; `velocity_m_s` has shape (3,)."""
        x, y, z = velocity_m_s
        speed_m_s = math.sqrt(x * x + y * y + z * z)
        if speed_m_s <= self.max_m_s:
            return None
        return Violation(
            reason=f"tool measured at {speed_m_s:.3f} m/s, {self.max_m_s:g} allowed",
            measured=speed_m_s,
            allowed=self.max_m_s,
            unit="m/s",
        )
