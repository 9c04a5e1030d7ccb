"""What a team would do without the buffer, on literal packets."""

from steadyhand.simulation.alternatives import Flight, in_order_delivery, latest_wins, ordered
from steadyhand.simulation.lanes import Tick
from steadyhand.simulation.sender import Sent

MS = 1_000_000


def flight(index: int, sent_ms: float, *arrivals_ms: float) -> Flight:
    sent = Sent(index, 0, index, round(sent_ms * MS), 0.0, (float(index),))
    return Flight(sent, tuple(round(arrival * MS) for arrival in arrivals_ms))


def test_latest_wins_steps_backwards_when_the_network_reorders() -> None:
    flights = [flight(0, 0, 5), flight(1, 10, 35), flight(2, 20, 25)]
    lane = latest_wins(flights, [10 * MS, 20 * MS, 30 * MS, 40 * MS])
    assert lane.joints_deg == [(0.0,), (0.0,), (2.0,), (1.0,)]
    assert list(lane.kind) == [Tick.REAL, Tick.HELD, Tick.REAL, Tick.REAL]


def test_latest_wins_jumps_over_what_came_within_one_tick() -> None:
    flights = [flight(0, 0, 31), flight(1, 10, 32), flight(2, 20, 33)]
    lane = latest_wins(flights, [30 * MS, 40 * MS])
    assert lane.joints_deg == [None, (2.0,)]


def test_an_ordered_stream_replays_the_whole_tail_one_a_tick() -> None:
    flights = [flight(index, 10 * index, 500) for index in range(4)]
    lane = ordered(flights, [500 * MS, 510 * MS, 520 * MS, 530 * MS, 540 * MS])
    assert lane.joints_deg == [(0.0,), (1.0,), (2.0,), (3.0,), (3.0,)]
    assert lane.age_ns[0] == 500 * MS
    assert list(lane.depth) == [3, 2, 1, 0, 0]


def test_a_loss_is_sent_again_after_three_later_arrivals_told_the_sender() -> None:
    flights = [flight(index, 10 * index, 10 * index + 20) for index in range(12)]
    flights[2] = flight(2, 20)
    delivered = in_order_delivery(flights)
    # The third later segment arrives at 70 and its word is back at 90: sent again, 20 on the way.
    assert delivered[2] == 110 * MS
    assert delivered[3:6] == [110 * MS] * 3
    assert delivered[9] == 110 * MS
    assert delivered[10] == 120 * MS


def test_a_loss_at_the_end_of_a_burst_waits_for_the_timeout() -> None:
    flights = [flight(0, 0, 20), flight(1, 10), flight(2, 210, 230), flight(3, 220, 240)]
    delivered = in_order_delivery(flights)
    assert delivered[1] == (10 + 200 + 20) * MS


def test_what_never_gets_through_ends_the_stream() -> None:
    flights = [flight(0, 0, 20), flight(1, 10), flight(2, 20, 40)]
    assert in_order_delivery(flights) == [20 * MS]
