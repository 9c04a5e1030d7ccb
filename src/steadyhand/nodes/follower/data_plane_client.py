"""The control plane's end of the local socket: every request is answered or given up on in time."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Final, assert_never

import msgspec

from steadyhand.core.follower.inputs import ControlCommand, Reply
from steadyhand.edge.clock import SYSTEM_CLOCK, MonotonicClock
from steadyhand.nodes.follower import local_link
from steadyhand.nodes.follower.local_link import (
    Answered,
    Ask,
    CloseSession,
    Hello,
    OpenSession,
    StopWanted,
    StreamAction,
    ToDataPlane,
)

ANSWER_WITHIN_S: Final = 0.5
"""The data plane reads its requests every tick; one that was silent for so long is not coming back."""

SILENT: Final = Reply(outcome="refused", reason="the data plane does not answer; it is being restarted")


class DataPlaneClient:
    """Asks the data plane, and is told by it.

    Args:
        end: of the local socket, not blocking.
        on_stop_wanted: the blocking half of a stop is wanted, now.
        on_hello: a data plane came up, or told a new control plane who it is.
        clock: of the requests' stamps.
        answer_within_s: after that it is taken to be silent.

    Attributes:
        unreadable: messages that were none.
    """

    def __init__(
        self,
        end: socket.socket,
        *,
        on_stop_wanted: Callable[[StopWanted], None],
        on_hello: Callable[[Hello], None],
        clock: MonotonicClock = SYSTEM_CLOCK,
        answer_within_s: float = ANSWER_WITHIN_S,
    ) -> None:
        self.unreadable = 0
        self._answer_within_s = answer_within_s
        self._end = end
        self._on_stop_wanted = on_stop_wanted
        self._on_hello = on_hello
        self._clock = clock
        # An answer to the control plane that ran before this one must not be taken for one of ours.
        self._request_id = clock.now_ns()
        self._waiting: dict[int, asyncio.Future[Reply]] = {}

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Listen from now on."""
        loop.add_reader(self._end, self._readable, loop)

    def detach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Listen no more; whoever waits is told that nobody answers."""
        loop.remove_reader(self._end)
        for future in self._waiting.values():
            if not future.done():
                future.set_result(SILENT)

    async def ask(self, command: ControlCommand) -> Reply:
        """Have one command carried out."""
        return await self._answered(
            Ask(request_id=self._next_id(), sent_ns=self._clock.now_ns(), command=command)
        )

    async def open_session(
        self, *, session_id: int, command_key: bytes, operator: str, take_over: bool
    ) -> Reply:
        """Have a session opened."""
        request = OpenSession(
            request_id=self._next_id(),
            sent_ns=self._clock.now_ns(),
            session_id=session_id,
            command_key=command_key,
            operator=operator,
            take_over=take_over,
        )
        return await self._answered(request)

    async def close_session(self, operator: str) -> Reply:
        """Have it closed."""
        request = CloseSession(request_id=self._next_id(), sent_ns=self._clock.now_ns(), operator=operator)
        return await self._answered(request)

    def stream_action(self, session_id: int, payload: bytes) -> bool:
        """Hand on one action of the ordered stream; False where the socket takes none."""
        action = StreamAction(sent_ns=self._clock.now_ns(), session_id=session_id, payload=payload)
        return local_link.send(self._end, action)

    def _next_id(self) -> int:
        self._request_id += 1
        return self._request_id

    async def _answered(self, request: Ask | OpenSession | CloseSession) -> Reply:
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting[request.request_id] = future
        try:
            if not self._sent(request):
                return SILENT
            async with asyncio.timeout(self._answer_within_s):
                return await future
        except TimeoutError:
            return SILENT
        finally:
            del self._waiting[request.request_id]

    def _sent(self, request: ToDataPlane) -> bool:
        return local_link.send(self._end, request)

    def _readable(self, loop: asyncio.AbstractEventLoop) -> None:
        taken = 0
        while True:
            try:
                message = local_link.receive_answer(self._end)
            except msgspec.MsgspecError:
                self.unreadable += 1
                continue
            if message is None:
                break
            taken += 1
            self._take(message)
        if not taken and self._is_over():
            # The launcher has closed the other end: it is over, and a closed socket is readable for ever.
            loop.remove_reader(self._end)

    def _take(self, message: local_link.ToControlPlane) -> None:
        match message:
            case Answered(request_id=request_id, reply=reply):
                future = self._waiting.get(request_id)
                if future is not None and not future.done():
                    future.set_result(reply)
            case StopWanted():
                self._on_stop_wanted(message)
            case Hello():
                self._on_hello(message)
            case _:
                assert_never(message)

    def _is_over(self) -> bool:
        try:
            return not self._end.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True
