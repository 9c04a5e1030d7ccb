"""What has to be true of the tick records of every fault, whatever it was."""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from steadyhand.core.follower.outputs import FrameKind
from steadyhand.core.safety.latch import StopKind
from steadyhand.nodes.follower.records import TickRecord
from tests.nodes.faults.stack import Stack

ROUNDING_DEG_S: Final = 1e-6
WAY_NS: Final = 20_000_000
"""From the tap to the follower over a clean link, and a tick's lateness, on a busy machine."""


def check(stack: Stack, *, ours: bool = True) -> None:
    """Every rule of this file, over the records of the test that runs.

    Args:
        stack: whose.
        ours: nobody else has moved the arm.
    """
    records = stack.records
    assert stack.ticks.missed == 0
    every_step_is_legal(stack, records)
    nothing_is_sent_while_stopped(records)
    nothing_old_is_released(stack, records)
    if ours:
        the_arm_is_never_faster_than_allowed(stack, records)
        assert stack.status()["main_code"] == 0


def every_step_is_legal(stack: Stack, records: Sequence[TickRecord]) -> None:
    """|v| ≤ v_max and |Δv| ≤ a_max·T between the frames of one engagement."""
    shaper = stack.config.safety.stream_shaper if stack.config.safety is not None else None
    assert shaper is not None
    period_s = stack.playout.period_ns / 1e9
    for poses_deg in _engagements(records):
        speeds = [
            tuple((b - a) / period_s for a, b in zip(before, after, strict=True))
            for before, after in pairwise(poses_deg)
        ]
        for speed_deg_s in speeds:
            assert max(map(abs, speed_deg_s)) <= shaper.v_max_deg_s + ROUNDING_DEG_S
        at_rest = (0.0,) * len(poses_deg[0])
        for before, after in pairwise([at_rest, *speeds]):
            step_deg_s = max(abs(b - a) for a, b in zip(before, after, strict=True))
            assert step_deg_s <= shaper.a_max_deg_s2 * period_s + ROUNDING_DEG_S


def nothing_is_sent_while_stopped(records: Iterable[TickRecord]) -> None:
    """No motion from the stop on.

    In its own tick a frame may have left before it: the one whose write failed, and one of the tick
    in which the missing heartbeat was seen, for a tick looks around after it has written.
    """
    stopped_before = False
    for record in records:
        stopped = record.engage == "stopped"
        if stopped and (stopped_before or not _stops_after_writing(record)):
            assert record.sent is None, record
        stopped_before = stopped


def _stops_after_writing(record: TickRecord) -> bool:
    cause = record.stopped_by
    return record.write == "fatal" or (cause is not None and cause.kind is StopKind.PROCESS_LOST)


def nothing_old_is_released(stack: Stack, records: Iterable[TickRecord]) -> None:
    """A received setpoint is released within the buffer's age cap: of its arrival, and of its sending."""
    for record in records:
        released = record.released
        if released is None or released.kind is not FrameKind.FRESH:
            continue
        cap_ns = stack.playout.max_age_ns(record.target_depth) + WAY_NS
        assert released.released_ns - released.arrived_ns <= cap_ns
        sent_ns = stack.tap.sent_ns.get(released.seq)
        if sent_ns is not None:
            assert released.released_ns - sent_ns <= cap_ns, (released, sent_ns)


def the_arm_is_never_faster_than_allowed(stack: Stack, records: Iterable[TickRecord]) -> None:
    """Measured, by the arm itself."""
    shaper = stack.config.safety.stream_shaper if stack.config.safety is not None else None
    assert shaper is not None
    for record in records:
        if record.measured is not None:
            assert record.measured.fastest_joint_deg_s <= shaper.v_max_deg_s + 1.0


def nothing_has_stopped_it(records: Iterable[TickRecord]) -> None:
    """Not for a single tick."""
    for record in records:
        assert record.stopped_by is None, record.stopped_by


def the_arm_stands(records: Iterable[TickRecord], at_deg: Sequence[float]) -> None:
    """Every measured pose is this one."""
    for record in records:
        if record.measured is not None:
            assert math.dist(record.measured.joints_deg, at_deg) < 0.01, record.measured


def _engagements(records: Iterable[TickRecord]) -> list[list[tuple[float, ...]]]:
    """Frames that were taken, one list an engagement."""
    engagements: list[list[tuple[float, ...]]] = []
    engaged_by = 0
    for record in records:
        engaged = record.engage in ("streaming", "braking")
        if not engaged and (record.sent is None or record.engage == "preparing"):
            engaged_by = 0
            continue
        if engaged_by != record.pid:
            engagements.append([])
            engaged_by = record.pid
        if record.sent is not None and record.write == "taken":
            engagements[-1].append(record.sent.joints_deg)
    return [poses for poses in engagements if poses]
