"""The control box: one model, one arm, sixteen outputs. Everything that arrives goes through here."""

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from steadyhand.core.controller.admission import ServoFrame
from steadyhand.core.controller.codes import ReturnCode
from steadyhand.core.controller.model import ControllerModel
from steadyhand.core.controller.state import ControllerState
from steadyhand.edge.clock import MonotonicClock
from steadyhand.ground.arms import ArmModel
from steadyhand.ground.stamps import NS_PER_S

N_OUTPUTS: Final = 16


class ControlBox:
    """What the three servers and the console share. One thread uses it.

    Args:
        model: the controller.
        arm: its kinematics.
        address: what it says its address is.
        clock: what time it is.
    """

    def __init__(self, model: ControllerModel, arm: ArmModel, address: str, clock: MonotonicClock) -> None:
        self.model = model
        self.arm = arm
        self.address = address
        self.digital_outputs = 0
        self.power_cycles = 0
        self.answers: Counter[str] = Counter()
        """Setpoints by the code they were answered, and whatever else arrived, by name."""
        self._clock = clock
        self._hang_ups: list[Callable[[], None]] = []

    def now_ns(self) -> int:
        """The time."""
        return self._clock.now_ns()

    def at_power_off(self, hang_up: Callable[[], None]) -> None:
        """Register what a server does when the box goes dark."""
        self._hang_ups.append(hang_up)

    def state(self) -> ControllerState:
        """What a state frame sent now says."""
        return self.model.state(self.now_ns())

    def tool_pose(self, joints_deg: tuple[float, ...]) -> tuple[float, ...]:
        """x y z in millimetres and rx ry rz in degrees, of the flange; there is no tool."""
        pose = self.arm.chain.tool_pose(joints_deg)
        return (*(metres * 1000.0 for metres in pose.position_m), *pose.zyx_deg)

    def servo_j(self, joints_deg: tuple[float, ...], period_s: float, frame_id: int) -> ReturnCode:
        """One setpoint, whichever way it came; the answer is counted by its code."""
        frame = ServoFrame(joints_deg=joints_deg, period_ns=_whole_ns(period_s), frame_id=frame_id)
        code = self.model.servo_j(frame, self.now_ns())
        self.answers[f"servo_j_{code.value}"] += 1
        return code

    def set_output(self, number: int, *, on: bool) -> ReturnCode:
        """SetDO: DO0 to DO7 are 0 to 7, CO0 to CO7 are 8 to 15."""
        if not 0 <= number < N_OUTPUTS:
            return ReturnCode.BAD_VALUE
        bit = 1 << number
        self.digital_outputs = self.digital_outputs | bit if on else self.digital_outputs & ~bit
        return ReturnCode.OK

    def press_estop(self) -> None:
        """The red button."""
        self.model.press_estop(self.now_ns())

    def release_estop(self) -> None:
        """Turn it out. The e-stop lasts until the power cycle."""
        self.model.release_estop(self.now_ns())

    def power_cycle(self) -> None:
        """Off and on: the arm stays where it is, every connection is gone, outputs are off."""
        self.model.power_cycle(self.now_ns())
        self.digital_outputs = 0
        self.power_cycles += 1
        for hang_up in self._hang_ups:
            hang_up()

    def status(self) -> dict[str, Any]:
        """What the console shows, as JSON values."""
        state = self.state()
        return {
            "model": self.model.constants.name,
            "joints_deg": [round(joint, 6) for joint in state.joints_deg],
            "speeds_deg_s": [round(speed, 3) for speed in state.joint_velocities_deg_s],
            "main_code": state.main_code,
            "sub_code": state.sub_code,
            "emergency_stop": state.emergency_stop,
            "button_pressed": self.model.gate.estop_pressed,
            "enabled": state.enabled,
            "robot_mode": int(state.robot_mode),
            "streaming": state.streaming,
            "motion_done": state.motion_done,
            "accepted": state.servoj_cmd_num,
            "faults": self.model.fault_count,
            "power_cycles": self.power_cycles,
            "digital_outputs": self.digital_outputs,
            "arrived": dict(sorted(self.answers.items())),
        }


def _whole_ns(period_s: float) -> int:
    """A period in ns; 0, which no controller takes, for one that is no number."""
    return round(period_s * NS_PER_S) if abs(period_s) < 1e6 else 0
