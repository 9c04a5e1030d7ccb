"""The picture of a sweep: every point in its place, and the distance that is its point."""

import re
from math import inf, log10
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from steadyhand.ground.errors import InputError
from steadyhand.simulation.frontier import Curve, CurveKind, Point, TuneResult
from steadyhand.view.plots import draw_tune
from steadyhand.view.plots.labels import SPOTS, Labels
from steadyhand.view.plots.style import PALETTE, house_style
from steadyhand.view.plots.tune_plot import tune_figure

FIXED = tuple(
    Point(delay_ms=ms + 6.0, late_share=share, stops=stops, label=f"{ms} ms", buffer_ms=float(ms))
    for ms, share, stops in ((20, 0.0004, 2), (100, 0.0003, 2), (150, 0.0, 0), (200, 0.0, 0), (600, 0.0, 0))
)
BOUND = tuple(Point(delay_ms=16.0 - 100.0 * share, late_share=share) for share in (0.0, 0.001, 0.01, 0.03))
CITY = TuneResult(
    curves=(
        Curve(name="fixed depth", kind=CurveKind.FIXED, points=FIXED),
        Curve(name="offline bound", kind=CurveKind.BOUND, points=BOUND),
        Curve(
            name="a peer",
            kind=CurveKind.PEER,
            points=(Point(delay_ms=21.0, late_share=0.005, label="99.5 %"),),
        ),
    ),
    recommended=FIXED[2],
    title="a city trace: mean delay from sending to release",
)


def drawn(tune: TuneResult, path: Path) -> bytes:
    draw_tune(tune, path)
    return path.read_bytes()


def said(tune: TuneResult, path: Path) -> str:
    """All text of the drawn picture."""
    return " ".join(ElementTree.fromstring(drawn(tune, path)).itertext())


def test_the_price_of_not_knowing_is_told_from_the_bound_to_the_described_depth(tmp_path: Path) -> None:
    text = said(CITY, tmp_path / "tune.svg")
    assert "190 ms: the price of" in text
    assert "not knowing, at 200 ms" in text


def test_the_recommended_configuration_is_named(tmp_path: Path) -> None:
    assert "recommended: 150 ms" in said(CITY, tmp_path / "tune.svg")
    nothing = msgspec.structs.replace(CITY, recommended=None)
    assert "nothing swept here plays this link within the tolerance" in said(nothing, tmp_path / "none.svg")


def test_stops_are_told_on_the_points(tmp_path: Path) -> None:
    text = said(CITY, tmp_path / "tune.svg")
    assert text.count("2 stops") == 2
    assert "hollow: the arm was stopped" in text


def test_nothing_held_stands_below_the_lowest_decade_and_is_called_none(tmp_path: Path) -> None:
    with house_style():
        axes = tune_figure(CITY).axes[0]
    names = [axes.yaxis.get_major_formatter()(tick, 0) for tick in axes.yaxis.get_majorticklocs()]
    assert names[0] == "none"
    assert names[1] == "0.01 %"
    points = [np.asarray(line.get_ydata(), dtype=float) for line in axes.lines]
    assert min(height[0] for height in points if len(height) == 1) == axes.yaxis.get_majorticklocs()[0] > 0.0


def test_depths_beyond_what_is_worth_reading_do_not_stretch_the_axis() -> None:
    with house_style():
        right_ms = tune_figure(CITY).axes[0].get_xlim()[1]
    assert 206.0 < right_ms < 400.0


@pytest.mark.parametrize(
    "tune",
    [
        TuneResult(curves=(), recommended=None),
        TuneResult(curves=(Curve(name="x", kind=CurveKind.FIXED, points=()),), recommended=None),
        TuneResult(
            curves=(
                Curve(
                    name="dead", kind=CurveKind.FIXED, points=(Point(delay_ms=inf, late_share=1.0, stops=9),)
                ),
            ),
            recommended=None,
            tolerance_share=0.0,
        ),
        msgspec.structs.replace(CITY, title="$x^2$ </title> 城市 \x07"),
        msgspec.structs.replace(CITY, curves=CITY.curves[1:2]),
        msgspec.structs.replace(CITY, tolerance_share=0.9),
    ],
)
@pytest.mark.parametrize("suffix", [".png", ".html"])
def test_a_sweep_that_is_hard_to_draw_is_drawn(tune: TuneResult, suffix: str, tmp_path: Path) -> None:
    assert len(drawn(tune, tmp_path / f"tune{suffix}")) > 10_000


@pytest.mark.parametrize("suffix", [".png", ".svg", ".html"])
def test_the_same_sweep_gives_the_same_bytes(suffix: str, tmp_path: Path) -> None:
    assert drawn(CITY, tmp_path / f"a{suffix}") == drawn(CITY, tmp_path / f"b{suffix}")


def test_another_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.png, \.svg or \.html"):
        draw_tune(CITY, tmp_path / "tune.jpg")


def test_the_page_has_every_point_and_fetches_nothing(tmp_path: Path) -> None:
    page = drawn(CITY, tmp_path / "tune.html").decode()
    assert not re.search(r"https?:|@import|url\((?!#)", page)
    for curve in CITY.curves:
        for point in curve.points:
            assert f">{point.delay_ms:.1f}</td>" in page
    assert "<strong>150 ms, recommended</strong>" in page
    assert "playout_buffer_ms: 150" in page
    body = page[page.index("<body>") :]
    assert not re.findall(r"#[0-9a-f]{6}\b", body)
    assert set(re.findall(r"var\(--([a-z-]+)\)", body)) <= set(PALETTE)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.floats(1.0, 99.0), st.floats(-5.0, -0.1)), min_size=1, max_size=25))
def test_no_two_labels_overlap(spots: list[tuple[float, float]]) -> None:
    figure = Figure(figsize=(6.0, 4.0))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_yscale("log")
    axes.set_xlim(0.0, 100.0)
    axes.set_ylim(1e-5, 1.0)
    labels = Labels(axes)
    placed = [labels.place(x, 10.0**y, f"label {x:.0f}", size_pt=8.0, spots=tuple(SPOTS)) for x, y in spots]
    assert len(axes.texts) == sum(placed)
    assert any(placed) or all(y > -0.4 or x > 90.0 for x, y in spots)
    boxes = [text.get_window_extent() for text in axes.texts]
    for place, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:place])


def test_a_label_avoids_a_line_where_it_can() -> None:
    figure = Figure(figsize=(6.0, 4.0))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_yscale("log")
    axes.set_xlim(0.0, 100.0)
    axes.set_ylim(1e-5, 1.0)
    labels = Labels(axes)
    just_above = 10.0 ** (log10(1e-2) + 0.2)
    labels.keep_line_clear([0.0, 100.0], [just_above, just_above])
    assert labels.place(50.0, 1e-2, "here", size_pt=8.0, spots=("above", "below"))
    assert axes.texts[0].get_verticalalignment() == "top"
