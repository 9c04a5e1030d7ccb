"""How the proxy stands, as one value: what `status` answers and what a client reads."""

import msgspec

from steadyhand.edge.impairment.pipe import ByteCounters
from steadyhand.edge.impairment.schedule import Counters
from steadyhand.edge.lateness import LatenessSummary


class UdpLaneStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One direction of the datagrams: the link it obeys, whether it is alive, its account."""

    link: str
    alive: bool
    counters: Counters


class ControlLaneStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One direction of the control path."""

    link: str
    alive: bool
    counters: ByteCounters


class FlowStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One flow of datagrams.

    Attributes:
        name: `udp` (actions) or `telemetry`.
        listen: where it is listened for.
        target: where it goes.
        sources: senders known now.
        strangers: datagrams in the target's name from elsewhere, dropped.
        kernel_dropped: datagrams the kernel dropped before they were read; in no other counter.
    """

    name: str
    listen: str
    target: str
    sources: int
    strangers: int
    kernel_dropped: int


class ControlStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The control path: see `TcpRelay`."""

    listen: str
    target: str
    connections: int
    opened: int
    refused: int
    resets: int


class ProxyStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Everything.

    Attributes:
        seed: of the links' dice.
        uptime_s: since the proxy opened.
        udp: the datagram lanes by direction.
        control: the control lanes by direction.
        flows: the flows of datagrams.
        relay: the control path, where there is one.
        lateness: from when a datagram was due to when it was handed to the kernel.
        steps_left: steps of the scenario still to come.
        played: what scenarios have done so far, the newest twenty, as «5.000 s: kill both».
    """

    seed: int
    uptime_s: float
    udp: dict[str, UdpLaneStatus]
    control: dict[str, ControlLaneStatus]
    flows: tuple[FlowStatus, ...]
    relay: ControlStatus | None
    lateness: LatenessSummary
    steps_left: int
    played: tuple[str, ...]
