"""Calls of the control service: believed only if signed, once, in order; carried out or refused."""

import json
import threading
from typing import Any

import grpc
import pytest

from steadyhand.core.follower.inputs import EmergencyStop, EnterIdle, PrepareStream, ProcessLost
from steadyhand.edge.control_service import METHODS, CallFault, ControlError
from steadyhand.edge.keys import PresharedKey, Unauthenticated
from steadyhand.edge.robots.contract import CallOutcome
from steadyhand.nodes.follower.local_link import Ask, StreamAction
from steadyhand.wire import control_pb2
from steadyhand.wire.control_auth import AUTH_METADATA, ControlSigner

STOP = control_pb2.EmergencyStopRequest(reason="a hand in the way", episode_id=7)


def led(rig: Any, operator: str = "ada") -> Any:
    """A client with the session."""
    client = rig.client()
    client.open_session(rig.wish(operator))
    assert client.session_id
    return client


def asked(rig: Any, kind: type) -> Any:
    """The next command of that kind that reached the data plane."""
    message = rig.data_plane.wait_heard(lambda m: isinstance(m, Ask) and isinstance(m.command, kind))
    return message.command


def raw(client: Any, name: str, request: bytes, token: bytes) -> bytes:
    """A call with whatever metadata, past the client's signing."""
    call = client._channel.unary_unary(METHODS[name].path, None, None)
    answer: bytes = call(request, timeout=10, metadata=((AUTH_METADATA, token),))
    return answer


def refusal(caught: Any) -> tuple[grpc.StatusCode, str]:
    return caught.value.code(), caught.value.details()


# ---- who is believed


def test_a_replayed_call_is_refused(rig: Any) -> None:
    client = led(rig)
    request = control_pb2.EnterIdleRequest().SerializeToString()
    token = client._signer.call(METHODS["EnterIdle"].path, request).token
    raw(client, "EnterIdle", request, token)
    with pytest.raises(grpc.RpcError) as caught:
        raw(client, "EnterIdle", request, token)
    assert refusal(caught) == (grpc.StatusCode.UNAUTHENTICATED, "replayed: this call was made before")
    assert rig.plane.gate.rejections.as_dict()["replayed"] == 1


def test_a_call_that_a_newer_one_overtook_is_refused(rig: Any) -> None:
    client = led(rig)
    held_back = control_pb2.ResetEmergencyRequest(reason="for another stop").SerializeToString()
    token = client._signer.call(METHODS["ResetEmergency"].path, held_back).token
    client.enter_idle()
    with pytest.raises(grpc.RpcError) as caught:
        raw(client, "ResetEmergency", held_back, token)
    assert "a newer call came before" in refusal(caught)[1]


def test_an_estop_that_a_newer_call_overtook_stops_all_the_same(rig: Any) -> None:
    client = led(rig)
    token = client._signer.call(METHODS["EmergencyStop"].path, STOP.SerializeToString()).token
    client.enter_idle()
    raw(client, "EmergencyStop", STOP.SerializeToString(), token)
    assert asked(rig, EmergencyStop).episode_id == 7


@pytest.mark.parametrize("flipped", [0, 8, 16, 47])
def test_a_call_with_a_bit_changed_is_refused(rig: Any, flipped: int) -> None:
    client = led(rig)
    request = control_pb2.EnterIdleRequest().SerializeToString()
    token = bytearray(client._signer.call(METHODS["EnterIdle"].path, request).token)
    token[flipped] ^= 1
    with pytest.raises(grpc.RpcError) as caught:
        raw(client, "EnterIdle", request, bytes(token))
    assert refusal(caught)[0] is grpc.StatusCode.UNAUTHENTICATED


def test_a_call_with_another_body_is_refused(rig: Any) -> None:
    client = led(rig)
    signed = control_pb2.ScaleSpeedRequest(share=0.1).SerializeToString()
    token = client._signer.call(METHODS["ScaleSpeed"].path, signed).token
    with pytest.raises(grpc.RpcError) as caught:
        raw(client, "ScaleSpeed", control_pb2.ScaleSpeedRequest(share=1.0).SerializeToString(), token)
    assert refusal(caught)[1].startswith("unauthentic")


def test_a_proof_for_one_call_is_none_for_another(rig: Any) -> None:
    client = led(rig)
    token = client._signer.call(METHODS["EnterIdle"].path, b"").token
    with pytest.raises(grpc.RpcError) as caught:
        raw(client, "PrepareStream", b"", token)
    assert refusal(caught)[1].startswith("unauthentic")
    assert rig.prepare_port.calls.empty()


