"""How `steadyhand status` puts a follower."""

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from steadyhand.core.safety.latch import StopCause, StopKind
from steadyhand.nodes.follower.records import TickRecord
from steadyhand.nodes.follower.runtime_files import FollowerCard, RunningFollower
from steadyhand.view.follower_status import FRESH_NS, follower_status, status_table

CARD = FollowerCard(
    robot_id="fr3",
    pid=10,
    data_plane_pid=11,
    control_plane_pid=12,
    listen="127.0.0.1",
    grpc_port=50061,
    udp_port=50063,
    ring_path="r",
    socket_path="s",
    deaths=(1, 0),
)
NOW_NS = 10_000_000_000


def running(*, alive: bool = True, **changes: Any) -> RunningFollower:
    told: dict[str, Any] = {
        "tick": 1,
        "pid": 11,
        "at_ns": NOW_NS,
        "wall_s": 1.0,
        "due_ns": 1,
        "engage": "idle",
    }
    return RunningFollower(card=CARD, alive=alive, record=TickRecord(**({"engage": "idle"} | told | changes)))


@pytest.mark.parametrize(
    ("follower", "state"),
    [
        (running(), "idle"),
        (running(engage="streaming"), "streaming"),
        (running(at_ns=NOW_NS - FRESH_NS), "idle"),
        (running(at_ns=NOW_NS - FRESH_NS - 1), "no data plane"),
        (RunningFollower(card=CARD, alive=True, record=None), "no data plane"),
        (running(alive=False), "killed"),
    ],
)
def test_the_state_is_the_newest_records_while_somebody_tells(follower: RunningFollower, state: str) -> None:
    assert follower_status(follower, NOW_NS)["state"] == state


def test_a_stop_names_its_cause_in_values_and_in_the_table() -> None:
    cause = StopCause(kind=StopKind.STALL, detail="[nothing] has arrived", name="underrun")
    follower = running(engage="stopped", stopped_by=cause, operator="ann", depth=3, target_depth=20)
    told = follower_status(follower, NOW_NS)
    assert told["stopped_by"] == {"kind": "stall", "detail": "[nothing] has arrived", "name": "underrun"}
    assert told["deaths"] == {"data_plane": 1, "control_plane": 0}
    console = Console(width=240, record=True, file=StringIO())
    console.print(status_table([told]))
    text = console.export_text()
    for part in ("fr3", "stopped", "stall: [nothing] has arrived", "ann", "3 of 20", "0 ms ago", "50063"):
        assert part in text


def test_telemetry_is_given_as_values_where_it_can_be_read() -> None:
    assert follower_status(running(state_json=b'{"a":1}'), NOW_NS)["telemetry"] == {"a": 1}
    assert follower_status(running(state_json=b""), NOW_NS)["telemetry"] is None
