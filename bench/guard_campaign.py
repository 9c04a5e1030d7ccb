"""The divergence guard's two forms side by side: false trips on healthy arms, detection of faulty ones.

Three guards: `window`, `margin` at the floor R9 gives it, and `margin` with the least margin that has
no false trip in this campaign, since detection times of a guard that trips on a healthy arm are
worth nothing. The default form follows (R9): no false trip, and faster on every fault.
`guard_plant` has the arm, its feed and its faults.
"""

from collections.abc import Iterator
from itertools import product
from random import Random
from statistics import median
from typing import Literal

import msgspec

from bench.guard_plant import (
    FAULTS,
    MS,
    TICK_NS,
    V_MAX_DEG_S,
    Arm,
    Fault,
    Mode,
    Seen,
    cruise,
    motions,
    shaped,
    watch,
)
from bench.harness import Table
from steadyhand.core.safety.divergence import (
    DivergenceGuard,
    StreamFigures,
    divergence_guard,
    lag_floor_s,
    margin_floor_deg,
)
from steadyhand.core.safety.shaper import Proposal
from steadyhand.core.safety.verdicts import Violation
from steadyhand.ground.config_safety import DivergenceGuardConfig

LAGS_MS = (39, 78, 111)
ACCELERATIONS_DEG_S2 = (500.0, 1000.0, 2000.0)
SEEDS = 25
Form = Literal["window", "margin"]
FORMS: tuple[Form, Form] = ("window", "margin")
MODES: tuple[Mode, Mode] = ("rest_target", "feed_forward")
WORST = ("hard_stops", "jumps")


# ---- one run


def trips(
    guard: DivergenceGuard, frames: tuple[Proposal, ...], seen: list[Seen]
) -> Iterator[tuple[int, Violation]]:
    """Every tick at which the guard finds something; the stream goes on."""
    guard.restart(frames[0].joints_deg, 0)
    for frame, tick in zip(frames, seen, strict=True):
        found = guard.judge(frame, tick.measured_deg, age_ns=tick.age_ns, now_ns=tick.now_ns)
        if found is not None:
            yield tick.now_ns, found
        guard.note_sent(frame.joints_deg, tick.now_ns)


def figures_of(a_max_deg_s2: float, v_max_deg_s: float, joints: int = 6) -> StreamFigures:
    """The stream the floors are taken from."""
    return StreamFigures(
        v_max_deg_s=v_max_deg_s,
        a_max_deg_s2=a_max_deg_s2,
        period_ns=TICK_NS,
        joint_names=tuple(f"j{number}" for number in range(1, joints + 1)),
        max_age_ns=100 * MS,
    )


def guard_of(
    form: Form, lag_ms: int, figures: StreamFigures, margin_deg: float | None = None
) -> DivergenceGuard:
    """A guard with the lag of R18's rounding, and its floor where no margin is given."""
    loose = DivergenceGuardConfig(lag_s=1.0, form=form, measured_lag_s=lag_ms / 1000.0)
    if margin_deg is None:
        margin_deg = round(margin_floor_deg(loose, figures) + 0.05, 1) if form == "margin" else 1.0
    config = msgspec.structs.replace(
        loose, lag_s=lag_floor_s(loose), margin_deg=margin_deg, window_margin_deg=margin_deg
    )
    return divergence_guard(config, figures)


def one_joint(
    frames: tuple[Proposal, ...], seen: list[Seen], joint: int
) -> tuple[tuple[Proposal, ...], list[Seen]]:
    """The same run, of one joint."""
    kept = slice(joint, joint + 1)
    return tuple(
        Proposal(joints_deg=frame.joints_deg[kept], velocities_deg_s=frame.velocities_deg_s[kept])
        for frame in frames
    ), [Seen(tick.now_ns, tick.measured_deg[kept], tick.age_ns) for tick in seen]


def needed_deg(form: Form, lag_ms: int, frames: tuple[Proposal, ...], seen: list[Seen]) -> float:
    """The least margin with which this run has no trip."""
    tiny, most = 1e-6, 0.0
    for joint in range(6):
        guard = guard_of(form, lag_ms, figures_of(0.0, 0.0, 1), tiny)
        alone, watched = one_joint(frames, seen, joint)
        for _, found in trips(guard, alone, watched):
            most = max(most, found.measured - found.allowed + tiny)
    return most


FEEDS = {
    "steady feed": (0.0, False),
    "jitter ±4 ms": (4.0, False),
    "jitter ±8 ms": (8.0, False),
    "±8 ms and a stall": (8.0, True),
}


class Healthy(msgspec.Struct):
    """What the healthy arms of one form came to."""

    ticks: int = 0
    tripped: dict[str, int] = msgspec.field(default_factory=lambda: dict.fromkeys(FEEDS, 0))
    needed: dict[str, float] = msgspec.field(default_factory=dict)


