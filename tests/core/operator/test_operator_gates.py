"""What a leader's setpoint must pass before it leaves: one test a gate, named as its rule."""

from typing import Any

import pytest

from steadyhand.core.operator import OperatorSettings
from steadyhand.core.operator.notices import (
    DeadmanBlocked,
    DeadmanReleased,
    Disengaged,
    Engaged,
    RequestRefused,
    SetpointUnsendable,
)
from steadyhand.core.operator.outputs import LeadVerdict

MS = 1_000_000
HOME = (0.0, -90.0, 90.0, 0.0, 0.0, 0.0)
NAN = float("nan")


def counted(desk: Any) -> dict[str, int]:
    lead: dict[str, int] = desk.core.report(desk.now_ns).lead
    return {name: times for name, times in lead.items() if times}


# ---- engaging


def test_setpoints_are_forwarded_only_while_engaged(desk: Any) -> None:
    assert desk.lead().verdict is LeadVerdict.NOT_ENGAGED
    desk.engage()
    assert desk.lead().verdict is LeadVerdict.SENT
    desk.core.enter_idle(desk.now_ns)
    assert desk.lead().verdict is LeadVerdict.NOT_ENGAGED
    assert len(desk.sent) == 1
    assert counted(desk) == {"not_engaged": 2, "sent": 1}
    assert [type(n) for n in desk.notices if isinstance(n, Engaged | Disengaged)] == [Engaged, Disengaged]


def test_asking_for_the_stream_engages_nobody_before_the_answer(desk: Any) -> None:
    request = desk.ask(desk.core.prepare_stream(desk.now_ns))
    assert desk.lead().verdict is LeadVerdict.NOT_ENGAGED
    desk.reply(request.request_id, "refused", "no measured frame yet")
    assert desk.lead().verdict is LeadVerdict.NOT_ENGAGED
    assert desk.told(RequestRefused)[0].reason == "no measured frame yet"


def test_a_stream_that_is_prepared_already_engages_too(desk: Any) -> None:
    request = desk.ask(desk.core.prepare_stream(desk.now_ns))
    desk.reply(request.request_id, "ignored", "already streaming")
    assert desk.lead().verdict is LeadVerdict.SENT


def test_an_answer_nobody_waits_for_any_more_engages_nobody(desk: Any) -> None:
    request = desk.ask(desk.core.prepare_stream(desk.now_ns))
    desk.core.enter_idle(desk.now_ns)
    desk.reply(request.request_id, "done")
    assert desk.lead().verdict is LeadVerdict.NOT_ENGAGED
    desk.reply(99, "done")
    assert desk.lead().verdict is LeadVerdict.NOT_ENGAGED


def test_nothing_engages_without_a_session_to_seal_with(make_desk: Any) -> None:
    desk = make_desk(session=False)
    assert desk.core.prepare_stream(desk.now_ns).requests == ()
    assert "session" in desk.told(RequestRefused)[0].reason


def test_leaving_the_stream_takes_effect_whatever_the_answer(desk: Any) -> None:
    desk.engage()
    request = desk.ask(desk.core.enter_idle(desk.now_ns))
    desk.reply(request.request_id, "failed", "no way there")
    assert desk.lead().verdict is LeadVerdict.NOT_ENGAGED
    assert desk.told(RequestRefused)[0].request == "enter_idle"


def test_an_engagement_that_the_follower_contradicts_for_half_a_second_is_over(desk: Any) -> None:
    desk.engage()
    for _ in range(50):
        desk.hear(extras={"engage": "stopped"})
        desk.now_ns += 10 * MS
    assert desk.lead().verdict is LeadVerdict.SENT
    desk.hear(extras={"engage": "stopped"})
    assert desk.lead().verdict is LeadVerdict.NOT_ENGAGED
    assert "the follower is stopped" in desk.told(Disengaged)[0].by


