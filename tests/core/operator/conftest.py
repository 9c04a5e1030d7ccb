"""An operator's desk in literal time: OperatorCore, a robot's side that unseals, and its telemetry."""

from typing import Any

import msgspec
import pytest

from steadyhand.core.operator import OperatorCore, OperatorSettings
from steadyhand.core.operator.inputs import ControlReply, Outcome
from steadyhand.core.operator.notices import Notice
from steadyhand.core.operator.outputs import Datagram, LeadOutput, Outbound, TelemetryOutput, TickOutput
from steadyhand.ground.config import RobotConfig
from steadyhand.ground.robot_state import RobotState
from steadyhand.ground.setpoint import Setpoint
from steadyhand.wire.action_frame import ActionFrame, decode_plain, decode_sealed
from steadyhand.wire.action_payload import decode_action
from steadyhand.wire.head import ACTION_MAGIC, Head, read_head
from steadyhand.wire.sealing import Sealer, Unsealer
from steadyhand.wire.telemetry_frame import encode_telemetry

MS = 1_000_000
COMMAND_KEY = bytes(range(32))
TELEMETRY_KEY = bytes(range(32, 64))
HOME = (0.0, -90.0, 90.0, 0.0, 0.0, 0.0)
ROBOT: dict[str, Any] = {
    "robot": {"id": "arm", "type": "fairino", "model": "fr3"},
    "communication": {"publish_rate_hz": 100.0},
}


class Desk:
    """One operator's end, a session open, nothing engaged; `now_ns` moves only by hand."""

    def __init__(self, *, first_seq: int = 0, session: bool = True, **remote_node: Any) -> None:
        config = msgspec.convert({**ROBOT, "remote_node": remote_node}, RobotConfig)
        self.settings = OperatorSettings.from_config(config)
        self.core = OperatorCore(self.settings, first_episode_id=700, first_seq=first_seq)
        self.now_ns = 1_000 * MS
        self.unsealer = Unsealer()
        self.sealer: Sealer | None = None
        self.telemetry_seq = 0
        self.notices: list[Notice] = []
        self.sent: list[Datagram] = []
        if session and self.settings.sealed:
            self.open_session(7)

    def open_session(self, session_id: int) -> str | None:
        refused = self.core.session_opened(session_id, COMMAND_KEY, TELEMETRY_KEY, self.now_ns)
        if refused is None and self.settings.sealed:
            self.unsealer.open_session(session_id=session_id, key=COMMAND_KEY)
            self.sealer = Sealer(session_id=session_id, key=TELEMETRY_KEY)
        self._collect(Outbound())
        return refused

    # ---- the operator and the leader

    def engage(self) -> None:
        """Prepared and answered; the follower has spoken once."""
        self.hear()
        request = self.ask(self.core.prepare_stream(self.now_ns))
        self.reply(request.request_id, "done")
        assert self.core.report(self.now_ns).engaged

    def ask(self, outbound: Outbound) -> Any:
        """The one request that a call answered."""
        self._collect(outbound)
        (request,) = outbound.requests
        return request

    def reply(self, request_id: int, outcome: Outcome, reason: str = "") -> Outbound:
        reply = ControlReply(request_id=request_id, outcome=outcome, reason=reason)
        return self._collect(self.core.control_reply(reply, self.now_ns))

    def lead(self, pose: tuple[float, ...] = HOME, *, age_ms: float = 0.0, **fields: Any) -> LeadOutput:
        """One setpoint built `age_ms` ago on this host's clock."""
        stamp_s = fields.pop("timestamp_s", (self.now_ns - age_ms * MS) / 1e9)
        output = self.core.lead(Setpoint(joints_deg=pose, timestamp_s=stamp_s, **fields), self.now_ns)
        self._collect(output.outbound)
        return output

    def stop(self, reason: str = "the button") -> Any:
        """Press the e-stop; the control request."""
        return self.ask(self.core.emergency_stop(reason, self.now_ns))

    # ---- the robot's side

    def hear(self, *, seq: int | None = None, data: bytes | None = None, **fields: Any) -> TelemetryOutput:
        """The follower speaks: the next telemetry frame, or these bytes."""
        if data is None:
            data = self.frame(seq=seq, **fields)
        output = self.core.telemetry(data, self.now_ns, 1_700_000_000.0)
        self._collect(output.outbound)
        return output

    def frame(self, *, seq: int | None = None, **fields: Any) -> bytes:
        """A telemetry frame of a streaming follower, unless told otherwise."""
        if seq is None:
            seq, self.telemetry_seq = self.telemetry_seq, self.telemetry_seq + 1
        fields.setdefault("extras", {"engage": "streaming"})
        state = RobotState(joint_positions=HOME, timestamp=1_700_000_000.0, robot_id="arm", **fields)
        return encode_telemetry(
            msgspec.json.encode(state.to_dict()), robot_id="arm", seq=seq, sealer=self.sealer
        )

    def read(self, datagram: Datagram) -> ActionFrame:
        """What the robot reads in a datagram."""
        head = read_head(datagram.data, ACTION_MAGIC)
        assert isinstance(head, Head)
        sealed = self.settings.sealed
        frame = decode_sealed(head, self.unsealer) if sealed else decode_plain(head)
        assert isinstance(frame, ActionFrame)
        return frame

    def setpoint(self, datagram: Datagram) -> Setpoint:
        """The newest setpoint that the robot reads in a datagram."""
        setpoint = decode_action(self.read(datagram).entries[0].payload, "arm")
        assert isinstance(setpoint, Setpoint)
        return setpoint

    # ---- time

    def tick(self) -> TickOutput:
        output = self.core.tick(self.now_ns)
        self._collect(output.outbound)
        return output

    def wait(self, ms: float, *, heard: bool = False) -> list[Outbound]:
        """Let time pass period by period, ticking; where `heard`, the follower goes on speaking."""
        outbounds = []
        for _ in range(round(ms / 10)):
            self.now_ns += 10 * MS
            if heard:
                self.hear()
            outbounds.append(self.tick().outbound)
        return outbounds

    def told(self, kind: type) -> list[Any]:
        """Notices of one kind so far."""
        self._collect(Outbound())
        return [notice for notice in self.notices if isinstance(notice, kind)]

    def _collect(self, outbound: Outbound) -> Outbound:
        self.notices += self.core.take_notices()
        self.sent += outbound.datagrams
        return outbound


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def make_desk() -> type[Desk]:
    return Desk
