"""The `steadyhand` command.

Input that cannot be used is one line on standard error and exit code 2. A traceback is reserved
for mistakes of ours.
"""

import io
import os
import sys
from collections.abc import Sequence
from typing import Final

import cyclopts

from steadyhand import __version__
from steadyhand.cli.controller import controller
from steadyhand.cli.demo import demo
from steadyhand.cli.doctor import doctor
from steadyhand.cli.dump import dump
from steadyhand.cli.figures import figures
from steadyhand.cli.follower import follower
from steadyhand.cli.impair import impair
from steadyhand.cli.info import info
from steadyhand.cli.key import key
from steadyhand.cli.operator import operator
from steadyhand.cli.recover import recover
from steadyhand.cli.shape import shape
from steadyhand.cli.simulate import simulate
from steadyhand.cli.status import status
from steadyhand.cli.stop import stop
from steadyhand.cli.tune import tune
from steadyhand.ground.errors import SteadyhandError

app = cyclopts.App(
    name="steadyhand",
    help="Drive a robot arm from far away, over networks that jitter, stall and lose.",
    version=__version__,
    version_flags=["--version"],
)
COMMANDS: Final = (
    demo,
    simulate,
    tune,
    shape,
    figures,
    doctor,
    impair,
    controller,
    follower,
    operator,
    status,
    stop,
    key,
    info,
    dump,
    recover,
)
for command in COMMANDS:
    app.command(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and exit with its code: 0 done, 2 unusable input, 130 interrupted."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that knows no degree sign gets a question mark, not a traceback.
            stream.reconfigure(errors="replace")
    code = run(sys.argv[1:] if arguments is None else arguments)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read went away with what he wanted; the interpreter's own last flush must not fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run one command and return the exit code."""
    try:
        app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
    except cyclopts.CycloptsError as error:
        return _refuse(f"{_one_line(error)} (see `steadyhand {_command(arguments)}--help`)", 2)
    except SteadyhandError as error:
        return _refuse(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _refuse("interrupted", 130)
    except BrokenPipeError:
        # The reader of a pipe went away; what it wanted it has.
        sys.stderr.close()
        return 0
    except SystemExit as gone:
        # rich's way of saying the same of a table.
        if isinstance(gone.__context__, BrokenPipeError):
            return 0
        raise
    return 0


def _refuse(line: str, code: int) -> int:
    print(f"steadyhand: {line}", file=sys.stderr)
    return code


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _command(arguments: Sequence[str]) -> str:
    """The subcommand typed, for the hint, if there is one of that name."""
    first = arguments[0] if arguments else ""
    return f"{first} " if first in [command.__name__ for command in COMMANDS] else ""
