"""Whatever comes in: 2,000 ticks of it, in every mode, and no bound of the wire is ever passed.

Judged on the positions that would go out, never on what the shaper says about itself.
"""

import math
from collections.abc import Callable, Sequence
from operator import mul
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyhand.core.safety.braking import motion_bounds
from steadyhand.core.safety.jerk import RuckigSolver
from steadyhand.core.safety.policy import reach_m
from steadyhand.core.safety.shaper import ShaperMisuseError, StreamShaper
from steadyhand.core.safety.tcp_bound import TcpBound
from steadyhand.core.safety.walls import WallGate
from steadyhand.core.safety.workarea import WorkArea, clearance_of
from steadyhand.ground.arms import FR3
from steadyhand.ground.config_safety import (
    AreaShape,
    BoxArea,
    CylinderArea,
    HalfSpace,
    HalfSpacesArea,
    StreamShaperConfig,
)

T_S = 0.01
SLACK = 1e-9
REACH_M = reach_m(FR3.chain)
LIMITS_DEG = tuple(zip(FR3.limits.lower_deg, FR3.limits.upper_deg, strict=True))
START_DEG: tuple[float, ...] = (0.0, -90.0, 90.0, -90.0, -90.0, 0.0)


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """One preset of R18 with one choice of options."""

    v_max_deg_s: float = 130.0
    a_max_deg_s2: float = 500.0
    mode: str = "rest_target"
    synchronised: bool = False
    max_m_s: float | None = None
    jerk_max_deg_s3: float | None = None

    def shaper(self) -> StreamShaper:
        config = StreamShaperConfig(
            v_max_deg_s=self.v_max_deg_s,
            a_max_deg_s2=self.a_max_deg_s2,
            mode="feed_forward" if self.mode == "feed_forward" else "rest_target",
            synchronised=self.synchronised,
            jerk_max_deg_s3=self.jerk_max_deg_s3,
        )
        solver = None
        if self.jerk_max_deg_s3 is not None:
            solver = RuckigSolver(
                n_joints=6,
                period_s=T_S,
                a_max_deg_s2=self.a_max_deg_s2,
                jerk_max_deg_s3=self.jerk_max_deg_s3,
                synchronised=self.synchronised,
            )
        bound = None if self.max_m_s is None else TcpBound(max_m_s=self.max_m_s, reach_m=REACH_M)
        return StreamShaper(
            config, n_joints=6, period_s=T_S, limits_deg=LIMITS_DEG, tcp_bound=bound, jerk_solver=solver
        )


OPTIONS = [
    Variant(mode=mode, synchronised=synchronised, max_m_s=max_m_s)
    for mode in ("rest_target", "feed_forward")
    for synchronised in (False, True)
    for max_m_s in (None, 0.8)
]
PRESETS = [
    *OPTIONS,
    Variant(v_max_deg_s=120.0),
    Variant(a_max_deg_s2=2000.0),
    Variant(mode="feed_forward", v_max_deg_s=120.0, a_max_deg_s2=1000.0),
]


def named(variant: Variant) -> str:
    parts = [variant.mode, f"v{variant.v_max_deg_s:g}", f"a{variant.a_max_deg_s2:g}"]
    parts += ["sync"] * variant.synchronised
    parts += [f"tcp{variant.max_m_s:g}"] if variant.max_m_s else []
    parts += [f"jerk{variant.jerk_max_deg_s3:g}"] if variant.jerk_max_deg_s3 else []
    return "-".join(parts)


