"""What does not construct, and what it says instead."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
import yaml

from steadyhand.core.safety.envelope import SafetyEnvelope
from steadyhand.core.safety.policy import build_envelope, edited, reach_m
from steadyhand.core.safety.requirements import CHECKS, WOULD_DO, ArmFigures
from steadyhand.core.safety.shaper import StreamShaper
from steadyhand.core.safety.verdicts import RETIRED_NAMES, Allowed
from steadyhand.ground.config_safety import (
    BoxArea,
    DivergenceGuardConfig,
    EefSpeedConfig,
    JointLimitsConfig,
    JointSpeedConfig,
    SafetyConfig,
    SafetyKey,
    SafetyPolicy,
    StateFeedConfig,
    StreamShaperConfig,
    StrictRequirement,
    TcpSpeedConfig,
    WorkAreaConfig,
)
from steadyhand.ground.errors import ConfigError
from steadyhand.ground.kinematics import Chain, DhRow

MS = 1_000_000
POLICY_FILE = Path(__file__).resolve().parents[3] / "config" / "safety_policy.yaml"
R18 = {
    "sim": (130.0, 500.0, 0.040, 3.0, 150.0),
    "fr3": (130.0, 500.0, 0.080, 3.0, 150.0),
    "fr20": (120.0, 500.0, 0.115, 4.0, 140.0),
}
AREA = WorkAreaConfig(area=BoxArea(lower_m=(-0.6, -0.6, 0.0), upper_m=(0.6, 0.6, 0.8)))


def shipped_policy() -> SafetyPolicy:
    return msgspec.convert(yaml.safe_load(POLICY_FILE.read_text(encoding="utf-8")), SafetyPolicy)


def config(**changes: Any) -> SafetyConfig:
    whole = SafetyConfig(
        stream_shaper=StreamShaperConfig(v_max_deg_s=130.0, a_max_deg_s2=500.0),
        divergence_guard=DivergenceGuardConfig(lag_s=0.080),
        joint_speed=JointSpeedConfig(max_deg_s=150.0),
    )
    return msgspec.structs.replace(whole, **changes)


def fairino(arm: ArmFigures, **changes: Any) -> ArmFigures:
    return msgspec.structs.replace(arm, robot_type="fairino", **changes)


def refusal(given: SafetyConfig, arm: ArmFigures, policy: SafetyPolicy | None = None) -> str:
    with pytest.raises(ConfigError) as refused:
        build_envelope(given, arm, policy or shipped_policy())
    return str(refused.value)


@pytest.mark.parametrize("name", R18)
@pytest.mark.parametrize("form", ["window", "margin"])
def test_every_preset_of_r18_constructs(name: str, form: str, fr3: ArmFigures) -> None:
    v_max, a_max, lag_s, margin_deg, ceiling = R18[name]
    guard = {"lag_s": lag_s, "margin_deg": margin_deg, "form": form}
    given = config(
        stream_shaper=StreamShaperConfig(v_max_deg_s=v_max, a_max_deg_s2=a_max),
        divergence_guard=msgspec.convert(guard, DivergenceGuardConfig),
        joint_speed=JointSpeedConfig(max_deg_s=ceiling),
    )
    assert not build_envelope(given, fairino(fr3), shipped_policy()).any_tripped


@pytest.mark.parametrize("missing", ["joint_speed", "stream_shaper", "divergence_guard"])
def test_a_fairino_cannot_boot_half_protected(missing: str, fr3: ArmFigures) -> None:
    said = refusal(config(**{missing: None}), fairino(fr3))
    assert said == (
        f"safety.{missing}: missing; the safety policy requires it for robot type fairino "
        f"({missing}: {WOULD_DO[missing]} would do)"
    )


@pytest.mark.parametrize("key", get_args(SafetyKey))
def test_what_the_error_says_would_do_does(key: str, fr3: ArmFigures) -> None:
    """Put the suggested block in, for every block a policy can require, and it constructs."""
    block = yaml.safe_load(f"{key}: {WOULD_DO[key]}")
    base = msgspec.to_builtins(config(**{key: None} if hasattr(config(), key) else {}))
    given = msgspec.convert({**base, **block}, SafetyConfig)
    policy = SafetyPolicy(strict_robot_types={"fairino": StrictRequirement(required=(key,))})  # type: ignore[arg-type]
    build_envelope(given, fairino(fr3), policy)
    if key not in ("stream_shaper", "divergence_guard", "joint_speed"):
        assert f"safety.{key}: missing" in refusal(config(), fairino(fr3), policy)


def test_a_type_the_policy_does_not_name_may_run_unshaped(fr3: ArmFigures) -> None:
    build_envelope(SafetyConfig(), fr3, shipped_policy())


def test_a_shaper_without_a_divergence_guard_is_refused_for_every_type(fr3: ArmFigures) -> None:
    said = refusal(config(divergence_guard=None), fr3)
    assert said.startswith("safety.divergence_guard: missing; a stream_shaper without it")
    assert "would do)" in said


@pytest.mark.parametrize(("ceiling", "refused"), [(130.0, True), (129.0, True), (130.1, False)])
def test_the_joint_speed_ceiling_exceeds_v_max(ceiling: float, refused: bool, fr3: ArmFigures) -> None:
    given = config(joint_speed=JointSpeedConfig(max_deg_s=ceiling))
    if refused:
        assert refusal(given, fr3) == (
            f"safety.joint_speed.max_deg_s: {ceiling:g} is not above stream_shaper.v_max_deg_s 130 "
            "(150 would do)"
        )
    else:
        build_envelope(given, fr3)


def test_a_controller_that_trips_on_tool_speed_needs_the_bound(fr3: ArmFigures) -> None:
    judged = msgspec.structs.replace(fr3, judged_by_tcp_speed=True)
    assert refusal(config(), judged) == (
        "safety.tcp_speed: missing; this controller trips on the tool's commanded speed "
        "(tcp_speed: {max_m_s: 1} would do)"
    )
    build_envelope(config(tcp_speed=TcpSpeedConfig(max_m_s=1.0)), judged)


def test_a_tool_speed_bound_needs_a_shaper_to_keep_it(fr3: ArmFigures) -> None:
    assert refusal(SafetyConfig(tcp_speed=TcpSpeedConfig(max_m_s=1.0)), fr3) == (
        "safety.stream_shaper: missing; tcp_speed is kept by shaping "
        "(stream_shaper: {v_max_deg_s: 120, a_max_deg_s2: 500} would do)"
    )


def test_feed_forward_needs_the_limits_that_gate_it(fr3: ArmFigures) -> None:
    """R8: it overshoots by up to v²/2a + 2vT, 19.5° here; ungated, past a joint's limit."""
    follows = StreamShaperConfig(v_max_deg_s=130.0, a_max_deg_s2=500.0, mode="feed_forward")
    assert refusal(config(stream_shaper=follows), fr3) == (
        "safety.joint_limits: missing; feed_forward overshoots a target that freezes, and joint limits are "
        "what gates it (give them, or use mode rest_target)"
    )
    build_envelope(config(stream_shaper=follows, joint_limits=JointLimitsConfig()), fr3)


