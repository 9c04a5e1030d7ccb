"""In the control plane's place, for tests of launcher and data plane: beats, and calls nobody.

What comes over the local socket it prints. It ends at SIGTERM or with its lifeline.
"""

import os
import select
import signal
import socket
import sys
import time

from steadyhand.edge.heartbeat_board import HeartbeatLine
from steadyhand.edge.segment import open_inherited
from steadyhand.nodes.follower import local_link
from steadyhand.nodes.follower.process_settings import control_plane_settings_from


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    settings = control_plane_settings_from(sys.argv[1])
    line = HeartbeatLine(open_inherited(settings.board_fd, "board"), settings.line, os.getpid())
    end = socket.socket(fileno=settings.local_fd)
    end.setblocking(False)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    say("standing in")
    while True:
        line.beat(time.monotonic_ns())
        readable, _, _ = select.select([end.fileno(), settings.lifeline_fd], [], [], 0.05)
        if settings.lifeline_fd in readable:
            sys.exit(0)
        while (message := local_link.receive_answer(end)) is not None:
            say(repr(message))
