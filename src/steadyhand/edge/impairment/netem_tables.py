"""Tables of the distributions of core/link, in the form tc reads.

netem draws a row of a table at random and delays by delay + sigma × row / 8192. The tables that
come with tc are not ours: its `pareto` is centred and begins below the delay, and there is no
exponential. A row has 16 bits and reaches only four sigmas, so ours are made for a fraction of the
mean, and tc is told the mean times `JITTER_SCALES`.
"""

from collections.abc import Callable
from math import log
from pathlib import Path
from statistics import NormalDist
from typing import Final

from steadyhand.core.link import JitterKind
from steadyhand.core.link.jitter import PARETO_SHAPE

ROWS: Final = 4_096
ONE_SIGMA: Final = 8_192
"""NETEM_DIST_SCALE of linux/pkt_sched.h."""

JITTER_SCALES: Final[dict[JitterKind, float]] = {"exponential": 4.0, "normal": 1.0, "pareto": 16.0}
"""Sigma told to tc over `jitter_ms`: the longest row (9.0, 3.7 and 38 of them) must fit 16 bits."""

_STANDARD: Final[dict[JitterKind, Callable[[float], float]]] = {
    "exponential": lambda below: -log(1.0 - below),
    "normal": NormalDist().inv_cdf,
    "pareto": lambda below: (PARETO_SHAPE - 1.0) * ((1.0 - below) ** (-1.0 / PARETO_SHAPE) - 1.0),
}
"""Quantile functions, in units of `jitter_ms`."""


def table(kind: JitterKind) -> list[int]:
    """The rows: the distribution's quantiles at the middle of each of 4096 equal shares."""
    quantile, scale = _STANDARD[kind], JITTER_SCALES[kind]
    return [round(quantile((row + 0.5) / ROWS) * ONE_SIGMA / scale) for row in range(ROWS)]


def write_table(kind: JitterKind, folder: Path) -> None:
    """Write `KIND.dist` where tc, told the folder in TC_LIB_DIR, finds it."""
    rows = "\n".join(str(row) for row in table(kind))
    (folder / f"{kind}.dist").write_text(f"# {kind}, as steadyhand's core/link\n{rows}\n", encoding="ascii")
