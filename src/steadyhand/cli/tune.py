"""`steadyhand tune`: how deep a buffer this link needs, and how far that is from the possible."""

from typing import Annotated, Any, Final

from cyclopts import Parameter

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
    write_json,
)
from steadyhand.cli.progress import bar
from steadyhand.core.link import GapPolicy, LinkProfile
from steadyhand.ground.errors import InputError
from steadyhand.ground.stamps import NS_PER_S
from steadyhand.simulation.frontier import TOLERANCE_SHARE, TuneResult
from steadyhand.simulation.scenario import Scenario

SHORTEST_S: Final = 60.0
LONGEST_S: Final = 600.0


def tune(
    *,
    link: str,
    gaps: GapPolicy = "cut",
    motion: str = "reaches",
    config: FilePath | None = None,
    set_: Annotated[list[str] | None, Parameter(name="--set", negative=())] = None,
    tolerance: float = TOLERANCE_SHARE,
    duration: float | None = None,
    drift_ppm: float = 0.0,
    seed: Seed = 0,
    json: Annotated[FilePath | None, Parameter(allow_leading_hyphen=True)] = None,
    plot: FilePath | None = None,
) -> None:
    """Sweep depth and adaptation over a link and recommend a configuration.

    Prints the frontier of delay against held ticks and stops, with the offline bound beside it:
    the least mean delay, at the same share of late setpoints, of a policy that knows the trace in
    advance and chooses one delay for each second.

    Parameters
    ----------
    link
        Your link: a trace (CSV of t_ms, rtt_ms; or what `ping -D` printed), a profile or figures.
    gaps
        Pauses over a second in a trace's recording: cut them, or play them as an outage.
    motion
        As in simulate; it does not change the frontier, only what is sent.
    config
        Robot file; its rate and stall policy are kept, its depth keys are swept.
    set_
        Override one key of the robot file. Repeatable.
    tolerance
        Share of ticks you accept as held, 0.001 is one in a thousand.
    duration
        Seconds to play; without it, once through the trace, 60 to 600 s.
    drift_ppm
        The sender's clock against the robot's.
    seed
        Of the link's dice: a whole number from 0 up.
    json
        Write the result there; - is standard output.
    plot
        Draw the frontier: a .png, .svg or .html file.
    """
    settings = set_ or []
    check_outputs({"--json": json, "--plot": plot}, files_read(motion, link, config))
    if not 0.0 <= tolerance < 1.0:
        raise InputError(f"{tolerance:g} is not a share of ticks, 0 to below 1", where="--tolerance")
    robot = read_config(config, settings)
    check_rate(robot, config, settings, rate_hz=None)
    profile = read_link_option(link, gaps)
    scenario = Scenario(
        motion=read_motion_option(motion, seed),
        link=profile,
        communication=robot.communication,
        redundancy=robot.remote_node.redundancy,
        duration_s=_once_through(profile) if duration is None else duration,
        drift_ppm=drift_ppm,
        seed=seed,
    )
    check_memory(scenario)
    from steadyhand.simulation.tune import tune as sweep

    with bar("tuning") as progress:
        result = sweep(scenario, tolerance_share=tolerance, progress=progress)
    if json is None or str(json) != "-":
        from steadyhand.view.tune_table import print_tune

        print_tune(result, scenario)
    if json is not None:
        write_json(json, _as_json(result, scenario, link))
    if plot is not None:
        from steadyhand.view.plots import draw_tune

        draw_tune(result, plot)


def _once_through(link: LinkProfile) -> float:
    """The trace's own length, within a minute and ten; a model's minute or two."""
    if link.trace is None:
        return 2 * SHORTEST_S
    return min(LONGEST_S, max(SHORTEST_S, link.trace.period_ns / NS_PER_S))


def _as_json(result: TuneResult, scenario: Scenario, link: str) -> dict[str, Any]:
    from msgspec import to_builtins

    from steadyhand.cli.simulate import finite

    fields: dict[str, Any] = finite(to_builtins(result))
    return {"link": link, "duration_s": scenario.duration_s, "notes": list(scenario.link.notes), **fields}
