"""The inbox: what a record of an input holds, and what a hole in it does."""

from typing import Any

import msgspec
import pytest

from steadyhand.core.follower import FollowerCore
from steadyhand.core.follower.inbox import DatagramIn, EventsIn, Inbox, SessionIn, TickIn, datagram_in
from steadyhand.core.follower.outputs import ProgramFault, Stopped
from steadyhand.core.follower.reexecution import Outputs, canonical, reexecute
from steadyhand.core.safety.latch import StopCause, StopKind
from steadyhand.ground.errors import InputError
from steadyhand.wire.rejections import Reason
from tests.core.follower.recorded_runs import KEY, KINDS, Fuzz

HOME = (0.0, -90.0, 90.0, 0.0, 0.0, 0.0)
OPENED = SessionIn(now_ns=1_000_000_000, session_id=7, operator="ann")


def taken(rig: Any, datagram: bytes) -> DatagramIn:
    rig.deliver(datagram)
    return datagram_in(datagram, rig.core.ingress.last_unsealed, now_ns=rig.now_ns, wall_s=1.0)


def test_the_record_of_a_sealed_datagram_is_what_was_behind_the_seal(rig: Any) -> None:
    rig.engage()
    datagram = rig.datagram(HOME)
    record = taken(rig, datagram)
    assert (record.seal, record.session_id, record.counter) == ("authentic", 7, 0)
    assert datagram.startswith(record.datagram)
    assert record.datagram.endswith(b"arm")
    assert len(record.bundle) == len(datagram) - len(record.datagram) - 32


def test_the_record_of_a_refused_seal_is_its_reason(rig: Any) -> None:
    rig.engage()
    datagram = rig.datagram(HOME)
    rig.deliver(datagram)
    assert taken(rig, datagram).seal == Reason.REPLAYED
    forged = datagram[:-1] + bytes([datagram[-1] ^ 1])
    assert taken(rig, forged).seal == Reason.REPLAYED
    assert taken(rig, rig.plain(HOME)).seal == Reason.NOT_SEALED


def test_what_never_came_to_its_seal_is_kept_as_it_came(rig: Any, make_rig: Any) -> None:
    taken(rig, rig.datagram(HOME))
    foreign = rig.datagram(HOME).replace(b"arm", b"leg")
    for datagram in (b"", b"noise", foreign):
        record = taken(rig, datagram)
        assert (record.datagram, record.seal, record.bundle) == (datagram, "", b"")
    lab = make_rig(remote_node={"auth": "none"})
    plain = lab.plain(HOME)
    assert taken(lab, plain).datagram == plain


def test_no_key_is_in_an_inbox_and_every_input_is_a_value(make_rig: Any) -> None:
    recorder = Fuzz(make_rig(), 3, KINDS["buffered"]).run(300)
    encoded = msgspec.msgpack.encode(recorder.inbox)
    assert KEY not in encoded
    assert msgspec.msgpack.encode(msgspec.msgpack.decode(encoded, type=list[Inbox])) == encoded


def test_a_decoded_inbox_is_executed_like_the_one_it_was_made_of(make_rig: Any) -> None:
    recorder = Fuzz(make_rig(), 4, KINDS["buffered"]).run(300)
    inbox = msgspec.msgpack.decode(msgspec.msgpack.encode(recorder.inbox), type=list[Inbox])
    answers = [canonical(one) for one in reexecute(recorder.core.settings, [OPENED, *inbox])]
    assert answers[1:] == recorder.answers


def test_a_hole_in_the_inbox_is_told_by_its_place(rig: Any) -> None:
    rig.engage()
    record = taken(rig, rig.datagram(HOME))
    settings = rig.core.settings
    with pytest.raises(InputError, match=r"input 1: the inbox has a hole: session 0+7 is not the living"):
        list(reexecute(settings, [TickIn(now_ns=1), record]))
    with pytest.raises(InputError, match="input 2: the inbox has a hole: counter 0 was accepted"):
        list(reexecute(settings, [OPENED, record, record]))


def test_a_restored_core_knows_which_datagrams_it_has_taken(rig: Any) -> None:
    record = taken(rig, rig.datagram(HOME))
    core = FollowerCore.restore(rig.core.settings, rig.core.snapshot())
    with pytest.raises(RuntimeError, match="counter 0 was accepted before"):
        core.replay_datagram(record)


def test_a_datagram_that_leaves_a_hole_changes_nothing(rig: Any) -> None:
    core = FollowerCore(rig.core.settings)
    before = core.snapshot()
    record = DatagramIn(now_ns=1, wall_s=0.0, datagram=b"", seal="authentic", session_id=9, counter=1)
    with pytest.raises(RuntimeError, match="not the living one"):
        core.replay_datagram(record)
    assert core.snapshot() == before


def test_a_key_of_a_wrong_length_is_refused_again_in_the_same_words(rig: Any) -> None:
    live = rig.core.open_session(session_id=8, command_key=b"short", operator="ann", now_ns=2)
    given = SessionIn(now_ns=2, session_id=8, operator="ann", key_bytes=5)
    (again,) = reexecute(rig.core.settings, [given])
    assert again.reply == live
    assert live.outcome == "refused"


def test_of_a_program_fault_only_the_last_line_is_compared() -> None:
    def answer(traceback: str, where: str = "tick") -> bytes:
        stopped = Stopped(at_ns=1, cause=StopCause(kind=StopKind.PROGRAM_ERROR, detail="x"))
        return canonical(Outputs(events=(ProgramFault(at_ns=1, where=where, traceback=traceback), stopped)))

    assert answer("File a, line 1\nKeyError: 5\n") == answer("File b, line 2\nKeyError: 5\n")
    assert answer("KeyError: 5") != answer("KeyError: 6")
    assert answer("KeyError: 5") != answer("KeyError: 5", "receive")


def test_events_are_answered_where_they_were_taken(rig: Any) -> None:
    answers = list(
        reexecute(rig.core.settings, [OPENED, TickIn(now_ns=5), EventsIn(now_ns=5), EventsIn(now_ns=5)])
    )
    assert [len(answer.events) for answer in answers] == [0, 0, 1, 0]
