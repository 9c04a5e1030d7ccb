"""Links from a line of text: `delay_ms=40,jitter_ms=8,loss=0.01`, or a profile with changes to it.

The keys are the fields of `LinkProfile`. `jitter_ms` alone is the mean of an exponential added to
the delay. Planned outages are written `outages=START+LENGTH/START+LENGTH` in ms, where a LENGTH of
`inf` never ends.
"""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from math import isnan
from typing import Any, Final

import msgspec

from steadyhand.core.link.profile import LinkProfile, Outage
from steadyhand.core.link.profiles import PROFILES
from steadyhand.ground.errors import InputError

_NOT_IN_A_SPEC: Final = frozenset({"name", "description", "trace"})
_TRUTH: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def parse_link_spec(text: str, *, base: LinkProfile | None = None) -> LinkProfile:
    """The link that `key=value,key=value` describes, or `profile:key=value,…`, or a profile's name.

    Args:
        text: the spec; spaces around keys, values and commas do not matter.
        base: what the keys change; an ideal link where not given and no profile is named.

    Raises:
        InputError: an unknown profile or key (naming the nearest), a key given twice, a value that
            does not parse or is out of range.
    """
    name, colon, rest = text.partition(":")
    if colon:
        base, spec = profile_named(name.strip()), rest
    elif "=" not in text and base is None:
        return profile_named(text.strip())
    else:
        spec = text
    changes = _parse_changes(spec, where=f"link {text!r}")
    return msgspec.structs.replace(base or LinkProfile(), name=text.strip(), **changes)


def profile_named(name: str) -> LinkProfile:
    """The profile called `name`.

    Raises:
        InputError: there is none, naming the nearest.
    """
    profile = PROFILES.get(name)
    if profile is None:
        raise InputError(f"no link profile {name!r}", where="link", hint=_nearest(name, PROFILES))
    return profile


def _parse_changes(spec: str, *, where: str) -> dict[str, Any]:
    """Keys and parsed values."""
    changes: dict[str, Any] = {}
    for item in spec.split(","):
        key, equals, raw = (part.strip() for part in item.partition("="))
        if not (key and equals and raw):
            raise InputError(f"{item.strip()!r} is not key=value", where=where)
        parse = PARSERS.get(key)
        if parse is None:
            raise InputError(f"unknown key {key!r}", where=where, hint=_nearest(key, PARSERS))
        if key in changes:
            raise InputError(f"{key} is given twice", where=where)
        value = parse(raw)
        if value is None:
            raise InputError(f"{key}={raw} does not parse", where=where, hint=_EXPECTED[parse])
        changes[key] = value
    return changes


def _parse_number(raw: str) -> float | None:
    """A number; ranges, infinity included, are the profile's to judge."""
    try:
        value = float(raw)
    except ValueError:
        return None
    return None if isnan(value) else value


def _parse_count(raw: str) -> int | None:
    """A whole number of bytes."""
    return int(raw) if raw.isascii() and raw.isdigit() and len(raw) <= 18 else None


def _parse_truth(raw: str) -> bool | None:
    """A yes or a no."""
    return _TRUTH.get(raw.lower())


def _parse_outages(raw: str) -> tuple[Outage, ...] | None:
    """START+LENGTH pairs in ms, joined by slashes."""
    outages: list[Outage] = []
    for window in raw.split("/"):
        start_text, _, length_text = window.partition("+")
        start_ms, length_ms = _parse_number(start_text), _parse_number(length_text)
        if start_ms is None or length_ms is None:
            return None
        outages.append(Outage(start_ms=start_ms, duration_ms=length_ms))
    return tuple(outages)


def _parse_word(raw: str) -> str | None:
    """A word; whether it is a known one is the profile's to judge."""
    return raw


_Parser = Callable[[str], Any]
_BY_TYPE: Final[dict[Any, _Parser]] = {float: _parse_number, int: _parse_count, bool: _parse_truth}
_EXPECTED: Final[dict[_Parser, str]] = {
    _parse_number: "a number",
    _parse_count: "a whole number",
    _parse_truth: "true or false",
    _parse_outages: "START+LENGTH in ms, several joined by /",
    _parse_word: "a word",
}
PARSERS: Final[Mapping[str, _Parser]] = {
    field.name: _parse_outages if field.name == "outages" else _BY_TYPE.get(field.type, _parse_word)
    for field in msgspec.structs.fields(LinkProfile)
    if field.name not in _NOT_IN_A_SPEC
}
"""Every key of a spec and what reads its value."""


def _nearest(word: str, known: Mapping[str, Any]) -> str:
    """What the user may have meant, or all there is."""
    close = get_close_matches(word, known, n=1, cutoff=0.5)
    return f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}"
