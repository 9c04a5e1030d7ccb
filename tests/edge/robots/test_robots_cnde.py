"""The state feed's bytes: frames out of a stream, recipes, and the client's conversation."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyhand.edge.robots.fairino import cnde
from steadyhand.edge.robots.fairino.cnde import Frame, FrameParser, FrameType
from steadyhand.edge.robots.fairino.cnde_client import ClientState, CndeClient
from steadyhand.edge.robots.fairino.cnde_fields import (
    FIELD_TYPES,
    OUR_RECIPES,
    VENDOR_RECIPE,
    Layout,
    WireType,
    parse_type,
)

frames = st.builds(Frame, st.integers(0, 255), st.sampled_from(FrameType), st.binary(max_size=60))


def encoded(frame: Frame) -> bytes:
    return cnde.encode(frame.count, frame.type, frame.data)


# Frames.


def test_a_frame_byte_by_byte() -> None:
    assert cnde.encode(3, FrameType.OUTPUT_CONFIG, b"\x08\x00tool_id") == (
        b"\x5a\x5a\x03\x01\x09\x00\x08\x00tool_id\xa5\xa5"
    )
    assert cnde.encode(256, FrameType.OUTPUT_START) == b"\x5a\x5a\x00\x02\x00\x00\xa5\xa5"
    with pytest.raises(ValueError, match="do not fit"):
        cnde.encode(0, FrameType.OUTPUT_DATA, b"\0" * 4097)


@settings(max_examples=150)
@given(st.lists(frames, max_size=8), st.lists(st.integers(1, 30), min_size=1, max_size=40))
def test_frames_are_the_same_however_the_stream_is_cut(sent: list[Frame], cuts: list[int]) -> None:
    """Coalesced and in pieces: what the vendor's client drops."""
    stream = b"".join(map(encoded, sent))
    parser, read = FrameParser(), []
    position = 0
    for cut in cuts * (len(stream) // len(cuts) + 1):
        read += parser.feed(stream[position : position + cut])
        position += cut
    read += parser.feed(stream[position:])
    assert read == sent
    assert parser.garbage_bytes == 0


@settings(max_examples=150)
@given(st.binary(max_size=80), frames)
def test_garbage_holds_no_frame_back_for_longer_than_its_longest_claim(garbage: bytes, frame: Frame) -> None:
    parser = FrameParser()
    read = parser.feed(garbage + encoded(frame))
    # Enough to complete whatever the garbage claimed to be the beginning of.
    read += parser.feed(b"\0" * (cnde.MAX_DATA_BYTES + cnde.OVERHEAD_BYTES))
    read += parser.feed(encoded(frame))
    assert read[-1] == frame


def test_a_false_head_in_garbage_is_skipped_and_counted() -> None:
    parser = FrameParser()
    frame = Frame(1, FrameType.MESSAGE, b"\0ok")
    for false in (b"\x5a\x00", b"\x5a\x5a\x00\x09\x00\x00", b"\x5a\x5a\x00\x04\xff\xff"):
        assert parser.feed(false + encoded(frame)) == [frame]
    assert parser.garbage_bytes == 2 + 6 + 6


def test_frames_behind_a_false_head_that_claims_them_are_late_and_not_lost() -> None:
    """5A 5A before a head makes one that claims 1030 bytes: nothing in the bytes says it is false."""
    parser = FrameParser()
    frame = Frame(1, FrameType.MESSAGE, b"\0ok!")
    sent, read = 0, parser.feed(b"\x5a\x5a")
    while not read:
        read = parser.feed(encoded(frame))
        sent += 1
    assert read == [frame] * sent
    assert sent * len(encoded(frame)) < 1030 + 2 * len(encoded(frame))


def test_a_damaged_tail_costs_its_frame_and_no_other() -> None:
    parser = FrameParser()
    frame = Frame(1, FrameType.MESSAGE, b"\0")
    assert parser.feed(encoded(frame)[:-1] + b"\xa4" + encoded(frame)) == [frame]


@settings(max_examples=200)
@given(st.lists(st.binary(max_size=300), max_size=10))
def test_any_bytes_leave_the_parser_bounded(chunks: list[bytes]) -> None:
    parser = FrameParser()
    for chunk in chunks:
        for frame in parser.feed(chunk):
            assert isinstance(frame, Frame)
    assert len(parser._buffer) < cnde.MAX_DATA_BYTES + cnde.OVERHEAD_BYTES


# Fields.


@pytest.mark.parametrize(
    ("text", "wire_type"),
    [
        ("UINT8", WireType("B", 1)),
        ("DOUBLE_6", WireType("d", 6)),
        (" INT32_7 ", WireType("i", 7)),
        ("UINT8_256", WireType("B", 256)),
        ("UINT64", WireType("Q", 1)),
        ("", None),
        ("UINT9", None),
        ("DOUBLE_", WireType("d", 1)),
        ("DOUBLE_0", None),
        ("DOUBLE_-1", None),
        ("DOUBLE_1e3", None),
        ("DOUBLE_9999", None),
    ],
)
def test_types_are_read_by_their_names(text: str, wire_type: WireType | None) -> None:
    assert parse_type(text) == wire_type


def test_the_vendors_recipe_is_1318_bytes_with_its_fields_where_the_vendor_has_them() -> None:
    known = [parse_type(FIELD_TYPES[name]) for name in VENDOR_RECIPE]
    layout = Layout(VENDOR_RECIPE, [wire_type for wire_type in known if wire_type is not None])
    assert layout.size_bytes == 1318
    offsets, start = {}, 0
    for name in VENDOR_RECIPE:
        wire_type = parse_type(FIELD_TYPES[name])
        assert wire_type is not None
        offsets[name] = start
        start += struct.calcsize("<" + wire_type.format)
    expected = {
        "main_code": 2,
        "sub_code": 6,
        "actual_joint_pos": 11,
        "actual_joint_vel": 155,
        "emergency_stop": 562,
        "safety_stop0_state": 577,
        "safety_stop1_state": 578,
        "rbt_enable_state": 810,
        "robot_time": 910,
        "last_servoJ_target": 1270,
    }
    assert {name: offsets[name] for name in expected} == expected


def test_a_layout_unpacks_its_own_length_and_nothing_else() -> None:
    layout = Layout(("a", "b"), (WireType("B", 1), WireType("d", 2)))
    payload = struct.pack("<B2d", 7, 1.5, -2.5)
    assert layout.unpack(payload) == (7, 1.5, -2.5)
    assert layout.unpack(payload + b"\0") is None
    assert layout.unpack(payload[:-1]) is None
    assert (layout.slice_of("b"), layout.count_of("b"), layout.count_of("c")) == (slice(1, 3), 2, 0)
    assert (layout.is_whole("a"), layout.is_whole("b"), layout.is_whole("c")) == (True, False, False)


# The conversation.

RECIPES = (("main_code", "servoJ_cmd_num"), ("main_code",))


def said(client: CndeClient) -> list[Frame]:
    return FrameParser().feed(client.outgoing())


def message(kind: int, text: str = "") -> bytes:
    return cnde.encode(0, FrameType.MESSAGE, bytes([kind]) + text.encode())


def data(payload: bytes) -> bytes:
    return cnde.encode(0, FrameType.OUTPUT_DATA, payload)


def test_configure_start_and_read() -> None:
    client = CndeClient(RECIPES, 8)
    assert said(client) == [Frame(0, FrameType.OUTPUT_CONFIG, b"\x08\x00main_code,servoJ_cmd_num")]
    assert said(client) == []
    client.receive(message(0, "INT32,INT32"))
    assert said(client) == [Frame(1, FrameType.OUTPUT_START, b"")]
    assert client.receive(message(0)) == []
    assert client.state is ClientState.STREAMING
    payloads = [struct.pack("<2i", 1, 2), struct.pack("<2i", 3, 4)]
    assert client.receive(b"".join(map(data, payloads))) == payloads
    client.stop()
    assert said(client) == [Frame(2, FrameType.OUTPUT_STOP, b"")]


def test_data_may_answer_the_start() -> None:
    client = CndeClient(RECIPES, 8)
    client.receive(message(0, "INT32,INT32"))
    payload = struct.pack("<2i", 1, 2)
    assert client.receive(data(payload)) == [payload]


def test_a_smaller_recipe_is_asked_for_where_a_name_is_unknown() -> None:
    client = CndeClient(RECIPES, 8)
    client.outgoing()
    client.receive(message(3, "servoJ_cmd_num NOT_FOUND"))
    assert said(client) == [Frame(1, FrameType.OUTPUT_CONFIG, b"\x08\x00main_code")]
    client.receive(message(0, "INT32"))
    assert client.layout is not None
    assert client.layout.names == ("main_code",)


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ([message(3, "another client")], "another client"),
        ([message(3)], "the configuration was refused without a reason"),
        ([message(3, "x NOT_FOUND"), message(3, "x NOT_FOUND")], "x NOT_FOUND"),
        ([message(0, "INT32")], "2 fields were answered with the types 'INT32'"),
        ([message(0, "INT32,WORD")], "2 fields were answered with the types 'INT32,WORD'"),
        ([message(0, "INT32,INT32"), message(3, "no")], "the output was not started: no"),
    ],
)
def test_a_refusal_is_told_in_the_controllers_words(answers: list[bytes], reason: str) -> None:
    client = CndeClient(RECIPES, 8)
    for answer in answers:
        client.receive(answer)
    assert (client.state, client.reason) == (ClientState.REFUSED, reason)


def test_a_data_frame_of_another_length_is_counted_and_not_read() -> None:
    client = CndeClient(RECIPES, 8)
    client.receive(message(0, "INT32,INT32") + message(0))
    assert client.receive(data(b"\0" * 7)) == []
    assert client.malformed == 1


def test_names_asked_for_are_names_the_vendor_describes() -> None:
    assert {name for recipe in OUR_RECIPES for name in recipe} <= set(FIELD_TYPES)
    assert "frame_cnt" not in FIELD_TYPES
    assert set(OUR_RECIPES[1]) <= set(VENDOR_RECIPE)


@settings(max_examples=200)
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=40),
            st.builds(message, st.integers(0, 255), st.text(max_size=20)),
            st.builds(data, st.binary(max_size=20)),
            st.builds(encoded, frames),
        ),
        max_size=12,
    )
)
def test_any_conversation_ends_in_one_of_four_states(heard: list[bytes]) -> None:
    client = CndeClient(RECIPES, 8)
    for chunk in heard:
        client.receive(chunk)
        client.outgoing()
    assert client.state in ClientState
    assert client.reason.isprintable()
