"""Work areas and the gate that keeps a braking arm inside them."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyhand.core.safety.braking import brake, motion_bounds
from steadyhand.core.safety.policy import reach_m
from steadyhand.core.safety.reach import Reach
from steadyhand.core.safety.walls import WallGate
from steadyhand.core.safety.workarea import Point3, ToolPosition, WorkArea, clearance_of
from steadyhand.ground.arms import FR3, FR20, UR10E
from steadyhand.ground.config_safety import AreaShape, BoxArea, CylinderArea, HalfSpace, HalfSpacesArea

T_S = 0.01
BOUNDS = motion_bounds(a_max_deg_s2=500.0, period_s=T_S)
BOX = BoxArea(lower_m=(-0.4, -0.5, 0.0), upper_m=(0.6, 0.7, 0.8))
CYLINDER = CylinderArea(radius_m=0.5, z_lower_m=0.1, z_upper_m=0.9, centre_m=(0.1, 0.2))
WALLS = HalfSpacesArea(
    walls=(HalfSpace(normal=(2.0, 0.0, 0.0), offset_m=0.5), HalfSpace(normal=(0.0, -3.0, -4.0), offset_m=0.2))
)


@pytest.mark.parametrize(
    ("point", "clearance"),
    [
        ((0.0, 0.0, 0.4), 0.4),
        ((0.5, 0.0, 0.4), 0.1),
        ((-0.3, 0.0, 0.4), 0.1),
        ((0.0, 0.65, 0.4), 0.05),
        ((0.0, -0.45, 0.4), 0.05),
        ((0.0, 0.0, 0.02), 0.02),
        ((0.0, 0.0, 0.79), 0.01),
        ((0.7, 0.0, 0.4), -0.1),
        ((0.0, 0.0, -0.3), -0.3),
    ],
)
def test_a_boxs_clearance_is_the_distance_to_its_nearest_face(point: Point3, clearance: float) -> None:
    assert clearance_of(BOX)(point) == pytest.approx(clearance)


@pytest.mark.parametrize(
    ("point", "clearance"),
    [
        ((0.1, 0.2, 0.5), 0.4),
        ((0.5, 0.2, 0.5), 0.1),
        ((0.1, -0.25, 0.5), 0.05),
        ((0.1, 0.2, 0.12), 0.02),
        ((0.1, 0.2, 0.95), -0.05),
        ((0.1, 0.9, 0.5), -0.2),
    ],
)
def test_a_cylinders_clearance_is_to_wall_floor_or_ceiling(point: Point3, clearance: float) -> None:
    assert clearance_of(CYLINDER)(point) == pytest.approx(clearance)


@pytest.mark.parametrize(
    ("point", "clearance"),
    [((0.0, 0.0, 0.0), 0.2), ((0.4, 0.0, 0.0), 0.1), ((0.0, -0.5, 0.0), -0.1), ((0.0, 0.0, -0.1), 0.12)],
)
def test_half_spaces_measure_along_their_unit_normals(point: Point3, clearance: float) -> None:
    assert clearance_of(WALLS)(point) == pytest.approx(clearance)


def test_a_shape_nobody_knows_is_a_mistake_of_ours() -> None:
    with pytest.raises(AssertionError, match="sphere"):
        clearance_of("sphere")  # type: ignore[arg-type]


points = st.tuples(*[st.floats(-2.0, 2.0)] * 3)


@given(points, points, st.floats(0.0, 1.0))
def test_every_clearance_is_concave_and_no_faster_than_the_tool(
    one: Point3, other: Point3, share: float
) -> None:
    """The two facts the gate's proof rests on."""
    between = tuple(a + share * (b - a) for a, b in zip(one, other, strict=True))
    for area in (BOX, CYLINDER, WALLS):
        clearance = clearance_of(area)
        first, second = clearance(one), clearance(other)
        assert clearance((between[0], between[1], between[2])) >= min(first, second) - 1e-12
        assert abs(first - second) <= math.dist(one, other) + 1e-12


# ---- the reach of an arm

joints = st.lists(st.floats(-180.0, 180.0), min_size=6, max_size=6)


@pytest.mark.parametrize("arm", [FR3, FR20, UR10E], ids=lambda arm: arm.name)
@given(pose=joints, index=st.integers(0, 5), tool=st.tuples(*[st.floats(-0.2, 0.2)] * 3))
@settings(max_examples=60, deadline=None)
def test_no_posture_puts_the_tool_farther_from_an_axis_than_its_reach(
    arm: object, pose: list[float], index: int, tool: Point3
) -> None:
    chain = arm.chain.with_tool(tool)  # type: ignore[attr-defined]
    half_turn = [angle + 180.0 * (number == index) for number, angle in enumerate(pose)]
    # Half a turn about an axis moves the tool by twice its distance from it.
    diameter_m = math.dist(chain.tool_position_m(pose), chain.tool_position_m(half_turn))
    assert diameter_m <= 2.0 * reach_m(chain)[index] + 1e-12


