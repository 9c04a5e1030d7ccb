"""What a follower is told once, from the robot file: which arm, which buffer, who may speak."""

from __future__ import annotations

from typing import Literal

import msgspec

from steadyhand.core.playout import PlayoutConfig
from steadyhand.core.safety.policy import NO_POLICY, build_envelope
from steadyhand.core.safety.requirements import ArmFigures
from steadyhand.ground.arms import ARMS, ArmModel
from steadyhand.ground.config import RobotConfig
from steadyhand.ground.config_safety import SafetyConfig, SafetyPolicy
from steadyhand.ground.kinematics import Chain


class FollowerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything `FollowerCore` is built from.

    Attributes:
        robot_id: frames for another id are not ours.
        joint_names: shape (n_joints,).
        period_ns: cmdT, the nominal period; also what the controller is told.
        playout: the buffer's settings; None is passthrough.
        stale_factor: periods after which passthrough holds a setpoint instead of sending it.
        safety: the robot file's `safety:` block.
        arm: what the envelope has to know of the arm beside it.
        policy: which guards its robot type cannot be without.
        transport: which way setpoints come; the other is refused, e-stops excepted.
        sealed: whether only authenticated datagrams are believed (R11).
        estop_open: whether a version 1 e-stop is obeyed from anyone (R11).
    """

    robot_id: str
    joint_names: tuple[str, ...]
    period_ns: int
    playout: PlayoutConfig | None
    stale_factor: float
    safety: SafetyConfig
    arm: ArmFigures
    policy: SafetyPolicy = NO_POLICY
    transport: Literal["udp", "grpc"] = "udp"
    sealed: bool = True
    estop_open: bool = False

    @property
    def n_joints(self) -> int:
        """Joints of the arm."""
        return len(self.joint_names)

    @classmethod
    def from_config(cls, config: RobotConfig, policy: SafetyPolicy = NO_POLICY) -> FollowerSettings:
        """Translate a robot file.

        Raises:
            ConfigError: the safety block would run the arm half-protected; says what would do.
        """
        robot, communication, remote = config.robot, config.communication, config.remote_node
        settings = cls(
            robot_id=robot.id,
            joint_names=robot.names,
            period_ns=communication.period_ns,
            playout=PlayoutConfig.from_communication(communication),
            stale_factor=communication.servoj_stale_factor,
            safety=config.safety or SafetyConfig(),
            arm=ArmFigures(
                robot_type=robot.type,
                joint_names=robot.names,
                period_ns=communication.period_ns,
                limits_deg=robot.joint_limits_deg or _published_limits_deg(config),
                chain=_chain_of(config),
                judged_by_tcp_speed=robot.trigger == "tcp_speed",
            ),
            policy=policy,
            transport=remote.transport,
            sealed=remote.auth == "sealed",
            estop_open=remote.estop_open,
        )
        # Built once here only to refuse early, with the file's name still at hand.
        build_envelope(settings.safety, settings.arm, settings.policy)
        return settings


def _chain_of(config: RobotConfig) -> Chain | None:
    """Kinematics of a shipped arm, where the file's joints are that arm's."""
    model = _shipped(config)
    return None if model is None else model.chain


def _published_limits_deg(config: RobotConfig) -> tuple[tuple[float, float], ...]:
    """What the vendor publishes for a shipped arm; a file with limits of its own knows better."""
    model = _shipped(config)
    if model is None:
        return ()
    return tuple(zip(model.limits.lower_deg, model.limits.upper_deg, strict=True))


def _shipped(config: RobotConfig) -> ArmModel | None:
    model = ARMS.get(config.robot.model)
    return model if model is not None and len(model.joint_names) == config.robot.n_joints else None
