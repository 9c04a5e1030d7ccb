"""Recovering: the verified part, verified again, and nothing that is not."""

from collections.abc import Callable
from pathlib import Path

import pytest

from steadyhand.ground.errors import InputError
from steadyhand.runlog import recover as recovering
from steadyhand.runlog.faults import LogWriteError, NotARunLog, UnsupportedLogVersion
from steadyhand.runlog.framing import FILE_HEADER, MAGIC
from steadyhand.runlog.integrity import Trust
from steadyhand.runlog.reader import open_log
from steadyhand.runlog.recover import Outcome, recover

Given = tuple[int, int, bytes]
Small = tuple[bytes, list[Given]]


@pytest.fixture
def paths(tmp_path: Path) -> tuple[Path, Path]:
    return tmp_path / "broken.shlog", tmp_path / "sound.shlog"


def test_the_exit_codes_are_0_3_and_4() -> None:
    assert [int(one) for one in Outcome] == [0, 3, 4]


def test_a_complete_log_is_copied_to_the_byte(three_segments: Small, paths: tuple[Path, Path]) -> None:
    log, out = paths
    log.write_bytes(three_segments[0])
    assert recover(log, out).outcome is Outcome.COMPLETE
    assert out.read_bytes() == log.read_bytes()


def test_whatever_is_cut_the_copy_is_complete_and_a_beginning_of_the_log(
    three_segments: Small, tmp_path: Path
) -> None:
    data, given = three_segments
    log = tmp_path / "log"
    found = set[Outcome]()
    for length in range(0, len(data), 7):
        log.write_bytes(data[:length])
        out = tmp_path / f"{length}.shlog"
        done = recover(log, out)
        found.add(done.outcome)
        if done.outcome is Outcome.NOTHING:
            assert not out.exists()
            continue
        assert data.startswith(out.read_bytes())
        with open_log(out) as copied:
            records = list(copied.scan())
            assert copied.integrity().complete
        assert all(one.trust is Trust.VERIFIED for one in records)
        assert [(one.channel, one.time_ns, one.payload) for one in records[1:]] == given[: len(records) - 1]
    assert found == {Outcome.RECOVERED, Outcome.NOTHING} or found == set(Outcome)


def test_what_lies_behind_a_damage_is_not_carried_over(
    three_segments: Small, paths: tuple[Path, Path]
) -> None:
    log, out = paths
    log.write_bytes(three_segments[0].replace(b"third", b"THIRD"))
    done = recover(log, out)
    assert done.outcome is Outcome.RECOVERED
    assert done.integrity.resumed_records == 2
    with open_log(out) as copied:
        assert copied.integrity().verified_records == 3


def test_a_log_whose_first_checkpoint_is_gone_gives_nothing(
    three_segments: Small, paths: tuple[Path, Path], tmp_path: Path
) -> None:
    log, out = paths
    log.write_bytes(three_segments[0][:100])
    assert recover(log, out).outcome is Outcome.NOTHING
    assert [one.name for one in tmp_path.iterdir()] == [log.name]


def test_nothing_is_written_over(three_segments: Small, paths: tuple[Path, Path]) -> None:
    log, out = paths
    log.write_bytes(three_segments[0])
    out.write_text("mine")
    for target in (out, log):
        before = target.read_bytes()
        with pytest.raises(InputError, match="exists already"):
            recover(log, target)
        assert target.read_bytes() == before


def test_what_is_no_log_of_ours_is_refused_and_not_called_nothing(paths: tuple[Path, Path]) -> None:
    log, out = paths
    log.write_bytes(b"something else")
    with pytest.raises(NotARunLog):
        recover(log, out)
    log.write_bytes(FILE_HEADER.pack(MAGIC, 1, 0, 0))
    with pytest.raises(UnsupportedLogVersion, match="version 1"):
        recover(log, out)


def test_a_copy_that_is_not_what_was_written_is_an_error_and_leaves_nothing(
    three_segments: Small, paths: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log, out = paths
    log.write_bytes(three_segments[0])
    write_all = recovering._write_all

    def broken(sink: object, block: bytes) -> None:
        write_all(sink, block[:-1] + b"\0" if block[-1] else block[:-1] + b"\1")  # type: ignore[arg-type]

    monkeypatch.setattr(recovering, "_write_all", broken)
    with pytest.raises(LogWriteError, match="not what was written"):
        recover(log, out)
    assert [one.name for one in tmp_path.iterdir()] == [log.name]


def test_a_disk_that_fills_up_is_one_line_and_leaves_nothing(
    three_segments: Small, paths: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log, out = paths
    log.write_bytes(three_segments[0])

    def full(_sink: Callable[[bytes], int], _block: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(recovering, "_write_all", full)
    with pytest.raises(LogWriteError, match="No space left"):
        recover(log, out)
    assert [one.name for one in tmp_path.iterdir()] == [log.name]


def test_a_file_system_without_second_names_takes_the_copy_too(
    three_segments: Small, paths: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    log, out = paths
    log.write_bytes(three_segments[0])
    monkeypatch.setattr("os.link", refused)
    assert recover(log, out).outcome is Outcome.COMPLETE
    assert out.read_bytes() == three_segments[0]
    assert len(list(tmp_path.iterdir())) == 2


def test_a_name_that_was_taken_meanwhile_is_left_alone(
    three_segments: Small, paths: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    log, out = paths
    log.write_bytes(three_segments[0])
    copy = recovering._copy

    def slow(source: Path, beside: Path, size: int) -> None:
        copy(source, beside, size)
        out.write_text("mine")

    monkeypatch.setattr(recovering, "_copy", slow)
    with pytest.raises(InputError, match="exists already"):
        recover(log, out)
    assert out.read_text() == "mine"
