"""The control path's schedule: ordered, nothing lost, held where the link refuses."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyhand.core.link import LOST, LinkProfile, LinkTrace, Outage
from steadyhand.edge.impairment.lane import Lane, stream_profile
from steadyhand.edge.impairment.stream import END, RETRY_NS, WINDOW_BYTES, StreamSchedule

MS = 1_000_000


def stream_on(profile: LinkProfile, *, seed: int = 1) -> tuple[Lane, StreamSchedule]:
    lane = Lane("control", "to_follower", profile, seed=seed, now_ns=0)
    return lane, StreamSchedule(lane)


def due(stream: StreamSchedule, now_ns: int) -> list[bytes]:
    pieces = []
    while (piece := stream.pop_due(now_ns)) is not None:
        pieces.append(piece)
    return pieces


def test_bytes_are_delayed_and_the_end_comes_behind_them() -> None:
    _, stream = stream_on(LinkProfile(delay_ms=10.0))
    stream.offer(b"hello", 0)
    stream.offer(END, 1 * MS)
    assert not stream.wants_more
    assert due(stream, 10 * MS - 1) == []
    assert due(stream, 11 * MS) == [b"hello", END]


def test_loss_doubling_and_reordering_have_no_meaning() -> None:
    hostile = LinkProfile(loss=1.0, ge_enter_bad=1.0, duplicate=1.0, jitter_ms=20.0, reorder=True)
    _, stream = stream_on(hostile)
    for number in range(50):
        stream.offer(bytes([number]), number * MS)
    assert due(stream, 10_000 * MS) == [bytes([number]) for number in range(50)]


def test_an_outage_holds_the_stream_and_releases_it() -> None:
    _, stream = stream_on(LinkProfile(delay_ms=1.0, outages=(Outage(start_ms=0.0, duration_ms=500.0),)))
    stream.offer(b"a", 10 * MS)
    assert stream.next_due_ns == 501 * MS


def test_a_change_of_link_never_reorders_a_stream() -> None:
    lane, stream = stream_on(LinkProfile(delay_ms=100.0))
    stream.offer(b"old", 0)
    lane.set_link(LinkProfile(delay_ms=1.0), 10 * MS)
    stream.offer(b"new", 10 * MS)
    assert due(stream, 99 * MS) == []
    assert due(stream, 100 * MS) == [b"old", b"new"]


def test_what_an_endless_outage_refuses_waits_at_the_door_until_the_link_changes() -> None:
    lane, stream = stream_on(LinkProfile(outages=(Outage(start_ms=0.0, duration_ms=float("inf")),)))
    stream.offer(b"a", 0)
    assert not stream.wants_more
    assert stream.next_due_ns == RETRY_NS
    assert due(stream, RETRY_NS) == []
    lane.set_link(LinkProfile(delay_ms=5.0), RETRY_NS + 1)
    assert due(stream, 2 * RETRY_NS) == []
    assert due(stream, 2 * RETRY_NS + 5 * MS) == [b"a"]
    assert stream.wants_more


def test_the_door_is_tried_again_before_what_is_under_way_is_due() -> None:
    lane, stream = stream_on(LinkProfile(delay_ms=1000.0))
    stream.offer(b"far", 0)
    lane.set_link(LinkProfile(outages=(Outage(start_ms=0.0, duration_ms=float("inf")),)), MS)
    stream.offer(b"refused", MS)
    assert stream.next_due_ns == MS + RETRY_NS


def test_a_lost_row_of_a_trace_holds_the_stream_until_a_row_that_passes() -> None:
    trace = LinkTrace(t_ns=(0, 100 * MS), delay_ns=(LOST, 5 * MS), period_ns=1000 * MS)
    _, stream = stream_on(LinkProfile(trace=trace))
    stream.offer(b"a", 0)
    assert due(stream, RETRY_NS) == []
    assert due(stream, RETRY_NS + 5 * MS) == [b"a"]


def test_a_killed_lane_wants_no_more_and_does_not_wake_for_its_door() -> None:
    lane, stream = stream_on(LinkProfile(outages=(Outage(start_ms=0.0, duration_ms=float("inf")),)))
    lane.kill()
    assert not stream.wants_more
    stream.offer(b"a", 0)
    assert stream.next_due_ns is None
    lane.set_link(LinkProfile(), MS)
    assert due(stream, 10 * RETRY_NS) == []
    lane.revive()
    assert due(stream, 10 * RETRY_NS) == [b"a"]


def test_a_full_window_leaves_the_sender_unread_until_it_empties() -> None:
    _, stream = stream_on(LinkProfile(delay_ms=10.0))
    stream.offer(b"x" * WINDOW_BYTES, 0)
    assert not stream.wants_more
    due(stream, 10 * MS)
    assert stream.wants_more


def test_reading_on_where_it_was_not_wanted_is_refused() -> None:
    _, stream = stream_on(LinkProfile())
    stream.offer(END, 0)
    with pytest.raises(ValueError, match="not to be read"):
        stream.offer(b"a", 1)


def test_a_bottleneck_serves_every_byte_and_drops_none() -> None:
    profile = LinkProfile(rate_kbit_s=800.0, queue_ms=1.0, queue_bytes=10)
    _, stream = stream_on(profile)
    for tick in range(20):
        stream.offer(b"x" * 1000, tick)
    # 20 times 1000 bytes and a segment's headers at 100 bytes a millisecond.
    assert len(due(stream, 210_500_000)) == 20
    assert stream_profile(profile).queue_bytes == 0


@settings(max_examples=80, deadline=None)
@given(
    steps=st.lists(st.tuples(st.integers(0, 400), st.sampled_from(["send", "kill", "revive", "change"]))),
    jitter_ms=st.floats(0.0, 50.0),
    seed=st.integers(0, 99),
)
def test_every_byte_comes_out_once_and_in_order(
    steps: list[tuple[int, str]], jitter_ms: float, seed: int
) -> None:
    lane, stream = stream_on(
        LinkProfile(delay_ms=5.0, jitter_ms=jitter_ms, reorder=True, loss=0.5), seed=seed
    )
    now_ns, sent = 0, bytearray()
    out: list[bytes] = []
    for number, (step_ms, what) in enumerate(steps):
        now_ns += step_ms * MS
        if what == "send" and stream.wants_more:
            piece = f"{number},".encode()
            stream.offer(piece, now_ns)
            sent += piece
        elif what == "kill":
            lane.kill()
        elif what == "revive":
            lane.revive()
        elif what == "change":
            outage = Outage(start_ms=float(number), duration_ms=300.0)
            lane.set_link(LinkProfile(delay_ms=float(number % 7), outages=(outage,)), now_ns)
        out += due(stream, now_ns)
        assert stream.under_way_bytes == len(sent) - len(b"".join(out))
    lane.revive()
    out += due(stream, now_ns + 100 * RETRY_NS)
    assert b"".join(out) == bytes(sent)
