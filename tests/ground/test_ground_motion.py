"""Motions between their rows, through their turns, and the ones that need no file."""

import re
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyhand.ground.builtin_motions import BUILTIN_MOTIONS, HOME_DEG, builtin_motion, reaches, sine, step
from steadyhand.ground.errors import InputError
from steadyhand.ground.motion import JointsDeg, Motion


def peak_speed_deg_s(rows: list[JointsDeg], rate_hz: float) -> float:
    return max(abs(b - a) * rate_hz for one, two in pairwise(rows) for a, b in zip(one, two, strict=True))


def peak_accel_deg_s2(rows: list[JointsDeg], rate_hz: float) -> float:
    return max(
        abs(c - 2.0 * b + a) * rate_hz**2
        for one, two, three in zip(rows, rows[1:], rows[2:], strict=False)
        for a, b, c in zip(one, two, three, strict=True)
    )


def one_joint(rows: list[tuple[float, float]], *, linear: bool = False) -> Motion:
    return Motion(
        times_s=[time_s for time_s, _ in rows],
        poses_deg=[(angle_deg,) for _, angle_deg in rows],
        interpolation="linear" if linear else "spline",
    )


def test_linear_goes_straight_through_irregular_rows() -> None:
    motion = one_joint([(0.0, 0.0), (0.03, 3.0), (0.04, 5.0)], linear=True)
    assert [motion.at(t_s)[0] for t_s in (0.0, 0.01, 0.03, 0.035, 0.04)] == pytest.approx(
        [0.0, 1.0, 3.0, 4.0, 5.0]
    )


def test_a_straight_line_stays_straight_under_the_spline_however_irregular() -> None:
    times_s = [0.0, 0.01, 0.022, 0.032, 0.066, 0.07, 0.08, 0.092, 0.1]
    motion = one_joint([(time_s, 40.0 * time_s) for time_s in times_s])
    # Away from the ends, where the mirror bends it to rest.
    for t_s in (0.033, 0.04, 0.05, 0.06, 0.068):
        assert motion.at(t_s)[0] == pytest.approx(40.0 * t_s, abs=1e-12)


def test_a_motion_plays_forth_and_back() -> None:
    for linear in (False, True):
        motion = one_joint([(0.0, 0.0), (0.5, 10.0), (1.0, 30.0)], linear=linear)
        for t_s in (0.1, 0.5, 0.9):
            assert motion.at(2.0 - t_s) == pytest.approx(motion.at(t_s))
            assert motion.at(2.0 + t_s) == pytest.approx(motion.at(t_s))
            assert motion.at(-t_s) == pytest.approx(motion.at(t_s))


def test_the_turn_has_no_jump_in_position_velocity_or_acceleration() -> None:
    # A ramp that ends at full speed: 100 °/s into the turn.
    motion = one_joint([(tick * 0.01, 1.0 * tick) for tick in range(51)])
    h = 1e-4
    before, at_turn, after = (motion.at(0.5 + offset)[0] for offset in (-h, 0.0, h))
    assert abs(after - before) / (2 * h) < 1e-6
    just_before = (motion.at(0.5 - 2 * h)[0] - 2 * before + at_turn) / h**2
    just_after = (at_turn - 2 * after + motion.at(0.5 + 2 * h)[0]) / h**2
    assert just_before == pytest.approx(just_after, rel=1e-3)


def test_a_still_joint_stays_still() -> None:
    motion = one_joint([(0.0, -91.0774), (0.012, -91.0774), (0.022, -91.0774), (0.03, -91.0774)])
    for tick in range(100):
        assert motion.at(tick / 777)[0] == pytest.approx(-91.0774, abs=1e-12)


def test_the_spline_does_not_overshoot_a_jump() -> None:
    motion = one_joint([(tick * 0.01, 0.0 if tick < 20 else 10.0) for tick in range(40)])
    values = [angle for (angle,) in motion.resample(1000.0, motion.duration_s)]
    assert min(values) >= 0.0
    assert max(values) <= 10.0 + 1e-12
    assert all(b >= a - 1e-12 for a, b in pairwise(values))


