"""The same link made by the kernel: tc netem on an interface inside a network namespace.

An alternative to the proxy where the kernel has it; its delays are kept to microseconds under any
load. It acts on what leaves the interface, so each direction is set at its own end. What netem
cannot do as core/link does it is refused, never approximated in silence. A namespace is required:
the host's own interfaces are never touched.
"""

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from steadyhand.core.link import LinkProfile
from steadyhand.edge.impairment.netem_machine import check_machine
from steadyhand.edge.impairment.netem_tables import JITTER_SCALES, write_table
from steadyhand.ground.errors import InputError

PACKET_LIMIT: Final = 100_000
"""Packets netem may hold; its default of 1000 would drop what core/link delivers."""

ORDERING_RATE: Final = "10gbit"
"""With a rate, netem lets nobody overtake: arrival = max(the last one's, now + delay), as core/link
(sch_netem.c, netem_enqueue). At this one a datagram takes a microsecond."""

MAX_JITTER_MS: Final = 4_294.0
"""netem keeps its sigma in 32 bits of nanoseconds (sch_netem.c, tabledist)."""

RUN_TIMEOUT_S: Final = 10.0

_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_INTERFACE: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,14}")

_MEANINGS: Final = (
    ("qdisc kind is unknown", "this kernel has no netem (CONFIG_NET_SCH_NETEM)"),
    ("Cannot open network namespace", "there is no such network namespace"),
    ("Cannot find device", "there is no such interface in the namespace"),
    ("File exists", "a queueing discipline of somebody else is there already"),
    ("Exclusivity flag on", "a queueing discipline of somebody else is there already"),
    ("Operation not permitted", "not permitted"),
)
"""What iproute2 says, and what it means."""

Runner = Callable[[list[str], dict[str, str]], "Outcome"]
"""Runs a command with additions to its environment."""


class Outcome(msgspec.Struct, frozen=True):
    """How a command ended and what it said."""

    code: int
    said: str


class NetemPlace(msgspec.Struct, frozen=True, kw_only=True):
    """An interface inside a network namespace.

    Raises:
        InputError: not the name of one.
    """

    namespace: str
    interface: str

    def __post_init__(self) -> None:
        """Refuse what `ip` or `tc` might take for an option or a path."""
        if not _NAME.fullmatch(self.namespace):
            raise InputError(f"{self.namespace!r} is not a network namespace", where="netem")
        if not _INTERFACE.fullmatch(self.interface):
            raise InputError(f"{self.interface!r} is not an interface", where="netem")

    def __str__(self) -> str:
        return f"{self.namespace}:{self.interface}"


def no_equivalent(profile: LinkProfile) -> str | None:
    """Why netem cannot do what the link does; None where it can."""
    reasons = (
        (profile.trace is not None, "a trace: netem plays none"),
        (
            bool(profile.outages or profile.outage_every_ms),
            "outages: netem has no clock, and cannot hold and burst",
        ),
        (profile.rate_kbit_s > 0.0, "rate_kbit_s: netem bounds its queue in packets, delayed ones included"),
        (profile.queue_bytes > 0, "queue_bytes: netem bounds its queue in packets"),
        (profile.jitter_correlation > 0.0, "jitter_correlation: netem's changes the distribution"),
        (
            profile.jitter_ms * JITTER_SCALES[profile.jitter] > MAX_JITTER_MS,
            f"jitter_ms: netem's goes to {MAX_JITTER_MS / JITTER_SCALES[profile.jitter]:.0f}",
        ),
        (
            profile.loss > 0.0 and (profile.ge_enter_bad > 0.0 or profile.ge_loss_good > 0.0),
            "two kinds of loss at once: netem has one",
        ),
    )
    return next((reason for applies, reason in reasons if applies), None)


def netem_options(profile: LinkProfile) -> list[str]:
    """What stands behind `netem` on tc's command line.

    Raises:
        InputError: the link has no netem equivalent, and why.
    """
    reason = no_equivalent(profile)
    if reason is not None:
        raise InputError(
            f"netem cannot do {reason}", where=f"link {profile.name}".strip(), hint="use the proxy"
        )
    options = ["limit", str(PACKET_LIMIT), "delay", _time(profile.delay_ms)]
    if profile.jitter_ms:
        options += [_time(profile.jitter_ms * JITTER_SCALES[profile.jitter]), "distribution", profile.jitter]
    if profile.loss:
        options += ["loss", "random", _percent(profile.loss)]
    elif profile.ge_enter_bad or profile.ge_loss_good:
        shares = (profile.ge_enter_bad, profile.ge_leave_bad, profile.ge_loss_bad, profile.ge_loss_good)
        options += ["loss", "gemodel", *(_percent(share) for share in shares)]
    if profile.duplicate:
        options += ["duplicate", _percent(profile.duplicate)]
    if profile.jitter_ms and not profile.reorder:
        options += ["rate", ORDERING_RATE]
    return options


def netem_commands(profile: LinkProfile, place: NetemPlace) -> tuple[list[str], list[str]]:
    """The command that begins it and the one that ends it.

    Raises:
        InputError: the link has no netem equivalent, and why.
    """
    front = ["tc", "-n", place.namespace, "qdisc"]
    device = ["dev", place.interface, "root"]
    return [*front, "add", *device, "netem", *netem_options(profile)], [*front, "del", *device]


@contextmanager
def netem(profile: LinkProfile, place: NetemPlace, *, run: Runner | None = None) -> Iterator[None]:
    """The link on an interface until the block ends, however it ends.

    Raises:
        InputError: no netem equivalent, no permission, no netem in the kernel, no such namespace or
            interface, or a queueing discipline that is there already; nothing was changed.
    """
    run = run or run_command
    begin, end = netem_commands(profile, place)
    check_machine()
    with TemporaryDirectory(prefix="netem-") as folder:
        if profile.jitter_ms:
            write_table(profile.jitter, Path(folder))
        # tc looks for a distribution's table in this folder alone once it is named.
        outcome = run(begin, {"TC_LIB_DIR": folder})
    if outcome.code:
        raise InputError(_why(outcome.said), where=f"netem on {place}")
    try:
        yield
    finally:
        run(end, {})


def run_command(command: list[str], environment: dict[str, str]) -> Outcome:
    """Run a command of a fixed form, without a shell and with a deadline."""
    try:
        done = subprocess.run(
            command,
            env=os.environ | environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=RUN_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Outcome(1, str(error))
    return Outcome(done.returncode, done.stderr)


def _why(said: str) -> str:
    """What tc meant, for people."""
    for words, meaning in _MEANINGS:
        if words in said:
            return meaning
    return " ".join(said.split()) or "tc failed and said nothing"


def _time(milliseconds: float) -> str:
    return f"{milliseconds:.6f}ms"


def _percent(share: float) -> str:
    return f"{share * 100.0:.6f}%"
