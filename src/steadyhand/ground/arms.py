"""The arms that are shipped: geometry and published limits, each with its source.

FAIRINO. Geometry: the vendor's manual, "Robot Denavit–Hartenberg parameters", tables 2.4-1 (FR3) and
2.4-9 (FR20), repository FAIR-INNOVATION/FAIR-documentation,
`source/CobotsManual/robot_brief_introduction.rst` (commit 0b5ffe8). The vendor's ROS descriptions,
FAIR-INNOVATION/frcobot_ros2 (commit 6ee4abc), `fairino_description/urdf/fairino3_v6.urdf` and
`fairino20_v6.urdf`, agree with them joint by joint within 0.01 mm (tests/ground compare the two);
they end at joint 6, so d₆, joint 6 to the flange, is the manual's alone. Both arms also reach
exactly what the vendor's table promises, |a₂| + |a₃| + d₅: 0.622 m and 1.854 m.

Limits: the manual's table 2.1-1, the *soft* limits and the maximum speeds. The URDFs allow joint 3
±162°, which is the hard limit of the FR5 and larger (the FR3's is ±152°): the narrower manual is
taken. They also give every joint 180 to 183 °/s, where the manual holds axes 1 to 3 of the FR20 to
120 °/s; the manual is taken there too.

Universal Robots UR10e. Geometry: "DH parameters for calculations of kinematics and dynamics",
universal-robots.com; the same numbers are in UniversalRobots/Universal_Robots_ROS2_Description,
`config/ur10e/default_kinematics.yaml` (commit 2221ec0). The frame is the controller's own "base",
half a turn about z from ROS's `base_link`. These are nominal: each UR arm carries a factory
calibration that moves its tool by up to millimetres. Limits: `config/ur10e/joint_limits.yaml` there,
whose source is the UR10e user manual 5.8; the elbow's ±180° is that file's own narrowing.
"""

import math
from typing import Final

import msgspec

from steadyhand.ground.kinematics import Chain, DhRow
from steadyhand.ground.limits import JointLimits


class ArmModel(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of arm.

    Attributes:
        name: what robot files call it.
        chain: its kinematics without a tool: the point is the middle of the flange.
        limits: the vendor's published joint ranges and speeds.
        joint_names: shape (n_joints,), base to flange.
        typical_tool_speed_m_s: the vendor's published "typical TCP speed"; None where none is.
    """

    name: str
    chain: Chain
    limits: JointLimits
    joint_names: tuple[str, ...]
    typical_tool_speed_m_s: float | None = None


def _offset_wrist(*, d1_m: float, a2_m: float, a3_m: float, d4_m: float, d5_m: float, d6_m: float) -> Chain:
    """The geometry these arms share: a shoulder, two parallel links and three offset wrist axes."""
    quarter_rad = math.pi / 2.0
    return Chain(
        (
            DhRow(d_m=d1_m, alpha_rad=quarter_rad),
            DhRow(a_m=a2_m),
            DhRow(a_m=a3_m),
            DhRow(d_m=d4_m, alpha_rad=quarter_rad),
            DhRow(d_m=d5_m, alpha_rad=-quarter_rad),
            DhRow(d_m=d6_m),
        )
    )


_FAIRINO_JOINTS: Final = ("j1", "j2", "j3", "j4", "j5", "j6")

FR3: Final = ArmModel(
    name="fr3",
    chain=_offset_wrist(d1_m=0.140, a2_m=-0.280, a3_m=-0.240, d4_m=0.102, d5_m=0.102, d6_m=0.100),
    limits=JointLimits(
        lower_deg=(-175.0, -265.0, -150.0, -265.0, -175.0, -175.0),
        upper_deg=(175.0, 85.0, 150.0, 85.0, 175.0, 175.0),
        speed_deg_s=(180.0,) * 6,
    ),
    joint_names=_FAIRINO_JOINTS,
    typical_tool_speed_m_s=1.0,
)

FR20: Final = ArmModel(
    name="fr20",
    chain=_offset_wrist(d1_m=0.215, a2_m=-1.000, a3_m=-0.716, d4_m=0.166, d5_m=0.138, d6_m=0.120),
    limits=JointLimits(
        lower_deg=(-175.0, -265.0, -160.0, -265.0, -175.0, -175.0),
        upper_deg=(175.0, 85.0, 160.0, 85.0, 175.0, 175.0),
        speed_deg_s=(120.0, 120.0, 120.0, 180.0, 180.0, 180.0),
    ),
    joint_names=_FAIRINO_JOINTS,
    typical_tool_speed_m_s=2.0,
)

UR10E: Final = ArmModel(
    name="ur10e",
    chain=_offset_wrist(d1_m=0.1807, a2_m=-0.6127, a3_m=-0.57155, d4_m=0.17415, d5_m=0.11985, d6_m=0.11655),
    limits=JointLimits(
        lower_deg=(-360.0, -360.0, -180.0, -360.0, -360.0, -360.0),
        upper_deg=(360.0, 360.0, 180.0, 360.0, 360.0, 360.0),
        speed_deg_s=(120.0, 120.0, 180.0, 180.0, 180.0, 180.0),
    ),
    joint_names=(
        "shoulder_pan_joint",
        "shoulder_lift_joint",
        "elbow_joint",
        "wrist_1_joint",
        "wrist_2_joint",
        "wrist_3_joint",
    ),
)

ARMS: Final[dict[str, ArmModel]] = {arm.name: arm for arm in (FR3, FR20, UR10E)}
