"""Dead is who never beat, who stands still, and who beat too long ago (R14)."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadyhand.edge.heartbeat_board import (
    DATA_PLANE_PERIOD_NS,
    NO_BEAT,
    OTHERS_PERIOD_NS,
    Alive,
    Beat,
    HeartbeatBoard,
    HeartbeatLine,
    NeverBeat,
    StoodStill,
    Watched,
    board_bytes,
    in_words,
    judge,
    see,
)
from steadyhand.edge.segment import create_anonymous, open_inherited
from steadyhand.ground.errors import InputError

MS = 1_000_000
PERIOD = 20 * MS
NOW = 5_000 * MS


def watched(*, sequence: int = 1, stamp_ns: int = NOW, changed_ns: int = NOW) -> Watched:
    return Watched(period_ns=PERIOD, beat=Beat(sequence, stamp_ns, 77), changed_ns=changed_ns)


def test_a_process_that_never_beat_is_dead_from_the_start() -> None:
    assert judge(Watched(period_ns=PERIOD), 0) == NeverBeat()
    assert judge(Watched(period_ns=PERIOD), NOW) == NeverBeat()


def test_a_process_is_alive_up_to_three_periods_after_its_beat() -> None:
    assert judge(watched(), NOW + 3 * PERIOD) == Alive(3 * PERIOD)
    assert judge(watched(), NOW + 3 * PERIOD + 1) == StoodStill(3 * PERIOD + 1)


def test_a_sequence_that_stands_still_is_dead_however_fresh_its_stamp() -> None:
    standing = watched()
    for late_ns in (PERIOD, 2 * PERIOD, 3 * PERIOD, 4 * PERIOD):
        standing = see(standing, Beat(1, NOW + late_ns, 77), NOW + late_ns)
    assert judge(standing, NOW + 4 * PERIOD) == StoodStill(4 * PERIOD)


def test_a_stamp_from_the_future_keeps_nobody_alive() -> None:
    state = watched(stamp_ns=NOW + 3_600_000 * MS)
    assert judge(state, NOW + 4 * PERIOD) == StoodStill(4 * PERIOD)


def test_a_judge_that_was_frozen_itself_does_not_take_an_old_beat_for_a_new_one() -> None:
    before = watched()
    woke_ns = NOW + 1000 * MS
    after = see(before, Beat(26, NOW + 500 * MS, 77), woke_ns)
    assert judge(after, woke_ns) == StoodStill(500 * MS)


def test_a_judge_that_was_frozen_itself_declares_nobody_dead_who_beats() -> None:
    woke_ns = NOW + 1000 * MS
    after = see(watched(), Beat(51, woke_ns - MS, 77), woke_ns)
    assert judge(after, woke_ns) == Alive(MS)


@given(st.lists(st.integers(1, 2 * PERIOD), min_size=1, max_size=40), st.integers(0, 10 * PERIOD))
def test_beats_less_than_three_periods_apart_never_look_dead_and_silence_always_does(
    gaps_ns: list[int], silence_ns: int
) -> None:
    state = Watched(period_ns=PERIOD)
    now_ns = NOW
    for sequence, gap_ns in enumerate(gaps_ns, start=1):
        now_ns += gap_ns
        state = see(state, Beat(sequence, now_ns, 1), now_ns)
        assert isinstance(judge(state, now_ns), Alive)
    verdict = judge(see(state, state.beat, now_ns + silence_ns), now_ns + silence_ns)
    assert isinstance(verdict, StoodStill if silence_ns > 3 * PERIOD else Alive)


@pytest.mark.parametrize(
    ("life", "words"),
    [
        (Alive(3), "alive"),
        (NeverBeat(), "has never sent a heartbeat"),
        (StoodStill(61 * MS), "has sent no heartbeat for 61 ms"),
    ],
)
def test_a_verdict_is_said_in_words(life: Alive | NeverBeat | StoodStill, words: str) -> None:
    assert in_words(life) == words


def test_each_process_has_a_line_of_its_own_on_the_board() -> None:
    segment = create_anonymous("board", board_bytes(2))
    board = HeartbeatBoard(
        open_inherited(segment.read_only_fd(), "board"), [DATA_PLANE_PERIOD_NS, OTHERS_PERIOD_NS]
    )
    assert board.judge(NOW) == [NeverBeat(), NeverBeat()]
    data_plane, other = HeartbeatLine(segment, 0, 11), HeartbeatLine(segment, 1, 22)
    data_plane.beat(NOW)
    assert board.judge(NOW) == [Alive(0), NeverBeat()]
    other.beat(NOW)
    data_plane.beat(NOW + PERIOD)
    assert board.read(0) == Beat(2, NOW + PERIOD, 11)
    assert board.read(1) == Beat(1, NOW, 22)
    later_ns = NOW + 100 * MS
    assert board.judge(later_ns) == [StoodStill(80 * MS), Alive(100 * MS)]


def test_a_restarted_process_goes_on_counting_and_is_alive_at_once() -> None:
    segment = create_anonymous("board", board_bytes(1))
    board_fd = os.dup(segment.fileno())
    board = HeartbeatBoard(segment, [PERIOD])
    line = HeartbeatLine(segment, 0, 11)
    for beat in range(5):
        line.beat(NOW + beat * PERIOD)
    board.judge(NOW + 4 * PERIOD)
    segment.close()  # as its death would
    restarted = HeartbeatLine(open_inherited(board_fd, "board"), 0, 12)
    restarted.beat(NOW + 50 * PERIOD)
    assert board.judge(NOW + 50 * PERIOD) == [Alive(0)]
    assert board.read(0) == Beat(6, NOW + 50 * PERIOD, 12)


def test_a_process_killed_in_the_middle_of_a_beat_is_judged_by_the_beat_before() -> None:
    segment = create_anonymous("board", board_bytes(1))
    board = HeartbeatBoard(segment, [PERIOD])
    HeartbeatLine(segment, 0, 11).beat(NOW)
    assert board.judge(NOW) == [Alive(0)]
    memoryview(segment.map(writable=True)).cast("Q")[0] = 2  # the first store of the second beat
    assert board.read(0) is None
    assert board.judge(NOW + 4 * PERIOD) == [StoodStill(4 * PERIOD)]


def test_a_line_belongs_to_one_process() -> None:
    segment = create_anonymous("board", board_bytes(2))
    _line = HeartbeatLine(segment, 1, 11)
    with pytest.raises(InputError, match="heartbeat 1 already"):
        HeartbeatLine(segment, 1, 12)


@pytest.mark.parametrize("line", [-1, 2])
def test_a_line_that_is_not_on_the_board_is_refused(line: int) -> None:
    segment = create_anonymous("board", board_bytes(2))
    with pytest.raises(InputError, match="has no line"):
        HeartbeatLine(segment, line, 11)


def test_a_board_with_too_few_lines_is_refused() -> None:
    segment = create_anonymous("board", board_bytes(1))
    with pytest.raises(InputError, match="has no 2 heartbeat lines"):
        HeartbeatBoard(segment, [PERIOD, PERIOD])
    with pytest.raises(ValueError, match="0 processes"):
        board_bytes(0)


def test_nothing_seen_is_no_beat() -> None:
    assert see(Watched(period_ns=PERIOD), NO_BEAT, NOW) == Watched(period_ns=PERIOD)
