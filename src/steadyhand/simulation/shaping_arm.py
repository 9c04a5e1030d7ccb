"""The arm at the end of a shaped stream: the controller model on an exact grid of virtual time."""

from random import Random
from typing import Final

import msgspec

from steadyhand.core.controller.admission import ServoFrame
from steadyhand.core.controller.codes import ReturnCode
from steadyhand.core.controller.kinds import ModelName, TriggerName, controller_of
from steadyhand.core.controller.sweep import Sweeping
from steadyhand.ground.motion import JointsDeg
from steadyhand.ground.stamps import NS_PER_S

START_NS: Final = 2 * NS_PER_S
"""Enabled at zero, the arm takes setpoints from here on: its window of 1.4 s is over."""


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """The first fault of a run.

    Attributes:
        t_s: when its frame arrived, from the first frame on.
        main_code: what the state frame says.
        sub_code: which fault.
    """

    t_s: float
    main_code: int
    sub_code: int


class VirtualArm:
    """An enabled controller that is past its window, told the time one period after the other.

    Args:
        model: which controller.
        trigger: what makes it run away (R10).
        seed: of the coin in the trigger's threshold band.
        pose_deg: where the arm stands, shape (6,).
        period_ns: cmdT.
    """

    def __init__(
        self, model: ModelName, trigger: TriggerName, *, seed: int, pose_deg: JointsDeg, period_ns: int
    ) -> None:
        self.controller = controller_of(model, trigger, Random(seed), pose_deg=pose_deg)
        self.period_ns = period_ns
        self.now_ns = START_NS
        self.rejected = 0
        self.sweep_deg = 0.0
        self.first_fault: Fault | None = None
        self.poses_deg: list[JointsDeg] = []
        self.speeds_deg_s: list[JointsDeg] = []
        self.controller.enable(0)

    @property
    def faults(self) -> int:
        """How many frames were a fault."""
        return self.controller.fault_count

    @property
    def measured_deg(self) -> JointsDeg:
        """Where the arm is now, shape (6,)."""
        return self.controller.state(self.now_ns).joints_deg

    @property
    def at_rest(self) -> bool:
        """Whether it stands and nothing is left to execute."""
        return bool(self.controller.state(self.now_ns).motion_done)

    def open_stream(self) -> None:
        """ServoMoveStart; what an earlier stream did to it is reset, where the controller lets it be."""
        self.controller.reset_all_errors(self.now_ns)
        self.controller.servo_move_start(self.now_ns)

    def close_stream(self) -> None:
        """ServoMoveEnd: what was accepted is still executed."""
        self.controller.servo_move_end(self.now_ns)

    def tick(self, joints_deg: JointsDeg | None) -> None:
        """One frame, or none; the state of that instant is kept; then a period passes."""
        if joints_deg is not None:
            frame = ServoFrame(joints_deg=joints_deg, period_ns=self.period_ns)
            code = self.controller.servo_j(frame, self.now_ns)
            self.rejected += code is not ReturnCode.OK
        state = self.controller.state(self.now_ns)
        if self.first_fault is None and self.faults:
            self.first_fault = Fault(
                t_s=(self.now_ns - START_NS) / NS_PER_S, main_code=state.main_code, sub_code=state.sub_code
            )
        phase = self.controller.execution.phase
        if isinstance(phase, Sweeping):
            self.sweep_deg = max(self.sweep_deg, phase.travel_deg)
        self.poses_deg.append(state.joints_deg)
        self.speeds_deg_s.append(state.joint_velocities_deg_s)
        self.now_ns += self.period_ns
