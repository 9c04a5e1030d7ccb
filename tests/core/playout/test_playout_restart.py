"""R3, played through: restart, relay, corruption, freeze and wrap, the lane always strictly forward.

Frames of version 3 name their session; here it is versions 1 and 2, where only numbers, stamps and
silence tell. A setpoint's `robot_id` says which life of the sender it comes from.
"""

import itertools
from collections.abc import Callable, Iterable
from typing import NamedTuple

import pytest

from steadyhand.core.playout import Hold, HoldReason, PlayoutBuffer, Release, Stall
from steadyhand.ground.setpoint import Setpoint

Build = Callable[..., PlayoutBuffer]
Balance = Callable[[PlayoutBuffer], None]

MS = 1_000_000
MODULUS = 1 << 32
CORRUPTION = 1 << 30
OLD, NEW = "old", "new"


class Packet(NamedTuple):
    """One datagram: when it arrives, its number, which life, and which setpoint of that life."""

    at_ms: float
    seq: int
    life: str
    step: int
    sent_ms: float

    def setpoint(self) -> Setpoint:
        return Setpoint(
            joints_deg=(float(self.step),), timestamp_s=100.0 + self.sent_ms / 1e3, robot_id=self.life
        )


class Played(NamedTuple):
    """One released setpoint that was received."""

    at_ms: float
    life: str
    step: int


def life(
    name: str, first_seq: int, begin_ms: float, end_ms: float, *, delay_ms: float = 40.0
) -> list[Packet]:
    """All datagrams a sender sends from `begin_ms` to `end_ms`, one every 10 ms."""
    return [
        Packet(begin_ms + 10 * k + delay_ms, (first_seq + k) % MODULUS, name, k, begin_ms + 10 * k)
        for k in range(round((end_ms - begin_ms) / 10))
    ]


def run(
    buffer: PlayoutBuffer, packets: Iterable[Packet], *, until_ms: float, prepare_after_ms: float = 200.0
) -> list[Played]:
    """Play it, with an operator who prepares the stream anew a while after it stopped or asks for it.

    Checks on the way that nothing is released while it has to be prepared.
    """
    pending = sorted(packets)
    played: list[Played] = []
    asked_ns: int | None = None
    for tick in range(round(until_ms / 10)):
        now_ns = (10 * tick + 5) * MS
        while pending and pending[0].at_ms * MS <= now_ns:
            packet = pending.pop(0)
            buffer.offer(packet.seq, packet.setpoint(), round(packet.at_ms * MS))
        if asked_ns is not None and now_ns - asked_ns >= prepare_after_ms * MS:
            buffer.flush_lifecycle()
            asked_ns = None
        verdict = buffer.drain_tick(now_ns)
        match verdict:
            case Release(synthetic=False, setpoint=setpoint):
                assert not buffer.awaiting_prepare
                played.append(Played(now_ns / MS, setpoint.robot_id, round(setpoint.joints_deg[0])))
            case Stall() | Hold(reason=HoldReason.AWAITING_PREPARE):
                asked_ns = now_ns if asked_ns is None else asked_ns
            case _:
                pass
    return played


def check_forward(played: list[Played]) -> None:
    """Strictly forward within each life, and never back to a life that is over."""
    lives = [name for name, _ in itertools.groupby(played, key=lambda p: p.life)]
    assert len(lives) == len(set(lives))
    for a, b in itertools.pairwise(played):
        assert a.life != b.life or a.step < b.step


