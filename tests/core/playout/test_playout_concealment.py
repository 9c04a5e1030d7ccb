"""Test map "Loss concealment" (document 000 §3 H, §5 steps 6 and 7)."""

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

MS = 1_000_000
DEGREES = st.floats(-720.0, 720.0)


def released(buffer: PlayoutBuffer, ticks: int) -> list[Release]:
    """All releases of `ticks` ticks from time 0."""
    verdicts = [buffer.drain_tick(10 * MS * tick) for tick in range(ticks)]
    return [verdict for verdict in verdicts if isinstance(verdict, Release)]


def test_small_holes_are_concealed_by_lerp_one_tick_at_a_time(
    new_buffer: Build, point: Point, send: Send, lane: Lane
) -> None:
    """Figure H: 6 and 7 are eaten; the arm walks evenly from 5 to 8."""
    buffer = new_buffer(3)
    head = point(8, joints=(40.0, -10.0))
    buffer.offer(5, point(5, joints=(10.0, 20.0)), 0)
    buffer.offer(8, head, 0)
    buffer.offer(9, point(9), 0)
    first, six, seven, eight, nine = released(buffer, 5)
    assert [r.seq for r in (first, six, seven, eight, nine)] == [5, 6, 7, 8, 9]
    assert [r.synthetic for r in (first, six, seven, eight, nine)] == [False, True, True, False, False]
    assert six.setpoint.joints_deg == pytest.approx((20.0, 10.0))
    assert seven.setpoint.joints_deg == pytest.approx((30.0, 0.0))
    for synthetic in (six.setpoint, seven.setpoint):
        assert synthetic.joint_velocities_deg_s == ()
        assert synthetic.extras["playout_interpolated"] is True
        assert not synthetic.emergency_stop
        assert synthetic.robot_id == "arm"
    # What did arrive is neither touched nor tagged.
    assert eight.setpoint is head
    assert "playout_interpolated" not in eight.setpoint.extras
    assert "playout_interpolated" not in first.setpoint.extras
    assert (buffer.stats.interpolated, buffer.stats.lost_at_release) == (2, 0)
    assert buffer.stats.released == 3
    # The real 6 straggles in: the floor has sealed its slot.
    assert send(buffer, [6], 55.0) == [Offer.TOO_LATE]


def test_a_straggler_before_its_slot_still_plays_for_real(new_buffer: Build, send: Send, lane: Lane) -> None:
    buffer = new_buffer()
    send(buffer, [0, 1, 4, 5, 6], 0.0)
    assert lane(buffer, 0.0, 3) == "0 1 ~2"
    assert send(buffer, [2, 3], 25.0) == [Offer.TOO_LATE, Offer.REPAIRED]
    assert lane(buffer, 30.0, 4) == "3 4 5 6"
    assert buffer.stats.interpolated == 1


@pytest.mark.parametrize(
    ("head", "expected"),
    [(2, "0 ~1 2"), (3, "0 ~1 ~2 3"), (4, "0 ~1 ~2 ~3 4"), (5, "0 5 6"), (6, "0 6 7")],
)
def test_three_missing_are_the_most_that_is_concealed(
    head: int, expected: str, new_buffer: Build, send: Send, lane: Lane
) -> None:
    buffer = new_buffer(3)
    send(buffer, [0, head, head + 1], 0.0)
    assert lane(buffer, 0.0, len(expected.split())) == expected


def test_big_holes_keep_the_jump_and_count_as_true_loss(new_buffer: Build, send: Send, lane: Lane) -> None:
    buffer = new_buffer()
    send(buffer, [0, 1, 6, 7, 8], 0.0)
    assert lane(buffer, 0.0, 3) == "0 1 6"
    assert (buffer.stats.interpolated, buffer.stats.lost_at_release) == (0, 4)
    # Open holes behind the cursor can still heal, so they do not count: 10 comes in time.
    send(buffer, [9, 11, 12, 13], 25.0)
    send(buffer, [10], 25.0)
    assert lane(buffer, 30.0, 7) == "7 8 9 10 11 12 13"
    assert buffer.stats.lost_at_release == 4


def test_nothing_is_concealed_before_the_first_release_of_a_stream(
    new_buffer: Build, send: Send, lane: Lane
) -> None:
    """There is no pose to start the line from; and what came before a flush is another motion."""
    buffer = new_buffer(3)
    send(buffer, [0, 1, 2], 0.0)
    assert lane(buffer, 0.0, 2) == "0 1"
    buffer.flush_lifecycle()
    send(buffer, [5, 6, 7], 20.0)
    assert lane(buffer, 30.0, 3) == "5 6 7"
    assert buffer.stats.interpolated == 0


def test_poses_of_different_length_are_never_mixed(new_buffer: Build, point: Point, lane: Lane) -> None:
    buffer = new_buffer(2)
    buffer.offer(0, point(0, joints=(1.0, 2.0)), 0)
    buffer.offer(2, point(2, joints=(1.0, 2.0, 3.0)), 0)
    assert lane(buffer, 0.0, 2) == "0 2"


@given(
    first=st.lists(DEGREES, min_size=6, max_size=6),
    last=st.lists(DEGREES, min_size=6, max_size=6),
    missing=st.integers(1, 3),
)
@settings(deadline=None, derandomize=True)
def test_synthetics_advance_by_equal_steps_between_their_neighbours(
    new_buffer: Build, point: Point, first: list[float], last: list[float], missing: int
) -> None:
    buffer = new_buffer(2)
    buffer.offer(0, point(0, joints=tuple(first)), 0)
    buffer.offer(missing + 1, point(missing + 1, joints=tuple(last)), 0)
    poses = [release.setpoint.joints_deg for release in released(buffer, missing + 2)]
    assert len(poses) == missing + 2
    for joint, (a, b) in enumerate(zip(first, last, strict=True)):
        for step, pose in enumerate(poses):
            assert pose[joint] == pytest.approx(a + (b - a) * step / (missing + 1), abs=1e-9)
            assert min(a, b) - 1e-12 <= pose[joint] <= max(a, b) + 1e-12
