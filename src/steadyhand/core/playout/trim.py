"""R2: the drain follows the sender's clock.

Two crystals never agree. A sender 100 ppm slow empties a fixed queue in half an hour and stops a
healthy arm; one 100 ppm fast fills it until catch-up drops good setpoints. So the drain's period
is trimmed by at most half a percent, proportionally to how far the mean depth of the last second
is from where prefill left it. No value is touched, and the period told to the controller stays
nominal.
"""

import math
from collections import deque
from typing import Final

from steadyhand.ground.stamps import NS_PER_S

TRIM_PER_SLOT: Final = 0.005
"""Share of the period by which the drain quickens or slows per slot of error."""

TRIM_LIMIT: Final = 0.005
"""Most by which the drain ever differs from nominal."""

TRIM_WINDOW_NS: Final = NS_PER_S
"""The depth is averaged over this before it may trim anything."""


class ClockTrim:
    """Mean standing depth over one second, and the drain period that corrects it.

    A sample is the depth a tick's release leaves behind: prefill to `target` then leaves
    target − 1, which is the set point. (A set point at the target itself runs into the
    high-water mark under jitter.)
    """

    def __init__(self, period_ns: int, *, enabled: bool) -> None:
        """`period_ns` is the nominal drain period."""
        self.period_ns = period_ns
        self.enabled = enabled
        self.mean_depth: float | None = None
        """Mean standing depth of the last second, slots; None until a second was seen."""
        self._full_window_ns = TRIM_WINDOW_NS - 2 * period_ns
        self._samples: deque[tuple[int, int]] = deque()
        self._total = 0
        self._ratio = 0.0

    def sample(self, depth_left: int, target: int, now_ns: int) -> None:
        """Take the depth left behind by a releasing tick and renew the trim."""
        samples = self._samples
        samples.append((now_ns, depth_left))
        total = self._total + depth_left
        while now_ns - samples[0][0] > TRIM_WINDOW_NS:
            total -= samples.popleft()[1]
        self._total = total
        if now_ns - samples[0][0] < self._full_window_ns:
            return
        self.mean_depth = mean_depth = total / len(samples)
        if self.enabled:
            ratio = TRIM_PER_SLOT * (mean_depth - (target - 1))
            self._ratio = ratio if -TRIM_LIMIT < ratio < TRIM_LIMIT else math.copysign(TRIM_LIMIT, ratio)

    def idle(self) -> None:
        """Prefill, holding and deepening: run at the nominal period and forget the window."""
        if self._samples:
            self._samples.clear()
            self._total = 0
            self.mean_depth = None
            self._ratio = 0.0

    @property
    def ppm(self) -> float:
        """Parts per million by which the drain runs faster than nominal."""
        return self._ratio * 1e6

    @property
    def drain_period_ns(self) -> int:
        """Time from this tick to the next, nanoseconds."""
        ratio = self._ratio
        return self.period_ns if ratio == 0.0 else round(self.period_ns / (1.0 + ratio))