class Wire:
    """What the controller would see, and the bounds it is held to."""

    def __init__(self, shaper: StreamShaper, variant: Variant) -> None:
        self.shaper = shaper
        self.variant = variant
        self.frames: list[tuple[float, ...]] = []
        self.engage(START_DEG)

    def engage(self, pose_deg: tuple[float, ...]) -> None:
        self.shaper.prime(pose_deg)
        self.last_deg = pose_deg
        self.last_speed_deg_s: tuple[float, ...] = (0.0,) * 6

    def send(self, target_deg: Sequence[float], *, fresh: bool, taken: bool) -> None:
        proposal = self.shaper.propose(target_deg, fresh=fresh)
        if not taken:
            return
        self.shaper.commit(proposal)
        variant, frame = self.variant, proposal.joints_deg
        speeds = tuple((new - old) / T_S for new, old in zip(frame, self.last_deg, strict=True))
        for speed, before in zip(speeds, self.last_speed_deg_s, strict=True):
            assert abs(speed) <= variant.v_max_deg_s + SLACK
            assert abs(speed - before) <= variant.a_max_deg_s2 * T_S + SLACK
        for angle, (lowest, highest) in zip(frame, LIMITS_DEG, strict=True):
            assert lowest - SLACK <= angle <= highest + SLACK
        if variant.max_m_s is not None:
            tool_m_s = FR3.chain.tool_speed_m_s(self.last_deg, frame, period_s=T_S)
            assert tool_m_s <= variant.max_m_s + SLACK
        self.last_deg, self.last_speed_deg_s = frame, speeds
        self.frames.append(frame)


def play(wire: Wire, stream: Sequence[Any], *, lost_every: int = 0) -> None:
    """Put a shock stream through the shaper, some of the writes failing."""
    for tick, shock in enumerate(stream):
        kind, target = shock.kind, shock.target_deg
        if kind == "engage":
            wire.shaper.forget()
            wire.engage(wire.last_deg)
        elif kind == "nan":
            with pytest.raises(ShaperMisuseError):
                wire.shaper.propose(target)
        else:
            lost = lost_every > 0 and tick % lost_every == 0
            wire.send(target, fresh=kind == "target", taken=not lost)


@pytest.mark.parametrize("variant", PRESETS, ids=named)
def test_no_bound_is_passed_by_any_stream(variant: Variant, shocks: Callable[..., Any]) -> None:
    @settings(max_examples=3, deadline=None)
    @given(seed=st.integers(0, 2**32), lost_every=st.sampled_from((0, 3)))
    def holds(seed: int, lost_every: int) -> None:
        stream = list(shocks(seed))
        assert len(stream) == 2000
        play(Wire(variant.shaper(), variant), stream, lost_every=lost_every)

    holds()


@pytest.mark.peer
@pytest.mark.parametrize("max_m_s", [None, 0.8])
@pytest.mark.parametrize("synchronised", [False, True])
def test_no_bound_is_passed_under_a_jerk_bound_either(
    synchronised: bool, max_m_s: float | None, shocks: Callable[..., Any]
) -> None:
    variant = Variant(jerk_max_deg_s3=20000.0, synchronised=synchronised, max_m_s=max_m_s)
    for seed in (1, 2):
        play(Wire(variant.shaper(), variant), list(shocks(seed)), lost_every=7)


AREAS: dict[str, AreaShape] = {
    "box": BoxArea(lower_m=(-0.45, -0.40, 0.10), upper_m=(0.45, 0.45, 0.60)),
    "cylinder": CylinderArea(radius_m=0.42, z_lower_m=0.15, z_upper_m=0.65),
    "half_spaces": HalfSpacesArea(
        walls=(
            HalfSpace(normal=(1.0, 1.0, 0.0), offset_m=0.35),
            HalfSpace(normal=(-1.0, 0.5, 0.0), offset_m=0.40),
            HalfSpace(normal=(0.0, 0.0, -2.0), offset_m=-0.10),
        )
    ),
}
WALLED = [*OPTIONS, Variant(a_max_deg_s2=2000.0), Variant(mode="feed_forward", a_max_deg_s2=1000.0)]


