"""Opening, holding, taking over and losing a session, over real gRPC."""

from typing import Any

import pytest

from steadyhand.core.safety.latch import StopCause, StopKind
from steadyhand.edge.control_service import CallFault, ControlError, Opened, OpenRefused
from steadyhand.edge.keys import PresharedKey, Unauthenticated
from steadyhand.wire import control_pb2


def opened(answer: Opened | OpenRefused) -> Opened:
    assert isinstance(answer, Opened), answer
    return answer


def refused(answer: Opened | OpenRefused) -> OpenRefused:
    assert isinstance(answer, OpenRefused), answer
    return answer


def test_both_sides_that_have_the_key_open_a_session(rig: Any) -> None:
    client = rig.client()
    session = opened(client.open_session(rig.wish()))
    assert session.session_id == client.session_id != 0
    assert session.follower.robot_id == "fr3"
    assert session.follower.operator == "ada"
    assert client.enter_idle().outcome == "ignored"


def test_an_operator_with_another_key_is_found_out(rig: Any) -> None:
    client = rig.client(PresharedKey(bytes(32)))
    with pytest.raises(ControlError, match="does not have this key") as caught:
        client.open_session(rig.wish())
    assert caught.value.fault is CallFault.FORGED
    assert client.session_id == 0


def test_a_call_without_a_session_is_not_believed(rig: Any) -> None:
    with pytest.raises(ControlError, match="not signed") as caught:
        rig.client().prepare_stream()
    assert caught.value.fault is CallFault.NOT_BELIEVED


def test_another_robot_file_is_refused_naming_both(rig: Any) -> None:
    answer = refused(rig.client().open_session(rig.wish(config_hash="f" * 64)))
    assert "ffffffffffff" in answer.reason
    assert answer.config_hash[:12] in answer.reason


def test_a_refused_wish_opens_nothing(rig: Any) -> None:
    client = rig.client()
    refused(client.open_session(rig.wish(config_hash="")))
    assert client.session_id == 0
    with pytest.raises(ControlError):
        client.enter_idle()


def test_a_telemetry_host_is_an_address(rig: Any) -> None:
    answer = refused(rig.client().open_session(rig.wish(telemetry_host="example.org", telemetry_port=1)))
    assert "has to be an address" in answer.reason


def test_the_second_operator_is_refused_by_name(rig: Any) -> None:
    opened(rig.client().open_session(rig.wish("ada")))
    assert "ada holds the session" in refused(rig.client().open_session(rig.wish("bob"))).reason


def test_the_first_operator_goes_on_when_a_second_was_refused(rig: Any) -> None:
    first = rig.client()
    opened(first.open_session(rig.wish("ada")))
    refused(rig.client().open_session(rig.wish("bob")))
    assert first.prepare_stream().outcome == "done"


def test_who_holds_the_session_idle_can_be_taken_over_from(rig: Any) -> None:
    first, second = rig.client(), rig.client()
    opened(first.open_session(rig.wish("ada")))
    assert opened(second.open_session(rig.wish("bob", take_over=True))).follower.operator == "bob"
    with pytest.raises(ControlError, match="retired_session"):
        first.prepare_stream()
    assert second.prepare_stream().outcome == "done"


def test_nobody_takes_over_while_an_arm_is_driven(rig: Any) -> None:
    first = rig.client()
    opened(first.open_session(rig.wish("ada")))
    assert first.prepare_stream().outcome == "done"
    answer = refused(rig.client().open_session(rig.wish("bob", take_over=True)))
    assert "ada is driving" in answer.reason


def test_a_closed_session_is_free_for_the_next(rig: Any) -> None:
    first = rig.client()
    opened(first.open_session(rig.wish("ada")))
    assert first.close_session().outcome == "done"
    opened(rig.client().open_session(rig.wish("bob")))


def test_a_restarted_data_plane_ends_the_session(rig: Any) -> None:
    client = rig.client()
    opened(client.open_session(rig.wish()))
    watch = client.watch_events(timeout_s=20.0)
    watch.wait_open()
    rig.data_plane.restart(StopCause(kind=StopKind.PROCESS_LOST, detail="the data plane died"))
    kinds = []
    with pytest.raises(ControlError, match="the session is over"):
        kinds += [event.kind for event in watch]
    with pytest.raises(ControlError, match="retired_session"):
        client.enter_idle()
    assert opened(client.open_session(rig.wish())).follower.operator == "ada"


