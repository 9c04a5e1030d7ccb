"""What an operator may do to the envelope while it runs, and what it reports."""

import json
from typing import Any

import msgspec
import pytest

from steadyhand.core.safety.envelope import SWITCHABLE, CannotDo, SafetyEnvelope
from steadyhand.core.safety.policy import build_envelope
from steadyhand.core.safety.requirements import ArmFigures
from steadyhand.core.safety.shaper import Proposal, ShaperMisuseError
from steadyhand.core.safety.verdicts import (
    RETIRED_NAMES,
    Allowed,
    Guard,
    GuardToggled,
    Refused,
    RetiredNameUsed,
)
from steadyhand.ground.config_safety import (
    BoxArea,
    DivergenceGuardConfig,
    EefSpeedConfig,
    JointLimitsConfig,
    JointSpeedConfig,
    SafetyConfig,
    SafetyPolicy,
    StreamShaperConfig,
    StrictRequirement,
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


def turned(angle_deg: float) -> tuple[float, ...]:
    return (angle_deg, *HOME[1:])


# ---- toggles


@pytest.mark.parametrize("name", RETIRED_NAMES)
@pytest.mark.parametrize("enabled", [False, True])
def test_a_retired_name_is_a_warning_and_nothing_else(fr3: ArmFigures, name: str, enabled: bool) -> None:
    made = envelope(fr3)
    before = made.report()
    assert made.set_enabled(name, enabled=enabled, now_ns=7) is None
    assert made.take_events() == (RetiredNameUsed(name=name, at_ns=7),)
    assert made.report() == before


@pytest.mark.parametrize("guard", SWITCHABLE)
def test_a_guard_that_is_not_required_can_be_switched_off_and_on(fr3: ArmFigures, guard: Guard) -> None:
    made = envelope(fr3)
    assert made.set_enabled(guard, enabled=False, now_ns=1) is None
    assert made.report()[guard]["enabled"] is False
    assert made.set_enabled(guard, enabled=False, now_ns=2) is None
    assert made.set_enabled(guard, enabled=True, now_ns=3) is None
    assert made.report()[guard]["enabled"] is True
    assert made.take_events() == (
        GuardToggled(guard=guard, enabled=False, at_ns=1),
        GuardToggled(guard=guard, enabled=False, at_ns=2),
        GuardToggled(guard=guard, enabled=True, at_ns=3),
    )


def test_what_is_switched_off_does_not_judge(fr3: ArmFigures) -> None:
    made = engaged(fr3, joint_speed=JointSpeedConfig(max_deg_s=150.0, trip_count=1))
    for name in SWITCHABLE:
        made.set_enabled(name, enabled=False, now_ns=0)
    for at_ms in range(0, 400, 8):
        made.observe_state(turned(0.4 * at_ms), at_ms * MS, speeds_deg_s=(400.0,) * 6)
    made.disengage()
    made.observe_state(HOME, 400 * MS)
    made.engage(400 * MS)
    assert isinstance(made.validate_command((200.0, 0.0, 0.0, 0.0, 0.0, 0.0), 400 * MS), Allowed)
    assert not made.any_tripped


@pytest.mark.parametrize("name", ["stream_shaper", "divergence", "state_feed", "tcp_speed"])
def test_shaper_and_divergence_guard_cannot_be_parted(fr3: ArmFigures, name: str) -> None:
    made = envelope(fr3)
    refused = made.set_enabled(name, enabled=False, now_ns=0)
    assert refused is not None
    assert "cannot be switched while it runs" in refused.reason
    assert made.report()[name]["enabled"] is True


def test_what_the_policy_requires_cannot_be_switched_off_but_on(fr3: ArmFigures) -> None:
    policy = SafetyPolicy(strict_robot_types={"simulated": StrictRequirement(required=("joint_speed",))})
    made = build_envelope(FULL, fr3, policy)
    assert made.set_enabled("joint_speed", enabled=False, now_ns=0) == CannotDo(
        "the safety policy requires joint_speed for this robot type"
    )
    assert made.set_enabled("joint_speed", enabled=True, now_ns=0) is None
    assert made.set_enabled("eef_speed", enabled=False, now_ns=0) is None


@pytest.mark.parametrize("name", ["workarea", "joint_speed", "eef_speed"])
def test_a_guard_that_is_not_configured_cannot_be_switched(fr3: ArmFigures, name: str) -> None:
    made = envelope(fr3, FULL, **{name: None})
    refused = made.set_enabled(name, enabled=True, now_ns=0)
    assert refused == CannotDo(f"{name} is not configured for this arm")


def test_an_unknown_name_is_refused_with_those_there_are(fr3: ArmFigures) -> None:
    refused = envelope(fr3).set_enabled("jiont_limits", enabled=False, now_ns=0)
    assert refused is not None
    assert refused.reason.startswith("no guard is called jiont_limits; there are joint_limits, workarea")


def test_switching_a_guard_off_does_not_clear_its_latch(fr3: ArmFigures) -> None:
    made = engaged(fr3)
    made.validate_command((999.0, *HOME[1:]), 0)
    made.set_enabled("joint_limits", enabled=False, now_ns=0)
    assert made.any_tripped
    assert made.report()["joint_limits"]["tripped"] is True


def test_the_walls_go_with_the_work_area(fr3: ArmFigures) -> None:
    made = engaged(fr3)
    stream = made._parts.stream
    for enabled in (False, True):
        made.set_enabled("workarea", enabled=enabled, now_ns=0)
        assert (stream._walls is not None) is enabled  # type: ignore[union-attr]


# ---- the ceiling


def test_the_ceiling_can_be_lowered_and_restored_but_not_raised(fr3: ArmFigures) -> None:
    made = envelope(fr3)
    assert made.set_ceiling(40.0) is None
    assert made.report()["stream_shaper"]["v_max_deg_s"] == 40.0
    refused = made.set_ceiling(131.0)
    assert refused is not None
    assert "outside (0, 130]" in refused.reason
    assert made.set_ceiling(130.0) is None


# ---- an arm without a shaper

UNSHAPED = SafetyConfig(divergence_guard=DivergenceGuardConfig(lag_s=0.080, form="margin"))


def test_without_a_shaper_raw_targets_pass_and_are_still_watched(fr3: ArmFigures) -> None:
    made = engaged(fr3, UNSHAPED)
    verdict = made.validate_command(turned(2.0), 0)
    assert isinstance(verdict, Allowed)
    assert verdict.proposal == Proposal(
        joints_deg=turned(2.0), velocities_deg_s=(200.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    )
    made.commit(verdict.proposal, 0)
    resting = [made.at_rest]
    standing = made.validate_brake(T_NS)
    assert isinstance(standing, Allowed)
    made.commit(standing.proposal, T_NS)
    assert [*resting, made.at_rest] == [False, True]
    assert isinstance(made.validate_command(turned(6.0), T_NS), Allowed)
    made.observe_state(turned(60.0), T_NS)
    assert isinstance(made.validate_command(turned(2.0), T_NS), Refused)


def test_an_arm_with_nothing_configured_passes_everything_that_is_an_angle(fr3: ArmFigures) -> None:
    made = engaged(fr3, SafetyConfig())
    verdict = made.validate_command(turned(500.0), 0)
    assert isinstance(verdict, Allowed)
    made.commit(verdict.proposal, 0)
    assert made.set_ceiling(10.0) == CannotDo("this arm has no stream shaper")
    assert set(made.report()) == {"joint_limits", "state_feed"}
    made.disengage()
    with pytest.raises(ShaperMisuseError, match="no stream is engaged"):
        made.validate_command(HOME, 0)
    with pytest.raises(ShaperMisuseError, match="no stream is engaged"):
        made.validate_brake(0)


def test_unshaped_the_work_area_can_still_be_switched(fr3: ArmFigures) -> None:
    area = WorkAreaConfig(area=BoxArea(lower_m=(-0.5, -0.5, 0.0), upper_m=(0.5, 0.5, 0.8)))
    made = engaged(fr3, SafetyConfig(workarea=area))
    assert made.set_enabled("workarea", enabled=False, now_ns=0) is None
    assert isinstance(made.validate_command((0.0,) * 6, 0), Allowed)


# ---- the report


def test_the_safety_dict_has_the_described_keys_and_bounds(fr3: ArmFigures) -> None:
    assert envelope(fr3).report() == {
        "joint_limits": {"enabled": True, "tripped": False},
        "workarea": {"enabled": True, "tripped": False, "shape": "box"},
        "stream_shaper": {
            "enabled": True,
            "tripped": False,
            "mode": "rest_target",
            "synchronised": False,
            "v_max_deg_s": 130.0,
            "a_max_deg_s2": 500.0,
        },
        "state_feed": {"enabled": True, "tripped": False, "max_age_ms": 100.0},
        "divergence": {
            "enabled": True,
            "tripped": False,
            "form": "window",
            "margin_deg": 1.0,
            "lag_s": 0.08,
        },
        "joint_speed": {"enabled": True, "tripped": False, "max_deg_s": 150.0, "trip_count": 3},
        "eef_speed": {"enabled": True, "tripped": False, "max_m_s": 1.5},
        "tcp_speed": {"enabled": True, "tripped": False, "max_m_s": 2.5},
    }


def test_the_margin_form_reports_its_own_margin(fr3: ArmFigures) -> None:
    margin = DivergenceGuardConfig(lag_s=0.080, form="margin", margin_deg=3.5)
    assert envelope(fr3, divergence_guard=margin).report()["divergence"]["margin_deg"] == 3.5


def test_the_safety_dict_leaves_room_in_a_telemetry_frame(fr3: ArmFigures) -> None:
    assert len(json.dumps(envelope(fr3).report(), separators=(",", ":"))) < 700