def healthy_arms() -> dict[Form, Healthy]:
    """Every motion, acceleration, mode, lag and feed: tripped ticks, and the margin each would need."""
    results: dict[Form, Healthy] = {form: Healthy() for form in FORMS}
    for name, a_max, mode, lag_ms in product(motions(), ACCELERATIONS_DEG_S2, MODES, LAGS_MS):
        frames = shaped(name, mode, a_max)
        for under, (jitter_ms, stalls) in FEEDS.items():
            seed = f"{name} {a_max} {mode} {lag_ms} {under}"
            seen = watch(Arm(frames, lag_ms), jitter_ms=jitter_ms, stalls=stalls, seed=seed)
            for form, result in results.items():
                guard = guard_of(form, lag_ms, figures_of(a_max, V_MAX_DEG_S))
                result.ticks += len(frames)
                result.tripped[under] += sum(1 for _ in trips(guard, frames, seen))
                if name in WORST:
                    key = f"{lag_ms} ms, {a_max:g} °/s², {under}"
                    most = max(result.needed.get(key, 0.0), needed_deg(form, lag_ms, frames, seen))
                    result.needed[key] = most
    return results


def detection_ms(form: Form, lag_ms: int, fault: str, margin_deg: float | None) -> list[float]:
    """Time from the fault's first motion to the trip, one per seed; infinity where it never came."""
    frames, times = cruise(), []
    kind, begins_ms = FAULTS[fault]
    for seed in range(SEEDS):
        begins_ns = begins_ms * MS + round(Random(seed).random() * TICK_NS)
        arm = Arm(frames, lag_ms, Fault(begins_ns, kind))
        seen = watch(arm, jitter_ms=8.0, stalls=False, seed=f"{fault} {seed}")
        guard = guard_of(form, lag_ms, figures_of(500.0, V_MAX_DEG_S), margin_deg)
        first_ns = next((t for t, _ in trips(guard, frames, seen) if t >= begins_ns), None)
        times.append(float("inf") if first_ns is None else (first_ns - begins_ns) / MS)
    return times


def run() -> Table:
    """False trips, the margins that would be needed, then detection times per fault and lag."""
    healthy = healthy_arms()
    window, margin = healthy["window"], healthy["margin"]
    per_feed = window.ticks // len(FEEDS)
    rows = [
        [
            f"false trips, {under}",
            f"{per_feed} ticks",
            str(window.tripped[under]),
            str(margin.tripped[under]),
            "0",
        ]
        for under in FEEDS
    ]
    for lag_ms, a_max in product(LAGS_MS, ACCELERATIONS_DEG_S2):
        needs = [
            [
                result.needed[f"{lag_ms} ms, {a_max:g} °/s², {under}"]
                for under in ("steady feed", "±8 ms and a stall")
            ]
            for result in (window, margin)
        ]
        floor = margin_floor_deg(DivergenceGuardConfig(lag_s=lag_ms / 1000.0), figures_of(a_max, V_MAX_DEG_S))
        rows.append(
            [
                f"margin needed, a_max {a_max:g} °/s²",
                f"{lag_ms} ms",
                f"{needs[0][0]:.2f}° to {needs[0][1]:.2f}° (has 1°)",
                f"{needs[1][0]:.2f}° to {needs[1][1]:.2f}° (floor {floor:.2f}°)",
                f"{needs[1][1]:.2f}°",
            ]
        )
    detected: dict[str, list[float]] = {}
    for fault, lag_ms in product(FAULTS, LAGS_MS):
        cells = []
        enough = margin.needed[f"{lag_ms} ms, 500 °/s², ±8 ms and a stall"]
        guards: tuple[tuple[Form, float | None], ...] = (
            ("window", None),
            ("margin", None),
            ("margin", enough),
        )
        for form, margin_deg in guards:
            times = detection_ms(form, lag_ms, fault, margin_deg)
            cells.append(f"{median(times):.0f} (most {max(times):.0f})")
            detected[
                f"{fault}, {lag_ms} ms, {form}{'' if margin_deg is None else ' without false trips'}"
            ] = [
                median(times),
                max(times),
            ]
        rows.append([fault, f"{lag_ms} ms", *cells])
    return Table(
        name="guard_campaign",
        title="Divergence guard: false trips, margins needed, and ms to notice a fault (feed jitter ±8 ms)",
        columns=["", "lag", "window ± 1°", "margin at R9's floor", "margin without false trips"],
        rows=rows,
        figures={"healthy": msgspec.to_builtins(healthy), "detection_ms": detected},
    )


if __name__ == "__main__":
    for line in run().rows:
        print("  ".join(cell.ljust(32) for cell in line))
