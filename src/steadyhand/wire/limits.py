"""How much a datagram may carry, and the error of a sender that has more.

1232 bytes are what IPv6's smallest MTU (1280) leaves below the IPv6 and UDP headers: a datagram
of that size is never fragmented on any path, and a fragment lost would lose the whole.
"""

from typing import Final

from steadyhand.ground.errors import InputError

#: UDP payload, seal included (document 000 §11 and R11).
MAX_DATAGRAM_BYTES: Final = 1232
#: The bundle of a version 2 frame: its count byte and its entries (document 000 §11).
ACTION_BUNDLE_BUDGET_BYTES: Final = 1200
#: How many previous setpoints the sender keeps for its bundles (document 000 §11).
BUNDLE_RING_DEPTH: Final = 10
#: The current setpoint and the whole ring.
MAX_BUNDLE_ENTRIES: Final = BUNDLE_RING_DEPTH + 1


class FrameTooLarge(InputError):  # noqa: N818 - it is named as what happened, and read as such
    """A sender's value does not fit one datagram; it is never sent oversize and never cut."""

    def __init__(self, what: str, *, size_bytes: int, room_bytes: int) -> None:
        """Say what is too large, how large it is and how much room there was."""
        self.size_bytes = size_bytes
        self.room_bytes = room_bytes
        super().__init__(
            f"{what} needs {size_bytes} bytes, a datagram has {room_bytes} for it",
            hint="carry less in extras",
        )


def within_datagram(datagram: bytes, what: str) -> bytes:
    """Return `datagram` where it fits MAX_DATAGRAM_BYTES, else raise FrameTooLarge about `what`."""
    if len(datagram) > MAX_DATAGRAM_BYTES:
        raise FrameTooLarge(what, size_bytes=len(datagram), room_bytes=MAX_DATAGRAM_BYTES)
    return datagram
