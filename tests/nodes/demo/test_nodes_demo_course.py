"""From the three witnesses to lanes and counts, on literal ticks."""

from collections.abc import Callable

import msgspec

from steadyhand.core.follower.outputs import FrameKind, Stopped
from steadyhand.core.safety.latch import StopCause, StopKind
from steadyhand.nodes.demo.course import (
    Course,
    counters_of,
    flights_of,
    killed_span,
    lane_of,
    one_release,
    stops_of,
)
from steadyhand.nodes.follower.records import TickRecord
from steadyhand.simulation.lanes import Tick

MS = 1_000_000
BEGIN_NS = 1_000 * MS

MakeTick = Callable[..., TickRecord]
MakeCourse = Callable[..., Course]


def stopped(at_ms: float, name: str = "underrun") -> Stopped:
    cause = StopCause(kind=StopKind.STALL, detail="nothing came", name=name)
    return Stopped(at_ns=BEGIN_NS + round(at_ms * MS), cause=cause)


def test_the_nth_datagram_to_come_has_the_nth_number(course: MakeCourse) -> None:
    run = course([], led=((0.0, 1.0), (10.0, 2.0)), packets=((0.1, 5.1), (10.1, None)))
    flights = flights_of(run)
    assert [flight.sent.joints_deg for flight in flights] == [(1.0,), (2.0,)]
    assert [flight.arrivals_ns for flight in flights] == [(5_100_000,), ()]
    assert [flight.sent.sent_ns for flight in flights] == [100_000, 10_100_000]


def test_a_doubled_datagram_is_one_flight_with_two_arrivals(course: MakeCourse) -> None:
    run = course([], led=((0.0, 1.0),), packets=((0.1, 5.1), (0.1, 6.1)))
    (flight,) = flights_of(run)
    assert flight.arrivals_ns == (5_100_000, 6_100_000)


def test_an_estop_has_a_number_and_is_no_flight(course: MakeCourse) -> None:
    run = course(
        [], led=((0.0, 1.0), (10.0, 2.0), (20.0, 3.0)), packets=((0.1, 1.0), (10.1, 11.0), (20.1, 21.0))
    )
    run = msgspec.structs.replace(run, led=[run.led[0], run.led[2]])
    assert [(flight.sent.seq, flight.sent.joints_deg) for flight in flights_of(run)] == [
        (0, (1.0,)),
        (2, (3.0,)),
    ]


def test_datagrams_that_wait_at_the_proxy_keep_their_setpoints(course: MakeCourse) -> None:
    run = course([], led=((0.0, 1.0), (10.0, 2.0)), packets=((10.1, 12.0), (10.2, 12.1)))
    assert [flight.sent.joints_deg for flight in flights_of(run)] == [(1.0,), (2.0,)]


def test_what_came_after_the_end_is_no_flight(course: MakeCourse) -> None:
    run = course([], led=((0.0, 1.0), (60.0, 1.0)), packets=((0.1, 5.1), (60.1, 65.0)), end_ms=50.0)
    assert len(flights_of(run)) == 1


def test_a_tick_is_what_it_put_on_the_wire(course: MakeCourse, tick: MakeTick) -> None:
    run = course(
        [
            tick(0.0, sent_deg=0.0),
            tick(10.0, released_deg=1.0, arrived_ms=4.0),
            tick(20.0, released_deg=2.0, kind=FrameKind.SYNTHETIC),
            tick(30.0, sent_deg=2.0),
            tick(40.0, engage="stopped", events=(stopped(40.0),)),
            tick(50.0, sent_deg=2.0),
            tick(60.0, released_deg=3.0, arrived_ms=55.0, seq=1),
        ],
        led=((0.0, 1.0), (50.0, 3.0)),
    )
    lane = lane_of(run)
    assert [Tick(kind) for kind in lane.kind] == [
        Tick.WAITING,
        Tick.REAL,
        Tick.SYNTHETIC,
        Tick.HELD,
        Tick.STOPPED,
        Tick.STOPPED,
        Tick.REAL,
    ]
    assert list(lane.wait_ns) == [-1, 6 * MS, -1, -1, -1, -1, 5 * MS]
    assert list(lane.age_ns) == [-1, 10 * MS, -1, -1, -1, -1, 10 * MS]
    assert [(stop.t_s, stop.cause, stop.why) for stop in lane.stops] == [(0.04, "underrun", "nothing came")]