def test_limits_come_from_the_block_or_from_the_robot_file(fr3: ArmFigures) -> None:
    tight = JointLimitsConfig(limits_deg=((-10.0, 10.0),) * 6)
    for given, outside_deg in ((JointLimitsConfig(), 175.5), (tight, 10.5)):
        made = build_envelope(config(joint_limits=given), fr3)
        made.observe_state((0.0,) * 6, 0)
        assert made.engage(0) is None
        made.validate_command((outside_deg, 0.0, 0.0, 0.0, 0.0, 0.0), 0)
        assert made.any_tripped


def test_a_wrong_number_of_limits_is_refused(fr3: ArmFigures) -> None:
    bare = msgspec.structs.replace(fr3, limits_deg=())
    assert refusal(config(joint_limits=JointLimitsConfig()), bare) == (
        "safety.joint_limits.limits_deg: 0 limits for 6 joints "
        "(give one [lowest, highest] per joint here or in robot.joint_limits_deg)"
    )
    short = JointLimitsConfig(limits_deg=((-10.0, 10.0),) * 5)
    assert "5 limits for 6 joints" in refusal(config(joint_limits=short), fr3)


@pytest.mark.parametrize(("block", "value"), [("workarea", AREA), ("eef_speed", EefSpeedConfig(max_m_s=1.0))])
def test_what_looks_at_the_tool_needs_the_arms_kinematics(block: str, value: object, fr3: ArmFigures) -> None:
    unknown = msgspec.structs.replace(fr3, chain=None)
    assert refusal(config(**{block: value}), unknown) == (
        f"safety.{block}: the kinematics of this arm are not known "
        "(name a model with a known chain, or leave the block out)"
    )


def test_a_tool_speed_bound_needs_kinematics_or_reaches(fr3: ArmFigures) -> None:
    unknown = msgspec.structs.replace(fr3, chain=None)
    assert refusal(config(tcp_speed=TcpSpeedConfig(max_m_s=1.0)), unknown) == (
        "safety.tcp_speed.reach_m: the kinematics of this arm are not known "
        "(give the tool's largest distance from each joint's axis)"
    )
    build_envelope(config(tcp_speed=TcpSpeedConfig(max_m_s=1.0, reach_m=(0.9,) * 6)), unknown)


