"""FollowerCore: what arrives, what leaves, and what stops it."""

from itertools import pairwise
from typing import Any

import pytest

from steadyhand.core.follower import FollowerCore, FollowerSettings
from steadyhand.core.follower.inputs import (
    EditGuard,
    EmergencyStop,
    EnterIdle,
    FeedLost,
    PrepareStream,
    ProbeFailed,
    ProbeReady,
    ProcessLost,
    ResetEmergency,
    ScaleSpeed,
    ToggleGuard,
)
from steadyhand.core.follower.outputs import (
    CancelProbe,
    EndStream,
    FrameKind,
    ProgramFault,
    SendJoints,
    StartProbe,
    StartStream,
    StopMotion,
    Stopped,
)
from steadyhand.core.safety.latch import StopCause, StopKind
from steadyhand.core.safety.writes import WriteOutcome
from steadyhand.ground.robot_state import RobotState
from steadyhand.ground.setpoint import Setpoint
from steadyhand.wire import action_pb2
from steadyhand.wire.action_frame import encode_sealed
from steadyhand.wire.action_payload import encode_action
from steadyhand.wire.bundle import Entry
from steadyhand.wire.rejections import Reason
from steadyhand.wire.telemetry_frame import fit_state, telemetry_room_bytes

MS = 1_000_000
HOME = (0.0, -90.0, 90.0, 0.0, 0.0, 0.0)
RESET = ResetEmergency(operator="ann", reason="looked at it")


def estop(rig: Any, episode_id: int = 1) -> bytes:
    datagram: bytes = rig.datagram((), emergency_stop=True, episode_id=episode_id)
    return datagram


def kinds(commands: Any) -> list[type]:
    return [type(command) for command in commands]


# ---- engaging


def test_nothing_engages_before_the_first_measured_frame(rig: Any) -> None:
    reply = rig.control(PrepareStream())
    assert (reply.outcome, rig.core.state.value) == ("refused", "idle")
    assert "measured frame" in reply.reason


def test_engaging_probes_at_the_measured_pose_and_primes_on_it(rig: Any) -> None:
    rig.engage()
    assert rig.commands == [StartProbe(HOME), StartStream()]
    rig.tick()
    assert rig.frames == [HOME]  # nothing has arrived: the primed pose is held


def test_a_failed_probe_leads_back_to_idle_with_its_reason(rig: Any) -> None:
    rig.observe()
    rig.control(PrepareStream())
    rig.control(ProbeFailed(reason="101 for 5 s"))
    assert rig.core.state.value == "idle"
    assert CancelProbe() in rig.commands
    assert any("101 for 5 s" in str(event) for event in rig.events)


def test_a_stream_of_setpoints_leaves_as_legal_frames_one_a_tick(rig: Any) -> None:
    rig.engage()
    rig.stream(200)
    assert len(rig.frames) >= 195
    assert (
        rig.core.stream.buffer.stats.released
        == len([1 for _ in range(rig.seq)]) - rig.core.stream.buffer.depth
    )
    rig.check_legal()


def test_setpoints_outside_a_stream_are_counted_and_never_queued(rig: Any) -> None:
    rig.observe()
    rig.deliver(rig.datagram((50.0, *HOME[1:])))
    assert rig.core.ingress.counts.not_streaming == 1
    rig.engage()
    assert rig.core.stream.buffer.depth == 0


def test_a_jump_is_absorbed_by_the_shaper(rig: Any) -> None:
    rig.engage()
    rig.stream(20)
    rig.pose = (rig.pose[0] + 30.0, *rig.pose[1:])
    rig.stream(150, step_deg=0.0)
    rig.check_legal()
    assert rig.core.state.value == "streaming"
    assert rig.frames[-1][0] == pytest.approx(rig.pose[0], abs=0.01)


# ---- hostile datagrams


