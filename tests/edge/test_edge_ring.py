"""The ring: whole records or none, every one accounted for, nobody waits for anybody (R13)."""

import json
import os
import subprocess
import sys
from pathlib import Path
from select import select

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadyhand.edge.ring import RingWriter, new_wake_fd
from steadyhand.edge.ring_layout import HEADER_BYTES, WORD, RingShape, memory_order_is_weak
from steadyhand.edge.ring_reader import RingReader, RingRecord
from steadyhand.edge.segment import Segment, create_anonymous, open_inherited
from steadyhand.ground.errors import InputError

SHAPE = RingShape(depth=8, slot_bytes=64)
PROCESS = Path(__file__).with_name("ring_process.py")
DEADLINE_S = 60.0


def new_ring(shape: RingShape = SHAPE, *, checksum: bool = False) -> tuple[Segment, RingWriter]:
    segment = create_anonymous("ring", shape.size_bytes)
    return segment, RingWriter(segment, shape, checksum=checksum)


def publish(writer: RingWriter, count: int) -> None:
    for _ in range(count):
        writer.publish(b"record %d" % (writer.newest + 1))


def test_records_come_whole_and_in_order() -> None:
    segment, writer = new_ring()
    reader = RingReader(segment)
    for payload in (b"", b"a", bytes(range(64))):
        assert writer.publish(payload)
    got = [reader.next_record() for _ in range(4)]
    assert got == [RingRecord(1, b""), RingRecord(2, b"a"), RingRecord(3, bytes(range(64))), None]


def test_a_reader_begins_with_what_comes_or_with_the_first() -> None:
    segment, writer = new_ring()
    publish(writer, 3)
    late, early = RingReader(segment), RingReader(segment, start="first")
    publish(writer, 1)
    assert late.next_record() == RingRecord(4, b"record 4")
    assert early.next_record() == RingRecord(1, b"record 1")


def test_a_lapped_reader_skips_to_newest_minus_a_margin_and_counts_what_it_missed() -> None:
    segment, writer = new_ring()
    reader = RingReader(segment, margin_records=3)
    publish(writer, 20)
    assert reader.next_record() == RingRecord(17, b"record 17")
    assert reader.missed == 16
    rest = [record.sequence for record in iter(reader.next_record, None)]
    assert rest == [18, 19, 20]
    assert reader.received + reader.missed == writer.newest


def test_a_reader_not_yet_lapped_misses_nothing() -> None:
    segment, writer = new_ring()
    reader = RingReader(segment)
    publish(writer, SHAPE.depth)
    assert [record.sequence for record in iter(reader.next_record, None)] == list(range(1, 9))
    assert reader.missed == 0


def test_latest_only_passes_over_the_rest_and_counts_it() -> None:
    segment, writer = new_ring()
    reader = RingReader(segment)
    assert reader.latest_record() is None
    publish(writer, 5)
    assert reader.latest_record() == RingRecord(5, b"record 5")
    assert reader.latest_record() is None
    publish(writer, 30)
    assert reader.latest_record() == RingRecord(35, b"record 35")
    assert (reader.received, reader.missed) == (2, 33)


@pytest.mark.parametrize("margin_records", [-1, 8, 9])
def test_a_margin_outside_the_ring_is_refused(margin_records: int) -> None:
    segment, _writer = new_ring()
    with pytest.raises(ValueError, match="margin"):
        RingReader(segment, margin_records=margin_records)


