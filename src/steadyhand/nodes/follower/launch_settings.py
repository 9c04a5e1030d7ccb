"""What `steadyhand follower` was told, and what each process is told of it."""

from __future__ import annotations

import os
from typing import Final

import msgspec

from steadyhand import __version__
from steadyhand.core.safety.latch import StopCause
from steadyhand.edge.robot_yaml import apply_overrides, load_robot
from steadyhand.ground.config import RobotConfig
from steadyhand.nodes.follower.process_settings import (
    ANY_HOST,
    CONTROL_PLANE_LINE,
    DATA_PLANE_LINE,
    ControlPlaneSettings,
    DataPlaneSettings,
)
from steadyhand.nodes.follower.runtime_files import FollowerCard, RuntimeFiles
from steadyhand.nodes.follower.shared_parts import SharedParts

DATA_PLANE: Final = ("-m", "steadyhand.nodes.follower.data_plane_process")
CONTROL_PLANE: Final = ("-m", "steadyhand.nodes.follower.control_plane")
"""What our interpreter runs for each."""


class LauncherSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The command's options; those of the processes' own settings, by the same names.

    Attributes:
        control_plane: what is run as the control plane; tests of the launcher alone have their own.
    """

    robot_file: str
    overrides: dict[str, str] = msgspec.field(default_factory=dict)
    policy_file: str | None = None
    listen: str = ANY_HOST
    realtime: bool = True
    key_file: str | None = None
    tls_certificate: str | None = None
    tls_key: str | None = None
    tls_authority: str | None = None
    control_plane: tuple[str, ...] = CONTROL_PLANE

    def robot(self) -> RobotConfig:
        """The robot file with the overrides applied. Raises ConfigError as `load_robot` does."""
        config = load_robot(self.robot_file)
        return apply_overrides(config, self.overrides) if self.overrides else config

    def data_plane_arguments(
        self, parts: SharedParts, files: RuntimeFiles, stopped_by: StopCause | None
    ) -> tuple[str, ...]:
        """The data plane's command line behind the interpreter's name."""
        settings = DataPlaneSettings(
            robot_file=os.path.abspath(self.robot_file),
            overrides=self.overrides,
            policy_file=_absolute(self.policy_file),
            listen=self.listen,
            ring_path=str(files.ring),
            board_fd=parts.board.fileno(),
            line=DATA_PLANE_LINE,
            local_fd=parts.data_end.fileno(),
            wake_fd=parts.wake_fd,
            lifeline_fd=parts.lifeline_fd,
            realtime=self.realtime,
            stopped_by=stopped_by,
        )
        return (*DATA_PLANE, settings.to_argument())

    def control_plane_arguments(self, parts: SharedParts, files: RuntimeFiles) -> tuple[str, ...]:
        """The control plane's command line behind the interpreter's name."""
        settings = ControlPlaneSettings(
            robot_file=os.path.abspath(self.robot_file),
            overrides=self.overrides,
            policy_file=_absolute(self.policy_file),
            listen=self.listen,
            ring_path=str(files.ring),
            board_fd=parts.board.fileno(),
            line=CONTROL_PLANE_LINE,
            local_fd=parts.control_end.fileno(),
            wake_fd=parts.wake_fd,
            lifeline_fd=parts.lifeline_fd,
            realtime=self.realtime,
            socket_path=str(files.socket),
            key_file=_absolute(self.key_file),
            tls_certificate=_absolute(self.tls_certificate),
            tls_key=_absolute(self.tls_key),
            tls_authority=_absolute(self.tls_authority),
        )
        return (*self.control_plane, settings.to_argument())

    def card(self, config: RobotConfig, files: RuntimeFiles) -> FollowerCard:
        """What stands in the runtime folder from the start; the processes' numbers are filled in."""
        return FollowerCard(
            robot_id=config.robot.id,
            pid=os.getpid(),
            version=__version__,
            robot_file=os.path.abspath(self.robot_file),
            robot_address=config.robot.address,
            listen=self.listen,
            grpc_port=config.remote_node.grpc_port,
            udp_port=config.remote_node.udp_port,
            ring_path=str(files.ring),
            socket_path=str(files.socket),
        )


def _absolute(path: str | None) -> str | None:
    return None if path is None else os.path.abspath(path)
