"""A lane: one direction of one path between operator and follower, with its link and its account.

There are four: datagrams (`udp`) and the control service (`control`), each `to_follower` and
`to_operator`. Each has a link and dice of its own and is killed and revived on its own.
"""

from random import Random
from typing import Final, Literal, get_args

import msgspec

from steadyhand.core.link import Link, LinkProfile
from steadyhand.core.link.profile import MAX_MS

PathName = Literal["udp", "control"]
Direction = Literal["to_follower", "to_operator"]

PATHS: Final[tuple[PathName, ...]] = get_args(PathName)
DIRECTIONS: Final[tuple[Direction, ...]] = get_args(Direction)


class Lane:
    """One direction of one path.

    Attributes:
        path: `udp` or `control`.
        direction: `to_follower` or `to_operator`.
        profile: what its link obeys, as it was asked for.
        alive: false while it is killed.
    """

    __slots__ = ("_changes", "_link", "_seed", "alive", "direction", "path", "profile")

    def __init__(
        self, path: PathName, direction: Direction, profile: LinkProfile, *, seed: int, now_ns: int
    ) -> None:
        self.path = path
        self.direction = direction
        self.alive = True
        self._seed = seed
        self._changes = -1
        self.set_link(profile, now_ns)

    def set_link(self, profile: LinkProfile, now_ns: int) -> None:
        """Obey `profile` from `now_ns` on; its outages and its trace count from there.

        What is under way keeps its fate: the new link is asked only about what comes after.
        """
        self.profile = profile
        self._changes += 1
        rng = dice(self._seed, self.path, self.direction, self._changes)
        played = stream_profile(profile) if self.path == "control" else profile
        self._link = Link(played, rng, start_ns=now_ns)

    def begin(self, now_ns: int) -> None:
        """Begin the present link anew, with the dice of the lane's first: `now_ns` is where a run begins."""
        self._changes = -1
        self.set_link(self.profile, now_ns)

    def kill(self) -> None:
        """Shut the door: nothing enters from here on; what has entered arrives (as in an outage)."""
        self.alive = False

    def revive(self) -> None:
        """Open the door again."""
        self.alive = True

    def send(self, now_ns: int, size_bytes: int) -> tuple[int, ...]:
        """When copies of what is sent now arrive; none where the link loses it.

        Raises:
            ValueError: `now_ns` went back.
        """
        return self._link.send(now_ns, size_bytes)


def dice(seed: int, path: PathName, direction: Direction, changes: int) -> Random:
    """The dice of a lane's link, the `changes`-th one it was given.

    The first link of commands takes the plain seed, as `simulate` does: the same scenario has the
    same dice in virtual time and over sockets. Every other one is drawn from seed and place.
    """
    if path == "udp" and direction == "to_follower" and changes == 0:
        return Random(seed)
    return Random(f"{seed} {path} {direction} {changes}")


def stream_profile(profile: LinkProfile) -> LinkProfile:
    """What of a link a TCP stream feels, seen from above the kernel: delay, jitter, rate, outages.

    Loss, doubling and reordering have no meaning there: the kernel repairs them below. An outage
    holds the stream and a bottleneck's queue drops nothing, since what it dropped would be sent again.
    """
    return msgspec.structs.replace(
        profile,
        loss=0.0,
        ge_enter_bad=0.0,
        ge_loss_good=0.0,
        duplicate=0.0,
        reorder=False,
        outage_burst=True,
        queue_ms=MAX_MS,
        queue_bytes=0,
    )
