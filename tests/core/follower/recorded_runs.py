"""Random runs of a follower, recorded as its inbox and its answers."""

from itertools import pairwise
from random import Random
from typing import Any

from steadyhand.core.follower import FollowerCore
from steadyhand.core.follower.engagement import Answer, Commands
from steadyhand.core.follower.inbox import (
    ActionIn,
    ControlIn,
    EventsIn,
    Inbox,
    MeasuredIn,
    RefusalIn,
    ReportIn,
    SessionEndIn,
    SessionIn,
    TickIn,
    WriteIn,
    datagram_in,
)
from steadyhand.core.follower.inputs import (
    ControlCommand,
    EditGuard,
    EmergencyStop,
    EnterIdle,
    FeedLost,
    PrepareStream,
    ProbeFailed,
    ProbeReady,
    ProcessLost,
    Reply,
    ResetEmergency,
    ScaleSpeed,
    ToggleGuard,
)
from steadyhand.core.follower.outputs import FollowerEvent, TickOutput
from steadyhand.core.follower.reexecution import Outputs, canonical
from steadyhand.core.safety.writes import WriteOutcome
from steadyhand.ground.measured_arm import MeasuredArm
from steadyhand.ground.robot_state import RobotState
from steadyhand.wire.action_frame import encode_bundle, encode_sealed, encode_single
from steadyhand.wire.action_payload import encode_action
from steadyhand.wire.bundle import Entry
from steadyhand.wire.sealing import Sealer

MS = 1_000_000
KEY = bytes(range(32))
SNAPSHOT_SHARE = 0.01
"""Of the inputs: before so many a snapshot is taken."""

BOX = {"shape": "box", "lower_m": [-0.9, -0.9, -0.3], "upper_m": [0.9, 0.9, 1.4]}
SHAPER = {"v_max_deg_s": 130.0, "a_max_deg_s2": 500.0}
WINDOW = {"form": "window", "lag_s": 0.08, "margin_deg": 3.0}
MARGIN = {"form": "margin", "lag_s": 0.08, "margin_deg": 8.0}

KINDS: dict[str, dict[str, Any]] = {
    "buffered": {},
    "adaptive": {"communication": {"playout_adaptive_max_ms": 200.0, "playout_wire_debug": True}},
    "passthrough": {"communication": {"playout_buffer_ms": 0.0}},
    "grpc": {"remote_node": {"transport": "grpc"}},
    "grpc_passthrough": {"remote_node": {"transport": "grpc"}, "communication": {"playout_buffer_ms": 0.0}},
    "plain": {"remote_node": {"auth": "none"}},
    "estop_open": {"remote_node": {"estop_open": True}},
    "feed_forward": {
        "safety": {
            "stream_shaper": {**SHAPER, "mode": "feed_forward", "synchronised": True},
            "joint_limits": {"limits_deg": [[-170.0, 170.0]] * 6, "trip_count": 2},
            "tcp_speed": {"max_m_s": 1.0},
        }
    },
    "walls": {
        "safety": {
            "stream_shaper": {**SHAPER, "mode": "feed_forward"},
            "divergence_guard": MARGIN,
            "joint_limits": {"limits_deg": [[-170.0, 170.0]] * 6},
            "workarea": {"area": BOX, "trip_count": 3},
            "eef_speed": {"max_m_s": 2.0},
            "command_guard": {"max_deg": 3.0},
        }
    },
    "unshaped": {
        "robot": {"type": "simulated"},
        "safety": {"stream_shaper": None, "divergence_guard": None, "joint_speed": None},
    },
}
JERK: dict[str, Any] = {
    "safety": {"stream_shaper": {**SHAPER, "jerk_max_deg_s3": 8000.0, "synchronised": True}}
}

