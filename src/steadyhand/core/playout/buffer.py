"""The playout buffer as its owner sees it: offer, tick, flush, ask.

One bounded queue in sequence order between the network and the arm. Arrivals land whenever the
network pleases; one setpoint leaves a tick. Jitter becomes a change of depth instead of a change
of motion, and delay is time standing in line, measured on one clock.

Not safe for two threads, on purpose: the reactor loop owns it (R12).
"""

from steadyhand.core.playout import arrival, drain, flush, report
from steadyhand.core.playout.config import PlayoutConfig
from steadyhand.core.playout.state import PlayoutState, PlayoutStats
from steadyhand.core.playout.verdicts import DrainTick, Offer, StallReport
from steadyhand.ground.seq import advance
from steadyhand.ground.setpoint import Setpoint


class PlayoutBuffer:
    """The queue of one arm's setpoints. Every time is `now_ns` of the local monotonic clock."""

    def __init__(self, config: PlayoutConfig) -> None:
        """Start empty, prefilling, with the base depth as target."""
        self._state = PlayoutState(config)
        self._synthetic_seq = 0

    # Arrival ---------------------------------------------------------------------------------

    def offer(
        self, seq: int, setpoint: Setpoint, now_ns: int, *, is_copy: bool = False, lateness_ns: int = 0
    ) -> Offer:
        """Judge and queue one arrived setpoint that is no emergency stop.

        Args:
            seq: its u32 wire number.
            setpoint: the received value; it is released verbatim (R7).
            now_ns: time of arrival.
            is_copy: whether it is history in a bundle (see `screen`).
            lateness_ns: by how much it came later than the fastest recent datagram would have
                brought it (`core.timing`); its age counts from there, so that the stale tail of a
                stall is old on arrival. 0 where nobody measures it.
        """
        return arrival.offer(self._state, seq, setpoint, now_ns, is_copy=is_copy, lateness_ns=lateness_ns)

    def screen(self, seq: int, now_ns: int) -> Offer | None:
        """Drop a bundle's copy by number before its payload is parsed; None: parse and offer it."""
        return arrival.screen(self._state, seq, now_ns)

    def count_retired_session(self) -> None:
        """Account for a frame of a session that a newer one has retired (R3)."""
        self._state.stats.offered += 1
        self._state.stats.retired_session += 1

    def next_synthetic_seq(self) -> int:
        """Number an arrival of the ordered transport, which carries none: 1, 2, 3, …"""
        self._synthetic_seq = advance(self._synthetic_seq)
        return self._synthetic_seq

    # Drain -----------------------------------------------------------------------------------

    def drain_tick(self, now_ns: int) -> DrainTick:
        """Take the one decision of this tick: release, hold, or stall."""
        return drain.drain_tick(self._state, now_ns)

    @property
    def drain_period_ns(self) -> int:
        """Time from this tick to the next: nominal, trimmed by R2 while the stream plays."""
        return self._state.trim.drain_period_ns

    # Flush -----------------------------------------------------------------------------------

    def flush_for_estop(self, estop_seq: int | None) -> None:
        """Discard and seal because of an e-stop; `estop_seq` only if of this sequence space."""
        flush.flush_for_estop(self._state, estop_seq)

    def flush_lifecycle(self) -> None:
        """Discard and seal for a new engagement (prepare stream) or for idle."""
        flush.flush_lifecycle(self._state)

    def forget_numbering(self) -> None:
        """Discard everything, numbers and stamps included: a new session has been opened (R3)."""
        flush.forget_numbering(self._state)

    # Report ----------------------------------------------------------------------------------

    @property
    def config(self) -> PlayoutConfig:
        """The settings it was built with."""
        return self._state.config

    @property
    def stats(self) -> PlayoutStats:
        """The cumulative account; treat it as read-only."""
        return self._state.stats

    @property
    def depth(self) -> int:
        """Setpoints in the queue."""
        return len(self._state.queue)

    @property
    def target_depth(self) -> int:
        """Depth the buffer is steering for, slots."""
        return self._state.target

    @property
    def loss_pct(self) -> float:
        """Average share of numbers missing at append, percent; the receiver's report to the sender."""
        return self._state.arrivals.loss_fraction * 100.0

    @property
    def live(self) -> bool:
        """Whether something was released since the last flush."""
        return self._state.live

    @property
    def awaiting_prepare(self) -> bool:
        """Whether a changed numbering waits for the stream to be prepared anew (R3)."""
        return self._state.awaiting_prepare

    @property
    def last_stall(self) -> StallReport | None:
        """The sticky diagnosis of the last stall."""
        return self._state.last_stall

    def health(self, now_ns: int) -> report.PlayoutHealth:
        """Live snapshot for `extras["playout"]`."""
        return report.health(self._state, now_ns)
