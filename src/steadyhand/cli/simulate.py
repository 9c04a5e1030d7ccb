"""`steadyhand simulate`: a motion over a link into a configuration, in virtual time."""

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from steadyhand import __version__
from steadyhand.cli.options import (
    FilePath,
    Seed,
    check_memory,
    check_outputs,
    check_rate,
    files_read,
    read_config,
    read_link_option,
    read_motion_option,
    read_restarts,
    write_json,
)
from steadyhand.cli.progress import bar
from steadyhand.core.link import GapPolicy
from steadyhand.ground.config import RobotConfig
from steadyhand.simulation.scenario import Scenario
from steadyhand.simulation.script import Script


def simulate(
    *,
    motion: str = "reaches",
    link: str = "wifi_burst",
    gaps: GapPolicy = "cut",
    config: FilePath | None = None,
    set_: Annotated[list[str] | None, Parameter(name="--set", negative=())] = None,
    buffer_ms: float | None = None,
    adaptive_max_ms: float | None = None,
    underrun_ms: float | None = None,
    rate_hz: float | None = None,
    redundancy: str | None = None,
    drift_ppm: float = 0.0,
    restart: Annotated[list[str] | None, Parameter(negative=())] = None,
    recover: float = 1.0,
    script: Script = "none",
    seed: Seed = 0,
    duration: float = 60.0,
    json: Annotated[FilePath | None, Parameter(allow_leading_hyphen=True)] = None,
    plot: FilePath | None = None,
) -> None:
    """Stream a motion over a bad link into the playout buffer, in virtual time.

    Prints what the arm would have been told, beside the two things one would do without the
    buffer, on the same packets: apply on arrival (latest wins) and an ordered stream as over TCP.
    The same options give the same output, byte for byte.

    Parameters
    ----------
    motion
        CSV of t_s, j1_deg … (as recorded; irregular stamps are resampled), or a built-in: reaches,
        sine, step. A motion shorter than the run plays forth and back.
    link
        A profile (clean, lan, wifi, wifi_burst, stale_replay, lte, satellite, intercontinental,
        blackhole), a measured trace (CSV of t_ms, rtt_ms; or a `ping -D` log), or figures like
        delay_ms=40,jitter_ms=8,loss=0.01.
    gaps
        Pauses over a second in a trace's recording: cut them, or play them as an outage.
    config
        Robot file; without one, the deployed 200 ms at 100 Hz with the stall policy armed.
    set_
        Override one key of the robot file: communication.playout_buffer_ms=120. Repeatable.
    buffer_ms
        Short for --set communication.playout_buffer_ms.
    adaptive_max_ms
        Short for --set communication.playout_adaptive_max_ms.
    underrun_ms
        Short for --set communication.playout_underrun_estop_after_ms.
    rate_hz
        Short for --set communication.publish_rate_hz.
    redundancy
        Short for --set remote_node.redundancy: auto, or 0 to 10 previous setpoints a datagram.
    drift_ppm
        The sender's clock against the robot's, parts per million; positive is a fast sender.
    restart
        AT:GAP in seconds: the sender dies at AT and counts from zero again GAP later. Repeatable.
    recover
        Seconds from a stop to the operator's reset and new engagement; negative: never.
    script
        none, or kill_link: the link is dead for a second and a half from four tenths of the run on.
    seed
        Of the link's dice, and of the built-in motion's: a whole number from 0 up.
    duration
        Seconds the sender runs.
    json
        Write the report there; - is standard output, and then nothing else is printed.
    plot
        Draw the run: a .png, .svg or .html file.
    """
    settings = set_ or []
    check_outputs({"--json": json, "--plot": plot}, files_read(motion, link, config))
    robot = read_config(
        config,
        settings,
        {
            "--buffer-ms": buffer_ms,
            "--adaptive-max-ms": adaptive_max_ms,
            "--underrun-ms": underrun_ms,
            "--rate-hz": rate_hz,
            "--redundancy": redundancy,
        },
    )
    check_rate(robot, config, settings, rate_hz)
    scenario = Scenario(
        motion=read_motion_option(motion, seed),
        link=read_link_option(link, gaps),
        communication=robot.communication,
        redundancy=robot.remote_node.redundancy,
        duration_s=duration,
        drift_ppm=drift_ppm,
        seed=seed,
        restarts=read_restarts(restart or []),
        recover_s=recover,
        script=script,
    )
    check_memory(scenario)
    # Late, so that a mistyped option is answered before numpy has loaded.
    from steadyhand.simulation.metrics import summarize
    from steadyhand.simulation.run import simulate as play

    with bar("simulating") as progress:
        result = play(scenario, progress)
    report = {"scenario": describe(scenario, robot, motion, link, config)} | summarize(result)
    if json is None or str(json) != "-":
        from steadyhand.view.simulate_table import print_report

        print_report(report)
    if json is not None:
        write_json(json, report)
    if plot is not None:
        from steadyhand.view.plots import draw_run

        draw_run(result, report, plot)


def describe(
    scenario: Scenario, robot: RobotConfig, motion: str, link: str, config: Path | None
) -> dict[str, Any]:
    """What was simulated, so that the report says how to make it again."""
    from msgspec import to_builtins

    from steadyhand.core.playout import PlayoutConfig

    playout = PlayoutConfig.from_communication(scenario.communication)
    notes = [*scenario.link.notes, *(playout.warnings if playout else ())]
    return {
        "steadyhand": __version__,
        "motion": motion,
        "motion_duration_s": scenario.motion.duration_s,
        "link": link,
        "config": None if config is None else str(config),
        "robot": robot.robot.id,
        "communication": finite(to_builtins(scenario.communication)),
        "redundancy": scenario.redundancy,
        "duration_s": scenario.duration_s,
        "drift_ppm": scenario.drift_ppm,
        "restarts": to_builtins(scenario.restarts),
        "recover_s": finite(scenario.recover_s),
        "script": scenario.script,
        "seed": scenario.seed,
        "buffer": None if playout is None else playout.describe(),
        "notes": notes,
    }


def finite(value: Any) -> Any:
    """JSON has no NaN: the keys that may hold one say so in words."""
    if isinstance(value, dict):
        return {key: finite(inner) for key, inner in value.items()}
    if isinstance(value, float) and value - value != 0.0:
        return str(value)
    return value
