"""What a scan delivers, and what it says of it: every byte flipped, every length cut, every way to hide."""

import random
import tracemalloc
from collections.abc import Callable
from io import BytesIO
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyhand.runlog.faults import LogFault
from steadyhand.runlog.framing import (
    CHECKPOINT_BYTES,
    FILE_HEADER_BYTES,
    MAX_PAYLOAD_BYTES,
    MAX_SEGMENT_BYTES,
    RECORD_HEADER,
    SYNC,
    checkpoint_bytes,
    file_header,
)
from steadyhand.runlog.integrity import DAMAGES_KEPT, DamageKind, Integrity, Trust
from steadyhand.runlog.reader import RunLog
from steadyhand.runlog.scan import Record, Scan
from steadyhand.runlog.schema import SCHEMA, LogSchema, schema_for
from steadyhand.runlog.window import CHUNK_BYTES, Window
from steadyhand.runlog.writer import RunLogWriter

Given = tuple[int, int, bytes]
MakeLog = Callable[..., bytes]
OpenBytes = Callable[[bytes], RunLog]
Small = tuple[bytes, list[Given]]


def scanned(log: RunLog) -> tuple[list[Record], Integrity]:
    scan = log.scan()
    return list(scan), scan.integrity


def given_of(records: list[Record], *trusts: Trust) -> list[Given]:
    """As put in; the schema record left out."""
    return [
        (one.channel, one.time_ns, one.payload) for one in records if one.trust in trusts and one.channel != 1
    ]


def segment_ends(data: bytes) -> list[int]:
    """Offsets behind each checkpoint, by its pattern."""
    ends, at = [], data.find(SYNC)
    while at >= 0:
        ends.append(at - 14 + CHECKPOINT_BYTES)
        at = data.find(SYNC, at + 1)
    return ends


# ---- sound files


def test_a_sound_log_is_verified_to_its_last_byte(three_segments: Small, open_bytes: OpenBytes) -> None:
    data, given_records = three_segments
    records, told = scanned(open_bytes(data))
    assert given_of(records, Trust.VERIFIED) == given_records
    assert told.complete
    assert (told.verified_bytes, told.verified_records, told.damages) == (len(data), 7, [])
    assert told.verified_until_ns == 2_600_000_001
    assert told.in_words() == "complete: all 7 records verified"


RECORDS = st.lists(
    st.tuples(
        st.sampled_from([3, 9, 17, 23]),
        st.integers(-(1 << 63), (1 << 63) - 1),
        st.binary(max_size=300) | st.just(SYNC) | st.just(bytes(70_000)),
    ),
    max_size=30,
)
ARM_SCHEMA = schema_for("arm")


def log_of(records: list[Given], *, finish: bool = True) -> bytes:
    sink = BytesIO()
    writer = RunLogWriter(sink, ARM_SCHEMA, now_ns=0)
    for record in records:
        writer.append(*record)
    if finish:
        writer.finish(0)
    writer.flush()
    return sink.getvalue()


@given(records=RECORDS)
def test_any_records_come_back(records: list[Given]) -> None:
    read, told = scanned(RunLog(BytesIO(log_of(records)), "test"))
    assert given_of(read, Trust.VERIFIED) == records
    assert told.complete


@given(records=RECORDS)
def test_without_a_last_checkpoint_any_records_come_back_unverified(records: list[Given]) -> None:
    read, told = scanned(RunLog(BytesIO(log_of(records, finish=False)), "test"))
    assert given_of(read, Trust.VERIFIED, Trust.UNVERIFIED) == records
    assert told.verified_records + told.unverified_records == len(records) + 1
    assert told.cut_bytes == 0


# ---- every byte flipped


@pytest.mark.parametrize("mask", [0x01, 0x80, 0xFF])
def test_a_flip_of_any_byte_is_never_silent_in_the_verified_part(
    mask: int, three_segments: Small, open_bytes: OpenBytes
) -> None:
    data, given_records = three_segments
    ends = segment_ends(data)
    silent = partial = 0
    for at in range(len(data)):
        broken = bytearray(data)
        broken[at] ^= mask
        try:
            records, told = scanned(open_bytes(bytes(broken)))
        except LogFault:
            assert at < FILE_HEADER_BYTES
            continue
        assert not told.complete
        assert told.damages[0].begin <= at
        before = [0, *ends][sum(end <= at for end in ends)]
        assert told.verified_bytes == (before if before > FILE_HEADER_BYTES else 0)
        verified = given_of(records, Trust.VERIFIED)
        silent += verified != given_records[: len(verified)]
        resumed = given_of(records, Trust.RESUMED)
        silent += resumed != given_records[len(given_records) - len(resumed) :]
        whole_lengths = {len(payload) for _, _, payload in given_records}
        behind_schema = [one for one in records if one.offset > FILE_HEADER_BYTES]
        partial += any(len(one.payload) not in whole_lengths for one in behind_schema)
    assert (silent, partial) == (0, 0)


