"""The divergence guard: the arm is where it was told to be, or the stream stops (document 001, R9).

The shaper cannot see the arm; this guard can, and does nothing else. It compares the measured pose
with what was *sent*, and allows for the lag between the two. Two forms are built:

* `margin`, as document 001 has it: |s − m| may not pass margin + |v| · lag.
* `window`: m must lie within what the arm can be executing now, the setpoints sent between
  t − L − J − age and t − L + J, widened by about 1°.

A configuration under its floor does not construct: it would trip on a healthy arm, and a guard that
cries wolf gets switched off.
"""

import math
from collections import deque
from collections.abc import Sequence
from typing import Final, Protocol

import msgspec

from steadyhand.core.safety.shaper import Proposal
from steadyhand.core.safety.verdicts import Violation
from steadyhand.ground.config_safety import WINDOW_SLACK_FLOOR_MS, DivergenceGuardConfig
from steadyhand.ground.errors import ConfigError
from steadyhand.ground.stamps import NS_PER_MS, ms_from_ns, ns_from_ms, ns_from_s

LAG_ROUNDING_NS: Final = 5 * NS_PER_MS
"""A measured lag is rounded up to this: 39, 78 and 111 ms became 40, 80 and 115 (document 001)."""

WINDOW_SLACK_PERIODS: Final = 1.5
"""J in periods, no less: a controller that samples frames by its own grid is up to one off."""

SURE_SHARE: Final = 0.999
"""Of the margin: within it a pose is inside whatever the last digits are."""

_BLOCK: Final = "safety.divergence_guard"


class StreamFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What the floors depend on beside the guard's own block.

    Attributes:
        v_max_deg_s: fastest the stream may be.
        a_max_deg_s2: hardest it may brake.
        period_ns: cmdT.
        joint_names: shape (n_joints,).
        max_age_ns: oldest measured frame that is still judged.
    """

    v_max_deg_s: float
    a_max_deg_s2: float
    period_ns: int
    joint_names: tuple[str, ...]
    max_age_ns: int


class DivergenceGuard(Protocol):
    """One form of the guard. Fed with every frame that was sent, asked before the next one."""

    def restart(self, measured_deg: Sequence[float], now_ns: int) -> None:
        """A stream engages: the arm stands at the primed pose."""
        ...

    def note_sent(self, joints_deg: tuple[float, ...], now_ns: int) -> None:
        """The socket took this frame."""
        ...

    def judge(
        self, proposal: Proposal, measured_deg: Sequence[float], *, age_ns: int, now_ns: int
    ) -> Violation | None:
        """Hold the newest measured pose, `age_ns` old, against what was and is about to be sent."""
        ...


def divergence_guard(config: DivergenceGuardConfig, figures: StreamFigures) -> DivergenceGuard:
    """Build the form that the configuration names.

    Raises:
        ConfigError: a value is under its floor; names the floor and the value that would do.
    """
    _refuse_lag_under_floor(config)
    if config.form == "margin":
        return MarginGuard(config, figures)
    return WindowGuard(config, figures)


def lag_floor_s(config: DivergenceGuardConfig) -> float:
    """The least `lag_s`: the measured lag rounded up to 5 ms; 0 where none was measured.

    Below it the allowance grows slower than the healthy gap, and clean cruise trips the guard.
    """
    if config.measured_lag_s is None:
        return 0.0
    # A nanosecond of grace: 0.04 s is 40 ms although no float says so.
    steps = math.ceil((ns_from_s(config.measured_lag_s) - 1) / LAG_ROUNDING_NS)
    return steps * LAG_ROUNDING_NS / 1e9


def margin_floor_deg(config: DivergenceGuardConfig, figures: StreamFigures) -> float:
    """The least `margin_deg` of the margin form: a_max·L²/2 + feed jitter · v_max/2 (R9).

    The first term is the hard stop: the allowance has already collapsed to the bare margin while
    the arm still lags by what it lagged at speed. The second is a frame that comes early or late.
    """
    lag_s = config.lag_s if config.measured_lag_s is None else config.measured_lag_s
    hard_stop_deg = 0.5 * figures.a_max_deg_s2 * lag_s * lag_s
    return hard_stop_deg + 0.5e-3 * config.feed_jitter_ms * figures.v_max_deg_s


def window_slack_floor_ms(config: DivergenceGuardConfig, figures: StreamFigures) -> float:
    """The least `window_slack_ms`: 15 ms (R9), one and a half periods, or the feed's jitter."""
    return max(
        WINDOW_SLACK_FLOOR_MS,
        WINDOW_SLACK_PERIODS * ms_from_ns(figures.period_ns),
        config.feed_jitter_ms,
    )


