"""The follower: all that lies between the socket and the wire at the robot, as one pure object."""

from steadyhand.core.follower.core import FollowerCore
from steadyhand.core.follower.settings import FollowerSettings

__all__ = ["FollowerCore", "FollowerSettings"]
