"""Parsed YAML to a struct of `ground`, with errors that say where and what would be right.

msgspec validates each value; the walk over the blocks is done here, because its message stops at
the first wrong name and knows neither the line nor the key that was meant.
"""

from pathlib import Path
from typing import Annotated, Any, Final, TypeVar, get_args, get_origin

import msgspec

from steadyhand.edge.config_words import describe, fields_of, found, nearest_key, remedy, structs_in
from steadyhand.edge.strict_yaml import Document, YamlPath, read_strict, shown
from steadyhand.ground.errors import ConfigError

Config = TypeVar("Config", bound=msgspec.Struct)

_LONGEST_PATH: Final = 80


def load_config(path: Path | str, root: type[Config]) -> Config:
    """Read a YAML file as the struct `root`.

    Raises:
        ConfigError: the file cannot be read, is no strict YAML, or holds a wrong key, a value of
            the wrong type or a contradiction.
    """
    return Reading(root=root, name=shown(path), document=read_strict(Path(path))).whole(root)


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """One pass over parsed YAML, with what its errors need.

    Attributes:
        root: the struct of the whole file.
        name: how the source is called in errors: a file's name, an option.
        document: its plain value and the lines.
    """

    root: type[msgspec.Struct]
    name: str
    document: Document

    def whole(self, root: type[Config]) -> Config:
        """Build `root` from the document's value. Raises ConfigError."""
        if self.document.value is None:
            names = ", ".join(field.name for field in msgspec.structs.fields(root) if field.required)
            raise ConfigError("is empty", where=self.name, hint=f"required: {names}")
        built = self._build(root, self.document.value, ())
        if not isinstance(built, root):
            raise TypeError(f"built {type(built).__name__} for {root.__name__}")
        return built

    def check(self, dotted: str) -> None:
        """Check that `dotted` names a key of `root` and that it may have the document's value."""
        node: Any = self.root
        path: YamlPath = ()
        for key in dotted.split("."):
            fields = {name: kind for struct in structs_in(node) for name, kind in fields_of(struct).items()}
            if key not in fields:
                raise self._unknown_key(list(fields), key, path)
            node, path = fields[key], (*path, key)
        self._build(node, self.document.value, path)

    def _build(self, expected: Any, value: Any, path: YamlPath) -> Any:
        if get_origin(expected) is Annotated and isinstance(value, list):
            # The entries first, for the path in their errors; then what the annotation adds.
            return self._leaf(expected, self._build(get_args(expected)[0], value, path), path)
        structs = structs_in(expected)
        if structs and not (value is None and type(None) in get_args(expected)):
            return self._build_struct(structs, value, path)
        if get_origin(expected) is tuple and isinstance(value, list):
            return self._build_tuple(expected, value, path)
        if get_origin(expected) is dict and isinstance(value, dict):
            return {
                key: self._build(get_args(expected)[1], item, (*path, key)) for key, item in value.items()
            }
        return self._leaf(expected, value, path)

    def _leaf(self, expected: Any, value: Any, path: YamlPath) -> Any:
        try:
            return msgspec.convert(value, expected)
        except msgspec.ValidationError:
            what = f"expected {describe(expected)}, found {found(value)}"
            raise self._error(what, path, hint=remedy(expected, value)) from None

    def _build_struct(self, structs: tuple[type[msgspec.Struct], ...], value: Any, path: YamlPath) -> Any:
        if not isinstance(value, dict):
            raise self._error(f"expected a block of keys, found {found(value)}", path)
        struct = self._chosen(structs, value, path)
        fields = fields_of(struct)
        tag_field = struct.__struct_config__.tag_field
        for key in value:
            if key not in fields and key != tag_field:
                raise self._unknown_key(list(fields), key, path)
        for field in msgspec.structs.fields(struct):
            if field.required and field.name not in value:
                raise self._missing(field.name, describe(field.type), path)
        built = {
            key: self._build(fields[key], item, (*path, key)) for key, item in value.items() if key in fields
        }
        try:
            return struct(**built)
        except ConfigError as error:
            # The struct names its own key; where it stands in the file is known only here.
            key = error.where.rpartition(".")[2]
            at = (*path, *_path_of(key)) if key.partition("[")[0] in fields else path
            raise self._error(error.what, at, hint=error.hint) from None

    def _chosen(
        self, structs: tuple[type[msgspec.Struct], ...], value: dict[str, Any], path: YamlPath
    ) -> type[msgspec.Struct]:
        """Of several structs, the one that the tag in the block names; a single one needs no tag."""
        tags = {struct.__struct_config__.tag: struct for struct in structs}
        tag_field = structs[0].__struct_config__.tag_field
        if tag_field is None:
            return structs[0]
        choices = " or ".join(map(str, tags))
        if tag_field not in value:
            raise self._missing(tag_field, choices, path)
        tag = value[tag_field]
        if not isinstance(tag, str) or tag not in tags:
            raise self._error(f"expected {choices}, found {found(tag)}", (*path, tag_field))
        return tags[tag]

    def _build_tuple(self, expected: Any, value: list[Any], path: YamlPath) -> tuple[Any, ...]:
        items = get_args(expected)
        if items[-1] is Ellipsis:
            items = (items[0],) * len(value)
        if len(items) != len(value):
            raise self._error(f"expected {describe(expected)}, found {len(value)} entries", path)
        pairs = zip(items, value, strict=True)
        return tuple(self._build(item, entry, (*path, index)) for index, (item, entry) in enumerate(pairs))

    def _unknown_key(self, known: list[str], key: str, path: YamlPath) -> ConfigError:
        return self._error("unknown key", (*path, key), hint=nearest_key(self.root, known, key))

    def _missing(self, key: str, expected: str, path: YamlPath) -> ConfigError:
        return self._error(f"the key {key} is missing", path, hint=f"expected {expected}")

    def _error(self, what: str, path: YamlPath, *, hint: str = "") -> ConfigError:
        """Point at the line of the nearest path that has one, and at the path itself."""
        place, lines = self.name, self.document.lines
        known = next((path[:end] for end in range(len(path), -1, -1) if path[:end] in lines), None)
        if known is not None:
            place = f"{place}:{lines[known]}"
        if path:
            place = f"{place}: {_dotted(path)}"
        return ConfigError(what, where=place, hint=hint)


def _dotted(path: YamlPath) -> str:
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).removeprefix(".")
    return shown(text) if len(text) <= _LONGEST_PATH else shown(text[:_LONGEST_PATH]) + "…"


def _path_of(dotted: str) -> YamlPath:
    parts = dotted.replace("[", ".").replace("]", "").split(".") if dotted else []
    return tuple(int(part) if part.isdigit() else part for part in parts)
