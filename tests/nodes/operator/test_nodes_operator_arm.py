"""The public API against a whole follower in a thread: what each call waits for, does, and raises."""

import itertools
import math
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from steadyhand.ground.builtin_motions import HOME_DEG, sine
from steadyhand.ground.errors import InputError
from steadyhand.ground.motion import JointsDeg
from steadyhand.nodes.operator.addresses import OperatorAddresses
from steadyhand.nodes.operator.api import arm_over
from steadyhand.nodes.operator.arm import Arm
from steadyhand.nodes.operator.errors import EngineFailed, LinkLost, NotEngaged, Refused, Stopped

NEAR_DEG = (1.5, *HOME_DEG[1:])


class Desk:
    """A follower in a thread, and arms that lead it."""

    def __init__(self, follower: Any, make_link: Callable[[], Any], addresses: OperatorAddresses) -> None:
        self.follower = follower
        self.links: list[Any] = []
        self._arms: list[Arm] = []
        self._make_link = make_link
        self._addresses = addresses
        follower.run()

    def arm(self, operator: str = "ann", *, take_over: bool = False) -> Arm:
        link = self._make_link()
        self.links.append(link)
        arm = arm_over(self.follower.config, self._addresses, link, operator=operator, take_over=take_over)
        self._arms.append(arm)
        return arm

    def close(self) -> None:
        for arm in self._arms:
            arm.close()
        self.follower.close()


@pytest.fixture
def desk(make_desk_follower: Callable[..., Any]) -> Iterator[Desk]:
    # Patient: a test host that stalls for half a second is not what these tests are about.
    one = Desk(*make_desk_follower(communication__playout_underrun_estop_after_ms="1500"))
    yield one
    one.close()


def swing(seconds: float, from_deg: JointsDeg = HOME_DEG) -> Iterator[JointsDeg]:
    for tick in range(round(seconds * 100)):
        yield (from_deg[0] + 5.0 * (1.0 - math.cos(tick / 30.0)), *from_deg[1:])


def connected(desk: Desk, **options: Any) -> Any:
    arm = desk.arm(**options)
    arm.connected(5.0, patient=False)
    return arm


def test_a_stream_engages_goes_there_leads_settles_and_enters_idle(desk: Desk) -> None:
    with connected(desk) as arm:
        summary = arm.stream(swing(1.0, NEAR_DEG))
        assert desk.follower.where == "idle"
        assert not arm.report.engaged
    assert summary.settled, summary
    assert summary.approach_s > 0.3
    assert summary.duration_s > 1.0
    assert summary.sent + summary.dropped > 130, summary
    assert summary.playout["target_ms"] == 60.0
    assert desk.follower.model.fault_count == 0
    assert desk.follower.stops == []
    assert desk.links[0].closed_session
    assert desk.links[0].closed


def test_the_way_to_the_first_pose_begins_where_the_arm_stands_and_is_no_jump(desk: Desk) -> None:
    sent: list[JointsDeg] = []
    with connected(desk) as arm:
        core = arm._engine._loop.core
        lead = core.lead

        def noted(setpoint: Any, *rest: Any, **more: Any) -> Any:
            sent.append(setpoint.joints_deg)
            return lead(setpoint, *rest, **more)

        core.lead = noted
        arm.stream([tuple(angle + 4.0 for angle in HOME_DEG)])
    assert sent[0] == HOME_DEG
    steps_deg = [max(abs(a - b) for a, b in zip(*pair, strict=True)) for pair in itertools.pairwise(sent)]
    assert max(steps_deg) <= 30.0 / 100.0
    assert sent[-1] == tuple(angle + 4.0 for angle in HOME_DEG)


def test_a_motion_that_begins_elsewhere_is_refused_where_that_is_asked_for(desk: Desk) -> None:
    with connected(desk) as arm:
        with pytest.raises(Refused, match=r"begins 20\.0° from where the arm stands"):
            arm.stream(sine(), start="refuse")
        assert desk.follower.where == "idle"


def test_a_function_of_time_is_led_until_it_answers_none(desk: Desk) -> None:
    with connected(desk) as arm:
        summary = arm.stream(lambda t_s: HOME_DEG if t_s < 0.5 else None)
    assert 0.45 < summary.duration_s < 3.0


def test_an_exception_in_the_poses_enters_idle_and_comes_out(desk: Desk) -> None:
    def broken() -> Iterator[JointsDeg]:
        yield HOME_DEG
        raise ZeroDivisionError

    with connected(desk) as arm:
        with pytest.raises(ZeroDivisionError):
            arm.stream(broken())
        assert desk.follower.where == "idle"


def test_an_interrupt_enters_idle_and_comes_out(desk: Desk) -> None:
    def interrupted() -> Iterator[JointsDeg]:
        yield from swing(0.2)
        raise KeyboardInterrupt

    with connected(desk) as arm:
        with pytest.raises(KeyboardInterrupt):
            arm.stream(interrupted())
        assert desk.follower.where == "idle"


