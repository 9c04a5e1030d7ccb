"""What the operator's end answers: datagrams, actions and requests to carry out, and verdicts.

All are values. The node sends what stands in an `Outbound` at once, in the order datagrams, actions,
requests, and asks `OperatorCore.next_tick_ns` when it wants to be called again.
"""

from enum import StrEnum

import msgspec

from steadyhand.ground.robot_state import RobotState


class DatagramKind(StrEnum):
    """What a datagram carries."""

    SETPOINT = "setpoint"
    ESTOP = "estop"


class Datagram(msgspec.Struct, frozen=True, tag=True, gc=False):
    """One datagram for the action socket, never above 1232 bytes.

    Attributes:
        data: the whole frame, sealed where commands are.
        seq: its wire number.
        kind: setpoint or e-stop.
        payload: its newest entry before sealing, for the log (R17: never keys).
        copies: previous setpoints it carries along.
    """

    data: bytes
    seq: int
    kind: DatagramKind
    payload: bytes
    copies: int = 0


class StreamedAction(msgspec.Struct, frozen=True, tag=True, gc=False):
    """One action for the control service's ordered stream (`transport: grpc`).

    Attributes:
        payload: the action's protobuf.
    """

    payload: bytes


class RequestPrepare(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Ask the follower to prepare the stream; its "done" engages."""

    request_id: int


class RequestIdle(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Ask the follower to brake to rest and leave the stream."""

    request_id: int


class RequestReset(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Ask the follower to release its latch. The reason is recorded there."""

    request_id: int
    reason: str


class RequestEstop(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Stop the arm over the control service: the e-stop's second path.

    Attributes:
        request_id: to be named in the reply.
        session_id: of the sealed session; 0 without one.
        episode_id: which emergency, the same as in the datagrams.
        reason: for the records.
    """

    request_id: int
    session_id: int
    episode_id: int
    reason: str


ControlRequest = RequestPrepare | RequestIdle | RequestReset | RequestEstop


class Outbound(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is to be carried out now."""

    datagrams: tuple[Datagram, ...] = ()
    actions: tuple[StreamedAction, ...] = ()
    requests: tuple[ControlRequest, ...] = ()

    def then(self, other: "Outbound") -> "Outbound":
        """Join what comes later behind what is there."""
        return Outbound(
            datagrams=self.datagrams + other.datagrams,
            actions=self.actions + other.actions,
            requests=self.requests + other.requests,
        )


NOTHING = Outbound()


class LeadVerdict(StrEnum):
    """What became of one action of the leader's; the counters bear these names."""

    SENT = "sent"
    ESTOP = "estop"
    """An e-stop: it passed every gate."""
    ESTOP_REDELIVERED = "estop_redelivered"
    """An e-stop of the episode that stands already."""
    ESTOP_STANDING = "estop_standing"
    NOT_ENGAGED = "not_engaged"
    ANOTHER_ARM = "another_arm"
    UNSENDABLE = "unsendable"
    STALE_TICK = "stale_tick"
    DEADMAN = "deadman"
    FAULT = "fault"


class LeadOutput(msgspec.Struct, frozen=True, gc=False):
    """One action of the leader's: sent, or dropped by the gate named."""

    verdict: LeadVerdict
    outbound: Outbound = NOTHING


class TickOutput(msgspec.Struct, frozen=True, gc=False):
    """One tick: what to carry out, and when the next is wanted at the latest."""

    outbound: Outbound
    next_tick_ns: int


class TelemetryVerdict(StrEnum):
    """What became of one telemetry datagram."""

    ACCEPTED = "accepted"
    FOREIGN = "foreign"
    """Another arm's."""
    REJECTED = "rejected"
    """Unauthentic or no telemetry; counted by its reason."""
    OUT_OF_ORDER = "out_of_order"
    """Not newer than the newest."""
    FAULT = "fault"


class TelemetryOutput(msgspec.Struct, frozen=True):
    """One telemetry datagram.

    Attributes:
        verdict: what became of it.
        state: the newest state, where it was accepted.
        payload: its JSON, for the bus to republish unchanged.
        outbound: what is to be carried out now; an e-stop after a program fault.
    """

    verdict: TelemetryVerdict
    state: RobotState | None = None
    payload: bytes = b""
    outbound: Outbound = NOTHING


class EstopReport(msgspec.Struct, frozen=True, kw_only=True):
    """The newest e-stop, standing or settled.

    Attributes:
        episode_id: which emergency.
        reason: who pressed, or what failed.
        standing: whether everything else is held back until a reset is confirmed.
        acknowledged: whether the follower has confirmed it on either path.
        datagrams: copies sent so far.
        datagram_ms: from the first datagram to the telemetry that confirms the episode; None: not yet.
        control_ms: from the control request to its reply; None: not yet.
    """

    episode_id: int
    reason: str
    standing: bool
    acknowledged: bool
    datagrams: int
    datagram_ms: float | None
    control_ms: float | None


class OperatorReport(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator's display shows of the link and of this end.

    Attributes:
        engaged: whether setpoints are forwarded.
        deadman_blocking: whether they are held back since the follower has fallen silent.
        silent_ms: since the last accepted telemetry; None: there was none in this session.
        link_lost: whether that silence counts as a lost link.
        follower: the follower's engage state in its own word; "" where it has not said.
        stopped_by: the follower's stop in one sentence; "" while it is not stopped.
        estop: the newest e-stop; None: never.
        copies: previous setpoints in the newest datagram.
        redundancy_rule: the rule of R4's ladder that decided last.
        next_seq: the wire number of the next datagram.
        command_latency_ms: leader's read to arrival by wall clocks, as the follower reports it.
        telemetry_latency_ms: the state's stamp to its arrival by wall clocks.
        lead: actions of the leader's by verdict.
        telemetry: telemetry datagrams by verdict.
        rejections: rejected telemetry by reason, those that happened.
        notices_dropped: notices nobody took in time.
    """

    engaged: bool
    deadman_blocking: bool
    silent_ms: float | None
    link_lost: bool
    follower: str
    stopped_by: str
    estop: EstopReport | None
    copies: int
    redundancy_rule: str
    next_seq: int
    command_latency_ms: float | None
    telemetry_latency_ms: float | None
    lead: dict[str, int]
    telemetry: dict[str, int]
    rejections: dict[str, int]
    notices_dropped: int
