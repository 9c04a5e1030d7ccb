"""The e-stop at the operator's end: both paths, until confirmed, then nothing until the reset."""

from typing import Any

import pytest

from steadyhand.core.operator.notices import (
    AckPath,
    EstopAcknowledged,
    EstopSent,
    RequestRefused,
    ResetConfirmed,
)
from steadyhand.core.operator.outputs import DatagramKind, LeadVerdict, RequestEstop, RequestReset

MS = 1_000_000
HOME = (0.0, -90.0, 90.0, 0.0, 0.0, 0.0)


def stopped(session_id: int, episode_id: int) -> dict[str, Any]:
    """Telemetry of a follower that is latched by this e-stop."""
    extras = {"engage": "stopped", "estop_ack": [session_id, episode_id]}
    return {"emergency_stop": True, "episode_id": episode_id, "extras": extras}


def estops(desk: Any) -> list[Any]:
    return [datagram for datagram in desk.sent if datagram.kind is DatagramKind.ESTOP]


def reset(desk: Any) -> Any:
    return desk.ask(desk.core.reset_emergency("looked at it", desk.now_ns))


# ---- pressing


def test_an_estop_goes_out_at_once_on_both_paths(desk: Any) -> None:
    desk.engage()
    outbound = desk.core.emergency_stop("the button", desk.now_ns)
    (datagram,), (request,) = outbound.datagrams, outbound.requests
    assert request == RequestEstop(
        request_id=request.request_id, session_id=7, episode_id=700, reason="the button"
    )
    setpoint = desk.setpoint(datagram)
    assert setpoint.emergency_stop
    assert setpoint.episode_id == 700
    assert desk.told(EstopSent)[0].reason == "the button"


def test_an_estop_clears_the_history_so_that_nothing_rides_along(make_desk: Any) -> None:
    desk = make_desk(redundancy=10)
    desk.engage()
    for _ in range(5):
        desk.lead()
    desk.stop()
    assert len(desk.read(desk.sent[-1]).entries) == 1
    assert desk.core.report(desk.now_ns).copies == 0


def test_an_estop_of_the_leader_passes_every_gate(desk: Any) -> None:
    for fields in (
        {},  # not engaged
        {"robot_id": "leg"},
        {"age_ms": 10_000.0},
        {"pose": (float("nan"),)},
        {"timestamp_s": float("nan")},
    ):
        fresh = type(desk)()
        output = fresh.lead(emergency_stop=True, **fields)
        assert output.verdict is LeadVerdict.ESTOP
        assert (len(output.outbound.datagrams), len(output.outbound.requests)) == (1, 1)


def test_an_estop_passes_a_blocking_deadman(desk: Any) -> None:
    desk.engage()
    desk.wait(1_500)
    assert desk.lead().verdict is LeadVerdict.DEADMAN
    assert desk.lead(emergency_stop=True).verdict is LeadVerdict.ESTOP
    assert len(estops(desk)) == 1


def test_an_estop_without_a_session_leaves_as_a_version_1_frame_and_over_control(make_desk: Any) -> None:
    desk = make_desk(session=False)
    request = desk.stop()
    assert (request.session_id, estops(desk)[0].data[4]) == (0, 1)


# ---- repeating


def test_the_datagram_is_repeated_every_period_until_confirmed(desk: Any) -> None:
    desk.engage()
    desk.stop()
    desk.wait(100)
    assert len(estops(desk)) == 11
    assert len({datagram.seq for datagram in estops(desk)}) == 11
    desk.hear(**stopped(7, 700))
    desk.wait(100)
    assert len(estops(desk)) == 11


def test_ticks_asked_for_repeat_on_the_grid_and_never_in_a_burst(desk: Any) -> None:
    desk.stop()
    start_ns = desk.now_ns
    assert desk.core.next_tick_ns(desk.now_ns) == start_ns + 10 * MS
    desk.now_ns = start_ns + 13 * MS
    assert desk.tick().next_tick_ns == start_ns + 20 * MS
    desk.now_ns = start_ns + 500 * MS
    late = desk.tick()
    assert len(late.outbound.datagrams) == 1
    assert late.next_tick_ns == start_ns + 510 * MS


