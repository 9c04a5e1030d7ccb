"""µs a tick: shaper alone, and the whole envelope with an observed state frame, beside Ruckig's update.

Six joints at 100 Hz on a person's reaches. Ruckig plans to the same targets in the same run, second
order (what the shaper's law is) and third (with a jerk bound); it checks nothing else. "Whole" is
everything R18's FR3 can have: joint limits, a work area with walls around the stopping point, state
feed, divergence window, joint speed, tool speed, and the bound on the commanded tool speed.
"""

from collections.abc import Callable
from functools import cache
from random import Random
from typing import Literal

import msgspec
import ruckig

from bench.harness import Table, interleaved, median_ratio, spread
from steadyhand.core.safety.envelope import SafetyEnvelope
from steadyhand.core.safety.policy import build_envelope
from steadyhand.core.safety.requirements import ArmFigures
from steadyhand.core.safety.shaper import StreamShaper
from steadyhand.core.safety.verdicts import Allowed
from steadyhand.ground.arms import FR3
from steadyhand.ground.builtin_motions import builtin_motion
from steadyhand.ground.config_safety import (
    BoxArea,
    DivergenceGuardConfig,
    EefSpeedConfig,
    JointLimitsConfig,
    JointSpeedConfig,
    SafetyConfig,
    StreamShaperConfig,
    TcpSpeedConfig,
    WorkAreaConfig,
)

TICKS = 2_000
REPETITIONS = 15
TICK_NS = 10_000_000
LIMIT_US = 25.0
Mode = Literal["rest_target", "feed_forward"]

ARM = ArmFigures(
    robot_type="fairino",
    joint_names=FR3.joint_names,
    period_ns=TICK_NS,
    limits_deg=tuple(zip(FR3.limits.lower_deg, FR3.limits.upper_deg, strict=True)),
    chain=FR3.chain,
)
PLAIN = SafetyConfig(
    stream_shaper=StreamShaperConfig(v_max_deg_s=130.0, a_max_deg_s2=500.0),
    divergence_guard=DivergenceGuardConfig(lag_s=0.080),
    joint_limits=JointLimitsConfig(),
    joint_speed=JointSpeedConfig(max_deg_s=150.0),
)
WHOLE = msgspec.structs.replace(
    PLAIN,
    workarea=WorkAreaConfig(area=BoxArea(lower_m=(-0.8, -0.8, -0.4), upper_m=(0.8, 0.8, 0.8))),
    eef_speed=EefSpeedConfig(max_m_s=3.0),
    tcp_speed=TcpSpeedConfig(max_m_s=3.0),
)


@cache
def targets() -> tuple[tuple[float, ...], ...]:
    """A person's reaches, one pose a tick."""
    return tuple(builtin_motion("reaches", Random(1)).resample(100.0, TICKS / 100.0 - 0.01))


def with_options(config: SafetyConfig, mode: Mode, synchronised: bool) -> SafetyConfig:
    """The same envelope around a shaper with these options."""
    shaper = StreamShaperConfig(v_max_deg_s=130.0, a_max_deg_s2=500.0, mode=mode, synchronised=synchronised)
    return msgspec.structs.replace(config, stream_shaper=shaper)


def envelope_work(config: SafetyConfig) -> Callable[[], int]:
    """Observe, validate and commit every tick; the arm 80 ms behind."""
    stream, still = targets(), (0.0,) * 6

    def work() -> int:
        envelope: SafetyEnvelope = build_envelope(config, ARM)
        envelope.observe_state(stream[0], 0)
        envelope.engage(0)
        sent = [stream[0]] * 8
        for tick, target in enumerate(stream):
            now_ns = tick * TICK_NS
            envelope.observe_state(sent[tick], now_ns, speeds_deg_s=still)
            verdict = envelope.validate_command(target, now_ns)
            if not isinstance(verdict, Allowed):
                raise RuntimeError(f"the bench's stream was refused: {verdict}")
            envelope.commit(verdict.proposal, now_ns)
            sent.append(verdict.proposal.joints_deg)
        return len(stream)

    return work


def observe_work(config: SafetyConfig) -> Callable[[], int]:
    """The state frames alone: their share of the envelope's cost, and due once a frame, not a tick."""
    stream, still = targets(), (0.0,) * 6

    def work() -> int:
        envelope = build_envelope(config, ARM)
        for tick, pose in enumerate(stream):
            envelope.observe_state(pose, tick * TICK_NS, speeds_deg_s=still)
        return len(stream)

    return work


def shaper_work(mode: Mode) -> Callable[[], int]:
    """The shaper alone."""
    stream = targets()

    def work() -> int:
        shaper = StreamShaper(
            StreamShaperConfig(v_max_deg_s=130.0, a_max_deg_s2=500.0, mode=mode), n_joints=6, period_s=0.01
        )
        shaper.prime(stream[0])
        for target in stream:
            shaper.commit(shaper.propose(target))
        return len(stream)

    return work


def ruckig_work(jerk_max_deg_s3: float) -> Callable[[], int]:
    """Ruckig's own update to the same targets; infinite jerk is its second order."""
    stream = [list(target) for target in targets()]

    def work() -> int:
        generator = ruckig.Ruckig(6, 0.01)
        given, answer = ruckig.InputParameter(6), ruckig.OutputParameter(6)
        given.current_position = stream[0]
        given.max_velocity, given.max_acceleration = [130.0] * 6, [500.0] * 6
        given.max_jerk = [jerk_max_deg_s3] * 6
        given.synchronization = ruckig.Synchronization.No
        for target in stream:
            given.target_position = target
            generator.update(given, answer)
            answer.pass_to_input(given)
        return len(stream)

    return work


def run() -> Table:
    """One row a contender; the ratio is to Ruckig's second order."""
    contenders = {
        "shaper, rest_target": shaper_work("rest_target"),
        "shaper, feed_forward": shaper_work("feed_forward"),
        "envelope, R18's FR3": envelope_work(PLAIN),
        "whole envelope, rest_target": envelope_work(WHOLE),
        "whole envelope, synchronised": envelope_work(with_options(WHOLE, "rest_target", True)),
        "whole envelope, feed_forward": envelope_work(with_options(WHOLE, "feed_forward", False)),
        "whole envelope, both": envelope_work(with_options(WHOLE, "feed_forward", True)),
        "of which the state frame": observe_work(WHOLE),
        "Ruckig, second order": ruckig_work(float("inf")),
        "Ruckig, third order": ruckig_work(20_000.0),
    }
    costs = interleaved(contenders, REPETITIONS)
    peer = costs["Ruckig, second order"]
    rows = [
        [
            name,
            spread(values),
            f"{median_ratio(values, peer):.2f}",
            "" if "Ruckig" in name else f"{LIMIT_US:g}",
        ]
        for name, values in costs.items()
    ]
    return Table(
        name="shaper_cost",
        title="Safety: µs a tick for six joints, beside Ruckig's update on the same targets",
        columns=["", "µs a tick", "× Ruckig, second order", "at most"],
        rows=rows,
        figures={name: sorted(values)[len(values) // 2] for name, values in costs.items()},
    )


if __name__ == "__main__":
    for line in run().rows:
        print("  ".join(cell.ljust(30) for cell in line))
