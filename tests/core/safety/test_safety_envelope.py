"""The envelope: order of the ladder, trips and their names, and how a stream engages."""

import math
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from steadyhand.core.safety.envelope import CannotDo, SafetyEnvelope
from steadyhand.core.safety.ladder import BRAKE_LADDER, COMMAND_LADDER
from steadyhand.core.safety.policy import build_envelope
from steadyhand.core.safety.requirements import ArmFigures
from steadyhand.core.safety.shaper import Proposal, ShaperMisuseError
from steadyhand.core.safety.suite import Command
from steadyhand.core.safety.verdicts import (
    Allowed,
    Guard,
    GuardTripped,
    JumpAbsorbed,
    Refused,
    WallHeld,
)
from steadyhand.ground.config_safety import (
    BoxArea,
    DivergenceGuardConfig,
    EefSpeedConfig,
    JointLimitsConfig,
    JointSpeedConfig,
    SafetyConfig,
    StreamShaperConfig,
    TcpSpeedConfig,
    WorkAreaConfig,
)

MS = 1_000_000
T_NS = 10 * MS
HOME: tuple[float, ...] = (0.0, -90.0, 90.0, -90.0, -90.0, 0.0)
FULL = SafetyConfig(
    stream_shaper=StreamShaperConfig(v_max_deg_s=130.0, a_max_deg_s2=500.0),
    divergence_guard=DivergenceGuardConfig(lag_s=0.080, measured_lag_s=0.078),
    joint_limits=JointLimitsConfig(),
    workarea=WorkAreaConfig(area=BoxArea(lower_m=(-0.5, -0.5, 0.0), upper_m=(0.5, 0.5, 0.8))),
    joint_speed=JointSpeedConfig(max_deg_s=150.0),
    eef_speed=EefSpeedConfig(max_m_s=1.5),
    tcp_speed=TcpSpeedConfig(max_m_s=2.5),
)


def envelope(arm: ArmFigures, config: SafetyConfig = FULL, **changes: Any) -> SafetyEnvelope:
    return build_envelope(msgspec.structs.replace(config, **changes), arm)


def engaged(arm: ArmFigures, config: SafetyConfig = FULL, **changes: Any) -> SafetyEnvelope:
    made = envelope(arm, config, **changes)
    made.observe_state(HOME, 0)
    assert made.engage(0) is None
    return made


class Stream:
    """Drives an envelope tick by tick, the arm 80 ms behind the wire unless told otherwise."""

    def __init__(self, made: SafetyEnvelope) -> None:
        self.envelope = made
        self.sent = [HOME] * 8
        self.tick = 0

    @property
    def now_ns(self) -> int:
        return self.tick * T_NS

    def feed(self, pose: tuple[float, ...] | None = None) -> None:
        self.tick += 1
        self.envelope.observe_state(self.sent[-8] if pose is None else pose, self.now_ns)

    def command(self, target: tuple[float, ...], *, fresh: bool = True) -> Proposal:
        verdict = self.envelope.validate_command(target, self.now_ns, fresh=fresh)
        assert isinstance(verdict, Allowed), verdict
        self.envelope.commit(verdict.proposal, self.now_ns)
        self.sent.append(verdict.proposal.joints_deg)
        return verdict.proposal


def turned(angle_deg: float) -> tuple[float, ...]:
    return (angle_deg, *HOME[1:])


# ---- the ladder


def test_the_ladder_is_joint_limits_work_area_shaper_then_the_arm() -> None:
    assert [rule.__name__ for rule in COMMAND_LADDER] == [
        "refuse_while_tripped",
        "joint_limits",
        "work_area",
        "shape",
        "state_feed",
        "divergence",
    ]
    assert [rule.__name__ for rule in BRAKE_LADDER] == [
        "refuse_while_tripped",
        "brake_to_rest",
        "state_feed",
        "divergence",
    ]
    assert all(rule.__doc__ for rule in (*COMMAND_LADDER, *BRAKE_LADDER))


def test_a_healthy_stream_passes_and_what_is_sent_is_shaped(fr3: ArmFigures) -> None:
    stream = Stream(engaged(fr3))
    for _ in range(60):
        stream.feed()
        proposal = stream.command(turned(20.0))
    assert proposal.joints_deg == pytest.approx(turned(20.0))
    assert not stream.envelope.any_tripped
    assert stream.envelope.at_rest
    assert stream.envelope.hold_target_deg == turned(20.0)


def test_joint_limits_look_at_the_raw_target_and_come_first(fr3: ArmFigures) -> None:
    made = engaged(fr3)
    outside_both = (170.0, 86.0, 0.0, 0.0, 0.0, 0.0)
    verdict = made.validate_command(outside_both, 0)
    assert verdict == Refused(
        guard=Guard.JOINT_LIMITS, reason="j2 asked to 86.00°, limits -265° to 85°", tripped=True
    )
    assert made.tripped == (Guard.JOINT_LIMITS,)


