"""Shared memory with rights that die with their holder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from steadyhand.edge.segment import (
    create_anonymous,
    create_file,
    open_file,
    open_inherited,
    place_for_runtime,
    reclaim,
    reclaim_leftovers,
    runtime_folder,
)
from steadyhand.ground.errors import InputError

OWN_AND_WAIT = """
import sys
from pathlib import Path
from steadyhand.edge.segment import create_file
segment = create_file(Path(sys.argv[1]), 4096)
segment.map(writable=True)[0:5] = b"alive"
sys.stdout.write("ready\\n")
sys.stdout.flush()
sys.stdin.readline()
"""


def owner_of(path: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", OWN_AND_WAIT, str(path)]
    owner = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    assert owner.stdout.readline() == "ready\n"
    return owner


def test_what_one_process_writes_the_other_sees(tmp_path: Path) -> None:
    owner = owner_of(tmp_path / "a.shm")
    try:
        assert open_file(tmp_path / "a.shm").map(writable=False)[:6] == b"alive\0"
    finally:
        owner.kill()
        owner.communicate()


def test_a_segment_of_a_living_process_is_in_use_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.shm"
    owner = owner_of(path)
    try:
        with pytest.raises(InputError, match=r"a\.shm: is in use"):
            create_file(path, 4096)
        assert reclaim_leftovers(tmp_path) == []
        assert path.exists()
    finally:
        owner.kill()
        owner.communicate()


def test_the_leftover_of_a_crash_is_reclaimed_at_start(tmp_path: Path) -> None:
    path = tmp_path / "a.shm"
    owner = owner_of(path)
    owner.kill()
    owner.communicate()
    assert path.exists()
    fresh = create_file(path, 8192)
    assert fresh.map(writable=True)[:5] == bytes(5)
    assert open_file(path).size_bytes == 8192
    fresh.close()
    assert not path.exists()


def test_only_segments_nobody_holds_are_reclaimed(tmp_path: Path) -> None:
    held = create_file(tmp_path / "held.shm", 4096)
    leftover, other = tmp_path / "left.shm", tmp_path / "notes.txt"
    leftover.write_bytes(bytes(4096))
    other.write_text("mine", encoding="utf-8")
    (tmp_path / "link.shm").symlink_to(other)
    assert reclaim_leftovers(tmp_path) == [leftover]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["held.shm", "link.shm", "notes.txt"]
    held.close()


def test_a_reader_of_a_leftover_keeps_it_when_it_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.shm"
    path.write_bytes(b"old" + bytes(4093))
    reading = open_file(path).map(writable=False)
    fresh = create_file(path, 4096)
    fresh.map(writable=True)[:3] = b"new"
    assert reading[:3] == b"old"
    fresh.close()


def test_closing_removes_only_the_file_that_was_made(tmp_path: Path) -> None:
    path = tmp_path / "a.shm"
    segment = create_file(path, 4096)
    path.unlink()
    path.write_bytes(b"another's")
    segment.close()
    assert path.read_bytes() == b"another's"


def test_a_file_segment_is_for_its_user_only(tmp_path: Path) -> None:
    segment = create_file(tmp_path / "a.shm", 4096)
    assert (tmp_path / "a.shm").stat().st_mode & 0o777 == 0o600
    segment.close()


def test_an_anonymous_segment_cannot_shrink_under_its_readers() -> None:
    segment = create_anonymous("s", 4096)
    with pytest.raises(PermissionError):
        os.ftruncate(segment.fileno(), 10)


def test_a_claim_is_held_once_and_given_back() -> None:
    segment = create_anonymous("s", 4096)
    again = open_inherited(os.dup(segment.fileno()), "s")
    segment.claim(1, "writer")
    with pytest.raises(InputError, match="there is a writer already"):
        again.claim(1, "writer")
    again.claim(2, "writer")
    segment.close()
    again.claim(1, "writer")


def test_what_is_no_segment_is_refused(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    for descriptor in (reading, 1_000_000):
        with pytest.raises(InputError, match="is no shared memory"):
            open_inherited(descriptor, "ring")
    os.close(reading)
    os.close(writing)
    with pytest.raises(InputError, match="cannot be opened: No such file"):
        open_file(tmp_path / "none.shm")
    with pytest.raises(ValueError, match=r"does not end in \.shm"):
        create_file(tmp_path / "notes.txt", 4096)
    assert not reclaim(tmp_path)
    assert reclaim(tmp_path / "none.shm")


def test_the_runtime_folder_is_private_and_the_same_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RUNTIME_DIRECTORY", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    folder = runtime_folder()
    assert folder == tmp_path / "steadyhand" == runtime_folder()
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)
    with pytest.raises(InputError, match="not this user's alone"):
        runtime_folder()


@pytest.mark.parametrize(
    ("environment", "user", "place"),
    [
        ({"RUNTIME_DIRECTORY": "/run/arm", "XDG_RUNTIME_DIR": "/run/user/7"}, 7, "/run/arm"),
        ({"XDG_RUNTIME_DIR": "/run/user/7"}, 7, "/run/user/7/steadyhand"),
        ({}, 0, "/run/steadyhand"),
        ({}, 7, "/scratch/steadyhand-7"),
    ],
)
def test_the_runtime_folder_is_the_units_the_sessions_the_systems_or_a_temporary_one(
    environment: dict[str, str], user: int, place: str
) -> None:
    assert place_for_runtime(environment, user, "/scratch") == Path(place)


def test_closing_twice_closes_nothing_of_anothers() -> None:
    segment = create_anonymous("s", 4096)
    number = segment.fileno()
    segment.close()
    reused = os.open(os.devnull, os.O_RDONLY)
    os.dup2(reused, number)
    segment.close()
    os.fstat(number)
    for descriptor in {reused, number}:
        os.close(descriptor)
