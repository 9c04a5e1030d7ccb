"""The four lanes together: what a command does to them, and how they stand. Told the time."""

from collections.abc import Mapping
from typing import Generic, TypeVar, assert_never

from steadyhand.core.link import LinkProfile
from steadyhand.edge.impairment.commands import Kill, Revive, SetLink
from steadyhand.edge.impairment.lane import DIRECTIONS, PATHS, Direction, Lane, PathName
from steadyhand.edge.impairment.pipe import ByteCounters
from steadyhand.edge.impairment.schedule import Schedule
from steadyhand.edge.impairment.status import ControlLaneStatus, UdpLaneStatus

RouteT = TypeVar("RouteT")


class Network(Generic[RouteT]):
    """The network between operator and follower.

    Attributes:
        lanes: by path and direction.
        schedule: the datagrams under way.
    """

    def __init__(self, links: Mapping[Direction, LinkProfile], *, seed: int, now_ns: int) -> None:
        self.lanes: dict[PathName, dict[Direction, Lane]] = {
            path: {
                direction: Lane(path, direction, links[direction], seed=seed, now_ns=now_ns)
                for direction in DIRECTIONS
            }
            for path in PATHS
        }
        self.schedule: Schedule[RouteT] = Schedule(self.lanes["udp"])

    def apply(self, action: SetLink | Kill | Revive, now_ns: int) -> None:
        """Do what was asked to every lane it names."""
        for path in action.paths:
            for direction in action.directions:
                lane = self.lanes[path][direction]
                match action:
                    case SetLink(profile=profile):
                        lane.set_link(profile, now_ns)
                    case Kill():
                        lane.kill()
                    case Revive():
                        lane.revive()
                    case _:
                        assert_never(action)

    def begin(self, now_ns: int) -> None:
        """Begin every link anew."""
        for lanes in self.lanes.values():
            for lane in lanes.values():
                lane.begin(now_ns)

    def udp_status(self) -> dict[str, UdpLaneStatus]:
        """The datagram lanes as they stand."""
        return {
            direction: UdpLaneStatus(
                link=link_name(lane.profile), alive=lane.alive, counters=self.schedule.counters[direction]
            )
            for direction, lane in self.lanes["udp"].items()
        }

    def control_status(self, counters: Mapping[Direction, ByteCounters]) -> dict[str, ControlLaneStatus]:
        """The control lanes as they stand; `counters` are the relay's."""
        return {
            direction: ControlLaneStatus(
                link=link_name(lane.profile),
                alive=lane.alive,
                counters=counters.get(direction, ByteCounters()),
            )
            for direction, lane in self.lanes["control"].items()
        }


def link_name(profile: LinkProfile) -> str:
    """What a link is called in a status."""
    return profile.name or "ideal"