def test_the_work_area_looks_at_the_raw_target_before_the_shaper(fr3: ArmFigures) -> None:
    made = engaged(fr3)
    verdict = made.validate_command((0.0, 0.0, 0.0, 0.0, 0.0, 0.0), 0)
    assert isinstance(verdict, Refused)
    assert (verdict.guard, verdict.tripped) == (Guard.WORKAREA, True)
    made.reset()
    assert made.validate_command(HOME, 0) == Allowed(
        Proposal(joints_deg=HOME, velocities_deg_s=(0.0,) * 6, serial=verdict_serial(made))
    )


def verdict_serial(made: SafetyEnvelope) -> int:
    return made._parts.stream._serial  # type: ignore[union-attr]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_target_that_is_no_number_trips_before_any_arithmetic(fr3: ArmFigures, bad: float) -> None:
    for config in (FULL, msgspec.structs.replace(FULL, joint_limits=None)):
        made = engaged(fr3, config)
        verdict = made.validate_command((bad, *HOME[1:]), 0)
        assert isinstance(verdict, Refused)
        assert (verdict.guard, verdict.tripped) == (Guard.JOINT_LIMITS, True)


def test_a_tripped_envelope_refuses_every_frame_before_the_shaper_is_asked(fr3: ArmFigures) -> None:
    made = engaged(fr3)
    made.validate_command((999.0, *HOME[1:]), 0)
    before = verdict_serial(made)
    again = made.validate_command(HOME, T_NS)
    assert again == Refused(
        guard=Guard.JOINT_LIMITS, reason="j1 asked to 999.00°, limits -175° to 175°", tripped=True
    )
    assert isinstance(made.validate_brake(T_NS), Refused)
    assert verdict_serial(made) == before


def test_hold_frames_are_not_exempt(fr3: ArmFigures) -> None:
    stream = Stream(engaged(fr3))
    stream.feed()
    stream.command(turned(20.0))
    stream.feed(turned(9.0))
    hold = stream.envelope.hold_target_deg
    assert hold is not None
    verdict = stream.envelope.validate_command(hold, stream.now_ns, fresh=False)
    assert isinstance(verdict, Refused)
    assert verdict.guard is Guard.DIVERGENCE


def test_an_arm_that_moves_by_itself_trips_divergence_by_name(fr3: ArmFigures) -> None:
    stream = Stream(engaged(fr3))
    stream.feed(turned(1.5))
    verdict = stream.envelope.validate_command(HOME, stream.now_ns)
    assert isinstance(verdict, Refused)
    assert (verdict.guard, verdict.tripped) == (Guard.DIVERGENCE, True)
    assert verdict.reason.startswith("j1 measured at 1.50°, sent to between 0.00° and 0.00° 80 ms ago")
    (event,) = stream.envelope.take_events()
    assert isinstance(event, GuardTripped)
    assert (event.guard, event.at_ns, event.violation.joint) == (Guard.DIVERGENCE, stream.now_ns, "j1")
    assert stream.envelope.take_events() == ()


def test_a_stale_state_feed_trips_while_streaming(fr3: ArmFigures) -> None:
    stream = Stream(engaged(fr3))
    for now_ms in range(10, 101, 10):
        verdict = stream.envelope.validate_command(HOME, now_ms * MS)
        assert isinstance(verdict, Allowed)
        stream.envelope.commit(verdict.proposal, now_ms * MS)
    verdict = stream.envelope.validate_command(HOME, 110 * MS)
    assert verdict == Refused(
        guard=Guard.STATE_FEED, reason="newest measured frame is 110 ms old, 100 ms allowed", tripped=True
    )


def test_a_broken_state_frame_counts_as_not_arrived(fr3: ArmFigures) -> None:
    made = engaged(fr3)
    assert made.observe_state((*HOME[:5], math.nan), 90 * MS) is False
    assert made.observe_state(HOME[:5], 90 * MS) is False
    assert isinstance(made.validate_command(HOME, 110 * MS), Refused)
    assert made.tripped == (Guard.STATE_FEED,)


@pytest.mark.parametrize("count", [1, 5, 7])
def test_a_state_frame_with_a_wrong_number_of_speeds_counts_as_not_arrived(
    count: int, fr3: ArmFigures
) -> None:
    made = engaged(fr3)
    assert made.observe_state(HOME, 90 * MS, speeds_deg_s=(0.0,) * count) is False
    assert isinstance(made.validate_command(HOME, 110 * MS), Refused)
    assert made.tripped == (Guard.STATE_FEED,)


