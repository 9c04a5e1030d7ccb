"""Where an operator's end sends, listens and asks; each can be set apart from the others.

Apart, so that a proxy may stand in one path alone, and since a robot behind a router announces
other ports than it has.
"""

from __future__ import annotations

import socket
from ipaddress import AddressValueError, IPv4Address
from typing import Final, TypeAlias

import msgspec

from steadyhand.ground.config import RobotConfig
from steadyhand.ground.errors import InputError

Address: TypeAlias = tuple[str, int]

ANY_HOST: Final = "0.0.0.0"  # noqa: S104 - telemetry is authenticated, and comes from wherever the robot is
MAX_PORT: Final = 65_535


class OperatorAddresses(msgspec.Struct, frozen=True, kw_only=True):
    """The three ways between an operator and a follower.

    Attributes:
        actions: where action datagrams go.
        control: where the control service is asked.
        telemetry_listen: where telemetry is listened for; port 0 is any that is free, an empty host
            is loopback for a follower on this host and any interface for another.
        telemetry_host: what the follower is told to send telemetry to; empty: whoever asks.
        telemetry_port: likewise; 0: the port that is listened on.
    """

    actions: Address
    control: Address
    telemetry_listen: Address = ("", 0)
    telemetry_host: str = ""
    telemetry_port: int = 0

    @classmethod
    def from_config(cls, config: RobotConfig) -> OperatorAddresses:
        """As the robot file has them."""
        remote = config.remote_node
        return cls(
            actions=(remote.host, remote.udp_port),
            control=(remote.host, remote.grpc_port),
            telemetry_listen=("", remote.telemetry_port),
        )


def parse_address(text: str, where: str) -> Address:
    """`HOST:PORT`, or `PORT` of this host.

    Raises:
        InputError: not of that shape.
    """
    host, _, port_text = text.strip().rpartition(":")
    port = int(port_text) if port_text.isascii() and port_text.isdigit() and len(port_text) <= 5 else -1
    if not 0 <= port <= MAX_PORT:
        raise InputError(f"{text!r} is not HOST:PORT", where=where, hint="for example 192.168.1.20:50063")
    return host or "127.0.0.1", port


def resolve(address: Address) -> Address:
    """The IPv4 address of a named host.

    Raises:
        InputError: nobody knows the name.
    """
    host, port = address
    try:
        found = socket.getaddrinfo(host, port, socket.AF_INET, socket.SOCK_DGRAM)
    except OSError as error:
        raise InputError(
            f"the host {host!r} is not known: {error.strerror}",
            where="remote_node.host",
            hint="give its address, or ask whoever runs the network",
        ) from None
    return str(found[0][4][0]), port


def listening_host(listen: Address, actions: Address) -> str:
    """Loopback for a follower on this host, so that nobody else is even heard; else any interface.

    Args:
        listen: as configured.
        actions: where action datagrams go, resolved.
    """
    if listen[0]:
        return listen[0]
    try:
        local = IPv4Address(actions[0]).is_loopback
    except AddressValueError:
        local = False
    return "127.0.0.1" if local else ANY_HOST


def address_text(address: Address) -> str:
    """An address as a person writes it."""
    return f"{address[0]}:{address[1]}"