def test_a_divergence_guard_under_its_floor_does_not_construct(fr3: ArmFigures) -> None:
    low = DivergenceGuardConfig(lag_s=0.080, measured_lag_s=0.111)
    assert "(0.115 would do)" in refusal(config(divergence_guard=low), fr3)


def test_every_requirement_says_what_it_is_for() -> None:
    assert all(check.__doc__ for check in CHECKS)


@pytest.mark.parametrize("path", sorted(POLICY_FILE.parent.glob("robots/*.yaml")), ids=lambda path: path.stem)
def test_every_shipped_robot_file_constructs(path: Path, fr3: ArmFigures) -> None:
    block = yaml.safe_load(path.read_text(encoding="utf-8"))["safety"]
    build_envelope(msgspec.convert(block, SafetyConfig), fairino(fr3), shipped_policy())


# ---- options are handed through


def engaged(made: SafetyEnvelope) -> SafetyEnvelope:
    made.observe_state((0.0,) * 6, 0)
    assert made.engage(0) is None
    return made


@pytest.mark.parametrize("area", [None, AREA])
def test_a_tool_that_is_surely_slow_costs_no_kinematics_with_or_without_a_work_area(
    area: WorkAreaConfig | None, fr3: ArmFigures, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(chain: Chain, joints_deg: Sequence[float]) -> tuple[float, float, float]:
        raise AssertionError(f"kinematics of {joints_deg}")

    monkeypatch.setattr(Chain, "tool_position_m", asked)
    made = build_envelope(config(workarea=area, eef_speed=EefSpeedConfig(max_m_s=1.0)), fr3)
    for at_ms in range(0, 400, 8):
        assert made.observe_state((0.01 * at_ms, 0.0, 0.0, 0.0, 0.0, 0.0), at_ms * MS)


@pytest.mark.parametrize("reach", [(), (0.8,) * 6])
def test_a_configured_tool_bound_holds_the_stream(reach: tuple[float, ...], fr3: ArmFigures) -> None:
    """From the chain, or with the block's own reaches, which go before it."""
    assert fr3.chain is not None
    tool = TcpSpeedConfig(max_m_s=0.4, reach_m=reach)
    stream, fastest = engaged(build_envelope(config(tcp_speed=tool), fr3))._parts.stream, 0.0
    for _ in range(60):
        proposal = stream.propose((90.0,) * 6)
        stream.commit(proposal)
        fastest = max(fastest, proposal.velocities_deg_s[0])
    metres_per_degree = [math.radians(metres) for metres in reach or reach_m(fr3.chain)]
    # All six joints go alike, so the bound is met with equality.
    assert fastest == pytest.approx(0.4 / math.fsum(metres_per_degree))


def test_feed_forward_is_gated_by_the_limits_in_force(fr3: ArmFigures) -> None:
    """A target that comes at v_max and freezes a degree before the limit: without the gate, 13° past it."""
    follows = StreamShaperConfig(v_max_deg_s=130.0, a_max_deg_s2=500.0, mode="feed_forward")
    tight = JointLimitsConfig(limits_deg=((-60.0, 60.0),) * 6)
    stream = engaged(build_envelope(config(stream_shaper=follows, joint_limits=tight), fr3))._parts.stream
    target = farthest = speed = 0.0
    for tick in range(150):
        if tick > 12 and target < 59.0:
            speed = min(speed + 4.0, 130.0)
            target = min(target + 0.01 * speed, 59.0)
        proposal = stream.propose((target,) * 6)
        stream.commit(proposal)
        farthest = max(farthest, *proposal.joints_deg)
    assert 59.0 <= farthest <= 60.0


def test_a_synchronised_plan_is_asked_for_where_it_is_configured(
    fr3: ArmFigures, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []
    monkeypatch.setattr("steadyhand.core.safety.policy.RuckigSolver", lambda **given: asked.append(given))
    for synchronised in (False, True):
        shaper = StreamShaperConfig(
            v_max_deg_s=130.0, a_max_deg_s2=500.0, jerk_max_deg_s3=20000.0, synchronised=synchronised
        )
        build_envelope(config(stream_shaper=shaper), fr3)
    common = {"n_joints": 6, "period_s": 0.01, "a_max_deg_s2": 500.0, "jerk_max_deg_s3": 20000.0}
    assert asked == [{**common, "synchronised": False}, {**common, "synchronised": True}]


def test_the_margins_floor_is_that_of_the_arms_own_shaper(fr3: ArmFigures) -> None:
    """a_max·L²/2 + jitter·v_max/2: 2000 · 0.08²/2 + 0.008 · 130/2 = 6.92°."""
    hard = StreamShaperConfig(v_max_deg_s=130.0, a_max_deg_s2=2000.0)
    low = DivergenceGuardConfig(lag_s=0.080, form="margin", margin_deg=6.9)
    assert refusal(config(stream_shaper=hard, divergence_guard=low), fr3) == (
        "safety.divergence_guard.margin_deg: 6.9 is under its floor of 6.92°: a_max·L²/2 plus feed "
        "jitter·v_max/2 (7 would do)"
    )
    high = DivergenceGuardConfig(lag_s=0.080, form="margin", margin_deg=7.0)
    build_envelope(config(stream_shaper=hard, divergence_guard=high), fr3)


def test_without_a_shaper_nothing_raises_the_margins_floor(fr3: ArmFigures) -> None:
    guard = DivergenceGuardConfig(lag_s=0.080, form="margin", margin_deg=1e-9)
    made = engaged(build_envelope(SafetyConfig(divergence_guard=guard), fr3))
    assert isinstance(made.validate_command((0.0,) * 6, 0), Allowed)


def test_no_posture_is_forgotten_in_a_joints_reach() -> None:
    """The link after an axis counts with a alone, every link after that with its full length."""
    chain = Chain(
        (DhRow(a_m=-3.0, d_m=4.0), DhRow(a_m=5.0, d_m=12.0), DhRow(a_m=-1.0)), tool_offset_m=(0.0, 0.0, 2.0)
    )
    assert reach_m(chain) == (19.0, 8.0, 3.0)


@pytest.mark.peer
def test_a_configured_jerk_bound_loads_the_library(fr3: ArmFigures) -> None:
    jerk = StreamShaperConfig(v_max_deg_s=130.0, a_max_deg_s2=500.0, jerk_max_deg_s3=20000.0)
    made = build_envelope(config(stream_shaper=jerk), fr3)
    stream = made._parts.stream
    assert isinstance(stream, StreamShaper)
    assert stream._jerk_solver is not None


def test_a_solver_handed_in_is_used_only_where_a_jerk_bound_is_configured(fr3: ArmFigures) -> None:
    class Solver:
        def step(self, *asked: object) -> None:
            return None

    for jerk_max, used in ((None, False), (20000.0, True)):
        shaper = StreamShaperConfig(v_max_deg_s=130.0, a_max_deg_s2=500.0, jerk_max_deg_s3=jerk_max)
        made = build_envelope(config(stream_shaper=shaper), fr3, jerk_solver=Solver())
        stream = made._parts.stream
        assert isinstance(stream, StreamShaper)
        assert isinstance(stream._jerk_solver, Solver) is used


def test_the_feeds_jitter_is_known_to_the_speed_guards(fr3: ArmFigures) -> None:
    guard = DivergenceGuardConfig(lag_s=0.080, feed_jitter_ms=4.0)
    assert build_envelope(config(divergence_guard=guard), fr3)._parts.feed_jitter_ns == 4_000_000
    assert build_envelope(SafetyConfig(), fr3)._parts.feed_jitter_ns == 0


# ---- edits


def test_an_edit_is_a_new_configuration_checked_like_any_other(fr3: ArmFigures) -> None:
    changed = edited(config(), "joint_speed", {"max_deg_s": 120.0})
    assert changed.joint_speed == JointSpeedConfig(max_deg_s=120.0)
    assert "not above stream_shaper.v_max_deg_s" in refusal(changed, fr3)
    assert edited(config(), "state_feed", {"max_age_ms": 80}).state_feed == StateFeedConfig(max_age_ms=80.0)


def test_an_edit_can_add_a_block() -> None:
    assert edited(config(), "eef_speed", {"max_m_s": 1.0}).eef_speed == EefSpeedConfig(max_m_s=1.0)


@pytest.mark.parametrize(
    ("block", "changes", "said"),
    [
        ("jiont_speed", {}, "safety.jiont_speed: no such block"),
        ("joint_speed", {"max": 3.0}, "unknown field `max`"),
        ("joint_speed", {"max_deg_s": "fast"}, "Expected `float`"),
        ("joint_speed", {"max_deg_s": -1.0}, "-1 is not a finite number above 0"),
        ("eef_speed", {}, "missing required field `max_m_s`"),
    ],
)
def test_an_edit_that_cannot_be_says_why(block: str, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        edited(config(), block, changes)
    assert str(refused.value).startswith(f"safety.{block}")
    assert said in str(refused.value)


def test_an_edit_of_a_block_that_is_none_names_those_there_are() -> None:
    with pytest.raises(ConfigError) as refused:
        edited(config(), "jiont_speed", {})
    assert str(refused.value).endswith(
        "(there are stream_shaper, divergence_guard, state_feed, joint_limits, workarea, joint_speed, "
        "eef_speed, tcp_speed)"
    )


@pytest.mark.parametrize("name", RETIRED_NAMES)
def test_an_edit_of_a_retired_name_changes_nothing(name: str) -> None:
    assert edited(config(), name, {"max_deg": 3.0}) == config()
