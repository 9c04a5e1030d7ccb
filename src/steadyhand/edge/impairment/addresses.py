"""Where the proxy listens and where it sends on: `LISTEN:TARGET`, each `[HOST:]PORT`.

It listens on loopback alone: an open relay to whatever stands behind it is not a test bench.
"""

import socket
from ipaddress import IPv4Address
from typing import Final, TypeAlias

import msgspec

from steadyhand.ground.errors import InputError

Address: TypeAlias = tuple[str, int]

LOOPBACK: Final = "127.0.0.1"
MAX_PORT: Final = 65_535
SHAPE: Final = "LISTEN:TARGET, each [HOST:]PORT, for example 9000:127.0.0.2:9001"


class Forward(msgspec.Struct, frozen=True, kw_only=True):
    """What comes to `listen` goes on to `target`; port 0 to listen on is any that is free."""

    listen: Address
    target: Address


def parse_forward(text: str, where: str) -> Forward:
    """The two addresses of `[HOST:]PORT:[HOST:]PORT`; a host left out is 127.0.0.1.

    Raises:
        InputError: not of that shape, not an IPv4 address, or not loopback to listen on.
    """
    pieces = ["127.0.0.1" if piece == "localhost" else piece for piece in text.strip().split(":")]
    match pieces:
        case [listen_port, target_port]:
            listen, target = (LOOPBACK, listen_port), (LOOPBACK, target_port)
        case [listen_port, target_host, target_port] if _is_number(listen_port):
            listen, target = (LOOPBACK, listen_port), (target_host, target_port)
        case [listen_host, listen_port, target_port]:
            listen, target = (listen_host, listen_port), (LOOPBACK, target_port)
        case [listen_host, listen_port, target_host, target_port]:
            listen, target = (listen_host, listen_port), (target_host, target_port)
        case _:
            raise InputError(f"{text!r} is not two addresses", where=where, hint=SHAPE)
    if not _host(listen[0], where).is_loopback:
        raise InputError(f"{listen[0]} is not loopback", where=where, hint="listen on 127.x.x.x")
    _host(target[0], where)
    return Forward(
        listen=(listen[0], _port(listen[1], where, least=0)),
        target=(target[0], _port(target[1], where, least=1)),
    )


def address_text(address: Address) -> str:
    """An address as a person writes it."""
    return f"{address[0]}:{address[1]}"


def bound_socket(kind: socket.SocketKind, address: Address, where: str) -> socket.socket:
    """A non-blocking socket at `address`.

    Raises:
        InputError: the port is taken or may not be used, naming it.
    """
    if not 0 <= address[1] <= MAX_PORT:
        raise InputError(f"{address[1]} is not a port from 0 to {MAX_PORT}", where=where)
    bound = socket.socket(socket.AF_INET, kind)
    try:
        if kind is socket.SOCK_STREAM:
            # A restart need not wait for connections in TIME_WAIT; a second listener is still refused.
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        if kind is socket.SOCK_STREAM:
            bound.listen(128)
        bound.setblocking(False)
    except OSError as error:
        bound.close()
        raise InputError(
            f"{address_text(address)} cannot be listened on: {error.strerror}", where=where
        ) from None
    return bound


def address_of(bound: socket.socket) -> Address:
    """Where a socket listens, once the kernel has chosen."""
    host, port = bound.getsockname()[:2]
    return str(host), int(port)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _host(text: str, where: str) -> IPv4Address:
    try:
        return IPv4Address(text)
    except ValueError:
        raise InputError(f"{text!r} is not an IPv4 address", where=where, hint=SHAPE) from None


def _port(text: str, where: str, *, least: int) -> int:
    port = int(text) if _is_number(text) and len(text) <= 5 else -1
    if not least <= port <= MAX_PORT:
        raise InputError(f"{text!r} is not a port from {least} to {MAX_PORT}", where=where, hint=SHAPE)
    return port