def test_the_spline_makes_less_acceleration_of_an_encoders_counts_than_lines_do() -> None:
    """A slow swing read in counts of 0.0057° at 10 and 12 ms in turn, as the recordings are."""
    times_s = [0.0]
    while times_s[-1] < 4.0:
        times_s.append(times_s[-1] + (0.010 if len(times_s) % 3 else 0.012))
    clean = sine()
    swing = [(t_s, round(clean.at(t_s)[0] / 0.0057) * 0.0057) for t_s in times_s]
    for rate_hz in (100.0, 125.0, 250.0):
        spline, lines = (
            peak_accel_deg_s2(one_joint(swing, linear=linear).resample(rate_hz, 3.9), rate_hz)
            for linear in (False, True)
        )
        assert spline < 0.8 * lines


def test_resampling_covers_both_ends() -> None:
    motion = one_joint([(0.0, 0.0), (1.0, 1.0)], linear=True)
    assert len(motion.resample(10.0, 0.3)) == 4
    assert motion.resample(10.0, 0.0) == [(0.0,)]
    assert motion.resample(4.0, 1.0) == [(0.0,), (0.25,), (0.5,), (0.75,), (1.0,)]


@pytest.mark.parametrize("rate_hz", [0.0, -1.0, float("nan"), float("inf")])
def test_a_rate_must_be_positive(rate_hz: float) -> None:
    with pytest.raises(InputError, match="rate must be above 0"):
        sine().resample(rate_hz, 1.0)


@pytest.mark.parametrize("duration_s", [-1.0, float("nan"), float("inf")])
def test_a_duration_must_be_finite(duration_s: float) -> None:
    with pytest.raises(InputError, match="duration must be 0 s or more"):
        sine().resample(100.0, duration_s)


@pytest.mark.parametrize(
    ("times_s", "poses_deg", "says"),
    [
        ([0.0], [(1.0,)], "at least two rows, not 1"),
        ([], [], "at least two rows, not 0"),
        ([0.0, 1.0], [(1.0,)], "2 stamps for 1 poses"),
        ([0.0, 1.0], [(), ()], "1 to 12 joints, not 0"),
        ([0.0, 1.0], [(0.0,) * 13] * 2, "1 to 12 joints, not 13"),
        ([0.0, 1.0], [(0.0, 1.0), (0.0,)], "row 2: 1 joints after 2"),
        ([0.0, 0.0], [(0.0,), (0.0,)], "row 2: t_s is 0 after 0; stamps must increase"),
        ([1.0, 0.5], [(0.0,), (0.0,)], "row 2: t_s is 0.5 after 1; stamps must increase"),
        ([0.0, 1.0], [(0.0,), (float("nan"),)], "row 2: j1_deg is nan, not a finite number"),
        ([0.0, float("inf")], [(0.0,), (0.0,)], "row 2: t_s is inf, not a finite number"),
        ([0.0, 1.0], [(0.0,), (1e9,)], "row 2: j1_deg is 1e+09, over a hundred turns"),
        ([0.0, 1e18], [(0.0,), (0.0,)], "row 2: t_s is 1e+18, which is no time"),
    ],
)
def test_what_cannot_be_a_motion_is_refused(
    times_s: list[float], poses_deg: list[tuple[float, ...]], says: str
) -> None:
    with pytest.raises(InputError, match=re.escape(says)):
        Motion(times_s=times_s, poses_deg=poses_deg)


def test_an_unknown_interpolation_is_refused() -> None:
    with pytest.raises(InputError, match="unknown interpolation 'quintic'"):
        Motion(times_s=[0, 1], poses_deg=[(0,), (1,)], interpolation="quintic")  # type: ignore[arg-type]


