"""What the controller reports, in the vendor's words where it has them."""

from enum import IntEnum

import msgspec


class RobotMode(IntEnum):
    """The `robot_mode` field, and the argument of `Mode`."""

    AUTOMATIC = 0
    MANUAL = 1


class ControllerState(msgspec.Struct, frozen=True, kw_only=True):
    """One state frame's worth of truth. Enough for the vendor's default recipe together with a chain.

    Attributes:
        time_ns: when this was the state.
        joints_deg: where the arm is, shape (n_joints,).
        joint_velocities_deg_s: how fast it moves, shape (n_joints,).
        main_code: fault, 0 for none.
        sub_code: which.
        emergency_stop: 1 from the button's press to the power cycle.
        enabled: `rbt_enable_state`. 1 as soon as RobotEnable has returned, also inside the window in
            which setpoints are answered 101: only an accepted setpoint proves readiness.
        robot_mode: automatic or manual.
        motion_done: 1 when the arm stands and nothing waits to be executed.
        streaming: between ServoMoveStart and ServoMoveEnd.
        motion_queue_len: accepted frames not yet begun.
        last_servoj_target_deg: the last accepted setpoint; the arm's pose before the first.
        servoj_cmd_num: how many setpoints were accepted since power-on.
        last_frame_id: the caller's number of the last accepted setpoint.
    """

    time_ns: int
    joints_deg: tuple[float, ...]
    joint_velocities_deg_s: tuple[float, ...]
    main_code: int
    sub_code: int
    emergency_stop: int
    enabled: int
    robot_mode: RobotMode
    motion_done: int
    streaming: bool
    motion_queue_len: int
    last_servoj_target_deg: tuple[float, ...]
    servoj_cmd_num: int
    last_frame_id: int
