"""The buffer against a deliberately naive one: the same verdicts, the same lane, the same counts.

The model keeps everything in dictionaries, sorts whenever it wants an order and recomputes every
figure from scratch. It is written from document 000 and R1, R3, R6; depth is fixed and the trim off.
"""

from collections.abc import Callable
from typing import Final

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from steadyhand.core.playout import DrainTick, Hold, Offer, PlayoutBuffer, PlayoutConfig, Release, Stall
from steadyhand.ground.setpoint import Setpoint

MS: Final = 1_000_000
PERIOD_NS: Final = 10 * MS
SPACING_S: Final = 0.0099  # of sender stamps; no sum of them falls on a limit
Pose = tuple[float, ...]
COUNTED: Final = (
    *("offered", "released", "late_dropped", "duplicate_dropped", "overflow_dropped", "aged_dropped"),
    *("flushed", "malformed_ts", "interpolated", "lost_at_release", "repaired", "seq_holes"),
    *("underrun_episodes", "stall_estops", "epoch_resets"),
)


class Naive:
    """Document 000 §4, §5 and §8, spelled out; age by decision 0003."""

    def __init__(self, depth: int, window_ns: int | None) -> None:
        self.depth = depth
        self.window_ns = window_ns
        self.cap_ns = depth * PERIOD_NS + max(depth * PERIOD_NS, 200 * MS)
        self.counts = dict.fromkeys(COUNTED, 0)
        self.accepted_ns: int | None = None
        self.forget()
        self.awaiting = False

    def forget(self) -> None:
        """A new epoch: nothing is known."""
        self.queue: dict[int, tuple[Setpoint, int]] = {}
        self.dropped: set[int] = set()
        self.floor: int | None = None
        self.newest: int | None = None
        self.newest_stamp_s = 0.0
        self.restart()

    def restart(self) -> None:
        """Prefill and liveness start over."""
        self.prefilling = True
        self.arrived_ns: dict[int, int] = {}
        self.now_ns = 0
        self.dropped_ns: int | None = None
        self.live = False
        self.pose: Pose | None = None
        self.empty_since_ns: int | None = None

    def offer(self, number: int, setpoint: Setpoint, now_ns: int, late_ns: int = 0) -> Offer:
        self.counts["offered"] += 1
        stamp_s = setpoint.timestamp_s
        if not abs(stamp_s) < float("inf"):
            self.counts["malformed_ts"] += 1
            return Offer.MALFORMED
        if self._restarted(number, stamp_s, now_ns):
            self.counts["epoch_resets"] += 1
            self.counts["flushed"] += len(self.queue)
            self.awaiting = self.awaiting or self.live
            self.forget()
            self._accept(number, setpoint, now_ns, late_ns)
            return Offer.EPOCH_RESET
        if self.floor is not None and number <= self.floor:
            self.counts["late_dropped"] += 1
            return Offer.TOO_LATE
        if number in self.queue or number in self.dropped:
            self.counts["duplicate_dropped"] += 1
            return Offer.DUPLICATE
        return self._accept(number, setpoint, now_ns, late_ns)

    def _restarted(self, number: int, stamp_s: float, now_ns: int) -> bool:
        if self.newest is None or self.accepted_ns is None or number > self.newest:
            return False
        return now_ns - self.accepted_ns >= 2_000 * MS and stamp_s > self.newest_stamp_s

    def _accept(self, number: int, setpoint: Setpoint, now_ns: int, late_ns: int) -> Offer:
        verdict = Offer.QUEUED
        if self.newest is None or number > self.newest:
            self.counts["seq_holes"] += 0 if self.newest is None else number - self.newest - 1
            self.newest, self.newest_stamp_s = number, setpoint.timestamp_s
        else:
            self.counts["repaired"] += 1
            verdict = Offer.REPAIRED
        self.queue[number] = (setpoint, now_ns - late_ns)
        self.arrived_ns[number] = self.now_ns = now_ns
        self.accepted_ns = now_ns
        if len(self.queue) > self.depth + 2:
            while len(self.queue) > self.depth:
                self._drop(min(self.queue), "overflow_dropped")
        return verdict

    def _drop(self, number: int, why: str) -> None:
        del self.queue[number]
        self.dropped.add(number)
        self.counts[why] += 1
        self.dropped_ns = self.now_ns

    def tick(self, now_ns: int) -> str | tuple[int, bool, Pose]:
        """`hold`, `stall`, or (number, synthetic, pose)."""
        self.now_ns = now_ns
        for number in [n for n, (_, due_ns) in self.queue.items() if now_ns - due_ns > self.cap_ns]:
            self._drop(number, "aged_dropped")
        if self.awaiting:
            return "hold"
        if not self.queue:
            self.prefilling = True
        if self.prefilling and (len(self.queue) < self.depth or self._burst_is_landing()):
            return self._empty(now_ns)
        if self.prefilling and not self.live and self._head_came_late():
            while len(self.queue) > self.depth:
                self._drop(min(self.queue), "overflow_dropped")
        self.prefilling = False
        if self.window_ns is not None and self._span_s() > 3 * self.depth * 0.01:
            return self._stall()
        self.empty_since_ns = None
        head = min(self.queue)
        missing = self._missing_before(head)
        if self.pose is not None and 1 <= len(missing) <= 3:
            target = self.queue[head][0].joints_deg
            share = 1.0 / (len(missing) + 1)
            pose = tuple([a + (b - a) * share for a, b in zip(self.pose, target, strict=True)])
            self.counts["interpolated"] += 1
            return self._play(missing[0], True, pose)
        setpoint, _ = self.queue.pop(head)
        self.counts["released"] += 1
        self.counts["lost_at_release"] += len(missing) if self.live else 0
        return self._play(head, False, setpoint.joints_deg)

    def _head_came_late(self) -> bool:
        head = min(self.queue)
        return self.arrived_ns[head] - self.queue[head][1] > 20 * MS

    def _burst_is_landing(self) -> bool:
        _, due_ns = self.queue[min(self.queue)]
        if not self._head_came_late():
            return False
        return self.now_ns - due_ns > (self.depth + 2) * 10 * MS or (
            self.dropped_ns is not None and self.now_ns - self.dropped_ns <= 10 * MS
        )

    def _span_s(self) -> float:
        """From the head to the newest entry that is in the queue."""
        return self.queue[max(self.queue)][0].timestamp_s - self.queue[min(self.queue)][0].timestamp_s

    def _missing_before(self, head: int) -> list[int]:
        if self.floor is None:
            return []
        return [n for n in range(self.floor + 1, head) if n not in self.dropped]

    def _play(self, number: int, synthetic: bool, pose: Pose) -> tuple[int, bool, Pose]:
        self.floor, self.live, self.pose = number, True, pose
        return number, synthetic, pose

    def _empty(self, now_ns: int) -> str:
        if not self.live:
            return "hold"
        if self.empty_since_ns is None:
            self.empty_since_ns = now_ns
            self.counts["underrun_episodes"] += 1
        if self.window_ns is not None and now_ns - self.empty_since_ns >= self.window_ns:
            return self._stall()
        return "hold"

    def _stall(self) -> str:
        self.counts["stall_estops"] += 1
        self.flush(None)
        return "stall"

    def flush(self, estop: int | None) -> None:
        """Discard, and seal past everything known and past an e-stop of this numbering."""
        self.dropped_ns = None
        self.counts["flushed"] += len(self.queue)
        self.queue.clear()
        self.dropped.clear()
        if self.newest is not None:
            self.newest = max(self.newest, self.newest if estop is None else estop)
            self.floor = self.newest
        self.restart()


