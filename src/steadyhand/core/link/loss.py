"""Which datagrams a link loses: independent loss and Gilbert–Elliott bursts."""

from collections.abc import Callable
from random import Random

from steadyhand.core.link.profile import LinkProfile


def loss_sampler(profile: LinkProfile, rng: Random) -> Callable[[], bool] | None:
    """Answers, once a datagram, whether it is lost; None where nothing is ever lost.

    With both kinds a datagram must survive both.
    """
    alone = _independent(profile.loss, rng) if profile.loss > 0.0 else None
    bursty = _gilbert_elliott(profile, rng) if _loses_in_bursts(profile) else None
    if alone is None or bursty is None:
        return alone or bursty
    first, second = alone, bursty

    def either() -> bool:
        # Both are asked, always: the chain of good and bad must step with every datagram.
        lost_alone, lost_in_burst = first(), second()
        return lost_alone or lost_in_burst

    return either


def gilbert_elliott_loss(profile: LinkProfile) -> float:
    """Share of datagrams the Gilbert–Elliott part loses in the long run.

    The chain is bad for a share p / (p + r) of datagrams.
    """
    turns = profile.ge_enter_bad + profile.ge_leave_bad
    if turns == 0.0:
        return profile.ge_loss_good
    bad = profile.ge_enter_bad / turns
    return bad * profile.ge_loss_bad + (1.0 - bad) * profile.ge_loss_good


def _loses_in_bursts(profile: LinkProfile) -> bool:
    """Whether the chain can lose anything at all."""
    return profile.ge_loss_good > 0.0 or (profile.ge_enter_bad > 0.0 and profile.ge_loss_bad > 0.0)


def _independent(share: float, rng: Random) -> Callable[[], bool]:
    """Each datagram lost with the same chance, whatever became of the others."""
    draw = rng.random
    return lambda: draw() < share


def _gilbert_elliott(profile: LinkProfile, rng: Random) -> Callable[[], bool]:
    """Two states, starting good; the present one decides the loss, then the chain may turn.

    Elliott 1963, "Estimates of error rates for codes on burst-noise channels", in the parameters
    of netem's `gemodel p r 1-h 1-k`.
    """
    draw = rng.random
    enter, leave = profile.ge_enter_bad, profile.ge_leave_bad
    loss_bad, loss_good = profile.ge_loss_bad, profile.ge_loss_good
    bad = False

    def lost() -> bool:
        nonlocal bad
        answer = draw() < (loss_bad if bad else loss_good)
        if draw() < (leave if bad else enter):
            bad = not bad
        return answer

    return lost
