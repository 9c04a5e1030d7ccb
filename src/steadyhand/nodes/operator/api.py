"""`steadyhand.connect`: from a robot file and a key to an arm that can be led."""

import getpass
import os
import secrets
import socket
import time
from collections.abc import Mapping
from pathlib import Path

from steadyhand.core.operator import OperatorCore, OperatorSettings
from steadyhand.edge.control_service.agreement import agreed_hash
from steadyhand.edge.control_service.client import ControlClient
from steadyhand.edge.keys import load_identity
from steadyhand.edge.robot_yaml import apply_overrides, load_robot
from steadyhand.ground.config import RobotConfig
from steadyhand.nodes.operator.addresses import OperatorAddresses, resolve
from steadyhand.nodes.operator.arm import Arm
from steadyhand.nodes.operator.control_link import ControlLink, SessionAsk
from steadyhand.nodes.operator.engine import OperatorEngine
from steadyhand.nodes.operator.grpc_link import GrpcLink
from steadyhand.nodes.operator.loop import OperatorLoop
from steadyhand.nodes.operator.sockets import OperatorSockets

CONNECT_TIMEOUT_S = 10.0


def connect(
    robot: str | Path | RobotConfig,
    *,
    key: str | Path | None = None,
    tls_certificate: str | Path | None = None,
    tls_key: str | Path | None = None,
    tls_authority: str | Path | None = None,
    settings: Mapping[str, str] | None = None,
    addresses: OperatorAddresses | None = None,
    operator: str | None = None,
    take_over: bool = False,
    timeout_s: float = CONNECT_TIMEOUT_S,
) -> Arm:
    """Open a session with the follower of one arm. Nothing moves; `stream` or `prepare` engages.

    Args:
        robot: the robot file, the same one the follower reads, or its content.
        key: file of the pre-shared key.
        tls_certificate: with the next two, in the place of a key: this side's certificate,
        tls_key: its private key,
        tls_authority: and the authority whose certificates are believed.
        settings: keys of the robot file to set: {"remote_node.host": "10.0.0.7"}.
        addresses: where to send, listen and ask; the robot file's where not given.
        operator: who leads, told to whoever is refused because of it; user, host and process where
            not given.
        take_over: take the session from an operator whose stream is not engaged.
        timeout_s: how long to wait for the follower.

    Returns:
        The arm; use it in a `with` block, or `close` it.

    Raises:
        InputError: a file, a host or a port that cannot be used.
        Refused: the follower said no: another operator leads, another key, another robot file.
        LinkLost: nobody answers.
    """
    config = robot if isinstance(robot, RobotConfig) else load_robot(robot)
    if settings:
        config = apply_overrides(config, settings)
    identity = load_identity(
        config.remote_node.auth,
        key_file=_text(key),
        tls_certificate=_text(tls_certificate),
        tls_key=_text(tls_key),
        tls_authority=_text(tls_authority),
    )
    where = addresses or OperatorAddresses.from_config(config)
    link = GrpcLink(ControlClient.tcp(*resolve(where.control), identity))
    try:
        arm = arm_over(config, where, link, operator=operator or operator_name(), take_over=take_over)
    except BaseException:
        link.close()
        raise
    try:
        arm.connected(timeout_s, patient=False)
    except BaseException:
        arm.close()
        raise
    return arm


def arm_over(
    config: RobotConfig, addresses: OperatorAddresses, link: ControlLink, *, operator: str, take_over: bool
) -> Arm:
    """An arm over any control link, its engine running. The arm owns the link from here on.

    Raises:
        InputError: a host nobody knows, or a port that is taken.
    """
    core = OperatorCore(OperatorSettings.from_config(config), first_episode_id=secrets.randbits(64) or 1)
    sockets = OperatorSockets(addresses)
    ask = SessionAsk(
        attempt=0,
        robot_id=config.robot.id,
        operator=operator,
        config_hash=agreed_hash(config),
        take_over=take_over,
        telemetry_host=addresses.telemetry_host,
        telemetry_port=addresses.telemetry_port or sockets.telemetry_port,
    )
    engine = OperatorEngine(OperatorLoop(core, sockets, link, ask, wall_s=time.time))
    engine.start()
    return Arm(config, engine)


def operator_name() -> str:
    """Who leads: user, host and process, so that two of one person are two."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = f"user {os.getuid()}"
    return f"{user}@{socket.gethostname()}:{os.getpid()}"[:64]


def _text(path: str | Path | None) -> str | None:
    return None if path is None else str(path)