def test_replayed_forged_and_truncated_datagrams_are_counted_and_dropped(rig: Any) -> None:
    rig.engage()
    good = rig.datagram(HOME)
    rig.deliver(good)
    rig.deliver(good)
    forged = bytearray(rig.datagram(HOME))
    forged[-1] ^= 1
    rig.deliver(bytes(forged))
    rig.deliver(rig.datagram(HOME)[:20])
    counted = rig.core.ingress.rejections
    assert counted.of(Reason.REPLAYED) == 1
    assert counted.of(Reason.UNAUTHENTIC) == 1
    assert counted.of(Reason.TRUNCATED) == 1
    assert rig.core.stream.buffer.depth == 1
    assert rig.core.state.value == "streaming"


def test_a_frame_for_another_robot_is_dropped_silently(rig: Any) -> None:
    rig.engage()
    other = rig.datagram(HOME).replace(b"arm", b"leg")
    assert rig.deliver(other) == ()
    assert rig.core.ingress.rejections.total == 0
    assert rig.core.ingress.counts.foreign == 1


def test_plain_frames_are_refused_where_commands_are_sealed(rig: Any) -> None:
    rig.engage()
    rig.deliver(rig.plain(HOME))
    assert rig.core.ingress.rejections.of(Reason.NOT_SEALED) == 1
    assert rig.deliver(rig.plain((), emergency_stop=True)) == ()
    assert rig.core.state.value == "streaming"


def test_an_open_estop_is_obeyed_from_anyone_where_the_policy_says_so(make_rig: Any) -> None:
    rig = make_rig(remote_node={"estop_open": True})
    rig.engage()
    rig.deliver(rig.plain(HOME))
    assert rig.core.state.value == "streaming"
    rig.deliver(rig.plain((), emergency_stop=True))
    assert rig.core.state.value == "stopped"


def test_a_lab_without_sealing_takes_plain_frames(make_rig: Any) -> None:
    rig = make_rig(remote_node={"auth": "none"})
    rig.engage()
    for _ in range(30):
        rig.deliver(rig.plain(HOME))
        rig.tick()
    assert rig.core.stream.buffer.stats.released > 20


def raw(rig: Any, **fields: Any) -> bytes:
    """A sealed datagram around a protobuf that no sender of ours would make."""
    payload = action_pb2.Action(**fields).SerializeToString()
    rig.seq += 1
    datagram: bytes = encode_sealed(robot_id="arm", entries=(Entry(rig.seq - 1, payload),), sealer=rig.sealer)
    return datagram


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_joint_that_is_no_number_rejects_the_datagram_and_holds_the_last(rig: Any, bad: float) -> None:
    rig.engage()
    rig.stream(10)
    rig.deliver(raw(rig, timestamp=1.0, joint_positions=[bad, 0, 0, 0, 0, 0]))
    assert rig.core.ingress.rejections.of(Reason.NON_FINITE_JOINT) == 1
    assert rig.core.state.value == "streaming"
    rig.stream(10)
    rig.check_legal()


def test_an_authentic_datagram_that_is_no_setpoint_stops_the_arm(rig: Any) -> None:
    rig.engage()
    rig.deliver(raw(rig, timestamp=1.0, joint_positions=[1.0, 2.0]))
    assert rig.core.cause.kind is StopKind.UNREADABLE_COMMAND
    assert "joint_count" in rig.core.cause.detail


def test_copies_already_seen_are_dropped_before_their_payload_is_parsed(rig: Any) -> None:
    rig.engage()
    rig.deliver(rig.datagram(HOME))
    # The copy's payload is garbage: parsing it would stop the arm.
    entries = (Entry(1, encode_action(rig.setpoint(HOME))), Entry(0, b"\xff\xff\xff"))
    rig.deliver(encode_sealed(robot_id="arm", entries=entries, sealer=rig.sealer))
    assert rig.core.state.value == "streaming"
    assert rig.core.stream.buffer.stats.duplicate_dropped == 1


# ---- e-stop


