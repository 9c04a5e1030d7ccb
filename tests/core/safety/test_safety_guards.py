"""The single guards, and the lock that makes a trip of their findings."""

import math
from random import Random

import pytest

from steadyhand.core.safety.guards import (
    DEFAULT_JOINT_RANGE_DEG,
    SPEED_BASELINE_NS,
    BaselineSpeed,
    EefSpeedGuard,
    JointLimitsGuard,
    JointSpeedGuard,
    StateFeedGuard,
    TripLock,
    WorkAreaGuard,
)
from steadyhand.core.safety.verdicts import Guard, GuardTripped, Violation
from steadyhand.core.safety.workarea import WorkArea, clearance_of
from steadyhand.ground.config_safety import BoxArea

MS = 1_000_000
FOUND = Violation(reason="too fast")
OTHER = Violation(reason="still too fast")


# ---- the trip-lock


def test_n_violations_in_a_row_latch() -> None:
    lock = TripLock(Guard.JOINT_SPEED, 3)
    assert lock.judge(FOUND, 1) is None
    assert lock.judge(FOUND, 2) is None
    assert not lock.tripped
    assert lock.judge(OTHER, 3) == GuardTripped(guard=Guard.JOINT_SPEED, violation=OTHER, at_ns=3)
    assert lock.tripped


def test_a_clean_frame_in_between_starts_over() -> None:
    lock = TripLock(Guard.JOINT_SPEED, 3)
    for found in [FOUND, FOUND, None] * 5:
        assert lock.judge(found, 0) is None
    assert not lock.tripped


def test_a_latch_tells_once_and_keeps_its_first_reason() -> None:
    lock = TripLock(Guard.WORKAREA, 1)
    assert lock.judge(FOUND, 1) is not None
    assert lock.judge(OTHER, 2) is None
    assert lock.judge(None, 3) is None
    assert lock.tripped
    assert lock.last_reason == "too fast"


def test_only_a_reset_clears_a_latch() -> None:
    lock = TripLock(Guard.WORKAREA, 1)
    lock.judge(FOUND, 1)
    lock.reset()
    assert not lock.tripped
    assert lock.last_reason == ""
    assert lock.judge(OTHER, 2) is not None


def test_a_reset_forgets_the_count_too() -> None:
    lock = TripLock(Guard.JOINT_SPEED, 2)
    lock.judge(FOUND, 1)
    assert lock.last_reason == "too fast"
    lock.reset()
    assert lock.judge(FOUND, 2) is None


# ---- on the raw target


def test_a_target_inside_its_limits_passes_the_bounds_included() -> None:
    guard = JointLimitsGuard([(-10.0, 20.0), (0.0, 5.0)], ["j1", "j2"])
    for target in ((-10.0, 5.0), (20.0, 0.0), (3.0, 2.0)):
        assert guard.check(target) is None


@pytest.mark.parametrize(
    ("target", "reason", "joint", "allowed"),
    [
        ((20.1, 2.0), "j1 asked to 20.10°, limits -10° to 20°", "j1", 20.0),
        ((0.0, -0.5), "j2 asked to -0.50°, limits 0° to 5°", "j2", 0.0),
        ((0.0, math.nan), "j2 asked to nan°, limits 0° to 5°", "j2", 0.0),
        ((math.inf, 2.0), "j1 asked to inf°, limits -10° to 20°", "j1", 20.0),
    ],
)
def test_the_first_joint_outside_is_named(
    target: tuple[float, float], reason: str, joint: str, allowed: float
) -> None:
    found = JointLimitsGuard([(-10.0, 20.0), (0.0, 5.0)], ["j1", "j2"]).check(target)
    assert found is not None
    assert (found.reason, found.joint, found.allowed, found.unit) == (reason, joint, allowed, "deg")


def test_a_wrong_number_of_joints_is_outside() -> None:
    found = JointLimitsGuard([(-10.0, 20.0)], ["j1"]).check((1.0, 2.0))
    assert found is not None
    assert found.reason == "2 joints for an arm of 1"


def test_without_limits_only_what_is_no_angle_is_outside() -> None:
    guard = JointLimitsGuard([DEFAULT_JOINT_RANGE_DEG], ["j1"])
    assert guard.check((5000.0,)) is None
    assert guard.check((math.nan,)) is not None
    assert guard.check((-math.inf,)) is not None


def test_a_tool_outside_the_work_area_is_told_with_how_far() -> None:
    clearance = clearance_of(BoxArea(lower_m=(0.0, 0.0, 0.0), upper_m=(1.0, 1.0, 1.0)))
    guard = WorkAreaGuard(WorkArea(clearance, lambda joints: (joints[0], 0.5, 0.25), reach_m=(60.0,)))
    assert guard.check((1.0,)) is None
    found = guard.check((1.25,))
    assert found == Violation(
        reason="tool asked to (1.250, 0.500, 0.250) m, 0.250 m outside the work area",
        measured=0.25,
        allowed=0.0,
        unit="m",
    )


