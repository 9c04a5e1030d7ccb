"""What several commands ask for in the same words: motion, link, configuration, whole numbers."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Annotated, Any, Final

import msgspec
from cyclopts import Parameter, Token

from steadyhand.cli.outputs import PLOT_SUFFIXES, check_output, check_outputs, write_json
from steadyhand.core.link import PROFILES, GapPolicy, LinkProfile
from steadyhand.edge.link_csv import load_link
from steadyhand.edge.motion_csv import load_motion
from steadyhand.edge.robot_yaml import apply_overrides, load_robot
from steadyhand.ground.builtin_motions import BUILTIN_MOTIONS
from steadyhand.ground.config import RobotConfig, RobotIdentity
from steadyhand.ground.errors import ConfigError, InputError
from steadyhand.ground.motion import Motion
from steadyhand.simulation.scenario import DEPLOYED, Restart, Scenario

__all__ = [
    "PLOT_SUFFIXES",
    "FilePath",
    "Seed",
    "check_memory",
    "check_output",
    "check_outputs",
    "check_rate",
    "files_read",
    "read_config",
    "read_link_option",
    "read_motion_option",
    "read_restarts",
    "write_json",
]

RATE_KEY: Final = "communication.publish_rate_hz"

SHORTCUTS: Final = {
    "--buffer-ms": "communication.playout_buffer_ms",
    "--adaptive-max-ms": "communication.playout_adaptive_max_ms",
    "--underrun-ms": "communication.playout_underrun_estop_after_ms",
    "--rate-hz": RATE_KEY,
    "--redundancy": "remote_node.redundancy",
}
"""Options that are short for one key of the robot file."""

BYTES_PER_SETPOINT: Final = 1_600
"""What a run keeps of each setpoint: pose, datagram, three lanes, and the report's arrays at their peak."""

MEMORY_SHARE: Final = 0.8
"""Of the memory that is free, this much may go into a run."""

MEMORY_UNKNOWN_BYTES: Final = 4 << 30


def _whole_number(_type: Any, tokens: Sequence[Token]) -> int:
    """A whole number from zero up, as typed: 1.5 is not 2, and the dice know no sign."""
    (token,) = tokens
    if not (token.value.isascii() and token.value.isdigit()):
        raise InputError(f"{token.value!r} is not a whole number from 0 up", where=token.keyword or "")
    return int(token.value)


def _named_path(_type: Any, tokens: Sequence[Token]) -> Path:
    """A path that names something: the empty one would mean the folder one is in."""
    (token,) = tokens
    if not token.value.strip():
        raise InputError("no file or folder is named", where=token.keyword or "")
    return Path(token.value)


Seed = Annotated[int, Parameter(converter=_whole_number)]
FilePath = Annotated[Path, Parameter(converter=_named_path)]


def read_config(
    path: Path | None, settings: list[str], shortcuts: Mapping[str, Any] | None = None
) -> RobotConfig:
    """The robot file, or the built-in deployment, with `--set PATH=VALUE` and shortcuts applied.

    Args:
        path: the robot file.
        settings: PATH=VALUE each; they win over shortcuts.
        shortcuts: option as in `SHORTCUTS` to its value, None where it was not given.

    Raises:
        InputError: the file or a setting cannot be used; it names which, as it was typed.
    """
    if path is None:
        identity = RobotIdentity(id="built-in", type="simulated", model="sim")
        config = RobotConfig(robot=identity, communication=DEPLOYED)
    else:
        config = load_robot(path)
    for option, value in (shortcuts or {}).items():
        if value is not None:
            config = _with_shortcut(config, option, value)
    overrides: dict[str, str] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            raise InputError(
                f"{setting!r} is not PATH=VALUE",
                where="--set",
                hint="for example --set communication.playout_buffer_ms=120",
            )
        overrides[key.strip()] = value
    return apply_overrides(config, overrides) if overrides else config


