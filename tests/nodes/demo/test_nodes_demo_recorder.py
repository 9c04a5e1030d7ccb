"""The recorder: every record of a ring into memory and file, gaps counted; and the other witnesses' lines."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from steadyhand.edge.ring import RingWriter
from steadyhand.edge.segment import Segment, create_file
from steadyhand.ground.errors import InputError
from steadyhand.nodes.demo.console import ControllerConsole
from steadyhand.nodes.demo.network import network_arguments, places_in
from steadyhand.nodes.demo.place import DEMO_ROBOT, Place
from steadyhand.nodes.demo.recorder import FORMAT, Recorder, read_log, slim
from steadyhand.nodes.follower.records import TickRecord, encode_record, ring_shape

PERIOD_NS = 10_000_000
WITHIN_S = 10.0

MakeTick = Callable[..., TickRecord]


@pytest.fixture
def ring(tmp_path: Path) -> Iterator[tuple[Path, RingWriter]]:
    path = tmp_path / "follower-demo.ring.shm"
    shape = ring_shape(PERIOD_NS)
    segment: Segment = create_file(path, shape.size_bytes)
    writer = RingWriter(segment, shape)
    yield path, writer
    writer.close()
    segment.close()


def test_every_record_is_kept_told_and_written(
    ring: tuple[Path, RingWriter], tick: MakeTick, tmp_path: Path
) -> None:
    path, writer = ring
    log = tmp_path / "demo.ticks"
    told: list[TickRecord] = []
    records = [tick(10.0 * number, released_deg=float(number)) for number in range(5)]
    writer.publish(encode_record(records[0]))
    recorder = Recorder(path, log, told.append)
    for record in records[1:]:
        writer.publish(encode_record(record))
    deadline_s = time.monotonic() + WITHIN_S
    while len(told) < 5 and time.monotonic() < deadline_s:
        time.sleep(0.005)
    recorder.close()
    recorder.close()
    assert told == records
    assert recorder.records == [slim(record) for record in records]
    assert list(read_log(log)) == records
    assert recorder.missed == 0


def test_what_was_overwritten_before_it_was_read_is_counted(
    ring: tuple[Path, RingWriter], tick: MakeTick, tmp_path: Path
) -> None:
    path, writer = ring
    depth = ring_shape(PERIOD_NS).depth
    for number in range(2 * depth):
        writer.publish(encode_record(tick(float(number))))
    recorder = Recorder(path, tmp_path / "demo.ticks", lambda _: None)
    recorder.close()
    assert recorder.missed > 0
    assert len(recorder.records) + recorder.missed == 2 * depth


def test_a_log_that_was_cut_off_is_read_up_to_its_last_whole_record(
    ring: tuple[Path, RingWriter], tick: MakeTick, tmp_path: Path
) -> None:
    path, writer = ring
    for number in range(3):
        writer.publish(encode_record(tick(float(number))))
    log = tmp_path / "demo.ticks"
    Recorder(path, log, lambda _: None).close()
    log.write_bytes(log.read_bytes()[:-5])
    assert len(list(read_log(log))) == 2


def test_what_is_no_log_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"x" + FORMAT)
    with pytest.raises(InputError, match="is no log of ticks"):
        list(read_log(other))
    with pytest.raises(InputError, match="cannot be read"):
        list(read_log(tmp_path / "nothing"))


def test_a_ring_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be opened"):
        Recorder(tmp_path / "follower-demo.ring.shm", tmp_path / "demo.ticks", lambda _: None)


# ---- the lines by which the other processes say where they are


def test_the_networks_places_are_read_from_its_line() -> None:
    line = (
        "impair ready: udp 127.210.1.3:1000 -> 127.210.1.2:50063, telemetry 127.210.1.3:1001 -> "
        "127.210.1.4:50065, control 127.210.1.3:1002 -> 127.210.1.2:50061, admin 127.0.0.1:1003; "
        "link wifi, back wifi; seed 7; no real time"
    )
    places = places_in(line)
    assert (places.udp, places.telemetry) == (("127.210.1.3", 1000), ("127.210.1.3", 1001))
    assert (places.control, places.admin) == (("127.210.1.3", 1002), ("127.0.0.1", 1003))
    with pytest.raises(ValueError, match="is not the impairment proxy's line"):
        places_in("impair ready: udp 127.210.1.3:1000 -> 127.210.1.2:50063")


def test_the_network_stands_between_the_runs_own_addresses() -> None:
    place = Place(
        controller="127.210.1.1", follower="127.210.1.2", network="127.210.1.3", operator="127.210.1.4"
    )
    arguments = " ".join(network_arguments(DEMO_ROBOT, place, link="wifi", gaps="cut", seed=7))
    assert "--udp 127.210.1.3:0:127.210.1.2:50063" in arguments
    assert "--telemetry 127.210.1.3:0:127.210.1.4:50065" in arguments
    assert "--control 127.210.1.3:0:127.210.1.2:50061" in arguments
    assert "--link wifi --gaps cut --seed 7 --admin 0" in arguments


def test_a_console_that_is_not_named_is_refused() -> None:
    with pytest.raises(ValueError, match="is not the controller's line"):
        ControllerConsole("controller ready: fr3")
