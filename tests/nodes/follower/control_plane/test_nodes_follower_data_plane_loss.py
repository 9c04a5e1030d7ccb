"""The data plane's stop requests and its heartbeat; health, reflection, and who says what."""

from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from steadyhand.core.follower.inputs import EnterIdle, Reply
from steadyhand.edge.heartbeat_board import HeartbeatBoard, HeartbeatLine, board_bytes
from steadyhand.edge.robots.contract import CallOutcome
from steadyhand.edge.segment import create_anonymous
from steadyhand.ground.stamps import NS_PER_MS
from steadyhand.nodes.follower.data_plane_client import SILENT
from steadyhand.nodes.follower.data_plane_watch import DataPlaneWatch
from steadyhand.nodes.follower.process_settings import BOARD_PERIODS_NS

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


def test_stop_motion_is_called_when_the_data_plane_asks(rig: Any) -> None:
    rig.data_plane.tell_stop("a guard tripped")
    rig.stop_port.wait_call("stop")


def test_stop_motion_is_called_again_until_it_is_done(rig: Any) -> None:
    rig.stop_port.outcomes["stop"] = [CallOutcome.UNANSWERED, CallOutcome.UNANSWERED]
    rig.data_plane.tell_stop("a guard tripped")
    for _ in range(3):
        rig.stop_port.wait_call("stop")
    assert rig.plane.stopper.wait_done(10.0)


def test_stop_motion_is_called_when_the_data_planes_heart_stands_still(rig: Any) -> None:
    watch = rig.local().watch_events(timeout_s=20.0)
    watch.wait_open()
    rig.data_plane.beats = False
    rig.stop_port.wait_call("stop")
    lost = next(event for event in watch if event.kind == "DataPlaneLost")
    assert lost.priority
    assert next(event for event in watch if event.kind == "StopMotionCalled").fields["outcome"] == "done"


def test_a_lost_data_plane_is_stopped_once_and_again_when_it_is_lost_again() -> None:
    board = create_anonymous("board", board_bytes(3))
    data_plane = HeartbeatLine(board, 0, 1)
    lost: list[str] = []
    back: list[bool] = []
    watch = DataPlaneWatch(
        HeartbeatLine(board, 1, 2),
        HeartbeatBoard(board, BOARD_PERIODS_NS),
        on_lost=lost.append,
        on_back=lambda: back.append(True),
    )
    watch.look(0)
    watch.look(1000 * NS_PER_MS)
    assert (lost, back, watch.life) == ([], [], "has never sent a heartbeat")
    for beat_ms in (2000, 3000):
        data_plane.beat(beat_ms * NS_PER_MS)
        watch.look(beat_ms * NS_PER_MS)
        assert watch.alive
        watch.look((beat_ms + 60) * NS_PER_MS)
        assert watch.alive, "three periods are allowed"
        for late_ms in (61, 80, 500):
            watch.look((beat_ms + late_ms) * NS_PER_MS)
        assert not watch.alive
    assert lost == ["the data plane has sent no heartbeat for 61 ms"] * 2
    assert back == [True, True]
    board.close()


def test_the_control_plane_beats_every_hundred_milliseconds() -> None:
    board = create_anonymous("board", board_bytes(3))
    judge = HeartbeatBoard(board, BOARD_PERIODS_NS)
    watch = DataPlaneWatch(HeartbeatLine(board, 1, 2), judge, on_lost=lambda _: None, on_back=lambda: None)
    for now_ms in range(1, 1001, 20):
        watch.look(now_ms * NS_PER_MS)
    beat = judge.read(1)
    assert beat is not None
    assert beat.sequence == 10
    board.close()


def test_a_data_plane_that_stood_still_before_we_came_up_is_stopped() -> None:
    board = create_anonymous("board", board_bytes(3))
    HeartbeatLine(board, 0, 1).beat(1)
    lost: list[str] = []
    watch = DataPlaneWatch(
        HeartbeatLine(board, 1, 2),
        HeartbeatBoard(board, BOARD_PERIODS_NS),
        on_lost=lost.append,
        on_back=lambda: None,
    )
    watch.look(1000 * NS_PER_MS)
    assert len(lost) == 1
    board.close()


def test_the_running_control_plane_beats(rig: Any) -> None:
    rig.local().describe()
    beat = rig.board.read(1)
    assert beat is not None
    assert beat.sequence >= 1
    assert beat.pid == 1001


def health_of(rig: Any, name: str) -> int:
    with grpc.insecure_channel(f"127.0.0.1:{rig.plane.grpc_port}") as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        status: int = stub.Check(health_pb2.HealthCheckRequest(service=name), timeout=10).status
        return status


def watch_health(rig: Any, name: str, wanted: int) -> bool:
    """Wait for a status; False where the stream ended before it."""
    with grpc.insecure_channel(f"127.0.0.1:{rig.plane.grpc_port}") as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        request = health_pb2.HealthCheckRequest(service=name)
        return any(answer.status == wanted for answer in stub.Watch(request, timeout=10))


@pytest.mark.parametrize("name", ["", "steadyhand.control.v1.FollowerControl", "steadyhand.arm"])
def test_health_serves_while_the_data_plane_beats(rig: Any, name: str) -> None:
    assert watch_health(rig, name, SERVING)
    rig.data_plane.beats = False
    assert watch_health(rig, name, NOT_SERVING)


def test_a_stopped_arm_is_not_serving_and_its_follower_is(rig: Any) -> None:
    assert watch_health(rig, "steadyhand.arm", SERVING)
    rig.local().emergency_stop("x")
    assert watch_health(rig, "steadyhand.arm", NOT_SERVING)
    assert health_of(rig, "") == SERVING


def test_reflection_lists_the_service(rig: Any) -> None:
    with grpc.insecure_channel(f"127.0.0.1:{rig.plane.grpc_port}") as channel:
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        request = reflection_pb2.ServerReflectionRequest(list_services="")
        answer = next(iter(stub.ServerReflectionInfo(iter([request]), timeout=10)))
    names = {service.name for service in answer.list_services_response.service}
    assert "steadyhand.control.v1.FollowerControl" in names
    assert "grpc.health.v1.Health" in names


def test_whoever_waits_when_the_control_plane_ends_is_answered(rig: Any) -> None:
    import asyncio

    rig.data_plane.mute = True

    async def asked() -> Reply:
        asking = asyncio.ensure_future(rig.plane.data_plane.ask(EnterIdle()))
        await asyncio.sleep(0)
        rig.plane.data_plane.detach(asyncio.get_running_loop())
        answer: Reply = await asking
        return answer

    assert asyncio.run_coroutine_threadsafe(asked(), rig._loop).result(10) is SILENT
