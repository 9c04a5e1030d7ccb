"""YAML as a configuration file may use it: plain data, each key once, nothing that surprises.

PyYAML's safe loader keeps the last of two equal keys, reads 050063 as octal and 1:30 as ninety,
and follows aliases into a billion nodes. Here each of these is an error that names the line.
What comes back is only dict, list, str, int, float, bool and None, and a line for every path.
"""

import math
import re
import stat
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from steadyhand.ground.errors import ConfigError

MAX_FILE_BYTES: Final = 64 * 1024
"""Robot files are two kilobytes; more is the wrong file."""

MAX_DEPTH: Final = 16
"""Nesting beyond this is not configuration; unbounded, it would exhaust the stack."""

_LONGEST_SHOWN: Final = 40

YamlPath = tuple[str | int, ...]

_TAG: Final = "tag:yaml.org,2002:"
_SCALAR_TAGS: Final = frozenset(_TAG + name for name in ("str", "int", "float", "bool", "null"))
# Leading zeros are octal and colons base sixty in YAML 1.1; nobody writing a port means either.
_SURPRISING_INT: Final = re.compile(r"[-+]?(0[0-7_]+|[0-9_]+(:[0-9_]+)+)")
_SURPRISING_FLOAT: Final = re.compile(r".*:.*")


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed file: its plain value, and on which line (from 1) each path in it stands."""

    value: Any
    lines: dict[YamlPath, int]


def read_strict(path: Path) -> Document:
    """Read and parse a YAML file.

    Raises:
        ConfigError: the file cannot be read, is no UTF-8 text, is over 64 KiB, or holds anything
            but plain data with unique keys. The error names file and line.
    """
    return parse_strict(_read_text(path), where=shown(path))


def parse_strict(text: str, *, where: str) -> Document:
    """Parse YAML text; `where` names it in errors. Raises ConfigError as `read_strict` does."""
    try:
        loader = _StrictLoader(text)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ConfigError("has a control character; not a text file?", where=f"{where}:{line}") from None
    try:
        root = loader.get_single_node()
        if root is None:
            return Document(value=None, lines={})
        lines: dict[YamlPath, int] = {}
        return Document(value=_plain(loader, root, (), lines), lines=lines)
    except yaml.YAMLError as error:
        raise _from_yaml_error(error, where) from None
    finally:
        loader.dispose()


def shown(name: object) -> str:
    """A file name or key as it may stand in a one-line message: unprintable text is escaped."""
    text = str(name)
    return text if text.isprintable() else ascii(text)


def number_text(value: float) -> str:
    """A float in the one spelling that YAML 1.1 reads back as the same float; −0 becomes 0."""
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    mantissa, exponent, power = repr(value + 0.0).partition("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}{exponent}{power}"


def _read_text(path: Path) -> str:
    where = shown(path)
    try:
        # Asked before opening: a pipe would block for ever, a device would never end.
        if not stat.S_ISREG(path.stat().st_mode):
            kind = "a directory" if path.is_dir() else "not a regular file"
            raise ConfigError(f"is {kind}", where=where, hint="name a YAML file")
        with path.open("rb") as file:
            raw = file.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ConfigError(f"cannot be read: {reason.lower()}", where=where) from None
    if len(raw) > MAX_FILE_BYTES:
        raise ConfigError(f"is larger than {MAX_FILE_BYTES} bytes", where=where, hint="is it a robot file?")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"is not UTF-8 text (byte {error.start})", where=where) from None


class _StrictLoader(yaml.SafeLoader):
    """PyYAML's safe loader without aliases, timestamps, merge keys and bottomless nesting."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Refuse anchors and aliases, which can name themselves, and nesting over MAX_DEPTH."""
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise _Refused("anchors and aliases (&name, *name) are not allowed here", event.start_mark)
        if self.depth >= MAX_DEPTH:
            raise _Refused(f"nested deeper than {MAX_DEPTH} levels", event.start_mark)
        self.depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1


_StrictLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag in _SCALAR_TAGS]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


class _Refused(yaml.MarkedYAMLError):
    """YAML that is well formed and still not allowed in a configuration file."""

    def __init__(self, problem: str, mark: yaml.Mark | None, hint: str = "") -> None:
        super().__init__(problem=problem, problem_mark=mark)
        self.hint = hint


def _plain(loader: _StrictLoader, node: yaml.Node, path: YamlPath, lines: dict[YamlPath, int]) -> Any:
    lines[path] = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
        return _mapping(loader, node, path, lines)
    if isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
        return [_plain(loader, item, (*path, index), lines) for index, item in enumerate(node.value)]
    if isinstance(node, yaml.ScalarNode) and node.tag in _SCALAR_TAGS:
        return _scalar(loader, node)
    raise _Refused(f"the tag {node.tag.replace(_TAG, '!!')} is not allowed here", node.start_mark)


def _mapping(
    loader: _StrictLoader, node: yaml.MappingNode, path: YamlPath, lines: dict[YamlPath, int]
) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    key_lines: dict[str, int] = {}
    for key_node, value_node in node.value:
        if not isinstance(key_node, yaml.ScalarNode) or key_node.tag != _TAG + "str":
            quoted = f'write "{shown(key_node.value)}"' if isinstance(key_node, yaml.ScalarNode) else ""
            raise _Refused("a key must be text", key_node.start_mark, quoted)
        key, line = key_node.value, key_node.start_mark.line + 1
        if key in plain:
            raise _Refused(
                f"the key {shown(key)} stands here a second time",
                key_node.start_mark,
                f"the first is on line {key_lines[key]}",
            )
        plain[key] = _plain(loader, value_node, (*path, key), lines)
        # The key's own line is the one to point at, also where the value starts on the next.
        lines[(*path, key)] = key_lines[key] = line
    return plain


def _scalar(loader: _StrictLoader, node: yaml.ScalarNode) -> Any:
    surprising = {_TAG + "int": _SURPRISING_INT, _TAG + "float": _SURPRISING_FLOAT}.get(node.tag)
    if surprising is not None and surprising.fullmatch(node.value):
        raise _Refused(
            f"YAML 1.1 reads {shown(node.value)} as an octal or base-sixty number",
            node.start_mark,
            "write it in decimal, or in quotes if it is text",
        )
    try:
        return loader.construct_object(node)
    except (ValueError, IndexError, KeyError, OverflowError):
        kind = node.tag.removeprefix(_TAG)
        raise _Refused(f"{shown(node.value[:_LONGEST_SHOWN])} is no {kind}", node.start_mark) from None


def _from_yaml_error(error: yaml.YAMLError, where: str) -> ConfigError:
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        place = f"{where}:{mark.line + 1}" if mark else where
        what = error.problem or error.context or "not valid YAML"
        if isinstance(error, _Refused):
            return ConfigError(what, where=place, hint=error.hint)
        return ConfigError(f"not valid YAML: {_one_line(what)}", where=place)
    return ConfigError(f"not valid YAML: {_one_line(str(error))}", where=where)


def _one_line(text: str) -> str:
    return shown(" ".join(text.split()))
