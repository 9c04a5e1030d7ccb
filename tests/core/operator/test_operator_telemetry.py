"""What comes back: whom to believe, what is the newest, and what the operator is told of it."""

from typing import Any

import pytest

from steadyhand.core.operator.notices import (
    DepthDeepened,
    DepthRestored,
    FollowerReleased,
    FollowerStopped,
    LinkBack,
    LinkLost,
)
from steadyhand.core.operator.outputs import TelemetryVerdict
from steadyhand.core.operator.sentences import level_of, sentence_of
from steadyhand.wire.telemetry_frame import encode_telemetry

MS = 1_000_000


def depth(target_ms: float, base_ms: float = 200.0) -> dict[str, Any]:
    return {"extras": {"engage": "streaming", "playout": {"target_ms": target_ms, "min_ms": base_ms}}}


# ---- whom to believe, and what is newest


def test_an_authentic_frame_hands_out_its_state_and_its_json_unchanged(desk: Any) -> None:
    output = desk.hear(error_code=3)
    assert output.verdict is TelemetryVerdict.ACCEPTED
    assert output.state.error_code == 3
    assert output.payload.startswith(b'{"robot_id":"arm"')


def test_forged_replayed_plain_and_foreign_frames_are_counted_and_dropped(desk: Any) -> None:
    good = desk.frame()
    desk.hear(data=good)
    desk.hear(data=good)
    forged = bytearray(desk.frame())
    forged[-1] ^= 1
    desk.hear(data=bytes(forged))
    desk.hear(data=encode_telemetry(b"{}", robot_id="arm", seq=99))
    desk.hear(data=desk.frame().replace(b"arm", b"leg", 1))
    desk.hear(data=b"S7N1")
    report = desk.core.report(desk.now_ns)
    assert report.rejections == {"replayed": 1, "unauthentic": 1, "not_sealed": 1, "truncated": 1}
    assert (report.telemetry["accepted"], report.telemetry["foreign"]) == (1, 1)


def test_a_frame_that_is_no_state_is_rejected(desk: Any) -> None:
    output = desk.hear(data=encode_telemetry(b"[1]", robot_id="arm", seq=0, sealer=desk.sealer))
    assert (output.verdict, output.state) == (TelemetryVerdict.REJECTED, None)


@pytest.mark.parametrize("auth", ["sealed", "none"])
def test_the_latest_wins(make_desk: Any, auth: str) -> None:
    desk = make_desk(auth=auth)
    first, second, third = (desk.frame(error_code=code) for code in (1, 2, 3))
    verdicts = [desk.hear(data=data).verdict for data in (first, third, second)]
    assert verdicts == [
        TelemetryVerdict.ACCEPTED,
        TelemetryVerdict.ACCEPTED,
        TelemetryVerdict.OUT_OF_ORDER,
    ]


def test_plain_numbers_wrap(make_desk: Any) -> None:
    desk = make_desk(auth="none")
    verdicts = [desk.hear(seq=seq).verdict.value for seq in (2**32 - 1, 0, 2**32 - 1, 1)]
    assert verdicts == ["accepted", "accepted", "out_of_order", "accepted"]


def test_after_two_seconds_of_silence_a_restarted_follower_is_believed(make_desk: Any) -> None:
    desk = make_desk(auth="none")
    desk.hear(seq=5_000)
    desk.now_ns += 1_999 * MS
    assert desk.hear(seq=0).verdict is TelemetryVerdict.OUT_OF_ORDER
    desk.now_ns += 1 * MS
    assert desk.hear(seq=0).verdict is TelemetryVerdict.ACCEPTED
    assert desk.hear(seq=1).verdict is TelemetryVerdict.ACCEPTED


def test_a_lost_link_ends_the_numbering_at_once(make_desk: Any) -> None:
    desk = make_desk(auth="none")
    desk.hear(seq=5_000)
    desk.core.link_lost("control channel closed", desk.now_ns)
    assert desk.hear(seq=0).verdict is TelemetryVerdict.ACCEPTED
    assert "control channel closed" in desk.told(LinkLost)[0].reason


def test_no_silence_lets_a_sealed_older_pose_pass_for_the_newest(desk: Any) -> None:
    old = desk.frame(error_code=1)
    desk.hear()
    desk.wait(3_000)
    assert desk.hear(data=old).verdict is TelemetryVerdict.OUT_OF_ORDER
    assert desk.hear().verdict is TelemetryVerdict.ACCEPTED


def test_a_new_session_starts_a_numbering_of_its_own(desk: Any) -> None:
    stale = [desk.frame() for _ in range(5)]
    desk.hear(data=stale[-1])
    desk.open_session(8)
    assert desk.hear(data=stale[0]).verdict is TelemetryVerdict.REJECTED
    assert desk.hear(seq=0).verdict is TelemetryVerdict.ACCEPTED


# ---- the link