def test_a_forged_call_does_not_shut_the_operator_out(rig: Any) -> None:
    client = led(rig)
    forger = ControlSigner(session_id=client.session_id, key=bytes(32))
    forger._counter = 1 << 40
    with pytest.raises(grpc.RpcError):
        raw(client, "EnterIdle", b"", forger.call(METHODS["EnterIdle"].path, b"").token)
    assert client.enter_idle().outcome == "ignored"


def test_an_answer_that_is_not_signed_is_not_believed(rig: Any) -> None:
    client = led(rig)
    believed = client._believed

    def tampered(method: Any, signer: Any, signed: Any, ended: Any) -> Any:
        other = ControlSigner(session_id=signer.session_id, key=bytes(32))
        return believed(method, other, signed, ended)

    client._believed = tampered
    with pytest.raises(ControlError, match="not the follower's") as caught:
        client.enter_idle()
    assert caught.value.fault is CallFault.FORGED


def test_many_calls_at_once_are_each_answered(rig: Any) -> None:
    client = led(rig)
    futures = [client.call("EnterIdle", control_pb2.EnterIdleRequest(), 10.0) for _ in range(50)]
    assert {future.result().outcome for future in futures} == {"ignored"}


# ---- e-stop


def test_an_estop_of_the_operator_stops_and_names_it(rig: Any) -> None:
    client = led(rig)
    assert client.emergency_stop("a hand in the way", episode_id=7).outcome == "done"
    command = asked(rig, EmergencyStop)
    assert (command.source, command.episode_id) == ("ada: a hand in the way", 7)
    assert rig.data_plane.core.state == "stopped"


def test_an_unsigned_estop_is_refused(rig: Any) -> None:
    with pytest.raises(ControlError) as caught:
        rig.client().emergency_stop("x")
    assert caught.value.fault is CallFault.NOT_BELIEVED
    assert rig.data_plane.core.state == "idle"


def test_an_unsigned_estop_stops_where_estop_open_says_so(make_rig: Any) -> None:
    rig = make_rig(estop_open=True)
    assert rig.client().emergency_stop("x").outcome == "done"
    assert rig.data_plane.core.state == "stopped"
    with pytest.raises(ControlError):
        rig.client().enter_idle()


def test_this_hosts_user_stops_without_a_session(rig: Any) -> None:
    assert rig.local().emergency_stop("steadyhand stop").outcome == "done"
    assert asked(rig, EmergencyStop).source == "this host: steadyhand stop"


def test_this_hosts_user_leads_nothing_without_a_session(rig: Any) -> None:
    with pytest.raises(ControlError, match="needs a session"):
        rig.local().prepare_stream()
    with pytest.raises(ControlError, match="needs a session"):
        rig.local().scale_speed(1.0)


def test_only_its_owner_can_open_the_unix_socket(rig: Any) -> None:
    import os

    assert os.stat(rig.socket_path).st_mode & 0o777 == 0o600


def test_an_estop_goes_round_a_data_plane_that_does_not_answer(impatient_rig: Any) -> None:
    impatient_rig.data_plane.mute = True
    reply = impatient_rig.local().emergency_stop("now")
    assert "StopMotion is called at the controller" in reply.reason
    impatient_rig.stop_port.wait_call("stop")


# ---- engaging


def test_preparing_enables_the_arm_and_then_engages(rig: Any) -> None:
    client = led(rig)
    assert client.prepare_stream().outcome == "done"
    rig.prepare_port.wait_call("enable")
    assert asked(rig, PrepareStream).operator == "ada"


@pytest.mark.parametrize("outcome", [CallOutcome.REFUSED, CallOutcome.UNANSWERED])
def test_an_arm_that_cannot_be_enabled_is_not_engaged(rig: Any, outcome: CallOutcome) -> None:
    client = led(rig)
    rig.prepare_port.outcomes["enable"] = [outcome]
    reply = client.prepare_stream()
    assert (reply.outcome, reply.reason) == ("refused", f"the controller: enable is {outcome.value}")
    assert rig.data_plane.core.state == "idle"


def test_a_controller_that_came_back_is_enabled(rig: Any) -> None:
    client = led(rig)
    rig.prepare_port.outcomes["enable"] = [CallOutcome.UNANSWERED]
    client.prepare_stream()
    assert client.prepare_stream().outcome == "done"


