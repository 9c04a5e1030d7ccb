"""A sweep as a page: the picture, the recommendation, and every point as a row."""

from html import escape

from steadyhand.simulation.frontier import CurveKind, Point, TuneResult
from steadyhand.view.plots import words
from steadyhand.view.plots.page import document, inline_svg, table


def tune_page(tune: TuneResult, svg: str) -> str:
    """The page of a sweep around its picture `svg`."""
    says = "Added delay against the share of held ticks, one point a configuration; values as in the table."
    parts = [
        "<h1>How much delay this link needs</h1>",
        f'<p class="quiet">{escape(words.printable(tune.title))}</p>',
        f'<div class="wide"><figure>{inline_svg(svg, says)}</figure></div>',
        f"<h2>Recommended</h2><p>{escape(recommendation(tune))}</p>",
        "<h2>Every point</h2>",
        _points(tune),
    ]
    return document(words.printable(f"steadyhand: {tune.title}"), "\n".join(parts))


def recommendation(tune: TuneResult) -> str:
    """What to configure, or that nothing fits."""
    tolerated = f"at most {words.share(tune.tolerance_share)} of ticks held"
    best = tune.recommended
    if best is None:
        return f"Nothing swept here plays this link without a stop and with {tolerated}."
    keys = f"playout_buffer_ms: {best.buffer_ms:g}, playout_adaptive_max_ms: {best.adaptive_max_ms:g}"
    return f"{best.label} for {tolerated} and no stop, at {best.delay_ms:.1f} ms mean delay ({keys})."


def _points(tune: TuneResult) -> str:
    rows = []
    for curve in tune.curves:
        judged = curve.kind not in (CurveKind.BOUND, CurveKind.PEER)
        rows += [_row(curve.name, point, tune.recommended, judged=judged) for point in curve.points]
    head = ["policy", "setting", "delay, ms", "ticks held, %", "stops"]
    return table(head, rows, classes=["", "", "number", "number", "number"])


def _row(name: str, point: Point, recommended: Point | None, *, judged: bool) -> list[str]:
    label = escape(point.label)
    if recommended is not None and point == recommended:
        label = f"<strong>{label}, recommended</strong>"
    stops = str(point.stops) if judged else "–"
    return [escape(name), label, f"{point.delay_ms:.1f}", f"{100.0 * point.late_share:.3f}", stops]
