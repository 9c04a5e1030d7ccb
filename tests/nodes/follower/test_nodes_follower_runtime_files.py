"""What a follower leaves in the runtime folder, and how it is found."""

from pathlib import Path

import pytest

from steadyhand.edge.ring import RingWriter
from steadyhand.edge.ring_layout import RingShape
from steadyhand.edge.segment import create_file, held
from steadyhand.nodes.follower.records import TickRecord, encode_record
from steadyhand.nodes.follower.runtime_files import (
    FollowerCard,
    RuntimeFiles,
    find_followers,
    newest_record,
    read_card,
)

SHAPE = RingShape(depth=8, slot_bytes=1024)


def card(files: RuntimeFiles, robot_id: str) -> FollowerCard:
    return FollowerCard(
        robot_id=robot_id,
        pid=1,
        grpc_port=1,
        udp_port=2,
        ring_path=str(files.ring),
        socket_path=str(files.socket),
    )


@pytest.mark.parametrize("robot_id", ["fr3", "arm/../../etc", "Roboter 1 °", "x" * 64, "ä" * 64])
def test_any_name_gives_short_paths_inside_the_folder(tmp_path: Path, robot_id: str) -> None:
    files = RuntimeFiles.of(tmp_path, robot_id)
    for path in (files.ring, files.card, files.socket):
        assert path.parent == tmp_path
        assert len(path.name) < 64


def test_two_long_names_with_one_beginning_are_two(tmp_path: Path) -> None:
    assert RuntimeFiles.of(tmp_path, "x" * 63 + "a") != RuntimeFiles.of(tmp_path, "x" * 63 + "b")


def test_a_card_is_replaced_whole_and_leaves_no_draft(tmp_path: Path) -> None:
    files = RuntimeFiles.of(tmp_path, "fr3")
    files.write_card(card(files, "fr3"))
    files.write_card(card(files, "fr3"))
    assert read_card(files.card) == card(files, "fr3")
    assert [path.name for path in tmp_path.iterdir()] == ["follower-fr3.json"]
    assert files.card.stat().st_mode & 0o077 == 0
    files.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_running_follower_is_told_from_a_killed_one_by_its_ring(tmp_path: Path) -> None:
    files = RuntimeFiles.of(tmp_path, "fr3")
    files.write_card(card(files, "fr3"))
    assert [one.alive for one in find_followers(tmp_path)] == [False]
    segment = create_file(files.ring, SHAPE.size_bytes)
    assert held(files.ring)
    (found,) = find_followers(tmp_path)
    assert (found.alive, found.record) == (True, None)
    writer = RingWriter(segment, SHAPE)
    record = TickRecord(tick=1, pid=2, at_ns=3, wall_s=4.0, due_ns=5, engage="idle")
    writer.publish(encode_record(record))
    assert find_followers(tmp_path)[0].record == record
    writer.close()
    # As if its process were killed: the file stays, the claims are gone.
    copy = files.ring.read_bytes()
    segment.close()
    files.ring.write_bytes(copy)
    assert not held(files.ring)
    (found,) = find_followers(tmp_path)
    assert (found.alive, found.record) == (False, record)


def test_what_is_no_card_and_no_ring_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "follower-a.json").write_text("{", encoding="ascii")
    (tmp_path / "follower-b.json").write_text("[1]", encoding="ascii")
    (tmp_path / "follower-c.ring.shm").write_bytes(b"x" * 4096)
    assert find_followers(tmp_path) == []
    assert newest_record(tmp_path / "follower-c.ring.shm") is None
    assert newest_record(tmp_path / "missing.shm") is None
    assert not held(tmp_path / "missing.shm")
