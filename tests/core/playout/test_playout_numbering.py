"""R3, rule by rule: when a numbering is believed, and what a change of numbering asks for."""

from collections.abc import Callable, Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyhand.core.playout import Offer, PlayoutBuffer, Release
from steadyhand.ground.setpoint import Setpoint

Build = Callable[..., PlayoutBuffer]
Point = Callable[..., Setpoint]
Send = Callable[[PlayoutBuffer, Iterable[int], float], list[Offer]]
Lane = Callable[[PlayoutBuffer, float, int], str]
Balance = Callable[[PlayoutBuffer], None]

MS = 1_000_000
MODULUS = 1 << 32


def test_r3_silence_is_counted_from_the_last_accepted_arrival(new_buffer: Build, send: Send) -> None:
    """What is rejected, the new numbers themselves first of all, does not break it."""
    buffer = new_buffer()
    send(buffer, range(1000, 1005), 0.0)
    buffer.flush_lifecycle()
    for k in range(199):
        late = Setpoint(joints_deg=(0.0,), timestamp_s=20.0 + 0.01 * k)
        assert buffer.offer(k, late, (10 * k + 10) * MS) is Offer.TOO_LATE
    assert buffer.offer(199, Setpoint(joints_deg=(0.0,), timestamp_s=30.0), 2000 * MS) is Offer.EPOCH_RESET


def test_r3_an_old_number_after_silence_needs_a_newer_stamp(new_buffer: Build, send: Send) -> None:
    """A relay that held a datagram back for three seconds is not a restarted sender."""
    buffer = new_buffer()
    send(buffer, range(1000, 1005), 0.0)
    buffer.flush_lifecycle()
    assert send(buffer, [990, 1004, 1000], 3000.0) == [Offer.TOO_LATE] * 3
    assert buffer.stats.epoch_resets == 0


def test_r3_an_old_number_after_silence_under_another_clock_proves_itself_by_five(
    new_buffer: Build, point: Point, send: Send
) -> None:
    """Stamps of two hosts do not compare, so one datagram cannot show that it is newer."""
    buffer = new_buffer()
    send(buffer, range(1000, 1005), 0.0)
    verdicts = [buffer.offer(k, point(k, leader_ms=10.0 * k), (3_000 + 10 * k) * MS) for k in range(6)]
    assert verdicts == [Offer.ON_PROBATION] * 4 + [Offer.EPOCH_RESET, Offer.QUEUED]


@pytest.mark.parametrize("first_seq", [70_000, 1 << 20, 1 << 30])
def test_r3_a_far_numbering_is_believed_after_five_consecutive_datagrams(
    first_seq: int, new_buffer: Build, point: Point, send: Send, balance: Balance
) -> None:
    buffer = new_buffer()
    send(buffer, range(5), 0.0)
    verdicts = [
        buffer.offer(first_seq + k, point(0, stamp_ms=100.0 + 10 * k), (100 + 10 * k) * MS) for k in range(6)
    ]
    assert verdicts == [Offer.ON_PROBATION] * 4 + [Offer.EPOCH_RESET, Offer.QUEUED]
    assert (buffer.stats.on_probation, buffer.stats.epoch_resets) == (4, 1)
    assert (buffer.stats.flushed, buffer.depth) == (5, 2)
    balance(buffer)


@pytest.mark.parametrize(("jump", "verdict"), [(1 << 15, Offer.QUEUED), ((1 << 15) + 1, Offer.ON_PROBATION)])
def test_r3_more_than_two_to_the_fifteenth_is_far(
    jump: int, verdict: Offer, new_buffer: Build, point: Point, send: Send
) -> None:
    buffer = new_buffer()
    send(buffer, range(5), 0.0)
    assert buffer.offer(4 + jump, point(0, stamp_ms=50.0), 10 * MS) is verdict


def test_r3_an_arrival_of_the_known_numbering_starts_the_proof_again(
    new_buffer: Build, point: Point, send: Send
) -> None:
    buffer = new_buffer(200)
    send(buffer, range(5), 0.0)
    for turn in range(20):
        for k in range(4):
            far = point(0, stamp_ms=1000.0 + 100 * turn + 10 * k)
            assert buffer.offer(1_000_000 + 4 * turn + k, far, 100 * MS) is Offer.ON_PROBATION
        assert buffer.offer(5 + turn, point(5 + turn), 100 * MS) is Offer.QUEUED
    assert buffer.stats.epoch_resets == 0