def test_either_path_confirms_and_each_round_trip_is_measured(desk: Any) -> None:
    desk.engage()
    request = desk.stop()
    desk.wait(40)
    desk.reply(request.request_id, "done")
    desk.wait(20)
    assert len(estops(desk)) == 5
    desk.hear(**stopped(7, 700))
    desk.hear(**stopped(7, 700))
    acks = desk.told(EstopAcknowledged)
    assert [(ack.path, ack.round_trip_ms) for ack in acks] == [
        (AckPath.CONTROL, 40.0),
        (AckPath.DATAGRAM, 60.0),
    ]
    report = desk.core.report(desk.now_ns).estop
    assert (report.control_ms, report.datagram_ms, report.acknowledged) == (40.0, 60.0, True)
    assert (report.datagrams, report.standing) == (5, True)


@pytest.mark.parametrize("word", [stopped(6, 700), stopped(7, 699), {"extras": {"estop_ack": "yes"}}, {}])
def test_only_this_episode_of_this_session_confirms(desk: Any, word: dict[str, Any]) -> None:
    desk.engage()
    desk.stop()
    desk.hear(**word)
    assert not desk.core.report(desk.now_ns).estop.acknowledged


def test_a_follower_that_had_to_shed_its_extras_confirms_by_the_typed_episode(desk: Any) -> None:
    desk.engage()
    desk.stop()
    desk.hear(emergency_stop=True, episode_id=700, extras={"shed": ["extras"]})
    assert desk.core.report(desk.now_ns).estop.acknowledged


def test_a_control_request_that_fails_is_made_again_after_100_ms(desk: Any) -> None:
    request = desk.stop()
    desk.reply(request.request_id, "failed", "connection refused")
    outbounds = desk.wait(100)
    asked = [request for outbound in outbounds for request in outbound.requests]
    assert [type(request) for request in asked] == [RequestEstop]
    assert asked[0].episode_id == 700
    assert asked[0].request_id != request.request_id


def test_a_control_request_without_an_answer_is_made_again_after_a_second(desk: Any) -> None:
    first = desk.stop()
    asked = [request for outbound in desk.wait(2_500) for request in outbound.requests]
    assert len(asked) == 2
    desk.reply(first.request_id, "done")
    assert desk.core.report(desk.now_ns).estop.control_ms == 2500.0


def test_an_estop_that_stands_goes_on_under_a_new_session(desk: Any) -> None:
    desk.stop()
    desk.wait(20)
    desk.open_session(8)
    desk.wait(10)
    assert desk.read(desk.sent[-1]).session_id == 8
    desk.hear(**stopped(8, 700))
    assert desk.core.report(desk.now_ns).estop.acknowledged


# ---- episodes


def test_a_press_while_unconfirmed_is_sent_again_at_once_and_stays_one_emergency(desk: Any) -> None:
    assert desk.stop().episode_id == 700
    desk.now_ns += 3 * MS
    assert desk.stop().episode_id == 700
    assert len(estops(desk)) == 2
    desk.hear(**stopped(7, 700))
    assert desk.stop().episode_id == 701
    assert len(estops(desk)) == 3


def test_a_leader_that_repeats_its_estop_opens_no_second_emergency(desk: Any) -> None:
    desk.engage()
    verdicts = [desk.lead(emergency_stop=True).verdict for _ in range(3)]
    assert verdicts == [LeadVerdict.ESTOP, *[LeadVerdict.ESTOP_REDELIVERED] * 2]
    desk.hear(**stopped(7, 700))
    assert desk.lead(emergency_stop=True).verdict is LeadVerdict.ESTOP_REDELIVERED


def test_a_leaders_estop_after_somebody_elses_reset_is_a_new_emergency(desk: Any) -> None:
    desk.engage()
    desk.lead(emergency_stop=True)
    desk.hear(**stopped(7, 700))
    desk.hear(extras={"engage": "idle", "estop_ack": [7, 700]})
    assert desk.lead(emergency_stop=True).verdict is LeadVerdict.ESTOP
    assert desk.core.report(desk.now_ns).estop.episode_id == 701


