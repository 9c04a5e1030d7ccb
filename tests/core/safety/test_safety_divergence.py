"""The divergence guard in both forms: floors, healthy arms, every fault, and its words (R9)."""

import math
from collections.abc import Sequence
from random import Random
from typing import Literal

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.guard_campaign import FEEDS, detection_ms, guard_of, trips
from bench.guard_campaign import figures_of as campaign_figures
from bench.guard_plant import FAULTS, MS, RECORDED, Arm, motions, shaped, watch
from steadyhand.core.safety.divergence import (
    DivergenceGuard,
    MarginGuard,
    StreamFigures,
    WindowGuard,
    divergence_guard,
    lag_floor_s,
    margin_floor_deg,
    window_slack_floor_ms,
)
from steadyhand.core.safety.shaper import Proposal
from steadyhand.core.safety.verdicts import Violation
from steadyhand.ground.config_safety import DivergenceGuardConfig
from steadyhand.ground.errors import ConfigError

T_NS = 10 * MS
FR3 = StreamFigures(
    v_max_deg_s=130.0,
    a_max_deg_s2=500.0,
    period_ns=T_NS,
    joint_names=("j1", "j2"),
    max_age_ns=100 * MS,
)


def guard(form: Literal["window", "margin"], **changes: float | None) -> DivergenceGuard:
    config = DivergenceGuardConfig(lag_s=0.080, form=form, measured_lag_s=0.078)
    return divergence_guard(msgspec.structs.replace(config, **changes), FR3)


def frame(joints_deg: Sequence[float], speeds_deg_s: Sequence[float] = (0.0, 0.0)) -> Proposal:
    return Proposal(joints_deg=tuple(joints_deg), velocities_deg_s=tuple(speeds_deg_s))


def judge(
    watching: DivergenceGuard,
    sent: Proposal,
    measured_deg: Sequence[float],
    *,
    now_ms: int = 0,
    age_ms: int = 0,
) -> Violation | None:
    return watching.judge(sent, measured_deg, age_ns=age_ms * MS, now_ns=now_ms * MS)


# ---- floors, at construction


@pytest.mark.parametrize(
    ("measured_s", "floor_s"),
    [(0.039, 0.040), (0.040, 0.040), (0.0401, 0.045), (0.078, 0.080), (0.111, 0.115), (None, 0.0)],
)
def test_the_lag_floor_is_the_measured_lag_rounded_up(measured_s: float | None, floor_s: float) -> None:
    config = DivergenceGuardConfig(lag_s=1.0, measured_lag_s=measured_s)
    assert lag_floor_s(config) == pytest.approx(floor_s)


@pytest.mark.parametrize("form", ["window", "margin"])
def test_a_lag_under_its_floor_is_refused_naming_floor_and_value(form: Literal["window", "margin"]) -> None:
    with pytest.raises(ConfigError) as refused:
        guard(form, lag_s=0.079)
    assert str(refused.value) == (
        "safety.divergence_guard.lag_s: 0.079 is under its floor: the measured lag 0.078 s rounded up "
        "(0.08 would do)"
    )
    guard(form, lag_s=0.080)


@pytest.mark.parametrize(
    ("lag_s", "a_max", "v_max", "floor_deg"),
    [(0.039, 500.0, 130.0, 0.900), (0.078, 500.0, 130.0, 2.041), (0.111, 500.0, 120.0, 3.560)],
)
def test_the_margin_floor_is_the_braking_transient_plus_the_feeds_jitter(
    lag_s: float, a_max: float, v_max: float, floor_deg: float
) -> None:
    figures = msgspec.structs.replace(FR3, a_max_deg_s2=a_max, v_max_deg_s=v_max)
    config = DivergenceGuardConfig(lag_s=lag_s + 0.003, measured_lag_s=lag_s)
    assert margin_floor_deg(config, figures) == pytest.approx(floor_deg, abs=1e-3)
    unmeasured = DivergenceGuardConfig(lag_s=lag_s)
    assert margin_floor_deg(unmeasured, figures) == pytest.approx(floor_deg, abs=1e-3)


