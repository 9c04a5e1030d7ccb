"""Rules of latch, guards and envelope that a mutation run showed nothing held; each kills a mutant."""

from collections.abc import Sequence

import msgspec
import pytest

from steadyhand.core.safety import ladder
from steadyhand.core.safety.envelope import SafetyEnvelope
from steadyhand.core.safety.guards import JointLimitsGuard, WorkAreaGuard
from steadyhand.core.safety.latch import EngageMachine
from steadyhand.core.safety.policy import build_envelope
from steadyhand.core.safety.requirements import ArmFigures
from steadyhand.core.safety.shaper import Proposal, ShaperMisuseError
from steadyhand.core.safety.suite import Command, GuardSuite
from steadyhand.core.safety.verdicts import Allowed, Guard, GuardTripped, Refused, Violation, WallHeld
from steadyhand.core.safety.workarea import WorkArea
from steadyhand.ground.config_safety import (
    BoxArea,
    DivergenceGuardConfig,
    EefSpeedConfig,
    JointLimitsConfig,
    JointSpeedConfig,
    SafetyConfig,
    StreamShaperConfig,
    WorkAreaConfig,
)

MS = 1_000_000
T_NS = 10 * MS
HOME: tuple[float, ...] = (0.0, -90.0, 90.0, -90.0, -90.0, 0.0)
STRETCHED: tuple[float, ...] = (0.0,) * 6
FULL = SafetyConfig(
    stream_shaper=StreamShaperConfig(v_max_deg_s=130.0, a_max_deg_s2=500.0),
    divergence_guard=DivergenceGuardConfig(lag_s=0.080, measured_lag_s=0.078),
    joint_limits=JointLimitsConfig(),
    workarea=WorkAreaConfig(area=BoxArea(lower_m=(-0.5, -0.5, 0.0), upper_m=(0.5, 0.5, 0.8))),
    joint_speed=JointSpeedConfig(max_deg_s=150.0, trip_count=1),
    eef_speed=EefSpeedConfig(max_m_s=1.5),
)


def envelope(arm: ArmFigures, config: SafetyConfig = FULL) -> SafetyEnvelope:
    made = build_envelope(config, arm)
    made.observe_state(HOME, 0)
    return made


def engaged(arm: ArmFigures, config: SafetyConfig = FULL) -> SafetyEnvelope:
    made = envelope(arm, config)
    assert made.engage(0) is None
    return made


def turned(angle_deg: float) -> tuple[float, ...]:
    return (angle_deg, *HOME[1:])


# ---- the engage machine


def test_a_new_machine_says_that_no_frame_was_seen() -> None:
    assert EngageMachine().first_frame_seen is False


# ---- trips carry the moment they happened


@pytest.mark.parametrize(
    ("target", "now_ns", "guard"),
    [
        ((999.0, *HOME[1:]), 7 * MS, Guard.JOINT_LIMITS),
        (STRETCHED, 7 * MS, Guard.WORKAREA),
        (HOME, 101 * MS, Guard.STATE_FEED),
    ],
)
def test_a_trip_is_told_with_the_moment_of_the_command(
    fr3: ArmFigures, target: tuple[float, ...], now_ns: int, guard: Guard
) -> None:
    made = engaged(fr3)
    assert isinstance(made.validate_command(target, now_ns), Refused)
    (event,) = made.take_events()
    assert isinstance(event, GuardTripped)
    assert (event.guard, event.at_ns) == (guard, now_ns)


def test_the_first_wall_of_a_stream_is_told_with_its_moment(fr3: ArmFigures) -> None:
    suite = suite_with(fr3, Recorder())
    suite.parts = msgspec.structs.replace(suite.parts, stream=AtAWall())
    for now_ns in (7, 8):
        assert ladder.shape(suite, Command(HOME, fresh=True, now_ns=now_ns)) is None
    assert suite.events == [WallHeld(at_ns=7)]


class AtAWall:
    """A stream that a wall holds on every tick; keeps which were fresh."""

    def __init__(self) -> None:
        self.fresh: list[bool] = []

    def propose(self, target_deg: Sequence[float], *, fresh: bool) -> Proposal:
        self.fresh.append(fresh)
        return Proposal(joints_deg=tuple(target_deg), velocities_deg_s=(0.0,) * 6, walled=True)


