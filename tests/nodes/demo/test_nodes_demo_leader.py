"""The way back to a motion that has gone on without the arm."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from steadyhand.ground.builtin_motions import sine
from steadyhand.ground.motion import Motion
from steadyhand.nodes.demo.leader import Way
from steadyhand.nodes.operator.approach import ApproachBounds
from steadyhand.nodes.operator.pacing import slots_over

PERIOD_NS = 10_000_000
BOUNDS = ApproachBounds(speed_deg_s=30.0, accel_deg_s2=90.0)
RAMP = Motion(times_s=(0.0, 10.0), poses_deg=((0.0,), (100.0,)), interpolation="linear")


def way(motion: Motion = RAMP) -> Way:
    return Way(motion, period_ns=PERIOD_NS, bounds=BOUNDS)


def test_a_slot_has_the_motions_own_pose() -> None:
    """Those of `simulate`: the same scenario leads the same poses."""
    led = way(sine())
    assert [led.pose(slot) for slot in range(1_001)] == sine().resample(100.0, 10.0)


def test_the_way_back_begins_where_the_arm_stands_and_ends_on_the_motion() -> None:
    led = way()
    led.rejoin(200, (5.0,))
    assert led.pose(200) == (5.0,)
    assert led.pose(500) == RAMP.at(5.0)


def test_an_arm_that_stands_on_the_motion_goes_on_with_it() -> None:
    led = way()
    led.rejoin(200, RAMP.at(2.0))
    assert led.pose(200) == RAMP.at(2.0)


@given(here_deg=st.floats(-150.0, 150.0), slot=st.integers(0, 800))
def test_the_way_back_is_no_faster_than_its_bound_and_the_motion_together(here_deg: float, slot: int) -> None:
    motion = sine()
    led = way(motion)
    here = (here_deg,) * motion.n_joints
    led.rejoin(slot, here)
    poses = [led.pose(at) for at in range(slot, slot + 3_000)]
    farthest_deg = max(abs(a - here_deg) for a in motion.at(slot / 100.0)) + 40.0
    # The motion itself makes at most 31.5 °/s, and the share it has grows with the bounded way's speed.
    bound_deg = (31.5 + BOUNDS.speed_deg_s * farthest_deg / max(farthest_deg - 40.0, 1.0)) / 100.0
    steps_deg = [abs(b - a) for one, other in pairwise(poses) for a, b in zip(one, other, strict=True)]
    assert max(steps_deg) <= bound_deg + 31.5 / 100.0


def test_a_leader_that_was_held_up_for_a_moment_leaves_nothing_out() -> None:
    assert [slots_over(late_ms * 1_000_000, PERIOD_NS) for late_ms in (0, 9, 11, 20)] == [0, 0, 0, 0]


def test_slots_that_the_gate_would_drop_are_left_out() -> None:
    """The newest one is led at once."""
    assert slots_over(20_000_001, PERIOD_NS) == 2
    assert slots_over(35_000_000, PERIOD_NS) == 3