class AgainstNaive(RuleBasedStateMachine):
    """Both are driven by the same hand."""

    @initialize(
        depth=st.sampled_from([1, 2, 5]),
        window_ms=st.sampled_from([None, 0, 20, 100]),
        first=st.integers(0, 1 << 20),
    )
    def start(self, depth: int, window_ms: int | None, first: int) -> None:
        window_ns = None if window_ms is None else window_ms * MS
        self.buffer = PlayoutBuffer(
            PlayoutConfig(
                period_ns=PERIOD_NS,
                base_depth=depth,
                max_depth=depth,
                underrun_window_ns=window_ns,
                clock_trim=False,
            )
        )
        self.model = Naive(depth, window_ns)
        self.now_ns = 1_000 * MS
        self.next = first + 100
        self.life = 0
        self.alive: set[int] = set()
        """Identities of what arrived since the last flush: nothing else may be released."""
        self.kept: list[Setpoint] = []
        """Everything accepted, so that no later setpoint gets the identity of an earlier one."""
        self.played: list[tuple[int, int]] = []

    def _arrive(self, number: int, late_ms: int = 0) -> None:
        setpoint = Setpoint(
            joints_deg=(float(number % 997), float(number % 7)),
            timestamp_s=1e4 * self.life + number * SPACING_S,
        )
        verdict = self.buffer.offer(number, setpoint, self.now_ns, lateness_ns=late_ms * MS)
        assert verdict is self.model.offer(number, setpoint, self.now_ns, late_ms * MS)
        if verdict in (Offer.QUEUED, Offer.REPAIRED, Offer.EPOCH_RESET):
            if verdict is Offer.EPOCH_RESET:
                self.alive.clear()
            self.alive.add(id(setpoint))
            self.kept.append(setpoint)

    @rule(skipped=st.sampled_from([0, 0, 0, 0, 1, 2, 3, 4, 20]))
    def the_next_arrives(self, skipped: int) -> None:
        self.next += skipped
        self._arrive(self.next)
        self.next += 1

    @rule(count=st.integers(2, 12), late_ms=st.sampled_from([0, 0, 21, 40]))
    def a_burst_arrives(self, count: int, late_ms: int) -> None:
        for _ in range(count):
            self._arrive(self.next, late_ms)
            self.next += 1

    @rule(back=st.integers(1, 25), late_ms=st.sampled_from([0, 0, 40, 200, 260]))
    def an_older_one_arrives(self, back: int, late_ms: int) -> None:
        self._arrive(max(0, self.next - back), late_ms)

    @rule(stamp_s=st.sampled_from([float("nan"), float("inf"), float("-inf")]))
    def a_malformed_one_arrives(self, stamp_s: float) -> None:
        setpoint = Setpoint(joints_deg=(), timestamp_s=stamp_s)
        verdict = self.buffer.offer(self.next, setpoint, self.now_ns)
        assert verdict is self.model.offer(self.next, setpoint, self.now_ns)

    @rule(wait_ms=st.sampled_from([0, 3, 10, 10, 10, 10, 45, 120, 260]))
    def tick(self, wait_ms: int) -> None:
        self.now_ns += wait_ms * MS
        self._compare(self.buffer.drain_tick(self.now_ns), self.model.tick(self.now_ns))

    @rule(ticks=st.integers(2, 12))
    def tick_on(self, ticks: int) -> None:
        for _ in range(ticks):
            self.tick(10)

    def _compare(self, verdict: DrainTick, expected: str | tuple[int, bool, Pose]) -> None:
        match verdict:
            case Release(setpoint=setpoint, seq=seq, synthetic=synthetic, wait_ns=wait_ns):
                assert not isinstance(expected, str)
                assert (seq, synthetic) == expected[:2]
                assert setpoint.joints_deg == pytest.approx(expected[2], abs=1e-9)
                assert 0 <= wait_ns <= self.model.cap_ns
                if not synthetic:
                    assert id(setpoint) in self.alive
                assert not self.played or (self.life, seq) > self.played[-1]
                self.played.append((self.life, seq))
            case Hold():
                assert expected == "hold"
            case Stall():
                assert expected == "stall"
                self.alive.clear()

    @rule()
    def the_stream_is_prepared(self) -> None:
        self.buffer.flush_lifecycle()
        self.model.flush(None)
        self.model.awaiting = False
        self.alive.clear()

    @rule()
    def an_estop_of_the_other_transport_arrives(self) -> None:
        self.buffer.flush_for_estop(None)
        self.model.flush(None)
        self.alive.clear()

    @precondition(lambda self: self.model.newest is not None)
    @rule(ahead=st.integers(-10, 10))
    def an_estop_of_this_numbering_arrives(self, ahead: int) -> None:
        estop = self.next + ahead
        self.buffer.flush_for_estop(estop)
        self.model.flush(estop)
        self.alive.clear()
        self.next = max(self.next, estop + 1)

    @precondition(lambda self: self.model.newest is not None)
    @rule(back=st.integers(30, 90), silence_ms=st.sampled_from([1_900, 2_000, 2_500]))
    def the_sender_restarts(self, back: int, silence_ms: int) -> None:
        """Numbers fall back, stamps go on; a restart too early is the old life's straggler."""
        assert self.model.newest is not None
        self.now_ns += silence_ms * MS
        number = max(0, self.model.newest - back)
        resets = self.buffer.stats.epoch_resets
        self.life += 1
        self._arrive(number)
        if self.buffer.stats.epoch_resets > resets:
            self.next = number + 1
        else:
            self.life -= 1

    @invariant()
    def the_counts_agree(self) -> None:
        if hasattr(self, "model"):
            stats = self.buffer.stats
            assert {name: getattr(stats, name) for name in COUNTED} == self.model.counts
            assert self.buffer.depth == len(self.model.queue)
            assert self.buffer.live == self.model.live

    @invariant()
    def every_arrival_is_accounted_for(self) -> None:
        if hasattr(self, "model"):
            stats = self.buffer.stats
            gone = stats.released + stats.late_dropped + stats.duplicate_dropped + stats.overflow_dropped
            gone += stats.aged_dropped + stats.flushed + stats.malformed_ts + stats.on_probation
            assert stats.offered == gone + stats.retired_session + self.buffer.depth


TestAgainstNaive: Callable[..., object] = AgainstNaive.TestCase
TestAgainstNaive.settings = settings(  # type: ignore[attr-defined]
    max_examples=80, stateful_step_count=60, deadline=None, derandomize=True
)
