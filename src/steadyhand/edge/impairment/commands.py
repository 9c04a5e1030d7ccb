"""What the control port can be told: a line of text in, a closed set of values out.

    status
    link [udp|control] to_follower|to_operator|both SPEC
    kill [udp|control|both] [to_follower|to_operator|both]
    revive [udp|control|both] [to_follower|to_operator|both]
    reset
    begin
    packets to_follower|to_operator [CURSOR]
    scenario SECONDS COMMAND; SECONDS COMMAND; …
    scenario off

`kill_link` is `kill both`. A SPEC is a profile, figures, or the name of a link given at the start:
the port opens no file, since whoever can reach it could make the proxy read, and tell, any.
"""

from collections.abc import Callable, Mapping
from itertools import pairwise
from math import nan
from typing import Final, TypeAlias, TypeVar

import msgspec

from steadyhand.core.link import LinkProfile, parse_link_spec
from steadyhand.edge.impairment.lane import DIRECTIONS, PATHS, Direction, PathName
from steadyhand.ground.errors import InputError
from steadyhand.ground.stamps import ns_from_s

MAX_SPEC_CHARS: Final = 512
MAX_STEPS: Final = 100
MAX_AT_S: Final = 86_400.0

_DIRECTION_HINT: Final = "to_follower, to_operator or both"


class Status(msgspec.Struct, frozen=True):
    """Tell how things stand."""


class SetLink(msgspec.Struct, frozen=True, kw_only=True):
    """Obey another link from now on."""

    paths: tuple[PathName, ...]
    directions: tuple[Direction, ...]
    profile: LinkProfile


class Kill(msgspec.Struct, frozen=True, kw_only=True):
    """Let nothing more enter."""

    paths: tuple[PathName, ...]
    directions: tuple[Direction, ...]


class Revive(msgspec.Struct, frozen=True, kw_only=True):
    """Let enter again."""

    paths: tuple[PathName, ...]
    directions: tuple[Direction, ...]


class Reset(msgspec.Struct, frozen=True):
    """Cut every control connection with a TCP reset; new ones are welcome."""


class Begin(msgspec.Struct, frozen=True):
    """Every link begins anew, with its first dice: now is the time its trace and outages count from."""


class ReadPackets(msgspec.Struct, frozen=True, kw_only=True):
    """Tell the datagrams of a direction from number `cursor` on."""

    direction: Direction
    cursor: int


class Play(msgspec.Struct, frozen=True, kw_only=True):
    """Begin a scenario, in the place of the one that plays; without steps, only end that one."""

    steps: tuple["Step", ...]