def test_two_seconds_of_silence_are_a_lost_link_told_once(desk: Any) -> None:
    desk.hear()
    assert desk.core.next_tick_ns(desk.now_ns) <= desk.now_ns + 1_000 * MS
    desk.wait(1_990)
    assert desk.told(LinkLost) == []
    desk.wait(500)
    (lost,) = desk.told(LinkLost)
    assert lost.silent_ms == 2000.0
    assert desk.core.report(desk.now_ns).link_lost


def test_the_link_is_back_with_the_silence_measured(desk: Any) -> None:
    desk.hear()
    desk.wait(3_500)
    desk.hear()
    desk.hear()
    (back,) = desk.told(LinkBack)
    assert back.silent_ms == 3500.0
    assert not desk.core.report(desk.now_ns).link_lost


def test_a_follower_never_heard_is_no_lost_link(desk: Any) -> None:
    desk.wait(5_000)
    assert desk.told(LinkLost) == []


# ---- the buffer's depth


def test_a_deepened_buffer_is_told_with_its_base_and_again_only_when_it_climbs_further(desk: Any) -> None:
    for target_ms in (200.0, 250.0, 250.0, 240.0, 250.0, 310.0, 310.0):
        desk.hear(**depth(target_ms))
    told = desk.told(DepthDeepened)
    assert [(notice.target_ms, notice.base_ms) for notice in told] == [(250.0, 200.0), (310.0, 200.0)]
    assert level_of(told[0]).value == "warning"
    assert "250 ms (base 200 ms)" in sentence_of(told[0])


def test_the_return_to_base_is_told_once_as_information(desk: Any) -> None:
    for target_ms in (300.0, 200.0, 200.0, 220.0):
        desk.hear(**depth(target_ms))
    (restored,) = desk.told(DepthRestored)
    assert (restored.base_ms, level_of(restored).value) == (200.0, "info")
    assert [notice.target_ms for notice in desk.told(DepthDeepened)] == [300.0, 220.0]


def test_a_state_without_a_buffer_says_nothing_of_depth(desk: Any) -> None:
    desk.hear(**depth(300.0))
    desk.hear()
    assert desk.told(DepthRestored) == []


# ---- stops


def test_a_stop_is_told_once_with_its_cause_and_the_tripped_guards(desk: Any) -> None:
    cause = {"kind": "guard", "detail": "joint 1: |s - m| 4.1 > 3.0", "name": "divergence"}
    safety = {
        "divergence": {"enabled": True, "tripped": True},
        "joint_speed": {"tripped": True},
        "workarea": {"tripped": False},
        "odd": 3,
    }
    word = {"emergency_stop": True, "safety": safety, "extras": {"engage": "stopped", "stop_cause": cause}}
    for _ in range(3):
        desk.hear(**word)
    (stop,) = desk.told(FollowerStopped)
    assert (stop.kind, stop.name, stop.tripped) == ("guard", "divergence", ("divergence", "joint_speed"))
    assert level_of(stop).value == "alarm"
    assert "joint_speed" in sentence_of(stop)
    assert sentence_of(stop).count("divergence") == 1
    assert desk.core.report(desk.now_ns).stopped_by == "guard divergence"
    desk.hear()
    assert len(desk.told(FollowerReleased)) == 1
    assert desk.core.report(desk.now_ns).stopped_by == ""


def test_a_cause_that_had_to_be_shed_later_is_no_second_stop(desk: Any) -> None:
    cause = {"kind": "stall", "detail": "nothing has arrived", "name": "underrun"}
    for extras in (
        {"shed": ["extras"]},
        {"engage": "stopped", "stop_cause": cause},
        {"shed": ["extras"]},
        {"engage": "stopped", "stop_cause": cause},
    ):
        desk.hear(emergency_stop=True, extras=extras)
    assert [stop.kind for stop in desk.told(FollowerStopped)] == ["unnamed", "stall"]


def test_a_follower_without_a_measured_pose_is_no_stop(desk: Any) -> None:
    desk.hear(emergency_stop=True, extras={"engage": "idle", "stop_cause": None})
    assert desk.told(FollowerStopped) == []


@pytest.mark.parametrize(
    "extras",
    [
        {"engage": 3, "stop_cause": [], "link": None, "playout": [1], "estop_ack": [1]},
        {"engage": "stopped", "stop_cause": "no", "estop_ack": [1, 2, 3]},
        {"playout": {"target_ms": "deep", "min_ms": None, "jitter_ms": True}},
        {"link": {"datagram_loss_pct": 5.0, "delay_growth_ms": 1.0}, "playout": {"seq_holes": 0.5}},
        {"command_latency_ms": "fast"},
    ],
)
def test_extras_of_any_shape_read_as_not_said(desk: Any, extras: dict[str, Any]) -> None:
    desk.engage()
    assert desk.hear(extras=extras).verdict is TelemetryVerdict.ACCEPTED


def test_latencies_are_shown_and_decide_nothing(desk: Any) -> None:
    desk.hear(extras={"engage": "streaming", "command_latency_ms": 41.5})
    report = desk.core.report(desk.now_ns)
    assert (report.command_latency_ms, report.telemetry_latency_ms) == (41.5, 0.0)
    assert report.silent_ms == 0.0