def test_a_stopped_arm_is_not_even_enabled(rig: Any) -> None:
    client = led(rig)
    watch = client.watch_events(timeout_s=20.0)
    watch.wait_open()
    client.emergency_stop("x")
    assert next(event for event in watch if event.kind == "Stopped")
    watch.cancel()
    reply = client.prepare_stream()
    assert reply.outcome == "refused"
    assert "reset first" in reply.reason
    assert rig.prepare_port.calls.empty()


def test_what_is_idled_while_it_is_being_prepared_is_not_engaged(rig: Any) -> None:
    client = led(rig)
    enabled = rig.prepare_port.gate["enable"] = threading.Event()
    preparing = client.call("PrepareStream", control_pb2.PrepareStreamRequest(), 10.0)
    rig.prepare_port.wait_call("connect")
    client.enter_idle()
    enabled.set()
    assert "meanwhile" in preparing.result().reason
    assert rig.data_plane.core.state == "idle"


def test_a_data_plane_that_does_not_answer_refuses(impatient_rig: Any) -> None:
    client = led(impatient_rig)
    impatient_rig.data_plane.mute = True
    assert "does not answer" in client.enter_idle().reason


# ---- resetting


def test_a_reset_clears_the_controller_first_and_releases_the_latch(rig: Any) -> None:
    client = led(rig)
    client.emergency_stop("x")
    assert client.reset_emergency("looked").outcome == "done"
    rig.prepare_port.wait_call("reset")
    assert rig.data_plane.core.state == "idle"


def test_a_reset_waits_until_the_fault_has_left_the_measured_state(rig: Any) -> None:
    client = led(rig)
    watch = client.watch_events(timeout_s=20.0)
    watch.wait_open()
    rig.data_plane.fault_code = 1
    assert next(event for event in watch if event.kind == "Stopped")
    watch.cancel()
    cleared = rig.prepare_port.gate["reset"] = threading.Event()
    resetting = client.call("ResetEmergency", control_pb2.ResetEmergencyRequest(reason="x"), 10.0)
    rig.prepare_port.wait_call("connect")
    rig.data_plane.fault_code = 0
    cleared.set()
    assert resetting.result().outcome == "done"


def test_a_reset_is_refused_while_the_fault_stands(rig: Any) -> None:
    client = led(rig)
    watch = client.watch_events(timeout_s=20.0)
    watch.wait_open()
    rig.data_plane.fault_code = 1
    assert next(event for event in watch if event.kind == "Stopped")
    reply = client.reset_emergency("hoping")
    assert reply.outcome == "refused"
    assert "fault" in reply.reason


def test_a_reset_of_what_is_not_stopped_leaves_the_controller_alone(rig: Any) -> None:
    client = led(rig)
    watch = client.watch_events(timeout_s=20.0)
    watch.wait_open()
    client.prepare_stream()
    assert next(event for event in watch if event.kind == "Moved")
    rig.prepare_port.wait_call("enable")
    assert client.reset_emergency("x").outcome == "refused"
    assert rig.prepare_port.calls.empty()


def test_a_reset_forgets_a_stop_that_was_never_answered(rig: Any) -> None:
    client = led(rig)
    rig.stop_port.outcomes["stop"] = [CallOutcome.UNANSWERED] * 1000
    client.emergency_stop("x")
    rig.data_plane.tell_stop("e-stop")
    rig.stop_port.wait_call("stop")
    assert rig.plane.stopper.pending
    assert client.reset_emergency("looked").outcome == "done"
    assert rig.plane.stopper.wait_done(10.0)


# ---- guards


def test_an_edit_that_is_no_object_is_refused(rig: Any) -> None:
    assert led(rig).edit_guard("joint_speed", "[1]").reason == "changes_json is no JSON object"


def test_an_unknown_guard_is_refused_by_the_core(rig: Any) -> None:
    reply = led(rig).toggle_guard("nonsense", enabled=False)
    assert reply.outcome == "refused"
    assert "nonsense" in reply.reason


def test_a_speed_share_reaches_the_core(rig: Any) -> None:
    assert led(rig).scale_speed(0.5).outcome in ("done", "refused")
    assert asked(rig, object).share == 0.5


# ---- the ordered stream


