"""A delayed arm with a jittering state feed, the motions it is led through, and the faults it can have.

The arm is a pure delay, as document 001 measured it, in straight lines between frames. Its state
feed runs on an 8 ms grid, each frame early or late by the jitter, and stalls for 50 ms once every
two seconds; what queued behind a stall arrives at its end. L is document 001's: from the send to
the newest frame, so the arm itself is half a feed period quicker. Readings carry ±0.02° of noise.
"""

from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Literal

import msgspec

from steadyhand.core.safety.shaper import Proposal, StreamShaper
from steadyhand.edge.motion_csv import load_motion
from steadyhand.ground.builtin_motions import HOME_DEG, builtin_motion
from steadyhand.ground.config_safety import StreamShaperConfig

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
Mode = Literal["rest_target", "feed_forward"]
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


# ---- faults


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
