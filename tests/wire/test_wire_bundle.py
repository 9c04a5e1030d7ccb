"""The current setpoint and as many previous ones as fit."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyhand.ground.seq import SEQ_MASK, is_newer
from steadyhand.wire.bundle import Entry, bundle_entries_within_budget, decode_body, encode_body
from steadyhand.wire.limits import ACTION_BUNDLE_BUDGET_BYTES, MAX_BUNDLE_ENTRIES
from steadyhand.wire.rejections import Reason, Rejection

calm = settings(deadline=None, derandomize=True)


@st.composite
def bundles(draw: st.DrawFn) -> list[Entry]:
    """Entries newest first, across any wrap, with gaps."""
    seq = draw(st.integers(0, SEQ_MASK))
    backs = draw(st.lists(st.integers(1, 65535), unique=True, max_size=MAX_BUNDLE_ENTRIES - 1).map(sorted))
    return [Entry((seq - back) & SEQ_MASK, draw(st.binary(min_size=1, max_size=400))) for back in (0, *backs)]


def _reason(body: bytes) -> Reason:
    answer = decode_body(body, 7)
    assert isinstance(answer, Rejection)
    return answer.reason


@calm
@given(bundles())
def test_a_bundle_reads_as_it_was_written(entries: list[Entry]) -> None:
    assert decode_body(encode_body(entries), entries[0].seq) == tuple(entries)


@calm
@given(bundles())
def test_every_cut_through_a_bundle_is_rejected(entries: list[Entry]) -> None:
    body = encode_body(entries)
    for length in range(0, len(body), max(1, len(body) // 50)):
        assert _reason(body[:length]) is Reason.TRUNCATED
    assert _reason(body[:-1]) is Reason.TRUNCATED
    assert _reason(body + b"\x00") is Reason.TRAILING_BYTES


@calm
@given(bundles(), st.integers(0, 1300), st.integers(0, 10))
def test_a_bundle_keeps_its_budget_and_its_order(entries: list[Entry], budget: int, copies: int) -> None:
    chosen = bundle_entries_within_budget(entries[0], entries[1:], budget_bytes=budget, copies_max=copies)
    assert chosen == entries[: len(chosen)]
    assert 1 <= len(chosen) <= 1 + copies
    if len(chosen) > 1:
        assert len(encode_body(chosen)) <= budget
    if len(chosen) < min(len(entries), 1 + copies):
        assert len(encode_body(entries[: len(chosen) + 1])) > budget


def test_four_hundred_byte_states_degrade_to_fewer_copies() -> None:
    ring = [Entry(100 - back, bytes(400)) for back in range(11)]
    chosen = bundle_entries_within_budget(ring[0], ring[1:], budget_bytes=ACTION_BUNDLE_BUDGET_BYTES)
    assert len(chosen) == 2  # three of them would need 1213 bytes


def test_six_joints_without_a_rest_ride_with_nine_copies() -> None:
    ring = [Entry(100 - back, bytes(118)) for back in range(11)]
    chosen = bundle_entries_within_budget(ring[0], ring[1:], budget_bytes=ACTION_BUNDLE_BUDGET_BYTES)
    assert len(chosen) == 9


def test_no_copies_are_taken_where_none_are_asked_for() -> None:
    ring = [Entry(100 - back, b"x") for back in range(11)]
    assert bundle_entries_within_budget(ring[0], ring[1:], budget_bytes=1200, copies_max=0) == ring[:1]


def test_a_copy_that_cannot_be_numbered_is_left_out() -> None:
    chosen = bundle_entries_within_budget(Entry(70_000, b"a"), [Entry(1, b"b")], budget_bytes=1200)
    assert chosen == [Entry(70_000, b"a")]


def test_entries_are_older_than_the_frame_across_the_wrap() -> None:
    entries = [Entry(1, b"a"), Entry(0, b"b"), Entry(SEQ_MASK, b"c")]
    decoded = decode_body(encode_body(entries), 1)
    assert decoded == tuple(entries)
    assert all(is_newer(1, entry.seq) for entry in entries[1:])


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([], "1 to 11"),
        ([Entry(50 - back, b"x") for back in range(12)], "1 to 11"),
        ([Entry(7, b"x"), Entry(7, b"x")], "go back"),
        ([Entry(7, b"x"), Entry(5, b"x"), Entry(6, b"x")], "go back"),
        ([Entry(7, b"x"), Entry(8, b"x")], "go back"),
        ([Entry(7, b"")], "no payload"),
    ],
)
def test_a_sender_cannot_write_what_is_no_bundle(entries: list[Entry], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        encode_body(entries)


@pytest.mark.parametrize("count", [0, 12, 255])
def test_a_count_out_of_bounds_is_rejected(count: int) -> None:
    assert _reason(bytes((count,)) + bytes(600)) is Reason.BUNDLE_COUNT


def test_the_first_entry_is_the_frames_own() -> None:
    assert _reason(b"\x01" + b"\x00\x01\x00\x01x") is Reason.BUNDLE_ORDER


def test_a_number_that_comes_twice_is_rejected() -> None:
    assert _reason(b"\x02" + b"\x00\x00\x00\x01x" * 2) is Reason.BUNDLE_ORDER


def test_an_entry_without_bytes_is_rejected() -> None:
    assert _reason(b"\x01\x00\x00\x00\x00") is Reason.EMPTY_PAYLOAD
