"""The bad network of a run: a `steadyhand impair` process, told what to do, its memory of datagrams kept."""

import re
import threading
from collections.abc import Sequence
from typing import Final

import msgspec

from steadyhand.edge.impairment import ImpairmentClient
from steadyhand.edge.impairment.client import Paths
from steadyhand.edge.impairment.memory import Packet
from steadyhand.ground.config import RobotConfig
from steadyhand.ground.errors import InputError
from steadyhand.nodes.demo.place import Place
from steadyhand.simulation.script import Script, killed

READY: Final = "impair ready:"
_PLACES: Final = re.compile(r"(udp|telemetry|control|admin) (\d+\.\d+\.\d+\.\d+):(\d+)")

READ_EVERY_S: Final = 1.0
"""The proxy remembers a minute; reading a second's worth of it takes a fraction of a millisecond."""

JOIN_S: Final = 5.0


class NetworkPlaces(msgspec.Struct, frozen=True, kw_only=True):
    """Where the bad network listens."""

    udp: tuple[str, int]
    telemetry: tuple[str, int]
    control: tuple[str, int]
    admin: tuple[str, int]


def network_arguments(robot: RobotConfig, place: Place, *, link: str, gaps: str, seed: int) -> Sequence[str]:
    """The command that stands between this run's operator and its follower, on any ports that are free."""
    remote = robot.remote_node
    targets = {
        "--udp": f"{place.follower}:{remote.udp_port}",
        "--telemetry": f"{place.operator}:{remote.telemetry_port}",
        "--control": f"{place.follower}:{remote.grpc_port}",
    }
    forwards = [
        word for option, target in targets.items() for word in (option, f"{place.network}:0:{target}")
    ]
    return ["impair", *forwards, "--link", link, "--gaps", gaps, "--seed", str(seed), "--admin", "0"]


def places_in(ready_line: str) -> NetworkPlaces:
    """Where it listens, from the line it says when it is ready.

    Raises:
        ValueError: the line names not all of them.
    """
    found = {name: (host, int(port)) for name, host, port in _PLACES.findall(ready_line)}
    try:
        return msgspec.convert(found, NetworkPlaces)
    except msgspec.ValidationError as error:
        raise ValueError(f"{ready_line!r} is not the impairment proxy's line") from error


class BadNetwork:
    """Its control port, for one run.

    Args:
        places: where it listens.

    Attributes:
        places: as given.
        packets: datagrams towards the follower so far, oldest first; only ever appended to.
        missed: those it had forgotten before they were read.
    """

    def __init__(self, places: NetworkPlaces) -> None:
        self.places = places
        self.packets: list[Packet] = []
        self.missed = 0
        self._client = ImpairmentClient(places.admin[1], host=places.admin[0])
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="packets", daemon=True)
        self._thread.start()

    def begin(self, script: Script, duration_s: float) -> None:
        """The run begins now: the links with their first dice, the script with its first step."""
        self._client.begin()
        span = killed(script, duration_s)
        if span is not None:
            self._client.play([(span.begin_s, "kill both"), (span.end_s, "revive both")])

    def kill(self, path: Paths) -> None:
        """Let nothing more enter on a path."""
        self._client.kill(path)

    def revive(self) -> None:
        """Let enter again, on every path."""
        self._client.revive()

    def close(self) -> None:
        """Read the rest of the memory, and hang up. A second call does nothing."""
        if not self._ended.is_set():
            self._ended.set()
            self._thread.join(JOIN_S)
            self._client.close()

    def _follow(self) -> None:
        """Read the memory now and then, over a connection of its own; a dead proxy ends it."""
        try:
            with ImpairmentClient(self.places.admin[1], host=self.places.admin[0]) as client:
                cursor = 0
                while not self._ended.wait(READ_EVERY_S):
                    cursor = self._read(client, cursor)
                self._read(client, cursor)
        except InputError:
            # The process is gone: whoever looks after the children says so, with its last lines.
            return

    def _read(self, client: ImpairmentClient, cursor: int) -> int:
        while True:
            answer = client.packets("to_follower", cursor)
            self.packets += answer.packets
            self.missed += answer.missed
            if answer.next == cursor or not answer.packets:
                return answer.next
            cursor = answer.next