@pytest.mark.parametrize("window_ms", [None, 20.0])
@pytest.mark.parametrize("old_seq", [5_000, 1_000_000, MODULUS - 100_000])
@pytest.mark.parametrize("straggler_ms", [None, -200.0, 100.0, 700.0])
@pytest.mark.parametrize("silence_ms", [500.0, 2_500.0])
def test_r3_a_restarted_sender_plays_within_two_seconds_and_its_past_never_does(
    *,
    silence_ms: float,
    straggler_ms: float | None,
    old_seq: int,
    window_ms: float | None,
    new_buffer: Build,
    balance: Balance,
) -> None:
    """Two seconds of life, silence, then numbers from zero; a straggler of the old life between."""
    buffer = new_buffer(window_ms=window_ms)
    begin_ms = 2_000.0 + silence_ms
    packets = life(OLD, old_seq, 0.0, 2_000.0) + life(NEW, 0, begin_ms, 9_000.0)
    accepted_ms = 2_030.0
    if straggler_ms is not None:
        at_ms = begin_ms + 40.0 + straggler_ms
        packets.append(Packet(at_ms, (old_seq + 200) % MODULUS, OLD, 200, 2_000.0))
        accepted_ms = at_ms if silence_ms < 2_000.0 or straggler_ms < 0.0 else accepted_ms
    played = run(buffer, packets, until_ms=9_000.0)
    check_forward(played)
    # The straggler is alone: it may wait in the queue, but it never reaches the arm.
    assert {p.step for p in played if p.life == OLD} == set(range(200))
    new = [p for p in played if p.life == NEW]
    # Shut out for two seconds after the last accepted arrival at most, then prepared and prefilled.
    assert new[0].at_ms <= max(begin_ms + 40.0, accepted_ms + 2_000.0) + 300.0
    assert [p.step for p in new] == list(range(new[0].step, new[-1].step + 1))
    assert new[-1].at_ms > 8_980.0
    assert buffer.stats.epoch_resets == 1
    balance(buffer)


@pytest.mark.parametrize("sign", [1, -1])
def test_r3_a_corrupted_number_costs_itself_and_nothing_else(
    sign: int, new_buffer: Build, balance: Balance
) -> None:
    """Every fiftieth number is off by 2^30; the lane conceals those and goes on."""
    buffer = new_buffer(window_ms=20.0)
    packets = [
        p._replace(seq=(p.seq + sign * CORRUPTION) % MODULUS) if p.step % 50 == 25 else p
        for p in life(OLD, 1_000, 0.0, 10_000.0)
    ]
    played = run(buffer, packets, until_ms=9_900.0)
    check_forward(played)
    assert [p.step for p in played if p.step % 50 != 25] == [
        step for step in range(played[-1].step + 1) if step % 50 != 25
    ]
    assert not [p for p in played if p.step % 50 == 25]
    assert (buffer.stats.epoch_resets, buffer.stats.stall_estops, buffer.stats.hold_ticks) == (0, 0, 0)
    balance(buffer)


@pytest.mark.parametrize("count", [1, 4])
def test_r3_a_run_of_corrupted_numbers_too_short_to_prove_anything_changes_nothing(
    count: int, new_buffer: Build
) -> None:
    buffer = new_buffer(window_ms=20.0)
    packets = [
        p._replace(seq=(p.seq + CORRUPTION) % MODULUS) if 300 <= p.step < 300 + count else p
        for p in life(OLD, 1_000, 0.0, 6_000.0)
    ]
    played = run(buffer, packets, until_ms=5_900.0)
    check_forward(played)
    assert (buffer.stats.on_probation, buffer.stats.epoch_resets) == (count, 0)
    assert [p.step for p in played] == [k for k in range(played[-1].step + 1) if not 300 <= k < 300 + count]


@pytest.mark.parametrize("held_back", [3, 200])
@pytest.mark.parametrize("relayed_at_ms", [5_085.0, 5_300.0, 6_500.0])
@pytest.mark.parametrize("engaged", [True, False])
@pytest.mark.parametrize(
    ("old_seq", "new_seq"),
    [
        (5_000, 0),  # near: the old numbers look a little newer than the new ones
        (1_000_000, 0),  # far: they look like a numbering of their own
        (1_000, 10_000_000),  # the new numbering lies far ahead: they look older
        (MODULUS - 1_000, 50_000_000),
        (3_000_000_000, 0),
    ],
)
def test_r3_two_hundred_datagrams_a_relay_held_back_never_play_after_the_restart(
    *,
    old_seq: int,
    new_seq: int,
    engaged: bool,
    relayed_at_ms: float,
    held_back: int,
    new_buffer: Build,
    balance: Balance,
) -> None:
    """Whether they look newer, older or like a numbering of their own: their stamps tell."""
    buffer = new_buffer(window_ms=None if engaged else 20.0)
    packets = life(OLD, old_seq, 0.0, 2_000.0) + life(NEW, new_seq, 5_000.0, 9_000.0)
    relayed = life(OLD, old_seq + 200, 2_000.0, 4_000.0)[:held_back]
    packets += [p._replace(at_ms=relayed_at_ms + 0.5 * (p.step), step=200 + p.step) for p in relayed]
    played = run(buffer, packets, until_ms=8_900.0)
    check_forward(played)
    assert max(p.step for p in played if p.life == OLD) == 199
    new = [p for p in played if p.life == NEW]
    assert new[0].at_ms < 6_000.0
    assert [p.step for p in new] == list(range(new[0].step, new[-1].step + 1))
    assert new[-1].at_ms > 8_880.0
    balance(buffer)