@pytest.mark.parametrize(
    ("step", "stamp_step_ms"),
    [(0, 10.0), (-1, 10.0), (40_000, 10.0), (1, 0.0), (1, -1.0)],
)
def test_r3_what_does_not_follow_itself_proves_nothing(
    step: int, stamp_step_ms: float, new_buffer: Build, point: Point, send: Send
) -> None:
    """One datagram repeated, numbers that fall or leap, stamps that stand still: no numbering."""
    buffer = new_buffer()
    send(buffer, range(5), 0.0)
    for k in range(50):
        far = point(0, stamp_ms=10_000.0 + stamp_step_ms * k)
        assert buffer.offer(5_000_000 + step * k, far, 100 * MS) is Offer.ON_PROBATION


def test_r4_copies_do_not_prove_a_numbering_and_do_not_break_the_proof(
    new_buffer: Build, point: Point, send: Send, balance: Balance
) -> None:
    """One bundle with ten copies is one witness; five bundles are five."""
    buffer = new_buffer()
    send(buffer, range(5), 0.0)
    for k in range(50):
        far = point(0, stamp_ms=100.0 + 10 * k)
        assert buffer.offer(1_000_000 + k, far, 100 * MS, is_copy=True) is Offer.ON_PROBATION
    verdicts = []
    for k in range(100, 105):
        for back in (2, 1):
            copy = point(0, stamp_ms=100.0 + 10 * (k - back))
            assert buffer.offer(1_000_000 + k - back, copy, 100 * MS, is_copy=True) is Offer.ON_PROBATION
        verdicts.append(buffer.offer(1_000_000 + k, point(0, stamp_ms=100.0 + 10 * k), 100 * MS))
    assert verdicts == [Offer.ON_PROBATION] * 4 + [Offer.EPOCH_RESET]
    balance(buffer)


@pytest.mark.parametrize("held_back", [2, 199])
@pytest.mark.parametrize("burst_after", [0, 3])
def test_r3_the_dead_epoch_is_told_by_its_stamp_even_before_the_first_release(
    burst_after: int, held_back: int, new_buffer: Build, point: Point
) -> None:
    """No floor stands yet in the new numbering, and the old numbers lie below it."""
    buffer = new_buffer()
    for k in range(5):
        buffer.offer(1_000 + k, point(0, stamp_ms=10.0 * k), 0)
    buffer.flush_lifecycle()
    proof = range(9_000_000, 9_000_005 + burst_after)
    for k, seq in enumerate(proof):
        buffer.offer(seq, point(0, stamp_ms=3_000.0 + 10 * k), 3_000 * MS)
    assert buffer.stats.epoch_resets == 1
    for k in range(held_back):
        stale = point(0, stamp_ms=50.0 + 10 * k)
        assert buffer.offer(1_005 + k, stale, 3_000 * MS) not in (Offer.QUEUED, Offer.REPAIRED)
    assert buffer.depth == 1 + burst_after


@pytest.mark.parametrize("back", [2, 20, 120, 195])
def test_r3_the_dead_epoch_is_told_by_its_stamp_where_the_numberings_overlap(
    back: int, new_buffer: Build, point: Point
) -> None:
    """A sender that counts on from a saved number: 5,000 again, 2.5 s after 5,010 was its last."""
    buffer = new_buffer()
    for seq in range(5_006, 5_011):
        buffer.offer(seq, point(seq), 0)
    buffer.flush_lifecycle()
    verdict = buffer.offer(5_000, point(0, stamp_ms=52_610.0), 2_500 * MS)
    assert verdict is Offer.EPOCH_RESET
    stale = point(5_000 - back)  # sent 2.5 s and more before the restart
    assert buffer.offer(5_000 - back, stale, 2_505 * MS) is Offer.TOO_LATE


def test_r3_a_new_numbering_reordered_at_its_very_start_is_repaired(
    new_buffer: Build, point: Point, lane: Lane
) -> None:
    """Telling the dead epoch by its stamps must not cost the new one its first setpoints."""
    buffer = new_buffer(3)
    for k in range(5):
        buffer.offer(1_000 + k, point(0, stamp_ms=10.0 * k), 0)
    buffer.flush_lifecycle()
    verdicts = [
        buffer.offer(seq, point(seq, stamp_ms=5_000.0 + 10 * seq), 5_000 * MS) for seq in (2, 0, 1, 3)
    ]
    assert verdicts == [Offer.EPOCH_RESET, Offer.REPAIRED, Offer.REPAIRED, Offer.QUEUED]
    assert lane(buffer, 5_000.0, 4) == "0 1 2 3"


