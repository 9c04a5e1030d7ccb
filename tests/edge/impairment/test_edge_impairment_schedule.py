"""The scheduler: what is delivered when, what a change or a kill does, and that its account balances."""

from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyhand.core.link import PROFILES, Link, LinkProfile, Outage
from steadyhand.edge.impairment import schedule as schedule_module
from steadyhand.edge.impairment.lane import DIRECTIONS, Direction, Lane
from steadyhand.edge.impairment.schedule import UDP_OVERHEAD_BYTES, Counters, Schedule

MS = 1_000_000
TEN_MS = LinkProfile(delay_ms=10.0)


def schedule_of(
    link: LinkProfile = TEN_MS, back: LinkProfile | None = None, *, seed: int = 1
) -> Schedule[str]:
    links: dict[Direction, LinkProfile] = {"to_follower": link, "to_operator": back or link}
    return Schedule({each: Lane("udp", each, links[each], seed=seed, now_ns=0) for each in DIRECTIONS})


def deliveries(schedule: Schedule[str], now_ns: int) -> list[tuple[float, str, bytes]]:
    """Everything due at `now_ns`: when in ms, whereto, what."""
    due = []
    while (delivery := schedule.pop_due(now_ns)) is not None:
        due.append((delivery.due_ns / MS, delivery.route, delivery.data))
    return due


def balance(counters: Counters) -> int:
    """Nought where every datagram ended in exactly one counter."""
    ended = counters.delivered + counters.lost + counters.killed + counters.overflowed + counters.refused
    return counters.received + counters.doubled - ended - counters.queued


def test_a_datagram_is_delivered_when_its_link_says_and_not_before() -> None:
    schedule = schedule_of()
    schedule.offer("to_follower", "robot", b"a", 5 * MS)
    assert schedule.next_due_ns == 15 * MS
    assert deliveries(schedule, 15 * MS - 1) == []
    assert deliveries(schedule, 15 * MS) == [(15.0, "robot", b"a")]
    assert schedule.next_due_ns is None


def test_each_direction_obeys_a_link_of_its_own() -> None:
    schedule = schedule_of(TEN_MS, LinkProfile(delay_ms=3.0))
    schedule.offer("to_follower", "robot", b"a", 0)
    schedule.offer("to_operator", "person", b"b", 0)
    assert deliveries(schedule, 20 * MS) == [(3.0, "person", b"b"), (10.0, "robot", b"a")]


def test_what_arrives_at_the_same_time_keeps_the_order_it_was_sent_in() -> None:
    freeze = LinkProfile(outages=(Outage(start_ms=0.0, duration_ms=50.0),), outage_burst=True)
    schedule = schedule_of(freeze)
    for number in range(20):
        schedule.offer("to_follower", "robot", bytes([number]), number * MS)
    assert [data[0] for _, _, data in deliveries(schedule, 50 * MS)] == list(range(20))


def test_the_link_is_that_of_core_with_the_plain_seed_and_headers_counted() -> None:
    profile = msgspec.structs.replace(PROFILES["wifi"], loss=0.1, rate_kbit_s=500.0)
    schedule, link = schedule_of(profile, seed=7), Link(profile, Random(7), start_ns=0)
    expected: list[float] = []
    for tick in range(500):
        schedule.offer("to_follower", "robot", b"x" * 400, tick * 10 * MS)
        expected += [ns / MS for ns in link.send(tick * 10 * MS, 400 + UDP_OVERHEAD_BYTES)]
    assert [at for at, _, _ in deliveries(schedule, 10_000 * MS)] == sorted(expected)
    assert schedule.counters["to_follower"].lost > 10


def test_the_two_directions_have_dice_of_their_own() -> None:
    schedule = schedule_of(LinkProfile(loss=0.5))
    for tick in range(100):
        for direction in DIRECTIONS:
            schedule.offer(direction, direction, bytes([tick]), tick * MS)
    due = deliveries(schedule, 100 * MS)
    there = {data for _, route, data in due if route == "to_follower"}
    back = {data for _, route, data in due if route == "to_operator"}
    assert there != back


