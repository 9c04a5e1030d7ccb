"""`steadyhand operator`: lead an arm through a motion, over whatever lies between."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from cyclopts import Parameter

from steadyhand import __version__
from steadyhand.cli.options import FilePath, Seed, write_json
from steadyhand.cli.outputs import check_output
from steadyhand.cli.overrides import overrides_from
from steadyhand.edge.motion_csv import load_motion
from steadyhand.edge.robot_yaml import apply_overrides, load_robot
from steadyhand.ground.config import RobotConfig
from steadyhand.ground.errors import InputError, SteadyhandError

if TYPE_CHECKING:
    from steadyhand.nodes.operator.addresses import OperatorAddresses
    from steadyhand.nodes.operator.arm import Arm
    from steadyhand.nodes.operator.summary import StreamSummary

LOOK_EVERY_S: Final = 0.2
PLAIN_EVERY_S: Final = 5.0
"""A line that is no terminal's is written into a file; that need not grow by five lines a second."""
_ENDS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def operator(
    robot: FilePath,
    /,
    *,
    leader: str,
    key: FilePath | None = None,
    tls_certificate: FilePath | None = None,
    tls_key: FilePath | None = None,
    tls_authority: FilePath | None = None,
    duration: float | None = None,
    start: Literal["ramp", "refuse"] = "ramp",
    seed: Seed = 0,
    settings: Annotated[list[str] | None, Parameter("--set", negative=())] = None,
    take_over: Annotated[bool, Parameter(negative=())] = False,
    reset: str | None = None,
    name: str | None = None,
    wait: float = 10.0,
    actions: str | None = None,
    control: str | None = None,
    telemetry: str | None = None,
    announce: str | None = None,
    json: Annotated[Path | None, Parameter(allow_leading_hyphen=True)] = None,
    realtime: bool = True,
) -> None:
    """Lead the arm of a robot file through a motion: engage, go to its beginning, stream, enter idle.

    Ctrl-C ends it softly: the arm brakes to rest. A second Ctrl-C is an emergency stop. Exit code 0
    where the motion came to its end, 1 where the arm was stopped or not reached, 130 on Ctrl-C.

    Parameters
    ----------
    robot
        The robot file, the same one the follower reads.
    leader
        CSV of t_s, j1_deg … (as recorded; irregular stamps are resampled), or a built-in: reaches,
        sine, step.
    key
        File of the pre-shared key.
    tls_certificate
        With --tls-key and --tls-authority: mutual TLS in the place of a key.
    tls_key
        Key of that certificate.
    tls_authority
        Certificate of the authority the follower's certificate comes from.
    duration
        Seconds of motion; without it, the motion once. Longer than the motion, it plays forth and back.
    start
        Where the motion begins elsewhere than the arm stands: ramp goes there, slowly; refuse refuses.
    seed
        Of a built-in motion's dice.
    settings
        PATH=VALUE in the place of what the file says. Repeatable.
    take_over
        Take the session from another operator whose stream is not engaged.
    reset
        Reason for which a stopped arm is reset first, once somebody has looked at it.
    name
        Who leads, as others are told; user, host and process where not given.
    wait
        Seconds to wait for the follower.
    actions
        HOST:PORT that action datagrams go to, in the place of the file's.
    control
        HOST:PORT of the control service, likewise.
    telemetry
        [HOST:]PORT to listen for telemetry on; port 0 is any that is free.
    announce
        HOST:PORT that the follower is told to send telemetry to, where that is another.
    json
        Write the account there; - is standard output.
    realtime
        Ask for the real-time class while it leads: a starved operator's end sends less than it should.
    """
    check_output(json, "--json")
    config = load_robot(robot)
    if settings:
        config = apply_overrides(config, overrides_from(settings))
    try:
        motion = load_motion(leader, rng=Random(seed))
    except InputError as error:
        where = "--leader" if error.where == "motion" else error.where
        raise InputError(error.what, where=where, hint=error.hint) from None
    # Late, so that a mistyped option is answered before gRPC is loaded.
    from steadyhand.nodes.operator.api import connect

    account = Account(robot=config.robot.id, leader=leader, json=json)
    with account.kept():
        arm = connect(
            config,
            key=key,
            tls_certificate=tls_certificate,
            tls_key=tls_key,
            tls_authority=tls_authority,
            addresses=_addresses(config, actions, control, telemetry, announce),
            operator=name,
            take_over=take_over,
            timeout_s=wait,
        )
        with arm, _told(arm, account), _ended_by_signals(arm), _on_time(realtime):
            try:
                if reset is not None:
                    arm.reset(reset)
                account.finished(arm.stream(motion, duration_s=duration, start=start))
            finally:
                account.look(arm)


