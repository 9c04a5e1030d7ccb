"""The setpoint: one commanded pose of the arm, as it travels from the leader to the wire."""

from enum import IntEnum
from typing import Any

import msgspec


class StampSource(IntEnum):
    """Whose clock `Setpoint.sender_stamp_s` was read from.

    The leader's device and the host that built the action may be two machines, so their stamps
    are never compared with each other (document 000 §4, "sender_ts").
    """

    BUILD = 0
    LEADER = 1


class Setpoint(msgspec.Struct, frozen=True, kw_only=True):
    """One commanded pose with its provenance. Immutable: R7 forbids touching a received value.

    Attributes:
        joints_deg: commanded joint angles, shape (n_joints,), degrees.
        timestamp_s: when the action was built, seconds of the building host's clock.
        leader_timestamp_s: when the leader's device was read, seconds of that device's host;
            None where the leader does not stamp.
        joint_velocities_deg_s: commanded joint speeds, shape (n_joints,) or empty, °/s.
        emergency_stop: this action asks for an emergency stop; it never enters a queue.
        episode_id: which emergency this is (R11); 0 for an ordinary setpoint.
        robot_id: the arm it is meant for.
        extras: free-form remainder of the action, JSON values only.
    """

    joints_deg: tuple[float, ...]
    timestamp_s: float
    leader_timestamp_s: float | None = None
    joint_velocities_deg_s: tuple[float, ...] = ()
    emergency_stop: bool = False
    episode_id: int = 0
    robot_id: str = ""
    extras: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def stamp_source(self) -> StampSource:
        """Which clock `sender_stamp_s` comes from."""
        return StampSource.BUILD if self.leader_timestamp_s is None else StampSource.LEADER

    @property
    def sender_stamp_s(self) -> float:
        """The sender-local stamp that timing health is judged on, seconds."""
        leader_s = self.leader_timestamp_s
        return self.timestamp_s if leader_s is None else leader_s