def test_a_change_of_link_leaves_what_is_under_way_its_fate() -> None:
    schedule = schedule_of(LinkProfile(delay_ms=100.0))
    schedule.offer("to_follower", "robot", b"old", 0)
    schedule.lanes["to_follower"].set_link(LinkProfile(delay_ms=1.0), 10 * MS)
    schedule.offer("to_follower", "robot", b"new", 10 * MS)
    assert deliveries(schedule, 200 * MS) == [(11.0, "robot", b"new"), (100.0, "robot", b"old")]


def test_the_outages_of_a_new_link_count_from_its_change() -> None:
    schedule = schedule_of()
    freeze = LinkProfile(outages=(Outage(start_ms=0.0, duration_ms=2000.0),), outage_burst=True)
    schedule.lanes["to_follower"].set_link(freeze, 500 * MS)
    schedule.offer("to_follower", "robot", b"a", 600 * MS)
    assert deliveries(schedule, 9_000 * MS) == [(2500.0, "robot", b"a")]


def test_a_link_begun_anew_draws_the_first_dice_again_and_counts_from_there() -> None:
    profile = msgspec.structs.replace(PROFILES["wifi"], outages=(Outage(start_ms=100.0, duration_ms=50.0),))
    schedule, link = schedule_of(profile, seed=7), Link(profile, Random(7), start_ns=0)
    for tick in range(50):
        schedule.offer("to_follower", "robot", b"x", tick * MS)
    deliveries(schedule, 1_000 * MS)
    schedule.lanes["to_follower"].begin(1_000 * MS)
    expected: list[float] = []
    for tick in range(300):
        schedule.offer("to_follower", "robot", b"x", (1_000 + tick) * MS)
        expected += [1_000 + ns / MS for ns in link.send(tick * MS, 1 + UDP_OVERHEAD_BYTES)]
    assert [at for at, _, _ in deliveries(schedule, 2_000 * MS)] == pytest.approx(sorted(expected))
    assert schedule.counters["to_follower"].lost >= 50


def test_a_killed_lane_takes_what_comes_and_what_is_under_way_arrives() -> None:
    schedule = schedule_of()
    schedule.offer("to_follower", "robot", b"before", 0)
    schedule.lanes["to_follower"].kill()
    schedule.offer("to_follower", "robot", b"during", 5 * MS)
    schedule.lanes["to_follower"].revive()
    schedule.offer("to_follower", "robot", b"after", 6 * MS)
    assert [data for _, _, data in deliveries(schedule, 99 * MS)] == [b"before", b"after"]
    assert schedule.counters["to_follower"].killed == 1


def test_a_kill_in_one_direction_leaves_the_other_alive() -> None:
    schedule = schedule_of()
    schedule.lanes["to_follower"].kill()
    schedule.offer("to_follower", "robot", b"a", 0)
    schedule.offer("to_operator", "person", b"b", 0)
    assert deliveries(schedule, 10 * MS) == [(10.0, "person", b"b")]


def test_a_doubled_datagram_is_delivered_twice_and_counted_once() -> None:
    schedule = schedule_of(LinkProfile(duplicate=1.0))
    schedule.offer("to_follower", "robot", b"a", 0)
    assert [data for _, _, data in deliveries(schedule, 0)] == [b"a", b"a"]
    counters = schedule.counters["to_follower"]
    assert (counters.received, counters.doubled, counters.delivered) == (1, 1, 2)


def test_more_than_the_proxy_holds_is_counted_as_overflowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule_module, "MAX_QUEUED", 3)
    schedule = schedule_of()
    for number in range(5):
        schedule.offer("to_follower", "robot", bytes([number]), 0)
    assert schedule.counters["to_follower"].overflowed == 2
    assert [data[0] for _, _, data in deliveries(schedule, 10 * MS)] == [0, 1, 2]
    schedule.offer("to_follower", "robot", b"\x09", 20 * MS)
    assert len(deliveries(schedule, 30 * MS)) == 1