def test_telemetry_under_way_when_the_stream_was_prepared_ends_no_engagement(desk: Any) -> None:
    desk.engage()
    for engage in ("idle", "idle", "preparing", "streaming", "idle"):
        desk.hear(extras={"engage": engage})
        desk.now_ns += 300 * MS
    desk.hear(extras={})
    assert desk.lead().verdict is LeadVerdict.SENT


# ---- what can be sent


def test_a_setpoint_that_names_another_arm_is_not_ours_to_send(desk: Any) -> None:
    desk.engage()
    assert desk.lead(robot_id="leg").verdict is LeadVerdict.ANOTHER_ARM
    assert desk.lead(robot_id="arm").verdict is LeadVerdict.SENT


@pytest.mark.parametrize(
    "fields",
    [
        {"pose": (NAN, *HOME[1:])},
        {"pose": (float("inf"), *HOME[1:])},
        {"pose": HOME[:5]},
        {"pose": ()},
        {"joint_velocities_deg_s": (1.0,)},
        {"timestamp_s": NAN},
        {"leader_timestamp_s": NAN},
        {"extras": {"big": "x" * 2000}},
        {"extras": {"unsendable": {1, 2}}},
    ],
)
def test_what_would_stop_the_arm_as_unreadable_never_leaves(desk: Any, fields: dict[str, Any]) -> None:
    desk.engage()
    assert desk.lead(**fields).verdict is LeadVerdict.UNSENDABLE
    desk.lead(**fields)
    assert desk.sent == []
    assert len(desk.told(SetpointUnsendable)) == 1
    assert desk.lead().verdict is LeadVerdict.SENT
    assert desk.sent[0].seq == 0
    desk.lead(**fields)
    assert len(desk.told(SetpointUnsendable)) == 2


# ---- the stale tick


def test_a_setpoint_built_more_than_30_ms_ago_is_backlog_not_traffic(desk: Any) -> None:
    desk.engage()
    assert desk.lead().verdict is LeadVerdict.SENT
    desk.now_ns += 200 * MS
    assert desk.lead(age_ms=31.0).verdict is LeadVerdict.STALE_TICK
    assert desk.lead(age_ms=29.0).verdict is LeadVerdict.SENT
    assert counted(desk) == {"sent": 2, "stale_tick": 1}


def test_the_stale_window_is_three_periods_where_they_are_longer() -> None:
    slow = OperatorSettings(robot_id="arm", n_joints=6, period_ns=20 * MS)
    fast = OperatorSettings(robot_id="arm", n_joints=6, period_ns=2 * MS)
    assert (slow.stale_tick_ns, fast.stale_tick_ns) == (60 * MS, 30 * MS)


def test_the_stale_gate_arms_on_the_first_fresh_setpoint(desk: Any) -> None:
    desk.engage()
    for stamp_s in (0.0, 0.5, 1_700_000_000.0, 5.0):
        assert desk.lead(timestamp_s=stamp_s).verdict is LeadVerdict.SENT
    assert desk.lead(age_ms=30.0).verdict is LeadVerdict.SENT
    assert desk.lead(timestamp_s=0.0).verdict is LeadVerdict.STALE_TICK


def test_the_stale_gate_judges_the_build_stamp_and_never_the_leaders(desk: Any) -> None:
    desk.engage()
    desk.lead()
    assert desk.lead(leader_timestamp_s=-3600.0).verdict is LeadVerdict.SENT
    assert desk.lead(age_ms=40.0, leader_timestamp_s=desk.now_ns / 1e9).verdict is LeadVerdict.STALE_TICK


def test_a_message_of_another_host_is_judged_by_its_arrival(desk: Any) -> None:
    desk.engage()
    desk.lead()
    setpoint = desk.setpoint(desk.sent[0]).__class__(joints_deg=HOME, timestamp_s=0.3)
    assert desk.core.lead(setpoint, desk.now_ns, built_ns=desk.now_ns).verdict is LeadVerdict.SENT
    late = desk.core.lead(setpoint, desk.now_ns, built_ns=desk.now_ns - 31 * MS)
    assert late.verdict is LeadVerdict.STALE_TICK


