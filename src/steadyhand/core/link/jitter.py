"""The varying part of a delay: samplers that answer integer nanoseconds, one a datagram.

A correlated sampler is a Gaussian AR(1) process z, mapped onto the wanted distribution through its
survival probability (a Gaussian copula): the correlation shapes the order of the values, never
their distribution.
"""

from collections.abc import Callable
from math import cos, erfc, log, pi, sqrt
from random import Random
from typing import Final

from steadyhand.core.link.profile import LinkProfile
from steadyhand.ground.stamps import NS_PER_MS

PARETO_SHAPE: Final = 3.0  # that of netem's pareto table (iproute2 netem/pareto.c)

# Survival probabilities are kept above this, or a draw could ask for the logarithm of nought.
SMALLEST: Final = 2.0**-53
TWO_PI: Final = 2.0 * pi
SQRT_HALF: Final = sqrt(0.5)


def jitter_sampler(profile: LinkProfile, rng: Random) -> Callable[[], int] | None:
    """The profile's sampler; None where there is no jitter."""
    if profile.jitter_ms == 0.0:
        return None
    scale_ns = profile.jitter_ms * NS_PER_MS
    if profile.jitter == "normal":
        gauss = _gaussian(rng, profile.jitter_correlation)
        return lambda: int(gauss() * scale_ns)
    survival = _survival(rng, profile.jitter_correlation)
    if profile.jitter == "pareto":
        lomax_ns = scale_ns * (PARETO_SHAPE - 1.0)
        power = -1.0 / PARETO_SHAPE
        return lambda: int(lomax_ns * (survival() ** power - 1.0))
    return lambda: int(-scale_ns * log(survival()))


def _gaussian(rng: Random, correlation: float) -> Callable[[], float]:
    """Standard normals (Box–Muller), each correlated with the one before; starts in steady state."""
    draw = rng.random

    def independent() -> float:
        return sqrt(-2.0 * log(1.0 - draw())) * cos(TWO_PI * draw())

    if correlation == 0.0:
        return independent
    fresh = sqrt(1.0 - correlation * correlation)
    state: float | None = None

    def correlated() -> float:
        nonlocal state
        state = independent() if state is None else correlation * state + fresh * independent()
        return state

    return correlated


def _survival(rng: Random, correlation: float) -> Callable[[], float]:
    """Uniform on (0, 1]: the probability that a value of the distribution is exceeded."""
    if correlation == 0.0:
        draw = rng.random
        return lambda: 1.0 - draw()
    gauss = _gaussian(rng, correlation)
    return lambda: max(SMALLEST, 0.5 * erfc(gauss() * SQRT_HALF))
