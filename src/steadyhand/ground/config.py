"""What a robot file may say: one frozen struct per block, every default with its reason.

Key names and defaults are those of document 000 §11; `docs/configuration.md` lists them all and
a test holds page and structs together. The structs only carry values and refuse contradictions:
`edge.robot_yaml` reads the file, `core.playout` turns milliseconds into slots. Unknown keys are
refused, because a misspelt safety setting that silently keeps its default is worse than no file.
"""

import math
from typing import Annotated, Final, Literal

import msgspec

from steadyhand.ground.config_safety import RobotType, SafetyConfig
from steadyhand.ground.errors import ConfigError
from steadyhand.ground.stamps import NS_PER_MS, NS_PER_S

BUILT_IN_PERIOD_NS: Final = 10 * NS_PER_MS
"""The ServoJ period when `publish_rate_hz` names none (document 000 §11)."""

MAX_REDUNDANCY: Final = 10
"""Depth of the sender's history ring: no bundle carries more previous setpoints (document 000)."""

GRPC_PORT: Final = 50061
UDP_PORT: Final = 50063
TELEMETRY_PORT: Final = 50065
"""Documents 000 §2 and 003 fix the first two; the third is ours, the next odd number."""

NameText = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
OutputNumber = Annotated[int, msgspec.Meta(ge=0, le=15)]
PortNumber = Annotated[int, msgspec.Meta(ge=1, le=65535)]
Copies = Literal["auto"] | Annotated[int, msgspec.Meta(ge=0, le=MAX_REDUNDANCY)]