def test_episodes_are_u64_and_never_zero(make_desk: Any) -> None:
    desk = make_desk()
    core = type(desk.core)(desk.settings, first_episode_id=2**64 - 1)
    ids = []
    for _ in range(2):
        (request,) = core.emergency_stop("wrap", desk.now_ns).requests
        ids.append(request.episode_id)
        core.control_reply(desk_reply(request.request_id), desk.now_ns)
    assert ids == [2**64 - 1, 1]


def desk_reply(request_id: int) -> Any:
    from steadyhand.core.operator.inputs import ControlReply

    return ControlReply(request_id=request_id, outcome="done")


# ---- until the reset


def test_nothing_else_is_sent_while_an_estop_stands_until_the_reset_is_confirmed(desk: Any) -> None:
    desk.engage()
    desk.stop()
    assert desk.lead().verdict is LeadVerdict.ESTOP_STANDING
    assert desk.core.prepare_stream(desk.now_ns).requests == ()
    desk.hear(**stopped(7, 700))
    assert desk.lead().verdict is LeadVerdict.ESTOP_STANDING
    request = reset(desk)
    assert request == RequestReset(request_id=request.request_id, reason="looked at it")
    assert desk.lead().verdict is LeadVerdict.ESTOP_STANDING
    desk.reply(request.request_id, "refused", "joint 1 moves at 12 °/s")
    assert desk.lead().verdict is LeadVerdict.ESTOP_STANDING
    again = reset(desk)
    desk.reply(again.request_id, "done")
    assert desk.told(ResetConfirmed)[0].episode_id == 700
    assert desk.lead().verdict is LeadVerdict.NOT_ENGAGED
    desk.engage()
    assert desk.lead().verdict is LeadVerdict.SENT


def test_a_reset_is_refused_here_until_the_follower_has_confirmed_the_estop(desk: Any) -> None:
    desk.stop()
    assert desk.core.reset_emergency("too early", desk.now_ns).requests == ()
    assert "not confirmed" in desk.told(RequestRefused)[0].reason
    desk.hear(**stopped(7, 700))
    reset(desk)


def test_a_reset_asked_for_before_a_new_estop_does_not_settle_it(desk: Any) -> None:
    request = desk.stop()
    desk.reply(request.request_id, "done")
    early = reset(desk)
    assert desk.stop().episode_id == 701
    desk.reply(early.request_id, "done")
    assert desk.core.report(desk.now_ns).estop.standing
    assert desk.lead().verdict is LeadVerdict.ESTOP_STANDING


def test_a_reset_that_somebody_else_has_done_is_confirmed_by_telemetry(desk: Any) -> None:
    desk.stop()
    desk.hear(**stopped(7, 700))
    desk.hear(extras={"engage": "idle", "estop_ack": [7, 700]})
    assert desk.lead().verdict is LeadVerdict.ESTOP_STANDING
    request = reset(desk)
    desk.reply(request.request_id, "refused", "nothing is latched")
    assert not desk.core.report(desk.now_ns).estop.standing


def test_a_refused_reset_of_a_follower_that_still_stands_settles_nothing(desk: Any) -> None:
    desk.stop()
    desk.hear(**stopped(7, 700))
    request = reset(desk)
    desk.reply(request.request_id, "refused", "e-stop input pressed")
    assert desk.core.report(desk.now_ns).estop.standing
    assert desk.told(RequestRefused)[0].reason == "e-stop input pressed"


def test_an_estop_ends_an_engagement_and_what_was_asked_before_it(desk: Any) -> None:
    request = desk.ask(desk.core.prepare_stream(desk.now_ns))
    desk.stop()
    desk.reply(request.request_id, "done")
    assert not desk.core.report(desk.now_ns).engaged


def test_a_reset_without_an_estop_of_ours_is_asked_for_and_confirmed(desk: Any) -> None:
    request = reset(desk)
    desk.reply(request.request_id, "done")
    assert desk.told(ResetConfirmed)[0].episode_id == 0