@pytest.mark.parametrize(
    ("options", "fresh"), [({}, True), ({"fresh": True}, True), ({"fresh": False}, False)]
)
def test_a_command_is_fresh_to_the_shaper_unless_it_is_called_a_hold(
    fr3: ArmFigures, options: dict[str, bool], fresh: bool
) -> None:
    made, stream = engaged(fr3), AtAWall()
    made._suite.parts = msgspec.structs.replace(made._suite.parts, stream=stream)
    assert isinstance(made.validate_command(HOME, 0, **options), Allowed)
    assert stream.fresh == [fresh]


def test_a_wall_of_the_next_stream_is_told_again(fr3: ArmFigures) -> None:
    made = engaged(fr3)
    made._suite.parts = msgspec.structs.replace(made._suite.parts, stream=AtAWall())
    for at_ns in (1, 3):
        made.validate_command(HOME, at_ns)
        made.disengage()
    assert made.take_events() == (WallHeld(at_ns=1), WallHeld(at_ns=3))


@pytest.mark.parametrize("guard", [Guard.JOINT_SPEED, Guard.EEF_SPEED])
def test_a_trip_of_the_measured_arm_is_told_with_the_frames_arrival(fr3: ArmFigures, guard: Guard) -> None:
    made = envelope(fr3, msgspec.structs.replace(FULL, **{_OTHER_SPEED[guard]: None}))
    arrivals_ns = [at_ms * MS for at_ms in range(8, 400, 8)]
    while not made.any_tripped:
        arrival_ns = arrivals_ns.pop(0)
        made.observe_state(turned(0.4e-6 * arrival_ns), arrival_ns)
    (event,) = made.take_events()
    assert isinstance(event, GuardTripped)
    assert (event.guard, event.at_ns) == (guard, arrival_ns)


_OTHER_SPEED = {Guard.JOINT_SPEED: "eef_speed", Guard.EEF_SPEED: "joint_speed"}


def test_a_frame_of_the_feed_that_is_one_is_told_so(fr3: ArmFigures) -> None:
    assert envelope(fr3).observe_state(HOME, 8 * MS) is True


def test_before_a_stream_there_is_nothing_to_hold(fr3: ArmFigures) -> None:
    assert envelope(fr3).hold_target_deg is None


def test_a_ladder_that_shapes_nothing_says_just_that(fr3: ArmFigures) -> None:
    with pytest.raises(ShaperMisuseError, match=r"^the ladder shaped nothing$"):
        engaged(fr3)._walk((), Command(HOME, fresh=True, now_ns=0))


# ---- what the divergence guard is asked


class Recorder:
    """A divergence guard that only keeps what it was asked."""

    def __init__(self) -> None:
        self.ages_ns: list[int] = []

    def restart(self, measured_deg: Sequence[float], now_ns: int) -> None: ...

    def note_sent(self, joints_deg: tuple[float, ...], now_ns: int) -> None: ...

    def judge(
        self, proposal: Proposal, measured_deg: Sequence[float], *, age_ns: int, now_ns: int
    ) -> Violation | None:
        self.ages_ns.append(age_ns)
        return None


def suite_with(arm: ArmFigures, guard: Recorder) -> GuardSuite:
    return GuardSuite(msgspec.structs.replace(envelope(arm)._parts, divergence=guard))


def test_divergence_is_told_how_old_the_pose_is_and_never_less_than_nothing(fr3: ArmFigures) -> None:
    asked = Recorder()
    suite = suite_with(fr3, asked)
    suite.measured_deg, suite.measured_ns = HOME, 50 * MS
    for now_ms in (50, 80, 45):
        command = Command(HOME, fresh=True, now_ns=now_ms * MS)
        command.proposal = Proposal(joints_deg=HOME, velocities_deg_s=(0.0,) * 6)
        ladder.divergence(suite, command)
    assert asked.ages_ns == [0, 30 * MS, 0]


def test_divergence_judges_only_a_shaped_frame_and_a_measured_arm(fr3: ArmFigures) -> None:
    asked = Recorder()
    suite = suite_with(fr3, asked)
    shaped = Command(HOME, fresh=True, now_ns=0)
    shaped.proposal = Proposal(joints_deg=HOME, velocities_deg_s=(0.0,) * 6)
    assert ladder.divergence(suite, shaped) is None
    suite.measured_deg = HOME
    assert ladder.divergence(suite, Command(HOME, fresh=True, now_ns=0)) is None
    assert asked.ages_ns == []


