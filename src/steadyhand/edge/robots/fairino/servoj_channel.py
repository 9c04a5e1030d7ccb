"""The UDP socket that setpoints leave by, and what became of each."""

import errno
import os
import socket
from typing import Final

from steadyhand.edge.robots.fairino.servoj_udp import COUNT_MODULUS
from steadyhand.edge.robots.reports import TAKEN, WriteReport, broken, lost

REPLIES_PER_POLL: Final = 32
REPLY_BYTES: Final = 4096

_PASSING: Final = frozenset(
    {
        errno.EAGAIN,
        errno.EWOULDBLOCK,
        errno.ENOBUFS,
        errno.ENOMEM,
        errno.EINTR,
        errno.ENETDOWN,
        errno.ENETUNREACH,
        errno.EHOSTDOWN,
        errno.EHOSTUNREACH,
    }
)
"""What may be over at the next period. Three in a row stop the arm anyway."""


class ServojChannel:
    """A connected, non-blocking datagram socket.

    Connected, so that the kernel hands back "port unreachable": nobody listens there, which no
    further frame will mend. That answer belongs to a frame which was already reported as taken, so it
    is kept until the next write, which then fails for good and is not sent.

    Args:
        address: IPv4 literal of the controller.
        port: its UDP port.

    Raises:
        OSError: no socket could be opened.
    """

    def __init__(self, address: str, port: int) -> None:
        self.sent = 0
        self.replies = 0
        """What the controller sent back. Its meaning is not documented, so nothing is made of it."""
        self.count = 0
        self.unreachable = False
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.setblocking(False)
            self._socket.connect((address, port))
        except OSError:
            self._socket.close()
            raise

    def fileno(self) -> int:
        """To wake up for replies and for refusals."""
        return self._socket.fileno()

    def write(self, frame: bytes) -> WriteReport:
        """Send one frame. The count advances only when the socket took it."""
        if self.unreachable:
            return broken(_NOBODY)
        try:
            sent = self._socket.send(frame)
        except ConnectionRefusedError:
            self.unreachable = True
            return broken(_NOBODY)
        except OSError as error:
            detail = os.strerror(error.errno or errno.EIO).lower()
            return lost(detail) if error.errno in _PASSING else broken(detail)
        if sent != len(frame):
            return lost(f"{sent} of {len(frame)} bytes left")
        self.sent += 1
        self.count = (self.count + 1) % COUNT_MODULUS
        return TAKEN

    def drain(self) -> None:
        """Empty the receive buffer, a bounded amount; take note where nobody listens."""
        for _ in range(REPLIES_PER_POLL):
            try:
                self._socket.recv(REPLY_BYTES)
                self.replies += 1
            except ConnectionRefusedError:
                self.unreachable = True
                return
            except OSError:
                return

    def close(self) -> None:
        """Give the socket back."""
        self._socket.close()


_NOBODY: Final = "nobody listens on the controller's setpoint port"
