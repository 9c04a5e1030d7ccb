"""The driver's rules of document 003, steps 7 to 12: mailbox, gates, write outcomes."""

import math

import pytest

from steadyhand.core.safety.latch import EngageState, StopKind
from steadyhand.core.safety.mailbox import FrameSource, FreshFrame, HoldFrame, Mailbox, StarvedFrame
from steadyhand.core.safety.send_gates import (
    SEND_LADDER,
    DoNotSend,
    ProbeState,
    Send,
    SendRequest,
    may_send,
)
from steadyhand.core.safety.writes import FAILURES_TO_STOP, WriteLedger, WriteOutcome
from steadyhand.ground.setpoint import Setpoint

MS = 1_000_000


def setpoint(angle_deg: float) -> Setpoint:
    return Setpoint(joints_deg=(angle_deg,), timestamp_s=1.0)


def source(mailbox: Mailbox, starved_after_ms: int = 1000) -> FrameSource:
    return FrameSource(mailbox, period_ns=10 * MS, starved_after_ns=starved_after_ms * MS)


# ---- the mailbox


def test_the_latest_setpoint_wins() -> None:
    mailbox = Mailbox()
    mailbox.put(setpoint(1.0), 5)
    mailbox.put(setpoint(2.0), 6)
    slot = mailbox.read()
    assert slot is not None
    assert (slot.setpoint, slot.arrived_ns) == (setpoint(2.0), 6)


def test_reading_leaves_the_slot_in_place() -> None:
    mailbox = Mailbox()
    mailbox.put(setpoint(1.0), 5)
    assert mailbox.read() is mailbox.read()
    mailbox.clear()
    assert mailbox.read() is None


def test_re_read_within_window_is_fresh_not_hold() -> None:
    mailbox = Mailbox()
    frames = source(mailbox)
    mailbox.put(setpoint(1.0), 0)
    assert frames.next_frame(4 * MS) == FreshFrame(setpoint(1.0), 4 * MS, True)
    assert frames.next_frame(14 * MS) == FreshFrame(setpoint(1.0), 14 * MS, False)
    assert frames.next_frame(20 * MS) == FreshFrame(setpoint(1.0), 20 * MS, False)


def test_a_setpoint_past_the_stale_window_is_a_hold() -> None:
    mailbox = Mailbox()
    mailbox.put(setpoint(1.0), 0)
    assert source(mailbox).next_frame(20 * MS + 1) == HoldFrame(setpoint(1.0), 20 * MS + 1)
    assert source(mailbox).next_frame(1000 * MS) == HoldFrame(setpoint(1.0), 1000 * MS)


def test_a_producer_that_is_gone_is_starvation_not_a_hold() -> None:
    mailbox = Mailbox()
    mailbox.put(setpoint(1.0), 0)
    assert source(mailbox).next_frame(1000 * MS + 1) == StarvedFrame(1000 * MS + 1)


def test_a_mailbox_never_filled_is_starved_without_an_age() -> None:
    assert source(Mailbox()).next_frame(5) == StarvedFrame(None)


def test_the_stale_window_is_the_period_times_the_factor() -> None:
    mailbox = Mailbox()
    mailbox.put(setpoint(1.0), 0)
    frames = FrameSource(mailbox, period_ns=10 * MS, stale_factor=3.5)
    assert isinstance(frames.next_frame(35 * MS), FreshFrame)
    assert isinstance(frames.next_frame(35 * MS + 1), HoldFrame)


def test_the_same_setpoint_put_again_is_new() -> None:
    mailbox = Mailbox()
    frames = source(mailbox)
    for arrival_ms in (0, 10):
        mailbox.put(setpoint(1.0), arrival_ms * MS)
        assert frames.next_frame(arrival_ms * MS) == FreshFrame(setpoint(1.0), 0, True)


def test_a_setpoint_that_was_cleared_and_put_again_is_new() -> None:
    mailbox = Mailbox()
    frames = source(mailbox)
    for _ in range(2):
        mailbox.put(setpoint(1.0), 0)
        assert frames.next_frame(0) == FreshFrame(setpoint(1.0), 0, True)
        mailbox.clear()
        assert frames.next_frame(0) == StarvedFrame(None)


# ---- the send gates


