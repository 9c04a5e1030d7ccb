"""Forward kinematics: against hand-made poses, and against MuJoCo on an independently written model."""

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyhand.ground.arms import ARMS, FR3, FR20, UR10E, ArmModel
from steadyhand.ground.errors import ConfigError
from steadyhand.ground.kinematics import Chain, DhRow, Pose, rotation_from_zyx_deg

Origin = tuple[tuple[float, float, float], tuple[float, float, float]]
QUARTER = math.pi / 2

# Joint origins (xyz in m, rpy in rad) as the vendors' ROS descriptions state them, flange last. They
# are typed in here once more, not derived from the Denavit–Hartenberg rows under test. The FAIRINO
# files end at joint 6; their flange is the manual's d6.
URDF_ORIGINS: dict[str, tuple[Origin, ...]] = {
    "fr3": (
        ((0, 0, 0), (0, 0, 0)),
        ((0, 0, 0.14), (QUARTER, 0, 0)),
        ((-0.28, 0, 0), (0, 0, 0)),
        ((-0.24001, 0, 0), (0, 0, 0)),
        ((0, 0, 0.102), (QUARTER, 0, 0)),
        ((0, 0, 0.102), (-QUARTER, 0, 0)),
        ((0, 0, 0.100), (0, 0, 0)),
    ),
    "fr20": (
        ((0, 0, 0), (0, 0, 0)),
        ((0, 0, 0.215), (QUARTER, 0, 0)),
        ((-1, 0, 0), (0, 0, 0)),
        ((-0.716, 0, 0), (0, 0, 0)),
        ((0, 0, 0.16601), (QUARTER, 0, 0)),
        ((0, 0, 0.138), (-QUARTER, 0, 0)),
        ((0, 0, 0.120), (0, 0, 0)),
    ),
    "ur10e": (
        ((0, 0, 0.1807), (0, 0, 0)),
        ((0, 0, 0), (QUARTER, 0, 0)),
        ((-0.6127, 0, 0), (0, 0, 0)),
        ((-0.57155, 0, 0.17415), (0, 0, 0)),
        ((0, -0.11985, 0), (QUARTER, 0, 0)),
        ((0, 0.11655, 0), (QUARTER, math.pi, math.pi)),
        ((0, 0, 0), (0, 0, 0)),
    ),
}
TOOL_M = (0.013, -0.042, 0.177)
TOOL_ZYX_DEG = (12.0, -34.0, 56.0)

joint_angles = st.tuples(*[st.floats(-360.0, 360.0)] * 6)


class Oracle:
    """The same arm in MuJoCo: bodies nested by the URDF origins, hinges about z, a site for the tool."""

    def __init__(self, origins: tuple[Origin, ...], lengthen: dict[int, Origin] | None = None) -> None:
        self.mujoco: Any = pytest.importorskip("mujoco", reason="needs mujoco of the `peers` extra")
        exact = [(lengthen or {}).get(index, origin) for index, origin in enumerate(origins)]
        body = _site(exact[-1])
        for index, origin in reversed(list(enumerate(exact[:-1]))):
            body = f'<body {_place(origin)}><joint name="j{index}" axis="0 0 1"/>{_MASS}{body}</body>'
        self.model = self.mujoco.MjModel.from_xml_string(
            '<mujoco><compiler angle="radian" eulerseq="XYZ"/><worldbody>' + body + "</worldbody></mujoco>"
        )
        self.data = self.mujoco.MjData(self.model)

    def pose(self, joints_deg: tuple[float, ...]) -> Pose:
        self.data.qpos[:] = [math.radians(joint_deg) for joint_deg in joints_deg]
        self.mujoco.mj_kinematics(self.model, self.data)
        x, y, z = (float(value) for value in self.data.site("tool").xpos)
        r = [float(value) for value in self.data.site("tool").xmat]
        return Pose(
            position_m=(x, y, z),
            rotation=((r[0], r[1], r[2]), (r[3], r[4], r[5]), (r[6], r[7], r[8])),
        )


_MASS = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'


def _place(origin: Origin) -> str:
    (x, y, z), (roll, pitch, yaw) = origin
    return f'pos="{x!r} {y!r} {z!r}" euler="{roll!r} {pitch!r} {yaw!r}"'


def _site(flange: Origin) -> str:
    roll, pitch, yaw = (math.radians(angle) for angle in TOOL_ZYX_DEG)
    return f'<body {_place(flange)}>{_MASS}<site name="tool" {_place((TOOL_M, (roll, pitch, yaw)))}/></body>'


