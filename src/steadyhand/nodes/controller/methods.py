"""What can be called on port 20003, and what it answers: the vendor's names, a few of hundreds."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from steadyhand.nodes.controller.box import ControlBox

VERSIONS: Final = ("steadyhand", "simulated controller", "FR-CNDE-V0001")


class ParameterError(Exception):
    """The call does not have the parameters of its method."""


class PowerOffError(Exception):
    """The call switched the controller off; nobody is left to answer."""


Method = Callable[[ControlBox, Sequence[Any]], Any]


def _whole(parameters: Sequence[Any], at: int) -> int:
    value = parameters[at]
    if not isinstance(value, int) or isinstance(value, bool):
        raise ParameterError(f"parameter {at + 1} must be a whole number")
    return value


def _number(parameters: Sequence[Any], at: int) -> float:
    value = parameters[at]
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ParameterError(f"parameter {at + 1} must be a number")
    return float(value)


def _numbers(parameters: Sequence[Any], at: int) -> tuple[float, ...]:
    values = parameters[at]
    if not isinstance(values, list):
        raise ParameterError(f"parameter {at + 1} must be a list of numbers")
    return tuple(_number(values, index) for index in range(len(values)))


def _robot_enable(box: ControlBox, parameters: Sequence[Any]) -> int:
    call = box.model.enable if _whole(parameters, 0) else box.model.disable
    return call(box.now_ns()).value


def _servo_j(box: ControlBox, parameters: Sequence[Any]) -> int:
    """Joints, external axes, acc, vel, cmdT, filterT, gain, id: only joints, cmdT and id mean anything."""
    joints_deg = _numbers(parameters, 0)
    _numbers(parameters, 1)
    period_s, frame_id = _number(parameters, 4), _number(parameters, 7)
    for at in (2, 3, 5, 6):
        _number(parameters, at)
    return box.servo_j(joints_deg, period_s, int(frame_id) if math.isfinite(frame_id) else 0).value


def _joints(box: ControlBox, parameters: Sequence[Any]) -> list[float]:
    _whole(parameters, 0)
    return [0, *box.state().joints_deg]


def _tool_pose(box: ControlBox, parameters: Sequence[Any]) -> list[float]:
    _whole(parameters, 0)
    return [0, *box.tool_pose(box.state().joints_deg)]


def _error_code(box: ControlBox, parameters: Sequence[Any]) -> list[int]:
    state = box.state()
    return [0, state.main_code, state.sub_code]


def _set_output(box: ControlBox, parameters: Sequence[Any]) -> int:
    return box.set_output(_whole(parameters, 0), on=_whole(parameters, 1) != 0).value


def _list_methods(box: ControlBox, parameters: Sequence[Any]) -> Any:
    """Introspection was seen to power a controller off (fairino-fws); so it does here."""
    box.power_cycle()
    raise PowerOffError


METHODS: Final[dict[str, tuple[tuple[int, ...], Method]]] = {
    "GetControllerIP": ((0,), lambda box, _: [0, box.address]),
    "GetSoftwareVersion": ((0,), lambda box, _: [0, *VERSIONS]),
    "Mode": ((1,), lambda box, given: box.model.set_mode(_whole(given, 0), box.now_ns()).value),
    "RobotEnable": ((1,), _robot_enable),
    "ServoMoveStart": ((0,), lambda box, _: box.model.servo_move_start(box.now_ns()).value),
    "ServoMoveEnd": ((0,), lambda box, _: box.model.servo_move_end(box.now_ns()).value),
    "ServoJ": ((8,), _servo_j),
    "StopMotion": ((0,), lambda box, _: box.model.stop_motion(box.now_ns()).value),
    "ResetAllError": ((0,), lambda box, _: box.model.reset_all_errors(box.now_ns()).value),
    "GetActualJointPosDegree": ((1,), _joints),
    "GetActualTCPPose": ((1,), _tool_pose),
    "GetRobotErrorCode": ((0,), _error_code),
    "GetRobotEmergencyStopState": ((0,), lambda box, _: [0, box.state().emergency_stop]),
    # SetDO(id, on, smooth, blocking); older interfaces leave the last out.
    "SetDO": ((3, 4), _set_output),
    "system.listMethods": ((0,), _list_methods),
}
"""Name: how many parameters it takes, and what it does."""


def call(box: ControlBox, name: str, parameters: Sequence[Any]) -> Any:
    """Carry a call out.

    Raises:
        KeyError: no such method.
        ParameterError: wrong parameters.
        PowerOffError: the box went dark.
    """
    arities, method = METHODS[name]
    if len(parameters) not in arities:
        raise ParameterError(f"{name} takes {arities[0]} parameters, not {len(parameters)}")
    box.answers[f"call_{name}"] += 1
    return method(box, parameters)
