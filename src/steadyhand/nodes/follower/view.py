"""What the control plane knows of the data plane: its records, every one, and who it is."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Literal

import msgspec

from steadyhand.core.safety.latch import EngageState, StopCause
from steadyhand.edge.ring_reader import RingReader
from steadyhand.ground.errors import InputError
from steadyhand.ground.measured_arm import MeasuredArm
from steadyhand.nodes.follower.records import TickRecord, decode_record

RECORDS_A_TURN: Final = 64
"""Read at a time; after a stall the loop has its other work to do as well."""

Start = Literal["new", "first"]

STOPPED: Final = EngageState.STOPPED.value


class DataPlaneView:
    """The newest of each thing the records told.

    Attributes:
        record: the newest record, None before the first.
        state_json: the newest telemetry state.
        measured: the newest measured arm.
        stopped_by: what stopped the arm, None unless it is stopped.
    """

    def __init__(self) -> None:
        self.record: TickRecord | None = None
        self.state_json = b""
        self.measured: MeasuredArm | None = None
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def stopped(self) -> bool:
        """Whether the arm is known to be stopped."""
        return self.record is not None and self.record.engage == STOPPED

    @property
    def stopped_by(self) -> StopCause | None:
        """Why, where it is."""
        return None if self.record is None else self.record.stopped_by

    def take(self, record: TickRecord) -> None:
        """One record further."""
        self.record = record
        self.state_json = record.state_json or self.state_json
        if record.measured is not None:
            self.measured = record.measured
        for future in self._waiting:
            if not future.done():
                future.set_result(None)
        self._waiting.clear()

    async def until(self, holds: Callable[[DataPlaneView], bool], within_s: float) -> bool:
        """Wait for a record after which something holds; whether it came in time."""
        try:
            async with asyncio.timeout(within_s):
                while not holds(self):
                    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                    self._waiting.append(future)
                    await future
        except TimeoutError:
            return holds(self)
        return True


class RecordsReader:
    """Reads every record off the ring as it comes, and counts what it missed.

    Args:
        open_ring: opens the ring, given where to start; InputError as long as no data plane has set it up.
        wake_fd: the eventfd that the data plane rings.
        take: is given each record, in order.

    Attributes:
        unreadable: records that were none: a data plane of another version.
    """

    def __init__(
        self, open_ring: Callable[[Start], RingReader], wake_fd: int, take: Callable[[TickRecord], None]
    ) -> None:
        self.unreadable = 0
        self._open_ring = open_ring
        self._wake_fd = wake_fd
        self._take = take
        self._reader: RingReader | None = None

    @property
    def missed(self) -> int:
        """Records that were overwritten before they were read: their events are lost."""
        return 0 if self._reader is None else self._reader.missed

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Read from now on, whenever a record is published. What is there already is past."""
        self._open("new")
        loop.add_reader(self._wake_fd, self._readable, loop)

    def detach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Read no more."""
        loop.remove_reader(self._wake_fd)
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _open(self, start: Start) -> None:
        with suppress(InputError):
            self._reader = self._open_ring(start)

    def _readable(self, loop: asyncio.AbstractEventLoop) -> None:
        with suppress(BlockingIOError):
            os.eventfd_read(self._wake_fd)
        if self._reader is None:
            # The first data plane has set it up just now: nothing of it is past.
            self._open("first")
        self._read(loop)

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        for _ in range(RECORDS_A_TURN):
            found = None if self._reader is None else self._reader.next_record()
            if found is None:
                return
            try:
                record = decode_record(found.payload)
            except msgspec.MsgspecError:
                self.unreadable += 1
                continue
            self._take(record)
        loop.call_soon(self._read, loop)