@settings(max_examples=200, deadline=None)
@given(
    steps_s=st.lists(st.floats(1e-6, 10.0), min_size=1, max_size=12),
    angles_deg=st.lists(st.floats(-360.0, 360.0), min_size=13, max_size=13),
    begin_s=st.floats(-1e3, 1.7e9),
    t_s=st.floats(-1e6, 1e6),
    linear=st.booleans(),
)
def test_a_pose_never_leaves_the_range_of_the_rows(
    steps_s: list[float], angles_deg: list[float], begin_s: float, t_s: float, linear: bool
) -> None:
    times_s = [begin_s]
    for step_s in steps_s:
        # A step of a microsecond may round away beside a Unix time.
        times_s.append(times_s[-1] + max(step_s, 2e-6))
    rows = list(zip(times_s, angles_deg, strict=False))
    (angle_deg,) = one_joint(rows, linear=linear).at(t_s)
    used = angles_deg[: len(rows)]
    assert min(used) - 1e-9 <= angle_deg <= max(used) + 1e-9


def test_reaches_are_a_persons_between_30_and_90_degrees_a_second() -> None:
    for seed in range(5):
        rows = reaches(Random(seed)).resample(100.0, 60.0)
        assert 80.0 < peak_speed_deg_s(rows, 100.0) < 91.0
        assert peak_accel_deg_s2(rows, 100.0) < 360.0
        stroke_peaks = _stroke_peaks_deg_s(rows)
        assert len(stroke_peaks) > 15
        assert min(stroke_peaks) > 29.0


def _stroke_peaks_deg_s(rows: list[JointsDeg]) -> list[float]:
    """Peak speed of each stretch of movement between two rests, but the last."""
    peaks: list[float] = []
    peak = 0.0
    for one, two in pairwise(rows):
        speed = max(abs(b - a) * 100.0 for a, b in zip(one, two, strict=True))
        if speed > 0.05:
            peak = max(peak, speed)
        elif peak:
            peaks.append(peak)
            peak = 0.0
    return peaks[:-1]


def test_reaches_pause_and_end_where_they_began() -> None:
    motion = reaches(Random(3))
    assert motion.at(0.0) == pytest.approx(HOME_DEG)
    assert motion.at(motion.duration_s) == pytest.approx(HOME_DEG)
    rows = motion.resample(100.0, motion.duration_s)
    still = sum(one == pytest.approx(two, abs=1e-9) for one, two in pairwise(rows))
    assert 0.1 < still / len(rows) < 0.6


def test_reaches_are_those_of_the_seed() -> None:
    assert reaches(Random(1)).poses_deg == reaches(Random(1)).poses_deg
    assert reaches(Random(1)).poses_deg != reaches(Random(2)).poses_deg


def test_sine_is_endless_and_smooth() -> None:
    rows = sine(amplitude_deg=20.0, period_s=4.0).resample(100.0, 20.0)
    assert max(row[0] for row in rows) == pytest.approx(20.0, abs=0.01)
    assert min(row[0] for row in rows) == pytest.approx(-20.0, abs=0.01)
    assert peak_speed_deg_s(rows, 100.0) == pytest.approx(31.4, abs=0.1)
    assert peak_accel_deg_s2(rows, 100.0) == pytest.approx(49.3, abs=0.3)


def test_step_jumps_within_one_tick() -> None:
    rows = step(height_deg=10.0, rest_s=2.0).resample(100.0, 4.0)
    assert rows[200] == HOME_DEG
    assert rows[201] == tuple(home + 10.0 for home in HOME_DEG)


def test_every_built_in_has_six_joints_and_its_name() -> None:
    for name in BUILTIN_MOTIONS:
        motion = builtin_motion(name, Random(0))
        assert motion.name == name
        assert motion.n_joints == 6


def test_an_unknown_built_in_names_what_there_is() -> None:
    with pytest.raises(InputError, match="there are reaches, sine, step"):
        builtin_motion("wave", Random(0))
