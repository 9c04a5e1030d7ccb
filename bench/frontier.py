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
    """One row a link: delay of the described 200 ms, of the peer and of the bound at 0.5 % late."""
    rows: list[list[str]] = []
    figures: dict[str, float] = {}
    named = [str(LINKS / name) for name in CITY if (LINKS / name).exists()] or ["lte"]
    for name in named:
        scenario = Scenario(
            motion=load_motion("reaches", rng=Random(0)), link=load_link(name), duration_s=DURATION_S
        )
        found = tune(scenario)
        peer = quantile_curve(simulate(scenario, peers=False).flights)
        stem = Path(name).stem
        drawn = msgspec.structs.replace(found, curves=(*found.curves, peer))
        draw_tune(drawn, ROOT / f"out_frontier_{stem}.svg")
        fixed, bound = found.curves[0], found.curves[-1]
        described = next(point for point in fixed.points if point.buffer_ms == 200.0)
        at_bound, at_peer = delay_at(bound, LATE_SHARE), delay_at(peer, LATE_SHARE)
        rows.append([stem, f"{described.delay_ms:.1f}", f"{at_peer:.1f}", f"{at_bound:.1f}"])
        figures |= {f"{stem}_fixed_200_ms": described.delay_ms}
        figures |= {f"{stem}_peer_ms": at_peer, f"{stem}_bound_ms": at_bound}
    return Table(
        name="frontier",
        title=f"Mean delay from sending to release, ms; peer and bound at {100 * LATE_SHARE:g} % late",
        columns=["link", "described 200 ms", "NetEq-like quantile", "offline bound"],
        rows=rows,
        figures=figures,
    )


def delay_at(curve: Curve, late_share: float) -> float:
    """Least delay of a point whose late share is within `late_share`; infinite where there is none."""
    good: list[Point] = [point for point in curve.points if point.late_share <= late_share]
    return min((point.delay_ms for point in good), default=float("inf"))