def test_a_margin_under_its_floor_is_refused_naming_floor_and_value() -> None:
    with pytest.raises(ConfigError) as refused:
        guard("margin", margin_deg=2.0)
    assert str(refused.value) == (
        "safety.divergence_guard.margin_deg: 2 is under its floor of 2.04°: a_max·L²/2 plus feed "
        "jitter·v_max/2 (2.1 would do)"
    )
    guard("margin", margin_deg=2.1)
    guard("window", margin_deg=2.0)


@pytest.mark.parametrize(
    ("lag_s", "margin_deg", "v_max"), [(0.040, 3.0, 130.0), (0.080, 3.0, 130.0), (0.115, 4.0, 120.0)]
)
def test_every_preset_of_r18_is_above_its_floors(lag_s: float, margin_deg: float, v_max: float) -> None:
    figures = msgspec.structs.replace(FR3, v_max_deg_s=v_max)
    forms: tuple[Literal["window", "margin"], ...] = ("window", "margin")
    for form in forms:
        config = DivergenceGuardConfig(lag_s=lag_s, margin_deg=margin_deg, form=form)
        divergence_guard(config, figures)


@pytest.mark.parametrize(
    ("period_ms", "jitter_ms", "floor_ms"),
    [(1, 8.0, 15.0), (10, 8.0, 15.0), (20, 8.0, 30.0), (10, 22.0, 22.0)],
)
def test_the_window_slack_floor_is_15_ms_or_what_the_stream_needs(
    period_ms: int, jitter_ms: float, floor_ms: float
) -> None:
    figures = msgspec.structs.replace(FR3, period_ns=period_ms * MS)
    config = DivergenceGuardConfig(lag_s=0.08, feed_jitter_ms=jitter_ms)
    assert window_slack_floor_ms(config, figures) == floor_ms


def test_a_window_slack_under_its_floor_is_refused_naming_floor_and_value() -> None:
    with pytest.raises(ConfigError) as refused:
        guard("window", window_slack_ms=14.9)
    assert "14.9 is under its floor" in str(refused.value)
    assert "(15 would do)" in str(refused.value)
    guard("margin", window_slack_ms=14.9)


def test_a_lag_that_puts_the_window_behind_the_arm_is_refused() -> None:
    with pytest.raises(ConfigError) as refused:
        guard("window", lag_s=0.0881)
    assert "behind an arm that lags 0.078 s" in str(refused.value)
    assert "(0.08 would do)" in str(refused.value)
    guard("window", lag_s=0.088)
    guard("margin", lag_s=0.0881)
    guard("window", lag_s=0.0881, measured_lag_s=None)


def test_the_form_is_the_one_configured() -> None:
    assert isinstance(guard("margin"), MarginGuard)
    assert isinstance(guard("window"), WindowGuard)
    assert DivergenceGuardConfig(lag_s=0.08).form == "window"


# ---- the margin form


def test_at_rest_the_allowance_is_the_bare_margin() -> None:
    watching = guard("margin")
    watching.restart((0.0, 0.0), 0)
    watching.note_sent((0.0, 0.0), 0)
    assert judge(watching, frame((0.0, 0.0)), (3.0, -3.0)) is None
    assert judge(watching, frame((0.0, 0.0)), (0.0, 3.001)) is not None


@pytest.mark.parametrize("speed", [100.0, -100.0])
def test_the_allowance_grows_by_the_healthy_lag(speed: float) -> None:
    watching = guard("margin")
    for gap_deg, trips_it in ((10.999, False), (11.001, True)):
        found = judge(watching, frame((gap_deg, 0.0), (speed, 0.0)), (0.0, 0.0))
        assert (found is not None) is trips_it


def test_the_margin_reason_has_joint_both_poses_speed_and_allowance() -> None:
    found = judge(guard("margin"), frame((0.0, 41.25), (0.0, -50.0)), (0.0, 30.0))
    assert found == Violation(
        reason="j2 measured at 30.00°, sent to 41.25°: 11.25° apart, 7.00° allowed at 50.0 °/s",
        joint="j2",
        measured=11.25,
        allowed=7.0,
        unit="deg",
    )


# ---- the window form