# ---- the gate

velocities = st.lists(st.floats(-130.0, 130.0), min_size=6, max_size=6)


def brake_path(pose: Sequence[float], speeds: Sequence[float]) -> list[tuple[float, ...]]:
    """The frame, and every frame of the full brake after it."""
    path, have = [tuple(pose)], list(speeds)
    while any(have):
        have = brake(have, BOUNDS.step_deg_s)
        path.append(tuple(angle + speed * T_S for angle, speed in zip(path[-1], have, strict=True)))
    return path


def gate_around(area: AreaShape, tool: ToolPosition) -> WallGate:
    return WallGate(WorkArea(clearance_of(area), tool, reach_m=reach_m(FR3.chain)), BOUNDS)


@given(joints, velocities, st.integers(0, 5))
@settings(max_examples=150, deadline=None)
def test_an_allowed_frame_can_be_braked_inside(pose: list[float], speeds: list[float], still: int) -> None:
    """Walls right at the ends of the brake: where its arc bows out, the gate must have seen it."""
    speeds[still] = 0.0
    tool = FR3.chain.tool_position_m
    path = [tool(frame) for frame in brake_path(pose, speeds)]
    for axis in range(3):
        for sign in (1.0, -1.0):
            normal = tuple(sign if index == axis else 0.0 for index in range(3))
            farthest_end = max(sign * path[0][axis], sign * path[-1][axis])
            farthest = max(sign * point[axis] for point in path)
            for gap_m in (0.0, 0.001, 0.01, 0.05):
                wall = HalfSpace(normal=(normal[0], normal[1], normal[2]), offset_m=farthest_end + gap_m)
                gate = gate_around(HalfSpacesArea(walls=(wall,)), tool)
                if gate.allows(pose, speeds):
                    assert farthest <= farthest_end + gap_m + 1e-9


def gate_in(area: BoxArea, calls: list[Sequence[float]] | None = None) -> WallGate:
    def tool(pose: Sequence[float]) -> Point3:
        if calls is not None:
            calls.append(tuple(pose))
        return FR3.chain.tool_position_m(pose)

    return gate_around(area, tool)


HOME = (0.0, -90.0, 90.0, -90.0, -90.0, 0.0)
AT_HOME = FR3.chain.tool_position_m(HOME)
ROOMY = BoxArea(lower_m=(-3.0, -3.0, -3.0), upper_m=(3.0, 3.0, 3.0))


def area_ending_beside_home(gap_m: float) -> BoxArea:
    return BoxArea(lower_m=(-3.0, -3.0, -3.0), upper_m=(3.0, AT_HOME[1] + gap_m, 3.0))


def test_a_standing_arm_may_touch_a_wall() -> None:
    for gap_m in (1e-9, 0.0):
        assert gate_in(area_ending_beside_home(gap_m)).allows(HOME, (0.0,) * 6)
    assert not gate_in(area_ending_beside_home(-1e-6)).allows(HOME, (0.0,) * 6)


def test_a_moving_arm_may_not_be_where_its_stop_lies_outside() -> None:
    turning = (-60.0 if AT_HOME[0] < 0 else 60.0, 0.0, 0.0, 0.0, 0.0, 0.0)  # joint 1, toward +y
    near, far = gate_in(area_ending_beside_home(0.002)), gate_in(area_ending_beside_home(0.10))
    assert not near.allows(HOME, turning)
    assert far.allows(HOME, turning)
    assert near.allows(HOME, (0.0,) * 6)


