"""What senders can do: two at once, one anew, a clock that steps, datagrams that are not theirs."""

import os
import re
import signal
import socket
from pathlib import Path

import pytest

import steadyhand
from steadyhand.core.safety.latch import StopKind
from steadyhand.nodes.operator.addresses import OperatorAddresses
from steadyhand.wire.action_frame import encode_single
from steadyhand.wire.bundle import Entry
from steadyhand.wire.head import ACTION_MAGIC, Head, read_head
from tests.nodes.faults import lawful
from tests.nodes.faults.operating import Operator, moving
from tests.nodes.faults.stack import Stack
from tests.nodes.processes import wait_until

pytestmark = pytest.mark.slow

HOUR_S = 3600.0
STEPPING = str(Path(__file__).resolve().with_name("stepping_operator.py"))


def direct(stack: Stack) -> OperatorAddresses:
    """Past tap and network, with telemetry to a port of its own."""
    remote = stack.config.remote_node
    return OperatorAddresses(actions=("127.0.0.1", remote.udp_port), control=("127.0.0.1", remote.grpc_port))


def test_a_second_operator_is_refused_by_name_and_harms_nobody(stack: Stack) -> None:
    def connect(*, take_over: bool) -> None:
        steadyhand.connect(
            stack.config,
            key=stack.follower.key_file,
            addresses=direct(stack),
            operator="bob",
            take_over=take_over,
        )

    with Operator(stack, "ann") as operator:
        operator.begin()
        for take_over in (False, True):
            with pytest.raises(steadyhand.Refused, match="ann is driving"):
                connect(take_over=take_over)
        record = stack.ticks.wait(moving, since=len(stack.ticks.records), what="an arm that is led on")
        assert record.operator == "ann"
        assert operator.error is None
        operator.rest()
        operator.arm.idle()
        with pytest.raises(steadyhand.Refused, match="ann holds the session"):
            connect(take_over=False)
    lawful.nothing_has_stopped_it(stack.records)
    lawful.check(stack)


def test_an_operator_restarted_in_mid_motion_gets_another_session_and_its_old_frames_move_nothing(
    stack: Stack,
) -> None:
    first = Operator(stack, "ann")
    first.begin()
    stack.wait(lambda record: record.depth > 10, "a queue")
    began = len(stack.tap.taken)
    wait_until(lambda: len(stack.tap.taken) > began + 30, what="frames to be kept")
    session = first.arm.view.session.session_id
    first.die()
    old = [datagram for _, datagram in stack.tap.taken[-30:]]
    # While the arm plays what is queued nobody gets in, not even the same operator.
    with pytest.raises(steadyhand.Refused, match="ann is driving"):
        Operator(stack, "ann")
    record = stack.wait_stopped()
    assert record.stopped_by is not None
    assert (record.stopped_by.kind, record.stopped_by.name) == (StopKind.STALL, "underrun")
    stack.wait_at_rest()
    with Operator(stack, "ann", take_over=False) as again:
        assert again.arm.view.session.session_id != session
        again.wait_event("FollowerStopped", "stall (underrun)")
        again.recover()
        again.engage()
        stack.ticks.wait(moving, since=len(stack.ticks.records), what="an arm that is led")
        before = newest_counter(stack, "retired_session")
        send(stack, old)
        stack.wait(lambda r: r.counters.get("retired_session", 0) >= before + len(old), "old frames retired")
        stack.ticks.wait(moving, since=len(stack.ticks.records), what="an arm that is led on")
        assert again.error is None
        again.rest()
        again.arm.idle()
    lawful.check(stack)


def newest_counter(stack: Stack, name: str) -> int:
    record = next(record for record in reversed(stack.ticks.records) if record.counters)
    return record.counters.get(name, 0)


