"""The measured tool's velocity, by kinematics only where it could be too fast."""

import math

import msgspec

from steadyhand.core.safety.guards import Baseline
from steadyhand.core.safety.reach import Reach
from steadyhand.core.safety.workarea import Point3, ToolPosition


class ToolFrame(msgspec.Struct, gc=False):
    """A measured pose, and where its tool is once somebody had to know."""

    joints_deg: tuple[float, ...]
    point_m: Point3 | None = None


class ToolVelocity:
    """The tool's mean velocity over a baseline of measured poses (see `guards.Baseline`).

    Kinematics costs more than all else that is done with a state frame. The joints' way over the
    baseline times the arm's reach is no less than the tool's, so an arm that is slow by that bound
    is not asked; no pose is ever computed twice.

    Args:
        tool_position: forward kinematics.
        feed_jitter_ns: largest deviation of a frame's arrival from its grid, ±.
        reach: of the arm; None where it is not known, and every frame is computed.
    """

    __slots__ = ("_baseline", "_most_m_per_deg", "_tool")

    def __init__(self, tool_position: ToolPosition, feed_jitter_ns: int, reach: Reach | None) -> None:
        self._tool = tool_position
        self._baseline: Baseline[ToolFrame] = Baseline(feed_jitter_ns)
        self._most_m_per_deg = math.inf if reach is None else reach.overall_m_per_deg

    def observe(
        self, joints_deg: tuple[float, ...], arrival_ns: int, *, unless_below_m_s: float
    ) -> list[float] | None:
        """Take a frame; the tool's velocity, shape (3,) m/s.

        None until there is a baseline, and where the tool is slower than `unless_below_m_s` for
        certain.
        """
        frame = ToolFrame(joints_deg)
        found = self._baseline.since(frame, arrival_ns)
        if found is None:
            return None
        then, elapsed_s = found
        way_deg = math.dist(joints_deg, then.joints_deg)
        if self._most_m_per_deg * way_deg < unless_below_m_s * elapsed_s:
            return None
        before_m = self._point_m(then)
        return [(now - before_m[axis]) / elapsed_s for axis, now in enumerate(self._point_m(frame))]

    def forget(self) -> None:
        """Start a new baseline."""
        self._baseline.forget()

    def _point_m(self, frame: ToolFrame) -> Point3:
        if frame.point_m is None:
            frame.point_m = self._tool(frame.joints_deg)
        return frame.point_m
