"""Where the tool is: forward kinematics of a Denavit–Hartenberg chain, in plain floats.

The standard (distal) convention: frame i is reached from frame i−1 by
Rz(θᵢ + offset) · Tz(d) · Tx(a) · Rx(α). Vendors print their tables in this form (`ground.arms`).

Six joints are too few for an array library to pay: the tool's position alone needs no matrix at
all, since the tool's point can be carried from the flange back to the base one joint at a time.
That is about 3 µs, against 29 to 219 µs for the general Python packages that were measured; MuJoCo
and Pinocchio are as fast, but weigh 60 to 380 MB. MuJoCo checks this module in the tests.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from steadyhand.ground.errors import ConfigError

Vector3 = tuple[float, float, float]
Rotation = tuple[Vector3, Vector3, Vector3]

_IDENTITY: Final[Rotation] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
_RAD_PER_DEG: Final = math.pi / 180.0
_GIMBAL_EPSILON: Final = 1e-9


class DhRow(msgspec.Struct, frozen=True, kw_only=True):
    """One revolute joint of a chain in the standard Denavit–Hartenberg convention.

    Attributes:
        a_m: length along the new x axis.
        alpha_rad: twist about the new x axis.
        d_m: offset along the joint's own axis.
        theta_offset_rad: added to the joint's angle.
    """

    a_m: float = 0.0
    alpha_rad: float = 0.0
    d_m: float = 0.0
    theta_offset_rad: float = 0.0


class Pose(msgspec.Struct, frozen=True, kw_only=True):
    """A position and an orientation in the arm's base frame.

    Attributes:
        position_m: shape (3,).
        rotation: shape (3, 3) by rows; maps a vector of the tool's frame into the base frame.
    """

    position_m: Vector3
    rotation: Rotation

    @property
    def zyx_deg(self) -> Vector3:
        """Angles (rx, ry, rz) in degrees with R = Rz·Ry·Rx, the form FAIRINO and URDF report.

        At ry = ±90° the other two angles are one turn: rx is then 0.
        """
        (r00, r01, _), (r10, r11, _), (r20, r21, r22) = self.rotation
        horizontal = math.hypot(r00, r10)
        ry_rad = math.atan2(-r20, horizontal)
        if horizontal > _GIMBAL_EPSILON:
            rx_rad, rz_rad = math.atan2(r21, r22), math.atan2(r10, r00)
        else:
            rx_rad, rz_rad = 0.0, math.atan2(-r01, r11)
        return (math.degrees(rx_rad), math.degrees(ry_rad), math.degrees(rz_rad))


def rotation_from_zyx_deg(angles_deg: Vector3) -> Rotation:
    """Rotation matrix of the angles (rx, ry, rz) in degrees: Rz·Ry·Rx."""
    rx_rad, ry_rad, rz_rad = (math.radians(angle_deg) for angle_deg in angles_deg)
    cx, sx = math.cos(rx_rad), math.sin(rx_rad)
    cy, sy = math.cos(ry_rad), math.sin(ry_rad)
    cz, sz = math.cos(rz_rad), math.sin(rz_rad)
    return (
        (cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx),
        (sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx),
        (-sy, cy * sx, cy * cx),
    )


class Chain:
    """A serial arm: its Denavit–Hartenberg rows and the tool mounted on the last frame.

    Joint angles are handed in as degrees, shape (n_joints,). Their number is settled where a setpoint
    enters (the guards), not here once per tick; a wrong count still raises ValueError.

    Args:
        rows: one per joint, base to flange.
        tool_offset_m: the tool's point in the flange frame.
        tool_zyx_deg: the tool's orientation in the flange frame, (rx, ry, rz) with R = Rz·Ry·Rx.

    Raises:
        ConfigError: no rows, or a value that is not finite.
    """

    def __init__(
        self,
        rows: tuple[DhRow, ...],
        *,
        tool_offset_m: Vector3 = (0.0, 0.0, 0.0),
        tool_zyx_deg: Vector3 = (0.0, 0.0, 0.0),
    ) -> None:
        _require_usable(rows, (*tool_offset_m, *tool_zyx_deg))
        self.rows = rows
        self.tool_offset_m = tool_offset_m
        self.tool_zyx_deg = tool_zyx_deg
        self._tool_rotation = rotation_from_zyx_deg(tool_zyx_deg)
        # (θ offset, a, cos α, sin α, d): what does not change with the joints.
        self._links = tuple(
            (row.theta_offset_rad, row.a_m, math.cos(row.alpha_rad), math.sin(row.alpha_rad), row.d_m)
            for row in rows
        )
        self._links_from_flange = self._links[::-1]

    @property
    def n_joints(self) -> int:
        """How many joints the chain has."""
        return len(self.rows)

    def with_tool(self, offset_m: Vector3, zyx_deg: Vector3 = (0.0, 0.0, 0.0)) -> "Chain":
        """Return the same arm carrying another tool."""
        return Chain(self.rows, tool_offset_m=offset_m, tool_zyx_deg=zyx_deg)

    def tool_position_m(self, joints_deg: Sequence[float]) -> Vector3:
        """Position of the tool's point in the base frame, metres.

        The point is carried from the flange frame to the base frame, so no rotation is ever built.
        """
        x, y, z = self.tool_offset_m
        for joint_deg, (offset_rad, a, ca, sa, d) in zip(
            reversed(joints_deg), self._links_from_flange, strict=True
        ):
            theta_rad = joint_deg * _RAD_PER_DEG + offset_rad
            ct, st = math.cos(theta_rad), math.sin(theta_rad)
            x += a
            twisted_y = ca * y - sa * z
            z = sa * y + ca * z + d
            x, y = ct * x - st * twisted_y, st * x + ct * twisted_y
        return (x, y, z)

    def tool_pose(self, joints_deg: Sequence[float]) -> Pose:
        """Position and orientation of the tool in the base frame.

        The tool's point and two of its axes are carried to the base; the third axis is their cross
        product. A third of the cost of multiplying matrices outwards.
        """
        x, y, z = self.tool_offset_m
        (ux, vx, _), (uy, vy, _), (uz, vz, _) = self._tool_rotation
        for joint_deg, (offset_rad, a, ca, sa, d) in zip(
            reversed(joints_deg), self._links_from_flange, strict=True
        ):
            theta_rad = joint_deg * _RAD_PER_DEG + offset_rad
            ct, st = math.cos(theta_rad), math.sin(theta_rad)
            x += a
            twisted_y, uy_twisted, vy_twisted = ca * y - sa * z, ca * uy - sa * uz, ca * vy - sa * vz
            z, uz, vz = sa * y + ca * z + d, sa * uy + ca * uz, sa * vy + ca * vz
            x, y = ct * x - st * twisted_y, st * x + ct * twisted_y
            ux, uy = ct * ux - st * uy_twisted, st * ux + ct * uy_twisted
            vx, vy = ct * vx - st * vy_twisted, st * vx + ct * vy_twisted
        wx, wy, wz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
        return Pose(position_m=(x, y, z), rotation=((ux, vx, wx), (uy, vy, wy), (uz, vz, wz)))

    def joint_positions_m(self, joints_deg: Sequence[float]) -> tuple[Vector3, ...]:
        """Origins of the base, of every frame after it, and the tool's point: n_joints + 2 points.

        What a drawing of the arm connects, and what keeps an elbow inside a work area.
        """
        origins = [(0.0, 0.0, 0.0)]
        rotation = _IDENTITY
        for position_m, frame_rotation in self._frames(joints_deg):
            origins.append(position_m)
            rotation = frame_rotation
        origins.append(_add(origins[-1], _rotate(rotation, self.tool_offset_m)))
        return tuple(origins)

    def tool_speed_m_s(self, from_deg: Sequence[float], to_deg: Sequence[float], *, period_s: float) -> float:
        """Mean speed of the tool's point when the arm goes between two poses in one period.

        The chord, not the arc: at 10 ms and 130 °/s the two differ by 2e-5.

        Raises:
            ValueError: the period is not positive.
        """
        if not period_s > 0.0:
            raise ValueError(f"a speed needs a positive period, not {period_s} s")
        return math.dist(self.tool_position_m(from_deg), self.tool_position_m(to_deg)) / period_s

    def _frames(self, joints_deg: Sequence[float]) -> Iterator[tuple[Vector3, Rotation]]:
        """Yield each joint frame's origin and orientation in the base frame, base to flange."""
        position_m, rotation = (0.0, 0.0, 0.0), _IDENTITY
        for joint_deg, (offset_rad, a, ca, sa, d) in zip(joints_deg, self._links, strict=True):
            theta_rad = joint_deg * _RAD_PER_DEG + offset_rad
            ct, st = math.cos(theta_rad), math.sin(theta_rad)
            link: Rotation = ((ct, -st * ca, st * sa), (st, ct * ca, -ct * sa), (0.0, sa, ca))
            position_m = _add(position_m, _rotate(rotation, (a * ct, a * st, d)))
            rotation = _compose(rotation, link)
            yield position_m, rotation