def test_an_estop_acts_on_arrival_and_flushes(rig: Any) -> None:
    rig.engage()
    rig.stream(20)
    commands = rig.deliver(estop(rig))
    assert kinds(commands) == [EndStream, StopMotion]
    assert rig.core.state.value == "stopped"
    assert rig.core.stream.buffer.depth == 0
    frames = len(rig.frames)
    rig.stream(20)
    assert len(rig.frames) == frames


def test_an_estop_is_acknowledged_and_its_late_copies_never_latch_again(rig: Any) -> None:
    rig.engage()
    rig.stream(20)
    rig.deliver(estop(rig, 5))
    assert rig.core.report(rig.now_ns, 1.0).extras["estop_ack"] == [7, 5]
    rig.deliver(estop(rig, 5))
    for _ in range(20):
        rig.tick()
    assert rig.control(RESET).outcome == "done"
    rig.deliver(estop(rig, 5))
    assert rig.core.state.value == "idle"
    rig.deliver(estop(rig, 6))
    assert rig.core.state.value == "stopped"


def test_an_estop_over_the_control_service_stops_too(rig: Any) -> None:
    rig.engage()
    rig.stream(20)
    rig.control(EmergencyStop(source="control service", session_id=7, episode_id=9))
    assert rig.core.cause.name == "control service"
    assert rig.core.stream.buffer.depth == 0


def test_nothing_queued_before_an_estop_is_released_after_the_reset(rig: Any) -> None:
    rig.engage()
    rig.stream(20)
    stale = [rig.datagram((40.0, *HOME[1:])) for _ in range(3)]
    rig.deliver(estop(rig))
    for _ in range(20):
        rig.tick()
    rig.control(RESET)
    rig.engage()
    for datagram in stale:
        rig.deliver(datagram)
    assert rig.core.stream.buffer.depth == 0
    assert rig.core.stream.buffer.stats.late_dropped >= 3


# ---- stops and resets


def test_a_silent_link_is_a_stop_that_names_its_cause(rig: Any) -> None:
    rig.engage()
    rig.stream(30)
    for _ in range(12):
        rig.tick()
    assert rig.core.cause.kind is StopKind.STALL
    assert "nothing has arrived" in rig.core.cause.detail
    assert any(isinstance(event, Stopped) for event in rig.events)


def test_a_reset_is_refused_while_its_cause_stands(rig: Any) -> None:
    rig.engage()
    rig.stream(30)
    rig.deliver(estop(rig))
    rig.observe(estop_pressed=True)
    assert "pressed" in rig.control(RESET).reason
    rig.observe(speeds_deg_s=(12.0, 0, 0, 0, 0, 0))
    assert "moves" in rig.control(RESET).reason
    rig.observe(fault_code=1, fault_sub_code=32)
    assert "1/32" in rig.control(RESET).reason
    rig.now_ns += 1_000 * MS
    assert "silent" in rig.control(RESET).reason
    rig.observe()
    assert rig.control(RESET).outcome == "done"


def test_a_controller_fault_and_its_estop_input_stop_the_arm(make_rig: Any) -> None:
    for fields, kind in (
        ({"fault_code": 1, "fault_sub_code": 32}, StopKind.CONTROLLER_FAULT),
        ({"estop_pressed": True}, StopKind.ESTOP),
    ):
        rig = make_rig()
        rig.engage()
        assert kinds(rig.observe(**fields)) == [EndStream, StopMotion]
        assert rig.core.cause.kind is kind


def test_an_arm_that_moves_by_itself_is_stopped_by_a_named_guard(rig: Any) -> None:
    rig.engage()
    rig.stream(40, step_deg=0.0)
    rig.in_the_arm = type(rig.in_the_arm)((2.0 * k, *HOME[1:]) for k in range(1, 30))
    rig.stream(25, step_deg=0.0)
    assert rig.core.cause.kind is StopKind.GUARD
    assert rig.core.cause.name in ("divergence", "joint_speed")
    assert rig.core.cause.detail


def test_a_dead_process_stops_the_arm(rig: Any) -> None:
    rig.engage()
    rig.control(ProcessLost(name="control plane"))
    assert rig.core.cause.kind is StopKind.PROCESS_LOST
    assert "control plane" in rig.core.cause.detail