def test_r3_a_sender_that_overtakes_its_own_past_goes_forward(new_buffer: Build, balance: Balance) -> None:
    """One second from zero, half a second of silence, from zero again: 100 is newer than 99."""
    buffer = new_buffer(window_ms=20.0)
    packets = life(OLD, 0, 0.0, 1_000.0) + life(NEW, 0, 1_500.0, 6_000.0)
    played = run(buffer, packets, until_ms=6_000.0)
    check_forward(played)
    assert [p.step for p in played if p.life == NEW][-1] > 440
    balance(buffer)


@pytest.mark.parametrize("window_ms", [None, 20.0])
@pytest.mark.parametrize("order", ["in order", "reversed", "shuffled"])
def test_r3_a_five_second_freeze_then_a_burst_plays_the_freshest_and_only_forward(
    order: str, window_ms: float | None, new_buffer: Build, balance: Balance
) -> None:
    buffer = new_buffer(window_ms=window_ms)
    packets = life(OLD, 1_000, 0.0, 10_000.0)
    frozen = [p.step for p in packets if 2_000.0 < p.at_ms <= 7_000.0]
    place = {step: rank for rank, step in enumerate(frozen)}
    if order == "reversed":
        place = {step: -rank for step, rank in place.items()}
    elif order == "shuffled":
        place = {step: rank * 7_919 % 500 for step, rank in place.items()}
    packets = [
        p._replace(at_ms=7_000.0 + (place[p.step] % 500) / 1e6) if p.step in place else p for p in packets
    ]
    played = run(buffer, packets, until_ms=9_900.0)
    check_forward(played)
    before = [p for p in played if p.at_ms < 7_000.0]
    after = [p for p in played if p.at_ms >= 7_000.0]
    assert before[-1].step < frozen[0]
    assert after[0].step >= frozen[-1] - 6
    assert [p.step for p in after] == list(range(after[0].step, after[-1].step + 1))
    assert after[-1].at_ms > 9_880.0
    assert buffer.stats.epoch_resets == 0
    assert buffer.stats.interpolated == 0
    balance(buffer)


@pytest.mark.parametrize(
    "lost", [set(c) for n in range(5) for c in itertools.combinations(range(98, 103), n)]
)
def test_r3_the_wrap_with_loss_across_it_plays_forward(
    lost: set[int], new_buffer: Build, balance: Balance
) -> None:
    """Numbers 2^32 − 100 on; the wrap lies between the setpoints 99 and 100."""
    buffer = new_buffer(window_ms=20.0)
    packets = [p for p in life(OLD, MODULUS - 100, 0.0, 2_000.0) if p.step not in lost]
    played = run(buffer, packets, until_ms=1_950.0)
    check_forward(played)
    assert [p.step for p in played] == [k for k in range(played[-1].step + 1) if k not in lost]
    assert buffer.stats.epoch_resets == 0
    assert buffer.stats.seq_holes == len(lost)
    runs = "".join(["x" if k in lost else " " for k in range(97, 104)]).split()
    assert buffer.stats.lost_at_release == len("".join([r for r in runs if len(r) > 3]))
    assert buffer.stats.interpolated == len("".join([r for r in runs if len(r) <= 3]))
    balance(buffer)