def test_the_wire_has_the_shaped_pose_and_not_the_released_one(course: MakeCourse, tick: MakeTick) -> None:
    run = course([tick(0.0, released_deg=9.0, sent_deg=1.0)], led=((-20.0, 9.0),))
    assert lane_of(run).joints_deg == [(1.0,)]


def test_a_value_that_nobody_led_under_its_number_has_no_age(course: MakeCourse, tick: MakeTick) -> None:
    run = course([tick(10.0, released_deg=1.0, arrived_ms=4.0)], led=((0.0, 2.0),))
    assert list(lane_of(run).age_ns) == [-1]


def test_a_data_plane_that_came_up_latched_in_anothers_place_is_a_stop(
    course: MakeCourse, tick: MakeTick
) -> None:
    cause = StopCause(kind=StopKind.PROCESS_LOST, detail="the data plane died")
    latched = msgspec.structs.replace(tick(20.0, engage="stopped", pid=8), stopped_by=cause)
    run = course(
        [tick(0.0, released_deg=1.0), latched, msgspec.structs.replace(latched, at_ns=BEGIN_NS + 30 * MS)]
    )
    assert [(stop.t_s, stop.cause) for stop in stops_of(run)] == [(0.02, "process_lost")]


def test_the_account_is_the_newest_of_each_process_added_up(course: MakeCourse, tick: MakeTick) -> None:
    run = course(
        [
            tick(0.0, counters={"aged_dropped": 1, "lost_at_release": 2}),
            tick(10.0, counters={"aged_dropped": 3, "lost_at_release": 2}),
            tick(20.0),
            tick(30.0, counters={"aged_dropped": 5}, pid=8),
            tick(90.0, counters={"aged_dropped": 100}, pid=8),
        ],
        end_ms=80.0,
    )
    assert counters_of(run) == {"aged_dropped": 8, "lost_at_release": 2}
    assert lane_of(run).aged_dropped == 8


def test_one_release_a_period_is_counted_from_the_first_release_on(
    course: MakeCourse, tick: MakeTick
) -> None:
    run = course([tick(0.0), tick(10.0, released_deg=1.0), tick(20.0), tick(30.0, released_deg=2.0)])
    assert one_release(run) == (2, 3)


def test_a_period_whose_tick_was_lost_has_no_release(course: MakeCourse, tick: MakeTick) -> None:
    run = course([tick(0.0, released_deg=1.0), tick(40.0, released_deg=2.0)])
    assert one_release(run) == (2, 5)


def test_what_the_script_stopped_is_left_out_of_the_periods(course: MakeCourse, tick: MakeTick) -> None:
    run = course(
        [
            tick(0.0, released_deg=1.0),
            tick(10.0),
            tick(20.0, engage="stopped"),
            tick(80.0, released_deg=2.0),
        ],
        killed_ms=(5.0, 80.0),
    )
    assert one_release(run) == (2, 2)


def test_a_stop_that_no_script_made_counts_its_periods_as_empty(course: MakeCourse, tick: MakeTick) -> None:
    run = course(
        [tick(0.0, released_deg=1.0), tick(10.0, engage="stopped"), tick(20.0, released_deg=2.0)],
    )
    assert one_release(run) == (2, 3)


def test_the_kill_lasts_until_the_first_release_after_its_stop(tick: MakeTick) -> None:
    records = [
        tick(0.0, released_deg=1.0),
        tick(10.0, released_deg=2.0),
        tick(20.0, engage="stopped", events=(stopped(20.0),)),
        tick(50.0, released_deg=3.0),
    ]
    at = {"kill_ns": BEGIN_NS + 5 * MS, "revive_ns": BEGIN_NS + 30 * MS}
    assert killed_span(records, **at, end_ns=BEGIN_NS + 99 * MS) == (BEGIN_NS + 5 * MS, BEGIN_NS + 50 * MS)
    never = killed_span(records[:3], **at, end_ns=BEGIN_NS + 99 * MS)
    assert never == (BEGIN_NS + 5 * MS, BEGIN_NS + 99 * MS)
    unstopped = killed_span(records[:2], **at, end_ns=BEGIN_NS + 99 * MS)
    assert unstopped == (BEGIN_NS + 5 * MS, BEGIN_NS + 30 * MS)