def test_a_frame_that_was_not_written_is_not_in_force(fr3: ArmFigures) -> None:
    stream = Stream(engaged(fr3))
    for _ in range(30):
        stream.feed()
        stream.envelope.validate_command(turned(30.0), stream.now_ns)
    assert stream.envelope.at_rest
    assert not stream.envelope.any_tripped


# ---- the measured arm


def test_joint_speed_trips_on_the_third_frame_above_in_a_row(fr3: ArmFigures) -> None:
    made = envelope(fr3)
    fast, calm = (0.0, 0.0, 151.0, 0.0, 0.0, 0.0), (0.0,) * 6
    for tick, speeds in enumerate([fast, fast, calm, fast, fast]):
        made.observe_state(HOME, tick * 8 * MS, speeds_deg_s=speeds)
        assert not made.any_tripped
    made.observe_state(HOME, 40 * MS, speeds_deg_s=fast)
    assert made.tripped == (Guard.JOINT_SPEED,)
    (event,) = made.take_events()
    assert isinstance(event, GuardTripped)
    assert event.violation.reason == "j3 measured at 151.0 °/s, 150 allowed"


def test_without_reported_speeds_they_are_taken_from_poses(fr3: ArmFigures) -> None:
    made = envelope(fr3, eef_speed=None)
    for at_ms in range(0, 400, 8):
        made.observe_state(turned(0.196 * at_ms), at_ms * MS)
    assert made.tripped == (Guard.JOINT_SPEED,)


def test_eef_speed_trips_on_the_first_frame_above(fr3: ArmFigures) -> None:
    made = envelope(fr3, joint_speed=None, eef_speed=EefSpeedConfig(max_m_s=0.3))
    for at_ms in range(0, 400, 8):
        made.observe_state(turned(0.1 * at_ms), at_ms * MS)
    assert made.tripped == (Guard.EEF_SPEED,)


def test_a_reset_starts_the_tools_speed_anew(fr3: ArmFigures) -> None:
    made = envelope(fr3, joint_speed=None, eef_speed=EefSpeedConfig(max_m_s=0.3))
    made.observe_state(HOME, 0)
    made.observe_state(turned(20.0), 200 * MS)
    assert made.tripped == (Guard.EEF_SPEED,)
    made.reset()
    made.observe_state(turned(40.0), 400 * MS)
    assert not made.any_tripped


def test_a_slow_tool_between_two_fast_ones_starts_the_count_anew(fr3: ArmFigures) -> None:
    made = envelope(fr3, joint_speed=None, eef_speed=EefSpeedConfig(max_m_s=0.3, trip_count=2))
    tripped = []
    for index, angle in enumerate((0.0, 20.0, 20.0, 40.0, 60.0)):
        made.observe_state(turned(angle), index * 200 * MS)
        tripped.append(made.any_tripped)
    assert tripped == [False, False, False, False, True]


def test_the_observers_watch_whether_or_not_a_stream_is_engaged(fr3: ArmFigures) -> None:
    made = envelope(fr3, joint_speed=JointSpeedConfig(max_deg_s=150.0, trip_count=1))
    made.observe_state(HOME, 0, speeds_deg_s=(0.0, -400.0, 0.0, 0.0, 0.0, 0.0))
    assert made.engage(0) == CannotDo("joint_speed has tripped: j2 measured at 400.0 °/s, 150 allowed")


# ---- trips are told once and cleared only by reset


def test_only_a_reset_clears_and_the_next_stream_may_then_engage(fr3: ArmFigures) -> None:
    made = engaged(fr3)
    made.validate_command((999.0, *HOME[1:]), 0)
    made.disengage()
    assert isinstance(made.engage(0), CannotDo)
    made.reset()
    assert not made.any_tripped
    assert made.tripped == ()
    assert made.engage(0) is None


def test_a_trip_count_above_one_refuses_without_stopping_until_it_is_reached(fr3: ArmFigures) -> None:
    made = engaged(fr3, joint_limits=JointLimitsConfig(trip_count=2))
    first = made.validate_command((999.0, *HOME[1:]), 0)
    assert isinstance(first, Refused)
    assert not first.tripped
    assert not made.any_tripped
    assert made.take_events() == ()
    second = made.validate_command((999.0, *HOME[1:]), T_NS)
    assert isinstance(second, Refused)
    assert second.tripped
    assert made.hold_target_deg == HOME


def test_every_guard_that_trips_is_named_in_the_safety_dict(fr3: ArmFigures) -> None:
    made = envelope(fr3, joint_speed=JointSpeedConfig(max_deg_s=150.0, trip_count=1))
    made.observe_state(HOME, 0, speeds_deg_s=(0.0, -400.0, 0.0, 0.0, 0.0, 0.0))
    tripped = {name for name, entry in made.report().items() if entry["tripped"]}
    assert tripped == {"joint_speed"}
    assert made.report()["joint_speed"]["last_reason"] == "j2 measured at 400.0 °/s, 150 allowed"