def request(
    *,
    joints_deg: tuple[float, ...] = (1.0, 2.0),
    is_stop: bool = False,
    state: EngageState = EngageState.STREAMING,
    probe: ProbeState = ProbeState.READY,
) -> SendRequest:
    return SendRequest(joints_deg=joints_deg, n_joints=2, is_stop=is_stop, state=state, probe=probe)


@pytest.mark.parametrize("state", EngageState)
@pytest.mark.parametrize("probe", ProbeState)
def test_a_stop_passes_every_gate(state: EngageState, probe: ProbeState) -> None:
    assert may_send(request(joints_deg=(), is_stop=True, state=state, probe=probe)) == Send()


@pytest.mark.parametrize("state", EngageState)
@pytest.mark.parametrize("probe", ProbeState)
def test_motion_passes_only_while_streaming_or_braking_and_exactly_ready(
    state: EngageState, probe: ProbeState
) -> None:
    verdict = may_send(request(state=state, probe=probe))
    open_stream = state in (EngageState.STREAMING, EngageState.BRAKING)
    assert (verdict == Send()) is (open_stream and probe is ProbeState.READY)
    if isinstance(verdict, DoNotSend):
        assert not verdict.stop_arm


def test_a_latched_arm_gets_nothing_whatever_the_frame() -> None:
    verdict = may_send(request(joints_deg=(math.nan,), state=EngageState.STOPPED))
    assert verdict == DoNotSend("the arm is stopped")


def test_a_frame_with_a_joint_too_many_stops_the_arm() -> None:
    verdict = may_send(request(joints_deg=(1.0, 2.0, 3.0)))
    assert verdict == DoNotSend("3 joints for an arm of 2", stop_arm=True)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_and_got_this_far_stops_the_arm(bad: float) -> None:
    verdict = may_send(request(joints_deg=(1.0, bad)))
    assert verdict == DoNotSend("a joint of the frame is not a finite number", stop_arm=True)


def test_while_it_settles_the_probe_owns_the_channel_alone() -> None:
    verdict = may_send(request(probe=ProbeState.SETTLING))
    assert verdict == DoNotSend("the readiness probe is settling")


@pytest.mark.parametrize("state", [EngageState.IDLE, EngageState.PREPARING])
def test_without_a_stream_the_refusal_says_where_the_arm_is(state: EngageState) -> None:
    assert may_send(request(state=state)) == DoNotSend(f"no stream: the arm is {state.value}")


def test_every_send_gate_says_what_it_is_for() -> None:
    assert all(gate.__doc__ for gate in SEND_LADDER)


# ---- write outcomes


def test_a_transient_failure_drops_that_frame_and_counts_it() -> None:
    ledger = WriteLedger()
    assert ledger.note(WriteOutcome.TAKEN) is None
    assert ledger.note(WriteOutcome.TRANSIENT, "EAGAIN") is None
    assert (ledger.taken, ledger.dropped) == (1, 1)


def test_three_failures_in_a_row_stop_the_arm() -> None:
    ledger = WriteLedger()
    assert FAILURES_TO_STOP == 3
    for _ in range(2):
        assert ledger.note(WriteOutcome.TRANSIENT) is None
    cause = ledger.note(WriteOutcome.TRANSIENT, "EAGAIN")
    assert cause is not None
    assert cause.kind is StopKind.WRITE_FAILURES
    assert cause.detail == "3 writes in a row failed: EAGAIN"


def test_a_frame_that_passes_starts_the_count_anew() -> None:
    ledger = WriteLedger()
    for outcome in [WriteOutcome.TRANSIENT, WriteOutcome.TRANSIENT, WriteOutcome.TAKEN] * 4:
        assert ledger.note(outcome) is None
    assert (ledger.taken, ledger.dropped) == (4, 8)


def test_a_channel_that_is_gone_stops_the_arm_at_once() -> None:
    cause = WriteLedger().note(WriteOutcome.FATAL)
    assert cause is not None
    assert (cause.kind, cause.detail) == (StopKind.DRIVER_ERROR, "the channel is gone")


def test_a_reset_starts_the_count_anew_and_keeps_the_totals() -> None:
    ledger = WriteLedger()
    ledger.note(WriteOutcome.TRANSIENT)
    ledger.note(WriteOutcome.TRANSIENT)
    ledger.clear()
    for _ in range(2):
        assert ledger.note(WriteOutcome.TRANSIENT) is None
    assert ledger.dropped == 4
    assert ledger.note(WriteOutcome.TRANSIENT) is not None
