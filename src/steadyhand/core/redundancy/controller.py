"""How many previous setpoints a datagram carries (R4): all that fit where datagrams are lost, none
where a queue is growing.

A bundle repairs loss without a round trip, and three copies of a 400-byte state at 100 Hz are a
megabit: on a cellular uplink they build the very queue whose overflow they were to repair. So two
questions are asked of every receiver report, and delay has the last word:

* does loss call for copies? On above one threshold, off only after ten calm seconds below a lower
  one. (RFC 8854 §8: send the redundancy that observed loss asks for, and know that it worsens
  congestion; WebRTC: a ten-second maximum of loss for video, two thresholds for audio.)
* does delay allow them? Growth sheds half, then everything; what was shed is tried again after a
  pause that doubles each time it fails. (SCReAM, RFC 8298: yield linearly in a band of queueing
  delay; TCP: slow start to what last failed, then caution.)

Not seen: a policer that drops without queueing. There loss rises with redundancy and delay does
not, so the copies stay; they repair most of what they cost.
"""

from collections.abc import Callable, Sequence
from typing import Final, Literal

import msgspec

from steadyhand.core.redundancy.report import ReceiverReport
from steadyhand.core.redundancy.tuning import RedundancyTuning
from steadyhand.ground.config import MAX_REDUNDANCY

BUNDLE_BUDGET_BYTES: Final = 1200
"""Document 000 §11: a datagram of 1200 bytes passes any IPv6 path. R11's seal takes from it."""


class LinkState(msgspec.Struct, kw_only=True):
    """What the controller remembers between reports.

    Attributes:
        copies: the present answer, before the bundle's budget.
        fit: how many copies the last bundle had room for; what "full" means.
        growth_ms: delay growth in the newest report.
        loss_pct: smoothed loss.
        loss_calls: whether loss calls for all the copies that fit.
        calm_since_ns: since when smoothed loss is below `loss_off_pct`; None: it is not.
        stepped_ns: when `copies` last changed.
        ceiling: most copies allowed until `retry_at_ns`.
        retry_at_ns: when the ceiling is lifted.
        retry_ns: the pause the next failure brings.
        congested_ns: when copies were last shed.
        report_ns: when the newest credible report came; None: never.
    """

    copies: int
    retry_ns: int
    fit: int = MAX_REDUNDANCY
    growth_ms: float = 0.0
    loss_pct: float = 0.0
    loss_calls: bool = False
    calm_since_ns: int | None = None
    stepped_ns: int | None = None
    ceiling: int = MAX_REDUNDANCY
    retry_at_ns: int = 0
    congested_ns: int | None = None
    report_ns: int | None = None


Rule = Callable[[LinkState, RedundancyTuning, int], int | None]


def shed_everything(state: LinkState, tuning: RedundancyTuning, now_ns: int) -> int | None:
    """Delay that has grown by `shed_all_ms` takes every copy at once."""
    if state.growth_ms < tuning.shed_all_ms:
        return None
    _note_congestion(state, tuning, now_ns)
    return 0


def shed_half(state: LinkState, tuning: RedundancyTuning, now_ns: int) -> int | None:
    """Delay that has grown by `shed_half_ms` halves the copies, once in `settle_ns`, down to none."""
    if state.growth_ms < tuning.shed_half_ms or _shed_lately(state, tuning, now_ns):
        return None
    _note_congestion(state, tuning, now_ns)
    return state.copies // 2


def hold_until_settled(state: LinkState, tuning: RedundancyTuning, now_ns: int) -> int | None:
    """After a step the number stays for `settle_ns`, until the report can show what it did."""
    settling = state.stepped_ns is not None and now_ns - state.stepped_ns < tuning.settle_ns
    return state.copies if settling else None