def _require_usable(rows: tuple[DhRow, ...], tool_values: tuple[float, ...]) -> None:
    if not rows:
        raise ConfigError("a kinematic chain needs at least one joint", where="rows")
    for index, row in enumerate(rows):
        values = (row.a_m, row.alpha_rad, row.d_m, row.theta_offset_rad)
        if not all(map(math.isfinite, values)):
            raise ConfigError(f"a value of joint {index + 1} is not a finite number", where="rows")
    if not all(map(math.isfinite, tool_values)):
        raise ConfigError("a value of the tool is not a finite number", where="tool")


def _add(one: Vector3, other: Vector3) -> Vector3:
    return (one[0] + other[0], one[1] + other[1], one[2] + other[2])


def _rotate(rotation: Rotation, vector: Vector3) -> Vector3:
    x, y, z = vector
    (a, b, c), (d, e, f), (g, h, i) = rotation
    return (a * x + b * y + c * z, d * x + e * y + f * z, g * x + h * y + i * z)


def _compose(left: Rotation, right: Rotation) -> Rotation:
    """Matrix product left · right."""
    columns = zip(*right, strict=True)
    first, second, third = (_rotate(left, column) for column in columns)
    return (
        (first[0], second[0], third[0]),
        (first[1], second[1], third[1]),
        (first[2], second[2], third[2]),
    )
