"""How reports reach a terminal or a file."""

import sys
from typing import Final

from rich.console import Console

PIPE_WIDTH: Final = 240


def report_console() -> Console:
    """A terminal's own width; a file or a pipe gets lines that are not broken."""
    return Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=PIPE_WIDTH)
