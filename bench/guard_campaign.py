"""The divergence guard's two forms side by side: false trips on healthy arms, detection of faulty ones.

The arm is a pure delay, as document 001 measured it, in straight lines between frames. Its state
feed runs on an 8 ms grid, each frame early or late by the jitter, and stalls for 50 ms once every
two seconds; what queued behind a stall arrives at its end. L is document 001's: from the send to
the newest frame, so the arm itself is half a feed period quicker. Readings carry ±0.02° of noise.

Three guards: `window`, `margin` at the floor R9 gives it, and `margin` with the least margin that has
no false trip in this campaign, since detection times of a guard that trips on a healthy arm are
worth nothing. The default form follows (R9): no false trip, and faster on every fault.
"""

from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import product
from pathlib import Path
from random import Random
from statistics import median
from typing import Literal

import msgspec

from bench.harness import Table
from steadyhand.core.safety.divergence import (
    DivergenceGuard,
    StreamFigures,
    divergence_guard,
    lag_floor_s,
    margin_floor_deg,
)
from steadyhand.core.safety.shaper import Proposal, StreamShaper
from steadyhand.core.safety.verdicts import Violation
from steadyhand.edge.motion_csv import load_motion
from steadyhand.ground.builtin_motions import HOME_DEG, builtin_motion
from steadyhand.ground.config_safety import DivergenceGuardConfig, StreamShaperConfig

ROOT = Path(__file__).resolve().parent
MOTIONS = ROOT.parent.parent / "shared" / "data" / "motions"
RECORDED = ("ur10e_excitation.csv", "ur10e_unloaded.csv")
MS = 1_000_000
TICK_NS = 10 * MS
FEED_NS = 8 * MS
STALL_NS = 50 * MS
STALL_EVERY_NS = 2000 * MS
V_MAX_DEG_S = 130.0
RUNAWAY_DEG_S = 196.0
NOISE_DEG = 0.02
LAGS_MS = (39, 78, 111)
ACCELERATIONS_DEG_S2 = (500.0, 1000.0, 2000.0)
SEEDS = 25
Form = Literal["window", "margin"]
Mode = Literal["rest_target", "feed_forward"]
FORMS: tuple[Form, Form] = ("window", "margin")
MODES: tuple[Mode, Mode] = ("rest_target", "feed_forward")
WORST = ("hard_stops", "jumps")
Pose = tuple[float, ...]


# ---- streams


def jumps(seconds: int) -> list[Pose]:
    """Jumps of up to 30° every 0.3 s: the hardest a producer can be."""
    dice, target, poses = Random(3), HOME_DEG, []
    for tick in range(100 * seconds):
        if tick % 30 == 0:
            target = tuple(home + 60.0 * (dice.random() - 0.5) for home in HOME_DEG)
        poses.append(target)
    return poses


def hard_stops(seconds: int) -> list[Pose]:
    """Cruise at v_max, stop dead, turn back: the margin form's worst case, again and again."""
    poses, angle, direction = [], 0.0, 1.0
    for tick in range(100 * seconds):
        phase = tick % 120
        if phase == 0:
            direction = -direction
        if phase < 70:
            angle += direction * V_MAX_DEG_S * 0.01
        poses.append((angle, -90.0 + 0.5 * angle, *HOME_DEG[2:]))
    return poses


def recorded(name: str) -> list[Pose]:
    """A recording, whole, at the stream's rate."""
    motion = load_motion(str(MOTIONS / name))
    return motion.resample(100.0, motion.duration_s)


def motions() -> dict[str, Callable[[], list[Pose]]]:
    """Every healthy stream, the recorded ones where the data folder is beside the project."""
    found: dict[str, Callable[[], list[Pose]]] = {
        "reaches": lambda: builtin_motion("reaches", Random(1)).resample(100.0, 20.0),
        "sine": lambda: builtin_motion("sine", Random(1)).resample(100.0, 10.0),
        "jumps": lambda: jumps(15),
        "hard_stops": lambda: hard_stops(15),
    }
    for name in RECORDED:
        if (MOTIONS / name).exists():
            found[name] = partial(recorded, name)
    return found


@cache
def shaped(name: str, mode: Mode, a_max_deg_s2: float) -> tuple[Proposal, ...]:
    """The frames the wire would carry."""
    targets = motions()[name]()
    config = StreamShaperConfig(v_max_deg_s=V_MAX_DEG_S, a_max_deg_s2=a_max_deg_s2, mode=mode)
    shaper = StreamShaper(config, n_joints=6, period_s=0.01)
    shaper.prime(targets[0])
    frames = []
    for target in targets:
        frames.append(shaper.propose(target))
        shaper.commit(frames[-1])
    return tuple(frames)


# ---- the arm and its feed