def _refuse_lag_under_floor(config: DivergenceGuardConfig) -> None:
    """lag_s ≥ measured L, rounded up."""
    floor_s = lag_floor_s(config)
    if config.lag_s < floor_s - 1e-9:
        raise ConfigError(
            f"{config.lag_s:g} is under its floor: the measured lag {config.measured_lag_s:g} s rounded up",
            where=f"{_BLOCK}.lag_s",
            hint=f"{floor_s:g} would do",
        )


class MarginGuard:
    """The form of document 001: |s − m| > margin + |v|·lag trips, s the frame about to be sent.

    The allowance breathes with the commanded speed. It is two-sided, so an arm that runs *ahead*
    at speed has the allowance twice to cross: 280 ms at 196 °/s against 120 °/s (R9).

    Raises:
        ConfigError: margin under its floor.
    """

    def __init__(self, config: DivergenceGuardConfig, figures: StreamFigures) -> None:
        floor_deg = margin_floor_deg(config, figures)
        if config.margin_deg < floor_deg:
            raise ConfigError(
                f"{config.margin_deg:g} is under its floor of {floor_deg:.2f}°: "
                "a_max·L²/2 plus feed jitter·v_max/2",
                where=f"{_BLOCK}.margin_deg",
                hint=f"{math.ceil(floor_deg * 10.0) / 10.0:g} would do",
            )
        self._margin_deg = config.margin_deg
        self._lag_s = config.lag_s
        self._names = figures.joint_names

    def restart(self, measured_deg: Sequence[float], now_ns: int) -> None:
        """Nothing to remember: the shaper's state is all this form needs."""

    def note_sent(self, joints_deg: tuple[float, ...], now_ns: int) -> None:
        """Nothing to remember."""

    def judge(
        self, proposal: Proposal, measured_deg: Sequence[float], *, age_ns: int, now_ns: int
    ) -> Violation | None:
        """The first joint whose gap passes its allowance."""
        margin_deg, lag_s = self._margin_deg, self._lag_s
        sent_deg, speeds = proposal.joints_deg, proposal.velocities_deg_s
        for index, measured in enumerate(measured_deg):
            sent, speed = sent_deg[index], speeds[index]
            allowed_deg = margin_deg + abs(speed) * lag_s
            # Negated, so that a NaN trips too.
            if not abs(sent - measured) <= allowed_deg:
                return self._diverged(index, sent, measured, speed, allowed_deg)
        return None

    def _diverged(
        self, index: int, sent_deg: float, measured_deg: float, speed_deg_s: float, allowed_deg: float
    ) -> Violation:
        gap_deg = abs(sent_deg - measured_deg)
        return Violation(
            reason=(
                f"{self._names[index]} measured at {measured_deg:.2f}°, sent to {sent_deg:.2f}°: "
                f"{gap_deg:.2f}° apart, {allowed_deg:.2f}° allowed at {abs(speed_deg_s):.1f} °/s"
            ),
            joint=self._names[index],
            measured=gap_deg,
            allowed=allowed_deg,
            unit="deg",
        )