# ---- on the measured arm


def test_a_frame_is_young_enough_up_to_its_bound() -> None:
    guard = StateFeedGuard(100.0)
    assert guard.check(100 * MS) is None
    assert guard.check(-5) is None
    found = guard.check(100 * MS + 1)
    assert found is not None
    assert (found.reason, found.unit) == ("newest measured frame is 100 ms old, 100 ms allowed", "ms")
    assert found.measured == pytest.approx(100.0)
    assert found.allowed == 100.0


@pytest.mark.parametrize("speed", [150.0, -150.0, 0.0])
def test_a_joint_at_the_ceiling_is_not_above_it(speed: float) -> None:
    assert JointSpeedGuard(150.0, ["j1"]).check([speed]) is None


@pytest.mark.parametrize("speed", [150.1, -150.1])
def test_a_joint_above_the_ceiling_is_named_with_its_speed(speed: float) -> None:
    assert JointSpeedGuard(150.0, ["j1", "j2"]).check([0.0, speed]) == Violation(
        reason="j2 measured at 150.1 °/s, 150 allowed",
        joint="j2",
        measured=150.1,
        allowed=150.0,
        unit="deg/s",
    )


def test_the_ceiling_is_each_joints_own() -> None:
    guard = JointSpeedGuard(150.0, ["j1", "j2", "j3"])
    assert guard.check([149.0, -149.0, 149.0]) is None
    assert guard.check([1.0, -150.1, 1.0]) is not None


def test_a_speed_that_is_no_number_is_above_the_ceiling() -> None:
    assert JointSpeedGuard(150.0, ["j1"]).check([math.nan]) is not None


def test_the_tools_speed_is_the_length_of_its_velocity() -> None:
    guard = EefSpeedGuard(1.5)
    assert guard.check([0.9, 1.2, 0.0]) is None
    found = guard.check([0.9, 1.2, 0.1])
    assert found is not None
    assert (found.reason, found.unit) == ("tool measured at 1.503 m/s, 1.5 allowed", "m/s")
    assert found.measured == pytest.approx(1.50333)
    assert found.allowed == 1.5


# ---- speeds from poses


def test_a_speed_needs_a_baseline() -> None:
    speeds = BaselineSpeed(0)
    for at_ms in range(0, 200, 8):
        assert speeds.observe((0.1 * at_ms,), at_ms * MS) is None
    assert speeds.observe((20.0,), 200 * MS) == pytest.approx([100.0])


def test_the_baseline_is_the_shortest_that_is_long_enough() -> None:
    speeds = BaselineSpeed(0)
    speeds.observe((0.0,), 0)
    speeds.observe((50.0,), 100 * MS)
    assert speeds.observe((60.0,), 300 * MS) == pytest.approx([50.0])  # from 100 ms, not from 0


def test_the_feeds_jitter_lengthens_the_baseline_at_both_ends() -> None:
    speeds = BaselineSpeed(8 * MS)
    speeds.observe((0.0,), 0)
    assert speeds.observe((21.6,), 200 * MS) == pytest.approx([100.0])


def test_a_forgotten_baseline_starts_anew() -> None:
    speeds = BaselineSpeed(0)
    for at_ms in range(0, 400, 8):
        speeds.observe((0.0,), at_ms * MS)
    speeds.forget()
    assert speeds.observe((50.0,), 400 * MS) is None


@pytest.mark.parametrize("stall", [False, True])
def test_jitter_and_a_stalled_feed_never_read_as_a_trip(stall: bool) -> None:
    """At v_max 130 °/s, ±8 ms and 50 ms of queued frames stay under R18's 150 °/s."""
    dice = Random(4)
    speeds, fastest = BaselineSpeed(8 * MS), 0.0
    frames = []
    for at_ms in range(0, 4000, 8):
        arrival_ns = at_ms * MS + round((2.0 * dice.random() - 1.0) * 8 * MS)
        into_ms = arrival_ns / MS % 1000.0 - 500.0
        if stall and 0.0 <= into_ms < 50.0:
            arrival_ns += round((50.0 - into_ms) * MS)
        frames.append((arrival_ns, 0.130 * at_ms))
    for arrival_ns, angle in sorted(frames):
        seen = speeds.observe((angle,), arrival_ns)
        fastest = max(fastest, abs(seen[0]) if seen else 0.0)
    assert 110.0 < fastest < 150.0


def test_a_long_silence_still_has_a_baseline() -> None:
    speeds = BaselineSpeed(0)
    speeds.observe((0.0,), 0)
    assert speeds.observe((10.0,), 10 * SPEED_BASELINE_NS) == pytest.approx([5.0])