def test_a_changed_payload_leaves_its_segment_unverified_and_whole(
    three_segments: Small, open_bytes: OpenBytes
) -> None:
    data, given_records = three_segments
    broken = data.replace(b"third", b"THIRD")
    records, told = scanned(open_bytes(broken))
    assert given_of(records, Trust.VERIFIED) == given_records[:2]
    assert [one.time_ns for one in records if one.trust is Trust.UNVERIFIED] == [1_500_000_000, 1_500_000_001]
    assert given_of(records, Trust.RESUMED) == given_records[4:]
    (damage,) = told.damages
    first, second = segment_ends(data)[1:3]
    assert (damage.kind, damage.begin, damage.end) == (DamageKind.CHANGED, first, second)
    assert told.lost_records == 0
    assert "first damage between bytes" in told.in_words()


def test_after_a_corrupt_length_it_resumes_at_the_next_checkpoint(
    three_segments: Small, open_bytes: OpenBytes
) -> None:
    data, given_records = three_segments
    at = data.index(b"first") - 14 + 2
    for length in (0, 1, 6, 40, 70, 0x7FFF, 0xFFFF_FFFF):
        broken = data[:at] + length.to_bytes(4, "little") + data[at + 4 :]
        records, told = scanned(open_bytes(broken))
        assert given_of(records, Trust.UNVERIFIED) == []
        assert given_of(records, Trust.RESUMED) == given_records[2:]
        assert told.damages[0].kind is DamageKind.BROKEN
        assert told.lost_records == 2


def test_a_length_that_swallows_the_next_record_is_found_by_the_count(
    three_segments: Small, open_bytes: OpenBytes
) -> None:
    """The lengths lead exactly to the checkpoint all the same: nothing partial, nothing merged comes out."""
    data, _ = three_segments
    at = data.index(b"first") - 14 + 2
    swallowing = 5 + 14 + 40
    broken = data[:at] + swallowing.to_bytes(4, "little") + data[at + 4 :]
    records, told = scanned(open_bytes(broken))
    assert given_of(records, Trust.UNVERIFIED) == []
    assert told.damages[0].kind is DamageKind.BROKEN


def test_a_checkpoint_that_was_changed_costs_no_record(three_segments: Small, open_bytes: OpenBytes) -> None:
    data, given_records = three_segments
    checkpoint = segment_ends(data)[1] - CHECKPOINT_BYTES
    for at in (checkpoint, checkpoint + 14, checkpoint + 30):
        broken = bytearray(data)
        broken[at] ^= 0xFF
        records, told = scanned(open_bytes(bytes(broken)))
        assert given_of(records, Trust.UNVERIFIED, Trust.RESUMED) == given_records
        assert told.lost_records == 0


def test_a_changed_count_costs_its_own_segment_and_none_behind_it(
    three_segments: Small, open_bytes: OpenBytes
) -> None:
    data, given_records = three_segments
    broken = bytearray(data)
    broken[segment_ends(data)[1] - CHECKPOINT_BYTES + 14 + 24] ^= 0xFF
    records, told = scanned(open_bytes(bytes(broken)))
    assert given_of(records, Trust.RESUMED) == given_records[2:]
    assert (told.lost_records, len(told.damages)) == (2, 1)


def test_a_count_that_does_not_follow_on_the_last_is_damage(open_bytes: OpenBytes, make_log: MakeLog) -> None:
    """Two logs with the same beginning, one continued with the other's end: every CRC holds."""
    one = make_log([(9, 1, b"a"), (9, 2, b"b"), (9, 2_000_000_000, b"c")])
    other = make_log([(9, 1, b"a" * 16), (9, 2_000_000_000, b"c")])
    assert len(one) == len(other)
    ends = segment_ends(one)
    assert ends == segment_ends(other)
    spliced = one[: ends[1]] + other[ends[1] :]
    records, told = scanned(open_bytes(spliced))
    assert told.verified_bytes == ends[1]
    assert given_of(records, Trust.VERIFIED) == [(9, 1, b"a"), (9, 2, b"b")]
    assert given_of(records, Trust.UNVERIFIED, Trust.RESUMED) == []


def test_a_segment_that_was_cut_out_is_found_by_where_checkpoints_stand(
    three_segments: Small, open_bytes: OpenBytes
) -> None:
    data, given_records = three_segments
    first, second = segment_ends(data)[1:3]
    records, told = scanned(open_bytes(data[:first] + data[second:]))
    assert given_of(records, Trust.VERIFIED) == given_records[:2]
    assert told.verified_bytes == first