class Account:
    """What is known when it ends, in whichever way; written to `--json` and said in a few lines."""

    def __init__(self, *, robot: str, leader: str, json: Path | None) -> None:
        self.outcome = "failed"
        self.events: list[Any] = []
        self._json = json
        self._told: dict[str, Any] = {"steadyhand": __version__, "robot": robot, "leader": leader}
        self._stream: Any = None
        self._why = ""

    def finished(self, summary: "StreamSummary") -> None:
        """The motion came to its end."""
        from msgspec import to_builtins

        from steadyhand.view.operator_line import summary_lines

        self.outcome = "finished"
        self._stream = to_builtins(summary)
        for line in summary_lines(summary):
            print(line, file=sys.stderr)

    def look(self, arm: "Arm") -> None:
        """The operator's end as it stands."""
        from msgspec import to_builtins

        try:
            view = arm.view
        except SteadyhandError:
            return  # The loop is gone; the error that is under way says so.
        self._told["report"] = to_builtins(view.report)
        self._told["session"] = to_builtins(view.session)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Name the outcome, and write it down whatever it is."""
        try:
            yield
        except KeyboardInterrupt:
            self.outcome = "interrupted"
            raise
        except SteadyhandError as error:
            self.outcome, self._why = _outcome_of(error), str(error)
            raise
        finally:
            print(f"operator ended: {self.outcome}", file=sys.stderr, flush=True)
            self._write()

    def _write(self) -> None:
        if self._json is None:
            return
        ended = {"outcome": self.outcome, "why": self._why, "stream": self._stream, "events": self.events}
        write_json(self._json, self._told | ended)


def _outcome_of(error: SteadyhandError) -> str:
    """The error's name as a word: link_lost, not_engaged, refused, stopped; failed for any other."""
    from steadyhand.nodes.operator.errors import LinkLost, NotEngaged, Refused, Stopped

    words = ((Stopped, "stopped"), (LinkLost, "link_lost"), (NotEngaged, "not_engaged"), (Refused, "refused"))
    return next((word for kind, word in words if isinstance(error, kind)), "failed")


def _addresses(
    config: RobotConfig,
    actions: str | None,
    control: str | None,
    telemetry: str | None,
    announce: str | None,
) -> "OperatorAddresses":
    """The robot file's, with those in their place that were given."""
    from msgspec.structs import replace

    from steadyhand.nodes.operator.addresses import OperatorAddresses, parse_address

    where = OperatorAddresses.from_config(config)
    if actions is not None:
        where = replace(where, actions=parse_address(actions, "--actions"))
    if control is not None:
        where = replace(where, control=parse_address(control, "--control"))
    if telemetry is not None:
        host, port = parse_address(telemetry, "--telemetry")
        where = replace(where, telemetry_listen=(host if ":" in telemetry else "", port))
    if announce is not None:
        host, port = parse_address(announce, "--announce")
        where = replace(where, telemetry_host=host, telemetry_port=port)
    return where


@contextmanager
def _on_time(realtime: bool) -> Iterator[None]:
    """Every thread of this process in the real-time class, where the machine lets it; it says so."""
    from steadyhand.nodes.operator.punctual import punctual

    if not realtime:
        yield
        return
    with punctual() as granted:
        print(granted, file=sys.stderr, flush=True)
        yield


@contextmanager
def _ended_by_signals(arm: "Arm") -> Iterator[None]:
    """The first signal ends softly, each later one is an emergency stop; the handlers are given back."""
    seen = 0

    def heed(_number: int, _frame: FrameType | None) -> None:
        nonlocal seen
        seen += 1
        if seen == 1:
            raise KeyboardInterrupt
        arm.press("interrupted again at the operator's terminal")

    heeded = [number for number in _ENDS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, heed) for number in heeded}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _told(arm: "Arm", account: Account) -> Iterator[None]:
    """Say what happens as it happens; on a terminal with a line below it that is kept up to date.

    In a thread of its own: a terminal that was paused must not hold up the motion.
    """
    from steadyhand.cli.operator_display import Display

    ended = threading.Event()
    display = Display(sys.stderr, plain_every_s=PLAIN_EVERY_S)

    def show() -> None:
        try:
            while not ended.wait(LOOK_EVERY_S):
                account.events += display.show(arm)
            account.events += display.show(arm)
        except SteadyhandError:
            pass  # The operator's loop has ended; whoever leads is told.

    shown = threading.Thread(target=show, name="display", daemon=True)
    with display:
        shown.start()
        try:
            yield
        finally:
            ended.set()
            shown.join(2.0)