def sent_ramp(watching: DivergenceGuard, *, until_ms: int, speed_deg_s: float = 100.0) -> None:
    """Prime at 0 and send a ramp on joint 1 every 10 ms; joint 2 stands at 5°."""
    watching.restart((0.0, 5.0), 0)
    for at_ms in range(10, until_ms + 1, 10):
        watching.note_sent((speed_deg_s * at_ms / 1000.0, 5.0), at_ms * MS)


def test_the_window_holds_what_was_in_force_between_its_two_ends() -> None:
    watching = guard("window")
    sent_ramp(watching, until_ms=500)
    # [500 − 80 − 15, 500 − 80 + 15] = [405, 435]: 40° (in force at 405) to 43°, and a degree.
    for measured_deg, trips_it in ((39.0, False), (38.99, True), (44.0, False), (44.01, True)):
        found = judge(watching, frame((51.0, 5.0)), (measured_deg, 5.0), now_ms=500)
        assert (found is not None) is trips_it


def test_a_frame_sent_exactly_at_an_end_of_the_window_counts() -> None:
    watching = guard("window")
    sent_ramp(watching, until_ms=500)
    # [400, 430]
    for measured_deg, trips_it in ((39.0, False), (38.99, True), (44.0, False), (44.01, True)):
        found = judge(watching, frame((51.0, 5.0)), (measured_deg, 5.0), now_ms=495)
        assert (found is not None) is trips_it


def test_a_turn_inside_the_window_counts_though_neither_end_reached_it() -> None:
    watching = guard("window")
    watching.restart((0.0, 5.0), 0)
    for at_ms, angle in ((400, 40.0), (410, 44.0), (420, 36.0), (430, 40.0)):
        watching.note_sent((angle, 5.0), at_ms * MS)
    for measured_deg, trips_it in ((45.0, False), (45.01, True), (35.0, False), (34.99, True)):
        found = judge(watching, frame((40.0, 5.0)), (measured_deg, 5.0), now_ms=500)
        assert (found is not None) is trips_it


def test_the_age_of_the_newest_frame_widens_the_window_backwards() -> None:
    watching = guard("window")
    sent_ramp(watching, until_ms=500)
    assert judge(watching, frame((51.0, 5.0)), (34.0, 5.0), now_ms=500, age_ms=50) is None
    assert judge(watching, frame((51.0, 5.0)), (33.9, 5.0), now_ms=500, age_ms=50) is not None
    assert judge(watching, frame((51.0, 5.0)), (44.01, 5.0), now_ms=500, age_ms=50) is not None


def test_before_the_first_frame_reaches_the_arm_it_stands_at_the_primed_pose() -> None:
    watching = guard("window")
    watching.restart((0.0, 5.0), 1000 * MS)
    for now_ms in range(1000, 1060, 10):
        assert judge(watching, frame((9.0, 5.0)), (0.9, 4.1), now_ms=now_ms) is None
        assert judge(watching, frame((9.0, 5.0)), (1.1, 5.0), now_ms=now_ms) is not None
        watching.note_sent((float(now_ms - 1000), 5.0), now_ms * MS)


def test_a_new_stream_forgets_the_old_ones_frames() -> None:
    watching = guard("window")
    sent_ramp(watching, until_ms=500)
    watching.restart((20.0, 5.0), 600 * MS)
    assert judge(watching, frame((20.0, 5.0)), (20.0, 5.0), now_ms=600) is None
    assert judge(watching, frame((20.0, 5.0)), (45.0, 5.0), now_ms=600) is not None


def test_a_stream_that_stops_sending_still_has_its_last_frame_in_force() -> None:
    watching = guard("window")
    sent_ramp(watching, until_ms=500)
    assert judge(watching, frame((50.0, 5.0)), (50.0, 5.0), now_ms=9000) is None
    assert judge(watching, frame((50.0, 5.0)), (48.9, 5.0), now_ms=9000) is not None


def test_the_oldest_age_that_is_judged_is_still_remembered() -> None:
    watching = guard("window")
    sent_ramp(watching, until_ms=1000)
    # [1000 − 80 − 15 − 100, …] = 805: the frame of 800 ms is in force.
    assert judge(watching, frame((100.0, 5.0)), (79.0, 5.0), now_ms=1000, age_ms=100) is None
    assert judge(watching, frame((100.0, 5.0)), (78.9, 5.0), now_ms=1000, age_ms=100) is not None