def _distance(one: Pose, other: Pose) -> float:
    return math.dist(one.position_m, other.position_m)


def _twist(one: Pose, other: Pose) -> float:
    """Largest difference between two rotation matrices' entries."""
    pairs = zip(sum(one.rotation, ()), sum(other.rotation, ()), strict=True)
    return max(abs(left - right) for left, right in pairs)


# The two places where the vendor's URDF rounds its own manual, put back to the manual's millimetre.
MANUAL_LENGTHS: dict[str, dict[int, Origin]] = {
    "fr3": {3: ((-0.240, 0, 0), (0, 0, 0))},
    "fr20": {4: ((0, 0, 0.166), (QUARTER, 0, 0))},
    "ur10e": {},
}


@pytest.mark.peer
@pytest.mark.parametrize("name", sorted(ARMS))
def test_the_tool_is_where_mujoco_puts_it(name: str) -> None:
    oracle = Oracle(URDF_ORIGINS[name], MANUAL_LENGTHS[name])
    chain = ARMS[name].chain.with_tool(TOOL_M, TOOL_ZYX_DEG)

    @settings(max_examples=100, deadline=None)
    @given(joint_angles)
    def agrees(joints_deg: tuple[float, ...]) -> None:
        ours, theirs = chain.tool_pose(joints_deg), oracle.pose(joints_deg)
        assert _distance(ours, theirs) < 1e-9
        assert _twist(ours, theirs) < 1e-9
        assert math.dist(chain.tool_position_m(joints_deg), theirs.position_m) < 1e-9

    agrees()


@pytest.mark.peer
@pytest.mark.parametrize("name", ["fr3", "fr20"])
def test_the_vendors_urdf_and_manual_agree_within_a_hundredth_of_a_millimetre(name: str) -> None:
    oracle = Oracle(URDF_ORIGINS[name])
    chain = ARMS[name].chain.with_tool(TOOL_M, TOOL_ZYX_DEG)
    worst_m = 0.0
    for step in range(200):
        joints_deg = tuple(-170.0 + (step * (37 + 11 * joint)) % 340 for joint in range(6))
        worst_m = max(worst_m, _distance(chain.tool_pose(joints_deg), oracle.pose(joints_deg)))
    assert 0.0 < worst_m < 1.001e-5


@pytest.mark.parametrize(
    ("arm", "expected_m"),
    [
        # At zero these arms lie stretched along −x, the wrist's offsets along −y and down.
        (FR3, (-0.520, -0.202, 0.038)),
        (FR20, (-1.716, -0.286, 0.077)),
        (UR10E, (-1.18425, -0.2907, 0.06085)),
    ],
)
def test_at_zero_the_arm_lies_stretched_out(arm: ArmModel, expected_m: tuple[float, float, float]) -> None:
    assert arm.chain.tool_position_m((0.0,) * 6) == pytest.approx(expected_m, abs=1e-12)


@pytest.mark.parametrize(("arm", "reach_m"), [(FR3, 0.622), (FR20, 1.854)])
def test_the_reach_is_the_one_the_vendor_publishes(arm: ArmModel, reach_m: float) -> None:
    rows = arm.chain.rows
    assert abs(rows[1].a_m) + abs(rows[2].a_m) + rows[4].d_m == pytest.approx(reach_m, abs=1e-12)


def test_the_base_joint_turns_the_tool_about_the_vertical() -> None:
    x, y, z = FR3.chain.tool_position_m((0.0, -70.0, 80.0, -100.0, -90.0, 30.0))
    turned = FR3.chain.tool_position_m((90.0, -70.0, 80.0, -100.0, -90.0, 30.0))
    assert turned == pytest.approx((-y, x, z), abs=1e-12)


@given(joint_angles)
@settings(max_examples=100, deadline=None)
def test_position_pose_and_drawing_agree_on_the_tool(joints_deg: tuple[float, ...]) -> None:
    chain = UR10E.chain.with_tool(TOOL_M, TOOL_ZYX_DEG)
    position_m = chain.tool_position_m(joints_deg)
    points = chain.joint_positions_m(joints_deg)
    assert chain.tool_pose(joints_deg).position_m == position_m
    assert len(points) == 8
    assert points[0] == (0.0, 0.0, 0.0)
    assert points[1] == pytest.approx((0.0, 0.0, 0.1807), abs=1e-12)
    assert points[-1] == pytest.approx(position_m, abs=1e-12)
    assert math.dist(points[-1], points[-2]) == pytest.approx(math.hypot(*TOOL_M), abs=1e-12)


