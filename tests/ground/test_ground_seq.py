"""Wrap-aware sequence numbers."""

from hypothesis import given, settings
from hypothesis import strategies as st

from steadyhand.ground.seq import HALF_WINDOW, SEQ_MODULUS, advance, is_newer, signed_distance, unwrap

calm = settings(deadline=None, derandomize=True)
seqs = st.integers(0, SEQ_MODULUS - 1) | st.sampled_from(
    (0, 1, HALF_WINDOW - 1, HALF_WINDOW, HALF_WINDOW + 1, SEQ_MODULUS - 1)
)


def test_the_next_number_is_newer_and_the_same_is_not() -> None:
    assert is_newer(8, 7)
    assert not is_newer(7, 7)
    assert not is_newer(7, 8)


def test_zero_is_newer_than_the_last_before_the_wrap() -> None:
    assert is_newer(0, SEQ_MODULUS - 1)
    assert advance(SEQ_MODULUS - 1) == 0
    assert signed_distance(0, SEQ_MODULUS - 1) == 1
    assert signed_distance(SEQ_MODULUS - 1, 0) == -1


def test_half_a_circle_away_is_older_on_both_sides() -> None:
    assert is_newer(HALF_WINDOW - 1, 0)
    assert not is_newer(HALF_WINDOW, 0)
    assert not is_newer(0, HALF_WINDOW)
    assert signed_distance(HALF_WINDOW, 0) == -HALF_WINDOW


@calm
@given(seq=seqs, base=seqs)
def test_newer_is_a_positive_distance(seq: int, base: int) -> None:
    distance = signed_distance(seq, base)
    assert is_newer(seq, base) == (distance > 0)
    assert -HALF_WINDOW <= distance < HALF_WINDOW
    assert advance(base, distance) == seq


@calm
@given(seq=seqs, reference=st.integers(0, 1 << 80))
def test_unwrapped_is_the_nearest_integer_with_these_low_bits(seq: int, reference: int) -> None:
    unwrapped = unwrap(seq, reference)
    assert unwrapped % SEQ_MODULUS == seq
    assert -HALF_WINDOW <= unwrapped - reference < HALF_WINDOW


@calm
@given(start=st.integers(0, 1 << 40), steps=st.lists(st.integers(-1000, 100_000), max_size=50))
def test_a_walk_across_wraps_unwraps_to_itself(start: int, steps: list[int]) -> None:
    position = start
    for step in steps:
        reference, position = position, max(0, position + step)
        assert unwrap(position % SEQ_MODULUS, reference) == position