def test_a_backlog_burst_after_a_stall_is_dropped_but_for_its_fresh_end(desk: Any) -> None:
    desk.engage()
    desk.lead()
    desk.now_ns += 500 * MS
    verdicts = [desk.lead(age_ms=float(age_ms)).verdict for age_ms in range(490, -1, -10)]
    assert verdicts.count(LeadVerdict.STALE_TICK) == 46
    assert verdicts[-4:] == [LeadVerdict.SENT] * 4


# ---- the deadman


def test_telemetry_silent_past_the_window_holds_setpoints_back_with_an_alarm(desk: Any) -> None:
    desk.engage()
    desk.now_ns += 1_000 * MS
    assert desk.lead().verdict is LeadVerdict.SENT
    desk.now_ns += 1
    assert desk.lead().verdict is LeadVerdict.DEADMAN
    desk.now_ns += 10 * MS
    assert desk.lead().verdict is LeadVerdict.DEADMAN
    (alarm,) = desk.told(DeadmanBlocked)
    assert alarm.silent_ms == pytest.approx(1000.0)
    assert desk.core.report(desk.now_ns).deadman_blocking


def test_the_deadman_alarms_by_the_tick_alone(desk: Any) -> None:
    desk.engage()
    assert desk.core.next_tick_ns(desk.now_ns) <= desk.now_ns + 1_000 * MS + 1
    desk.now_ns += 1_000 * MS + 1
    desk.tick()
    assert len(desk.told(DeadmanBlocked)) == 1


def test_the_deadman_releases_when_telemetry_resumes_and_says_how_long_it_was(desk: Any) -> None:
    desk.engage()
    desk.wait(1_500)
    assert desk.lead().verdict is LeadVerdict.DEADMAN
    desk.hear()
    assert desk.told(DeadmanReleased)[0].silent_ms == pytest.approx(1500.0)
    assert desk.lead().verdict is LeadVerdict.SENT


def test_nothing_sent_before_a_deadman_rides_along_after_it(make_desk: Any) -> None:
    desk = make_desk(redundancy=10)
    desk.engage()
    for _ in range(3):
        desk.lead()
    desk.wait(1_500)
    desk.hear()
    desk.lead()
    assert [datagram.copies for datagram in desk.sent] == [0, 1, 2, 0]


def test_a_follower_never_heard_is_silent_since_the_engagement(desk: Any) -> None:
    request = desk.ask(desk.core.prepare_stream(desk.now_ns))
    desk.reply(request.request_id, "done")
    desk.now_ns += 1_000 * MS
    assert desk.lead().verdict is LeadVerdict.SENT
    desk.now_ns += 1
    assert desk.lead().verdict is LeadVerdict.DEADMAN


def test_a_deadman_of_zero_is_disabled(make_desk: Any) -> None:
    desk = make_desk(deadman_s=0.0)
    desk.engage()
    desk.wait(5_000)
    assert desk.lead().verdict is LeadVerdict.SENT
    assert desk.told(DeadmanBlocked) == []


def test_unauthentic_telemetry_keeps_no_deadman_quiet(desk: Any) -> None:
    desk.engage()
    first = desk.frame()
    desk.hear(data=first)
    for _ in range(101):
        desk.now_ns += 10 * MS
        forged = bytearray(desk.frame())
        forged[-1] ^= 1
        desk.hear(data=bytes(forged))
        desk.hear(data=first)
    assert desk.lead().verdict is LeadVerdict.DEADMAN


def test_leaving_the_stream_ends_a_deadman(desk: Any) -> None:
    desk.engage()
    desk.wait(1_500)
    desk.core.enter_idle(desk.now_ns)
    assert not desk.core.report(desk.now_ns).deadman_blocking
    assert desk.lead().verdict is LeadVerdict.NOT_ENGAGED