@given(st.tuples(st.floats(-180, 180), st.floats(-89.9, 89.9), st.floats(-180, 180)))
@settings(max_examples=100, deadline=None)
def test_zyx_angles_are_read_back_from_the_rotation_they_make(angles_deg: tuple[float, float, float]) -> None:
    rotation = rotation_from_zyx_deg(angles_deg)
    again = rotation_from_zyx_deg(Pose(position_m=(0, 0, 0), rotation=rotation).zyx_deg)
    assert max(abs(a - b) for a, b in zip(sum(rotation, ()), sum(again, ()), strict=True)) < 1e-9


@pytest.mark.parametrize("pitch_deg", [90.0, -90.0])
def test_zyx_angles_at_the_pole_still_make_the_same_rotation(pitch_deg: float) -> None:
    rotation = rotation_from_zyx_deg((25.0, pitch_deg, -40.0))
    angles_deg = Pose(position_m=(0, 0, 0), rotation=rotation).zyx_deg
    again = rotation_from_zyx_deg(angles_deg)
    assert angles_deg[0] == 0.0
    assert max(abs(a - b) for a, b in zip(sum(rotation, ()), sum(again, ()), strict=True)) < 1e-6


def test_one_joint_at_v_max_moves_an_fr3s_tool_faster_than_a_metre_a_second() -> None:
    """R10: why a TCP-speed trigger needs a command-side TCP bound."""
    stretched, one_tick_on = (0.0,) * 6, (1.3, 0.0, 0.0, 0.0, 0.0, 0.0)
    speed_m_s = FR3.chain.tool_speed_m_s(stretched, one_tick_on, period_s=0.010)
    radius_m = math.hypot(0.520, 0.202)
    assert speed_m_s == pytest.approx(math.radians(130.0) * radius_m, rel=3e-5)
    assert 1.2 < speed_m_s < 1.4


def test_a_tool_given_by_its_point_alone_keeps_the_flanges_orientation() -> None:
    joints_deg = (10.0, -70.0, 80.0, -100.0, -90.0, 30.0)
    bare, pointed = FR3.chain, FR3.chain.with_tool((0.0, 0.0, 0.15))
    assert pointed.tool_pose(joints_deg).rotation == bare.tool_pose(joints_deg).rotation
    assert pointed.with_tool((0.0, 0.0, 0.0)).tool_position_m(joints_deg) == bare.tool_position_m(joints_deg)


def test_theta_offset_turns_a_joint_before_its_angle_does() -> None:
    turned = Chain((DhRow(a_m=1.0, theta_offset_rad=math.radians(30.0)),))
    assert turned.tool_position_m((60.0,)) == pytest.approx((0.0, 1.0, 0.0), abs=1e-12)
    assert turned.joint_positions_m((60.0,))[1] == pytest.approx((0.0, 1.0, 0.0), abs=1e-12)
    assert turned.tool_pose((60.0,)).position_m == pytest.approx((0.0, 1.0, 0.0), abs=1e-12)


@pytest.mark.parametrize("count", [0, 5, 7])
def test_a_wrong_number_of_joints_raises(count: int) -> None:
    for ask in (FR3.chain.tool_position_m, FR3.chain.tool_pose, FR3.chain.joint_positions_m):
        with pytest.raises(ValueError, match="zip"):
            ask((0.0,) * count)


@pytest.mark.parametrize("period_s", [0.0, -0.01, math.nan])
def test_a_speed_without_a_positive_period_is_refused(period_s: float) -> None:
    with pytest.raises(ValueError, match="positive period"):
        FR3.chain.tool_speed_m_s((0.0,) * 6, (0.0,) * 6, period_s=period_s)


def test_a_chain_that_cannot_be_one_is_refused_and_says_where() -> None:
    with pytest.raises(ConfigError, match="at least one joint"):
        Chain(())
    with pytest.raises(ConfigError, match="joint 2"):
        Chain((DhRow(), DhRow(a_m=math.nan)))
    with pytest.raises(ConfigError, match="tool"):
        Chain((DhRow(),), tool_offset_m=(0.0, math.inf, 0.0))


def test_every_shipped_arm_names_and_limits_each_of_its_joints() -> None:
    for name, arm in ARMS.items():
        assert arm.name == name
        assert arm.chain.n_joints == arm.limits.n_joints == len(arm.joint_names) == 6