def test_writes_that_fail_do_not_advance_the_shaper_and_three_stop_the_arm(rig: Any) -> None:
    rig.engage()
    rig.stream(40)
    rig.write_outcome = WriteOutcome.TRANSIENT
    rig.stream(2)
    assert rig.core.state.value == "streaming"
    rig.write_outcome = WriteOutcome.TAKEN
    rig.stream(5)
    rig.check_legal()
    rig.write_outcome = WriteOutcome.TRANSIENT
    rig.stream(3)
    assert rig.core.cause.kind is StopKind.WRITE_FAILURES


def test_a_channel_that_is_gone_stops_at_once(rig: Any) -> None:
    rig.engage()
    rig.stream(20)
    rig.write_outcome = WriteOutcome.FATAL
    rig.stream(1)
    assert rig.core.cause.kind is StopKind.DRIVER_ERROR


def test_a_soft_stop_brakes_to_rest_and_then_ends_the_stream(rig: Any) -> None:
    rig.engage()
    rig.stream(80, step_deg=1.0)
    assert rig.control(EnterIdle()).outcome == "done"
    assert rig.core.state.value == "braking"
    ended_after = len(rig.commands)
    for _ in range(60):
        rig.tick()
    assert rig.core.state.value == "idle"
    rig.check_legal()
    assert rig.frames[-1] == rig.frames[-2] or abs(rig.frames[-1][0] - rig.frames[-2][0]) < 0.051
    assert kinds(rig.commands[ended_after:])[-1] is EndStream


def test_a_data_plane_that_was_restarted_comes_up_latched(rig: Any) -> None:
    cause = StopCause(kind=StopKind.PROCESS_LOST, detail="data plane restarted")
    core = FollowerCore(FollowerSettings.from_config(rig.config), stopped_by=cause)
    assert core.state.value == "stopped"
    reply, _ = core.control(PrepareStream(), 0)
    assert reply.outcome == "refused"


FAULTY = [
    ("receive", "ingress.transit", "observe"),
    ("receive", "stream.buffer", "offer"),
    ("tick", "stream.buffer", "drain_tick"),
    ("tick", "stream.envelope", "validate_command"),
    ("observe", "stream.envelope", "observe_state"),
    ("note_write", "stream.envelope", "commit"),
    ("control", "arm.machine", "handle"),
]