def test_an_offer_is_for_the_connection_it_was_made_on(rig: Any) -> None:
    """A proof overheard on one connection opens nothing on another."""
    client, thief = rig.client(), rig.client()
    sent: dict[str, Any] = {}

    def overheard(timeout_s: float, method: Any, request: bytes, signer: Any) -> Any:
        if method.name == "OpenSession":
            sent["stolen"] = thief._send(timeout_s, method, request, signer)
            with pytest.raises(ControlError, match="unknown_session"):
                sent["stolen"].result(10)
        return type(client)._send(client, timeout_s, method, request, signer)

    client._send = overheard
    opened(client.open_session(rig.wish()))
    assert "stolen" in sent


def test_an_offer_is_good_for_one_answer(rig: Any) -> None:
    client = rig.client()
    proofs: list[tuple[bytes, Any]] = []

    def kept(timeout_s: float, method: Any, request: bytes, signer: Any) -> Any:
        proofs.append((request, signer))
        return type(client)._send(client, timeout_s, method, request, signer)

    client._send = kept
    opened(client.open_session(rig.wish()))
    request, signer = proofs[-1]
    from steadyhand.edge.control_service import METHODS

    again = type(client)._send(client, 5.0, METHODS["OpenSession"], request, signer)
    with pytest.raises(ControlError, match="unknown_session"):
        again.result(10)


def test_a_flood_of_hellos_from_one_address_is_refused(rig: Any) -> None:
    client = rig.client(PresharedKey(bytes(32)))

    def fault() -> ControlError:
        with pytest.raises(ControlError) as caught:
            client.open_session(rig.wish())
        return caught.value

    faults = [fault() for _ in range(100)]
    assert faults[0].fault is CallFault.FORGED
    assert "too many attempts" in faults[-1].detail


def test_without_authentication_whoever_reaches_the_port_leads(make_rig: Any) -> None:
    rig = make_rig(Unauthenticated())
    assert any("auth none" in line for line in rig.said)
    client = rig.client()
    session = opened(client.open_session(rig.wish()))
    assert (session.session_id, session.keys) == (0, None)
    assert client.prepare_stream().outcome == "done"


def test_without_authentication_the_second_operator_is_refused_too(make_rig: Any) -> None:
    rig = make_rig(Unauthenticated())
    opened(rig.client().open_session(rig.wish("ada")))
    assert "ada holds the session" in refused(rig.client().open_session(rig.wish("bob"))).reason


def test_a_key_holder_is_told_that_a_follower_wants_none(make_rig: Any) -> None:
    rig = make_rig(Unauthenticated())
    with pytest.raises(ControlError, match="with no proof"):
        rig.client(PresharedKey(bytes(32))).open_session(rig.wish())


def test_a_data_plane_that_does_not_answer_opens_no_session(impatient_rig: Any) -> None:
    impatient_rig.data_plane.mute = True
    assert "does not answer" in refused(impatient_rig.client().open_session(impatient_rig.wish())).reason


def test_an_operator_is_told_of_an_unusable_name(rig: Any) -> None:
    assert "has a name" in refused(rig.client().open_session(rig.wish("\n"))).reason


def test_bytes_that_are_no_hello_are_refused(rig: Any) -> None:
    request = control_pb2.HelloRequest(client_hello=b"nonsense")
    with pytest.raises(ControlError, match="wrong_magic: no proof of the key") as caught:
        rig.client().call("Hello", request).result(10)
    assert caught.value.fault is CallFault.NOT_BELIEVED


def test_who_was_taken_over_from_is_told_on_its_event_stream(rig: Any) -> None:
    first = rig.client()
    opened(first.open_session(rig.wish("ada")))
    watch = first.watch_events(timeout_s=20.0)
    watch.wait_open()
    opened(rig.client().open_session(rig.wish("bob", take_over=True)))
    with pytest.raises(ControlError, match="another session began"):
        list(watch)


def test_this_hosts_watchers_are_told_that_a_session_is_over(rig: Any) -> None:
    watch = rig.local().watch_events(timeout_s=20.0)
    watch.wait_open()
    client = rig.client()
    opened(client.open_session(rig.wish("ada")))
    client.close_session()
    retired = next(event for event in watch if event.kind == "SessionRetired")
    assert retired.fields == {"operator": "ada", "reason": "its operator closed it"}
