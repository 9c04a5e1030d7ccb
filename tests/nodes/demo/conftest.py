"""Literal ticks, datagrams and setpoints of a run."""

from collections.abc import Callable

import pytest

from steadyhand.core.follower.outputs import FollowerEvent, FrameKind, Released, SendJoints
from steadyhand.edge.impairment.memory import Packet
from steadyhand.ground.stamps import NS_PER_MS
from steadyhand.nodes.demo.course import Course, Led
from steadyhand.nodes.follower.records import TickRecord

PERIOD_NS = 10 * NS_PER_MS
BEGIN_NS = 1_000 * NS_PER_MS

Tick = Callable[..., TickRecord]
MakeCourse = Callable[..., Course]


@pytest.fixture
def tick() -> Tick:
    """A tick of the follower; times in ms since the run began, poses of one joint."""

    def make(
        at_ms: float,
        *,
        released_deg: float | None = None,
        sent_deg: float | None = None,
        kind: FrameKind = FrameKind.FRESH,
        arrived_ms: float = 0.0,
        engage: str = "streaming",
        late_us: int = 0,
        counters: dict[str, int] | None = None,
        events: tuple[FollowerEvent, ...] = (),
        pid: int = 7,
        seq: int = 0,
    ) -> TickRecord:
        due_ns = BEGIN_NS + round(at_ms * NS_PER_MS)
        at_ns = due_ns + late_us * 1000
        released = None
        if released_deg is not None:
            arrived_ns = BEGIN_NS + round(arrived_ms * NS_PER_MS)
            released = Released(seq, kind, (released_deg,), arrived_ns, at_ns)
            sent_deg = released_deg if sent_deg is None else sent_deg
        return TickRecord(
            tick=1,
            pid=pid,
            at_ns=at_ns,
            wall_s=0.0,
            due_ns=due_ns,
            engage=engage,
            released=released,
            sent=None if sent_deg is None else SendJoints((sent_deg,), seq, kind),
            depth=3,
            target_depth=4,
            held=engage == "streaming" and released is None,
            events=events,
            counters=counters or {},
        )

    return make


@pytest.fixture
def course() -> MakeCourse:
    """A run of `records`; datagrams as (came, arrived or None), setpoints as (led, joint), all ms and °."""

    def make(
        records: list[TickRecord],
        *,
        packets: tuple[tuple[float, float | None], ...] = (),
        led: tuple[tuple[float, float], ...] = (),
        end_ms: float = 1e6,
        killed_ms: tuple[float, float] | None = None,
    ) -> Course:
        def at_ns(time_ms: float) -> int:
            return BEGIN_NS + round(time_ms * NS_PER_MS)

        return Course(
            period_ns=PERIOD_NS,
            records=records,
            led=[Led(seq, at_ns(led_ms), (joint_deg,)) for seq, (led_ms, joint_deg) in enumerate(led)],
            packets=[
                Packet(at_ns(came), None if arrived is None else at_ns(arrived), "arrives")
                for came, arrived in packets
            ],
            begin_ns=BEGIN_NS,
            end_ns=at_ns(end_ms),
            killed_ns=None if killed_ms is None else (at_ns(killed_ms[0]), at_ns(killed_ms[1])),
        )

    return make