def test_far_from_every_wall_no_kinematics_is_needed_again() -> None:
    calls: list[Sequence[float]] = []
    gate = gate_in(ROOMY, calls)
    for tick in range(20):
        assert gate.allows((HOME[0] + 1.2 * tick, *HOME[1:]), (120.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    assert len(calls) == 1


@given(joints, velocities, joints)
@settings(max_examples=100, deadline=None)
def test_what_the_gate_remembers_never_changes_its_answer(
    pose: list[float], speeds: list[float], before: list[float]
) -> None:
    area = BoxArea(lower_m=(-0.4, -0.4, 0.0), upper_m=(0.4, 0.4, 0.7))
    fresh, used = gate_in(area), gate_in(area)
    used.allows(before, speeds)
    assert used.allows(pose, speeds) is fresh.allows(pose, speeds)


@given(joints, velocities, st.sampled_from([0.3, 1.0]))
@settings(max_examples=150, deadline=None)
def test_the_gate_asks_for_the_bow_at_the_frame_and_where_it_stops(
    pose: list[float], speeds: list[float], share: float
) -> None:
    """However it saves kinematics, this is the question."""
    area = BoxArea(lower_m=(-0.4, -0.4, 0.0), upper_m=(0.4, 0.4, 0.7))
    speeds = [share * speed for speed in speeds]
    gate, clearance = gate_in(area), clearance_of(area)
    offsets = gate._stop_offsets(speeds)
    stop = [angle + way for angle, way in zip(pose, offsets, strict=True)]
    least_m = min(clearance(FR3.chain.tool_position_m(at)) for at in (pose, stop))
    spare_m = least_m - gate._bow_m(speeds, offsets)
    if abs(spare_m) > 1e-12:
        assert gate.allows(pose, speeds) is (spare_m > 0.0)


def test_at_a_wall_the_tool_is_computed_twice_at_most() -> None:
    calls: list[Sequence[float]] = []
    gate = gate_in(area_ending_beside_home(0.03), calls)
    turning = (-40.0 if AT_HOME[0] < 0 else 40.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    assert gate.allows(HOME, turning)
    assert len(calls) == 2
    assert not gate_in(area_ending_beside_home(-0.01), calls).allows(HOME, turning)
    assert len(calls) == 3  # a frame outside needs no stopping point


def test_a_pose_is_computed_once_where_it_is_far_enough_from_every_wall() -> None:
    calls: list[Sequence[float]] = []
    gate = gate_in(ROOMY, calls)
    assert gate.allows(HOME, (120.0,) * 6)
    assert calls == [HOME]


@pytest.mark.parametrize(
    ("speed_deg_s", "way_deg"),
    [(130.0, 16.25625), (-130.0, -16.25625), (3.0, 0.00025), (2.5, 0.0), (-0.5, 0.0), (0.0, 0.0)],
)
def test_the_stopping_point_is_where_the_brake_through_the_next_frames_ends(
    speed_deg_s: float, way_deg: float
) -> None:
    assert gate_in(ROOMY)._stop_offsets([speed_deg_s] * 6) == pytest.approx([way_deg] * 6, abs=1e-12)


def test_one_joint_of_a_metre_bows_by_10_mm_from_130_and_by_half_a_millimetre_from_65() -> None:
    gate = WallGate(WorkArea(clearance_of(ROOMY), lambda pose: (0.0, 0.0, 0.0), reach_m=(1.0,)), BOUNDS)
    for speed_deg_s, arc_m in ((130.0, 0.010062), (65.0, 0.000581)):
        bow_m = gate._bow_m([speed_deg_s], gate._stop_offsets([speed_deg_s]))
        assert bow_m == pytest.approx(arc_m + math.radians(0.00625), abs=1e-6)


@pytest.mark.parametrize(
    "speeds",
    [
        [130.0, -90.0, 40.0, 3.0, 2.0, 0.1],
        [5.0, 60.0, -130.0, 0.0, 20.0, -70.0],
        [2.5] * 6,
        [1.0, 2.5, -2.4, 0.0, 0.3, 0.4],
        [0.0] * 6,
    ],
)
def test_the_bow_is_the_arc_the_uneven_stops_and_the_last_partial_step(speeds: list[float]) -> None:
    gate, metres = gate_in(ROOMY), Reach(reach_m(FR3.chain)).metres_per_degree
    effective = [max(0.0, abs(speed) - 2.5) for speed in speeds]
    ways = [speed * speed / 1000.0 for speed in effective]
    fastest = max(effective)
    expected_m = 0.0
    for index, way in enumerate(ways):
        for other, another_way in enumerate(ways):  # of two joints the outer one's reach counts
            expected_m += math.radians(metres[max(index, other)]) * way * another_way / 8.0
        share = effective[index] / fastest if fastest else 1.0
        expected_m += metres[index] * way * (1.0 - share) / (1.0 + share)
        expected_m += metres[index] * min(0.00625, abs(speeds[index]) * T_S / 8.0)
    assert gate._bow_m(speeds, gate._stop_offsets(speeds)) == pytest.approx(expected_m, rel=1e-12)


@pytest.mark.parametrize("speed_deg_s", [130.0, -60.0, 6.0])
def test_the_quick_look_is_a_tenth_of_the_way_above_the_exact_one_where_all_joints_are_as_fast(
    speed_deg_s: float,
) -> None:
    gate, speeds = gate_in(ROOMY), [speed_deg_s] * 6
    offsets = gate._stop_offsets(speeds)
    way_m = Reach(reach_m(FR3.chain)).way_m(offsets)
    assert gate._at_most_m(speeds) == pytest.approx(1.1 * way_m + gate._bow_m(speeds, offsets), rel=1e-12)


@given(velocities)
def test_the_quick_look_never_promises_more_than_the_exact_one(speeds: list[float]) -> None:
    gate = gate_in(ROOMY)
    offsets = gate._stop_offsets(speeds)
    way_m = Reach(reach_m(FR3.chain)).way_m(offsets)
    assert gate._at_most_m(speeds) >= way_m + gate._bow_m(speeds, offsets) - 1e-12