REQUESTS: tuple[ControlCommand, ...] = (
    PrepareStream(operator="ann"),
    ProbeReady(),
    ProbeFailed(reason="101"),
    EnterIdle(operator="ann"),
    ResetEmergency(operator="ann", reason="looked"),
    EmergencyStop(source="console"),
    EmergencyStop(source="control service", session_id=7, episode_id=4),
    ToggleGuard(name="joint_speed", enabled=False),
    ToggleGuard(name="joint_speed", enabled=True),
    ToggleGuard(name="workarea", enabled=False),
    ToggleGuard(name="joint_limits", enabled=False),
    ToggleGuard(name="cap_delta", enabled=True),
    ToggleGuard(name="nobody", enabled=True),
    EditGuard(block="stream_shaper", changes={"v_max_deg_s": 90.0}),
    EditGuard(block="joint_speed", changes={"max_deg_s": 170.0, "trip_count": 2}),
    EditGuard(block="state_feed", changes={"max_age_ms": 80.0}),
    EditGuard(block="state_feed", changes={"nothing": 1}),
    ScaleSpeed(share=0.5),
    ScaleSpeed(share=1.0),
    ScaleSpeed(share=2.0),
    FeedLost(reason="reset by peer"),
    ProcessLost(name="control plane"),
)


class Recorder:
    """Stands where a core stood, and writes down what it is given and what it answers."""

    def __init__(self, core: FollowerCore, dice: Random) -> None:
        self.core = core
        self.dice = dice
        self.inbox: list[Inbox] = []
        self.answers: list[bytes] = []
        self.snapshots: dict[int, bytes] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.core, name)

    def _note(self, given: Inbox, **answered: Any) -> None:
        self.inbox.append(given)
        self.answers.append(canonical(Outputs(**answered)))
        if self.dice.random() < SNAPSHOT_SHARE:
            self.snapshots[len(self.inbox)] = self.core.snapshot()

    def receive(self, datagram: bytes, now_ns: int, wall_s: float) -> Commands:
        commands = self.core.receive(datagram, now_ns, wall_s)
        given = datagram_in(datagram, self.core.ingress.last_unsealed, now_ns=now_ns, wall_s=wall_s)
        self._note(given, commands=commands)
        return commands

    def receive_action(self, payload: bytes, session_id: int, now_ns: int, wall_s: float) -> Commands:
        commands = self.core.receive_action(payload, session_id, now_ns, wall_s)
        given = ActionIn(now_ns=now_ns, wall_s=wall_s, session_id=session_id, payload=payload)
        self._note(given, commands=commands)
        return commands

    def observe(self, measured: MeasuredArm) -> Commands:
        commands = self.core.observe(measured)
        self._note(MeasuredIn(measured=measured), commands=commands)
        return commands

    def note_write(self, outcome: WriteOutcome, now_ns: int, detail: str = "") -> Commands:
        commands = self.core.note_write(outcome, now_ns, detail)
        self._note(WriteIn(now_ns=now_ns, outcome=outcome, detail=detail), commands=commands)
        return commands

    def control(self, command: ControlCommand, now_ns: int) -> Answer:
        reply, commands = self.core.control(command, now_ns)
        self._note(ControlIn(now_ns=now_ns, command=command), commands=commands, reply=reply)
        return reply, commands

    def refuse(self, request: str, reason: str, now_ns: int) -> None:
        reply = self.core.arm.refuse(request, reason, now_ns)
        self._note(RefusalIn(now_ns=now_ns, request=request, reason=reason), reply=reply)

    def open_session(
        self, *, session_id: int, command_key: bytes, operator: str, now_ns: int, take_over: bool = False
    ) -> Reply:
        reply = self.core.open_session(
            session_id=session_id,
            command_key=command_key,
            operator=operator,
            now_ns=now_ns,
            take_over=take_over,
        )
        given = SessionIn(
            now_ns=now_ns,
            session_id=session_id,
            operator=operator,
            take_over=take_over,
            key_bytes=len(command_key),
        )
        self._note(given, reply=reply)
        return reply

    def close_session(self, operator: str, now_ns: int) -> None:
        self.core.close_session(operator)
        self._note(SessionEndIn(now_ns=now_ns, operator=operator))

    def tick(self, now_ns: int) -> TickOutput:
        output = self.core.tick(now_ns)
        self._note(
            TickIn(now_ns=now_ns),
            commands=output.commands,
            next_tick_ns=output.next_tick_ns,
            released=output.released,
        )
        return output

    def take_events(self) -> tuple[FollowerEvent, ...]:
        events = self.core.take_events()
        self._note(EventsIn(now_ns=0), events=events)
        return events

    def report(self, now_ns: int, wall_s: float) -> RobotState:
        state = self.core.report(now_ns, wall_s)
        self._note(ReportIn(now_ns=now_ns, wall_s=wall_s), report=state)
        return state