def test_streamed_actions_arrive_in_order(rig: Any) -> None:
    client = led(rig)
    stream = client.stream_actions()
    for number in range(10):
        stream.send(bytes([number]))
    reply = stream.close(10.0)
    assert (reply.taken, reply.rejected) == (10, 0)
    got = [rig.data_plane.wait_heard(lambda message: isinstance(message, StreamAction)) for _ in range(10)]
    assert [action.payload for action in got] == [bytes([number]) for number in range(10)]
    assert {action.session_id for action in got} == {client.session_id}


def test_a_forged_action_is_dropped_and_counted(rig: Any) -> None:
    client = led(rig)
    path = METHODS["StreamActions"].path
    opening = client._signer.call(path, b"").token
    counter, mac = client._signer.action(path, b"good")
    good = control_pb2.StreamedAction(payload=b"good", counter=counter, mac=mac).SerializeToString()
    forged = control_pb2.StreamedAction(payload=b"evil", counter=counter + 1, mac=mac).SerializeToString()
    call = client._channel.stream_unary(path, None, None)
    answer = call(iter([good, forged, good, b"\xff"]), timeout=10, metadata=((AUTH_METADATA, opening),))
    reply = control_pb2.StreamActionsReply.FromString(answer)
    assert (reply.taken, reply.rejected) == (1, 3)
    counts = rig.plane.gate.rejections.as_dict()
    assert (counts["unauthentic"], counts["replayed"], counts["malformed_protobuf"]) == (1, 1, 1)


def test_an_unsigned_stream_is_refused(rig: Any) -> None:
    stream = rig.client(PresharedKey(bytes(32))).stream_actions()
    with pytest.raises(ControlError) as caught:
        stream.close(10.0)
    assert caught.value.fault is CallFault.NOT_BELIEVED


def test_without_authentication_actions_are_taken_unsigned(make_rig: Any) -> None:
    rig = make_rig(Unauthenticated())
    client = rig.client()
    client.open_session(rig.wish())
    stream = client.stream_actions()
    stream.send(b"x")
    assert stream.close(10.0).taken == 1


# ---- describing


def test_this_host_may_look(rig: Any) -> None:
    reply = rig.client().describe()
    assert (reply.robot_id, reply.auth, reply.transport) == ("fr3", "sealed", "udp")
    assert rig.local().describe().robot_id == "fr3"


def test_what_was_granted_is_told(rig: Any) -> None:
    client = led(rig)
    rig.data_plane.say_hello()
    client.enter_idle()
    assert "class: SCHED_FIFO" in client.describe().granted


def test_a_lost_process_is_told_by_state(rig: Any) -> None:
    client = led(rig)
    watch = client.watch_events(timeout_s=20.0)
    watch.wait_open()
    rig.data_plane.command(ProcessLost(name="launcher"))
    assert next(event for event in watch if event.kind == "Stopped").fields["cause"]["kind"] == "process_lost"
    assert '"process_lost"' in client.describe().state_json


def test_a_soft_stop_of_this_host_is_named(rig: Any) -> None:
    rig.local().enter_idle()
    assert asked(rig, EnterIdle).operator == "this host"


def test_a_guard_that_is_switched_off_is_described_so(make_rig: Any) -> None:
    rig = make_rig(with_guards=True)
    client = led(rig)
    watch = client.watch_events(timeout_s=20.0)
    watch.wait_open()
    assert '"joint_speed":{' in client.describe().guards_json
    assert client.toggle_guard("joint_speed", enabled=False).outcome == "done"
    event = next(event for event in watch if event.kind == "SafetyNote")
    assert (event.fields["note"], event.priority) == ("GuardToggled", True)
    guards = json.loads(client.describe().guards_json)
    assert guards["joint_speed"]["enabled"] is False


def test_the_stream_of_a_retired_session_is_ended(rig: Any) -> None:
    first, second = led(rig), rig.client()
    stream = first.stream_actions()
    stream.send(b"before")
    rig.data_plane.wait_heard(lambda message: isinstance(message, StreamAction))
    second.open_session(rig.wish("bob", take_over=True))
    stream.send(b"after")
    with pytest.raises(ControlError, match="the session is over"):
        stream.close(10.0)
    assert rig.plane.gate.rejections.total == 0


def test_an_estop_is_carried_out_although_its_caller_hung_up(impatient_rig: Any) -> None:
    local = impatient_rig.local()
    local.describe()
    impatient_rig.data_plane.mute = True
    with pytest.raises(ControlError) as caught:
        local.emergency_stop("now", timeout_s=0.1)
    assert caught.value.fault is CallFault.TIMEOUT
    impatient_rig.stop_port.wait_call("stop")
