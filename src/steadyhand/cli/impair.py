"""`steadyhand impair`: the bad network, for real, between an operator and a follower."""

import gc
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from shutil import get_terminal_size
from typing import Annotated, Final

from cyclopts import Parameter

from steadyhand.cli.options import read_link_option
from steadyhand.core.link import GapPolicy, LinkProfile
from steadyhand.edge.impairment import netem as kernel
from steadyhand.edge.impairment.addresses import Forward, parse_forward
from steadyhand.edge.impairment.commands import Play, parse_scenario
from steadyhand.edge.impairment.proxy import ImpairmentProxy, ProxyConfig
from steadyhand.edge.impairment.status import ProxyStatus
from steadyhand.edge.realtime import PROXY_PRIORITY, Granted, RealtimeReport, RealtimeRequest, ask_for
from steadyhand.ground.errors import InputError

SUMMARY_EVERY_S: Final = 0.5
LINK_CHARS: Final = 24
REALTIME: Final = RealtimeRequest(priority=PROXY_PRIORITY, shallow_idle=False, quiet_collector=False)
_ENDS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def impair(
    *,
    udp: str | None = None,
    telemetry: str | None = None,
    control: str | None = None,
    link: str = "clean",
    link_back: str | None = None,
    gaps: GapPolicy = "cut",
    offer: Annotated[list[str] | None, Parameter(negative=())] = None,
    seed: int = 0,
    admin: int | None = None,
    scenario: str | None = None,
    netem: str | None = None,
) -> None:
    """Stand between operator and follower as a bad network.

    Relays what comes to each LISTEN on to its TARGET through the link, until it is told to end
    (SIGINT, SIGTERM). Each is [HOST:]PORT; it listens on loopback alone, port 0 being any that is free.

    Parameters
    ----------
    udp
        LISTEN:TARGET of the action datagrams, operator to follower.
    telemetry
        LISTEN:TARGET of the telemetry datagrams, follower to operator.
    control
        LISTEN:TARGET of the control service (TCP).
    link
        Towards the follower: a profile, a measured trace, or figures, as for simulate.
    link_back
        Towards the operator; without it, as --link.
    gaps
        Pauses over a second in a trace's recording: cut them, or play them as an outage.
    offer
        A further link the control port may be told by this name; how a trace is changed to while
        running. Repeatable.
    seed
        Of the links' dice.
    admin
        Port of the control port, on 127.0.0.1; see docs/impairment.md.
    scenario
        What to do when, in seconds from the start: "5 kill both; 8 revive both".
    netem
        NAMESPACE:INTERFACE: no proxy; the kernel's netem does --link on what leaves that interface.
    """
    forward = read_link_option(link, gaps)
    relayed = (udp, telemetry, control)
    if netem is not None:
        if any(option is not None for option in (*relayed, link_back, admin, scenario)):
            raise InputError("the kernel relays nothing: only --link goes with it", where="--netem")
        _hold_netem(forward, netem)
        return
    if not any(relayed):
        raise InputError("nothing to relay", where="impair", hint="give --udp, --telemetry or --control")
    config = ProxyConfig(
        udp=_forward(udp, "--udp"),
        telemetry=_forward(telemetry, "--telemetry"),
        control=_forward(control, "--control"),
        link=forward,
        link_back=None if link_back is None else read_link_option(link_back, gaps),
        links={name: read_link_option(name, gaps) for name in offer or []},
        seed=seed,
        admin_port=admin,
    )
    _run(config, scenario)


def _run(config: ProxyConfig, scenario: str | None) -> None:
    """Open, say so, turn until a signal, close, say what went through."""
    play = Play(steps=()) if scenario is None else parse_scenario(scenario, config.known_links)
    proxy = ImpairmentProxy(config)
    try:
        with _ended_by_signals(proxy.stop), _summary(proxy):
            # After the summary's thread has begun: a thread inherits its maker's scheduling class.
            report = ask_for(REALTIME)
            gc.freeze()
            print(ready_line(proxy, scheduling(report)), flush=True)
            proxy.play(play.steps)
            proxy.run()
        print(f"impair ended: {summary_line(proxy.status())}", flush=True)
    finally:
        proxy.close()


def scheduling(report: RealtimeReport) -> str:
    """The scheduling class that was granted, or why it was not."""
    for answer in report.answers:
        if answer.what == "scheduling":
            return answer.detail if isinstance(answer, Granted) else f"no real time: {answer.reason}"
    return "no real time"


def ready_line(proxy: ImpairmentProxy, scheduled: str) -> str:
    """Where it listens and what it obeys, in one line; scripts read the ports from it."""
    status = proxy.status()
    places = [f"{flow.name} {flow.listen} -> {flow.target}" for flow in status.flows]
    if status.relay is not None:
        places.append(f"control {status.relay.listen} -> {status.relay.target}")
    if proxy.admin is not None:
        places.append(f"admin 127.0.0.1:{proxy.admin.port}")
    links = f"link {status.udp['to_follower'].link}, back {status.udp['to_operator'].link}"
    return f"impair ready: {', '.join(places)}; {links}; seed {status.seed}; {scheduled}"


def summary_line(status: ProxyStatus) -> str:
    """How things stand, in one line: of each direction what came out of what went in, and the gone."""
    parts = []
    for direction, lane in status.udp.items():
        counters = lane.counters
        gone = {
            "doubled": counters.doubled,
            "lost": counters.lost,
            "killed": counters.killed,
            "dropped": counters.overflowed + counters.refused,
        }
        link = lane.link if len(lane.link) <= LINK_CHARS else f"{lane.link[: LINK_CHARS - 1]}…"
        words = [f"{direction} {link if lane.alive else 'KILLED'} {counters.delivered}/{counters.received}"]
        parts.append(", ".join(words + [f"{count} {what}" for what, count in gone.items() if count]))
    if status.relay is not None:
        alive = all(lane.alive for lane in status.control.values())
        parts.append(f"control {f'{status.relay.connections} open' if alive else 'KILLED'}")
    return " | ".join([*parts, f"late p99 {status.lateness.p99_us:.0f} µs"])


def _forward(text: str | None, where: str) -> Forward | None:
    return None if text is None else parse_forward(text, where)


@contextmanager
def _ended_by_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` on a signal that ends, unless it is ignored (nohup); give the handlers back."""
    heeded = [number for number in _ENDS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, lambda *_: stop()) for number in heeded}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _summary(proxy: ImpairmentProxy) -> Iterator[None]:
    """A line that is kept up to date, on a terminal only.

    From a thread of its own: a terminal that has been paused must not hold up a datagram.
    """
    if not sys.stderr.isatty():
        yield
        return
    ended = threading.Event()

    def show() -> None:
        while not ended.wait(SUMMARY_EVERY_S):
            width = get_terminal_size().columns - 1
            print(f"\r\x1b[K{summary_line(proxy.status())[:width]}", end="", file=sys.stderr, flush=True)

    threading.Thread(target=show, name="summary", daemon=True).start()
    try:
        yield
    finally:
        ended.set()
        print(file=sys.stderr)


def _hold_netem(link: LinkProfile, text: str) -> None:
    """The kernel's netem on an interface until a signal that ends."""
    namespace, _, interface = text.partition(":")
    place = kernel.NetemPlace(namespace=namespace, interface=interface)
    # Blocked, not handled: none may come between the beginning and the wait, and leave it behind.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDS)
    try:
        with kernel.netem(link, place):
            print(f"impair ready: netem on {place}; link {link.name}", flush=True)
            signal.sigwait(_ENDS)
        print(f"impair ended: netem on {place} is undone", flush=True)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
