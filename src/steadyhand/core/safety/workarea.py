"""The work area: how deep inside it the tool is.

Every shape is convex, and its clearance (distance to the nearest wall, negative outside) is
concave and never changes faster than the tool moves. The second fact saves most of the kinematics
here, and both carry the proof in `walls`.
"""

import math
from collections.abc import Callable, Sequence
from typing import assert_never

from steadyhand.core.safety.reach import Reach
from steadyhand.ground.config_safety import AreaShape, BoxArea, CylinderArea, HalfSpacesArea

Point3 = tuple[float, float, float]
ToolPosition = Callable[[Sequence[float]], Point3]
"""Forward kinematics: joints, shape (n_joints,) degrees, to the tool point in the base frame, metres."""
Clearance = Callable[[Point3], float]


def clearance_of(area: AreaShape) -> Clearance:
    """The function that says how far inside `area` a point is, metres; below zero it is outside.

    For a point outside, the figure is the distance to the plane or wall most violated.
    """
    match area:
        case BoxArea():
            return _in_box(area)
        case CylinderArea():
            return _in_cylinder(area)
        case HalfSpacesArea():
            return _in_half_spaces(area)
        case _:
            assert_never(area)


def _in_box(area: BoxArea) -> Clearance:
    (x_low, y_low, z_low), (x_high, y_high, z_high) = area.lower_m, area.upper_m

    def clearance_m(point: Point3) -> float:
        x, y, z = point
        return min(x - x_low, x_high - x, y - y_low, y_high - y, z - z_low, z_high - z)

    return clearance_m


def _in_cylinder(area: CylinderArea) -> Clearance:
    (x_axis, y_axis), radius = area.centre_m, area.radius_m
    z_low, z_high = area.z_lower_m, area.z_upper_m

    def clearance_m(point: Point3) -> float:
        x, y, z = point
        return min(radius - math.hypot(x - x_axis, y - y_axis), z - z_low, z_high - z)

    return clearance_m


def _in_half_spaces(area: HalfSpacesArea) -> Clearance:
    walls = []
    for wall in area.walls:
        length = math.hypot(*wall.normal)
        x, y, z = wall.normal
        walls.append((x / length, y / length, z / length, wall.offset_m))

    def clearance_m(point: Point3) -> float:
        x, y, z = point
        return min(offset - (nx * x + ny * y + nz * z) for nx, ny, nz, offset in walls)

    return clearance_m


class WorkArea:
    """A work area as one arm sees it, with a memory of the last pose looked at exactly.

    Args:
        clearance: of the area's shape.
        tool_position: forward kinematics.
        reach_m: largest distance of the tool from each joint's axis, shape (n_joints,).
    """

    __slots__ = ("_anchor_clearance_m", "_anchor_deg", "_clearance", "_tool", "reach")

    def __init__(
        self, clearance: Clearance, tool_position: ToolPosition, *, reach_m: Sequence[float]
    ) -> None:
        self._clearance = clearance
        self._tool = tool_position
        self.reach = Reach(reach_m)
        self._anchor_deg = (0.0,) * len(reach_m)
        self._anchor_clearance_m = -math.inf

    def clearance_m(self, joints_deg: Sequence[float]) -> float:
        """How far inside the tool is at this pose, by kinematics; remembered."""
        self._anchor_deg = tuple(joints_deg)
        self._anchor_clearance_m = self._clearance(self._tool(joints_deg))
        return self._anchor_clearance_m

    def surely_has(self, clearance_m: float, joints_deg: Sequence[float]) -> bool:
        """Whether this pose has a clearance for certain, told without kinematics.

        What was far inside stays inside over the next few ticks: the tool moves no farther than its
        reach allows. It only ever saves work, since nobody takes it for a no.
        """
        farthest_m = self.reach.overall_m_per_deg * math.dist(joints_deg, self._anchor_deg)
        return self._anchor_clearance_m - farthest_m >= clearance_m

    def tool_m(self, joints_deg: Sequence[float]) -> Point3:
        """Where the tool is at this pose."""
        return self._tool(joints_deg)