def test_the_window_does_not_grow_with_the_stream() -> None:
    watching = guard("window")
    sent_ramp(watching, until_ms=60_000)
    assert isinstance(watching, WindowGuard)
    # 195 ms at 10 ms a frame, and the one in force at the horizon.
    assert len(watching._sent) == 21


class WholeWindow(WindowGuard):
    """Never settled by one frame."""

    def _stands_where_expected(self, measured_deg: Sequence[float], start_ns: int, end_ns: int) -> bool:
        return False


class OneLook(WindowGuard):
    """Not to be asked for the whole window."""

    def _in_force(self, start_ns: int, end_ns: int) -> list[tuple[float, ...]]:
        raise AssertionError("looked at the whole window")


WINDOW = DivergenceGuardConfig(lag_s=0.080, measured_lag_s=0.078)


@given(seed=st.integers(0, 100_000))
@settings(max_examples=60, deadline=None)
def test_one_look_answers_as_the_whole_window_does(seed: int) -> None:
    """Ticks that come early, late or not at all, ages up to the bound, arms at and beyond the margin."""
    dice = Random(seed)
    quick, whole = WindowGuard(WINDOW, FR3), WholeWindow(WINDOW, FR3)
    pose, speeds = (0.0, 0.0), [0.0, 0.0]
    sent = [pose] * 12
    for one in (quick, whole):
        one.restart(pose, 0)
    settled = 0
    for tick in range(1, 120):
        now_ns = tick * T_NS + round(8 * MS * (dice.random() - 0.5))
        if dice.random() < 0.1:
            speeds = [260.0 * (dice.random() - 0.5) for _ in speeds]
        lag = 8 + round(3.0 * (dice.random() - 0.5))
        offset_deg = 2.4 * (dice.random() - 0.5) * (dice.random() < 0.5)
        measured = (sent[-lag][0] + offset_deg, sent[-lag][1])
        age_ns = round(100 * MS * dice.random() * (dice.random() < 0.3))
        asked = (frame(pose, speeds), measured)
        found = whole.judge(*asked, age_ns=age_ns, now_ns=now_ns)
        assert quick.judge(*asked, age_ns=age_ns, now_ns=now_ns) == found
        start_ns, end_ns = now_ns - 100 * MS - age_ns, now_ns - 60 * MS
        settled += quick._stands_where_expected(measured, start_ns, end_ns)
        pose = (pose[0] + 0.01 * speeds[0], pose[1] + 0.01 * speeds[1])
        sent.append(pose)
        if dice.random() < 0.95:
            for one in (quick, whole):
                one.note_sent(pose, now_ns)
    assert settled > 20


def test_a_healthy_arm_is_settled_by_one_look() -> None:
    watching = OneLook(WINDOW, FR3)
    watching.restart((0.0, 0.0), 0)
    for tick in range(1, 100):
        watching.note_sent((1.2 * tick, -0.9 * tick), tick * T_NS)
        if tick >= 8:
            measured = (1.2 * (tick - 7) + 0.6, -0.9 * (tick - 7) - 0.6)
            now_ns = (tick + 1) * T_NS
            assert watching.judge(frame(measured), measured, age_ns=5 * MS, now_ns=now_ns) is None


def test_a_wider_margin_is_settled_by_one_look_too() -> None:
    watching = OneLook(msgspec.structs.replace(WINDOW, window_margin_deg=2.0), FR3)
    watching.restart((0.0, 0.0), 0)
    for tick in range(1, 20):
        watching.note_sent((0.0, 0.0), tick * T_NS)
    assert watching.judge(frame((0.0, 0.0)), (1.9, 0.0), age_ns=0, now_ns=20 * T_NS) is None


def test_a_single_joint_within_the_margin_but_for_its_last_digits_is_looked_at_in_full() -> None:
    watching = OneLook(WINDOW, FR3)
    watching.restart((0.0, 0.0), 0)
    for tick in range(1, 20):
        watching.note_sent((0.0, 0.0), tick * T_NS)
    assert watching.judge(frame((0.0, 0.0)), (0.999, 0.0), age_ns=0, now_ns=20 * T_NS) is None
    with pytest.raises(AssertionError, match="whole window"):
        watching.judge(frame((0.0, 0.0)), (0.9995, 0.0), age_ns=0, now_ns=20 * T_NS)