# ---- engage


@pytest.mark.parametrize(
    ("pose", "age_ms", "why"),
    [
        (None, 0, "no measured frame yet"),
        (HOME, 101, "at the measured pose: newest measured frame is 101 ms old, 100 ms allowed"),
        ((176.0, *HOME[1:]), 0, "at the measured pose: j1 asked to 176.00°, limits -175° to 175°"),
    ],
)
def test_a_stream_does_not_engage_where_every_frame_would_be_refused(
    fr3: ArmFigures, pose: tuple[float, ...] | None, age_ms: int, why: str
) -> None:
    made = envelope(fr3)
    if pose is not None:
        made.observe_state(pose, 0)
    assert made.engage(age_ms * MS) == CannotDo(why)
    with pytest.raises(ShaperMisuseError, match="not primed"):
        made.validate_command(HOME, age_ms * MS)


def test_outside_the_work_area_only_switching_it_off_lets_a_stream_begin(fr3: ArmFigures) -> None:
    made = envelope(fr3)
    stretched = (0.0,) * 6
    made.observe_state(stretched, 0)
    refused = made.engage(0)
    assert refused is not None
    assert "outside the work area" in refused.reason
    made.set_enabled("workarea", enabled=False, now_ns=0)
    assert made.engage(0) is None


def test_a_pose_outside_the_limits_engages_once_they_are_switched_off(fr3: ArmFigures) -> None:
    made = envelope(fr3, workarea=None)
    made.observe_state((176.0, *HOME[1:]), 0)
    made.set_enabled("joint_limits", enabled=False, now_ns=0)
    assert made.engage(0) is None


def test_the_primed_pose_is_the_hold_target_before_the_first_setpoint(fr3: ArmFigures) -> None:
    made = engaged(fr3)
    assert made.hold_target_deg == HOME
    made.disengage()
    assert made.hold_target_deg is None


def test_a_stream_that_ends_leaves_no_shaper_state(fr3: ArmFigures) -> None:
    stream = Stream(engaged(fr3))
    stream.feed()
    stream.command(turned(20.0))
    stream.envelope.disengage()
    with pytest.raises(ShaperMisuseError):
        stream.envelope.validate_brake(stream.now_ns)


def test_a_soft_stop_is_shaped_and_watched(fr3: ArmFigures) -> None:
    stream = Stream(engaged(fr3))
    for _ in range(20):
        stream.feed()
        stream.command(turned(40.0))
    while not stream.envelope.at_rest:
        stream.feed()
        verdict = stream.envelope.validate_brake(stream.now_ns)
        assert isinstance(verdict, Allowed)
        stream.envelope.commit(verdict.proposal, stream.now_ns)
        stream.sent.append(verdict.proposal.joints_deg)
    stream.feed(turned(-5.0))
    watched = stream.envelope.validate_brake(stream.now_ns)
    assert isinstance(watched, Refused)
    assert watched.guard is Guard.DIVERGENCE


def test_a_ladder_that_shapes_nothing_is_a_mistake_of_ours(fr3: ArmFigures) -> None:
    with pytest.raises(ShaperMisuseError, match="shaped nothing"):
        engaged(fr3)._walk((), Command(HOME, fresh=True, now_ns=0))


# ---- events of the shaper


def test_a_jump_is_an_event_once(fr3: ArmFigures) -> None:
    stream = Stream(engaged(fr3))
    for _ in range(5):
        stream.feed()
        stream.command(turned(25.0))
    (event,) = stream.envelope.take_events()
    assert event == JumpAbsorbed(joint="j1", distance_deg=25.0, at_ns=T_NS)


def test_a_wall_that_slows_the_stream_is_an_event_once_per_episode(fr3: ArmFigures) -> None:
    chain = fr3.chain
    assert chain is not None
    wall_y_m = chain.tool_position_m(turned(-40.0))[1] + 0.02
    area = BoxArea(lower_m=(-0.6, -0.6, 0.0), upper_m=(0.6, wall_y_m, 0.8))
    follow = StreamShaperConfig(v_max_deg_s=130.0, a_max_deg_s2=500.0, mode="feed_forward")
    stream = Stream(engaged(fr3, stream_shaper=follow, workarea=WorkAreaConfig(area=area)))
    angle = speed = 0.0
    held = [False]
    for tick in range(90):  # toward the wall up to 100 °/s, then frozen right before it
        speed = min(100.0, speed + 4.0) if tick >= 12 else 0.0
        angle = max(-40.0, angle - speed * 0.01)
        stream.feed()
        held.append(stream.command(turned(angle)).walled)
    episodes = sum(1 for before, now in pairwise(held) if now and not before)
    walls = [event for event in stream.envelope.take_events() if isinstance(event, WallHeld)]
    assert len(walls) == episodes >= 1