@pytest.mark.parametrize(("where", "part", "method"), FAULTY)
def test_an_exception_injected_anywhere_latches(
    where: str, part: str, method: str, rig: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.engage()
    rig.stream(20)
    target = rig.core
    for name in part.split("."):
        target = getattr(target, name)

    def broken(*args: Any, **kwargs: Any) -> None:
        raise ZeroDivisionError("injected")

    monkeypatch.setattr(type(target), method, broken)
    if where == "control":
        assert rig.control(EnterIdle()).outcome == "refused"
    else:
        rig.stream(1)
    monkeypatch.undo()
    assert rig.core.cause.kind is StopKind.PROGRAM_ERROR
    assert where in rig.core.cause.detail
    assert any(isinstance(event, ProgramFault) and "injected" in event.traceback for event in rig.events)
    assert EndStream() in rig.commands


# ---- the network at its worst


def test_a_freeze_of_two_seconds_and_its_burst_replays_nothing(rig: Any) -> None:
    rig.engage()
    rig.stream(50)
    held_back = []
    for _ in range(200):
        rig.pose = (rig.pose[0] + 0.3, *rig.pose[1:])
        held_back.append(rig.datagram(rig.pose, stamp_s=500.0 + rig.now_ns / 1e9))
        rig.tick()
    assert rig.core.state.value == "stopped"
    assert rig.control(RESET).outcome == "done"
    rig.engage()
    rig.frames.clear()
    for datagram in held_back:
        rig.deliver(datagram)
    played = []
    for _ in range(60):
        rig.deliver(rig.datagram(rig.pose))
        output = rig.tick()
        if output.released is not None:
            played.append(output.released.target_deg[0])
    # Whatever played was sent within the age cap: 50 ms of buffer and 200 ms of margin.
    assert played
    assert min(played) >= rig.pose[0] - 0.3 * 26
    rig.check_legal()


@pytest.mark.parametrize("step_s", [3600.0, -3600.0])
def test_a_senders_clock_that_steps_by_an_hour_never_replays(rig: Any, step_s: float) -> None:
    rig.engage()
    rig.stream(50)
    for _ in range(100):
        rig.pose = (rig.pose[0] + 0.3, *rig.pose[1:])
        rig.deliver(rig.datagram(rig.pose, stamp_s=500.0 + step_s + rig.now_ns / 1e9))
        rig.tick()
    rig.check_legal()
    assert rig.core.state.value in ("streaming", "stopped")
    assert all(later[0] >= earlier[0] - 1e-9 for earlier, later in pairwise(rig.frames))


def test_a_restarted_operator_opens_a_new_session_and_its_old_frames_are_retired(rig: Any) -> None:
    rig.engage()
    rig.stream(50)
    for _ in range(12):
        rig.tick()
    assert rig.core.state.value == "stopped"
    old = [rig.datagram(rig.pose) for _ in range(5)]
    assert (
        rig.core.open_session(session_id=8, command_key=bytes(32), operator="ann", now_ns=rig.now_ns).outcome
        == "done"
    )
    for datagram in old:
        rig.deliver(datagram)
    assert rig.core.ingress.rejections.of(Reason.RETIRED_SESSION) == 5
    assert rig.core.stream.buffer.stats.retired_session == 5


# ---- who speaks


def test_a_second_operator_is_refused_by_name(rig: Any) -> None:
    rig.engage()
    reply = rig.core.open_session(
        session_id=9, command_key=bytes(32), operator="bob", now_ns=rig.now_ns, take_over=True
    )
    assert (reply.outcome, "ann" in reply.reason) == ("refused", True)


def test_a_held_session_is_taken_over_only_on_request_and_only_when_idle(rig: Any) -> None:
    opened = [
        rig.core.open_session(
            session_id=session, command_key=bytes(32), operator="bob", now_ns=0, take_over=take_over
        ).outcome
        for session, take_over in ((9, False), (10, True))
    ]
    assert opened == ["refused", "done"]
    assert rig.core.operator == "bob"


def test_a_session_is_never_opened_twice(rig: Any) -> None:
    again = rig.core.open_session(session_id=7, command_key=bytes(32), operator="ann", now_ns=0)
    assert (again.outcome, "used before" in again.reason) == ("refused", True)


def test_a_closed_session_leaves_frames_of_nobody(rig: Any) -> None:
    rig.core.close_session("bob")
    assert rig.core.operator == "ann"
    rig.core.close_session("ann")
    rig.deliver(rig.datagram(HOME))
    assert rig.core.ingress.rejections.of(Reason.RETIRED_SESSION) == 1


@pytest.mark.parametrize("ready", [False, True])
def test_an_engagement_is_nobodys_to_inherit(rig: Any, ready: bool) -> None:
    rig.observe()
    rig.control(PrepareStream(operator="ann"))
    if ready:
        rig.control(ProbeReady())
    rig.core.close_session("ann")
    asked = rig.core.open_session(session_id=9, command_key=bytes(32), operator="bob", now_ns=0)
    assert (asked.outcome, "an operator that has gone" in asked.reason) == ("refused", True)
    while rig.core.arm.engaged:
        rig.control(EnterIdle(operator="x"))
        rig.tick()
    asked = rig.core.open_session(session_id=9, command_key=bytes(32), operator="bob", now_ns=0)
    assert asked.outcome == "done"


# ---- transports


def test_one_sequence_space_a_deployment_the_other_transport_is_refused(make_rig: Any) -> None:
    ordered = make_rig(remote_node={"transport": "grpc"})
    ordered.engage()
    ordered.deliver(ordered.datagram(HOME))
    assert ordered.core.ingress.counts.wrong_transport == 1
    for _ in range(12):
        payload = encode_action(ordered.setpoint(HOME))
        ordered.core.receive_action(payload, 7, ordered.now_ns, 1.0)
        ordered.tick()
    assert ordered.core.stream.buffer.stats.released > 0
    ordered.deliver(estop(ordered))
    assert ordered.core.state.value == "stopped"


def test_an_action_stream_is_refused_where_datagrams_are_configured_and_its_estop_obeyed(rig: Any) -> None:
    rig.engage()
    rig.core.receive_action(encode_action(rig.setpoint(HOME)), 7, rig.now_ns, 1.0)
    assert rig.core.ingress.counts.wrong_transport == 1
    stop = Setpoint(joints_deg=(), timestamp_s=0.0, emergency_stop=True, episode_id=3, robot_id="arm")
    commands = rig.core.receive_action(encode_action(stop), 7, rig.now_ns, 1.0)
    assert kinds(commands) == [EndStream, StopMotion]


def test_passthrough_sends_the_latest_holds_the_stale_and_leaves_softly_when_starved(make_rig: Any) -> None:
    rig = make_rig(communication={"playout_buffer_ms": 0.0})
    rig.engage()
    rig.stream(30)
    rig.check_legal()
    assert rig.core.stream.buffer is None
    for _ in range(130):
        rig.tick()
    assert rig.core.state.value == "idle"
    rig.check_legal()


def test_passthrough_never_steps_back_to_an_older_number_nor_takes_a_stale_tail(make_rig: Any) -> None:
    rig = make_rig(communication={"playout_buffer_ms": 0.0}, remote_node={"auth": "none"})
    rig.engage()
    first, second = rig.plain(HOME), rig.plain((1.0, *HOME[1:]))
    rig.deliver(second)
    rig.deliver(first)
    assert rig.core.ingress.counts.gate_dropped == 1
    rig.deliver(rig.plain((9.0, *HOME[1:]), stamp_s=500.0 + rig.now_ns / 1e9 - 0.5))
    assert rig.core.ingress.counts.stale_dropped == 1


# ---- guards at run time


def test_an_edit_that_would_not_construct_is_refused_and_one_that_would_waits_for_the_next_engagement(
    rig: Any,
) -> None:
    rig.engage()
    refused = rig.control(EditGuard(block="joint_speed", changes={"max_deg_s": 100.0}))
    assert (refused.outcome, "joint_speed" in refused.reason) == ("refused", True)
    assert rig.control(EditGuard(block="stream_shaper", changes={"v_max_deg_s": 60.0})).outcome == "done"
    rig.stream(60, step_deg=1.0)
    rig.check_legal()
    rig.control(EnterIdle())
    for _ in range(60):
        rig.tick()
    rig.pose = rig.measured
    rig.engage()
    rig.frames.clear()
    rig.stream(120, step_deg=1.0)
    steps = [abs(b[0] - a[0]) / 0.01 for a, b in pairwise(rig.frames)]
    assert 50.0 < max(steps) <= 60.0 + 1e-6


def test_toggles_keep_the_pairing_and_retired_names_warn(rig: Any) -> None:
    assert rig.control(ToggleGuard(name="divergence", enabled=False)).outcome == "refused"
    assert rig.control(ToggleGuard(name="cap_delta", enabled=False)).outcome == "done"
    rig.tick()
    assert any("RetiredNameUsed" in str(event) for event in rig.events)


def test_speed_is_scaled_down_and_back(rig: Any) -> None:
    assert rig.control(ScaleSpeed(share=0.0)).outcome == "refused"
    assert rig.control(ScaleSpeed(share=0.5)).outcome == "done"
    rig.engage()
    rig.stream(120, step_deg=1.2)
    steps = [abs(b[0] - a[0]) / 0.01 for a, b in pairwise(rig.frames)]
    assert max(steps) <= 65.0 + 1e-6
    assert rig.control(ScaleSpeed(share=1.0)).outcome == "done"


def test_a_lost_feed_must_deliver_again_before_an_engagement(rig: Any) -> None:
    rig.observe()
    rig.control(FeedLost(reason="connection reset"))
    assert rig.control(PrepareStream()).outcome == "refused"
    rig.observe()
    assert rig.control(PrepareStream()).outcome == "done"
    assert rig.control(ProbeReady()).outcome == "done"


# ---- telling


def test_the_report_fits_a_telemetry_frame_and_says_what_the_buffer_does(rig: Any) -> None:
    rig.engage()
    rig.stream(30)
    state = rig.core.report(rig.now_ns, 1_700_000_000.0)
    assert state.extras["playout"]["released"] == rig.core.stream.buffer.stats.released
    assert state.extras["engage"] == "streaming"
    assert state.safety == {"any_tripped": False}
    assert_whole(state)


def assert_whole(state: RobotState) -> None:
    """The state fits a sealed telemetry datagram with nothing shed."""
    room = telemetry_room_bytes("a-robot-name-of-length", sealed=True)
    payload = fit_state(state, room_bytes=room)
    assert len(payload) <= room
    assert b'"shed"' not in payload


def test_a_stopped_arm_still_tells_everything_in_one_datagram(rig: Any) -> None:
    rig.engage()
    rig.stream(60)
    for _ in range(12):
        rig.tick()
    rig.deliver(estop(rig, 2**63))
    state = rig.core.report(rig.now_ns, 1_700_000_000.0)
    assert state.extras["stop_cause"]["kind"] == "stall"
    assert "nothing has arrived" in state.extras["playout"]["last_stall"]
    assert state.extras["estop_ack"] == [7, 2**63]
    assert_whole(state)


def test_a_tripped_guard_is_told_with_its_reason(rig: Any) -> None:
    rig.engage()
    rig.stream(40, step_deg=0.0)
    rig.in_the_arm = type(rig.in_the_arm)((2.0 * k, *HOME[1:]) for k in range(1, 30))
    rig.stream(25, step_deg=0.0)
    state = rig.core.report(rig.now_ns, 1_700_000_000.0)
    told = [entry for entry in state.safety.values() if isinstance(entry, dict) and entry["tripped"]]
    assert told
    assert told[0]["last_reason"]
    assert state.safety["any_tripped"] is True
    assert_whole(state)


def test_command_latency_is_wall_now_minus_the_leaders_stamp(rig: Any) -> None:
    rig.engage()
    rig.deliver(rig.datagram(HOME, leader_timestamp_s=1_700_000_000.0 - 0.05))
    state = rig.core.report(rig.now_ns, 0.0)
    assert state.extras["command_latency_ms"] == pytest.approx(50.0, abs=0.01)


def test_a_released_setpoint_tells_its_way_through_the_follower(rig: Any) -> None:
    rig.engage()
    outputs = []
    for _ in range(20):
        rig.deliver(rig.datagram(HOME))
        outputs.append(rig.tick())
    released = [output.released for output in outputs if output.released is not None]
    assert released
    assert all(r.released_ns >= r.arrived_ns for r in released)
    assert [r.seq for r in released] == list(range(len(released)))
    frame = next(c for c in outputs[-1].commands if isinstance(c, SendJoints))
    assert (frame.kind, frame.seq) == (FrameKind.FRESH, released[-1].seq)


def test_a_tick_late_by_more_than_a_period_snaps_the_grid_and_is_counted(rig: Any) -> None:
    rig.engage()
    due_ns = rig.core.tick(rig.now_ns).next_tick_ns
    assert due_ns == rig.now_ns + 10 * MS
    on_time = rig.core.tick(due_ns + 2 * MS)
    assert on_time.next_tick_ns == due_ns + 10 * MS
    late_ns = on_time.next_tick_ns + 25 * MS
    assert rig.core.tick(late_ns).next_tick_ns == late_ns + 10 * MS
    assert rig.core.late_ticks == 1