def fall_back(state: LinkState, tuning: RedundancyTuning, now_ns: int) -> int | None:
    """Copies that nothing calls for any more are halved away, down to `quiet_copies`."""
    wanted = _called_for(state, tuning)
    return max(wanted, state.copies // 2) if state.copies > wanted else None


def hold_while_delayed(state: LinkState, tuning: RedundancyTuning, now_ns: int) -> int | None:
    """Above `calm_ms` of growth nothing is added, though loss may call for it."""
    return None if state.growth_ms <= tuning.calm_ms else state.copies


def climb(state: LinkState, tuning: RedundancyTuning, now_ns: int) -> int | None:
    """On a calm link the number doubles towards what is called for, up to the ceiling."""
    ceiling = state.ceiling if now_ns < state.retry_at_ns else MAX_REDUNDANCY
    wanted = min(_called_for(state, tuning), ceiling)
    return min(wanted, max(1, 2 * state.copies)) if state.copies < wanted else None


ADAPT_LADDER: Final[tuple[Rule, ...]] = (
    shed_everything,
    shed_half,
    hold_until_settled,
    fall_back,
    hold_while_delayed,
    climb,
)
"""First answer wins; none leaves the number as it is. Delay stands above loss, and may forbid what
loss calls for."""


class RedundancyController:
    """Answers, for each bundle, how many previous setpoints go with the current one.

    Pure and deterministic: the same reports and sizes at the same times give the same answers.
    """

    def __init__(
        self,
        redundancy: Literal["auto"] | int = "auto",
        *,
        budget_bytes: int = BUNDLE_BUDGET_BYTES,
        tuning: RedundancyTuning | None = None,
    ) -> None:
        """Take the robot file's `remote_node.redundancy` and the bytes a bundle may have.

        Args:
            redundancy: "auto", or the number to send always, reports or none.
            budget_bytes: payload for setpoints, what seal and header take already subtracted.
            tuning: thresholds of "auto".
        """
        self._fixed = None if redundancy == "auto" else max(0, min(redundancy, MAX_REDUNDANCY))
        self._budget_bytes = budget_bytes
        self._tuning = RedundancyTuning() if tuning is None else tuning
        self._state = LinkState(copies=self._tuning.quiet_copies, retry_ns=self._tuning.first_retry_ns)
        self.reports_refused = 0
        self.last_rule = ""

    def on_report(self, report: ReceiverReport, now_ns: int) -> None:
        """Take in a receiver report; one with impossible figures is counted and ignored."""
        if not report.credible:
            self.reports_refused += 1
            return
        state = self._state
        state.growth_ms = report.delay_growth_ms
        state.copies = min(state.copies, state.fit)
        _note_loss(state, self._tuning, report.loss_pct, now_ns)
        state.report_ns = now_ns
        for rule in ADAPT_LADDER:
            copies = rule(state, self._tuning, now_ns)
            if copies is not None:
                self.last_rule = rule.__name__
                if copies != state.copies:
                    state.copies, state.stepped_ns = copies, now_ns
                return

    def copies(self, *, current_bytes: int, previous_bytes: Sequence[int], now_ns: int) -> int:
        """How many of the previous setpoints to send along, newest first.

        Args:
            current_bytes: encoded size of the setpoint that must go, its framing included.
            previous_bytes: the same for the history, newest first.
            now_ns: the sender's monotonic clock.

        Returns:
            0..10, never more than there are or than the budget holds.
        """
        fit = copies_that_fit(current_bytes, previous_bytes, self._budget_bytes)
        if self._fixed is not None:
            return min(self._fixed, fit)
        state = self._state
        # A history that is still short says nothing about what will fit.
        if fit < len(previous_bytes) or fit == MAX_REDUNDANCY:
            state.fit = fit
        blind = state.report_ns is None or now_ns - state.report_ns > self._tuning.report_valid_ns
        return min(fit, self._tuning.quiet_copies if blind else MAX_REDUNDANCY, state.copies)


def copies_that_fit(current_bytes: int, previous_bytes: Sequence[int], budget_bytes: int) -> int:
    """How many of the previous setpoints, newest first and without a gap, fit beside the current."""
    left_bytes = budget_bytes - current_bytes
    for count, size_bytes in enumerate(previous_bytes[:MAX_REDUNDANCY]):
        left_bytes -= size_bytes
        if left_bytes < 0:
            return count
    return min(len(previous_bytes), MAX_REDUNDANCY)


def _called_for(state: LinkState, tuning: RedundancyTuning) -> int:
    return state.fit if state.loss_calls else min(tuning.quiet_copies, state.fit)


def _shed_lately(state: LinkState, tuning: RedundancyTuning, now_ns: int) -> bool:
    return state.congested_ns is not None and now_ns - state.congested_ns < tuning.settle_ns


def _note_loss(state: LinkState, tuning: RedundancyTuning, loss_pct: float, now_ns: int) -> None:
    """Smooth the reported loss and let it call, or fall silent, with hysteresis."""
    elapsed_ns = 0 if state.report_ns is None else max(0, now_ns - state.report_ns)
    state.loss_pct += (loss_pct - state.loss_pct) * (elapsed_ns / (tuning.loss_smoothing_ns + elapsed_ns))
    if state.loss_pct >= tuning.loss_off_pct:
        state.calm_since_ns = None
        state.loss_calls = state.loss_calls or state.loss_pct >= tuning.loss_on_pct
    elif state.calm_since_ns is None:
        state.calm_since_ns = now_ns
    elif now_ns - state.calm_since_ns >= tuning.loss_calm_ns:
        state.loss_calls = False


def _note_congestion(state: LinkState, tuning: RedundancyTuning, now_ns: int) -> None:
    """Remember which number failed, and pause longer each time it fails again.

    Growth without copies on the wire is not ours and teaches nothing; nor does the rest of a
    queue whose cause was shed a moment ago.
    """
    if state.copies == 0 or _shed_lately(state, tuning, now_ns):
        return
    if state.congested_ns is not None and now_ns - state.congested_ns > 2 * tuning.longest_retry_ns:
        state.retry_ns = tuning.first_retry_ns
    state.ceiling = state.copies // 2
    state.congested_ns = now_ns
    state.retry_at_ns = now_ns + state.retry_ns
    state.retry_ns = min(2 * state.retry_ns, tuning.longest_retry_ns)
