"""The measured arm: one frame of a controller's state feed, vendor-neutral.

Drivers make it from their registers; the follower decides on it. It holds numbers as the controller
gives them, so a frame that cannot be true (a NaN joint) is still a value, to be judged above.
"""

import math

import msgspec

from steadyhand.ground.robot_status import RobotStatus, VacuumState


class MeasuredArm(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the controller said of itself.

    Attributes:
        arrival_ns: local monotonic time at which the frame arrived.
        joints_deg: measured pose, shape (n_joints,).
        speeds_deg_s: measured joint speeds, shape (n_joints,), or empty where none are reported.
        status: the arm in one word (`robot_status.classify_status`).
        fault_code: main fault code, 0 for none.
        fault_sub_code: its sub code.
        estop_pressed: the e-stop input.
        enabled: the drives are on.
        digital_outputs: sixteen outputs as bits, or None where there are none.
        vacuum: what the vacuum gripper is told to do.
        tcp_position_mm: tool centre point in the base frame, where the controller reports it.
        tcp_orientation_deg: its fixed-axis rotations.
    """

    arrival_ns: int
    joints_deg: tuple[float, ...]
    speeds_deg_s: tuple[float, ...] = ()
    status: RobotStatus = RobotStatus.UNKNOWN
    fault_code: int = 0
    fault_sub_code: int = 0
    estop_pressed: bool = False
    enabled: bool = True
    digital_outputs: int | None = None
    vacuum: VacuumState | None = None
    tcp_position_mm: tuple[float, float, float] | None = None
    tcp_orientation_deg: tuple[float, float, float] | None = None

    @property
    def fastest_joint_deg_s(self) -> float:
        """The largest reported speed of any joint, without its sign; NaN where one is not a number."""
        if any(map(math.isnan, self.speeds_deg_s)):
            return math.nan
        return max(map(abs, self.speeds_deg_s), default=0.0)
