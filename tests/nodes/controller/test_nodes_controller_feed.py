"""Port 20005 of the simulated controller: the state feed and its one client."""

import select
import socket
import struct
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steadyhand.edge.robots.fairino.cnde import Frame, FrameParser, FrameType
from steadyhand.edge.robots.fairino.cnde_fields import FIELD_TYPES, VENDOR_RECIPE, parse_type
from steadyhand.nodes.controller import state_server
from steadyhand.nodes.controller.feed_values import FIELDS, Recipe, grant, take_snapshot
from steadyhand.nodes.controller.settings import START_POSE_DEG
from tests.nodes.controller.bench_types import Bench

MS = 1_000_000


def test_the_vendors_recipe_arrives_as_1326_bytes_one_frame_at_a_time(bench: Bench) -> None:
    feed = bench.connect(bench.node.ports.state)
    granted = feed.subscribe(",".join(VENDOR_RECIPE))
    assert granted.data[:1] == b"\0"
    assert granted.data[1:].decode().split(",") == [FIELD_TYPES[name] for name in VENDOR_RECIPE]
    assert feed.ask(FrameType.OUTPUT_START).data == b"\0"
    reads: list[bytes] = []

    def ten() -> bool:
        read = feed.take()
        if read:
            reads.append(read)
        return len(reads) == 10

    bench.until(ten)
    assert {len(read) for read in reads} == {1326}
    frames = FrameParser().feed(b"".join(reads))
    assert [frame.count for frame in frames] == list(range(frames[0].count, frames[0].count + 10))
    joints = struct.unpack_from("<6d", frames[-1].data, 11)
    assert joints == START_POSE_DEG


def test_frames_keep_their_grid(bench: Bench) -> None:
    feed = bench.connect(bench.node.ports.state)
    feed.subscribe("main_code", period_ms=5)
    feed.ask(FrameType.OUTPUT_START)
    first_ns = time.monotonic_ns()
    frames: list[Frame] = []

    def twenty() -> bool:
        frames.extend(feed.parser.feed(feed.take()))
        return len(frames) >= 20

    bench.until(twenty)
    assert time.monotonic_ns() - first_ns >= 95 * MS


def test_a_late_feed_skips_its_slots(bench: Bench) -> None:
    feed = bench.connect(bench.node.ports.state)
    feed.subscribe("main_code", period_ms=5)
    feed.ask(FrameType.OUTPUT_START)
    feed.take()
    started_ns = time.monotonic_ns()
    select.select([], [], [], 0.1)
    woke_ns = time.monotonic_ns()
    frames: list[Frame] = []
    for _ in range(30):
        bench.turn()
        frames += feed.parser.feed(feed.take())
    assert frames
    since_ns = time.monotonic_ns() - woke_ns
    assert len(frames) <= 2 + since_ns // (5 * MS)
    assert woke_ns - started_ns >= 90 * MS


def test_a_second_client_is_refused_and_the_place_is_given_back(bench: Bench) -> None:
    first = bench.connect(bench.node.ports.state)
    assert first.subscribe("main_code").data[:1] == b"\0"
    second = bench.connect(bench.node.ports.state)
    refused = second.subscribe("main_code")
    assert refused.data == b"\x03another client is connected"
    second.until_closed()
    assert first.ask(FrameType.OUTPUT_START).data == b"\0"
    first.socket.close()
    bench.until(lambda: not bench.node._states.client)
    third = bench.connect(bench.node.ports.state)
    assert third.subscribe("main_code").data[:1] == b"\0"


def test_a_client_that_says_nothing_loses_its_place(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_server, "SETUP_S", 0.05)
    assert bench.connect(bench.node.ports.state).until_closed() == b""


def test_a_client_that_does_not_read_is_hung_up_on(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_server, "MAX_UNSENT_BYTES", 0)
    feed = bench.connect(bench.node.ports.state)
    feed.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    feed.subscribe(",".join(VENDOR_RECIPE), period_ms=1)
    feed.ask(FrameType.OUTPUT_START)
    connection = bench.node._states.client
    assert connection is not None
    assert connection._transport is not None
    connection._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    bench.until(lambda: bench.box.answers["state_clients_too_slow"] == 1)
    assert bench.call("Mode", 0) == 0


@pytest.mark.parametrize(
    ("names", "period_ms", "reason"),
    [
        ("main_code,frame_cnt", 8, b"frame_cnt NOT_FOUND"),
        ("", 8, b"NOT_FOUND"),
        ("main_code,", 8, b"NOT_FOUND"),
        ("main_code", 0, b"a period of 0 ms is out of range"),
        ("main_code", 1001, b"a period of 1001 ms is out of range"),
        (",".join(["cur_lua_file_name"] * 17), 8, b"4352 bytes are more than 4096"),
    ],
)
def test_a_recipe_that_cannot_be_granted_is_refused(
    bench: Bench, names: str, period_ms: int, reason: bytes
) -> None:
    feed = bench.connect(bench.node.ports.state)
    assert feed.subscribe(names, period_ms).data == b"\x03" + reason
    assert feed.subscribe("main_code").data == b"\0INT32"


def test_the_order_of_the_conversation(bench: Bench) -> None:
    feed = bench.connect(bench.node.ports.state)
    assert feed.ask(FrameType.OUTPUT_START).data == b"\x03configure the output first"
    assert feed.ask(FrameType.INPUT_DATA).data == b"\x03not supported here"
    assert feed.ask(FrameType.GET_VERSION).data[:1] == b"\0"
    feed.subscribe("main_code", period_ms=1)
    assert feed.ask(FrameType.OUTPUT_START).data == b"\0"
    assert feed.ask(FrameType.OUTPUT_STOP).data == b"\0"
    feed.parser.feed(feed.take())
    for _ in range(20):
        bench.turn()
        select.select([], [], [], 0.0005)
    assert feed.take() == b""


def test_every_field_the_vendor_describes_is_granted_and_packed(bench: Bench) -> None:
    snapshot = take_snapshot(bench.box)
    for name, type_name in FIELD_TYPES.items():
        recipe = grant([name])
        wire_type = parse_type(type_name)
        assert isinstance(recipe, Recipe)
        assert wire_type is not None
        assert len(recipe.pack(snapshot)) == struct.calcsize("<" + wire_type.format)
    assert set(FIELDS) <= set(FIELD_TYPES)


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.binary(max_size=200), min_size=1, max_size=4))
def test_any_bytes_on_the_state_port_leave_it_serving(bench: Bench, chunks: list[bytes]) -> None:
    hostile = bench.connect(bench.node.ports.state)
    for chunk in chunks:
        hostile.send(chunk)
    bench.until(lambda: bench.node._states.client)
    bench.sockets.remove(hostile.socket)
    hostile.socket.close()
    bench.until(lambda: not bench.node._states.client)
    feed = bench.connect(bench.node.ports.state)
    assert feed.subscribe("main_code").data == b"\0INT32"
    bench.sockets.pop().close()
    bench.until(lambda: not bench.node._states.client)
