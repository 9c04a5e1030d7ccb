"""One mark for each thing that can happen. Shape tells it as well as colour."""

from collections.abc import Callable
from typing import Final

from steadyhand.core.playout import Offer
from steadyhand.view.figures.layout import MARK_HEIGHT
from steadyhand.view.figures.player import Drained
from steadyhand.view.figures.svg import element, text

REFUSED: Final = frozenset({Offer.TOO_LATE, Offer.DUPLICATE, Offer.MALFORMED, Offer.ON_PROBATION})

ArrivalKind = str
"""`queued`, `repaired`, `refused`, or `wasted` for one that was queued and later thrown away."""


def arrival_kind(verdict: Offer, *, wasted: bool) -> ArrivalKind:
    """Which mark an arrival gets, in view of what became of it."""
    if verdict in REFUSED:
        return "refused"
    if wasted:
        return "wasted"
    return "repaired" if verdict is Offer.REPAIRED else "queued"


def arrival_mark(kind: ArrivalKind, label: str, *, x: float, y: float, width: float) -> str:
    """A rounded box, middle at (x, y): full, ringed, hollow and struck, or pale and struck."""
    left, top = x - width / 2, y - MARK_HEIGHT / 2
    box = element("rect", x=left, y=top, width=width, height=MARK_HEIGHT, rx=3, class_=f"arrival {kind}")
    if kind == "repaired":
        ring = element(
            "rect", x=left + 2, y=top + 2, width=width - 4, height=MARK_HEIGHT - 4, rx=2, class_="ring"
        )
        return box + ring + _label(label, x, y, f"in-arrival {kind}")
    strike = ""
    if kind in ("refused", "wasted"):
        strike = element(
            "line", x1=left, y1=top + MARK_HEIGHT, x2=left + width, y2=top, class_=f"strike {kind}"
        )
    return box + strike + _label(label, x, y, f"in-arrival {kind}")


def release_mark(drained: Drained, *, x: float, y: float, width: float, stopped: bool) -> str:
    """A full pill, a hollow one for a synthetic, a dash for a hold, an octagon for the stop."""
    match drained.kind:
        case "release" | "synthetic":
            pill = element(
                "rect",
                x=x - width / 2,
                y=y - MARK_HEIGHT / 2,
                width=width,
                height=MARK_HEIGHT,
                rx=MARK_HEIGHT / 2,
                class_=drained.kind,
            )
            return pill + _label(str(drained.seq), x, y, f"in-{drained.kind}")
        case "hold":
            half = min(width / 2, 5)
            kind = "hold stopped" if stopped else "hold"
            return element("line", x1=x - half, y1=y, x2=x + half, y2=y, class_=kind)
        case "stall":
            return stop_mark(x, y, radius=min(10.0, 0.6 * width))


def stop_mark(x: float, y: float, *, radius: float) -> str:
    """A stop sign with a bar across."""
    near = 0.41 * radius
    corners = ((-near, -radius), (near, -radius), (radius, -near), (radius, near))
    opposite = tuple((-dx, -dy) for dx, dy in corners)
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in (*corners, *opposite))
    bar = element("line", x1=x - radius / 2, y1=y, x2=x + radius / 2, y2=y, class_="stall-bar")
    return element("polygon", points=points, class_="stall") + bar


def _label(label: str, x: float, y: float, class_: str) -> str:
    return text(label, x=x, y=y + 3.6, class_=f"seq {class_}", anchor="middle")


def _arrival_sample(kind: ArrivalKind) -> Callable[[float, float], str]:
    return lambda x, y: arrival_mark(kind, "8", x=x, y=y, width=18)


def _drained_sample(drained: Drained, *, stopped: bool = False) -> Callable[[float, float], str]:
    return lambda x, y: release_mark(drained, x=x, y=y, width=20, stopped=stopped)


SAMPLES: Final[dict[str, tuple[str, Callable[[float, float], str]]]] = {
    "queued": ("arrival", _arrival_sample("queued")),
    "repaired": ("put in order", _arrival_sample("repaired")),
    "refused": ("refused", _arrival_sample("refused")),
    "wasted": ("queued, later thrown away", _arrival_sample("wasted")),
    "release": ("released to the arm", _drained_sample(Drained(kind="release", seq=8))),
    "synthetic": ("synthetic", _drained_sample(Drained(kind="synthetic", seq=8))),
    "hold": ("hold", _drained_sample(Drained(kind="hold"))),
    "stall": ("emergency stop", _drained_sample(Drained(kind="stall"))),
    "stopped": ("the arm stands", _drained_sample(Drained(kind="hold"), stopped=True)),
}
"""Legend: words and a sample of each mark."""