class Fuzz:
    """An operator, a link and an arm that do everything that can be done, in a random order."""

    def __init__(self, rig: Any, seed: int, kind: dict[str, Any]) -> None:
        self.rig = rig
        self.dice = Random(seed)
        self.recorder = Recorder(rig.core, self.dice)
        rig.core = self.recorder
        self.sealed = kind.get("remote_node", {}).get("auth") != "none"
        self.ordered = kind.get("remote_node", {}).get("transport") == "grpc"
        self.session = 7
        self.drift = 1.0 + 0.004 * (self.dice.random() - 0.5)
        self.stamp_shift_s = 0.0
        self.led = False
        self.recent: list[Entry] = []
        self.delayed: list[bytes] = []
        self.old: list[bytes] = [b""]

    def run(self, operations: int) -> Recorder:
        self.engage()
        for _ in range(operations):
            self.step()
        return self.recorder

    def engage(self) -> None:
        self.rig.write_outcome = WriteOutcome.TAKEN
        self.rig.observe()
        if self.rig.core.state.value == "stopped":
            for _ in range(12):
                self.rig.tick()
        for command in (ResetEmergency(reason="on"), PrepareStream(), ProbeReady()):
            self.rig.control(command)

    def step(self) -> None:
        """Mostly a setpoint and a tick; now and then anything else."""
        dice, rig = self.dice, self.rig
        if rig.core.state.value in ("idle", "stopped") and dice.random() < 0.05:
            self.engage()
        if dice.random() < 0.94:
            self.lead()
        if dice.random() < 0.96:
            rig.tick()
        if dice.random() < 0.2:
            rig.core.report(rig.now_ns, 1_700_000_000.0 + rig.now_ns / 1e9)
        if dice.random() < 0.05:
            DISTURBANCES[int(len(DISTURBANCES) * dice.random())](self)

    # ---- what is sent

    def lead(self) -> None:
        rig, dice = self.rig, self.dice
        step = 0.4 if dice.random() < 0.98 else 60.0 * dice.random() - 30.0
        rig.pose = (max(-175.0, min(175.0, rig.pose[0] + step)), *rig.pose[1:])
        if rig.pose[0] > 100.0:
            rig.pose = (-100.0, *rig.pose[1:])
        chance = dice.random()
        if self.ordered and chance < 0.9:
            payload = encode_action(self.setpoint())
            rig.seq += 1
            commands = rig.core.receive_action(payload, self.session, rig.now_ns, 1.5e9 + rig.now_ns / 1e9)
            rig.commands += commands
            return
        datagram = self.framed()
        if chance < 0.04:
            return
        if chance < 0.1:
            self.delayed.append(datagram)
            return
        rig.deliver(datagram)
        self.old = [*self.old[-20:], datagram]
        if self.delayed and dice.random() < 0.5:
            rig.deliver(self.delayed.pop(0))

    def setpoint(self, **fields: Any) -> Any:
        rig = self.rig
        stamp_s = 500.0 + self.stamp_shift_s + self.drift * rig.now_ns / 1e9
        if self.led:
            fields["leader_timestamp_s"] = 9.0 + rig.now_ns / 1e9
        return rig.setpoint(rig.pose, stamp_s=stamp_s, **fields)

    def framed(self, **fields: Any) -> bytes:
        rig = self.rig
        entry = Entry(rig.seq & 0xFFFF_FFFF, encode_action(self.setpoint(**fields)))
        rig.seq += 1
        self.recent = [entry, *self.recent[:3]]
        numbers = [one.seq for one in self.recent]
        follows = all(a - b == 1 for a, b in pairwise(numbers))
        entries = self.recent if follows and self.dice.random() < 0.5 else [entry]
        if self.sealed:
            return encode_sealed(robot_id="arm", entries=entries, sealer=rig.sealer)
        if len(entries) == 1:
            return encode_single(robot_id="arm", entry=entry)
        return encode_bundle(robot_id="arm", entries=entries)

    # ---- disturbances

    def requested(self) -> None:
        self.rig.control(REQUESTS[int(len(REQUESTS) * self.dice.random())])

    def stopped_by_datagram(self) -> None:
        rig = self.rig
        if self.dice.random() < 0.5:
            rig.deliver(rig.plain((), emergency_stop=True, episode_id=3))
        else:
            entry = Entry(rig.seq, encode_action(rig.setpoint((), emergency_stop=True, episode_id=5)))
            rig.deliver(encode_sealed(robot_id="arm", entries=[entry], sealer=rig.sealer))

    def noise(self) -> None:
        dice, rig = self.dice, self.rig
        datagram = self.old[int(len(self.old) * dice.random())]
        if dice.random() < 0.7:
            mangled = bytearray(datagram if dice.random() < 0.5 else self.framed())
            for _ in range(2):
                if mangled:
                    mangled[int(len(mangled) * dice.random())] = int(256 * dice.random())
            datagram = bytes(mangled[: int((len(mangled) + 9) * dice.random())])
        rig.deliver(datagram)
        rig.deliver(self.framed().replace(b"arm", b"leg"))

    def unreadable(self) -> None:
        payload = b"\xff\xff" if self.dice.random() < 0.5 else encode_action(self.rig.setpoint((1.0, 2.0)))
        self.rig.seq += 1
        entry = Entry(self.rig.seq - 1, payload)
        self.rig.deliver(encode_sealed(robot_id="arm", entries=[entry], sealer=self.rig.sealer))

    def silence(self) -> None:
        for _ in range(int(30 * self.dice.random())):
            self.rig.tick()

    def long_silence(self) -> None:
        self.rig.now_ns += int(3_000 * self.dice.random()) * MS
        if self.dice.random() < 0.5:
            self.rig.seq = int(1_000_000 * self.dice.random())

    def burst(self) -> None:
        for _ in range(int(12 * self.dice.random())):
            self.rig.deliver(self.framed())

    def clock(self) -> None:
        self.stamp_shift_s += 40.0 * self.dice.random() - 20.0
        self.led = self.dice.random() < 0.5

    def writes(self) -> None:
        outcomes = list(WriteOutcome)
        self.rig.write_outcome = outcomes[int(3 * self.dice.random())]
        self.rig.tick()
        self.rig.write_outcome = WriteOutcome.TAKEN

    def measured(self) -> None:
        odd: tuple[dict[str, Any], ...] = (
            {"speeds_deg_s": ()},
            {"speeds_deg_s": (200.0, 0.0, 0.0, 0.0, 0.0, 0.0)},
            {"joints_deg": (float("nan"),) * 6},
            {"fault_code": 1, "fault_sub_code": 32},
            {"estop_pressed": True},
            {"digital_outputs": 3, "tcp_position_mm": (1.0, 2.0, 3.0)},
        )
        self.rig.observe(**odd[int(len(odd) * self.dice.random())])

    def session_changes(self) -> None:
        rig, dice = self.rig, self.dice
        if dice.random() < 0.3:
            rig.core.close_session("ann", rig.now_ns)
        session = self.session + (1 if dice.random() < 0.8 else 0)
        key = KEY if dice.random() < 0.9 else KEY[:7]
        opened = rig.core.open_session(
            session_id=session,
            command_key=key,
            operator="ann" if dice.random() < 0.7 else "bob",
            now_ns=rig.now_ns,
            take_over=dice.random() < 0.5,
        )
        if opened.outcome == "done":
            self.session = session
            rig.sealer = Sealer(session_id=session, key=KEY)
            rig.seq = int(1_000 * dice.random())

    def refused(self) -> None:
        self.rig.core.refuse("prepare_stream", "the telemetry is dead", self.rig.now_ns)


DISTURBANCES = (
    Fuzz.requested,
    Fuzz.requested,
    Fuzz.stopped_by_datagram,
    Fuzz.noise,
    Fuzz.noise,
    Fuzz.unreadable,
    Fuzz.silence,
    Fuzz.long_silence,
    Fuzz.burst,
    Fuzz.clock,
    Fuzz.writes,
    Fuzz.measured,
    Fuzz.session_changes,
    Fuzz.refused,
)
