"""How followers stand, for `steadyhand status`: as plain values, and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec
from rich.markup import escape
from rich.table import Table

from steadyhand.ground.stamps import NS_PER_MS, ms_from_ns
from steadyhand.nodes.follower.runtime_files import RunningFollower

FRESH_NS: Final = 250 * NS_PER_MS
"""A data plane tells every period; one that has told nothing for so long is not there."""

_COLOURS: Final = {
    "streaming": "green",
    "preparing": "yellow",
    "braking": "yellow",
    "stopped": "red",
    "no data plane": "red",
    "killed": "red",
}


def follower_status(follower: RunningFollower, now_ns: int) -> dict[str, Any]:
    """One follower as JSON values.

    Args:
        follower: as found in the runtime folder.
        now_ns: this host's monotonic clock.
    """
    card, record = follower.card, follower.record
    age_ns = None if record is None else now_ns - record.at_ns
    fresh = follower.alive and age_ns is not None and age_ns <= FRESH_NS
    told: dict[str, Any] = {
        "robot_id": card.robot_id,
        "running": follower.alive,
        "state": _state(follower, fresh=fresh),
        "stopped_by": None,
        "operator": "",
        "tick_age_ms": None if age_ns is None else round(ms_from_ns(age_ns), 1),
        "pid": card.pid,
        "data_plane_pid": card.data_plane_pid,
        "control_plane_pid": card.control_plane_pid,
        "deaths": {"data_plane": card.deaths[0], "control_plane": card.deaths[1]},
        "listen": card.listen,
        "grpc_port": card.grpc_port,
        "udp_port": card.udp_port,
        "robot_address": card.robot_address,
        "robot_file": card.robot_file,
        "version": card.version,
        "started_wall_s": card.started_wall_s,
    }
    if record is not None:
        told |= {
            "stopped_by": msgspec.to_builtins(record.stopped_by),
            "operator": record.operator,
            "depth": record.depth,
            "target_depth": record.target_depth,
            "telemetry": _telemetry(record.state_json),
        }
    return told


def status_table(followers: Sequence[dict[str, Any]]) -> Table:
    """A row for each follower."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("robot", "state", "why", "operator", "queue", "last tick", "listens", "process"):
        table.add_column(heading, overflow="fold")
    for told in followers:
        table.add_row(*_row(told))
    return table


def _row(told: dict[str, Any]) -> tuple[str, ...]:
    state, cause = told["state"], told["stopped_by"]
    colour = _COLOURS.get(state)
    why = "" if cause is None else f"{cause['kind']}: {cause['detail']}"
    age_ms = told["tick_age_ms"]
    return (
        escape(told["robot_id"]),
        f"[{colour}]{state}[/]" if colour else state,
        escape(why),
        escape(told["operator"] or "nobody"),
        f"{told['depth']} of {told['target_depth']}" if told.get("target_depth") else "none",
        "never" if age_ms is None else f"{age_ms:.0f} ms ago",
        f"{told['listen']}: control {told['grpc_port']}, actions {told['udp_port']}",
        str(told["pid"]),
    )


def _state(follower: RunningFollower, *, fresh: bool) -> str:
    if not follower.alive:
        return "killed"
    record = follower.record
    return record.engage if record is not None and fresh else "no data plane"


def _telemetry(state_json: bytes) -> Any:
    with suppress(msgspec.DecodeError):
        return msgspec.json.decode(state_json)
    return None