def test_a_pattern_inside_a_payload_is_no_checkpoint(open_bytes: OpenBytes, make_log: MakeLog) -> None:
    """A whole foreign log as a payload, in a segment that is damaged."""
    foreign = make_log([(9, 5, b"foreign")])
    data = make_log([(9, 1, b"mine" + foreign), (9, 2_000_000_000, b"next")])
    at = data.index(b"mine") - 14 + 2
    broken = data[:at] + b"\xff" + data[at + 1 :]
    records, _ = scanned(open_bytes(broken))
    assert all(one.payload != b"foreign" for one in records)
    assert given_of(records, Trust.RESUMED) == [(9, 2_000_000_000, b"next")]


def test_a_changed_byte_of_a_long_record_leaves_it_whole() -> None:
    """Longer than what is read of the file at once."""
    payload = bytes(range(256)) * 4096
    data = bytearray(log_of([(10, 1, payload), (9, 2, b"next"), (10, 3, payload)]))
    data[500_000] ^= 1
    records, told = scanned(RunLog(BytesIO(bytes(data)), "test"))
    assert [len(one.payload) for one in records if one.trust is Trust.UNVERIFIED] == [len(payload)]
    assert given_of(records, Trust.RESUMED) == [(9, 2, b"next"), (10, 3, payload)]
    assert told.damages[0].kind is DamageKind.CHANGED


def test_a_damage_longer_than_two_segments_is_skipped_and_not_held() -> None:
    data = log_of([(10, index, bytes([index]) * MAX_PAYLOAD_BYTES) for index in range(5)])
    ends = segment_ends(data)
    broken = bytearray(data)
    for end in ends[1:4]:
        broken[end - CHECKPOINT_BYTES + 14] ^= 1
    records, told = scanned(RunLog(BytesIO(bytes(broken)), "test"))
    assert [(one.channel, one.trust) for one in records] == [(1, Trust.VERIFIED), (10, Trust.RESUMED)]
    assert (told.damages[0].begin, told.damages[0].end) == (ends[0], ends[4])
    assert told.lost_records == 4


# ---- every length


def test_truncated_anywhere_it_keeps_the_last_checkpoint_and_whole_records(
    three_segments: Small, open_bytes: OpenBytes
) -> None:
    data, given_records = three_segments
    ends = segment_ends(data)
    for length in range(len(data)):
        try:
            records, told = scanned(open_bytes(data[:length]))
        except LogFault:
            assert length < FILE_HEADER_BYTES
            continue
        covered = max([end for end in ends if end <= length], default=0)
        assert told.verified_bytes == covered
        read = given_of(records, Trust.VERIFIED, Trust.UNVERIFIED)
        assert read == given_records[: len(read)]
        last = records[-1] if records else None
        reached = max(covered, FILE_HEADER_BYTES if last is None else last.offset + 14 + len(last.payload))
        assert told.cut_bytes == length - reached
        assert told.complete == (length == covered)


def test_a_torn_end_of_zeros_is_no_record(three_segments: Small, open_bytes: OpenBytes) -> None:
    """What a power cut leaves of a file that had grown already."""
    data, given_records = three_segments
    records, told = scanned(open_bytes(data + bytes(5000)))
    assert given_of(records, Trust.VERIFIED) == given_records
    assert (told.unverified_records, told.cut_bytes) == (0, 5000)
    assert told.damages[-1].kind is DamageKind.CUT


def test_bytes_that_look_like_a_record_of_no_channel_are_none(
    three_segments: Small, open_bytes: OpenBytes
) -> None:
    data, _ = three_segments
    tail = RECORD_HEADER.pack(9, 1, 5) + b"x" + RECORD_HEADER.pack(77, 1, 6) + b"y"
    records, told = scanned(open_bytes(data + tail))
    assert given_of(records, Trust.UNVERIFIED) == [(9, 5, b"x")]
    assert told.cut_bytes == 15


# ---- hostile files


@given(tail=st.binary(max_size=400), whole=st.booleans())
def test_any_bytes_behind_a_header_are_read_without_an_exception(tail: bytes, whole: bool) -> None:
    data = (log_of([(9, 1, b"x")]) if whole else file_header()) + tail
    records, told = scanned(RunLog(BytesIO(data), "test"))
    assert told.verified_bytes == (len(data) - len(tail) if whole else 0) or told.complete
    assert len(records) == told.records


