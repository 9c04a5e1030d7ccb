"""Robot files: YAML to `RobotConfig`, command-line overrides, the canonical text and its hash.

Every refusal names the file, the line, the path inside the file and what would be right: the
nearest key, or the expected type and what was found. The reader of such an error stands beside
a robot that does not start.
"""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from steadyhand.edge.config_reading import Reading, load_config
from steadyhand.edge.strict_yaml import Document, number_text, parse_strict, shown
from steadyhand.ground.config import RobotConfig


def load_robot(path: Path | str) -> RobotConfig:
    """Read a robot file.

    Raises:
        ConfigError: the file cannot be read, is no strict YAML, or holds a wrong key, a value of
            the wrong type or a contradiction.
    """
    return load_config(path, RobotConfig)


def apply_overrides(config: RobotConfig, overrides: Mapping[str, str]) -> RobotConfig:
    """Return `config` with `--set path=value` pairs applied, as if the file had said so.

    Args:
        config: the configuration to start from; it is not changed.
        overrides: path in the file ("communication.playout_buffer_ms") to YAML text ("120").

    Raises:
        ConfigError: as `load_robot`, with the option in the place of the file.
    """
    tree = msgspec.to_builtins(_typed(config))
    for path, text in overrides.items():
        value = parse_strict(text, where=f"--set {shown(path)}").value
        Reading(root=RobotConfig, name="--set", document=Document(value=value, lines={})).check(path)
        _plant(tree, path.split("."), value)
    name = "--set " + ", ".join(map(shown, overrides))
    return Reading(root=RobotConfig, name=name, document=Document(value=tree, lines={})).whole(RobotConfig)


def dump_robot(config: RobotConfig) -> str:
    """Return the canonical robot file: every key, in the order of the structs, loadable again.

    Two configurations that behave the same give the same text, so NaN is written one way and
    negative zero as zero. The text depends on no library's formatting.
    """
    lines = _canonical_lines(msgspec.to_builtins(_typed(config)), indent="")
    return "".join(f"{line}\n" for line in lines)


def config_hash(config: RobotConfig) -> str:
    """SHA-256 of `dump_robot`, 64 hexadecimal digits.

    Operator and robot node each read their own copy of the file (document 000 §11); they compare
    this value when a session opens.
    """
    return hashlib.sha256(dump_robot(config).encode()).hexdigest()


def _typed(config: RobotConfig) -> RobotConfig:
    """The same with 100 as 100.0: structs built in code take a number as it comes."""
    return msgspec.convert(msgspec.to_builtins(config), RobotConfig)


def _plant(tree: dict[str, Any], keys: list[str], value: Any) -> None:
    for key in keys[:-1]:
        if not isinstance(tree.get(key), dict):
            tree[key] = {}
        tree = tree[key]
    tree[keys[-1]] = value


def _canonical_lines(tree: dict[str, Any], indent: str) -> Iterator[str]:
    for key, value in tree.items():
        if isinstance(value, dict):
            yield f"{indent}{key}:"
            yield from _canonical_lines(value, indent + "  ")
        else:
            yield f"{indent}{key}: {_canonical_value(value)}"


def _canonical_value(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return number_text(value)
        case str():
            return '"' + "".join(map(_quoted, value)) + '"'
        case dict():
            return "{" + ", ".join(f"{key}: {_canonical_value(item)}" for key, item in value.items()) + "}"
        case _:
            return "[" + ", ".join(map(_canonical_value, value)) + "]"


def _quoted(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    return character if " " <= character <= "~" else f"\\U{ord(character):08x}"
