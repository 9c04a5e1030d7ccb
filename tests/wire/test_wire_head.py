"""The eleven bytes and the name."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyhand.ground.robot_state import MAX_ROBOT_ID_BYTES, is_robot_id
from steadyhand.wire.head import (
    ACTION_MAGIC,
    HEADER_BYTES,
    TELEMETRY_MAGIC,
    VERSION_BUNDLE,
    Head,
    encode_head,
    read_head,
    robot_id_of,
)
from steadyhand.wire.limits import MAX_DATAGRAM_BYTES
from steadyhand.wire.rejections import Reason, Rejection

calm = settings(deadline=None, derandomize=True)
names = st.text(min_size=1, max_size=MAX_ROBOT_ID_BYTES).filter(is_robot_id)


def _reason(datagram: bytes, magic: bytes = ACTION_MAGIC) -> Reason:
    answer = read_head(datagram, magic)
    assert isinstance(answer, Rejection)
    return answer.reason


def test_the_header_has_eleven_bytes() -> None:
    assert HEADER_BYTES == 11
    assert len(encode_head(ACTION_MAGIC, 1, 7, "fr3")) == 14


@calm
@given(name=names, seq=st.integers(0, (1 << 32) - 1), body=st.binary(max_size=20))
def test_a_head_reads_as_it_was_written(name: str, seq: int, body: bytes) -> None:
    written = encode_head(TELEMETRY_MAGIC, 3, seq, name)
    head = read_head(written + body, TELEMETRY_MAGIC)
    assert head == Head(3, seq, name.encode(), written + body, len(written))
    assert robot_id_of(head) == name


def test_the_flows_cannot_be_parsed_as_each_other() -> None:
    assert _reason(encode_head(TELEMETRY_MAGIC, 1, 7, "fr3")) is Reason.WRONG_MAGIC
    assert _reason(encode_head(ACTION_MAGIC, 1, 7, "fr3"), TELEMETRY_MAGIC) is Reason.WRONG_MAGIC


def test_telemetry_has_no_bundle_version() -> None:
    assert _reason(encode_head(TELEMETRY_MAGIC, VERSION_BUNDLE, 7, "fr3"), TELEMETRY_MAGIC) is (
        Reason.WRONG_VERSION
    )


@pytest.mark.parametrize("version", [0, 4, 255])
def test_other_versions_are_rejected(version: int) -> None:
    assert _reason(encode_head(ACTION_MAGIC, version, 7, "fr3")) is Reason.WRONG_VERSION


def test_the_largest_datagram_is_read_and_one_byte_more_is_not() -> None:
    head = encode_head(ACTION_MAGIC, 1, 7, "fr3")
    assert isinstance(read_head(head.ljust(MAX_DATAGRAM_BYTES), ACTION_MAGIC), Head)
    assert _reason(head.ljust(MAX_DATAGRAM_BYTES + 1)) is Reason.OVERSIZE


def test_every_cut_through_a_head_is_truncated() -> None:
    whole = encode_head(ACTION_MAGIC, 1, 7, "fr3")
    for length in range(len(whole)):
        assert _reason(whole[:length]) is Reason.TRUNCATED


@pytest.mark.parametrize("length", [0, 65, 65535])
def test_a_name_length_out_of_bounds_is_rejected(length: int) -> None:
    header = encode_head(ACTION_MAGIC, 1, 7, "fr3")[:9] + length.to_bytes(2, "big")
    assert _reason(header + bytes(200)) is Reason.BAD_ROBOT_ID


@pytest.mark.parametrize("name", [b"\xff", b"\xed\xa0\x80", b"a\n", b"\x00"])
def test_a_name_that_is_no_printable_text_is_rejected_when_it_is_read(name: bytes) -> None:
    answer = robot_id_of(Head(1, 7, name, b"", 0))
    assert isinstance(answer, Rejection)
    assert answer.reason is Reason.BAD_ROBOT_ID


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 65])
def test_a_sender_cannot_write_a_bad_name(name: str) -> None:
    with pytest.raises(ValueError, match="not a robot id"):
        encode_head(ACTION_MAGIC, 1, 7, name)


@pytest.mark.parametrize("seq", [-1, 1 << 32])
def test_a_sender_cannot_write_a_number_that_is_no_u32(seq: int) -> None:
    with pytest.raises(ValueError, match="u32"):
        encode_head(ACTION_MAGIC, 1, seq, "fr3")
