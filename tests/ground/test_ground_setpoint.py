"""The setpoint and whose clock its stamp is."""

import pytest

from steadyhand.ground.setpoint import Setpoint, StampSource


def test_the_leader_stamp_is_the_sender_stamp_where_there_is_one() -> None:
    setpoint = Setpoint(joints_deg=(1.0,), timestamp_s=10.0, leader_timestamp_s=9.5)
    assert setpoint.stamp_source is StampSource.LEADER
    assert setpoint.sender_stamp_s == 9.5


def test_the_build_stamp_is_the_sender_stamp_where_the_leader_does_not_stamp() -> None:
    setpoint = Setpoint(joints_deg=(1.0,), timestamp_s=10.0)
    assert setpoint.stamp_source is StampSource.BUILD
    assert setpoint.sender_stamp_s == 10.0


def test_a_leader_stamp_of_zero_is_a_stamp() -> None:
    setpoint = Setpoint(joints_deg=(1.0,), timestamp_s=10.0, leader_timestamp_s=0.0)
    assert setpoint.stamp_source is StampSource.LEADER
    assert setpoint.sender_stamp_s == 0.0


def test_a_setpoint_cannot_be_changed() -> None:
    setpoint = Setpoint(joints_deg=(1.0,), timestamp_s=10.0)
    with pytest.raises(AttributeError):
        setpoint.timestamp_s = 11.0  # type: ignore[misc]


def test_two_setpoints_do_not_share_their_extras() -> None:
    first = Setpoint(joints_deg=(1.0,), timestamp_s=1.0)
    second = Setpoint(joints_deg=(1.0,), timestamp_s=1.0)
    assert first.extras is not second.extras
