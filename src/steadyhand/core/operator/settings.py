"""What an operator's end is told once, from the robot file: which arm, which wire, which windows."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from steadyhand.ground.config import RobotConfig
from steadyhand.ground.stamps import NS_PER_MS, ns_from_s

STALE_PERIODS: Final = 3
STALE_FLOOR_NS: Final = 30 * NS_PER_MS
"""Document 000 §11: max(3 periods, 30 ms)."""


class OperatorSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything `OperatorCore` is built from.

    Attributes:
        robot_id: the arm it leads; telemetry of another is not ours.
        n_joints: joints of that arm; a setpoint with another number would stop it there.
        period_ns: the action rate's period, and the pause between two copies of an e-stop.
        transport: how setpoints travel; e-stops take both ways whatever it says.
        sealed: whether datagrams are sealed with the session's keys (R11), or plain in a lab.
        redundancy: previous setpoints in each datagram, "auto" or a number (R4).
        deadman_ns: telemetry silent for longer, while engaged, ends the sending; 0 disables.
    """

    robot_id: str
    n_joints: int
    period_ns: int
    transport: Literal["udp", "grpc"] = "udp"
    sealed: bool = True
    redundancy: Literal["auto"] | int = "auto"
    deadman_ns: int = ns_from_s(1.0)

    @property
    def stale_tick_ns(self) -> int:
        """Age beyond which a setpoint is backlog, not traffic (document 000 §11)."""
        return max(STALE_PERIODS * self.period_ns, STALE_FLOOR_NS)

    @classmethod
    def from_config(cls, config: RobotConfig) -> OperatorSettings:
        """Translate a robot file: the same one that the follower reads."""
        remote = config.remote_node
        return cls(
            robot_id=config.robot.id,
            n_joints=config.robot.n_joints,
            period_ns=config.communication.period_ns,
            transport=remote.transport,
            sealed=remote.auth == "sealed",
            redundancy=remote.redundancy,
            deadman_ns=ns_from_s(remote.deadman_s),
        )
