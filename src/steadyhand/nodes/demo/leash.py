"""`python -m steadyhand.nodes.demo.leash PARENT COMMAND …`: a steadyhand command that ends with its parent.

A demo that is killed cannot end its children any more; the kernel then sends them SIGTERM for it.
"""

import os
import runpy
import signal
import sys
from typing import Final

from steadyhand.edge.libc import call

PR_SET_PDEATHSIG: Final = 1  # linux/prctl.h


def main() -> None:
    """Tie this process to its parent, then be the command."""
    parent, *arguments = sys.argv[1:]
    call("prctl", PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != int(parent):
        sys.exit("the parent died before this process began")
    sys.argv[1:] = arguments
    runpy.run_module("steadyhand", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