class LappedMidCopy(RingReader):
    """A reader that the producer laps in the middle of its copy, once."""

    producer: RingWriter
    laps = 1

    def _copy(self, start: int, size: int) -> bytes:
        half = super()._copy(start, size // 2)
        if self.laps:
            self.laps -= 1
            for _ in range(SHAPE.depth):
                self.producer.publish(bytes([self.producer.newest + 1]) * 64)
        return half + super()._copy(start + size // 2, size - size // 2)


class Naive(LappedMidCopy):
    """The same without the second look at the slot's number."""

    def _still_holds(self, first: int, sequence: int) -> bool:
        return True


@pytest.mark.parametrize("latest", [False, True])
def test_a_reader_that_is_lapped_while_it_copies_never_hands_out_a_torn_record(latest: bool) -> None:
    segment, writer = new_ring()
    reader = LappedMidCopy(segment)
    reader.producer = writer
    writer.publish(b"\1" * 64)
    record = reader.latest_record() if latest else reader.next_record()
    assert record is not None
    assert record.payload == bytes([record.sequence]) * 64
    assert record.sequence > 1
    assert reader.received + reader.missed + reader.backlog == writer.newest


def test_without_the_second_look_the_same_record_tears() -> None:
    segment, writer = new_ring()
    reader = Naive(segment)
    reader.producer = writer
    writer.publish(b"\1" * 64)
    assert reader.next_record() == RingRecord(1, b"\1" * 32 + b"\x09" * 32)


def test_a_slot_that_is_being_overwritten_is_not_handed_out_as_its_old_record() -> None:
    segment, writer = new_ring()
    reader = RingReader(segment)
    publish(writer, 8)
    words = memoryview(segment.map(writable=True)).cast("Q")
    words[HEADER_BYTES // WORD] = 9  # the producer has begun number 9, and no more
    assert reader.next_record() == RingRecord(4, b"record 4")
    assert reader.missed == 3


def test_stores_that_arrive_in_another_order_are_caught_by_the_checksum() -> None:
    segment, writer = new_ring(checksum=True)
    reader = RingReader(segment)
    writer.publish(b"verbatim")
    mapped = segment.map(writable=True)
    body = HEADER_BYTES + 2 * WORD
    mapped[body : body + 1] = b"V"
    assert reader.next_record() is None
    assert (reader.received, reader.missed) == (0, 0)
    mapped[body : body + 1] = b"v"  # the late store arrives
    assert reader.next_record() == RingRecord(1, b"verbatim")


@pytest.mark.parametrize(
    ("machine", "weak"), [("x86_64", False), ("AMD64", False), ("aarch64", True), ("riscv64", True)]
)
def test_the_checksum_is_for_machines_that_reorder_stores(
    machine: str, weak: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: machine)
    assert memory_order_is_weak() is weak


def test_a_record_too_long_keeps_its_number_and_is_a_gap_to_everyone() -> None:
    segment, writer = new_ring()
    every, latest = RingReader(segment), RingReader(segment)
    publish(writer, 1)
    assert not writer.publish(bytes(65))
    assert latest.latest_record() is None
    publish(writer, 1)
    assert [record.sequence for record in iter(every.next_record, None)] == [1, 3]
    assert latest.latest_record() == RingRecord(3, b"record 3")
    assert (every.missed, latest.missed) == (1, 2)


def test_a_reader_cannot_write_into_the_ring() -> None:
    segment, _writer = new_ring()
    handed_down = open_inherited(segment.read_only_fd(), "ring")
    with pytest.raises(TypeError, match="readonly"):
        handed_down.map(writable=False)[0:1] = b"x"
    with pytest.raises(PermissionError):
        handed_down.map(writable=True)
    assert RingReader(handed_down).newest == 0


def test_a_second_producer_is_refused() -> None:
    segment, _writer = new_ring()
    with pytest.raises(InputError, match="there is a producer already"):
        RingWriter(segment, SHAPE)


def test_the_next_producer_carries_the_numbers_on_over_a_record_left_half_written() -> None:
    segment, writer = new_ring()
    heir_fd = os.dup(segment.fileno())
    reader = RingReader(segment)
    publish(writer, 3)
    words = memoryview(segment.map(writable=True)).cast("Q")
    words[(HEADER_BYTES + 3 * SHAPE.stride_bytes) // WORD] = 4  # died after the first store of number 4
    segment.close()
    heir = RingWriter(open_inherited(heir_fd, "ring"), SHAPE)
    publish(heir, 2)
    assert [record.sequence for record in iter(reader.next_record, None)] == [1, 2, 3, 4, 5]
    assert (reader.missed, reader.producers) == (0, 2)


def test_a_ring_of_another_shape_is_refused() -> None:
    segment, _writer = new_ring()
    heir = open_inherited(os.dup(segment.fileno()), "ring")
    segment.close()
    with pytest.raises(InputError, match="another shape"):
        RingWriter(heir, RingShape(depth=9, slot_bytes=64))


@pytest.mark.parametrize("size_bytes", [64, 100, 4096])
def test_memory_that_holds_no_ring_is_refused(size_bytes: int) -> None:
    with pytest.raises(InputError, match="holds no ring"):
        RingReader(create_anonymous("nothing", size_bytes))


@pytest.mark.parametrize(("depth", "slot_bytes"), [(1, 64), (8, 0), (8, (1 << 24) + 1)])
def test_a_shape_that_cannot_be_is_refused(depth: int, slot_bytes: int) -> None:
    with pytest.raises(ValueError, match="cannot be"):
        RingShape(depth=depth, slot_bytes=slot_bytes)


def test_by_default_a_ring_holds_two_seconds_of_records() -> None:
    assert RingShape.lasting(rate_hz=100, slot_bytes=64).depth == 200
    assert RingShape.lasting(rate_hz=500, slot_bytes=64).depth == 1000


@given(
    st.lists(
        st.one_of(
            st.binary(max_size=70).map(lambda payload: ("publish", payload)),
            st.sampled_from([("every", b""), ("latest", b"")]),
        ),
        max_size=80,
    ),
    st.integers(2, 9),
    st.booleans(),
)
def test_every_record_published_is_received_or_missed_or_still_to_come(
    steps: list[tuple[str, bytes]], depth: int, checksum: bool
) -> None:
    segment, writer = new_ring(RingShape(depth=depth, slot_bytes=64), checksum=checksum)
    readers = {"every": RingReader(segment), "latest": RingReader(segment)}
    published: list[bytes] = []
    last = dict.fromkeys(readers, 0)
    for step, payload in steps:
        if step == "publish":
            assert writer.publish(payload) == (len(payload) <= 64)
            published.append(payload)
            continue
        reader = readers[step]
        record = reader.next_record() if step == "every" else reader.latest_record()
        if record is not None:
            assert record.payload == published[record.sequence - 1]
            assert last[step] < record.sequence
            assert record.sequence > len(published) - depth
            last[step] = record.sequence
        assert reader.received + reader.missed + reader.backlog == len(published)
    for reader in readers.values():
        reader.close()
    writer.close()
    segment.close()


def test_a_sleeping_reader_is_woken() -> None:
    segment = create_anonymous("ring", SHAPE.size_bytes)
    wake_fd = new_wake_fd()
    writer = RingWriter(segment, SHAPE, wake_fds=(wake_fd,))
    reader = RingReader(segment, wake_fd=wake_fd)
    assert not reader.wait(0.0)
    publish(writer, 1)
    assert select([reader], [], [], 0.0)[0] == [reader]
    assert reader.wait(0.0)
    reader.next_record()
    assert not reader.wait(0.0)
    os.close(wake_fd)


def test_a_reader_without_an_eventfd_says_so() -> None:
    segment, _writer = new_ring()
    with pytest.raises(ValueError, match="no eventfd"):
        RingReader(segment).wait(0.0)


def start(role: str, descriptor: int, depth: int, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(PROCESS), role, str(descriptor), str(depth), str(count)],
        pass_fds=(descriptor,),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def said(process: subprocess.Popen[str]) -> str:
    if process.stdout is None or not select([process.stdout], [], [], DEADLINE_S)[0]:
        raise TimeoutError("a process of the torture test said nothing in time")
    return process.stdout.readline().strip()


@pytest.mark.parametrize(("depth", "count"), [(3, 30_000), (64, 60_000)])
def test_under_a_flood_no_record_tears_and_each_one_is_accounted_for(depth: int, count: int) -> None:
    segment = create_anonymous("ring", RingShape(depth=depth, slot_bytes=512).size_bytes)
    reading_fd = segment.read_only_fd()
    producer = start("flood", segment.fileno(), depth, count)
    processes = [producer]
    try:
        assert said(producer) == "ready"
        roles = ("every", "every, short margin", "latest")
        readers = [start(role, reading_fd, depth, count) for role in roles]
        processes += readers
        assert [said(reader) for reader in readers] == ["ready"] * 3
        assert producer.stdin is not None
        producer.stdin.write("go\n")
        producer.stdin.flush()
        assert json.loads(said(producer)) == {"published": count}
        for reader in readers:
            counts = json.loads(said(reader))
            assert counts["torn"] == 0
            assert counts["disordered"] == 0
            assert counts["received"] > 0
            assert counts["received"] + counts["missed"] == count
    finally:
        for process in processes:
            process.kill()
            process.communicate()
        os.close(reading_fd)
        segment.close()


def test_a_producer_that_is_killed_leaves_its_place_to_the_next() -> None:
    segment = create_anonymous("ring", RingShape(depth=4, slot_bytes=512).size_bytes)
    producer = start("flood", segment.fileno(), 4, 1)
    try:
        assert said(producer) == "ready"
        with pytest.raises(InputError, match="there is a producer already"):
            RingWriter(segment, RingShape(depth=4, slot_bytes=512))
    finally:
        producer.kill()
        producer.communicate()
    heir = RingWriter(segment, RingShape(depth=4, slot_bytes=512))
    assert heir.publish(b"carried on")
    segment.close()