@given(seed=st.integers(0, 1 << 32))
@settings(max_examples=60)
def test_a_log_broken_in_many_places_is_read_without_an_exception(seed: int) -> None:
    dice = random.Random(seed)
    data = bytearray(BROKEN_BASE)
    for _ in range(dice.randrange(1, 20)):
        begin = dice.randrange(FILE_HEADER_BYTES, len(data))
        size = dice.randrange(1, 200)
        kind = dice.randrange(3)
        if kind == 0:
            data[begin : begin + size] = dice.randbytes(min(size, len(data) - begin))
        elif kind == 1:
            del data[begin : begin + size]
        else:
            data[begin:begin] = data[dice.randrange(len(data)) :][:size]
    records, told = scanned(RunLog(BytesIO(bytes(data)), "test"))
    verified = [one for one in records if one.trust is Trust.VERIFIED]
    assert [bytes(one.payload) for one in verified] == BASE_PAYLOADS[: len(verified)]
    assert len(records) == told.records


BASE_RECORDS: list[Given] = [(9, index * 300_000_000, bytes([index]) * index) for index in range(40)]
BROKEN_BASE = log_of(BASE_RECORDS)
BASE_PAYLOADS = [SCHEMA.encode(ARM_SCHEMA), *[payload for _, _, payload in BASE_RECORDS]]


def test_damages_without_end_are_counted_and_not_kept() -> None:
    data = bytearray(file_header())
    for index in range(DAMAGES_KEPT + 50):
        data += checkpoint_bytes(offset=len(data), records=index, time_ns=0, wall_ns=0, crc_before=1)
    _, told = scanned(RunLog(BytesIO(bytes(data)), "test"))
    assert (len(told.damages), told.damages_unlisted) == (DAMAGES_KEPT, 50)


def test_a_segment_longer_than_any_writers_is_not_taken_in() -> None:
    data = bytearray(file_header())
    for _ in range(3):
        data += RECORD_HEADER.pack(9, MAX_PAYLOAD_BYTES, 0) + bytes(MAX_PAYLOAD_BYTES)
    records, told = scanned(RunLog(BytesIO(bytes(data)), "test"))
    assert len(records) == 1
    assert told.verified_bytes == 0


def test_a_record_longer_than_any_writers_is_none_whatever_vouches_for_it() -> None:
    data = file_header() + RECORD_HEADER.pack(9, MAX_PAYLOAD_BYTES + 1, 0) + bytes(MAX_PAYLOAD_BYTES + 1)
    data += checkpoint_bytes(offset=len(data), records=1, time_ns=0, wall_ns=0, crc_before=crc32(data))
    _, told = scanned(RunLog(BytesIO(data), "test"))
    assert told.verified_bytes == 0
    assert told.damages[0].kind is DamageKind.BROKEN


def test_memory_stays_bounded_however_long_the_log() -> None:
    class Long(BytesIO):
        """Sixty segments of the largest size, made as they are read."""

    sink = Long()
    writer = RunLogWriter(sink, ARM_SCHEMA, now_ns=0)
    for index in range(60):
        writer.append(10, index, bytes(MAX_PAYLOAD_BYTES))
    writer.finish(60)
    log = RunLog(sink, "test")
    tracemalloc.start()
    try:
        told = log.integrity()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert told.verified_records == 61
    assert peak < 6 * MAX_SEGMENT_BYTES < len(sink.getvalue()) / 5


# ---- the window


@given(data=st.data())
@settings(max_examples=50)
def test_a_window_shows_the_file_wherever_it_is_moved(data: st.DataObject) -> None:
    content = bytes(index * 7 % 251 for index in range(1000))
    window = Window(BytesIO(content), len(content), "test")
    for _ in range(data.draw(st.integers(1, 8))):
        begin = data.draw(st.integers(0, 1000))
        end = data.draw(st.integers(begin, 1010))
        assert window.hold(begin, end) == (end <= 1000)
        if end <= 1000:
            assert window.data[begin - window.base : end - window.base] == content[begin:end]


def test_a_pattern_is_found_across_the_edges_of_what_is_read() -> None:
    for gap in (-20, -8, -1, 0, 1):
        at = CHUNK_BYTES + gap
        content = bytes(at) + SYNC + bytes(100)
        window = Window(BytesIO(content), len(content), "test")
        assert window.find(SYNC, 0) == at
        assert window.find(SYNC, at + 1) is None


def test_a_file_that_shrinks_while_it_is_read_is_a_typed_fault() -> None:
    data = log_of([(9, 1, b"x")])
    window = Window(BytesIO(data[:-10]), len(data), "test")
    with pytest.raises(LogFault, match="shorter"):
        list(Scan(window))


def test_a_schema_with_few_channels_is_a_schema(three_segments: Small, open_bytes: OpenBytes) -> None:
    schema = open_bytes(three_segments[0]).schema
    assert isinstance(schema, LogSchema)
    assert [row.number for row in schema.channels] == [9, 11, 17]
