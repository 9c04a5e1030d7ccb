"""What a running follower leaves in the runtime folder, for whoever asks on this host.

`follower-<id>.ring.shm`, its records, held by the launcher for as long as it lives; beside it
`follower-<id>.json`, who and where it is, and `follower-<id>.sock`, the control service for this user.
A follower that was killed leaves files; that nobody holds the ring tells that they mean nothing.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

import msgspec

from steadyhand.edge.ring_reader import RingReader
from steadyhand.edge.segment import held, open_file
from steadyhand.ground.errors import InputError
from steadyhand.nodes.follower.records import TickRecord, decode_record

PREFIX: Final = "follower-"
RING_SUFFIX: Final = ".ring.shm"
CARD_SUFFIX: Final = ".json"
SOCKET_SUFFIX: Final = ".sock"

LONGEST_STEM: Final = 40
"""Characters: a unix socket's whole path has 107."""


class FollowerCard(msgspec.Struct, frozen=True, kw_only=True):
    """`follower-<id>.json`: who runs, and where it listens.

    Attributes:
        robot_id: of the arm.
        pid: of the launcher.
        data_plane_pid: 0 while it is being started.
        control_plane_pid: likewise.
        started_wall_s: when the launcher started, for display.
        version: of steadyhand.
        robot_file: the robot file.
        robot_address: of the controller.
        listen: the interface it listens on.
        grpc_port: of the control service.
        udp_port: of action datagrams.
        ring_path: of its records.
        socket_path: of its control service for this user.
        deaths: how often the data plane and the control plane died.
    """

    robot_id: str
    pid: int
    data_plane_pid: int = 0
    control_plane_pid: int = 0
    started_wall_s: float = 0.0
    version: str = ""
    robot_file: str = ""
    robot_address: str = ""
    listen: str = ""
    grpc_port: int
    udp_port: int
    ring_path: str
    socket_path: str
    deaths: tuple[int, int] = (0, 0)


class RuntimeFiles(msgspec.Struct, frozen=True, kw_only=True):
    """The paths of one follower."""

    ring: Path
    card: Path
    socket: Path

    @classmethod
    def of(cls, folder: Path, robot_id: str) -> RuntimeFiles:
        """Where a robot's files lie in `folder`; its name may hold anything."""
        base = str(folder / (PREFIX + _stem(robot_id)))
        return cls(
            ring=Path(base + RING_SUFFIX), card=Path(base + CARD_SUFFIX), socket=Path(base + SOCKET_SUFFIX)
        )

    def write_card(self, card: FollowerCard) -> None:
        """Replace the card in one step: a reader sees the old one or the new one, whole."""
        descriptor, name = tempfile.mkstemp(prefix=".card-", dir=self.card.parent)
        try:
            with os.fdopen(descriptor, "wb") as draft:
                draft.write(msgspec.json.encode(card))
            os.replace(name, self.card)
        except BaseException:
            with suppress(OSError):
                os.unlink(name)
            raise

    def remove(self) -> None:
        """Take card and socket away; the ring's file goes with its segment."""
        for path in (self.card, self.socket):
            path.unlink(missing_ok=True)


class RunningFollower(msgspec.Struct, frozen=True, kw_only=True):
    """A follower as found: its card, whether it lives, and its newest record.

    Attributes:
        card: what it says of itself.
        alive: whether anybody holds its ring.
        record: the newest one; None before the first.
    """

    card: FollowerCard
    alive: bool
    record: TickRecord | None


def find_followers(folder: Path) -> list[RunningFollower]:
    """Every follower that has a card in `folder`, running or killed, by robot id. Changes nothing."""
    found = []
    for path in folder.glob(f"{PREFIX}*{CARD_SUFFIX}"):
        card = read_card(path)
        if card is not None:
            ring = Path(card.ring_path)
            found.append(RunningFollower(card=card, alive=held(ring), record=newest_record(ring)))
    return sorted(found, key=lambda follower: follower.card.robot_id)


def read_card(path: Path) -> FollowerCard | None:
    """A card; None where there is none that can be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=FollowerCard)
    except (OSError, msgspec.MsgspecError):
        return None


def newest_record(ring_path: Path) -> TickRecord | None:
    """The newest record in a ring; None where there is no ring, or none in it yet."""
    try:
        segment = open_file(ring_path)
    except InputError:
        return None
    try:
        reader = RingReader(segment, start="first")
    except InputError:
        segment.close()
        return None
    try:
        record = reader.latest_record()
        return None if record is None else decode_record(record.payload)
    except msgspec.MsgspecError:
        return None
    finally:
        reader.close()
        segment.close()


def _stem(robot_id: str) -> str:
    quoted = quote(robot_id, safe="")
    if len(quoted) <= LONGEST_STEM:
        return quoted
    return f"{quoted[:24]}-{hashlib.sha256(robot_id.encode()).hexdigest()[:12]}"
