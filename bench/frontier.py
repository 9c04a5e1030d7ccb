"""Delay against held ticks: the described buffer, the offline bound, and a NetEq-like peer.

Uses the measured city traces where the data folder is beside the project, else a seeded model of a
mobile uplink. Draws bench/out_frontier_*.svg.
"""

from pathlib import Path
from random import Random

import msgspec

from bench.harness import Table
from bench.quantile_policy import quantile_curve
from steadyhand.edge.link_csv import load_link
from steadyhand.edge.motion_csv import load_motion
from steadyhand.simulation.frontier import Curve, Point
from steadyhand.simulation.run import simulate
from steadyhand.simulation.scenario import Scenario
from steadyhand.simulation.tune import tune
from steadyhand.view.plots import draw_tune

ROOT = Path(__file__).resolve().parent
LINKS = ROOT.parent.parent / "shared" / "data" / "links"
CITY = ("5g_urban_public_v30.csv", "5g_urban_private_v30.csv")
DURATION_S = 300.0
LATE_SHARE = 0.005


def run() -> Table:
    """One row a link: delay of the described 200 ms, and of peer and bound at no more than 0.5 % late."""
    rows: list[list[str]] = []
    figures: dict[str, float] = {}
    named = [str(LINKS / name) for name in CITY if (LINKS / name).exists()] or ["lte"]
    for name in named:
        scenario = Scenario(
            motion=load_motion("reaches", rng=Random(0)), link=load_link(name), duration_s=DURATION_S
        )
        found = tune(scenario)
        peer = quantile_curve(simulate(scenario, peers=False).flights, near_share=LATE_SHARE)
        stem = Path(name).stem
        drawn = msgspec.structs.replace(found, curves=(*found.curves, peer))
        draw_tune(drawn, ROOT / f"out_frontier_{stem}.svg")
        fixed, bound = found.curves[0], found.curves[-1]
        described = next(point for point in fixed.points if point.buffer_ms == 200.0)
        at_bound, at_peer = point_at(bound, LATE_SHARE), point_at(peer, LATE_SHARE)
        rows.append([stem, f"{described.delay_ms:.1f}", told(at_peer), told(at_bound)])
        figures |= {f"{stem}_fixed_200_ms": described.delay_ms}
        figures |= {f"{stem}_peer_ms": at_peer.delay_ms, f"{stem}_bound_ms": at_bound.delay_ms}
        figures |= {f"{stem}_peer_late_share": at_peer.late_share}
    return Table(
        name="frontier",
        title=f"Mean delay from sending to release, ms; peer and bound at most {100 * LATE_SHARE:g} % late",
        columns=["link", "described 200 ms", "NetEq-like quantile", "offline bound"],
        rows=rows,
        figures=figures,
    )


def point_at(curve: Curve, late_share: float) -> Point:
    """The point of least delay whose late share is within `late_share`; of infinite delay without one."""
    nowhere = Point(delay_ms=float("inf"), late_share=0.0, label="none")
    good = [point for point in curve.points if point.late_share <= late_share]
    return min(good, key=lambda point: point.delay_ms, default=nowhere)


def told(point: Point) -> str:
    """The delay, and which setting gives it at how much late."""
    setting = f"{point.label}, " if not point.label.endswith("late") else ""
    return f"{point.delay_ms:.1f} ({setting}{100 * point.late_share:.2f} %)"
