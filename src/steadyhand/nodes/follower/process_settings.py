"""What the launcher tells its two children: one JSON object on argv each, and inherited descriptors.

Nothing secret is among it: `argv` is for every user of the machine to read. Keys are named by file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from steadyhand.core.safety.latch import StopCause
from steadyhand.edge.config_reading import load_config
from steadyhand.edge.heartbeat_board import DATA_PLANE_PERIOD_NS, OTHERS_PERIOD_NS
from steadyhand.edge.realtime import RealtimeRequest
from steadyhand.edge.robot_yaml import apply_overrides, load_robot
from steadyhand.ground.config import RobotConfig
from steadyhand.ground.config_safety import SafetyPolicy, StrictRequirement

DATA_PLANE_LINE: Final = 0
CONTROL_PLANE_LINE: Final = 1
LAUNCHER_LINE: Final = 2
BOARD_PERIODS_NS: Final = (DATA_PLANE_PERIOD_NS, OTHERS_PERIOD_NS, OTHERS_PERIOD_NS)
"""The heartbeat board's lines, in their order (R14)."""

PROCESS_NAMES: Final = ("data plane", "control plane", "launcher")
"""Who beats on which line."""

KEPT_ALIVE: Final = RealtimeRequest(
    priority=10,
    lock_memory=False,
    keep_heap=False,
    timer_slack_ns=None,
    shallow_idle=False,
    quiet_collector=False,
)
"""For launcher and control plane: a busy machine must not make their heartbeats stop the arm. Below
everything that is punctual."""

SHIPPED_POLICY: Final = SafetyPolicy(
    strict_robot_types={
        "fairino": StrictRequirement(required=("joint_speed", "stream_shaper", "divergence_guard"))
    }
)
"""What `config/safety_policy.yaml` says, for a follower that is given no other: an arm of metal is
never driven without its guards because a file was not at hand."""

ANY_HOST: Final = "0.0.0.0"  # noqa: S104 - what a follower listens on unless told; R11 guards what comes in


class NodeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What both children are told.

    Attributes:
        robot_file: the robot file, absolute.
        overrides: of `--set`, path in the file to YAML text.
        policy_file: which guards a robot type cannot be without; None is `SHIPPED_POLICY`.
        listen: IPv4 literal of the interface to listen on.
        ring_path: the ring's file, made by the launcher.
        board_fd: the heartbeat board, inherited.
        line: this process's own line on it.
        local_fd: this process's end of the local socket, inherited.
        wake_fd: eventfd that the data plane rings after each record, inherited.
        lifeline_fd: reads end-of-file when the launcher dies, however it dies; inherited.
        realtime: whether to ask the machine for a punctual process.
    """

    robot_file: str
    overrides: dict[str, str] = msgspec.field(default_factory=dict)
    policy_file: str | None = None
    listen: str = ANY_HOST
    ring_path: str
    board_fd: int
    line: int
    local_fd: int
    wake_fd: int
    lifeline_fd: int
    realtime: bool = True

    def robot(self) -> RobotConfig:
        """The robot file with the overrides applied. Raises ConfigError as `load_robot` does."""
        config = load_robot(self.robot_file)
        return apply_overrides(config, self.overrides) if self.overrides else config

    def policy(self) -> SafetyPolicy:
        """The safety policy. Raises ConfigError where its file cannot be used."""
        return read_policy(self.policy_file)

    def to_argument(self) -> str:
        """The JSON object for argv."""
        return msgspec.json.encode(self).decode()


class DataPlaneSettings(NodeSettings, frozen=True, kw_only=True):
    """What the data plane is told.

    Attributes:
        stopped_by: the cause it comes up latched with; None at the launcher's first start.
    """

    stopped_by: StopCause | None = None


class ControlPlaneSettings(NodeSettings, frozen=True, kw_only=True):
    """What the control plane is told.

    Attributes:
        socket_path: of the unix socket for this host's `status` and `stop`.
        key_file: the pre-shared key's file.
        tls_certificate: this node's certificate, PEM.
        tls_key: its key, PEM.
        tls_authority: whose client certificates are believed, PEM.
    """

    socket_path: str
    key_file: str | None = None
    tls_certificate: str | None = None
    tls_key: str | None = None
    tls_authority: str | None = None


def read_policy(policy_file: str | Path | None) -> SafetyPolicy:
    """The policy in a file, or the shipped one. Raises ConfigError where the file cannot be used."""
    return SHIPPED_POLICY if policy_file is None else load_config(policy_file, SafetyPolicy)


data_plane_settings_from: Final = msgspec.json.Decoder(DataPlaneSettings).decode
control_plane_settings_from: Final = msgspec.json.Decoder(ControlPlaneSettings).decode