def test_a_frame_outside_the_window_settles_nothing() -> None:
    """After a pause the frame that is usually the arm's place lies before or behind the window."""
    for late_ns in (-30 * MS, 80 * MS):
        watching = OneLook(WINDOW, FR3)
        watching.restart((0.0, 0.0), 0)
        for tick in range(1, 20):
            watching.note_sent((0.0, 0.0), tick * T_NS)
        with pytest.raises(AssertionError, match="whole window"):
            watching.judge(frame((0.0, 0.0)), (0.0, 0.0), age_ns=0, now_ns=20 * T_NS + late_ns)


def test_the_window_reason_has_joint_both_poses_speed_and_allowance() -> None:
    watching = guard("window")
    sent_ramp(watching, until_ms=500)
    found = judge(watching, frame((51.0, 5.0), (100.0, 0.0)), (50.0, 5.0), now_ms=500)
    assert found == Violation(
        reason=(
            "j1 measured at 50.00°, sent to between 40.00° and 43.00° 80 ms ago: 7.00° outside, "
            "1.00° allowed at 100.0 °/s"
        ),
        joint="j1",
        measured=7.0,
        allowed=1.0,
        unit="deg",
    )
    below = judge(watching, frame((51.0, 5.0)), (43.0, 2.5), now_ms=500)
    assert below is not None
    assert (below.joint, below.measured) == ("j2", 2.5)


@pytest.mark.parametrize("form", ["window", "margin"])
def test_a_pose_that_is_no_number_trips(form: Literal["window", "margin"]) -> None:
    watching = guard(form)
    watching.restart((0.0, 0.0), 0)
    assert judge(watching, frame((0.0, 0.0)), (math.nan, 0.0)) is not None


# ---- the campaign, in small


@pytest.mark.parametrize("lag_ms", [39, 78, 111])
@pytest.mark.parametrize("name", ["reaches", "sine", "jumps", "hard_stops", *RECORDED])
def test_the_window_never_trips_on_a_healthy_arm(name: str, lag_ms: int) -> None:
    if name not in motions():
        pytest.skip("the recorded motions are not beside this checkout")
    for a_max, under in ((500.0, "±8 ms and a stall"), (2000.0, "jitter ±8 ms")):
        jitter_ms, stalls = FEEDS[under]
        frames = shaped(name, "feed_forward", a_max)[:1000]
        seen = watch(Arm(frames, lag_ms), jitter_ms=jitter_ms, stalls=stalls, seed="tests")
        watching = guard_of("window", lag_ms, campaign_figures(a_max, 130.0))
        assert next(trips(watching, frames, seen), None) is None


@pytest.mark.parametrize("lag_ms", [39, 78, 111])
@pytest.mark.parametrize(
    ("fault", "gap_deg_s"),
    [
        ("runs ahead at speed", 76.0),
        ("runs back at speed", 316.0),
        ("freezes at speed", 120.0),
        ("runs away at rest", 196.0),
        ("creeps at rest, 20 °/s", 20.0),
    ],
)
def test_a_fault_is_noticed_as_fast_as_promised(fault: str, gap_deg_s: float, lag_ms: int) -> None:
    """What the window allows, margin + |v|·(J + T + lag_s − L), over the speed apart; then a feed
    period with its jitter, and one tick. At rest that is R9's margin / speed, period and tick.
    """
    assert fault in FAULTS
    commanded_deg_s = 0.0 if "rest" in fault else 120.0
    promised_ms = 1000.0 * (1.0 + 0.030 * commanded_deg_s) / gap_deg_s + 8.0 + 8.0 + 10.0
    assert max(detection_ms("window", lag_ms, fault, None)) <= promised_ms


def test_the_margin_form_lets_an_arm_run_ahead_for_long_as_r9_says() -> None:
    slow, quick = (detection_ms(form, 78, "runs ahead at speed", None) for form in ("margin", "window"))
    assert min(slow) > 200.0
    assert max(quick) < 60.0
