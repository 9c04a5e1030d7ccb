"""Where a controller listens. The vendor fixes the numbers; a simulated robot gets an address of its own."""

import ipaddress
from typing import Final

import msgspec

from steadyhand.ground.errors import InputError


class FairinoPorts(msgspec.Struct, frozen=True, kw_only=True):
    """The three conversations of one controller.

    Attributes:
        xmlrpc: TCP, calls.
        state: TCP, the CNDE state feed.
        servoj: UDP, setpoints.
    """

    xmlrpc: int = 20003
    state: int = 20005
    servoj: int = 20007


VENDOR_PORTS: Final = FairinoPorts()


def require_address(address: str) -> str:
    """The controller's address, as an IPv4 literal.

    Raises:
        InputError: it is a name or no address: looking a name up blocks, which no port may.
    """
    try:
        return str(ipaddress.IPv4Address(address))
    except ValueError:
        raise InputError(
            f"{address!r} is not an IPv4 address",
            where="controller address",
            hint="names are not looked up, since that blocks; give the number, for example 192.168.58.2",
        ) from None
