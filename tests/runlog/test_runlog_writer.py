"""The writer: the same calls give the same bytes, checkpoints come in time, a full disk loses nothing."""

import errno
import os
import struct
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadyhand.ground.errors import InputError
from steadyhand.runlog.faults import LogWriteError, Unrecordable
from steadyhand.runlog.framing import (
    CHECKPOINT_BYTES,
    CHECKPOINT_EVERY_BYTES,
    CHECKPOINT_EVERY_NS,
    FILE_HEADER_BYTES,
    MAX_PAYLOAD_BYTES,
    MAX_SEGMENT_BYTES,
    RECORD_HEADER,
    RECORD_HEADER_BYTES,
    Checkpoint,
    read_checkpoint,
)
from steadyhand.runlog.log_file import LogFile, create_log
from steadyhand.runlog.reader import RunLog, open_log
from steadyhand.runlog.schema import LogSchema, schema_for
from steadyhand.runlog.writer import MAX_PENDING_BYTES, ClockPair, RunLogWriter

Given = tuple[int, int, bytes]
MakeLog = Callable[..., bytes]
SCHEMA = schema_for("arm", configuration="robot: sim\n")


class Sink:
    """Takes what it is told to take."""

    def __init__(self, most: int | None = None) -> None:
        self.data = b""
        self.most = most
        self.full = False

    def write(self, data: bytes, /) -> int:
        if self.full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        taken = data[: self.most]
        self.data += taken
        return len(taken)


def checkpoints(data: bytes) -> list[Checkpoint]:
    """Walks a sound log by hand."""
    found, at = [], FILE_HEADER_BYTES
    while at < len(data):
        _, length, _ = RECORD_HEADER.unpack_from(data, at)
        checkpoint = read_checkpoint(data, at, at)
        if checkpoint is not None:
            found.append(checkpoint)
        at += RECORD_HEADER_BYTES + length
    return found


def test_a_record_header_is_14_bytes_channel_length_time() -> None:
    assert RECORD_HEADER.size == 14
    assert RECORD_HEADER.pack(0x0102, 3, -2) == bytes.fromhex("0201 03000000 feffffffffffffff")


def test_a_log_begins_with_its_schema_and_a_checkpoint() -> None:
    sink = Sink()
    writer = RunLogWriter(sink, SCHEMA, now_ns=5)
    assert writer.records == 1
    (first,) = checkpoints(sink.data)
    assert (first.records, first.time_ns, first.wall_ns) == (1, 5, 0)
    assert first.offset + CHECKPOINT_BYTES == len(sink.data) == writer.offset == writer.flushed


def test_a_checkpoint_closes_over_every_byte_since_the_last() -> None:
    sink = Sink()
    writer = RunLogWriter(sink, SCHEMA, now_ns=0)
    writer.append(9, 10, b"abc")
    writer.checkpoint(20)
    first, second = checkpoints(sink.data)
    assert first.crc == crc32(sink.data[: first.offset + CHECKPOINT_BYTES - 4])
    begin = first.offset + CHECKPOINT_BYTES
    assert second.crc == crc32(sink.data[begin : second.offset + CHECKPOINT_BYTES - 4])
    assert second.records == 2


def test_the_same_calls_give_the_same_bytes(
    make_log: MakeLog, three_segments: tuple[bytes, list[Given]]
) -> None:
    data, given_records = three_segments
    assert make_log(given_records) == data


def test_buffering_changes_no_byte() -> None:
    whole, torn = Sink(), Sink(most=7)
    for sink in (whole, torn):
        writer = RunLogWriter(sink, SCHEMA, now_ns=0)
        for index in range(50):
            writer.append(9, index, bytes(index))
            if sink is torn:
                writer.flush()
        writer.finish(50)
    assert torn.data == whole.data


def test_checkpoints_are_at_most_a_second_of_records_apart() -> None:
    sink = Sink()
    writer = RunLogWriter(sink, SCHEMA, now_ns=0)
    for tick in range(1, 400):
        writer.append(9, tick * 10_000_000, b"x")
    writer.finish(0)
    times = [one.time_ns for one in checkpoints(sink.data)]
    assert len(times) == 5
    assert all(later - earlier <= CHECKPOINT_EVERY_NS for earlier, later in pairwise(times))


def test_a_second_without_records_has_its_checkpoint_too() -> None:
    sink = Sink()
    writer = RunLogWriter(sink, SCHEMA, now_ns=0)
    writer.keep_up(999_999_999)
    assert len(checkpoints(sink.data)) == 1
    writer.keep_up(1_000_000_000)
    assert [one.time_ns for one in checkpoints(sink.data)] == [0, 1_000_000_000]


@given(sizes=st.lists(st.integers(0, 40_000), max_size=20))
def test_segments_stay_under_64_kib(sizes: list[int]) -> None:
    sink = Sink()
    writer = RunLogWriter(sink, SCHEMA, now_ns=0)
    for size in sizes:
        writer.append(9, 1, bytes(size))
    writer.finish(1)
    ends = [one.offset + CHECKPOINT_BYTES for one in checkpoints(sink.data)]
    assert all(later - earlier <= CHECKPOINT_EVERY_BYTES for earlier, later in pairwise([0, *ends]))


