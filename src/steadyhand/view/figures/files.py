"""The generated files: nine pictures, one page, and the numbers behind them."""

import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import msgspec

from steadyhand.ground.errors import InputError
from steadyhand.view.figures.drawing import draw
from steadyhand.view.figures.page import page
from steadyhand.view.figures.player import Trace, play
from steadyhand.view.figures.scripts import SCRIPTS
from steadyhand.view.whole_file import write_whole

ANGLE_DIGITS = 6
"""Digits kept of an angle in the numbers: the committed file need not pin the last bit."""


def render_all() -> dict[str, bytes]:
    """Return every file by name. No clock, no machine, no chance: the same code, the same bytes."""
    traces = [play(script) for script in SCRIPTS]
    style = asset("figure.css")
    rendered = {f"{name_of(trace)}.svg": draw(trace, style=style) + "\n" for trace in traces}
    rendered["index.html"] = page(
        traces, figure_style=style, page_style=asset("page.css"), code=asset("page.js")
    )
    rendered["figures.json"] = numbers(traces)
    return {name: content.encode() for name, content in rendered.items()}


def write_all(out: Path) -> list[Path]:
    """Write every file into `out`, which is made where it is missing; return the paths.

    Each file is moved into place whole, and none before all are drawn.

    Raises:
        InputError: `out` is no directory or cannot be written; said before anything is drawn.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise InputError(f"cannot write the figures: {error.strerror}", where=str(out)) from error
    rendered = render_all()
    for name, content in rendered.items():
        write_whole(out / name, content)
    return [out / name for name in rendered]


def name_of(trace: Trace) -> str:
    """Stem of a figure's file: `a-jitter-becomes-depth`."""
    words = f"{trace.script.letter} {trace.script.title}".lower().replace(",", "")
    return "-".join(words.split())


def asset(name: str) -> str:
    """Return a text file that lies beside this module."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def numbers(traces: Sequence[Trace]) -> str:
    """All figures as JSON, one tick a line, so that a change of the rules reads as a short diff."""
    figures = []
    for trace in traces:
        ticks = ",\n".join(f"    {json.dumps(_tick(tick))}" for tick in msgspec.to_builtins(trace.ticks))
        script = trace.script
        head = {"letter": script.letter, "title": script.title, "score": script.score}
        figures.append(f'  {{"figure": {json.dumps(head)}, "ticks": [\n{ticks}\n  ]}}')
    return "[\n" + ",\n".join(figures) + "\n]\n"


def _tick(tick: dict[str, Any]) -> dict[str, Any]:
    """One tick for the file: empty fields left out, the angle rounded."""
    drained = {key: value for key, value in tick["drained"].items() if value is not None}
    if "joint_deg" in drained:
        drained["joint_deg"] = round(drained["joint_deg"], ANGLE_DIGITS)
    kept = {key: value for key, value in tick.items() if value not in ([], ())}
    return {**kept, "drained": drained}
