"""Shock streams: what no producer should send, and some day will."""

import math
from collections.abc import Callable, Iterator, Sequence
from random import Random

import msgspec
import pytest

from steadyhand.core.safety.requirements import ArmFigures
from steadyhand.ground.arms import FR3

LIMITS_DEG = tuple(zip(FR3.limits.lower_deg, FR3.limits.upper_deg, strict=True))
START_DEG = (0.0, -90.0, 90.0, -90.0, -90.0, 0.0)
MS = 1_000_000


class Shock(msgspec.Struct, frozen=True):
    """One tick of a shock stream.

    `kind` is "target", "hold", "nan" (not to be let in) or "engage" (begin anew where the arm is).
    """

    kind: str
    target_deg: tuple[float, ...]


Shocks = Callable[..., Iterator[Shock]]


@pytest.fixture(scope="session")
def shocks() -> Shocks:
    """Make one: `shocks(seed, ticks=…, legal=…)`; targets are in limits and pass `legal`."""

    def make(
        seed: int,
        *,
        ticks: int = 2000,
        legal: Callable[[Sequence[float]], bool] = lambda joints: True,
        start_deg: tuple[float, ...] = START_DEG,
        limits_deg: tuple[tuple[float, float], ...] = LIMITS_DEG,
    ) -> Iterator[Shock]:
        rng = Random(seed)
        target = start_deg
        left = ticks
        while left > 0:
            for shock in _episode(rng, target, limits_deg, legal):
                yield shock
                if shock.kind in ("target", "hold"):
                    target = shock.target_deg
                left -= 1
                if left == 0:
                    return

    return make


def _episode(
    rng: Random,
    target: tuple[float, ...],
    limits_deg: tuple[tuple[float, float], ...],
    legal: Callable[[Sequence[float]], bool],
) -> Iterator[Shock]:
    """A jump, a freeze, a fast ramp that ends dead, white noise, a NaN, or a re-engagement."""
    pick = rng.random()
    if pick < 0.3:
        jumped = _within([angle + rng.uniform(-30.0, 30.0) for angle in target], limits_deg)
        if legal(jumped):
            yield Shock("target", jumped)
    elif pick < 0.5:
        for _ in range(rng.randrange(1, 60)):
            yield Shock("target" if rng.random() < 0.7 else "hold", target)
    elif pick < 0.85:
        speeds = [rng.uniform(-200.0, 200.0) * (rng.random() < 0.6) for _ in target]
        for _ in range(rng.randrange(1, 80)):
            moved = _within(
                [angle + 0.01 * speed for angle, speed in zip(target, speeds, strict=True)], limits_deg
            )
            if not legal(moved):
                return
            target = moved
            yield Shock("target", target)
    elif pick < 0.95:
        for _ in range(rng.randrange(1, 20)):
            noisy = _within([angle + rng.uniform(-0.5, 0.5) for angle in target], limits_deg)
            if legal(noisy):
                yield Shock("target", noisy)
    elif pick < 0.98:
        bad = rng.choice((math.nan, math.inf, -math.inf, 1e300))
        yield Shock("nan", (*target[:-1], bad))
    else:
        yield Shock("engage", target)


def _within(angles: Sequence[float], limits_deg: tuple[tuple[float, float], ...]) -> tuple[float, ...]:
    return tuple(
        min(max(angle, lowest), highest) for angle, (lowest, highest) in zip(angles, limits_deg, strict=True)
    )


@pytest.fixture(scope="session")
def fr3() -> ArmFigures:
    """An FR3 on a 10 ms stream, of a type the policy does not name."""
    return ArmFigures(
        robot_type="simulated",
        joint_names=FR3.joint_names,
        period_ns=10 * MS,
        limits_deg=LIMITS_DEG,
        chain=FR3.chain,
    )