def wall_depth_m(
    variant: Variant, area: AreaShape, shocks: Callable[..., Any], *, walls: bool, seeds: Sequence[int]
) -> float:
    """Least clearance of the wire's frames on targets that are all inside; negative: outside."""
    clearance, tool = clearance_of(area), FR3.chain.tool_position_m
    least_m = math.inf
    for seed in seeds:
        stream = list(shocks(seed, ticks=500, legal=lambda joints: clearance(tool(joints)) >= 0.0))
        wire = Wire(variant.shaper(), variant)
        if walls:
            bounds = motion_bounds(a_max_deg_s2=variant.a_max_deg_s2, period_s=T_S)
            wire.shaper.set_walls(WallGate(WorkArea(clearance, tool, reach_m=REACH_M), bounds))
        play(wire, stream, lost_every=13)
        least_m = min(least_m, *(clearance(tool(frame)) for frame in wire.frames))
    return least_m


@pytest.mark.parametrize("area", AREAS.values(), ids=AREAS)
@pytest.mark.parametrize("variant", WALLED, ids=named)
def test_no_wall_is_ever_passed(variant: Variant, area: AreaShape, shocks: Callable[..., Any]) -> None:
    assert wall_depth_m(variant, area, shocks, walls=True, seeds=(3, 4)) >= -SLACK


@pytest.mark.parametrize("area", AREAS.values(), ids=AREAS)
@pytest.mark.parametrize("mode", ["rest_target", "feed_forward"])
def test_the_same_streams_pass_the_walls_where_nothing_holds_them(
    mode: str, area: AreaShape, shocks: Callable[..., Any]
) -> None:
    assert wall_depth_m(Variant(mode=mode), area, shocks, walls=False, seeds=range(5, 15)) < -0.005


@pytest.mark.peer
def test_no_wall_is_passed_under_a_jerk_bound(shocks: Callable[..., Any]) -> None:
    variant, area = Variant(jerk_max_deg_s3=20000.0), AREAS["box"]
    clearance, tool = clearance_of(area), FR3.chain.tool_position_m
    bounds = motion_bounds(a_max_deg_s2=variant.a_max_deg_s2, period_s=T_S)
    wire = Wire(variant.shaper(), variant)
    wire.shaper.set_walls(WallGate(WorkArea(clearance, tool, reach_m=REACH_M), bounds))
    play(wire, list(shocks(5, legal=lambda joints: clearance(tool(joints)) >= 0.0)))
    assert min(clearance(tool(frame)) for frame in wire.frames) >= -SLACK


# ---- overshoot, R8


@pytest.mark.parametrize("variant", OPTIONS, ids=named)
def test_from_any_state_overshoot_stays_within_r8(variant: Variant, shocks: Callable[..., Any]) -> None:
    """rest_target: max(0, v²/2a + vT − d); feed_forward: v²/2a + 2vT. Per joint, target frozen."""

    @settings(max_examples=8, deadline=None)
    @given(seed=st.integers(0, 2**32), length=st.integers(20, 120))
    def holds(seed: int, length: int) -> None:
        wire = Wire(variant.shaper(), variant)
        play(wire, list(shocks(seed, ticks=length)))
        target = next(s.target_deg for s in reversed(list(shocks(seed, ticks=length))) if s.kind == "target")
        start, speeds = wire.last_deg, wire.last_speed_deg_s
        bounds_deg = [
            _overshoot_bound_deg(variant, *figures) for figures in zip(target, start, speeds, strict=True)
        ]
        for _ in range(120):
            wire.send(target, fresh=True, taken=True)
            for angle, aim, begun, bound_deg in zip(wire.last_deg, target, start, bounds_deg, strict=True):
                beyond = angle - aim if aim >= begun else aim - angle
                assert beyond <= bound_deg + SLACK

    holds()


def _overshoot_bound_deg(variant: Variant, aim: float, begun: float, speed: float) -> float:
    distance = abs(aim - begun)
    toward = speed if aim >= begun else -speed
    stopping = toward * toward / (2.0 * variant.a_max_deg_s2)
    if toward <= 0.0:
        return 0.0
    if variant.mode == "feed_forward":
        return stopping + 2.0 * toward * T_S
    return max(0.0, stopping + toward * T_S - distance)


