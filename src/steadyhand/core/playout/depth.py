"""How deep the queue should be: a policy behind a small contract (R21).

A policy is fed one depth sample a live tick and keeps a target. `fixed` never moves; `graze`
is the specified one: it deepens when the queue nearly ran empty and gives depth back slowly.
A policy may one day go below the base; the drain only ever asks for `target`.
"""

from typing import Protocol

from steadyhand.core.playout.config import (
    ADAPT_GROW_MARGIN,
    ADAPT_SHRINK_CALM_WINDOWS,
    ADAPT_WINDOW_NS,
    PlayoutConfig,
)


class DepthPolicy(Protocol):
    """Samples in, target out."""

    target: int
    """Current target depth, slots."""

    def sample(self, depth: int, mean_depth: float | None, now_ns: int) -> None:
        """Take one live tick: queue depth now and, where known, its mean over a second."""

    def discard_evidence(self) -> None:
        """Forget the window being measured, keep the target: it is knowledge of the link."""


class FixedDepth:
    """The target is what the robot file says."""

    def __init__(self, base_depth: int) -> None:
        """`base_depth` in slots."""
        self.target = base_depth

    def sample(self, depth: int, mean_depth: float | None, now_ns: int) -> None:
        """Do nothing: a fixed depth learns nothing."""

    def discard_evidence(self) -> None:
        """Do nothing: there is no evidence."""


class GrazeDepth:
    """Deepen on a near miss, shrink when calm (document 000 §6).

    The signal is the margin itself, how close the live queue came to empty within a window of
    one second, not a proxy such as jitter.
    """

    def __init__(self, base_depth: int, max_depth: int) -> None:
        """Both in slots, base ≤ max."""
        self.base_depth = base_depth
        self.max_depth = max_depth
        self.target = base_depth
        self.grown = 0
        self.shrunk = 0
        self._window_start_ns: int | None = None
        self._window_min = 0
        self._calm_windows = 0

    def sample(self, depth: int, mean_depth: float | None, now_ns: int) -> None:
        """Track the window's minimum; at each roll-over grow, shrink or stay."""
        start_ns = self._window_start_ns
        if start_ns is None:
            self._window_start_ns = now_ns
            self._window_min = depth
            return
        if now_ns - start_ns >= ADAPT_WINDOW_NS:
            self._roll_over(mean_depth)
            self._window_start_ns = now_ns
            self._window_min = depth
        elif depth < self._window_min:
            self._window_min = depth

    def discard_evidence(self) -> None:
        """Drop the running window: a stream that was cut says nothing about its link."""
        self._window_start_ns = None
        self._calm_windows = 0

    def _roll_over(self, mean_depth: float | None) -> None:
        if self._window_min <= ADAPT_GROW_MARGIN:
            self._calm_windows = 0
            self._grow()
        elif 5 * self._window_min > 3 * self.target:
            self._calm_windows += 1
            if self._calm_windows > ADAPT_SHRINK_CALM_WINDOWS:
                self._shrink(mean_depth)
        else:
            self._calm_windows = 0

    def _grow(self) -> None:
        """Deepen by a quarter, at least two slots, up to the ceiling."""
        grown = min(self.max_depth, self.target + max(self.target // 4, 2))
        self.grown += grown > self.target
        self.target = grown

    def _shrink(self, mean_depth: float | None) -> None:
        """Give one slot back, once the queue itself has come down to the target.

        R2: a target that shrinks faster than the trimmed drain can follow runs into its own
        high-water mark and drops healthy setpoints. R2's half a slot above the target is of the depth a
        tick finds; the mean is of what its release leaves behind, one less (decision 0004). A queue
        whose depth is being restored has no mean: it stands below its target.
        """
        queue_followed = mean_depth is None or mean_depth + 1 <= self.target + 0.5
        if self.target > self.base_depth and queue_followed:
            self.target -= 1
            self.shrunk += 1


def depth_policy_for(config: PlayoutConfig) -> DepthPolicy:
    """`graze` where a ceiling above the base is configured, else `fixed`."""
    if config.adaptive:
        return GrazeDepth(config.base_depth, config.max_depth)
    return FixedDepth(config.base_depth)
