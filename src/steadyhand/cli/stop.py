"""`steadyhand stop`: the e-stop from a terminal of the robot's host."""

from typing import TYPE_CHECKING, Final

from steadyhand.ground.errors import SteadyhandError

if TYPE_CHECKING:
    # Nothing is loaded before the signal is out that the signal does not need.
    from steadyhand.nodes.follower.runtime_files import RunningFollower

CALL_WITHIN_S: Final = 2.0


class NotStopped(SteadyhandError):  # noqa: N818 - it is named as what happened
    """An arm may still move. Exit code 1."""


def stop(*robots: str) -> None:
    """Stop the arms of this user's followers on this host: an emergency stop, latched until a reset.

    All of them, unless some are named. First a signal to the data plane, which needs nothing else to be
    alive; where that shows nothing, a call to the control service. Exit code 0 only where every arm was
    seen stopped; anything else says so, and then the robot's own e-stop button is the way.

    Parameters
    ----------
    robots
        Only these, by the robot's id.
    """
    from steadyhand.edge.segment import runtime_folder
    from steadyhand.nodes.follower.local_stop import stop_all
    from steadyhand.nodes.follower.runtime_files import find_followers

    found = [one for one in find_followers(runtime_folder()) if one.alive]
    chosen = [one for one in found if not robots or one.card.robot_id in robots]
    missing = sorted(set(robots) - {one.card.robot_id for one in chosen})
    failed = [f"no follower runs for {robot_id}" for robot_id in missing]
    if not chosen and not missing:
        failed = ["no follower runs"]
    for one, why in zip(chosen, stop_all(chosen, _call), strict=True):
        if why:
            failed.append(f"{one.card.robot_id} was NOT seen to stop: {why}; press the robot's e-stop button")
        else:
            print(f"{one.card.robot_id}: stopped", flush=True)
    if failed:
        raise NotStopped("; ".join(failed))


def _call(follower: "RunningFollower") -> str:
    """EmergencyStop over the follower's unix socket; why it failed, or ""."""
    # gRPC takes longer to load than the signal to stop the arm.
    from steadyhand.edge.control_service import ControlClient, ControlError

    with ControlClient.unix(follower.card.socket_path) as client:
        try:
            reply = client.emergency_stop("steadyhand stop", timeout_s=CALL_WITHIN_S)
        except ControlError as error:
            return str(error)
    return reply.reason if reply.outcome == "refused" else ""
