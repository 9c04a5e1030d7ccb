"""The control plane's process: opens what it was handed down, serves, and ends with its launcher.

Started by the launcher (`python -m steadyhand.nodes.follower.control_plane JSON`). Ends with 0 where
it was told to, 2 for settings that cannot work; an error of ours ends it with a traceback, and the
data plane stops the arm because this heart does not beat any more.
"""

from __future__ import annotations

import asyncio
import gc
import os
import selectors
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

from steadyhand.edge.heartbeat_board import HeartbeatBoard, HeartbeatLine
from steadyhand.edge.keys import load_identity
from steadyhand.edge.realtime import ask_for
from steadyhand.edge.ring_reader import RingReader
from steadyhand.edge.segment import open_file, open_inherited
from steadyhand.ground.errors import SteadyhandError
from steadyhand.nodes.follower.control_plane_node import ControlPlane, Surroundings
from steadyhand.nodes.follower.process_settings import (
    BOARD_PERIODS_NS,
    KEPT_ALIVE,
    ControlPlaneSettings,
    control_plane_settings_from,
)
from steadyhand.nodes.follower.robot_helper import control_ports_of
from steadyhand.nodes.follower.view import Start

STOP_BEFORE_LEAVING_S: Final = 3.0
"""How long an orphan tries to have the arm stopped before it leaves as well."""


def make_loop() -> asyncio.AbstractEventLoop:
    """A loop that waits in `select`: its time-out has microseconds, where epoll's rounds to milliseconds."""
    return asyncio.SelectorEventLoop(selectors.SelectSelector())


def run(settings: ControlPlaneSettings, say: Callable[[str], None]) -> int:
    """Serve until SIGTERM, or until the launcher is dead.

    Raises:
        SteadyhandError: the settings cannot work.
    """
    with asyncio.Runner(loop_factory=make_loop) as runner:
        return runner.run(_serve(settings, say))


async def _serve(settings: ControlPlaneSettings, say: Callable[[str], None]) -> int:
    loop = asyncio.get_running_loop()
    stop, orphaned = asyncio.Event(), asyncio.Event()
    loop.set_exception_handler(lambda _, context: say(_fault_line(context)))
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    # The terminal's are the launcher's to answer.
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    plane = open_plane(settings, say)
    if settings.realtime:
        granted = ask_for(KEPT_ALIVE).lines()
        plane.description.own_lines = tuple(f"control plane: {line}" for line in granted)
    remote = settings.robot().remote_node
    try:
        await plane.start(settings.listen, remote.grpc_port, settings.socket_path)
        # What is there by now stays: a collection that walked it all would hold up the heart.
        gc.collect()
        gc.freeze()
        loop.add_reader(settings.lifeline_fd, _lifeline, loop, settings.lifeline_fd, stop, orphaned)
        say(f"control plane serves on {settings.listen}:{plane.grpc_port} and {settings.socket_path}")
        await _work_until(plane, stop)
        if orphaned.is_set():
            # Nobody is left who would start anything again: the arm is stopped before we go.
            say("the launcher is dead: StopMotion is called at the controller")
            plane.stopper.stop("the launcher is dead")
            await asyncio.to_thread(plane.stopper.wait_done, STOP_BEFORE_LEAVING_S)
    finally:
        loop.remove_reader(settings.lifeline_fd)
        await plane.close()
    return 0


async def _work_until(plane: ControlPlane, stop: asyncio.Event) -> None:
    """Work until told to stop; work that ends by itself is an error of ours."""
    working = asyncio.ensure_future(plane.work())
    stopping = asyncio.ensure_future(stop.wait())
    await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
    if working.done():
        stopping.cancel()
        working.result()
    working.cancel()


def _lifeline(loop: asyncio.AbstractEventLoop, fd: int, stop: asyncio.Event, orphaned: asyncio.Event) -> None:
    """Readable means closed: the launcher writes nothing into it and cannot help closing it."""
    loop.remove_reader(fd)
    orphaned.set()
    stop.set()


def open_plane(settings: ControlPlaneSettings, say: Callable[[str], None]) -> ControlPlane:
    """Open what was handed down. Raises SteadyhandError where something of it cannot be used."""
    config = settings.robot()
    identity = load_identity(
        config.remote_node.auth,
        key_file=settings.key_file,
        tls_certificate=settings.tls_certificate,
        tls_key=settings.tls_key,
        tls_authority=settings.tls_authority,
    )
    prepare_port, stop_port = control_ports_of(config)
    board = open_inherited(settings.board_fd, "heartbeat board")
    local = socket.socket(fileno=settings.local_fd)
    local.setblocking(False)
    around = Surroundings(
        local=local,
        open_ring=partial(open_ring, Path(settings.ring_path)),
        wake_fd=settings.wake_fd,
        line=HeartbeatLine(board, settings.line, os.getpid()),
        board=HeartbeatBoard(board, BOARD_PERIODS_NS),
        prepare_port=prepare_port,
        stop_port=stop_port,
        say=say,
    )
    return ControlPlane(config, settings.policy(), identity, around)


def open_ring(path: Path, start: Start) -> RingReader:
    """A reader of the launcher's ring. Raises InputError as long as no data plane has set it up."""
    segment = open_file(path)
    try:
        return RingReader(segment, start=start)
    finally:
        # The mapping stays.
        segment.close()


def _fault_line(context: dict[str, Any]) -> str:
    """A mistake of ours in a callback: said whole, and served on, since an e-stop may come next."""
    error = context.get("exception")
    told = "" if error is None else "".join(traceback.format_exception(error)).rstrip()
    return f"PROGRAM FAULT: {context.get('message', '')}\n{told}".rstrip()


def _say(line: str) -> None:
    print(f"control plane: {line}", flush=True)  # noqa: T201 - the launcher reads it


def main(argument: str) -> int:
    """Read the settings and run; one line and exit code 2 for settings that cannot work."""
    try:
        return run(control_plane_settings_from(argument), _say)
    except SteadyhandError as error:
        print(f"control plane: {error}", file=sys.stderr)  # noqa: T201 - the launcher reads it
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