@pytest.mark.parametrize("far", [True, False])
def test_r3_a_change_of_numbering_while_engaged_flushes_and_needs_a_new_prepare_stream(
    *, far: bool, new_buffer: Build, point: Point, send: Send, lane: Lane, balance: Balance
) -> None:
    buffer = new_buffer()
    send(buffer, range(100_000, 100_006), 0.0)
    assert lane(buffer, 0.0, 2) == "100000 100001"
    first = 9_000_000 if far else 0
    at_ms = 3_000.0
    for k in range(12):
        fresh = point(0, stamp_ms=1_000_060.0 + at_ms + 10 * k)
        buffer.offer(first + k, fresh, round((at_ms + 10 * k) * MS))
    assert buffer.stats.epoch_resets == 1
    assert buffer.stats.flushed == 4
    assert buffer.health(3_200 * MS).awaiting_prepare
    # However full the queue: nobody has said that this is the person who was leading.
    assert set(lane(buffer, 3_200.0, 20).split()) == {"a"}
    assert buffer.stats.hold_ticks == 0  # not live: nothing was engaged to be held
    buffer.flush_for_estop(None)
    assert buffer.health(3_400 * MS).awaiting_prepare
    buffer.flush_lifecycle()
    assert not buffer.health(3_400 * MS).awaiting_prepare
    stamps_ms = [1_003_300.0 + 10 * k for k in range(5)]
    for k, stamp_ms in enumerate(stamps_ms):
        buffer.offer(first + 20 + k, point(0, stamp_ms=stamp_ms), 3_400 * MS)
    assert lane(buffer, 3_400.0, 5) == " ".join([str(first + 20 + k) for k in range(5)])
    balance(buffer)


def test_r3_a_change_of_numbering_before_anything_was_released_just_prefills(
    new_buffer: Build, point: Point, send: Send, lane: Lane
) -> None:
    buffer = new_buffer()
    send(buffer, range(100_000, 100_003), 0.0)
    for seq in range(5):
        buffer.offer(seq, point(0, stamp_ms=1_003_000.0 + 10 * seq), 3_000 * MS)
    assert not buffer.awaiting_prepare
    assert lane(buffer, 3_000.0, 5) == "0 1 2 3 4"


def test_r3_a_new_session_forgets_numbers_and_stamps(
    new_buffer: Build, point: Point, send: Send, lane: Lane, balance: Balance
) -> None:
    """Another host, whose clock is years behind, numbering from zero: in at once."""
    buffer = new_buffer()
    send(buffer, range(100_000, 100_003), 0.0)
    buffer.forget_numbering()
    assert (buffer.depth, buffer.stats.flushed) == (0, 3)
    verdicts = [buffer.offer(seq, point(seq, stamp_ms=10.0 * seq), 20 * MS) for seq in range(5)]
    assert verdicts == [Offer.QUEUED] * 5
    assert (buffer.stats.nonmonotonic_ts, buffer.stats.sender_stalls) == (0, 0)
    assert lane(buffer, 20.0, 5) == "0 1 2 3 4"
    balance(buffer)


def test_r3_a_new_session_knows_nothing_of_what_the_old_one_queued_or_dropped(
    new_buffer: Build, send: Send, lane: Lane
) -> None:
    buffer = new_buffer()
    send(buffer, range(8), 0.0)
    assert buffer.stats.overflow_dropped == 3
    buffer.forget_numbering()
    # Out of order, so that each of the others is looked for among what is known.
    assert send(buffer, [6, 0, 1, 4, 5], 20.0) == [Offer.QUEUED] + [Offer.REPAIRED] * 4
    assert lane(buffer, 20.0, 7) == "0 1 ~2 ~3 4 5 6"


def test_r3_a_new_session_is_not_judged_by_the_start_of_an_older_numbering(
    new_buffer: Build, point: Point, send: Send
) -> None:
    """A restart within the old session is remembered by its stamp; the new session has its own clock."""
    buffer = new_buffer()
    send(buffer, range(1000, 1003), 0.0)
    assert buffer.offer(500, point(0, stamp_ms=90_000.0), 3_000 * MS) is Offer.EPOCH_RESET
    buffer.forget_numbering()
    assert send(buffer, range(5), 3_100.0) == [Offer.QUEUED] * 5
    buffer.forget_numbering()
    # Nor by its silence: a low number is a low number of this session.
    send(buffer, [7], 9_000.0)
    assert send(buffer, [6], 9_000.0) == [Offer.REPAIRED]