def test_leaving_the_block_by_an_exception_enters_idle(desk: Desk) -> None:
    def body() -> None:
        with connected(desk) as arm:
            arm.prepare()
            assert desk.follower.where == "streaming"
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        body()
    assert desk.follower.where == "idle"


def test_send_is_for_an_engaged_stream_alone(desk: Desk) -> None:
    with connected(desk) as arm:
        with pytest.raises(NotEngaged, match="prepare"):
            arm.send(HOME_DEG)
        arm.prepare()
        assert arm.send(HOME_DEG)
        arm.idle()
        with pytest.raises(NotEngaged):
            arm.send(HOME_DEG)


def test_the_first_setpoint_of_an_engagement_begins_where_the_arm_stands(desk: Desk) -> None:
    with connected(desk) as arm:
        arm.prepare()
        with pytest.raises(Refused, match="move_to"):
            arm.send((10.0, *HOME_DEG[1:]))
        arm.move_to(NEAR_DEG)
        assert arm.send(NEAR_DEG)
        assert desk.follower.where == "streaming"


def test_a_pose_that_is_none_is_said_by_number(desk: Desk) -> None:
    with connected(desk) as arm:
        with pytest.raises(InputError, match="5 joints, and the arm has 6"):
            arm.send((1.0,) * 5)
        with pytest.raises(InputError, match=r"pose 1: a joint that is no finite number"):
            arm.stream([HOME_DEG, (math.nan,) * 6])
        with pytest.raises(InputError, match="no pose"):
            arm.stream([])


def test_a_stop_from_another_thread_stops_the_arm_and_ends_the_stream_with_its_cause(desk: Desk) -> None:
    with connected(desk) as arm:
        reports: list[Any] = []

        def poses() -> Iterator[JointsDeg]:
            for tick in itertools.count():
                if tick == 50:
                    thread = threading.Thread(target=lambda: reports.append(arm.stop("saw something")))
                    thread.start()
                yield HOME_DEG

        with pytest.raises(Stopped, match="reset with a reason") as stopped:
            arm.stream(poses())
        assert stopped.value.cause == "estop"
        assert desk.follower.where == "stopped"
        with pytest.raises(Stopped):
            arm.prepare()
        arm.reset("looked at it")
        assert desk.follower.where == "idle"
        arm.prepare()
        assert desk.follower.where == "streaming"
    assert reports[0].acknowledged
    assert reports[0].reason == "saw something"


def test_a_reset_with_nothing_stopped_does_nothing(desk: Desk) -> None:
    with connected(desk) as arm:
        arm.reset("nothing")
        assert [event for event in arm.events() if event.kind == "RequestRefused"] == []


def test_a_reset_whose_cause_stands_is_refused_with_the_cause(desk: Desk) -> None:
    with connected(desk) as arm:
        arm.prepare()
        desk.follower.press_button()
        assert arm._engine.until(lambda view: view.stopped or None, 5.0)
        with pytest.raises(Refused, match="e-stop") as refused:
            arm.reset("hoping", timeout_s=0.3)
        assert "e-stop" in refused.value.reason
        assert desk.follower.where == "stopped"


def test_a_link_that_dies_ends_the_stream_with_link_lost_or_stopped(desk: Desk) -> None:
    with connected(desk) as arm:

        def poses() -> Iterator[JointsDeg]:
            yield from swing(0.2)
            desk.follower.deaf = desk.follower.mute = True
            while True:
                yield HOME_DEG

        with pytest.raises(LinkLost, match="silent"):
            arm.stream(poses())
        desk.follower.deaf = desk.follower.mute = False


def test_a_second_operator_is_refused_by_the_first_ones_name(desk: Desk) -> None:
    with connected(desk, operator="ann") as first:
        second = desk.arm(operator="bob")
        with pytest.raises(Refused, match=r"ann holds the session.*take_over"):
            second.connected(5.0, patient=False)
        third = desk.arm(operator="eve", take_over=True)
        third.connected(5.0)
        first.close()


def test_nobody_there_is_a_link_lost_that_says_what_to_look_at(desk: Desk) -> None:
    arm = desk.arm()
    desk.links[0].cut = True
    desk.follower.mute = True
    with pytest.raises(LinkLost, match=r"no session within|no telemetry came"):
        arm.connected(0.2)


def test_events_are_told_once(desk: Desk) -> None:
    with connected(desk) as arm:
        assert "SessionBegun" in [event.kind for event in arm.events()]
        assert "SessionBegun" not in [event.kind for event in arm.events()]


def test_a_loop_that_fails_stops_the_arm_and_tells_whoever_calls(desk: Desk) -> None:
    with connected(desk) as arm:
        arm.prepare()
        hook, threading.excepthook = threading.excepthook, lambda failure: None
        try:
            arm._engine.post(lambda loop, now_ns: 1 // 0)
            with pytest.raises(EngineFailed, match="ZeroDivisionError"):
                arm._engine.until(lambda view: None, 5.0)
        finally:
            threading.excepthook = hook
        with pytest.raises(EngineFailed):
            arm.send(HOME_DEG)
    desk.follower.wait(lambda: desk.follower.stops)
    assert desk.follower.stops[0][1].kind.value == "estop"