def _with_shortcut(config: RobotConfig, option: str, value: Any) -> RobotConfig:
    """One key set by an option of its own; what is wrong with it is said of that option."""
    key = SHORTCUTS[option]
    try:
        return apply_overrides(config, {key: _yaml_text(value)})
    except ConfigError as error:
        what = error.what.removeprefix(f"{key}: ")
        raise InputError(what, where=option, hint=error.hint) from None


def read_motion_option(text: str, seed: int) -> Motion:
    """A motion by name or file; built-ins with chance in them take the run's seed."""
    if not text.strip():
        known = ", ".join(BUILTIN_MOTIONS)
        raise InputError("no motion is named", where="--motion", hint=f"a CSV file, or one of {known}")
    try:
        return load_motion(text, rng=Random(seed))
    except InputError as error:
        raise _of_option(error, "motion") from None


def read_link_option(text: str, gaps: GapPolicy) -> LinkProfile:
    """A link by profile name, list of figures or trace file."""
    try:
        return load_link(text, gaps=gaps)
    except InputError as error:
        raise _of_option(error, "link") from None


def _of_option(error: InputError, name: str) -> InputError:
    """The same error, said of the option as it is typed and not of the thing it names."""
    if error.where != name:
        return error
    return InputError(error.what, where=f"--{name}", hint=error.hint)


def read_restarts(texts: list[str]) -> tuple[Restart, ...]:
    """Restarts given as AT:GAP in seconds."""
    restarts = []
    for text in texts:
        at_text, _, gap_text = text.partition(":")
        try:
            restarts.append(Restart(float(at_text), float(gap_text)))
        except ValueError:
            raise InputError(
                f"{text!r} is not AT:GAP in seconds", where="--restart", hint="for example --restart 10:0.5"
            ) from None
    return tuple(restarts)


def files_read(motion: str, link: str, config: Path | None) -> dict[str, str]:
    """What the run reads, by option; a built-in name reads nothing, a link may carry changes."""
    return {
        "--motion": "" if motion in BUILTIN_MOTIONS else motion,
        "--link": "" if link in PROFILES else link if os.path.exists(link) else link.rpartition(":")[0],
        "--config": str(config or ""),
    }


def check_rate(robot: RobotConfig, config: Path | None, settings: list[str], rate_hz: float | None) -> None:
    """Refuse a rate that cannot be simulated, where it was said: option, setting or file."""
    where = f"{config}: {RATE_KEY}"
    if rate_hz is not None:
        where = "--rate-hz"
    if RATE_KEY in [setting.partition("=")[0].strip() for setting in settings]:
        where = f"--set {RATE_KEY}"
    try:
        Scenario.check_period(robot.communication.period_ns)
    except InputError as error:
        raise InputError(error.what, where=where, hint=error.hint) from None


def check_memory(scenario: Scenario, free_bytes: int | None = None) -> None:
    """Refuse a run that this machine cannot hold: every setpoint's fate is kept until the report.

    Args:
        scenario: what is to be played.
        free_bytes: memory the run may draw on; what the machine says is free where not given.
    """
    room_bytes = MEMORY_SHARE * (_free_bytes() if free_bytes is None else free_bytes)
    setpoints = scenario.duration_ns // scenario.period_ns
    if setpoints * BYTES_PER_SETPOINT <= room_bytes:
        return
    most_s = room_bytes / BYTES_PER_SETPOINT * scenario.period_ns / 1e9
    raise InputError(
        f"{scenario.duration_s:g} s are {setpoints:,} setpoints, about "
        f"{setpoints * BYTES_PER_SETPOINT / 1e9:.1f} GB to keep; there is room for {room_bytes / 1e9:.1f} GB",
        where="--duration",
        hint=f"at this rate at most {most_s:.0f} s",
    )


def _free_bytes() -> int:
    """What Linux would give without swapping; a guess where the machine does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return MEMORY_UNKNOWN_BYTES
    kilobytes = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(kilobytes[0]) * 1024 if kilobytes else MEMORY_UNKNOWN_BYTES


def _yaml_text(value: Any) -> str:
    if isinstance(value, float) and value - value != 0.0:
        return f".{value}".replace(".-", "-.")  # YAML's .nan, .inf and -.inf
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
