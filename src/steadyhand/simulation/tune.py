"""Which buffer does this link need? Play it under every candidate and look at the frontier."""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from steadyhand.core.playout.config import MAX_TARGET_DEPTH
from steadyhand.ground.config import CommunicationConfig
from steadyhand.ground.stamps import NS_PER_MS, ms_from_ns
from steadyhand.simulation.frontier import TOLERANCE_SHARE, Curve, CurveKind, Point, TuneResult
from steadyhand.simulation.metrics import lane_figures
from steadyhand.simulation.offline_bound import delays_by_second, least_mean_delay_ms
from steadyhand.simulation.run import RunResult, simulate
from steadyhand.simulation.scenario import Scenario

FIXED_MS: Final = (10, 20, 30, 40, 60, 80, 100, 120, 150, 200, 250, 300, 400, 600)
ADAPTIVE_MS: Final = ((50, 200), (50, 400), (100, 200), (100, 400), (150, 400), (200, 400), (200, 500))
BOUND_SHARES: Final = (0.0, 0.0001, 0.0003, 0.001, 0.003, 0.005, 0.01, 0.03)


def tune(
    scenario: Scenario,
    *,
    tolerance_share: float = TOLERANCE_SHARE,
    progress: Callable[[float], None] | None = None,
) -> TuneResult:
    """Sweep depth and adaptation over one scenario and recommend a configuration.

    Every candidate keeps the scenario's stall policy, motion and packets; only the two depth keys
    change. Delay is the mean from sending to release. Pure, like `simulate`.
    """
    candidates = fixed_candidates(scenario.period_ns) + adaptive_candidates(scenario.period_ns)
    points: list[Point] = []
    bound = Curve(name="offline bound", kind=CurveKind.BOUND, points=())
    for done, (buffer_ms, ceiling_ms) in enumerate(candidates):
        result = simulate(_with_depth(scenario, buffer_ms, ceiling_ms), peers=False)
        points.append(_point(result, buffer_ms, ceiling_ms))
        if not bound.points:
            bound = offline_bound(result)
        if progress is not None:
            progress((done + 1) / len(candidates))
    fixed = tuple(point for point in points if not point.adaptive_max_ms)
    adaptive = tuple(point for point in points if point.adaptive_max_ms)
    return TuneResult(
        curves=(
            Curve(name="fixed depth", kind=CurveKind.FIXED, points=fixed),
            Curve(name="adaptive depth", kind=CurveKind.ADAPTIVE, points=adaptive),
            bound,
        ),
        recommended=recommend(points, tolerance_share),
        tolerance_share=tolerance_share,
        title=f"{scenario.link.name or 'link'}: mean delay from sending to release",
    )


def recommend(points: Sequence[Point], tolerance_share: float) -> Point | None:
    """The least delay without a stop and with no more held ticks than tolerated; None if none."""
    good = [point for point in points if point.stops == 0 and point.late_share <= tolerance_share]
    return min(good, key=lambda point: (point.delay_ms, point.buffer_ms), default=None)


def fixed_candidates(period_ns: int) -> list[tuple[float, float]]:
    """Fixed depths as (buffer, 0) milliseconds, whole slots, none twice, none over the cap."""
    period_ms = ms_from_ns(period_ns)
    slots = sorted({max(1, round(ms / period_ms)) for ms in FIXED_MS})
    return [(depth * period_ms, 0.0) for depth in slots if depth <= MAX_TARGET_DEPTH]


def adaptive_candidates(period_ns: int) -> list[tuple[float, float]]:
    """Adaptive depths as (base, ceiling) milliseconds."""
    deepest_ms = ms_from_ns(MAX_TARGET_DEPTH * period_ns)
    return [(float(base), float(ceiling)) for base, ceiling in ADAPTIVE_MS if ceiling <= deepest_ms]


def offline_bound(result: RunResult) -> Curve:
    """The bound over the shares that matter, from the packets of one run."""
    seconds = delays_by_second(result.flights)
    points = tuple(
        Point(delay_ms=least_mean_delay_ms(seconds, share), late_share=share, label=f"{100 * share:g} % late")
        for share in BOUND_SHARES
    )
    return Curve(name="offline bound", kind=CurveKind.BOUND, points=points)


def _with_depth(scenario: Scenario, buffer_ms: float, ceiling_ms: float) -> Scenario:
    communication: CommunicationConfig = msgspec.structs.replace(
        scenario.communication, playout_buffer_ms=buffer_ms, playout_adaptive_max_ms=ceiling_ms
    )
    return msgspec.structs.replace(scenario, communication=communication)


def _point(result: RunResult, buffer_ms: float, ceiling_ms: float) -> Point:
    lane = result.buffer
    figures = lane_figures(lane, result.scenario.period_ns)
    ages_ns = [age for age in lane.age_ns if age >= 0]
    mean_ms = sum(ages_ns) / len(ages_ns) / NS_PER_MS if ages_ns else float("inf")
    label = f"{buffer_ms:g} ms" if not ceiling_ms else f"{buffer_ms:g}..{ceiling_ms:g} ms"
    return Point(
        delay_ms=mean_ms,
        late_share=figures["held_ticks_share"],
        stops=len(lane.stops),
        label=label,
        buffer_ms=buffer_ms,
        adaptive_max_ms=ceiling_ms,
    )