# ---- the measured tool


@pytest.mark.parametrize(("most_m_s", "computed"), [(1.5, 0), (0.1, 60)])
@pytest.mark.parametrize("workarea", [FULL.workarea, None])
def test_a_tool_that_is_surely_slow_is_not_computed_with_or_without_a_work_area(
    fr3: ArmFigures, workarea: WorkAreaConfig | None, most_m_s: float, computed: int
) -> None:
    asked: list[Sequence[float]] = []

    def tool(joints_deg: Sequence[float]) -> tuple[float, float, float]:
        asked.append(joints_deg)
        return (0.0, 0.0, 0.0)

    parts = envelope(fr3, msgspec.structs.replace(FULL, workarea=workarea))._parts
    watched = GuardSuite(msgspec.structs.replace(parts, tool_position=tool)).tool_velocity
    assert watched is not None
    for index in range(60):
        watched.observe(turned(0.1 * index), 8 * MS * index, unless_below_m_s=most_m_s)
    assert len(asked) == computed


def test_an_arm_without_kinematics_has_no_tool_to_watch_and_can_be_reset(fr3: ArmFigures) -> None:
    bare = msgspec.structs.replace(fr3, chain=None)
    made = engaged(bare, msgspec.structs.replace(FULL, workarea=None, eef_speed=None))
    made.observe_state(HOME, 8 * MS, speeds_deg_s=(400.0,) * 6)
    assert made.tripped == (Guard.JOINT_SPEED,)
    made.reset()
    assert not made.any_tripped


# ---- the single guards


def test_the_angle_outside_is_the_figure_of_its_violation() -> None:
    found = JointLimitsGuard([(-10.0, 20.0)], ["j1"]).check((20.1,))
    assert found is not None
    assert found.measured == 20.1


class Roomy(WorkArea):
    """A work area that surely has half a metre, and is not to be asked for more."""

    def surely_has(self, clearance_m: float, joints_deg: Sequence[float]) -> bool:
        return clearance_m <= 0.5

    def clearance_m(self, joints_deg: Sequence[float]) -> float:
        raise AssertionError("kinematics asked for")


def test_no_kinematics_where_the_tool_is_surely_inside() -> None:
    area = Roomy(lambda point: 0.5, lambda joints: (0.0, 0.0, 0.0), reach_m=(1.0,))
    assert WorkAreaGuard(area).check((0.0,)) is None


# ---- switched off and on again


@pytest.mark.parametrize(
    ("target", "guard"), [((999.0, *HOME[1:]), Guard.JOINT_LIMITS), (STRETCHED, Guard.WORKAREA)]
)
def test_a_guard_of_the_target_that_is_switched_on_again_judges_again(
    fr3: ArmFigures, target: tuple[float, ...], guard: Guard
) -> None:
    made = engaged(fr3)
    made.set_enabled(guard, enabled=False, now_ns=0)
    assert isinstance(made.validate_command(target, 0), Allowed)
    made.set_enabled(guard, enabled=True, now_ns=0)
    refused = made.validate_command(target, 0)
    assert isinstance(refused, Refused)
    assert refused.guard is guard


@pytest.mark.parametrize("guard", [Guard.JOINT_SPEED, Guard.EEF_SPEED])
def test_a_guard_of_the_measured_arm_that_is_switched_on_again_judges_again(
    fr3: ArmFigures, guard: Guard
) -> None:
    made = envelope(fr3)
    for other in (Guard.JOINT_SPEED, Guard.EEF_SPEED):
        made.set_enabled(other, enabled=False, now_ns=0)
    made.set_enabled(guard, enabled=True, now_ns=0)
    for at_ms in range(8, 400, 8):
        made.observe_state(turned(0.4 * at_ms), at_ms * MS)
    assert made.tripped == (guard,)


def test_whether_a_guard_has_tripped_is_told_as_true_or_false(fr3: ArmFigures) -> None:
    made = envelope(fr3)
    told = [made.any_tripped]
    made.observe_state(HOME, 8 * MS, speeds_deg_s=(400.0,) * 6)
    told.append(made.any_tripped)
    made.reset()
    assert [*told, made.any_tripped] == [False, True, False]
    assert all(type(answer) is bool for answer in [*told, made.any_tripped])
