"""The thresholds of redundancy "auto", each with its reason."""

import msgspec

from steadyhand.ground.stamps import NS_PER_S


class RedundancyTuning(msgspec.Struct, frozen=True, kw_only=True):
    """The controller's thresholds. The defaults were chosen in closed loop, see its tests.

    Attributes:
        quiet_copies: copies while nothing is wrong. One, because the first loss of a burst
            announces itself to nobody.
        loss_on_pct: smoothed loss that calls for all the copies that fit.
        loss_off_pct: smoothed loss below which calm is counted.
        loss_calm_ns: calm that ends the call.
        loss_smoothing_ns: time constant of that smoothing; one lost datagram is no call.
        calm_ms: delay growth up to which the number may rise.
        shed_half_ms: delay growth that halves it.
        shed_all_ms: delay growth that takes everything.
        settle_ns: pause between two steps, longer than the estimator's window, so that each
            step's effect is seen before the next.
        first_retry_ns: pause before what was shed is tried again, doubled by each failure.
        longest_retry_ns: bound of that doubling; after twice this without a failure it starts anew.
        report_valid_ns: age beyond which the last report allows `quiet_copies` at most.
    """

    quiet_copies: int = 1
    loss_on_pct: float = 1.0
    loss_off_pct: float = 0.25
    loss_calm_ns: int = 10 * NS_PER_S
    loss_smoothing_ns: int = 3 * NS_PER_S
    calm_ms: float = 15.0
    shed_half_ms: float = 30.0
    shed_all_ms: float = 150.0
    settle_ns: int = NS_PER_S
    first_retry_ns: int = 2 * NS_PER_S
    longest_retry_ns: int = 60 * NS_PER_S
    report_valid_ns: int = NS_PER_S