def test_r3_a_new_session_while_engaged_needs_a_new_prepare_stream(
    new_buffer: Build, send: Send, lane: Lane
) -> None:
    """ "In both cases": a session is a change of numbering too."""
    buffer = new_buffer()
    send(buffer, range(100, 106), 0.0)
    assert lane(buffer, 0.0, 2) == "100 101"
    buffer.forget_numbering()
    send(buffer, range(6), 20.0)
    assert lane(buffer, 20.0, 3) == "a a a"
    buffer.flush_lifecycle()
    send(buffer, range(6, 11), 50.0)
    assert lane(buffer, 50.0, 1) == "6"


STEP = st.tuples(
    st.integers(-8, 4) | st.sampled_from([-70_000, 70_000, 70_001, 70_002, 1 << 31]),
    st.sampled_from([0, 2, 10, 10, 10, 60, 300, 2_100]),
    st.sampled_from(["offer", "offer", "copy", "late stamp", "leader", "estop", "own estop", "idle"]),
)


@given(st.lists(STEP, max_size=80), st.sampled_from([1, 5]), st.integers(0, MODULUS - 1))
@settings(deadline=None, derandomize=True, max_examples=60)
def test_r3_where_on_the_circle_a_numbering_lies_changes_nothing(
    new_buffer: Build, point: Point, steps: list[tuple[int, int, str]], depth: int, shift: int
) -> None:
    """The same stream, its numbers turned: the same verdicts, the same lane."""
    lanes = []
    for turned in (0, shift):
        buffer = new_buffer(depth, window_ms=20.0, trim=True)
        lane: list[object] = []
        now_ns, newest = 5_000 * MS, 100_000
        for ahead, wait_ms, what in steps:
            now_ns += wait_ms * MS
            number = newest + ahead
            newest = max(newest, number) if abs(ahead) < 10 else newest
            stamp_ms = now_ns / MS - (1_000 if what == "late stamp" else 0)
            leader_ms = stamp_ms if what == "leader" else None
            setpoint = point(0, stamp_ms=stamp_ms, leader_ms=leader_ms)
            seq = (number + turned) % MODULUS
            lane.append(buffer.offer(seq, setpoint, now_ns, is_copy=what == "copy"))
            if what == "estop":
                buffer.flush_for_estop(None)
            elif what == "own estop":
                buffer.flush_for_estop((newest + 1 + turned) % MODULUS)
            elif what == "idle":
                buffer.flush_lifecycle()
            verdict = buffer.drain_tick(now_ns + 1)
            if isinstance(verdict, Release):
                lane.append(((verdict.seq - turned) % MODULUS, verdict.synthetic, verdict.wait_ns))
            else:
                lane.append(verdict)
        lanes.append((lane, buffer.stats))
    assert lanes[0] == lanes[1]


@given(st.lists(STEP, max_size=80), st.sampled_from([-(1 << 20), -3, 7, 1 << 20]))
@settings(deadline=None, derandomize=True, max_examples=60)
def test_r3_clocks_of_two_hosts_never_meet(
    new_buffer: Build, point: Point, steps: list[tuple[int, int, str]], offset_s: int
) -> None:
    """Set the leader's clock by days, and no verdict, count or health figure moves.

    Stamps are whole 1/128 s, so that the offset loses no bit.
    """
    lanes = []
    for leader_offset_s in (0, offset_s):
        buffer = new_buffer(3, window_ms=20.0, trim=True, wire_debug=True)
        lane: list[object] = []
        now_ns, newest, ticks = 5_000 * MS, 100_000, 2_000_000
        for ahead, wait_ms, what in steps:
            now_ns += wait_ms * MS
            ticks += wait_ms // 8
            number = newest + ahead
            newest = max(newest, number) if abs(ahead) < 10 else newest
            stamp_s = ticks / 128 - (1.0 if what == "late stamp" else 0.0)
            by_leader = what in ("leader", "copy", "idle")
            setpoint = Setpoint(
                joints_deg=(0.0,),
                timestamp_s=stamp_s,
                leader_timestamp_s=stamp_s + leader_offset_s if by_leader else None,
            )
            lane.append(buffer.offer(number % MODULUS, setpoint, now_ns))
            if what == "estop":
                buffer.flush_for_estop(None)
            verdict = buffer.drain_tick(now_ns + 1)
            if isinstance(verdict, Release):
                lane.append((verdict.seq, verdict.synthetic, verdict.wait_ns))
            else:
                lane.append(verdict)
        lanes.append((lane, buffer.stats, buffer.health(now_ns)))
    assert lanes[0] == lanes[1]