def test_so_are_more_bytes_than_it_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule_module, "MAX_QUEUED_BYTES", 1000)
    schedule = schedule_of()
    for _ in range(3):
        schedule.offer("to_follower", "robot", b"x" * 400, 0)
    assert schedule.counters["to_follower"].overflowed == 1
    deliveries(schedule, 10 * MS)
    schedule.offer("to_follower", "robot", b"x" * 1000, 20 * MS)
    assert len(deliveries(schedule, 30 * MS)) == 1


def test_what_the_kernel_does_not_take_is_counted_as_refused() -> None:
    schedule = schedule_of()
    schedule.offer("to_follower", "robot", b"a", 0)
    delivery = schedule.pop_due(10 * MS)
    assert delivery is not None
    schedule.note_refused(delivery)
    counters = schedule.counters["to_follower"]
    assert (counters.delivered, counters.refused) == (0, 1)


def test_the_counters_are_called_in_and_out_in_json() -> None:
    assert set(msgspec.to_builtins(Counters())) == {
        "in", "out", "lost", "doubled", "queued", "killed", "overflowed", "refused",
    }  # fmt: skip


PROFILE_STRATEGY = st.builds(
    LinkProfile,
    delay_ms=st.floats(0.0, 50.0),
    jitter_ms=st.floats(0.0, 20.0),
    loss=st.sampled_from([0.0, 0.3, 1.0]),
    duplicate=st.sampled_from([0.0, 0.5]),
    reorder=st.booleans(),
    rate_kbit_s=st.sampled_from([0.0, 1000.0]),
    queue_ms=st.just(30.0),
    outages=st.sampled_from([(), (Outage(start_ms=20.0, duration_ms=30.0),)]),
    outage_burst=st.booleans(),
)
OPERATIONS = st.one_of(
    st.sampled_from(["to_follower", "to_operator", "kill", "revive", "refuse"]), PROFILE_STRATEGY
)


@settings(max_examples=100, deadline=None)
@given(
    profile=PROFILE_STRATEGY,
    seed=st.integers(0, 1000),
    script=st.lists(st.tuples(st.integers(0, 30), OPERATIONS), max_size=40),
    held=st.sampled_from([2, 65_536]),
)
def test_every_datagram_ends_in_exactly_one_counter_and_none_is_early(
    profile: LinkProfile, seed: int, script: list[tuple[int, str | LinkProfile]], held: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schedule_module, "MAX_QUEUED", held)
        schedule = schedule_of(profile, seed=seed)
        accounts = schedule.counters.values()
        now_ns = offered = delivered = refused = 0
        for step_ms, operation in script:
            now_ns += step_ms * MS
            lane = schedule.lanes["to_follower"]
            match operation:
                case LinkProfile():
                    lane.set_link(operation, now_ns)
                case "kill":
                    lane.kill()
                case "revive":
                    lane.revive()
                case "refuse":
                    delivery = schedule.pop_due(now_ns)
                    if delivery is not None:
                        schedule.note_refused(delivery)
                        refused += 1
                case "to_follower" | "to_operator" as direction:
                    schedule.offer(direction, direction, b"x" * 100, now_ns)
                    offered += 1
            due = deliveries(schedule, now_ns)
            delivered += len(due)
            assert all(at <= now_ns / MS for at, _, _ in due)
            assert [at for at, _, _ in due] == sorted(at for at, _, _ in due)
            assert all(balance(counters) == 0 for counters in accounts)
        delivered += len(deliveries(schedule, 1 << 62))
        assert sum(counters.queued for counters in accounts) == 0
        assert sum(counters.received for counters in accounts) == offered
        assert sum(counters.delivered for counters in accounts) == delivered
        assert sum(counters.refused for counters in accounts) == refused
