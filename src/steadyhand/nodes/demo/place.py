"""Where a demo's processes live: four loopback addresses of its own, ports the kernel says are free, and
the robot file that follower and operator share.

The vendor's ports are fixed, so every simulated controller needs an address to itself; a whole block is
drawn for each run, so that several demos do not meet.
"""

import secrets
import socket
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

import msgspec

from steadyhand.core.controller.kinds import ARM_OF
from steadyhand.edge.robots.fairino.ports import VENDOR_PORTS
from steadyhand.edge.segment import SUFFIX, Segment, create_file, held
from steadyhand.ground.config import CommunicationConfig, RemoteNodeConfig, RobotConfig, RobotIdentity
from steadyhand.ground.config_safety import (
    DivergenceGuardConfig,
    JointLimitsConfig,
    JointSpeedConfig,
    SafetyConfig,
    StreamShaperConfig,
)
from steadyhand.ground.errors import InputError
from steadyhand.ground.motion import Motion
from steadyhand.nodes.follower.runtime_files import RuntimeFiles

FIRST_NET: Final = 210
NETS: Final = 44
"""127.210.x.y to 127.253.x.y: out of the way of what people, and other tests, type."""

TRIES: Final = 50
MOST_AT_ONCE: Final = 16
CLAIM_BYTES: Final = 64

DEMO_ROBOT: Final = RobotConfig(
    robot=RobotIdentity(id="demo", type="fairino", model="fr3"),
    communication=CommunicationConfig(
        publish_rate_hz=100.0,
        playout_buffer_ms=200.0,
        playout_adaptive_max_ms=500.0,
        playout_underrun_estop_after_ms=20.0,
    ),
    safety=SafetyConfig(
        stream_shaper=StreamShaperConfig(v_max_deg_s=130.0, a_max_deg_s2=500.0),
        divergence_guard=DivergenceGuardConfig(lag_s=0.080, margin_deg=3.0),
        joint_limits=JointLimitsConfig(),
        joint_speed=JointSpeedConfig(max_deg_s=150.0),
    ),
)
"""An FR3 behind a wide-area link, as `config/robots/fairino_fr3_remote_node.yaml` has it (R18)."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where everything of one demo is.

    Attributes:
        controller: address of the simulated controller; its ports are the vendor's.
        follower: address the follower listens on, ports as in its robot file.
        network: address the bad network listens on; ports are of its own choosing.
        operator: address the operator's end listens on for telemetry.
    """

    controller: str
    follower: str
    network: str
    operator: str


def draw_place() -> Place:
    """Four addresses of a block in which no controller listens yet.

    Raises:
        InputError: none is free, or this machine has one loopback address only.
    """
    for _ in range(TRIES):
        net = FIRST_NET + secrets.randbelow(NETS)
        block = f"127.{net}.{secrets.randbelow(254) + 1}"
        place = Place(
            controller=f"{block}.1", follower=f"{block}.2", network=f"{block}.3", operator=f"{block}.4"
        )
        if _is_free(place.controller):
            return place
    raise InputError(
        "no loopback address is free for a simulated controller",
        where="demo",
        hint="it needs addresses like 127.210.1.1, which Linux has",
    )


def _is_free(address: str) -> bool:
    ports = ((socket.SOCK_STREAM, VENDOR_PORTS.xmlrpc), (socket.SOCK_STREAM, VENDOR_PORTS.state))
    for kind, port in (*ports, (socket.SOCK_DGRAM, VENDOR_PORTS.servoj)):
        with socket.socket(socket.AF_INET, kind) as probe:
            try:
                probe.bind((address, port))
            except OSError:
                return False
    return True


def free_port(address: str, kind: socket.SocketKind) -> int:
    """A port that is free now; on an address of the run's own nobody else takes it meanwhile."""
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])


def check_robot(robot: RobotConfig, motion: Motion, where: str) -> None:
    """Refuse a robot the simulated controller is not, and a motion its arm cannot make.

    Raises:
        InputError: with the option.
    """
    if robot.robot.type != "fairino" or robot.robot.model not in ARM_OF:
        known = ", ".join(ARM_OF)
        raise InputError(
            f"the demo simulates no {robot.robot.type} {robot.robot.model}",
            where=where,
            hint=f"type fairino, model one of {known}",
        )
    if robot.remote_node.transport != "udp":
        raise InputError("the demo's bad network is one of datagrams", where=where, hint="transport: udp")
    limits = ARM_OF[robot.robot.model].limits
    if not motion.n_joints == limits.n_joints == robot.robot.n_joints:
        raise InputError(
            f"{motion.n_joints} joints, and the arm has {limits.n_joints}",
            where="--motion",
            hint="use a motion of a six-axis arm",
        )
    for time_s, pose_deg in zip(motion.times_s, motion.poses_deg, strict=True):
        outside = limits.first_outside(pose_deg)
        if outside is not None:
            lower_deg, upper_deg = limits.lower_deg[outside], limits.upper_deg[outside]
            raise InputError(
                f"joint {outside + 1} is at {pose_deg[outside]:g}° at {time_s:g} s; "
                f"{robot.robot.model} reaches {lower_deg:g}° to {upper_deg:g}°",
                where="--motion",
            )


def place_robot(robot: RobotConfig, place: Place) -> RobotConfig:
    """The robot file of this run: the same arm at this run's addresses."""
    telemetry_port = free_port(place.operator, socket.SOCK_DGRAM)
    udp_port = free_port(place.follower, socket.SOCK_DGRAM)
    while udp_port == telemetry_port:
        udp_port = free_port(place.follower, socket.SOCK_DGRAM)
    remote: RemoteNodeConfig = msgspec.structs.replace(
        robot.remote_node,
        host=place.follower,
        grpc_port=free_port(place.follower, socket.SOCK_STREAM),
        udp_port=udp_port,
        telemetry_port=telemetry_port,
    )
    identity: RobotIdentity = msgspec.structs.replace(robot.robot, address=place.controller)
    return msgspec.structs.replace(robot, robot=identity, remote_node=remote)


def claim_robot_id(base: str, folder: Path) -> tuple[str, Segment]:
    """`base`, or `base-2`, `base-3` …: the first by which nothing runs on this machine, and the claim to it.

    The claim keeps other demos that are being set up from the same name; close it at the run's end.

    Raises:
        InputError: as many run already.
    """
    for number in range(1, MOST_AT_ONCE + 1):
        name = base if number == 1 else f"{base}-{number}"
        if held(RuntimeFiles.of(folder, name).ring):
            continue
        with suppress(InputError):
            return name, create_file(folder / f"demo-{quote(name, safe='')}{SUFFIX}", CLAIM_BYTES)
    raise InputError(f"{MOST_AT_ONCE} demos run already", where="demo")
