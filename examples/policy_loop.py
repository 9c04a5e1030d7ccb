"""Close a loop around an arm: read its state, decide, send one setpoint, at the action rate.

    python examples/policy_loop.py config/robots/fairino_fr3_remote_node.yaml --key robot.key

The "policy" here only nods with the wrist around where the arm stood. Put yours in its place: it is
given the measured joints and the time, and answers with joints, both in degrees.
"""

import argparse
import math
import time
from collections.abc import Sequence

import steadyhand


def policy(start_deg: Sequence[float], t_s: float) -> list[float]:
    """Nod with joint 5, gently and from rest."""
    nod_deg = 4.0 * (1.0 - math.cos(2.0 * math.pi * 0.5 * t_s))
    return [*start_deg[:4], start_deg[4] + nod_deg, *start_deg[5:]]


def main() -> None:
    """Engage, loop, and leave the arm at rest."""
    options = argparse.ArgumentParser(description="Close a loop around an arm.")
    options.add_argument("robot", help="the robot file, the same one the follower reads")
    options.add_argument("--key", help="file of the pre-shared key")
    options.add_argument("--seconds", type=float, default=10.0)
    options.add_argument("--set", action="append", default=[], help="PATH=VALUE for the robot file")
    given = options.parse_args()
    settings = dict(setting.split("=", 1) for setting in given.set)

    with steadyhand.connect(given.robot, key=given.key, settings=settings) as arm:
        arm.prepare()
        state = arm.state
        if state is None:
            raise SystemExit("the arm has not said where it is")
        start_deg = state.joint_positions
        period_s, begin_s = 1.0 / arm.rate_hz, time.monotonic()
        for tick in range(round(given.seconds * arm.rate_hz)):
            # An absolute grid: sleeping one period a turn would drift by the time the turn takes.
            time.sleep(max(0.0, begin_s + tick * period_s - time.monotonic()))
            arm.send(policy(start_deg, tick * period_s))
        report = arm.report
        print(f"{report.lead['sent']} setpoints, newest state {report.silent_ms:.0f} ms old")
        for event in arm.events():
            print(event.text)


if __name__ == "__main__":
    main()
