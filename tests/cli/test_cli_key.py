"""`steadyhand key new FILE`: a key that only its owner can read, and never in the place of another."""

from pathlib import Path

import pytest

from steadyhand.cli.main import run
from steadyhand.edge.keys import load_key


def test_a_new_key_can_be_used_and_only_by_its_owner(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "key"
    assert run(["key", "new", str(file)]) == 0
    assert file.stat().st_mode & 0o777 == 0o600
    secret = load_key(file).secret
    assert len(secret) == 32
    printed = capsys.readouterr()
    assert secret.hex() not in printed.out + printed.err


def test_a_key_is_never_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "key"
    file.write_text("precious")
    assert run(["key", "new", str(file)]) == 2
    assert file.read_text() == "precious"
    assert "exists already" in capsys.readouterr().err


def test_two_keys_differ(tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert run(["key", "new", str(tmp_path / name)]) == 0
    assert load_key(tmp_path / "a") != load_key(tmp_path / "b")


def test_another_word_than_new_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["key", "old", str(tmp_path / "a")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
