"""Pictures of runs and sweeps: .png and .svg for documents, .html to look into.

Matplotlib loads only when something is drawn: a command that draws nothing does not wait for it.
"""

from pathlib import Path
from typing import Any

from steadyhand.simulation.frontier import TuneResult
from steadyhand.simulation.run import RunResult
from steadyhand.view.plots.save import check_plot_path

__all__ = ["check_plot_path", "draw_run", "draw_tune"]


def draw_run(result: RunResult, report: dict[str, Any], path: Path) -> None:
    """Draw a run: the network, what the arm was told with and without the buffer, the figures.

    The same run gives the same bytes. An .html page is whole in itself and works offline; it
    also has the run as a chart to zoom into, tick by tick.

    Args:
        result: the run.
        report: what `metrics.summarize` said of it, with the key `scenario` in front where known.
        path: ends in .png, .svg or .html.

    Raises:
        InputError: another suffix, or a place that cannot be written to.
    """
    suffix = check_plot_path(path)
    from steadyhand.view.plots.run_plot import run_figure
    from steadyhand.view.plots.save import png_bytes, svg_text, write_bytes
    from steadyhand.view.plots.style import house_style
    from steadyhand.view.plots.traces import traces_of

    run = traces_of(result)
    with house_style():
        figure = run_figure(result, report, run)
        if suffix == ".png":
            write_bytes(path, png_bytes(figure))
            return
        svg = svg_text(figure)
    if suffix == ".html":
        from steadyhand.view.plots.run_page import run_page

        svg = run_page(result, report, run, svg)
    write_bytes(path, svg.encode())


def draw_tune(tune: TuneResult, path: Path) -> None:
    """Draw a sweep's frontier: delay against held ticks, beside what knowing the trace allows.

    Args:
        tune: the sweep.
        path: ends in .png, .svg or .html.

    Raises:
        InputError: another suffix, or a place that cannot be written to.
    """
    suffix = check_plot_path(path)
    from steadyhand.view.plots.save import png_bytes, svg_text, write_bytes
    from steadyhand.view.plots.style import house_style
    from steadyhand.view.plots.tune_plot import tune_figure

    with house_style():
        figure = tune_figure(tune)
        if suffix == ".png":
            write_bytes(path, png_bytes(figure))
            return
        svg = svg_text(figure)
    if suffix == ".html":
        from steadyhand.view.plots.tune_page import tune_page

        svg = tune_page(tune, svg)
    write_bytes(path, svg.encode())
