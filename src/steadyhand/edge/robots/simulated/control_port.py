"""The control port of a simulated robot."""

from collections.abc import Callable

from steadyhand.core.controller.codes import ReturnCode
from steadyhand.core.controller.model import ControllerModel
from steadyhand.core.controller.state import RobotMode
from steadyhand.edge.robots.control_port import ControlPort
from steadyhand.edge.robots.fairino.codes import code_in_words, fault_in_words
from steadyhand.edge.robots.reports import CallOutcome, CallReport, Codes
from steadyhand.edge.robots.simulated.robot import Cable, SimulatedRobot


class SimulatedControlPort(ControlPort):
    """Calls into a `SimulatedRobot`, answered without delay or not at all.

    Args:
        robot: shared with the data port.
        clock: what virtual time it is, ns.
    """

    def __init__(self, robot: SimulatedRobot, clock: Callable[[], int]) -> None:
        super().__init__()
        self._robot = robot
        self._clock = clock

    def _call(self, name: str, call: Callable[[ControllerModel, int], ReturnCode]) -> CallReport:
        now_ns = self._clock()
        model = self._robot.at(now_ns)
        if self._robot.cable is not Cable.PLUGGED:
            return CallReport(call=name, outcome=CallOutcome.UNANSWERED, detail=f"{name}: no answer in time")
        code = call(model, now_ns)
        outcome = CallOutcome.DONE if code is ReturnCode.OK else CallOutcome.REFUSED
        return CallReport(call=name, outcome=outcome, code=code.value, detail=code_in_words(code.value))

    def _connect(self) -> CallReport:
        return self._call("GetControllerIP", lambda model, now_ns: ReturnCode.OK)

    def _enable(self) -> CallReport:
        mode = self._call("Mode", lambda model, now_ns: model.set_mode(RobotMode.AUTOMATIC, now_ns))
        return self._call("RobotEnable", ControllerModel.enable) if mode.done else mode

    def _disable(self) -> CallReport:
        return self._call("RobotEnable", ControllerModel.disable)

    def _reset(self) -> CallReport:
        return self._call("ResetAllError", ControllerModel.reset_all_errors)

    def _stop(self) -> CallReport:
        return self._call("StopMotion", ControllerModel.stop_motion)

    def _read_codes(self) -> Codes:
        report = self._call("GetRobotErrorCode", lambda model, now_ns: ReturnCode.OK)
        if not report.done:
            return Codes(report=report)
        now_ns = self._clock()
        state = self._robot.at(now_ns).state(now_ns)
        meaning = fault_in_words(state.main_code, state.sub_code)
        return Codes(report=report, main_code=state.main_code, sub_code=state.sub_code, meaning=meaning)

    def _disconnect(self) -> None:
        """There is no connection."""
