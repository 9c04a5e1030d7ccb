"""`steadyhand shape`: a motion or a jump through the stream shaper, into the controller model."""

import sys
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from cyclopts import Parameter

from steadyhand import __version__
from steadyhand.cli.options import PLOT_SUFFIXES, check_output, read_motion_option, write_json
from steadyhand.cli.progress import bar
from steadyhand.core.controller.kinds import ModelName, TriggerName
from steadyhand.ground.config_safety import StreamShaperConfig
from steadyhand.ground.errors import InputError
from steadyhand.ground.motion import JointsDeg
from steadyhand.ground.stamps import NS_PER_MS
from steadyhand.simulation.shaping import ShapeResult
from steadyhand.simulation.shaping_scenario import (
    A_MAX_DEG_S2,
    JERK_MAX_DEG_S3,
    V_MAX_DEG_S,
    ShapeScenario,
    jump_stream,
    motion_stream,
    optimal_s,
)

DEFAULT_JUMP_DEG: Final = 2.5
"""Of all jumps the one measured most often unshaped (001): what it does is known, not assumed."""

V_MOST_DEG_S: Final = 1000.0
A_MOST_DEG_S2: Final = 100_000.0
JERK_MOST_DEG_S3: Final = 1e9


def shape(
    *,
    motion: str | None = None,
    jump: Annotated[float | None, Parameter(allow_leading_hyphen=True)] = None,
    joint: int | None = None,
    v_max: float | None = None,
    a_max: float = A_MAX_DEG_S2,
    period_ms: float = 10.0,
    mode: Literal["rest_target", "feed_forward"] = "rest_target",
    synchronised: Annotated[bool, Parameter(negative=())] = False,
    model: ModelName = "fr3",
    trigger: TriggerName = "velocity_step",
    seed: int = 0,
    duration: float | None = None,
    compare: Annotated[bool, Parameter(negative=())] = False,
    jerk_max: float = JERK_MAX_DEG_S3,
    json: Annotated[Path | None, Parameter(allow_leading_hyphen=True)] = None,
    plot: Path | None = None,
    csv: Annotated[Path | None, Parameter(allow_leading_hyphen=True)] = None,
) -> None:
    """Send a motion or a jump through the stream shaper to the simulated controller, and unshaped beside it.

    Prints what the shaper makes of it and what the controller does about both. Without --motion and
    --jump, joint 1 jumps by 2.5°, which made the real arm sweep 88.6° by itself. Virtual time: the same
    options give the same output, byte for byte.

    Parameters
    ----------
    motion
        CSV of t_s, j1_deg …, or a built-in: reaches, sine, step.
    jump
        Instead of a motion: degrees one joint jumps within one tick, from rest.
    joint
        Which joint jumps, counted from 1; without it the first.
    v_max
        Fastest joint on the wire, °/s; without it the model's: 130, fr20 120.
    a_max
        Largest joint acceleration on the wire, °/s²; 500 is proven clean.
    period_ms
        cmdT, 1 to 20 ms.
    mode
        rest_target can stop on the target from anywhere and trails a moving one; feed_forward follows
        without trail and overshoots one that freezes.
    synchronised
        Scale all joints by one factor: a jump becomes a straight line in joint space.
    model
        fr3, fr20, or the vendor's own simulator (sim), which never runs away.
    trigger
        What makes the controller run away: a velocity step in one frame, a joint commanded above its
        speed, or the tool above its speed.
    seed
        Of the coin in the trigger's threshold band, and of the built-in motion.
    duration
        Seconds of stream; without it, once through the motion, or until a jump is surely over.
    compare
        Beside it Ruckig of second and third order on the same stream; needs the extra `peers`.
    jerk_max
        Jerk bound of the third-order Ruckig, °/s³.
    json
        Write the figures there; - is standard output, and then nothing else is printed.
    plot
        Draw it: a .png, .svg or .html file.
    csv
        Write every tick there (raw, shaped, velocity, arm); - is standard output.
    """
    check_output(json, "--json")
    check_output(plot, "--plot", PLOT_SUFFIXES)
    check_output(csv, "--csv")
    to_stdout = [option for option in (json, csv) if str(option) == "-"]
    if len(to_stdout) == 2:
        raise InputError("standard output can take only one of --json and --csv", where="--csv")
    shaper = StreamShaperConfig(
        v_max_deg_s=within(V_MAX_DEG_S[model] if v_max is None else v_max, V_MOST_DEG_S, "--v-max", "°/s"),
        a_max_deg_s2=within(a_max, A_MOST_DEG_S2, "--a-max", "°/s²"),
        mode=mode,
        synchronised=synchronised,
    )
    period_ns = round(within(period_ms, 1000.0, "--period-ms", "ms") * NS_PER_MS)
    title, raw_deg = read_stream(
        motion, jump, joint, period_ns=period_ns, shaper=shaper, seed=seed, duration_s=duration
    )
    scenario = ShapeScenario(
        title=title,
        raw_deg=raw_deg,
        shaper=shaper,
        period_ns=period_ns,
        model=model,
        trigger=trigger,
        seed=seed,
        jerk_max_deg_s3=within(jerk_max, JERK_MOST_DEG_S3, "--jerk-max", "°/s³"),
    )
    source: dict[str, Any] = {"motion": motion, "jump_deg": None, "joint": None}
    if motion is None:
        source |= {"jump_deg": DEFAULT_JUMP_DEG if jump is None else jump, "joint": joint or 1}
    from steadyhand.simulation.shaping import shape as play

    with bar("shaping") as progress:
        result = play(scenario, compare=compare, progress=progress)
    write_all(result, source, json=json, plot=plot, csv=csv, show=not to_stdout)