@pytest.mark.parametrize("synchronised", [False, True])
@given(jump=st.lists(st.floats(-170.0, 170.0), min_size=6, max_size=6))
@settings(max_examples=60, deadline=None)
def test_from_rest_a_static_target_is_reached_and_never_overshot(
    synchronised: bool, jump: list[float]
) -> None:
    shaper = Variant(synchronised=synchronised).shaper()
    shaper.prime((0.0,) * 6)
    for _ in range(200):
        proposal = shaper.propose(jump)
        shaper.commit(proposal)
        for angle, aim in zip(proposal.joints_deg, jump, strict=True):
            assert min(0.0, aim) - 1e-12 <= angle <= max(0.0, aim) + 1e-12
    assert proposal.joints_deg == pytest.approx(jump, abs=1e-9)
    assert shaper.at_rest or max(map(abs, shaper.velocity_deg_s)) < 1e-6


@pytest.mark.parametrize("variant", [option for option in OPTIONS if option.synchronised], ids=named)
@given(jump=st.lists(st.floats(-170.0, 170.0), min_size=6, max_size=6), at_rest_ticks=st.integers(0, 15))
@settings(max_examples=40, deadline=None)
def test_from_rest_synchronised_joints_never_leave_the_line_of_a_jump(
    variant: Variant, jump: list[float], at_rest_ticks: int
) -> None:
    shaper = variant.shaper()
    shaper.prime((0.0,) * 6)
    for _ in range(at_rest_ticks):
        shaper.commit(shaper.propose((0.0,) * 6))
    length = math.hypot(*jump) or 1.0
    for _ in range(60):
        proposal = shaper.propose(jump)
        shaper.commit(proposal)
        along = math.fsum(map(mul, proposal.joints_deg, jump)) / length
        for angle, way in zip(proposal.joints_deg, jump, strict=True):
            assert abs(angle - along * (way / length)) < SLACK


@pytest.mark.parametrize("synchronised", [False, True])
def test_rest_target_never_leaves_the_span_of_its_targets(
    synchronised: bool, shocks: Callable[..., Any]
) -> None:
    """Hence legal targets keep the arm in its limits, whatever they do."""
    for seed in range(3):
        shaper = Variant(synchronised=synchronised).shaper()
        shaper.prime(START_DEG)
        low, high = list(START_DEG), list(START_DEG)
        for shock in shocks(seed):
            if shock.kind not in ("target", "hold"):
                continue
            low = [min(pair) for pair in zip(low, shock.target_deg, strict=True)]
            high = [max(pair) for pair in zip(high, shock.target_deg, strict=True)]
            proposal = shaper.propose(shock.target_deg)
            shaper.commit(proposal)
            for angle, least, most in zip(proposal.joints_deg, low, high, strict=True):
                assert least - SLACK <= angle <= most + SLACK


@given(
    st.lists(st.tuples(st.floats(-1.0, 1.0), st.integers(1, 40)), min_size=1, max_size=12),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_feed_forward_is_the_identity_on_a_compliant_stream(
    pieces: list[tuple[float, int]], synchronised: bool
) -> None:
    shaper = Variant(mode="feed_forward", synchronised=synchronised).shaper()
    shaper.prime((0.0,) * 6)
    position, velocity = 0.0, 0.0
    for share, ticks in [(0.0, 12), *pieces]:
        for _ in range(ticks):
            velocity = min(max(velocity + 5.0 * share, -130.0), 130.0)
            if abs(position + velocity * T_S) + velocity * velocity / 1000.0 > 140.0:
                return
            position += velocity * T_S
            target = (position, 0.5 * position, 0.0, -0.1 * position, 0.2 * position, 0.0)
            proposal = shaper.propose(target)
            shaper.commit(proposal)
            assert math.dist(proposal.joints_deg, target) < 1e-9