class RobotIdentity(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which arm this file describes.

    Attributes:
        id: name of the arm on the wire and on the bus; datagrams for another id are not ours.
        type: which driver speaks to it.
        model: the vendor's model name, as in the tuning table of R18.
        n_joints: number of joints, 1..32.
        joint_names: one name per joint in wire order, or empty for j1, j2, ….
        joint_limits_deg: one (lowest, highest) pair per joint in degrees, or empty where the
            controller alone guards them.
        address: IPv4 literal of the controller, as the robot's computer reaches it.
        vacuum_bits: digital outputs of a vacuum gripper, (suction, blow-off), or none.
        trigger: what makes this controller run away (R10); with `tcp_speed` the bound on the
            commanded tool speed is not optional.

    Raises:
        ConfigError: the counts disagree, a name repeats, or a limit is not lowest < highest.
    """

    id: NameText
    type: RobotType
    model: NameText
    n_joints: Annotated[int, msgspec.Meta(ge=1, le=32)] = 6
    joint_names: tuple[NameText, ...] = ()
    joint_limits_deg: tuple[tuple[float, float], ...] = ()
    address: NameText = "127.0.0.1"
    vacuum_bits: tuple[OutputNumber, OutputNumber] | None = None
    trigger: Literal["velocity_step", "joint_speed", "tcp_speed"] = "velocity_step"

    def __post_init__(self) -> None:
        """Refuse what contradicts itself."""
        for key, given in (("joint_names", self.joint_names), ("joint_limits_deg", self.joint_limits_deg)):
            if given and len(given) != self.n_joints:
                raise ConfigError(
                    f"{len(given)} entries for n_joints {self.n_joints}",
                    where=f"robot.{key}",
                    hint=f"give {self.n_joints} entries, or none",
                )
        if len(set(self.joint_names)) != len(self.joint_names):
            raise ConfigError("two joints have the same name", where="robot.joint_names")
        for index, (lowest_deg, highest_deg) in enumerate(self.joint_limits_deg):
            if not -math.inf < lowest_deg < highest_deg < math.inf:
                raise ConfigError(
                    f"[{lowest_deg:g}, {highest_deg:g}] is not [lowest, highest] in finite degrees",
                    where=f"robot.joint_limits_deg[{index}]",
                )

    @property
    def names(self) -> tuple[str, ...]:
        """Joint names in wire order, shape (n_joints,); j1, j2, … where the file gives none."""
        return self.joint_names or tuple(f"j{number}" for number in range(1, self.n_joints + 1))


class CommunicationConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The action rate and the playout buffer's knobs (document 000 §11, R2).

    For the `playout_*` keys NaN and negative values are part of the contract (they mean "off"),
    so they are carried here and never refused.

    Attributes:
        publish_rate_hz: the action rate; its inverse is cmdT. Use `period_ns`.
        playout_buffer_ms: base target delay; what rounds to no slot is passthrough.
        playout_adaptive_max_ms: ceiling of the adaptive delay; at or below the base: fixed.
        playout_underrun_estop_after_ms: post-live empty-queue time before the stop; negative or
            NaN: hold for ever; 0: the first empty tick.
        playout_wire_debug: whether health carries the queue ladder and the releases strip.
        servoj_stale_factor: periods after which the driver holds a frame instead of sending it.
        playout_clock_trim: whether the drain period follows the sender's clock (R2).

    Raises:
        ConfigError: `servoj_stale_factor` is not a positive number. No document gives that key
            an "off", and with NaN no frame would ever be stale.
    """

    publish_rate_hz: float = 50.0
    playout_buffer_ms: float = 0.0
    playout_adaptive_max_ms: float = 0.0
    playout_underrun_estop_after_ms: float = -1.0
    playout_wire_debug: bool = False
    servoj_stale_factor: float = 2.0
    playout_clock_trim: bool = True

    def __post_init__(self) -> None:
        """Refuse a stale window that could never close."""
        if not 0.0 < self.servoj_stale_factor < math.inf:
            raise ConfigError(
                f"{self.servoj_stale_factor:g} is not a positive number of periods",
                where="communication.servoj_stale_factor",
            )

    @property
    def period_ns(self) -> int:
        """CmdT, the ServoJ period: 1 / publish_rate_hz in nanoseconds, always positive.

        A rate that is zero, negative or not finite gives the built-in 10 ms (document 000 §11),
        and so does one whose period is not a whole positive number of nanoseconds any more.
        """
        period_ns = NS_PER_S / self.publish_rate_hz if self.publish_rate_hz > 0.0 else 0.0
        return round(period_ns) if 0.5 < period_ns < math.inf else BUILT_IN_PERIOD_NS


class RemoteNodeConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How operator and robot node reach each other, and how the link is hardened (document 000).

    Attributes:
        host: where the robot node listens, as the operator's end names it.
        grpc_port: control service and ordered action stream, TCP.
        udp_port: action datagrams, UDP.
        telemetry_port: where the operator's end listens for telemetry, UDP.
        transport: how setpoints travel; "grpc" is the ordered fallback.
        deadman_s: while engaged, telemetry silent for longer stops the sending of setpoints; 0
            disables.
        redundancy: previous setpoints in each datagram: "auto" follows the receiver's report
            (R4), a number fixes it.
        auth: "sealed" authenticates and encrypts every datagram (R11); "none" trusts whoever
            can reach the port.
        estop_open: whether unauthenticated version-1 e-stop frames are obeyed (R11).

    Raises:
        ConfigError: `deadman_s` is negative or not finite, or the two UDP ports are one.
    """

    host: NameText = "127.0.0.1"
    grpc_port: PortNumber = GRPC_PORT
    udp_port: PortNumber = UDP_PORT
    telemetry_port: PortNumber = TELEMETRY_PORT
    transport: Literal["udp", "grpc"] = "udp"
    deadman_s: float = 1.0
    redundancy: Copies = "auto"
    auth: Literal["sealed", "none"] = "sealed"
    estop_open: bool = False

    def __post_init__(self) -> None:
        """Refuse a deadman that cannot be judged and ports that collide on one host."""
        if not 0.0 <= self.deadman_s < math.inf:
            raise ConfigError(
                f"{self.deadman_s:g} is not a time in seconds",
                where="remote_node.deadman_s",
                hint="0 disables the deadman",
            )
        if self.udp_port == self.telemetry_port:
            raise ConfigError(
                f"is udp_port too ({self.udp_port}); both are UDP",
                where="remote_node.telemetry_port",
            )


class RobotConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole robot file.

    Attributes:
        robot: which arm; the only block without defaults.
        communication: rate and playout buffer.
        remote_node: addresses, transport, redundancy, authentication.
        safety: the guards in front of the wire (R8, R9, R18); absent: none, which only a robot
            type that the safety policy does not name may be.
    """

    robot: RobotIdentity
    communication: CommunicationConfig = CommunicationConfig()
    remote_node: RemoteNodeConfig = RemoteNodeConfig()
    safety: SafetyConfig | None = None