def send(stack: Stack, datagrams: list[bytes]) -> None:
    """To the follower's port, from another socket."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        for datagram in datagrams:
            stranger.sendto(datagram, ("127.0.0.1", stack.config.remote_node.udp_port))


def test_replayed_forged_and_truncated_datagrams_are_counted_by_reason_and_move_nothing(
    stack: Stack,
) -> None:
    with Operator(stack) as operator:
        operator.begin()
        began = len(stack.tap.taken)
        wait_until(lambda: len(stack.tap.taken) > began + 60, what="enough frames")
        kept = [datagram for _, datagram in stack.tap.taken]
        newest, oldest = kept[-1], kept[-60]
        head = read_head(newest, ACTION_MAGIC)
        assert isinstance(head, Head)
        hostile = {
            "replayed": [newest, kept[-2], oldest],
            "unauthentic": [
                ahead(newest, head, by=1_000),
                changed(ahead(newest, head, by=1_001), at=-1),
                changed(ahead(newest, head, by=1_002), at=8),
            ],
            "unknown_session": [changed(newest, at=head.body_at)],
            "truncated": [newest[:5], newest[: head.body_at + 10], newest[: head.body_at - 1]],
            "oversize": [newest + bytes(1500)],
            "wrong_magic": [b"junk" * 20],
            "wrong_version": [newest[:4] + b"\x09" + newest[5:]],
            "not_sealed": [encode_single(robot_id="fr3", entry=Entry(head.seq + 1, b"\x20\x01"))],
        }
        since = len(stack.ticks.records)
        for datagrams in hostile.values():
            send(stack, datagrams)
        stack.ticks.wait(moving, since=since + 30, what="an arm that is led on")
        assert operator.error is None
        lawful.nothing_has_stopped_it(stack.records)
        operator.rest()
        operator.arm.idle()
        # The data plane gives its account when it ends, and another one comes up latched.
        printed = len(stack.follower.lines)
        os.kill(stack.follower.card().data_plane_pid, signal.SIGTERM)
        account = stack.follower.wait_line("data plane: action datagrams:", after=printed)
        told = {name: int(count) for name, count in re.findall(r"rejected_(\w+)=(\d+)", account)}
        for reason, datagrams in hostile.items():
            assert told.get(reason, 0) >= len(datagrams), (reason, account)
        assert stack.wait_stopped().stopped_by is not None
    lawful.check(stack)


def changed(datagram: bytes, *, at: int) -> bytes:
    """With one byte another: of the number, the session or the seal."""
    altered = bytearray(datagram)
    altered[at] ^= 0x10
    return bytes(altered)


def ahead(datagram: bytes, head: Head, *, by: int) -> bytes:
    """With a counter that nobody has seen yet, under the same seal."""
    place = slice(head.body_at + 8, head.body_at + 16)
    counter = int.from_bytes(datagram[place], "big") + by
    return datagram[: place.start] + counter.to_bytes(8, "big") + datagram[place.stop :]


def test_a_wall_clock_that_is_set_by_an_hour_at_the_operator_changes_nothing(stack: Stack) -> None:
    with Operator(stack) as first:
        if first.arm.view.stopped:
            first.arm.reset("the test before this one")
    stack.calm()
    operator = stack.operator_process(
        "--leader", "sine", "--duration", "600", "--take-over", script=(STEPPING,)
    )
    stack.wait(moving, "an arm that moves", deadline_s=60.0)
    before = newest_counter(stack, "nonmonotonic_ts"), newest_counter(stack, "clock_steps")
    for number, said in ((signal.SIGUSR1, "wall clock +3600 s"), (signal.SIGUSR2, "wall clock -3600 s")):
        since = len(stack.ticks.records)
        operator.process.send_signal(number)
        operator.wait_line(said)
        stack.ticks.wait(moving, since=since + 100, what="an arm that is led on")
    assert (newest_counter(stack, "nonmonotonic_ts"), newest_counter(stack, "clock_steps")) == before
    assert operator.end(signal.SIGINT) == 130, operator.told()
    lawful.nothing_has_stopped_it(stack.records)
    lawful.check(stack)


@pytest.mark.parametrize("step_s", [HOUR_S, -HOUR_S])
def test_stamps_that_step_by_an_hour_stop_the_arm_by_name_and_play_nothing_old(
    stack: Stack, step_s: float
) -> None:
    """A sender that is not ours, and stamps by a wall clock."""
    with Operator(stack) as operator:
        operator.begin()
        operator.arm._leading._wall._offset_s += step_s
        record = stack.wait_stopped()
        assert record.stopped_by is not None
        assert record.stopped_by.kind is StopKind.STALL
        error = operator.wait_ended()
        assert isinstance(error, steadyhand.Stopped)
        assert error.cause == "stall"
        if step_s > 0.0:
            operator.recover()
    if step_s < 0.0:
        # In a session, what is an hour late stays late: another clock is another session's.
        with Operator(stack) as again:
            again.recover()
    lawful.check(stack)
