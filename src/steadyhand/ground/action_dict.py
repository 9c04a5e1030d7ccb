"""The action's dictionary and the setpoint: two shapes of one command (document 003, steps 1–6).

On the bus an action is the robot state's dictionary; inside, and on the data plane, it is a
`Setpoint`: hot fields typed, everything else in its extras, untouched (R7). Those extras are what
the action's `rest_json` carries.
"""

from typing import Any

from steadyhand.ground.robot_state import (
    MAX_EPISODE_ID,
    RobotState,
    StateRejection,
    is_robot_id,
    rest_of,
)
from steadyhand.ground.setpoint import Setpoint


def setpoint_from_state(state: RobotState) -> Setpoint:
    """The setpoint a state commands; everything that is not a hot field rides in its extras."""
    return Setpoint(
        joints_deg=state.joint_positions,
        timestamp_s=state.timestamp,
        leader_timestamp_s=state.leader_timestamp,
        joint_velocities_deg_s=state.joint_velocities,
        emergency_stop=state.emergency_stop,
        episode_id=state.episode_id,
        robot_id=state.robot_id,
        extras=rest_of(state),
    )


def state_from_setpoint(setpoint: Setpoint) -> RobotState | StateRejection:
    """Rebuild the state a setpoint came from: its extras first, the typed fields laid over them.

    (Document 003, step 6.) A hot key among the extras loses to the typed field. Extras that no
    state can hold, or that claim other units than degrees, give a typed rejection.
    """
    return RobotState.from_dict(
        {
            **setpoint.extras,
            "robot_id": setpoint.robot_id,
            "timestamp": setpoint.timestamp_s,
            "leader_timestamp": setpoint.leader_timestamp_s,
            "joint_positions": setpoint.joints_deg,
            "joint_velocities": setpoint.joint_velocities_deg_s,
            "emergency_stop": setpoint.emergency_stop,
            "episode_id": setpoint.episode_id,
        }
    )


def setpoint_from_dict(value: Any) -> Setpoint | StateRejection:
    """Read an action's dictionary off the bus into a setpoint, or a typed rejection.

    An e-stop is never refused for what rides along: a dictionary whose `emergency_stop` is true
    and which is no state gives an e-stop without joints, its name and episode kept where they can
    be read.
    """
    state = RobotState.from_dict(value)
    if isinstance(state, RobotState):
        return setpoint_from_state(state)
    if isinstance(value, dict) and value.get("emergency_stop") is True:
        return _bare_estop(value)
    return state


def _bare_estop(value: dict[Any, Any]) -> Setpoint:
    """An emergency stop that carries nothing but who, when and which."""
    robot_id, timestamp_s = value.get("robot_id"), value.get("timestamp")
    episode_id = value.get("episode_id")
    return Setpoint(
        joints_deg=(),
        timestamp_s=timestamp_s if isinstance(timestamp_s, float) else 0.0,
        emergency_stop=True,
        episode_id=episode_id if type(episode_id) is int and 0 <= episode_id <= MAX_EPISODE_ID else 0,
        robot_id=robot_id if isinstance(robot_id, str) and is_robot_id(robot_id) else "",
    )
