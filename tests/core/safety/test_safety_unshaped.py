"""The stream without a shaper: the contract of one, and none of its bounds."""

import pytest

from steadyhand.core.safety.shaper import ShaperMisuseError
from steadyhand.core.safety.unshaped import UnshapedStream


def stream() -> UnshapedStream:
    return UnshapedStream(n_joints=2, period_s=0.01)


def test_a_raw_target_passes_with_the_velocity_it_implies() -> None:
    made = stream()
    made.prime([10.0, 20.0])
    proposal = made.propose([12.5, 20.0])
    assert proposal.joints_deg == (12.5, 20.0)
    assert proposal.velocities_deg_s == pytest.approx((250.0, 0.0))


def test_a_frame_that_was_not_taken_is_not_what_the_next_is_measured_from() -> None:
    made = stream()
    made.prime((0.0, 0.0))
    made.propose((5.0, 0.0))
    made.commit(made.propose((1.0, 0.0)))
    assert made.propose((2.0, 0.0)).velocities_deg_s == pytest.approx((100.0, 0.0))


def test_it_stands_until_a_frame_moves_it_and_again_when_one_does_not() -> None:
    made = stream()
    stands = [made.at_rest]
    made.prime((0.0, 0.0))
    stands.append(made.at_rest)
    made.commit(made.propose((1.0, 0.0)))
    stands.append(made.at_rest)
    made.commit(made.propose_brake())
    stands.append(made.at_rest)
    assert stands == [True, True, False, True]
    assert made.propose_brake().joints_deg == (1.0, 0.0)


def test_a_stream_that_ended_leaves_nothing_behind() -> None:
    made = stream()
    made.prime((0.0, 0.0))
    made.commit(made.propose((1.0, 0.0)))
    made.forget()
    assert made.at_rest
    with pytest.raises(ShaperMisuseError):
        made.propose_brake()


def test_without_a_stream_nothing_is_proposed() -> None:
    with pytest.raises(ShaperMisuseError, match=r"^no stream is engaged$"):
        stream().propose((0.0, 0.0))


@pytest.mark.parametrize("target_deg", [(1.0,), (1.0, 2.0, 3.0)])
def test_a_wrong_number_of_joints_is_refused(target_deg: tuple[float, ...]) -> None:
    made = stream()
    made.prime((0.0, 0.0))
    with pytest.raises(ValueError, match="zip"):
        made.propose(target_deg)
