"""`steadyhand demo`: controller, follower, bad network and operator for real, on loopback."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Annotated, Any, Final

from cyclopts import Parameter

from steadyhand.cli.options import (
    FilePath,
    Seed,
    check_memory,
    check_outputs,
    check_rate,
    files_read,
    read_link_option,
    read_motion_option,
    write_json,
)
from steadyhand.cli.overrides import overrides_from
from steadyhand.cli.simulate import describe
from steadyhand.core.link import GapPolicy
from steadyhand.edge.robot_yaml import apply_overrides, load_robot
from steadyhand.ground.config import RobotConfig
from steadyhand.ground.errors import InputError, SteadyhandError
from steadyhand.simulation.scenario import Scenario
from steadyhand.simulation.script import SHORTEST_KILL_RUN_S, Script

DEFAULT_PLOT: Final = Path("out/demo.html")
SHORTEST_S: Final = 2.0
LONGEST_S: Final = 3_600.0


class DemoFellShort(SteadyhandError):  # noqa: N818 - it is named as what was found
    """The run did not do what its script says. Exit code 1, so that a script can ask."""


def demo(
    *,
    motion: str = "reaches",
    link: str = "wifi_burst",
    gaps: GapPolicy = "cut",
    config: FilePath | None = None,
    set_: Annotated[list[str] | None, Parameter(name="--set", negative=())] = None,
    script: Script = "none",
    duration: float = 30.0,
    seed: Seed = 0,
    headless: Annotated[bool, Parameter(negative=())] = False,
    json: Annotated[FilePath | None, Parameter(allow_leading_hyphen=True)] = None,
    plot: FilePath | None = None,
) -> None:
    """Lead an arm across a bad network, with real processes, real sockets and the vendor's protocol.

    Starts a simulated FAIRINO controller, the follower, the impaired link and the operator's end on
    loopback; streams the motion; does to the link what the script says; measures two e-stops; and
    leaves a report beside what one would do without the buffer, on the same packets. The scenario is
    that of simulate, in real time. While it runs, `steadyhand status` tells of it on another terminal,
    and `steadyhand stop` stops the arm. Ctrl-C ends it softly.

    Exit code 0 where the run did what its script says, 1 where not, with the reason.

    Parameters
    ----------
    motion
        As for simulate; the arm has to be able to make it.
    link
        As for simulate: a profile, a measured trace, or figures. Both ways, both paths.
    gaps
        Pauses over a second in a trace's recording: cut them, or play them as an outage.
    config
        Robot file of a FAIRINO arm; without one, an FR3 behind a 200 ms buffer. Its addresses and
        ports are replaced by the demo's own.
    set_
        Override one key of the robot file: communication.playout_buffer_ms=120. Repeatable.
    script
        none, or kill_link: both paths are dead for a second and a half from four tenths of the run on;
        the arm stops, is reset and goes on.
    duration
        Seconds the motion is streamed.
    seed
        Of the link's dice, and of the built-in motion's: a whole number from 0 up.
    headless
        No panel while it runs, only what happens.
    json
        Write the report there; - is standard output, and then nothing else is printed there.
    plot
        Draw the run: a .png, .svg or .html file; without it, out/demo.html.
    """
    picture = _picture(plot)
    log = picture.with_suffix(".ticks")
    inputs = files_read(motion, link, config)
    check_outputs({"--json": json, "--plot": picture, "the log beside --plot": log}, inputs)
    robot = _robot(config, set_ or [])
    check_rate(robot, config, set_ or [], None)
    scenario = Scenario(
        motion=read_motion_option(motion, seed),
        link=read_link_option(link, gaps),
        communication=robot.communication,
        redundancy=robot.remote_node.redundancy,
        duration_s=duration,
        seed=seed,
        script=script,
    )
    _check_length(scenario)
    check_memory(scenario)
    # Late, so that a mistyped option is answered before gRPC and numpy have loaded.
    from steadyhand.nodes.demo.place import check_robot
    from steadyhand.nodes.demo.report import report_of, run_result, shortcoming
    from steadyhand.nodes.demo.run import DemoSettings, play
    from steadyhand.view.demo_live import watching

    check_robot(robot, scenario.motion, "--config" if config is not None else "the demo's robot")
    settings = DemoSettings(
        scenario=scenario, robot=robot, own_id=config is not None, link=link, gaps=gaps, log=log
    )
    with _ended_by_signals() as interrupted, watching(headless=headless) as watcher:
        played = play(settings, watcher, interrupted)
    result = run_result(scenario, played.course, played.findings)
    report = {"scenario": describe(scenario, robot, motion, link, config)}
    report |= report_of(result, played.course, played.findings)
    _write(report, result, json, picture)
    fell_short = shortcoming(result, played.course, played.findings)
    if fell_short is not None:
        raise DemoFellShort(f"the run did not do what its script says: {fell_short}")


def _picture(plot: Path | None) -> Path:
    """Where the picture goes; the folder of the default one is made."""
    if plot is not None:
        return plot
    try:
        DEFAULT_PLOT.parent.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{DEFAULT_PLOT.parent} cannot be made: {error.strerror}", where="demo", hint="give --plot"
        ) from None
    return DEFAULT_PLOT


def _robot(config: Path | None, settings: list[str]) -> RobotConfig:
    from steadyhand.nodes.demo.place import DEMO_ROBOT

    robot = DEMO_ROBOT if config is None else load_robot(config)
    overrides = overrides_from(settings)
    return apply_overrides(robot, overrides) if overrides else robot


def _check_length(scenario: Scenario) -> None:
    """Refuse a run too short for what is to happen in it, and one too long to be kept whole."""
    least_s = SHORTEST_S if scenario.script == "none" else SHORTEST_KILL_RUN_S
    if scenario.duration_s > LONGEST_S:
        raise InputError(
            f"{scenario.duration_s:g} s are more than a demo keeps",
            where="--duration",
            hint="an hour at most",
        )
    if scenario.duration_s < least_s:
        raise InputError(
            f"{scenario.duration_s:g} s are too short for script {scenario.script}",
            where="--duration",
            hint=f"at least {least_s:g} s",
        )


def _write(report: dict[str, Any], result: Any, json: Path | None, picture: Path) -> None:
    """The table, the JSON, the picture."""
    from steadyhand.view.demo_table import print_demo
    from steadyhand.view.plots import draw_run

    if json is None or str(json) != "-":
        print_demo(report)
    if json is not None:
        write_json(json, report)
    draw_run(result, report, picture)


@contextmanager
def _ended_by_signals() -> Iterator[Event]:
    """SIGTERM ends the run as Ctrl-C does: softly, and every process with it.

    The exception may be raised anywhere, in a library's callback that swallows it as well; so it is
    noted beside, and the leader looks before each setpoint.
    """
    asked = Event()

    def interrupt(*_: object) -> None:
        asked.set()
        raise KeyboardInterrupt

    ends = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, interrupt) for number in ends]
    try:
        yield asked
    finally:
        for number, handler in zip(ends, before, strict=True):
            signal.signal(number, handler)