def test_a_record_longer_than_that_has_a_segment_to_itself() -> None:
    sink = Sink()
    writer = RunLogWriter(sink, SCHEMA, now_ns=0)
    writer.append(9, 1, b"before")
    writer.append(10, 2, bytes(MAX_PAYLOAD_BYTES))
    writer.append(9, 3, b"after")
    writer.finish(3)
    counts = [one.records for one in checkpoints(sink.data)]
    assert counts == [1, 2, 3, 4]
    ends = [one.offset + CHECKPOINT_BYTES for one in checkpoints(sink.data)]
    assert max(later - earlier for earlier, later in pairwise(ends)) <= MAX_SEGMENT_BYTES


def test_wall_and_monotonic_time_stand_together_and_a_simulated_run_has_no_wall_time() -> None:
    sink = Sink()
    writer = RunLogWriter(sink, SCHEMA, now_ns=1, clocks=lambda: ClockPair(77, 1_700_000_000_000_000_000))
    writer.append(9, 2, b"")
    writer.finish(2)
    assert {(one.time_ns, one.wall_ns) for one in checkpoints(sink.data)} == {(77, 1_700_000_000_000_000_000)}
    simulated = Sink()
    RunLogWriter(simulated, SCHEMA, now_ns=1).finish(2)
    assert {one.wall_ns for one in checkpoints(simulated.data)} == {0}


def test_provenance_is_left_out_of_a_simulated_run() -> None:
    with pytest.raises(Unrecordable, match="channel 2"):
        RunLogWriter(Sink(), SCHEMA, now_ns=0).append(2, 0, b"")
    RunLogWriter(Sink(), SCHEMA, now_ns=0, clocks=lambda: ClockPair(0, 1)).append(2, 0, b"")


@pytest.mark.parametrize(
    ("channel", "time_ns", "payload"),
    [(0, 0, b""), (1, 0, b""), (99, 0, b""), (9, 1 << 63, b""), (9, 0, bytes(MAX_PAYLOAD_BYTES + 1))],
)
def test_what_a_reader_would_refuse_is_not_written(channel: int, time_ns: int, payload: bytes) -> None:
    sink = Sink()
    writer = RunLogWriter(sink, SCHEMA, now_ns=0)
    before = writer.offset
    with pytest.raises(Unrecordable):
        writer.append(channel, time_ns, payload)
    assert writer.offset == before


def test_a_full_disk_is_a_typed_error_and_what_is_pending_follows_when_there_is_room() -> None:
    free, sink = Sink(), Sink()
    expected = RunLogWriter(free, SCHEMA, now_ns=0)
    writer = RunLogWriter(sink, SCHEMA, now_ns=0)
    for one in (expected, writer):
        one.append(9, 1, b"kept")
    expected.checkpoint(2)
    sink.full = True
    with pytest.raises(LogWriteError, match="No space left"):
        writer.checkpoint(2)
    sink.full = False
    writer.flush()
    assert sink.data == free.data


def test_a_sink_that_takes_nothing_is_an_error_and_not_a_loop() -> None:
    with pytest.raises(LogWriteError, match="nothing is taken"):
        RunLogWriter(Sink(most=0), SCHEMA, now_ns=0)


def test_a_disk_that_stays_full_does_not_fill_the_memory() -> None:
    sink = Sink()
    writer = RunLogWriter(sink, SCHEMA, now_ns=0)
    sink.full = True
    failed = 0
    for _ in range(30):
        try:
            writer.append(10, 1, bytes(MAX_PAYLOAD_BYTES))
        except LogWriteError:
            failed += 1
    assert failed > 20
    assert writer.offset - writer.flushed < MAX_PENDING_BYTES + 2 * MAX_PAYLOAD_BYTES


def test_a_log_is_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "run.shlog"
    with create_log(path, SCHEMA, now_ns=0) as writer:
        writer.append(9, 1, b"x")
    before = path.read_bytes()
    with pytest.raises(InputError, match="exists already"):
        LogFile(path)
    assert path.read_bytes() == before
    with open_log(path) as log:
        assert log.integrity().complete


def test_a_folder_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        LogFile(tmp_path / "nowhere" / "run.shlog")


def test_after_an_exception_the_log_ends_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "run.shlog"

    def fail() -> None:
        with create_log(path, SCHEMA, now_ns=0) as writer:
            writer.append(9, 1, b"flushed")
            writer.flush()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    with open_log(path) as log:
        told = log.integrity()
    assert (told.verified_records, told.unverified_records, told.cut_bytes) == (1, 1, 0)


def test_the_schema_says_whose_bytes_these_are(open_bytes: Callable[[bytes], RunLog]) -> None:
    sink = Sink()
    RunLogWriter(sink, SCHEMA, now_ns=0)
    read = open_bytes(sink.data).schema
    assert isinstance(read, LogSchema)
    assert read == SCHEMA
    assert read.configuration == "robot: sim\n"
    assert {row.number for row in read.channels if row.is_output} == set(range(16, 26))
    assert struct.unpack_from("<H", sink.data, 8) == (2,)
