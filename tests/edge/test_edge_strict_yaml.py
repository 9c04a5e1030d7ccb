"""YAML as a configuration file may use it: every surprise is an error that names the line."""

import math
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyhand.edge.strict_yaml import MAX_FILE_BYTES, number_text, parse_strict, read_strict
from steadyhand.ground.errors import ConfigError


def refusal(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_strict(text, where="r.yaml")
    message = str(caught.value)
    assert message.isprintable(), "an error is one line"
    return message


def test_plain_data_comes_back_with_the_line_of_every_path() -> None:
    document = parse_strict("a:\n  b: [1, 2.5]\nc: yes\nd: null\ne: text\n", where="r.yaml")
    assert document.value == {"a": {"b": [1, 2.5]}, "c": True, "d": None, "e": "text"}
    assert document.lines[("a",)] == 1
    assert document.lines[("a", "b", 1)] == 2
    assert document.lines[("e",)] == 5


def test_a_key_twice_is_an_error_that_names_both_lines() -> None:
    assert refusal("a: 1\nb: 2\na: 3\n") == (
        "r.yaml:3: the key a stands here a second time (the first is on line 1)"
    )


def test_a_key_twice_is_found_at_any_depth() -> None:
    assert refusal("x:\n  - {k: 1, k: 2}\n").startswith("r.yaml:2: the key k stands here a second time")


@pytest.mark.parametrize("text", ["a: &x 1", "a: &x [1]\nb: *x", "a: &x {b: *x}", "&x a: 1"])
def test_anchors_and_aliases_are_refused(text: str) -> None:
    assert "anchors and aliases" in refusal(text)


def test_an_alias_bomb_is_refused_at_its_first_anchor() -> None:
    layers = "\n".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 12))
    assert refusal(f"l0: &l0 [x]\n{layers}\n").startswith("r.yaml:1: anchors and aliases")


@pytest.mark.parametrize("tag", ["!!python/object:os.system {}", "!!binary aGk=", "!!set {a}", "!mine 1"])
def test_no_tags_but_plain_ones(tag: str) -> None:
    assert "is not allowed here" in refusal(f"a: {tag}")


@pytest.mark.parametrize("number", ["050063", "1:30", "0_1", "1:30.5"])
def test_octal_and_base_sixty_are_refused(number: str) -> None:
    assert f"YAML 1.1 reads {number} as an octal or base-sixty number" in refusal(f"port: {number}")


@pytest.mark.parametrize(
    ("text", "value"), [("0", 0), ("0x1F", 31), ("1_000", 1000), ("0.5", 0.5), ("1.0e+3", 1000.0), ("-7", -7)]
)
def test_ordinary_numbers_are_read(text: str, value: float) -> None:
    assert parse_strict(text, where="r.yaml").value == value


def test_nan_and_infinity_are_numbers() -> None:
    assert math.isnan(parse_strict(".nan", where="r.yaml").value)
    assert parse_strict("[.inf, -.inf]", where="r.yaml").value == [math.inf, -math.inf]


@pytest.mark.parametrize("text", ["1e3", "2020-01-01", "="])
def test_what_yaml_takes_for_text_stays_text(text: str) -> None:
    assert parse_strict(text, where="r.yaml").value == text


@pytest.mark.parametrize("key", ["yes", "1", "1.5", "~", "[a]", "{a: b}"])
def test_a_key_is_text(key: str) -> None:
    assert refusal(f"? {key}\n: 1\n").startswith("r.yaml:1: a key must be text")


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_nesting_is_bounded(opening: str) -> None:
    assert "nested deeper than 16 levels" in refusal("x:\n  " + opening * 5_000)


@pytest.mark.parametrize(
    "text", ["a: 'x", "a: b: c", "\ta: 1", "a: @b", "a: [1", "--- a\n--- b\n", "a: \x01"]
)
def test_broken_yaml_names_its_line(text: str) -> None:
    assert refusal(text).startswith("r.yaml:")


@pytest.mark.parametrize("text", ["!!int ''", "!!float x", "!!bool maybe", "9" * 5_000])
def test_a_scalar_that_its_tag_cannot_hold_is_refused(text: str) -> None:
    assert " is no " in refusal(text)


@given(st.text(max_size=200) | st.binary(max_size=200).map(lambda raw: raw.decode("latin-1")))
@settings(max_examples=150)
def test_any_text_parses_or_is_a_config_error(text: str) -> None:
    message = ""
    try:
        parse_strict(text, where="r.yaml")
    except ConfigError as error:
        message = str(error)
    assert message.isprintable()


@given(st.floats(allow_nan=False))
def test_a_number_is_written_so_that_yaml_reads_the_same_number(value: float) -> None:
    again = parse_strict(number_text(value), where="r.yaml").value
    assert isinstance(again, float)
    assert again == value


def file_refusal(path: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        read_strict(path)
    message = str(caught.value)
    assert message.isprintable()
    assert str(path) in message
    return message


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert file_refusal(tmp_path / "gone.yaml").endswith("cannot be read: no such file or directory")


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    assert "is a directory" in file_refusal(tmp_path)


def test_a_pipe_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    assert "is not a regular file" in file_refusal(pipe)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_without_permission_is_named(tmp_path: Path) -> None:
    secret = tmp_path / "secret.yaml"
    secret.write_text("a: 1")
    secret.chmod(0)
    assert file_refusal(secret).endswith("cannot be read: permission denied")


def test_a_binary_file_is_no_text(tmp_path: Path) -> None:
    binary = tmp_path / "robot.yaml"
    binary.write_bytes(b"a: 1\n\xff\xfe")
    assert file_refusal(binary).endswith("is not UTF-8 text (byte 5)")


def test_a_file_over_the_limit_is_refused_unparsed(tmp_path: Path) -> None:
    huge = tmp_path / "huge.yaml"
    huge.write_bytes(b"#" * (MAX_FILE_BYTES + 1))
    assert f"is larger than {MAX_FILE_BYTES} bytes" in file_refusal(huge)
    huge.write_bytes(b"#" * MAX_FILE_BYTES)
    assert read_strict(huge).value is None


def test_a_byte_order_mark_is_not_part_of_the_first_key(tmp_path: Path) -> None:
    marked = tmp_path / "marked.yaml"
    marked.write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert read_strict(marked).value == {"a": 1}
