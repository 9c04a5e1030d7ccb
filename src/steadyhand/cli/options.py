"""What several commands ask for in the same words: motion, link, configuration, outputs."""

import json
import os
import sys
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from steadyhand.core.link import GapPolicy, LinkProfile
from steadyhand.edge.link_csv import load_link
from steadyhand.edge.motion_csv import load_motion
from steadyhand.edge.robot_yaml import apply_overrides, load_robot
from steadyhand.ground.config import RobotConfig, RobotIdentity
from steadyhand.ground.errors import InputError
from steadyhand.ground.motion import Motion
from steadyhand.simulation.scenario import DEPLOYED, Restart

PLOT_SUFFIXES = (".png", ".svg", ".html")


def read_config(path: Path | None, settings: list[str], shortcuts: dict[str, Any]) -> RobotConfig:
    """The robot file, or the built-in deployment, with `--set PATH=VALUE` and shortcuts applied.

    Raises:
        InputError: the file or a setting cannot be used; it names which.
    """
    if path is None:
        identity = RobotIdentity(id="built-in", type="simulated", model="sim")
        config = RobotConfig(robot=identity, communication=DEPLOYED)
    else:
        config = load_robot(path)
    overrides = {key: _yaml_text(value) for key, value in shortcuts.items() if value is not None}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise InputError(
                f"{setting!r} is not PATH=VALUE",
                where="--set",
                hint="for example --set communication.playout_buffer_ms=120",
            )
        overrides[key.strip()] = value
    return apply_overrides(config, overrides) if overrides else config


def read_motion_option(text: str, seed: int) -> Motion:
    """A motion by name or file; built-ins with chance in them take the run's seed."""
    return load_motion(text, rng=Random(seed))


def read_link_option(text: str, gaps: GapPolicy) -> LinkProfile:
    """A link by profile name, list of figures or trace file."""
    return load_link(text, gaps=gaps)


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


def check_output(path: Path | None, option: str, suffixes: tuple[str, ...] = ()) -> None:
    """Refuse an output that could not be written, before the run and not after it."""
    if path is None or str(path) == "-":
        return
    if suffixes and path.suffix.lower() not in suffixes:
        raise InputError(f"{path.name} does not end in {', '.join(suffixes)}", where=option)
    folder = path.parent
    if path.is_dir():
        raise InputError(f"{path} is a folder", where=option, hint="name a file in it")
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}", where=option, hint="create it first")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise InputError(f"{path} may not be written", where=option)


def write_json(path: Path, report: dict[str, Any]) -> None:
    """Write a report with sorted, stable bytes; `-` is standard output."""
    text = json.dumps(report, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    if str(path) == "-":
        sys.stdout.write(text)
        return
    # Encoded first and moved into place, so that a failure leaves an older report as it was.
    content = text.encode("utf-8", "backslashreplace")
    beside = path.with_name(path.name + ".partial")
    try:
        beside.write_bytes(content)
        beside.replace(path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}", where="--json") from None


def _yaml_text(value: Any) -> str:
    if isinstance(value, float) and value - value != 0.0:
        return f".{value}".replace(".-", "-.")  # YAML's .nan, .inf and -.inf
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
