"""`steadyhand status`: what is running on this host, and how it stands."""

import time
from typing import Annotated

from cyclopts import Parameter

from steadyhand.ground.errors import SteadyhandError


class NothingRuns(SteadyhandError):  # noqa: N818 - it is named as what was found
    """No follower runs. Exit code 1, so that a script can ask."""


def status(
    *robots: str,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Tell of every follower of this user on this host: its state, what stopped it, who leads.

    Reads what the followers publish, and asks none of them, so it works whatever of them is dead.
    Exit code 0 where one runs, 1 where none does.

    Parameters
    ----------
    robots
        Only these, by the robot's id.
    json
        Everything, as one JSON list.
    """
    from msgspec.json import encode, format

    from steadyhand.edge.segment import runtime_folder
    from steadyhand.nodes.follower.runtime_files import find_followers
    from steadyhand.view.follower_status import follower_status, status_table
    from steadyhand.view.terminal import report_console

    found = [one for one in find_followers(runtime_folder()) if not robots or one.card.robot_id in robots]
    now_ns = time.monotonic_ns()
    told = [follower_status(one, now_ns) for one in found]
    if json:
        print(format(encode(told)).decode())
    elif told:
        report_console().print(status_table(told))
    if not any(one["running"] for one in told):
        named = f" for {', '.join(robots)}" if robots else ""
        raise NothingRuns(f"no follower runs{named}")
