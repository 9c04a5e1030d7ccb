"""What a follower says of itself: what it is, how it stands, what protects the arm."""

from __future__ import annotations

from typing import Any

import msgspec

from steadyhand import __version__
from steadyhand.core.follower import FollowerSettings
from steadyhand.core.follower.outputs import FollowerEvent, SafetyNote
from steadyhand.core.safety.policy import build_envelope
from steadyhand.edge.control_service import agreed_hash
from steadyhand.ground.config import RobotConfig
from steadyhand.ground.config_safety import SafetyPolicy
from steadyhand.ground.stamps import ms_from_ns
from steadyhand.nodes.follower.call_gate import CallGate
from steadyhand.nodes.follower.local_link import Hello
from steadyhand.nodes.follower.sessions import Sessions
from steadyhand.nodes.follower.telemetry_publisher import TelemetryPublisher
from steadyhand.nodes.follower.view import DataPlaneView, RecordsReader
from steadyhand.wire import control_pb2


class Description:
    """Answers Describe.

    Args:
        config: the robot file.
        policy: which guards its type cannot be without.

    Attributes:
        config_hash: `agreed_hash` of the robot file.
        hello: of the newest data plane.
        data_plane_life: whether it beats, in words.
        own_lines: what this process asked the machine for, and serves.

    Raises:
        ConfigError: the safety block would run the arm half-protected.
    """

    def __init__(self, config: RobotConfig, policy: SafetyPolicy) -> None:
        self.config_hash = agreed_hash(config)
        self.hello: Hello | None = None
        self.data_plane_life = "has not been seen"
        self.own_lines: tuple[str, ...] = ("control plane: real time was not asked for",)
        self._config = config
        settings = FollowerSettings.from_config(config, policy)
        envelope = build_envelope(settings.safety, settings.arm, settings.policy)
        self._guards: dict[str, dict[str, Any]] = {
            name: dict(msgspec.to_builtins(entry)) for name, entry in envelope.report().items()
        }

    def take(self, event: FollowerEvent) -> None:
        """Follow what is switched while it runs."""
        if isinstance(event, SafetyNote) and event.kind == "GuardToggled":
            guard = self._guards.get(str(event.fields.get("guard")))
            if guard is not None:
                guard["enabled"] = event.fields.get("enabled")

    def reply(
        self,
        *,
        view: DataPlaneView,
        sessions: Sessions,
        gate: CallGate,
        telemetry: TelemetryPublisher,
        records: RecordsReader,
        now_ns: int,
    ) -> control_pb2.DescribeReply:
        """The newest of everything."""
        hello = self.hello
        state = _state(view, now_ns) | {
            "data_plane": self.data_plane_life,
            "records_missed": records.missed,
            "telemetry": msgspec.to_builtins(telemetry.counts)
            | {"skipped_slots": telemetry.grid.skipped_slots},
            "calls_denied": gate.denied,
            "rejections": {reason: count for reason, count in gate.rejections.as_dict().items() if count},
        }
        remote = self._config.remote_node
        return control_pb2.DescribeReply(
            robot_id=self._config.robot.id,
            version=__version__,
            config_hash=self.config_hash,
            auth=remote.auth,
            transport=remote.transport,
            state_json=msgspec.json.encode(state).decode(),
            guards_json=msgspec.json.encode(self._guards).decode(),
            granted=(*(() if hello is None else hello.granted), *self.own_lines),
            operator=sessions.operator,
            udp_port=remote.udp_port if hello is None else hello.udp_port,
        )


def _state(view: DataPlaneView, now_ns: int) -> dict[str, Any]:
    record = view.record
    if record is None:
        return {"engage": "unknown", "stopped_by": None}
    return {
        "engage": record.engage,
        "stopped_by": None if record.stopped_by is None else msgspec.to_builtins(record.stopped_by),
        "tick": record.tick,
        "pid": record.pid,
        "age_ms": round(ms_from_ns(now_ns - record.at_ns), 1),
        "depth": record.depth,
        "target_depth": record.target_depth,
        "operator": record.operator,
    }
