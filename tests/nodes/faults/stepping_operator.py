"""`steadyhand operator` on a host whose wall clock is set: an hour on by SIGUSR1, an hour back by SIGUSR2."""

import signal
import sys
import time
from types import FrameType

HOUR_S = 3600.0
_real_s = time.time
_set_s = 0.0


def _set(by_s: float) -> None:
    global _set_s  # noqa: PLW0603 - the host's clock is global
    _set_s += by_s
    sys.stderr.write(f"wall clock {by_s:+.0f} s\n")
    sys.stderr.flush()


def _forth(_number: int, _frame: FrameType | None) -> None:
    _set(HOUR_S)


def _back(_number: int, _frame: FrameType | None) -> None:
    _set(-HOUR_S)


if __name__ == "__main__":
    time.time = lambda: _real_s() + _set_s
    signal.signal(signal.SIGUSR1, _forth)
    signal.signal(signal.SIGUSR2, _back)
    # After the clock was put in place: it is bound where modules are loaded.
    from steadyhand.cli.main import main

    main(sys.argv[1:])
