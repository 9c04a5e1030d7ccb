"""What leaves: one sequence for the process, history within the budget, sealed under the session's key."""

from typing import Any

import pytest

from steadyhand.core.operator.notices import RequestRefused
from steadyhand.core.operator.outputs import DatagramKind, LeadVerdict
from steadyhand.wire.action_payload import decode_action
from steadyhand.wire.head import ACTION_MAGIC, Head, read_head

MS = 1_000_000
HOME = (0.0, -90.0, 90.0, 0.0, 0.0, 0.0)
BIG = {"note": "x" * 300}


def seqs(desk: Any) -> list[int]:
    return [datagram.seq for datagram in desk.sent]


def version(data: bytes) -> int:
    head = read_head(data, ACTION_MAGIC)
    assert isinstance(head, Head)
    return head.version


def report(loss_pct: float, growth_ms: float) -> dict[str, Any]:
    return {
        "engage": "streaming",
        "link": {"datagram_loss_pct": loss_pct, "delay_growth_ms": growth_ms},
        "playout": {"jitter_ms": 1.0},
    }


def test_a_setpoint_leaves_verbatim_and_sealed(desk: Any) -> None:
    desk.engage()
    desk.lead((1.25, *HOME[1:]), leader_timestamp_s=4.5, extras={"tool": "pen"})
    (datagram,) = desk.sent
    assert (version(datagram.data), datagram.kind) == (3, DatagramKind.SETPOINT)
    setpoint = desk.setpoint(datagram)
    assert setpoint.joints_deg == (1.25, *HOME[1:])
    assert (setpoint.timestamp_s, setpoint.leader_timestamp_s) == (1.0, 4.5)
    assert setpoint.extras == {"tool": "pen"}
    assert decode_action(datagram.payload, "arm") == setpoint


def test_the_sequence_survives_engage_cycles_sessions_and_estops(desk: Any) -> None:
    desk.engage()
    desk.lead()
    desk.core.enter_idle(desk.now_ns)
    desk.engage()
    desk.lead()
    desk.open_session(8)
    desk.engage()
    desk.lead()
    desk.stop()
    desk.wait(20)
    assert seqs(desk) == [0, 1, 2, 3, 4, 5]


def test_the_sequence_wraps_at_2_to_the_32(make_desk: Any) -> None:
    desk = make_desk(first_seq=2**32 - 2, redundancy=10)
    desk.engage()
    for _ in range(4):
        desk.lead()
    assert seqs(desk) == [2**32 - 2, 2**32 - 1, 0, 1]
    assert [entry.seq for entry in desk.read(desk.sent[2]).entries] == [0, 2**32 - 1, 2**32 - 2]


def test_a_dropped_setpoint_spends_no_number(desk: Any) -> None:
    desk.engage()
    desk.lead()
    desk.lead(age_ms=50.0)
    desk.lead(robot_id="leg")
    desk.lead()
    assert seqs(desk) == [0, 1]


def test_a_bundle_carries_at_most_ten_previous_setpoints(make_desk: Any) -> None:
    desk = make_desk(redundancy=10, auth="none")
    desk.engage()
    for _ in range(14):
        desk.lead()
    assert [datagram.copies for datagram in desk.sent] == [*range(11), 10, 10, 10]
    assert [entry.seq for entry in desk.read(desk.sent[-1]).entries] == list(range(13, 2, -1))


@pytest.mark.parametrize("auth", ["sealed", "none"])
def test_a_bundle_stays_within_1232_bytes_and_sheds_the_oldest(make_desk: Any, auth: str) -> None:
    desk = make_desk(redundancy=10, auth=auth)
    desk.engage()
    for _ in range(8):
        desk.lead(extras=BIG)
    assert desk.sent[-1].copies == 2
    assert all(len(datagram.data) <= 1232 for datagram in desk.sent)
    assert len(desk.sent[-1].data) > 1000