def within(value: float, most: float, option: str, unit: str) -> float:
    """The value, if it is above zero and no more than `most`."""
    if not 0.0 < value <= most:
        raise InputError(f"{value:g} is not above 0 and at most {most:g} {unit}", where=option)
    return value


def read_stream(
    motion: str | None,
    jump: float | None,
    joint: int | None,
    *,
    period_ns: int,
    shaper: StreamShaperConfig,
    seed: int,
    duration_s: float | None,
) -> tuple[str, tuple[JointsDeg, ...]]:
    """What is sent, in words and as raw targets."""
    if motion is not None:
        if jump is not None:
            raise InputError("a motion and a jump are two streams", where="--jump", hint="give one of them")
        if joint is not None:
            raise InputError(
                "a motion says itself which joints move", where="--joint", hint="it belongs to --jump"
            )
        loaded = read_motion_option(motion, seed)
        return motion, motion_stream(loaded, period_ns=period_ns, duration_s=duration_s)
    jump_deg = DEFAULT_JUMP_DEG if jump is None else jump
    joint = 1 if joint is None else joint
    raw_deg = jump_stream(jump_deg, joint - 1, period_ns=period_ns, shaper=shaper, duration_s=duration_s)
    return f"a jump of {jump_deg:g}° by joint {joint} in one tick", raw_deg


def write_all(
    result: ShapeResult,
    source: dict[str, Any],
    *,
    json: Path | None,
    plot: Path | None,
    csv: Path | None,
    show: bool,
) -> None:
    """Table, JSON, CSV and picture, as far as they were asked for."""
    from steadyhand.simulation.shaping_figures import summarize

    report = {"scenario": describe(result.scenario, source)} | summarize(result)
    if show:
        from steadyhand.view.shape_table import print_shape

        print_shape(report)
    if json is not None:
        write_json(json, report)
    if csv is not None:
        write_csv(csv, result)
    if plot is not None:
        from steadyhand.view.shape_plot import draw_shape

        draw_shape(result, report, plot)


def write_csv(path: Path, result: ShapeResult) -> None:
    """Write every tick of the shaped stream; `-` is standard output."""
    from steadyhand.view.shape_table import csv_lines

    if str(path) == "-":
        sys.stdout.writelines(csv_lines(result))
        return
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            file.writelines(csv_lines(result))
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}", where="--csv") from None


def describe(scenario: ShapeScenario, source: dict[str, Any]) -> dict[str, Any]:
    """What was sent through what, so that the report says how to make it again."""
    shaper, bound_m_s, jump_deg = scenario.shaper, scenario.tool_bound_m_s, source["jump_deg"]
    notes = []
    if bound_m_s is not None:
        notes.append(
            f"a controller that judges tool speed needs it bounded on the command side (R10): "
            f"the shaper keeps the tool under {bound_m_s:g} m/s in every posture"
        )
    if scenario.model == "sim":
        notes.append("the vendor's simulator never runs away, whatever it is sent")
    return {
        "steadyhand": __version__,
        "title": scenario.title,
        **source,
        "optimal_s": None if jump_deg is None else round(optimal_s(abs(jump_deg), shaper), 6),
        "v_max_deg_s": shaper.v_max_deg_s,
        "a_max_deg_s2": shaper.a_max_deg_s2,
        "mode": shaper.mode,
        "synchronised": shaper.synchronised,
        "period_ms": scenario.period_ns / NS_PER_MS,
        "duration_s": round(scenario.duration_s, 9),
        "model": scenario.model,
        "trigger": scenario.trigger,
        "seed": scenario.seed,
        "jerk_max_deg_s3": scenario.jerk_max_deg_s3,
        "notes": notes,
    }