class Arm:
    """Where the arm is at any time: the stream L ago, unless a fault has taken over."""

    def __init__(self, frames: tuple[Proposal, ...], lag_ms: int, fault: "Fault | None" = None) -> None:
        self.frames = frames
        self.delay_ns = lag_ms * MS - FEED_NS // 2
        self.fault = fault

    def healthy_deg(self, t_ns: int) -> Pose:
        """The pose of an arm that does what it is told."""
        executed = t_ns - self.delay_ns
        if executed <= 0:
            return self.frames[0].joints_deg
        index = min(executed // TICK_NS, len(self.frames) - 2)
        before, after = self.frames[index].joints_deg, self.frames[index + 1].joints_deg
        share = min(1.0, (executed - index * TICK_NS) / TICK_NS)
        return tuple(a + (b - a) * share for a, b in zip(before, after, strict=True))

    def at(self, t_ns: int) -> Pose:
        """The true pose."""
        if self.fault is None or t_ns < self.fault.begins_ns:
            return self.healthy_deg(t_ns)
        return self.fault.pose(self, t_ns)


class Fault(msgspec.Struct, frozen=True):
    """Something the arm does by itself from a moment on."""

    begins_ns: int
    kind: str

    def pose(self, arm: Arm, t_ns: int) -> Pose:
        """The pose under this fault; joint 1 has it, except where joints are swapped."""
        start, now = arm.healthy_deg(self.begins_ns), arm.healthy_deg(t_ns)
        since_s = (t_ns - self.begins_ns) / 1e9
        if self.kind == "frozen":
            return start
        if self.kind == "wrong joint":
            return (start[0] + now[1] - start[1], start[1] + now[0] - start[0], *now[2:])
        speed = {"runs ahead": RUNAWAY_DEG_S, "runs back": -RUNAWAY_DEG_S, "creeps at rest": 20.0}
        return (start[0] + speed.get(self.kind, RUNAWAY_DEG_S) * since_s, *now[1:])


def feed(end_ns: int, *, jitter_ms: float, stalls: bool, dice: Random) -> Iterator[tuple[int, int]]:
    """(arrival, moment measured) of each state frame, in order of arrival."""
    offset_ns = round(dice.random() * FEED_NS)
    frames = []
    for measured_ns in range(offset_ns, end_ns, FEED_NS):
        arrival_ns = measured_ns + round((2.0 * dice.random() - 1.0) * jitter_ms * MS)
        into_stall_ns = arrival_ns % STALL_EVERY_NS - STALL_EVERY_NS // 2
        if stalls and 0 <= into_stall_ns < STALL_NS:
            arrival_ns += STALL_NS - into_stall_ns
        frames.append((arrival_ns, measured_ns))
    return iter(sorted(frames))


class Seen(msgspec.Struct, frozen=True):
    """What a tick knows of the arm: the newest frame that has arrived, and how old it is."""

    now_ns: int
    measured_deg: Pose
    age_ns: int


def watch(arm: Arm, *, jitter_ms: float, stalls: bool, seed: str) -> list[Seen]:
    """What every tick of the stream sees."""
    dice = Random(seed)
    coming = feed(len(arm.frames) * TICK_NS, jitter_ms=jitter_ms, stalls=stalls, dice=dice)
    measured, arrived_ns, seen = arm.frames[0].joints_deg, 0, []
    pending = next(coming, None)
    for tick in range(len(arm.frames)):
        now_ns = tick * TICK_NS
        while pending is not None and pending[0] <= now_ns:
            arrived_ns, newest_ns = pending
            measured = tuple(a + NOISE_DEG * (2.0 * dice.random() - 1.0) for a in arm.at(newest_ns))
            pending = next(coming, None)
        seen.append(Seen(now_ns, measured, now_ns - arrived_ns))
    return seen


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


def cruise() -> tuple[Proposal, ...]:
    """3 s: rest for one, then joint 1 at 120 °/s and joint 2 at half of it."""
    targets, angle, speed = [], 0.0, 0.0
    for tick in range(300):
        speed = min(120.0, speed + 4.0) if tick >= 100 else 0.0
        angle += speed * 0.01
        targets.append((angle, -90.0 + 0.5 * angle, *HOME_DEG[2:]))
    config = StreamShaperConfig(v_max_deg_s=V_MAX_DEG_S, a_max_deg_s2=500.0, mode="feed_forward")
    shaper = StreamShaper(config, n_joints=6, period_s=0.01)
    shaper.prime(targets[0])
    frames = []
    for target in targets:
        frames.append(shaper.propose(target))
        shaper.commit(frames[-1])
    return tuple(frames)


FAULTS = {
    "runs ahead at speed": ("runs ahead", 2000),
    "runs back at speed": ("runs back", 2000),
    "freezes at speed": ("frozen", 2000),
    "wrong joint at speed": ("wrong joint", 2000),
    "runs away at rest": ("runs ahead", 500),
    "creeps at rest, 20 °/s": ("creeps at rest", 500),
}


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