class WindowGuard:
    """The window form of R9: m within the setpoints the arm may be executing now, ± a degree.

    Its allowance is what the stream did, not what it could do: none grows with a_max, and an arm
    ahead of the stream is as wrong as one behind. A stalled feed widens the window by its age
    instead of tripping it; `state_feed` watches the age itself.

    Raises:
        ConfigError: slack under its floor, or a lag so far above the measured one that the window
            would miss where the arm really is.
    """

    def __init__(self, config: DivergenceGuardConfig, figures: StreamFigures) -> None:
        _refuse_slack_under_floor(config, figures)
        _refuse_lag_beyond_window(config, figures)
        self._lag_ns = ns_from_s(config.lag_s)
        self._slack_ns = ns_from_ms(config.window_slack_ms)
        self._margin_deg = config.window_margin_deg
        self._surely_within_deg = SURE_SHARE * config.window_margin_deg
        self._lag_frames = max(1, round(self._lag_ns / figures.period_ns))
        self._keep_ns = self._lag_ns + self._slack_ns + figures.max_age_ns
        self._names = figures.joint_names
        self._sent: deque[tuple[int, tuple[float, ...]]] = deque()

    def restart(self, measured_deg: Sequence[float], now_ns: int) -> None:
        """The arm has stood at the primed pose for as long as it matters."""
        self._sent.clear()
        self._sent.append((now_ns, tuple(measured_deg)))

    def note_sent(self, joints_deg: tuple[float, ...], now_ns: int) -> None:
        """Remember the frame, and forget those that no window reaches any more.

        The newest frame at or before the horizon stays: it is what was in force there.
        """
        sent = self._sent
        sent.append((now_ns, joints_deg))
        horizon_ns = now_ns - self._keep_ns
        while len(sent) > 1 and sent[1][0] <= horizon_ns:
            sent.popleft()

    def judge(
        self, proposal: Proposal, measured_deg: Sequence[float], *, age_ns: int, now_ns: int
    ) -> Violation | None:
        """The first joint outside what was in force over the window, widened by the margin."""
        start_ns = now_ns - self._lag_ns - self._slack_ns - age_ns
        end_ns = now_ns - self._lag_ns + self._slack_ns
        if self._stands_where_expected(measured_deg, start_ns, end_ns):
            return None
        frames = self._in_force(start_ns, end_ns)
        margin_deg = self._margin_deg
        newest, oldest = frames[0], frames[-1]
        for index, measured in enumerate(measured_deg):
            low, high = measured - margin_deg, measured + margin_deg
            one, other = newest[index], oldest[index]
            if (one <= high or other <= high) and (one >= low or other >= low):
                continue  # inside already by the two ends; most ticks look no further
            positions = [frame[index] for frame in frames]
            lowest, highest = min(positions), max(positions)
            # Negated, so that a NaN trips too.
            if not lowest - margin_deg <= measured <= highest + margin_deg:
                return self._diverged(index, measured, (lowest, highest), proposal)
        return None

    def _stands_where_expected(self, measured_deg: Sequence[float], start_ns: int, end_ns: int) -> bool:
        """Whether one frame of the window, the one a healthy arm is at, settles it for all joints.

        No joint is farther from a pose than the whole pose is. Only ever saves work: what it does
        not settle is looked at in full.
        """
        if len(self._sent) < self._lag_frames:
            return False
        sent_ns, joints_deg = self._sent[-self._lag_frames]
        if not start_ns <= sent_ns <= end_ns:
            return False
        return math.dist(measured_deg, joints_deg) <= self._surely_within_deg

    def _in_force(self, start_ns: int, end_ns: int) -> list[tuple[float, ...]]:
        """The frames in force at some moment of [start, end], newest first; never empty."""
        frames = []
        for sent_ns, joints_deg in reversed(self._sent):
            if sent_ns > end_ns:
                continue
            frames.append(joints_deg)
            if sent_ns <= start_ns:
                break
        return frames or [self._sent[0][1]]

    def _diverged(
        self, index: int, measured_deg: float, span_deg: tuple[float, float], proposal: Proposal
    ) -> Violation:
        lowest, highest = span_deg
        outside_deg = max(lowest - measured_deg, measured_deg - highest)
        speed_deg_s = abs(proposal.velocities_deg_s[index])
        return Violation(
            reason=(
                f"{self._names[index]} measured at {measured_deg:.2f}°, sent to between {lowest:.2f}° and "
                f"{highest:.2f}° {ms_from_ns(self._lag_ns):.0f} ms ago: {outside_deg:.2f}° outside, "
                f"{self._margin_deg:.2f}° allowed at {speed_deg_s:.1f} °/s"
            ),
            joint=self._names[index],
            measured=outside_deg,
            allowed=self._margin_deg,
            unit="deg",
        )


def _refuse_slack_under_floor(config: DivergenceGuardConfig, figures: StreamFigures) -> None:
    """J ≥ 15 ms, one and a half periods, and the feed's jitter."""
    floor_ms = window_slack_floor_ms(config, figures)
    if config.window_slack_ms < floor_ms:
        raise ConfigError(
            f"{config.window_slack_ms:g} is under its floor: the largest of {WINDOW_SLACK_FLOOR_MS:g} ms, "
            f"{WINDOW_SLACK_PERIODS:g} periods and the feed's jitter",
            where=f"{_BLOCK}.window_slack_ms",
            hint=f"{floor_ms:g} would do",
        )


def _refuse_lag_beyond_window(config: DivergenceGuardConfig, figures: StreamFigures) -> None:
    """The measured lag lies inside the window: lag_s ≤ L + J − one period's half."""
    if config.measured_lag_s is None:
        return
    half_period_s = 0.5e-9 * figures.period_ns
    highest_s = config.measured_lag_s + 1e-3 * config.window_slack_ms - half_period_s
    if config.lag_s > highest_s + 1e-9:
        raise ConfigError(
            f"{config.lag_s:g} puts the window behind an arm that lags {config.measured_lag_s:g} s",
            where=f"{_BLOCK}.lag_s",
            hint=f"{lag_floor_s(config):g} would do",
        )
