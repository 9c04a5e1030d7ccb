"""Lead an arm through a motion: a person's reaches, or a recording of your own.

    python examples/lead_a_motion.py config/robots/fairino_fr3_remote_node.yaml --key robot.key
    python examples/lead_a_motion.py robot.yaml --key robot.key --motion recording.csv

A follower has to run for that robot file (`steadyhand follower`), and a controller behind it
(`steadyhand controller` simulates one).
"""

import argparse

import steadyhand


def main() -> None:
    """Connect, lead, and say how it went."""
    options = argparse.ArgumentParser(description="Lead an arm through a motion.")
    options.add_argument("robot", help="the robot file, the same one the follower reads")
    options.add_argument("--key", help="file of the pre-shared key")
    options.add_argument(
        "--motion", default="reaches", help="reaches, sine, step, or a CSV of t_s, j1_deg, …"
    )
    options.add_argument("--seconds", type=float, help="of motion; the motion once where not given")
    options.add_argument("--set", action="append", default=[], help="PATH=VALUE for the robot file")
    given = options.parse_args()
    settings = dict(setting.split("=", 1) for setting in given.set)

    motion = steadyhand.load_motion(given.motion)
    # Leaving the block, by whatever way, brakes the arm to rest.
    with steadyhand.connect(given.robot, key=given.key, settings=settings) as arm:
        try:
            summary = arm.stream(motion, duration_s=given.seconds)
        except steadyhand.Stopped as stopped:
            # Nothing goes on by itself: somebody looks at the arm, then arm.reset("why").
            raise SystemExit(f"the arm was stopped: {stopped}") from None
        print(f"{summary.sent} setpoints in {summary.duration_s:.1f} s")
        print(f"from this hand to the robot: {summary.command_latency_ms} ms")


if __name__ == "__main__":
    main()