def test_copies_follow_the_receiver_report(desk: Any) -> None:
    desk.engage()

    def run(loss_pct: float, growth_ms: float, periods: int) -> int:
        for _ in range(periods):
            desk.now_ns += 10 * MS
            desk.hear(extras=report(loss_pct, growth_ms))
            desk.lead(extras=BIG)
        copies: int = desk.sent[-1].copies
        return copies

    assert run(0.0, 0.0, 50) == 1
    assert run(8.0, 0.0, 400) == 2
    assert run(8.0, 200.0, 5) == 0
    assert desk.core.report(desk.now_ns).copies == 0
    assert desk.core.report(desk.now_ns).redundancy_rule


INCREDIBLE: list[Any] = [
    "none",
    [],
    {"datagram_loss_pct": True, "delay_growth_ms": 0.0},
    {"datagram_loss_pct": -4.0, "delay_growth_ms": 0.0},
    {"datagram_loss_pct": 100.0},
]


@pytest.mark.parametrize("link", INCREDIBLE)
def test_an_incredible_report_changes_nothing(desk: Any, link: Any) -> None:
    desk.engage()
    for _ in range(300):
        desk.now_ns += 10 * MS
        desk.hear(extras={"engage": "streaming", "link": link})
        assert desk.lead().verdict is LeadVerdict.SENT
    assert desk.sent[-1].copies == 1
    assert desk.core.report(desk.now_ns).redundancy_rule == ""


def test_history_of_an_earlier_engagement_never_rides_along(make_desk: Any) -> None:
    desk = make_desk(redundancy=10)
    desk.engage()
    desk.lead()
    desk.lead()
    desk.core.enter_idle(desk.now_ns)
    desk.engage()
    desk.lead()
    assert [datagram.copies for datagram in desk.sent] == [0, 1, 0]


def test_history_of_an_earlier_session_is_never_sealed_anew(make_desk: Any) -> None:
    desk = make_desk(redundancy=10)
    desk.engage()
    desk.lead()
    desk.open_session(8)
    assert desk.lead().verdict is LeadVerdict.NOT_ENGAGED
    desk.engage()
    desk.lead()
    assert desk.sent[-1].copies == 0
    assert desk.read(desk.sent[-1]).session_id == 8


def test_a_session_is_never_sealed_under_twice(desk: Any) -> None:
    desk.open_session(8)
    for used in (7, 8):
        assert "used before" in (desk.open_session(used) or "")
    assert len(desk.told(RequestRefused)) == 2
    desk.engage()
    desk.lead()
    assert desk.read(desk.sent[-1]).session_id == 8


@pytest.mark.parametrize(("command", "telemetry"), [(b"short", bytes(32)), (bytes(32), b"short")])
def test_a_session_with_a_bad_key_is_refused_and_the_old_one_lives(
    desk: Any, command: bytes, telemetry: bytes
) -> None:
    assert desk.core.session_opened(8, command, telemetry, desk.now_ns)
    desk.engage()
    desk.lead()
    assert desk.read(desk.sent[-1]).session_id == 7


def test_a_closed_session_sends_nothing_and_believes_nobody(desk: Any) -> None:
    desk.engage()
    desk.core.session_closed(desk.now_ns)
    assert desk.lead().verdict is LeadVerdict.NOT_ENGAGED
    assert desk.hear().state is None


def test_a_lab_without_sealing_speaks_versions_1_and_2(make_desk: Any) -> None:
    desk = make_desk(auth="none", redundancy=1)
    desk.engage()
    desk.lead()
    desk.lead()
    desk.stop()
    assert [version(datagram.data) for datagram in desk.sent] == [1, 2, 1]


def test_on_the_ordered_transport_setpoints_are_streamed_and_estops_take_both_ways(make_desk: Any) -> None:
    desk = make_desk(transport="grpc")
    desk.engage()
    output = desk.lead((5.0, *HOME[1:]))
    (action,) = output.outbound.actions
    setpoint = decode_action(action.payload, "arm")
    assert getattr(setpoint, "joints_deg", None) == (5.0, *HOME[1:])
    assert desk.sent == []
    desk.stop()
    assert [datagram.kind for datagram in desk.sent] == [DatagramKind.ESTOP]