Action: TypeAlias = SetLink | Kill | Revive | Reset | Begin
Command: TypeAlias = Status | ReadPackets | Play | Action


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One thing a scenario does.

    Attributes:
        at_ns: when, since the scenario began.
        action: what.
        text: what, as it was typed.
    """

    at_ns: int
    action: Action
    text: str


def parse_command(line: str, links: Mapping[str, LinkProfile]) -> Command:
    """The command a line holds.

    Args:
        line: one line of text, without its end.
        links: links known by name beside the profiles.

    Raises:
        InputError: it holds none; what is wrong and what would do.
    """
    word, _, rest = line.strip().partition(" ")
    parse = _PARSERS.get(word)
    if parse is None:
        raise InputError(f"unknown command {word[:40]!r}", hint=f"there are {', '.join(_PARSERS)}")
    return parse(rest.strip(), links)


def parse_scenario(text: str, links: Mapping[str, LinkProfile]) -> Play:
    """A scenario: `SECONDS COMMAND`, several joined by `;`, in order of time; or `off`.

    Raises:
        InputError: a step that cannot be played, named; nothing is begun.
    """
    if text.strip() == "off":
        return Play(steps=())
    pieces = text.split(";")
    if len(pieces) > MAX_STEPS:
        raise InputError(f"{len(pieces)} steps", where="scenario", hint=f"at most {MAX_STEPS}")
    steps = tuple(_parse_step(piece.strip(), links) for piece in pieces)
    if any(later.at_ns < earlier.at_ns for earlier, later in pairwise(steps)):
        raise InputError("the steps are not in order of time", where="scenario")
    return Play(steps=steps)


def _parse_step(text: str, links: Mapping[str, LinkProfile]) -> Step:
    """`SECONDS COMMAND`, where the command is one that acts."""
    at_text, _, command_text = text.partition(" ")
    try:
        at_s = float(at_text)
    except ValueError:
        at_s = nan
    if not 0.0 <= at_s <= MAX_AT_S:
        raise InputError(
            f"{text[:40]!r} does not begin with seconds", where="scenario", hint="5 kill both; 8 revive both"
        )
    command_text = command_text.strip()
    word, _, rest = command_text.partition(" ")
    parse = _ACTIONS.get(word)
    if parse is None:
        raise InputError(
            f"{word[:40]!r} cannot be a step", where="scenario", hint=f"there are {', '.join(_ACTIONS)}"
        )
    return Step(at_ns=ns_from_s(at_s), action=parse(rest.strip(), links), text=command_text)


def _parse_link(rest: str, links: Mapping[str, LinkProfile]) -> SetLink:
    """`[PATH] DIRECTION SPEC`; without a path the link is that of both, as one network would be."""
    first, _, after = rest.partition(" ")
    paths: tuple[PathName, ...] = PATHS
    if first in PATHS:
        paths, rest = _paths(first), after.strip()
    direction, _, spec = rest.partition(" ")
    directions = _directions(direction)
    return SetLink(paths=paths, directions=directions, profile=_find_link(spec.strip(), links))


def _find_link(spec: str, links: Mapping[str, LinkProfile]) -> LinkProfile:
    """A link known by name, one of them with changes, a profile, or figures."""
    if len(spec) > MAX_SPEC_CHARS:
        raise InputError(f"a link of {len(spec)} characters", hint=f"at most {MAX_SPEC_CHARS}")
    if not spec:
        raise InputError("no link is named", hint="for example link both wifi")
    if spec in links:
        return links[spec]
    name, colon, changes = spec.rpartition(":")
    if colon and name in links:
        return msgspec.structs.replace(parse_link_spec(changes, base=links[name]), name=spec)
    return parse_link_spec(spec)


def _parse_kill(rest: str, _: Mapping[str, LinkProfile]) -> Kill:
    paths, directions = _lanes(rest, "kill")
    return Kill(paths=paths, directions=directions)


def _parse_revive(rest: str, _: Mapping[str, LinkProfile]) -> Revive:
    paths, directions = _lanes(rest, "revive")
    return Revive(paths=paths, directions=directions)


def _lanes(rest: str, command: str) -> tuple[tuple[PathName, ...], tuple[Direction, ...]]:
    """`[PATH] [DIRECTION]`, each both where it is not named."""
    words = rest.split()
    if len(words) > 2:
        raise InputError(f"{command} takes a path and a direction", hint=f"{command} udp to_follower")
    path = words[0] if words else "both"
    direction = words[1] if len(words) > 1 else "both"
    return _paths(path), _directions(direction)


def _paths(word: str) -> tuple[PathName, ...]:
    if word == "both":
        return PATHS
    for path in PATHS:
        if word == path:
            return (path,)
    raise InputError(f"unknown path {word[:40]!r}", hint="udp, control or both")


def _directions(word: str) -> tuple[Direction, ...]:
    if word == "both":
        return DIRECTIONS
    for direction in DIRECTIONS:
        if word == direction:
            return (direction,)
    raise InputError(f"unknown direction {word[:40]!r}", hint=_DIRECTION_HINT)


def _parse_packets(rest: str, _: Mapping[str, LinkProfile]) -> ReadPackets:
    """`DIRECTION [CURSOR]`."""
    word, _space, number = rest.partition(" ")
    directions = _directions(word)
    number = number.strip() or "0"
    if len(directions) != 1 or not (number.isascii() and number.isdigit() and len(number) <= 18):
        raise InputError("packets takes one direction and a number", hint="packets to_follower 0")
    return ReadPackets(direction=directions[0], cursor=int(number))


_CommandT = TypeVar("_CommandT")


def _alone(word: str, command: _CommandT) -> Callable[[str, Mapping[str, LinkProfile]], _CommandT]:
    """A command that takes nothing."""

    def parse(rest: str, _: Mapping[str, LinkProfile]) -> _CommandT:
        if rest:
            raise InputError(f"{word} takes nothing, not {rest[:40]!r}")
        return command

    return parse


_ACTIONS: Final[dict[str, Callable[[str, Mapping[str, LinkProfile]], Action]]] = {
    "link": _parse_link,
    "kill": _parse_kill,
    "kill_link": _alone("kill_link", Kill(paths=PATHS, directions=DIRECTIONS)),
    "revive": _parse_revive,
    "reset": _alone("reset", Reset()),
    "begin": _alone("begin", Begin()),
}
"""What does something to the network, and may be a step of a scenario."""

_PARSERS: Final[dict[str, Callable[[str, Mapping[str, LinkProfile]], Command]]] = {
    "status": _alone("status", Status()),
    **_ACTIONS,
    "packets": _parse_packets,
    "scenario": parse_scenario,
}
